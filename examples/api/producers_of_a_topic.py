"""List the producers that wrote to a topic (KIP-664's DescribeProducers), with the transactional IDs that they hold."""

import sys

import eosctl


def main(bootstrap_servers: str, topic: str) -> None:
    """Partition, producer ID, epoch, where its open transaction begins, and transactional ID."""
    with eosctl.connect(bootstrap_servers) as cluster:
        found = eosctl.require(cluster.describe_producers(topic))
    for each in found.producers:
        producer = each.producer
        name = found.transactional_ids.get(producer.producer_id, "-")
        start = each.transaction_start_offset
        print(each.topic_partition, producer.producer_id, producer.producer_epoch, start, name, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
