"""What is worth telling about one connector of the config topic, each finding with a cure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from eosctl.analysis.connect_requests import restart_tasks
from eosctl.model.connectors import ConnectorType, TargetState, connector_path
from eosctl.model.counts import counted
from eosctl.model.inspection import InspectedConnector, NextStartRule
from eosctl.model.report import Finding, Severity
from eosctl.model.snapshot import Skipped

PENDING_FENCING_WITH_RUNNING_TASKS: Final = "pending-fencing-with-running-tasks"
TASK_COUNT_MISMATCH: Final = "task-count-mismatch"
COMMIT_WITHOUT_TASK_COUNT_RECORD: Final = "commit-without-task-count-record"
INCONSISTENT_CONNECTOR: Final = "inconsistent-connector"
COMMIT_BEFORE_CONFIG: Final = "commit-before-config"
ORPHAN_RECORDS: Final = "orphan-records"


@dataclass(frozen=True, slots=True)
class _Case:
    connector: InspectedConnector
    cluster_has_records: bool

    def finding(self, finding_id: str, severity: Severity, message: str, cure: str) -> Finding:
        """A finding about this connector, with all its figures as evidence."""
        state = self.connector.state
        running = self.connector.running_tasks
        evidence = {
            "task_count": state.task_count,
            "task_count_record": state.task_count_record,
            "last_commit_offset": state.commit_offset,
            "last_task_count_offset": state.task_count_offset,
            "config_offset": state.config_offset,
            "running_tasks": {"skipped": running.reason} if isinstance(running, Skipped) else running,
        }
        return Finding(finding_id, severity, state.name, message, cure, evidence)

    @property
    def running(self) -> int:
        """Tasks known to run: none where nobody asked."""
        running = self.connector.running_tasks
        return 0 if isinstance(running, Skipped) else running


def connector_findings(connector: InspectedConnector, cluster_has_records: bool) -> Iterator[Finding]:
    """All that is found about one connector; cluster_has_records tells whether any task count record exists at all."""
    case = _Case(connector, cluster_has_records)
    for rule in _RULES:
        finding = rule(case)
        if finding is not None:
            yield finding


def _restart(case: _Case) -> str:
    return restart_tasks(case.connector.state.name, range(case.connector.state.task_count or 0))


def _pending_with_running_tasks(case: _Case) -> Finding | None:
    state = case.connector.state
    fencing = case.connector.next_start.rule in {NextStartRule.FENCE, NextStartRule.SINGLE_TASK}
    if case.connector.type is not ConnectorType.SOURCE or not fencing or not case.running:
        return None
    return case.finding(
        PENDING_FENCING_WITH_RUNNING_TASKS,
        Severity.ERROR,
        f"{counted(case.running, 'task runs', 'tasks run')} although the task commit at offset {state.commit_offset} "
        "was not followed by a task count record: they started without a round of fencing, so older tasks may still "
        "write (a start under way looks the same for some seconds)",
        "make sure that every worker has exactly.once.source.support=enabled (`eosctl upgrade-check --to enabled`), "
        f"then restart the tasks: {_restart(case)}",
    )


def _count_mismatch(case: _Case) -> Finding | None:
    state = case.connector.state
    applies = state.known and not state.pending_fencing and state.commit_offset is not None
    if not applies or state.task_count_record is None or state.task_count_record == state.task_count:
        return None
    fenced, running = (counted(each or 0, "producer") for each in (state.task_count_record, state.task_count))
    return case.finding(
        TASK_COUNT_MISMATCH,
        Severity.WARNING,
        f"the task count record says {state.task_count_record} and the task commit before it {state.task_count}: the "
        f"next round will fence {fenced}, not {running}",
        f"stop it (PUT {connector_path(state.name)}/stop), see that none of its tasks runs any more, then resume it "
        f"(PUT {connector_path(state.name)}/resume), which commits, fences and records anew",
    )


def _commit_without_record(case: _Case) -> Finding | None:
    state = case.connector.state
    unrecorded = state.known and state.commit_offset is not None and state.task_count_record is None
    started = state.target_state is TargetState.STARTED and bool(state.task_count)
    if case.connector.type is not ConnectorType.SOURCE or not (unrecorded and started and case.cluster_has_records):
        return None
    tasks = counted(state.task_count or 0, "task was", "tasks were")
    return case.finding(
        COMMIT_WITHOUT_TASK_COUNT_RECORD,
        Severity.WARNING,
        f"{tasks} committed at offset {state.commit_offset} but no task count record exists, "
        "though other connectors have one: these tasks never started under exactly-once",
        f"when every worker has exactly.once.source.support=enabled, restart the tasks: {_restart(case)}",
    )


def _inconsistent(case: _Case) -> Finding | None:
    state = case.connector.state
    if not (state.known and state.inconsistent):
        return None
    missing = ", ".join(map(str, state.missing_tasks[:10])) + (" …" if len(state.missing_tasks) > 10 else "")
    return case.finding(
        INCONSISTENT_CONNECTOR,
        Severity.WARNING,
        f"the task commit at offset {state.commit_offset} wants {state.task_count} task configs and compaction left "
        f"none for task {missing}: a worker that starts now runs no tasks of it until it is configured anew",
        f"restart the connector, which writes all its task configs: POST {connector_path(state.name)}/restart",
    )


def _commit_before_config(case: _Case) -> Finding | None:
    state = case.connector.state
    if not state.known or state.unclaimed_commit_offset is None or state.task_count is not None:
        return None
    return case.finding(
        COMMIT_BEFORE_CONFIG,
        Severity.WARNING,
        f"the task commit at offset {state.unclaimed_commit_offset} comes before the connector config at offset "
        f"{state.config_offset} (compaction removed the older config): workers from 3.7.1 ignore it and start without "
        "tasks",
        f"restart the connector, which writes its task configs anew: POST {connector_path(state.name)}/restart",
    )


def _orphans(case: _Case) -> Finding | None:
    state = case.connector.state
    if state.known:
        return None
    return case.finding(
        ORPHAN_RECORDS,
        Severity.INFO,
        f"records remain of a connector that does not exist: {case.connector.next_start.words.partition('; ')[2]}",
        "nothing: Connect keeps them on purpose, so that a new connector of this name fences the old one's tasks",
    )


_RULES: Final[tuple[Callable[[_Case], Finding | None], ...]] = (
    _pending_with_running_tasks,
    _count_mismatch,
    _commit_without_record,
    _inconsistent,
    _commit_before_config,
    _orphans,
)
