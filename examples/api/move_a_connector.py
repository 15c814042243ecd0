"""Give a stopped connector an offsets topic of its own: one person makes the plan, another applies what they read."""

import sys
from pathlib import Path

import eosctl


def main(bootstrap_servers: str, connect_url: str, connector: str, topic: str, file: str) -> None:
    """The steps of the plan, then what became of each."""
    workers = eosctl.Workers(group_id="connect-cluster", urls=(connect_url,))
    with eosctl.connect(bootstrap_servers, workers=workers) as cluster:
        request = eosctl.MigrationOptions((connector,), to_topic=topic, set_config=True, replication_factor=1)
        plan = cluster.plan_migration(request)
        plan.save(file)
        reviewed = cluster.read_plan(file, digest=plan.digest)
        print(reviewed.text())
        try:
            reviewed.apply()
        finally:
            if reviewed.applied is not None:
                for each in reviewed.applied.outcome.results:
                    print(each.number, each.outcome, each.detail, sep="\t")
    print(f"rolled back by: eosctl undo {Path(file).name}.undo")


if __name__ == "__main__":
    main(*sys.argv[1:])
