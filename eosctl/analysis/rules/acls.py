"""Rules about ACLs: the parts of `eosctl acl-plan`'s plan that the cluster does not allow.

The planner knows what each client needs in the workers' phase (`upgrade-check`: their next phase), and why; its
comparison comes here as evidence. Transactional IDs have their own rules, because a missing ACL shows late: at the
election of a leader, at the first fencing.
"""

import shlex
from collections.abc import Callable, Iterator
from typing import Final

from eosctl.analysis.catalogue import plans as kinds
from eosctl.analysis.phases import possible_phases
from eosctl.model.acl_plan import AclDifference, BindingStatus, PlannedBinding
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourceType
from eosctl.model.client_roles import ClientRole
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import first_few, pluralize

NEEDS: Final = ("acl_differences",)
ANONYMOUS: Final = "User:ANONYMOUS"
ALL_USERS: Final = "User:*"
SHOWN: Final = 20
FLAGS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}


def _missing(evidence: Evidence, concerns: Callable[[PlannedBinding], bool]) -> Iterator[PlannedBinding | Skipped]:
    """Required bindings that are not allowed, in the phase of each worker; Skipped: not compared.

    If a phase is unknown, a binding is required if every possible phase requires it.
    """
    in_force, every = evidence.acl_in_force, evidence.acl_differences
    if isinstance(every, Skipped):
        return
    if isinstance(in_force, Skipped):
        possible = [_required(every[each], concerns) for each in possible_phases(evidence.workers)]
    else:
        possible = [_required(in_force, concerns)]
    unsure = []
    for place in dict.fromkeys(each for needed in possible for each in needed):
        found = [needed[place] for needed in possible if place in needed]
        if isinstance(found[0], Skipped) or len(found) == len(possible):
            yield found[0]
        else:
            unsure.append(place[1])
    if unsure:
        assert isinstance(in_force, Skipped), "one phase is not in doubt about its own bindings"
        more = pluralize(len(unsure), "binding that is missing is", "bindings that are missing are")
        yield not_asked(f"whether {more} needed ({unsure[0]}): {in_force.reason}")


def _required(
    difference: AclDifference, concerns: Callable[[PlannedBinding], bool]
) -> dict[tuple[frozenset[str], AclBinding], PlannedBinding | Skipped]:
    found: dict[tuple[frozenset[str], AclBinding], PlannedBinding | Skipped] = {}
    for each in difference.compared:
        planned = each.planned
        ours = all(reason.role is ClientRole.EOSCTL for reason in planned.reasons)
        if planned.is_optional or ours or not concerns(planned):
            continue
        if isinstance(each.status, Skipped):
            found[planned.cluster, planned.binding] = each.status
        elif each.status is BindingStatus.MISSING:
            found[planned.cluster, planned.binding] = _no_principal(planned) or planned
    return found


def _is_id(planned: PlannedBinding) -> bool:
    return planned.binding.pattern.resource_type is ResourceType.TRANSACTIONAL_ID


def _of_leader(planned: PlannedBinding) -> bool:
    return _is_id(planned) and any(each.connector is None for each in planned.reasons)


def _of_tasks(planned: PlannedBinding) -> bool:
    return _is_id(planned) and any(each.connector is not None for each in planned.reasons)


def _of_others(planned: PlannedBinding) -> bool:
    return not _is_id(planned)


def _no_principal(planned: PlannedBinding) -> Skipped | None:
    if planned.binding.principal == ANONYMOUS:
        return not_asked(f"{ANONYMOUS} is who connects without a name: give --super-user {ANONYMOUS} if it is one")
    if planned.binding.principal == UNKNOWN_PRINCIPAL:
        role = "worker" if planned.reasons[0].role is ClientRole.WORKER else "connector"
        return not_asked(f"the {role}'s principal is not known: give --principal {role}=User:NAME")
    return None


def _leader(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, _of_leader):
        if isinstance(each, Skipped):
            yield each
            continue
        name = each.binding.pattern.name
        yield kinds.LEADER.finding(
            name, _message(each), {"principal": each.binding.principal}, cure=_command(each.binding)
        )


def _tasks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    missing: dict[tuple[str, str], list[PlannedBinding]] = {}
    for each in _missing(evidence, _of_tasks):
        if isinstance(each, Skipped):
            yield each
            continue
        for connector in dict.fromkeys(reason.connector for reason in each.reasons if reason.connector is not None):
            missing.setdefault((connector, each.binding.principal), []).append(each)
    for (connector, principal), found in missing.items():
        names = [each.binding.pattern.name for each in found]
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        stem = names[0].rpartition("-")[0]
        cure = (
            f"`kafka-acls.sh --bootstrap-server <broker> --add --allow-principal {shlex.quote(principal)} "
            f"--operation Write --resource-pattern-type prefixed --transactional-id {shlex.quote(f'{stem}-')}`"
        )
        message = f"{_message(found[0])}{more}"
        yield kinds.TASKS.finding(
            connector, message, {"principal": principal, "transactional_ids": names[:SHOWN]}, cure=cure
        )


