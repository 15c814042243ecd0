"""One connector with all facts about it, and the connectors of a Connect cluster."""

from typing import Final, NamedTuple

from msgspec import field

from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.config_topic import NextStart
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.evidence import IcebergState
from eosctl.model.hanging import LastStableOffsets
from eosctl.model.offsets import MergedOffset
from eosctl.model.report import Finding, FindingKind, NextStep, Result, Uncertainty
from eosctl.model.rules import Diagnosis
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.workers import TaskStatus

NO_SINK: Final = not_asked("Kafka Connect has exactly-once support for source connectors only")


class TaskStates(NamedTuple):
    """How many tasks are in this state."""

    state: str
    tasks: int


class ExactlyOnce(NamedTuple):
    """The workers' and the connector's settings for exactly-once, and their effect: yes, no, partly, unknown.

    worker is enabled, not enabled or mixed. boundary is transaction.boundary. interval_ms and timeout_ms are None if
    they do not apply or are unknown. why explains `effective`.
    """

    worker: str | Skipped
    connector: str
    boundary: str
    interval_ms: int | None
    timeout_ms: int | None
    effective: str
    why: str


class DescribedId(NamedTuple):
    """A transactional ID of a task. state is None if its coordinator does not know the ID. open_ms is the age of an
    open transaction. last_commit_ms is in ms since the epoch, None without a commit in the transaction log."""

    transactional_id: str
    state: str | Skipped | None
    producer_id: int | None = None
    producer_epoch: int | None = None
    open_ms: int | None = None
    last_commit_ms: int | Skipped | None = None


class LastCommit(NamedTuple):
    """The last committed transaction of all tasks, in ms since the epoch, and how long ago that was.

    longest_ms is the longest interval between two commits before, over `intervals` of them.
    """

    at_ms: int
    ago_ms: int
    longest_ms: int
    intervals: int


class DescribedConnector(Result, frozen=True, kw_only=True):
    """The answer of `connector show`.

    state is the workers' report, Skipped if no worker was queried or answered, None if they do not know the connector;
    words say it in one sentence. Without an answer from a worker, state and tasks come from the status topic:
    written_ms is the time of its newest record, and they may have changed since. others are the findings about the
    cluster rather than the connector. outputs are the partitions that a source writes to, or that a sink's group reads.
    iceberg is the second group of an Iceberg sink with its control topic, None for another connector.
    """

    name: str
    as_of: int
    cluster_id: str | None
    diagnosis: Diagnosis
    type: ConnectorType | None
    connector_class: str | None
    state: str | Skipped | None
    worker: str | None
    trace: str | None
    target_state: TargetState | Skipped | None
    words: str
    tasks: tuple[TaskStatus, ...] | Skipped
    exactly_once: ExactlyOnce | Skipped
    transactional_ids: tuple[DescribedId, ...] | Skipped
    offsets: tuple[MergedOffset, ...] | Skipped
    next_start: NextStart | Skipped
    last_commit: LastCommit | Skipped | None
    outputs: LastStableOffsets | Skipped
    acls_missing: tuple[PlannedBinding, ...] | Skipped
    findings: tuple[Finding, ...]
    others: tuple[Finding, ...]
    steps: tuple[NextStep, ...] = field(default=())
    written_ms: int | None = None
    iceberg: IcebergState | None = None

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        return self.diagnosis.kinds

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        return self.diagnosis.doubts

    @property
    def complete(self) -> bool:
        answers = self.diagnosis.answers
        known = not isinstance(self.state, Skipped) and not isinstance(self.target_state, Skipped)
        return (
            known and self.written_ms is None and not self.coverage.gaps and all(answer.complete for answer in answers)
        )


class ListedConnector(NamedTuple):
    """A connector in a list; state and tasks as the workers report them, None where they do not know it.

    written_ms is None, or when the status topic got the newest record that state and tasks are by: no worker answered.
    """

    name: str
    type: ConnectorType | None
    connector_class: str | None
    state: str | Skipped | None
    target_state: TargetState | Skipped | None
    tasks: tuple[TaskStates, ...] | Skipped
    cause: str | None
    written_ms: int | None = None


class ListedConnectors(Result, frozen=True, kw_only=True):
    """The connectors of a Connect cluster, by name, from the config topic and from the workers.

    unanswered is None if workers report the states, otherwise the reason why none does.
    """

    as_of: int
    cluster_id: str | None
    group_id: str | None
    connectors: tuple[ListedConnector, ...]
    unanswered: Skipped | None = None

    @property
    def complete(self) -> bool:
        return self.unanswered is None and not self.coverage.gaps
