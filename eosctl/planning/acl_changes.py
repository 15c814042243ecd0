"""A difference as a plan: bindings are created first, those that go are removed last, and only if the others are there.

1. Missing bindings are created, those that a denial stands against excepted: creating them would not help.
2. With prune the extras are removed, but only those without which everything that is planned stays allowed.
3. Each step holds a bounded number of bindings, because a controller takes a request's ACLs in one record batch.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from eosctl.model.acl_plan import AclDifference, AclPlan, BindingStatus
from eosctl.model.acls import AclBinding
from eosctl.model.plan import AclsPresent, ClusterIs, CreateAcls, DeleteAcls, Plan, PlannedStep
from eosctl.model.sides import Side
from eosctl.planning.acl_difference import without

KIND: Final = "acl-plan"
MOST_PER_STEP: Final = 1000

T = TypeVar("T")


def plan_acl_changes(
    difference: AclDifference,
    plan: AclPlan,
    existing: frozenset[AclBinding],
    cluster_id: str,
    as_of: int,
    *,
    prune: bool,
) -> Plan:
    """The steps that make the cluster's ACLs what the plan says; none where they are."""
    here = ClusterIs(Side.SOURCE, cluster_id)
    added = [
        each.planned.binding for each in difference.compared if each.status is BindingStatus.MISSING and each.by is None
    ]
    doomed = [each.binding for each in without(existing, plan, difference.extra)] if prune else []
    steps = [PlannedStep(CreateAcls(Side.SOURCE, part), (here,)) for part in _parts(added)]
    kept = (AclsPresent(Side.SOURCE, tuple(added)),) if added else ()
    steps += [PlannedStep(DeleteAcls(Side.SOURCE, part), (here, *kept)) for part in _parts(doomed)]
    return Plan(KIND, as_of, tuple(steps))


def _parts(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    for start in range(0, len(items), MOST_PER_STEP):
        yield tuple(items[start : start + MOST_PER_STEP])
