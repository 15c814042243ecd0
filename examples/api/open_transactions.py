"""List the open transactions of all coordinators (ListTransactions), and describe them (DescribeTransactions)."""

import sys

import eosctl


def main(bootstrap_servers: str) -> None:
    """The ID, how long its transaction has been open, its timeout and its partitions."""
    with eosctl.connect(bootstrap_servers) as cluster:
        listed = cluster.list_transactions(states=[eosctl.TransactionState.ONGOING])
    for each in listed.transactions:
        if each.description is None:
            print(each.transactional_id, "not described", sep="\t")
            continue
        partitions = ",".join(sorted(map(str, each.description.partitions)))
        print(each.transactional_id, each.description.timeout_ms, partitions, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
