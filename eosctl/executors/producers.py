"""Fencing as a step of a plan."""

from collections.abc import Callable, Mapping, Sequence

from eosctl.clients.access import ClusterAccess
from eosctl.executors.apply import Recheck
from eosctl.executors.fencing import FencingRun
from eosctl.model.counts import counted
from eosctl.model.fencing import Candidate, FenceStep, FencingPlan, failure_of
from eosctl.model.plan import FenceProducers
from eosctl.model.transactions import TransactionDescription

Describe = Callable[[ClusterAccess, Sequence[str]], Mapping[str, TransactionDescription]]
"""Descriptions of those of the IDs that their coordinators know."""


def fence_producers(step: FenceProducers, _: Recheck, *, access: ClusterAccess, describe: Describe) -> str:
    """Fences the IDs that exist; one that its coordinator does not know has no producer and is not created."""
    known = describe(access, step.transactional_ids)
    steps = tuple(
        FenceStep(Candidate(each, named=True), known[each]) for each in step.transactional_ids if each in known
    )
    missing = len(step.transactional_ids) - len(steps)
    if steps:
        plan = FencingPlan(steps, (), (), (), step.transaction_timeout_ms)
        outcome = FencingRun(access.wire, plan, access.timeout_s, lambda _: None).run()
        failure = failure_of(outcome, access.wire.principal)
        if failure is not None:
            raise failure
    unknown = f"; {counted(missing, 'ID was', 'IDs were')} never used or expired" if missing else ""
    return counted(len(steps), "producer") + unknown
