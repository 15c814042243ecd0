"""Save all facts of a cluster in a file, and list the connectors from the file: no cluster is asked again."""

import sys

import eosctl


def main(bootstrap_servers: str, connect_url: str, file: str) -> None:
    """Name, state and states of the tasks of each connector."""
    with eosctl.connect(bootstrap_servers, workers=eosctl.Workers(urls=(connect_url,))) as cluster:
        cluster.save_snapshot(file)
    with eosctl.open_snapshot(file) as saved:
        for each in saved.connectors().connectors:
            if isinstance(each.tasks, eosctl.Skipped):
                print(each.name, f"unknown: {each.tasks.reason}", sep="\t")
            else:
                print(each.name, each.state, f"{len(each.tasks)} tasks", sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
