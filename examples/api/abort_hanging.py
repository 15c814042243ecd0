"""Abort the transactions that no coordinator will end, after a look at each plan."""

import sys

import eosctl


def main(bootstrap_servers: str, topic: str, minutes: str = "15") -> None:
    """What was aborted: nothing, where nothing hangs for longer than so many minutes."""
    age_s = 60 * float(minutes)
    with eosctl.connect(bootstrap_servers) as cluster:
        found = cluster.hanging_transactions(topic, max_timeout_s=age_s)
        places = {each.transaction.topic_partition for each in found.verdicts if each.hangs}
        for place in sorted(places):
            plan = cluster.plan_abort(place.topic, place.partition, max_timeout_s=age_s)
            print(plan.text())
            applied = plan.apply()
            print("\n".join(each.detail for each in applied.outcome.results))
    if not places:
        print("nothing hangs")


if __name__ == "__main__":
    main(*sys.argv[1:])