def _others(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, _of_others):
        if isinstance(each, Skipped):
            yield each
            continue
        subject = str(each.binding.pattern)
        principal, operation = each.binding.principal, str(each.binding.operation)
        yield kinds.OTHERS.finding(
            subject, _message(each), {"principal": principal, "operation": operation}, cure=_command(each.binding)
        )


def _intruders(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """An ACL on all names is an administrator's, and an info, unless every principal has it."""
    difference = evidence.acl_in_force
    for each in () if isinstance(difference, Skipped) else difference.others:
        binding, name = each.binding, each.guarded.name
        if each.expected & {UNKNOWN_PRINCIPAL, ANONYMOUS}:
            yield not_asked(f"whether {binding.principal}, which may write {each.guarded}, is a principal of Connect's")
            continue
        is_topic = each.guarded.resource_type is ResourceType.TOPIC
        what = f"write the config topic {name}" if is_topic else f"take the transactional ID {name}"
        message = f"{binding.principal} may {what}, which Connect alone should ({binding})"
        for_all = binding.pattern.is_wildcard and binding.principal != ALL_USERS
        severity = Severity.INFO if for_all else None
        evidenced = {"principal": binding.principal, "resource": str(each.guarded)}
        cure = f"unless it is an administrator: {_command(binding, 'remove')}"
        yield kinds.INTRUDERS.finding(binding.principal, message, evidenced, cure=cure, severity=severity)


def _tenants(evidence: Evidence) -> Iterator[Finding]:
    """Connectors with principals of their own that may write one offsets topic."""
    difference = evidence.acl_in_force
    internal = () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics
    topics = {each.name for each in internal if each.role == "offsets"}
    topics |= {str(own) for name in evidence.sources() if (own := evidence.config(name).get(OFFSETS_TOPIC)) is not None}
    writers: dict[str, dict[str, str]] = {}
    for each in () if isinstance(difference, Skipped) else difference.compared:
        binding = each.planned.binding
        producers = [why for why in each.planned.reasons if why.role is ClientRole.PRODUCER]
        if binding.pattern.name in topics and binding.operation is Operation.WRITE and producers:
            writers.setdefault(binding.pattern.name, {})[binding.principal] = str(producers[0].connector)
    for topic, found in writers.items():
        if len(found) > 1 and UNKNOWN_PRINCIPAL not in found:
            who = first_few([f"{principal} (of {connector})" for principal, connector in sorted(found.items())])
            message = f"connectors of {len(found)} principals write their offsets to it: {who}"
            yield kinds.TENANTS.finding(topic, message, {"principals": sorted(found)[:SHOWN]})


def _message(planned: PlannedBinding) -> str:
    reason, pattern = planned.reasons[0], planned.binding.pattern
    return (
        f"{planned.binding.principal} has no {planned.binding.operation} on {pattern.resource_type} {pattern.name} "
        f"(unless it is a super user): {reason.why}"
    )


def _command(binding: AclBinding, change: str = "add") -> str:
    pattern = binding.pattern
    resource = "--cluster" if pattern.resource_type is ResourceType.CLUSTER else FLAGS.get(pattern.resource_type)
    if resource is None:
        return "`eosctl acl-plan --emit kafka-acls` prints the command"
    name = "" if resource == "--cluster" else f" {shlex.quote(pattern.name)}"
    prefixed = "--resource-pattern-type prefixed " if pattern.pattern_type is PatternType.PREFIXED else ""
    return (
        f"`kafka-acls.sh --bootstrap-server <broker> --{change} --allow-principal {shlex.quote(binding.principal)} "
        f"--operation {binding.operation} {prefixed}{resource}{name}`"
    )


RULES: Final = (
    Rule(
        kinds.LEADER,
        "May every worker initialize the leader's transactional ID?",
        needs=NEEDS,
        check=_leader,
        blocks=frozenset({"preparing", "enabled"}),
    ),
    Rule(
        kinds.TASKS,
        "May the connectors' principals initialize, and fence, the ID of every task?",
        needs=NEEDS,
        check=_tasks,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.OTHERS,
        "May workers and connectors use every topic and group that exactly-once needs?",
        needs=NEEDS,
        check=_others,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.INTRUDERS,
        "May Connect alone write the config topic and take the IDs of its leader and tasks?",
        needs=("acl_in_force",),
        check=_intruders,
    ),
    Rule(
        kinds.TENANTS,
        "Is each offsets topic written with one principal?",
        needs=("acl_in_force", "inspection", "internal_topics"),
        check=_tenants,
    ),
)
