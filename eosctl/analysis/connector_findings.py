"""Findings about one connector of the config topic, each with what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from eosctl.analysis.catalogue import config_topic as kinds
from eosctl.analysis.connect_requests import for_connector, restart_tasks
from eosctl.analysis.impossible_connectors import why_impossible
from eosctl.model.client_configs import as_properties
from eosctl.model.client_properties import HIDDEN
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.connectors import ConnectorState, ConnectorType, TargetState
from eosctl.model.counts import counted
from eosctl.model.inspection import InspectedConnector, NextStartRule
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS


@dataclass(frozen=True, slots=True)
class _Case:
    connector: InspectedConnector
    cluster_has_records: bool
    version: KafkaVersion

    def finding(
        self, kind: FindingKind, message: str, *, cure: str | None = None, severity: Severity | None = None
    ) -> Finding:
        """A finding about this connector, with its figures as evidence, and the kind's fix where no other is given."""
        state = self.connector.state
        running = self.connector.running_tasks
        evidence: dict[str, object] = {
            "task_count": state.task_count,
            "task_count_record": state.task_count_record,
            "last_commit_offset": state.commit_offset,
            "last_task_count_offset": state.task_count_offset,
            "config_offset": state.config_offset,
            "running_tasks": {"skipped": running.reason} if isinstance(running, Skipped) else running,
        }
        cure = for_connector(kind.fix_for(self.version), state.name) if cure is None else cure
        return kind.finding(state.name, message, evidence, cure=cure, severity=severity)

    @property
    def running(self) -> int:
        """Tasks known to run: none where nobody asked."""
        running = self.connector.running_tasks
        return 0 if isinstance(running, Skipped) else running


def connector_findings(
    connector: InspectedConnector, cluster_has_records: bool, version: KafkaVersion
) -> Iterator[Finding]:
    """All that is found about one connector, with the fixes for workers of this version.

    cluster_has_records shows whether any task count record exists at all.
    """
    case = _Case(connector, cluster_has_records, version)
    for rule in _RULES:
        finding = rule(case)
        if finding is not None:
            yield finding


MOST_RESTARTED: Final = 1_000
"""A record may claim more tasks than a fix can name."""


def _restart(case: _Case) -> str:
    state = case.connector.state
    return f"{restart_tasks(state.name, range(min(state.task_count or 0, MOST_RESTARTED)))}; {kinds.ONCE_MORE}"


def _pending_with_running_tasks(case: _Case) -> Finding | None:
    state = case.connector.state
    fencing = case.connector.next_start.rule in {NextStartRule.FENCE, NextStartRule.SINGLE_TASK}
    # A stop commits 0 tasks before the workers end those that run: none of these was started after the commit.
    starts = state.target_state is TargetState.STARTED and state.task_count != 0
    if case.connector.type is not ConnectorType.SOURCE or not fencing or not starts or not case.running:
        return None
    return case.finding(
        kinds.PENDING_FENCING_WITH_RUNNING_TASKS,
        f"{counted(case.running, 'task runs', 'tasks run')} although the task commit at offset {state.commit_offset} "
        "was not followed by a task count record: they started without a round of fencing, so older tasks may still "
        "write",
        cure="make sure that every worker has exactly.once.source.support=enabled (`eosctl upgrade-check --to "
        f"enabled`), then restart the tasks: {_restart(case)}",
    )


def may_be_starting(findings: Iterable[Finding]) -> bool:
    """Whether a start in progress would look the same for some seconds: tasks of before run beside the new commit."""
    return any(each.kind == kinds.PENDING_FENCING_WITH_RUNNING_TASKS for each in findings)


def _count_mismatch(case: _Case) -> Finding | None:
    state = case.connector.state
    applies = state.known and not state.pending_fencing and state.commit_offset is not None
    if not applies or state.task_count_record is None or state.task_count_record == state.task_count:
        return None
    fenced, running = (counted(each or 0, "producer") for each in (state.task_count_record, state.task_count))
    return case.finding(
        kinds.TASK_COUNT_MISMATCH,
        f"the task count record says {state.task_count_record} and the task commit before it {state.task_count}: the "
        f"next round will fence {fenced}, not {running}",
    )


def _commit_without_record(case: _Case) -> Finding | None:
    state = case.connector.state
    unrecorded = state.known and state.commit_offset is not None and state.task_count_record is None
    started = state.target_state is TargetState.STARTED and bool(state.task_count)
    if case.connector.type is not ConnectorType.SOURCE or not (unrecorded and started and case.cluster_has_records):
        return None
    tasks = counted(state.task_count or 0, "task was", "tasks were")
    return case.finding(
        kinds.COMMIT_WITHOUT_TASK_COUNT_RECORD,
        f"{tasks} committed at offset {state.commit_offset} but no task count record exists, "
        "though other connectors have one: these tasks never started under exactly-once",
        cure=f"when every worker has exactly.once.source.support=enabled, restart the tasks: {_restart(case)}",
    )


def _inconsistent(case: _Case) -> Finding | None:
    state = case.connector.state
    if not (state.known and state.inconsistent):
        return None
    missing = ", ".join(map(str, state.missing_tasks[:10])) + (" …" if len(state.missing_tasks) > 10 else "")
    return case.finding(
        kinds.INCONSISTENT_CONNECTOR,
        f"the task commit at offset {state.commit_offset} wants {state.task_count} task configs and compaction left "
        f"none for task {missing}: a worker that starts now runs no tasks of it until it is configured again",
        severity=Severity.WARNING,
    )


def _commit_before_config(case: _Case) -> Finding | None:
    state = case.connector.state
    if not state.known or state.unclaimed_commit_offset is None or state.task_count is not None:
        return None
    return case.finding(
        kinds.COMMIT_BEFORE_CONFIG,
        f"the task commit at offset {state.unclaimed_commit_offset} comes before the connector config at offset "
        f"{state.config_offset} (compaction removed the older config): workers from 3.7.1 ignore it and start without "
        "tasks",
    )


def _impossible(case: _Case) -> Finding | None:
    state = case.connector.state
    if not state.known:
        return None
    config = state.config or {}
    connector = ConnectorConfig(state.name, as_properties(config), case.connector.type)
    reasons = [*why_impossible(connector), *_no_class(config.get("connector.class", "")), *_too_many(state)]
    if not reasons:
        return None
    return case.finding(kinds.IMPOSSIBLE_CONNECTOR, f"no worker can run it: {'; '.join(reasons)}")


def _no_class(value: object) -> Iterator[str]:
    if value is None:
        yield "it has no connector.class"
    elif not isinstance(value, str) or value == HIDDEN:
        yield "its connector.class is no text, and workers answer 500 to whoever asks for all connectors"


def _too_many(state: ConnectorState) -> Iterator[str]:
    record = state.task_count_record or 0
    if record > MOST_TASKS:
        yield f"its task count record claims {record} tasks, and the IDs of more than {MOST_TASKS} are not looked at"


def _orphans(case: _Case) -> Finding | None:
    state = case.connector.state
    if state.known:
        return None
    return case.finding(
        kinds.ORPHAN_RECORDS,
        f"records remain of a connector that does not exist: {case.connector.next_start.words.partition('; ')[2]}",
    )


_RULES: Final[tuple[Callable[[_Case], Finding | None], ...]] = (
    _pending_with_running_tasks,
    _count_mismatch,
    _commit_without_record,
    _inconsistent,
    _commit_before_config,
    _impossible,
    _orphans,
)
