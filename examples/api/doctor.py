"""Print each finding with its fix; fail where the answer is incomplete."""

import sys

import eosctl


def main(bootstrap_servers: str, connect_url: str) -> None:
    """One line for each finding, the worst first."""
    with eosctl.connect(bootstrap_servers, workers=eosctl.Workers(urls=(connect_url,))) as cluster:
        diagnosis = cluster.diagnose()
    for finding in diagnosis.reported:
        print(finding.severity, finding.id, finding.subject, finding.message, f"fix: {finding.cure}", sep="\t")
    for missing in diagnosis.coverage.gaps:
        print("not read", missing.what, missing.reason, sep="\t")
    print(f"{len(diagnosis.answers)} rules asked")


if __name__ == "__main__":
    main(*sys.argv[1:])
