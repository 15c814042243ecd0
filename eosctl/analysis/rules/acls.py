"""Rules about ACLs: what of the plan of `eosctl acl-plan` the cluster does not allow.

The planner knows what each client needs, and why; what it compared comes here as evidence. Transactional IDs have rules
of their own, because their lack shows late: at the election of a leader, at the first fencing.
"""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import acls as kinds
from eosctl.model.acl_plan import BindingStatus, PlannedBinding
from eosctl.model.acls import AclBinding, PatternType, ResourceType
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped, not_asked

NEEDS: Final = ("acl_differences",)
ANONYMOUS: Final = "User:ANONYMOUS"
SHOWN: Final = 20
FLAGS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}


def _missing(
    evidence: Evidence, phase: SourceSupport, *, transactional_ids: bool
) -> Iterator[PlannedBinding | Skipped]:
    """What is required in this phase and not allowed, of transactional IDs or of all else; Skipped: not compared."""
    differences = evidence.acl_differences
    for each in () if isinstance(differences, Skipped) else differences[phase].compared:
        planned = each.planned
        is_id = planned.binding.pattern.resource_type is ResourceType.TRANSACTIONAL_ID
        ours = all(reason.role is ClientRole.EOSCTL for reason in planned.reasons)
        if planned.is_optional or ours or is_id is not transactional_ids:
            continue
        if isinstance(each.status, Skipped):
            yield each.status
        elif each.status is BindingStatus.MISSING:
            yield _not_told(planned) or planned


def _not_told(planned: PlannedBinding) -> Skipped | None:
    if planned.binding.principal == ANONYMOUS:
        return not_asked(f"{ANONYMOUS} is who connects without a name: give --super-user {ANONYMOUS} if it is one")
    if planned.binding.principal == UNKNOWN_PRINCIPAL:
        role = "worker" if planned.reasons[0].role is ClientRole.WORKER else "connector"
        return not_asked(f"the {role}'s principal is not known: give --principal {role}=User:NAME")
    return None


def _leader(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, SourceSupport.PREPARING, transactional_ids=True):
        if isinstance(each, Skipped):
            yield each
            continue
        name = each.binding.pattern.name
        yield kinds.LEADER.finding(
            name, _message(each), {"principal": each.binding.principal}, cure=_command(each.binding)
        )


def _tasks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    missing: dict[tuple[str, str], list[PlannedBinding]] = {}
    for each in _missing(evidence, SourceSupport.ENABLED, transactional_ids=True):
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
            f"kafka-acls.sh --add --allow-principal {principal} --operation Write "
            f"--resource-pattern-type prefixed --transactional-id {stem}-"
        )
        message = f"{_message(found[0])}{more}"
        yield kinds.TASKS.finding(
            connector, message, {"principal": principal, "transactional_ids": names[:SHOWN]}, cure=cure
        )


def _others(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, SourceSupport.ENABLED, transactional_ids=False):
        if isinstance(each, Skipped):
            yield each
            continue
        subject = str(each.binding.pattern)
        principal, operation = each.binding.principal, str(each.binding.operation)
        yield kinds.OTHERS.finding(
            subject, _message(each), {"principal": principal, "operation": operation}, cure=_command(each.binding)
        )


def _message(planned: PlannedBinding) -> str:
    reason, pattern = planned.reasons[0], planned.binding.pattern
    return (
        f"{planned.binding.principal} has no {planned.binding.operation} on {pattern.resource_type} {pattern.name} "
        f"(unless it is a super user): {reason.why}"
    )


def _command(binding: AclBinding) -> str:
    pattern = binding.pattern
    resource = "--cluster" if pattern.resource_type is ResourceType.CLUSTER else FLAGS.get(pattern.resource_type)
    if resource is None:
        return "`eosctl acl-plan --emit kafka-acls` prints the command"
    name = "" if resource == "--cluster" else f" {pattern.name}"
    prefixed = "--resource-pattern-type prefixed " if pattern.pattern_type is PatternType.PREFIXED else ""
    return (
        f"kafka-acls.sh --add --allow-principal {binding.principal} --operation {binding.operation} "
        f"{prefixed}{resource}{name}"
    )


RULES: Final = (
    Rule(
        kinds.LEADER,
        "May every worker claim the leader's transactional ID?",
        needs=NEEDS,
        check=_leader,
        blocks=frozenset({"preparing", "enabled"}),
    ),
    Rule(
        kinds.TASKS,
        "May the connectors' principals claim, and fence, the ID of every task?",
        needs=NEEDS,
        check=_tasks,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.OTHERS,
        "May workers and connectors use every topic and group that exactly-once has them use?",
        needs=NEEDS,
        check=_others,
        blocks=frozenset({"enabled"}),
    ),
)
