"""Print the offset from which a connector's tasks will begin, and write it as KIP-875's body."""

import sys

import eosctl


def main(bootstrap_servers: str, connect_url: str, connector: str, file: str) -> None:
    """Each source partition with the offset that Kafka Connect really uses."""
    with eosctl.connect(bootstrap_servers, workers=eosctl.Workers(urls=(connect_url,))) as cluster:
        for found in eosctl.require(cluster.offsets(connector)).connectors:
            for each in found.offsets:
                stored = each.kafka_effective
                if stored is None:
                    print(found.name, each.key.partition, "from the beginning", sep="\t")
                elif isinstance(stored, eosctl.Skipped):
                    print(found.name, each.key.partition, f"unknown: {stored.reason}", sep="\t")
                else:
                    print(found.name, each.key.partition, stored.value, sep="\t")
        cluster.export_offsets(file, connector)


if __name__ == "__main__":
    main(*sys.argv[1:])
