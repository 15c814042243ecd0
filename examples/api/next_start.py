"""Print what the next start of each connector does about the producers of its earlier tasks."""

import sys

import eosctl


def main(bootstrap_servers: str, connect_url: str) -> None:
    """The rule of each connector, and how many producers the start fences."""
    with eosctl.connect(bootstrap_servers, workers=eosctl.Workers(urls=(connect_url,))) as cluster:
        inspected = eosctl.require(cluster.inspect_config())
    for each in inspected.inspection.connectors:
        print(each.state.name, each.next_start.rule, each.next_start.fences, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
