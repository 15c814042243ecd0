"""Which rule the leader's round of zombie fencing falls under when a connector's tasks start next.

With P pending fencing, R the last task count record (or none) and T the number of tasks last committed
(DistributedHerder.doFenceZombieSourceTasks, KIP-618):

1. not P: nothing is fenced and nothing written.
2. P, no R: the first start under exactly-once; nothing is fenced, R := T is written.
3. P, R = 1 and T = 1: the one producer has the same transactional ID as before and fences it itself; R := T is written.
4. otherwise: the producers of tasks 0 … R-1 are fenced, then R := T is written.

A STOPPED connector commits no tasks, and resuming it commits some, so its next start falls under 2 to 4 in any case.
"""

from eosctl.model.connectors import ConnectorState, ConnectorType, TargetState
from eosctl.model.inspection import NextStart, NextStartRule
from eosctl.model.names import ConnectorTaskId, task_transactional_id


def next_start(state: ConnectorState, connector_type: ConnectorType | None, group_id: str | None) -> NextStart:
    """The rule for this connector; group_id of its Connect cluster names the transactional IDs in the words."""
    if connector_type is ConnectorType.SINK:
        return NextStart(NextStartRule.NONE, 0, "a sink: its tasks have no producers to fence")
    if not state.known:
        return NextStart(NextStartRule.NONE, 0, _unknown(state, group_id))
    rule, fences, words = _source(state, group_id)
    if connector_type is None and rule is NextStartRule.FIRST_START:
        words += ", if it is a source"
    return NextStart(rule, fences, words)


def _source(state: ConnectorState, group_id: str | None) -> tuple[NextStartRule, int, str]:
    record = state.task_count_record
    if not state.pending_fencing:
        return NextStartRule.NONE, 0, _not_pending(state)
    if record is None:
        return NextStartRule.FIRST_START, 0, "first exactly-once start: nothing to fence"
    if record == 1 and state.task_count == 1:
        return NextStartRule.SINGLE_TASK, 0, "1 -> 1: no fencing, the same ID fences itself"
    fences = max(record, 0)
    return (
        NextStartRule.FENCE,
        fences,
        f"the next start will fence {_producers(state.name, fences, group_id)}: "
        + (
            f"the task commit at offset {state.commit_offset} is later than the task count record at offset "
            f"{state.task_count_offset}" + _resumed(state)
        ),
    )


def _resumed(state: ConnectorState) -> str:
    if state.target_state is TargetState.STOPPED and state.task_count_record == 1:
        return " (none if it resumes with one task)"
    return ""


def _not_pending(state: ConnectorState) -> str:
    if state.task_count_record is None:
        return "no task commit yet: nothing to fence"
    return f"already fenced: the task count record at offset {state.task_count_offset} is later than " + (
        "any task commit" if state.commit_offset is None else f"the task commit at offset {state.commit_offset}"
    )


def _unknown(state: ConnectorState, group_id: str | None) -> str:
    record = state.task_count_record
    if record is None or record <= 0:
        return "no such connector; a new one of this name would have nothing to fence"
    return f"no such connector; a new one of this name would fence {_producers(state.name, record, group_id)}"


def _producers(name: str, count: int, group_id: str | None) -> str:
    if count <= 0:
        return "no producers"
    first = task_transactional_id(group_id or "<group.id>", ConnectorTaskId(name, 0))
    if count == 1:
        return f"1 producer ({first})"
    return f"{count} producers ({first} … -{count - 1})"
