"""Rules about ACLs: what the workers' and the connectors' principals need for exactly-once, by literal names.

The full plan, with topics and groups and what each client needs them for, is that of `eosctl acl-plan`. These rules ask
only for the transactional IDs, whose lack shows late: at the election of a leader, at the first fencing.
"""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.authorizer import Authorizer
from eosctl.model.acls import Operation, ResourceType
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

WORKER: Final = "worker"
CONNECTOR: Final = "connector"


def _leader(evidence: Evidence) -> Iterator[Finding | Skipped]:
    if isinstance(evidence.group_id, Skipped):
        return
    name = leader_transactional_id(evidence.group_id)
    yield from _denied(evidence, WORKER, (name,), LEADER, name)


def _tasks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, inspection = evidence.group_id, evidence.inspection
    if isinstance(group_id, Skipped) or isinstance(inspection, Skipped):
        return
    for name in evidence.sources():
        state = inspection.state.state(name)
        count = max(state.task_count or 0, state.task_count_record or 0, 1)
        ids = tuple(task_transactional_id(group_id, ConnectorTaskId(name, task)) for task in range(count))
        if overridden := [key for key in evidence.config(name) if key.endswith("override.sasl.jaas.config")]:
            yield Skipped(f"{name} has a principal of its own ({overridden[0]}): `eosctl acl-plan` asks for it")
        else:
            yield from _denied(evidence, CONNECTOR, ids, TASKS, name)


def _denied(
    evidence: Evidence, role: str, ids: tuple[str, ...], rule: Rule, subject: str
) -> Iterator[Finding | Skipped]:
    if isinstance(evidence.acls, Skipped) or isinstance(evidence.principals, Skipped):
        return
    principal = evidence.principals.get(role)
    if principal is None:
        yield Skipped(f"the {role}'s principal is not known: give --principal {role}=User:NAME")
        return
    authorizer = Authorizer(evidence.acls)
    denied = [
        name
        for name in ids
        if not authorizer.decide(principal, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name).allowed
    ]
    if denied:
        more = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
        message = f"{principal} has no Write on TransactionalId {denied[0]}{more} (super users aside)"
        cure = rule.cure.replace("<principal>", principal).replace("<id>", denied[0].rpartition("-")[0] + "-")
        cure = cure.replace("<leader>", denied[0])
        yield rule.finding(subject, message, cure=cure, principal=principal, transactional_ids=denied[:20])


LEADER: Final = Rule(
    id="EOS130",
    title="leader may not claim its ID",
    severity=Severity.ERROR,
    question="May every worker claim the leader's transactional ID?",
    needs=("group_id", "acls", "principals"),
    cause="From preparing on, the leader writes the config topic in transactions. Any worker may be elected.",
    cure="kafka-acls.sh --add --allow-principal <principal> --operation Write --operation Describe "
    "--transactional-id <leader>",
    source="KIP-618",
    check=_leader,
    blocks=frozenset({"preparing", "enabled"}),
)
TASKS: Final = Rule(
    id="EOS131",
    title="tasks may not claim their IDs",
    severity=Severity.ERROR,
    question="May the connectors' principal claim, and fence, the ID of every task?",
    needs=("group_id", "acls", "principals", "inspection"),
    cause="A task's producer claims its ID when it starts, and the connector's admin client fences those of the last "
    "task count record. The latter shows only at the first reconfiguration: all tasks turn FAILED.",
    cure="kafka-acls.sh --add --allow-principal <principal> --operation Write --operation Describe "
    "--resource-pattern-type prefixed --transactional-id <id>",
    source="KIP-618",
    check=_tasks,
    blocks=frozenset({"enabled"}),
)
RULES: Final = (LEADER, TASKS)
