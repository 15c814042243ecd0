"""A plan against the ACLs that a cluster has.

1. A planned binding is present where the authorizer allows all of it: its whole pattern, from every host. Bindings for
   single hosts or single names within a prefix do not add up to it.
2. A denial that covers a planned binding makes it missing, and adding it would not help; one of a part is reported.
3. Extra are bindings of the plan's own kinds that decide nothing that is planned. The plan's own kinds are allowances
   of planned principals on the Connect group, the internal and offsets topics, and transactional IDs of the group's.
   Bindings of `User:*`, on all names, or for principals outside the plan are ignored here. So is what lies
   with a Connect cluster not all of whose connectors are known and planned for: others of them may need it.
4. Bindings are added before others are removed, and after the removals all that is planned must still be allowed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from eosctl.analysis.authorizer import EVERY_PRINCIPAL, Authorizer, allows
from eosctl.analysis.catalogue import plans as kinds
from eosctl.analysis.source_stores import connector_offsets_topic
from eosctl.model.acl_plan import (
    AclDifference,
    AclPlan,
    AclRequest,
    BindingStatus,
    ComparedBinding,
    ExtraBinding,
    OtherWriter,
    PlannedBinding,
    same_cluster,
)
from eosctl.model.acls import WILDCARD, AclBinding, Operation, Permission, ResourcePattern, ResourceType
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.names import Side, leader_transactional_id
from eosctl.model.plan import CreateAcls, DeleteAcls, Plan, PlannedStep
from eosctl.model.preconditions import AclsPresent, ClusterIs
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped, not_asked


def compare_acls(
    request: AclRequest,
    plan: AclPlan,
    existing: Collection[AclBinding] | Skipped,
    cluster: frozenset[str],
    super_users: Collection[str] = (),
) -> AclDifference:
    """Each planned binding with its status in the cluster that has `existing`; bindings for others are Skipped."""
    if isinstance(existing, Skipped):
        return AclDifference(tuple(ComparedBinding(each, existing) for each in plan.bindings), (), plan.findings)
    authorizer = Authorizer(existing, super_users)
    compared = tuple(_compare(each, authorizer, cluster) for each in plan.bindings)
    used = {each.by for each in compared if each.by is not None}
    planned = [each for each in plan.bindings if same_cluster(each.cluster, cluster)]
    found = _extras(request, planned, existing, used)
    extra = tuple(sorted(found, key=lambda each: each.binding))
    denials = tuple(_denied(compared))
    permitted = [each for each in existing if each.principal not in super_users]
    others = tuple(_others(request, planned, permitted, authorizer))
    return AclDifference(compared, extra, (*plan.findings, *denials, *_partly_denied(planned, existing)), others)


def _compare(planned: PlannedBinding, authorizer: Authorizer, cluster: frozenset[str]) -> ComparedBinding:
    if not same_cluster(planned.cluster, cluster):
        there = ", ".join(sorted(planned.cluster)) or "a cluster that is not named"
        return ComparedBinding(planned, not_asked(f"belongs to the cluster at {there}, whose ACLs were not read"))
    decision = authorizer.permits(planned.binding)
    status = BindingStatus.PRESENT if decision.allowed else BindingStatus.MISSING
    return ComparedBinding(planned, status, decision.by)


def _denied(compared: Iterable[ComparedBinding]) -> Iterator[Finding]:
    for each in compared:
        if each.status is BindingStatus.MISSING and each.by is not None:
            yield kinds.DENIED.finding(
                str(each.planned.binding.pattern),
                f"{each.planned.binding} is needed, but denied: {each.by}",
                {"denied_by": str(each.by)},
            )


def _partly_denied(planned: Iterable[PlannedBinding], existing: Iterable[AclBinding]) -> Iterator[Finding]:
    denials = [each for each in existing if each.permission is Permission.DENY]
    for wanted in planned if denials else ():
        binding = wanted.binding
        for denial in denials:
            if _partly_denies(denial, binding):
                yield kinds.PARTLY_DENIED.finding(
                    str(binding.pattern),
                    f"{binding} is needed; a DENY ACL covers a part of it: {denial}",
                    {"denied_by": str(denial)},
                )


def _partly_denies(denial: AclBinding, wanted: AclBinding) -> bool:
    """True if the denial covers part of the wanted binding, or Describe on it, but not all of it."""
    if denial.principal not in (wanted.principal, EVERY_PRINCIPAL) or not denial.pattern.overlaps(wanted.pattern):
        return False
    if denial.operation in (wanted.operation, Operation.ALL):
        return not (denial.pattern.covers(wanted.pattern) and denial.host == WILDCARD)
    return denial.operation is Operation.DESCRIBE and allows(wanted.operation, Operation.DESCRIBE)


def _extras(
    request: AclRequest, planned: Collection[PlannedBinding], existing: Collection[AclBinding], used: set[AclBinding]
) -> Iterator[ExtraBinding]:
    principals = {each.binding.principal for each in planned}
    kinds = [_Kinds(cluster) for cluster in request.clusters if cluster.all_known and not cluster.others]
    wanted = {each.binding for each in planned}
    for binding in existing:
        ours = binding.permission is Permission.ALLOW and binding.principal in principals
        if not ours or binding in used or binding in wanted or binding.pattern.is_wildcard:
            continue
        why = next((each for kind in kinds if (each := kind.why(binding)) is not None), None)
        if why is not None:
            yield ExtraBinding(binding, why)


def _others(
    request: AclRequest, planned: Iterable[PlannedBinding], existing: Iterable[AclBinding], authorizer: Authorizer
) -> Iterator[OtherWriter]:
    """One for each ACL, with the first resource concerned; an ACL with a denial against it is left out."""
    config_topics = {worker.config_topic for cluster in request.clusters for worker in cluster.workers}
    guarded: dict[ResourcePattern, set[str]] = {}
    for each in planned:
        principal, operation, pattern = each.binding.principal, each.binding.operation, each.binding.pattern
        is_guarded = pattern.resource_type is ResourceType.TRANSACTIONAL_ID or pattern.name in config_topics
        if operation is Operation.WRITE and is_guarded:
            guarded.setdefault(pattern, set()).add(principal)
    for binding in existing:
        if binding.permission is not Permission.ALLOW or not allows(binding.operation, Operation.WRITE):
            continue
        for pattern, expected in guarded.items():
            wanted = AclBinding(binding.principal, Operation.WRITE, pattern)
            if (
                binding.principal not in expected
                and binding.pattern.overlaps(pattern)
                and (not binding.pattern.covers(pattern) or authorizer.permits(wanted).allowed)
            ):
                yield OtherWriter(binding, pattern, frozenset(expected))
                break


class _Kinds:
    """The resources of one Connect cluster that eosctl plans ACLs for by name."""

    def __init__(self, cluster: ConnectCluster) -> None:
        self._group_id = cluster.group_id
        self._leader = leader_transactional_id(cluster.group_id)
        self._topics = {name for worker in cluster.workers for name in worker.internal_topics}
        for worker in cluster.workers:
            own = (connector_offsets_topic(worker, each, exactly_once=True) for each in cluster.connectors)
            self._topics |= set(filter(None, own))

    def why(self, binding: AclBinding) -> str | None:
        """Why the binding is of the plan's kind; None if it is not."""
        pattern = binding.pattern
        match pattern.resource_type:
            case ResourceType.GROUP if pattern.name == self._group_id:
                return f"it is on the group of Connect cluster {self._group_id}"
            case ResourceType.TOPIC if pattern.name in self._topics:
                return "it is on an internal or offsets topic"
            case ResourceType.TRANSACTIONAL_ID if pattern.name == self._leader:
                return f"it is on the leader's transactional ID of group {self._group_id}"
            case ResourceType.TRANSACTIONAL_ID if pattern.name.startswith(f"{self._group_id}-"):
                return f"it is on transactional IDs of group {self._group_id}"
        return None


