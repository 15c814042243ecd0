"""Rules about ACLs: what of the plan of `eosctl acl-plan` the cluster does not allow.

The planner knows what each client needs, and why; what it compared comes here as evidence. Transactional IDs have rules
of their own, because their lack shows late: at the election of a leader, at the first fencing.
"""

from collections.abc import Iterator
from typing import Final

from eosctl.model.acl_plan import BindingStatus, PlannedBinding
from eosctl.model.acls import AclBinding, PatternType, ResourceType
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

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
        return Skipped(f"{ANONYMOUS} is who connects without a name: give --super-user {ANONYMOUS} if it is one")
    if planned.binding.principal == UNKNOWN_PRINCIPAL:
        role = "worker" if planned.reasons[0].role is ClientRole.WORKER else "connector"
        return Skipped(f"the {role}'s principal is not known: give --principal {role}=User:NAME")
    return None


def _leader(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, SourceSupport.PREPARING, transactional_ids=True):
        if isinstance(each, Skipped):
            yield each
            continue
        name = each.binding.pattern.name
        yield LEADER.finding(name, _message(each), cure=_command(each.binding), principal=each.binding.principal)


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
        yield TASKS.finding(connector, message, cure=cure, principal=principal, transactional_ids=names[:SHOWN])


def _others(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _missing(evidence, SourceSupport.ENABLED, transactional_ids=False):
        if isinstance(each, Skipped):
            yield each
            continue
        subject = str(each.binding.pattern)
        principal, operation = each.binding.principal, str(each.binding.operation)
        yield OTHERS.finding(
            subject, _message(each), cure=_command(each.binding), principal=principal, operation=operation
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


LEADER: Final = Rule(
    id="EOS130",
    title="leader may not claim its ID",
    severity=Severity.ERROR,
    question="May every worker claim the leader's transactional ID?",
    needs=NEEDS,
    cause="From preparing on, the leader writes the config topic in transactions. Any worker may be elected.",
    cure="kafka-acls.sh --add --allow-principal <principal> --operation Write --transactional-id <leader's ID>",
    source="KIP-618, `eosctl acl-plan`",
    check=_leader,
    blocks=frozenset({"preparing", "enabled"}),
)
TASKS: Final = Rule(
    id="EOS131",
    title="tasks may not claim their IDs",
    severity=Severity.ERROR,
    question="May the connectors' principals claim, and fence, the ID of every task?",
    needs=NEEDS,
    cause="A task's producer claims its ID when it starts, and the connector's admin client fences those of the last "
    "task count record. The latter shows only at the first reconfiguration: all tasks turn FAILED.",
    cure="kafka-acls.sh --add --allow-principal <principal> --operation Write --resource-pattern-type prefixed "
    "--transactional-id <group.id>-<connector>-",
    source="KIP-618, `eosctl acl-plan`",
    check=_tasks,
    blocks=frozenset({"enabled"}),
)
OTHERS: Final = Rule(
    id="EOS132",
    title="ACLs of workers or connectors are missing",
    severity=Severity.ERROR,
    question="May workers and connectors use every topic and group that exactly-once has them use?",
    needs=NEEDS,
    cause="Under exactly-once each task writes and reads the offsets topic with the connector's own clients, which "
    "need ACLs that only the worker needed before.",
    cure="`eosctl acl-plan --phase enabled --emit kafka-acls` prints all that are missing",
    source="KIP-618, `eosctl acl-plan`",
    check=_others,
    blocks=frozenset({"enabled"}),
)
RULES: Final = (LEADER, TASKS, OTHERS)
