"""Judge from the record batches whether exactly-once held; continue from the last run where a ledger is given."""

import sys

import eosctl


def main(bootstrap_servers: str, connect_url: str, topic: str, store: str | None = None) -> None:
    """The verdict on each connector with its reasons."""
    workers = eosctl.Workers(group_id="connect-cluster", urls=(connect_url,))
    with eosctl.connect(bootstrap_servers, workers=workers) as cluster:
        report = cluster.audit(topic, store=store)
    for each in report.connectors:
        print(each.name, each.verdict, "; ".join(each.reasons), sep="\t")
    for finding in report.reported:
        print(finding.id, finding.subject, finding.message, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