def removable_extras(
    existing: Iterable[AclBinding], plan: AclPlan, extra: Iterable[ExtraBinding]
) -> tuple[ExtraBinding, ...]:
    """The extra bindings that can be removed without refusing any planned operation that is allowed now."""
    left = set(existing) | {each.binding for each in plan.bindings}
    doomed = tuple(each for each in extra if each.binding in left)
    rest = Authorizer(left - {each.binding for each in doomed})
    needed = [each.binding for each in plan.bindings if not rest.permits(each.binding).allowed]
    return tuple(each for each in doomed if not any(each.binding.pattern.covers(lost.pattern) for lost in needed))


# A difference as a plan: bindings are created first, those that go are removed last, and only if the others are there.
#
# 1. Missing bindings are created, those that a denial stands against excepted: creating them would not help.
# 2. With prune the extras are removed, but only those without which everything that is planned stays allowed.
# 3. Each step holds a bounded number of bindings, because a controller takes a request's ACLs in one record batch.


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
    """The steps that make the cluster's ACLs match the plan; empty if they do."""
    here = ClusterIs(Side.SOURCE, cluster_id)
    added = [
        each.planned.binding for each in difference.compared if each.status is BindingStatus.MISSING and each.by is None
    ]
    doomed = [each.binding for each in removable_extras(existing, plan, difference.extra)] if prune else []
    steps = [PlannedStep(CreateAcls(Side.SOURCE, part), (here,)) for part in _parts(added)]
    kept = (AclsPresent(Side.SOURCE, tuple(added)),) if added else ()
    steps += [PlannedStep(DeleteAcls(Side.SOURCE, part), (here, *kept)) for part in _parts(doomed)]
    return Plan(KIND, as_of, tuple(steps))


def _parts(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    for start in range(0, len(items), MOST_PER_STEP):
        yield tuple(items[start : start + MOST_PER_STEP])
