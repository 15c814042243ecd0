"""Fence the producers of transactional IDs: show the plan, apply it, and see the proof."""

import sys

import eosctl


def main(bootstrap_servers: str, *transactional_ids: str) -> None:
    """The outcome of each ID, and whether its old producer is refused."""
    with eosctl.connect(bootstrap_servers) as cluster:
        plan = cluster.plan_fencing(eosctl.FencingRequest(transactional_ids=transactional_ids))
        print(plan.text())
        if plan.objections:
            sys.exit("\n".join(plan.objections))
        fenced = plan.apply()
    for result in fenced.outcome.results:
        print(result.step.transactional_id, result.outcome, sep="\t")
    for proof in fenced.proofs:
        print(proof.transactional_id, "proved" if proof.holds else "not proved", sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
