"""The records of the config topic: the eight kinds that KafkaConfigBackingStore knows, and what it cannot use."""

from enum import StrEnum
from typing import NamedTuple

from eosctl.model.connectors import Properties, TargetState
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch
from eosctl.model.records import RecordState
from eosctl.model.versions import STOPPED_STATE, KafkaVersion


class Effect(StrEnum):
    """What one record did to the reader's state."""

    APPLIED = "applied"
    LIVE_ONLY = "live-only"
    IGNORED = "ignored"
    UNCLAIMED = "unclaimed"
    UNREADABLE = "unreadable"
    POISON = "poison"
    FATAL = "fatal"
    ABORTED = "aborted"
    HELD_BACK = "held-back"


class RecordKind(StrEnum):
    """What a record of the config topic is, by its key alone."""

    TARGET_STATE = "target-state"
    CONNECTOR_CONFIG = "connector-config"
    TASK_CONFIG = "task-config"
    TASK_COMMIT = "task-commit"
    RESTART_REQUEST = "restart-request"
    TASK_COUNT = "task-count-record"
    SESSION_KEY = "session-key"
    LOGGER_LEVEL = "logger-level"
    INVALID_KEY = "invalid-key"


PRIVILEGED_KINDS = frozenset(
    {
        RecordKind.CONNECTOR_CONFIG,
        RecordKind.TASK_CONFIG,
        RecordKind.TASK_COMMIT,
        RecordKind.RESTART_REQUEST,
        RecordKind.TASK_COUNT,
        RecordKind.SESSION_KEY,
    }
)
"""Only the leader writes these: in transactions if its exactly-once source support is preparing or enabled."""


class Disposition(StrEnum):
    """What a worker does with a value it cannot use.

    unreadable: not JSON, logged and passed over; ignored: JSON of the wrong shape, logged and passed over;
    poison: the record handler throws, and the rest of the records of that poll are lost to the worker (KafkaBasedLog);
    fatal: the handler throws what the poll loop does not catch, so the worker fails to start.
    """

    UNREADABLE = "unreadable"
    IGNORED = "ignored"
    POISON = "poison"
    FATAL = "fatal"


class Origin(NamedTuple):
    """Where a record lies and who wrote it how: the fields of model.records.Record without key and value."""

    offset: int
    timestamp: int
    state: RecordState = RecordState.COMMITTED
    transactional: bool = False
    producer_id: int = -1
    producer_epoch: int = -1

    @property
    def producer(self) -> ProducerIdAndEpoch | None:
        """The idempotent producer that wrote it, if one did."""
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch) if self.producer_id >= 0 else None


class ConnectorConfigRecord(NamedTuple):
    """`connector-<name>`: the connector's configuration; properties None deletes the connector."""

    origin: Origin
    connector: str
    properties: Properties | None

    @property
    def kind(self) -> RecordKind:
        """Always CONNECTOR_CONFIG."""
        return RecordKind.CONNECTOR_CONFIG


class TaskConfigRecord(NamedTuple):
    """`task-<name>-<n>`: the configuration of task n, which waits for a task commit."""

    origin: Origin
    connector: str
    task: int
    properties: Properties

    @property
    def kind(self) -> RecordKind:
        """Always TASK_CONFIG."""
        return RecordKind.TASK_CONFIG

    @property
    def task_id(self) -> ConnectorTaskId:
        """The task it configures."""
        return ConnectorTaskId(self.connector, self.task)


class TaskCommitRecord(NamedTuple):
    """`commit-<name>`: the task configs written before it are complete, and there are `tasks` of them."""

    origin: Origin
    connector: str
    tasks: int

    @property
    def kind(self) -> RecordKind:
        """Always TASK_COMMIT."""
        return RecordKind.TASK_COMMIT


class TargetStateRecord(NamedTuple):
    """`target-state-<name>`: both fields as text, None where absent or not text; removed for a tombstone."""

    origin: Origin
    connector: str
    state: str | None
    state_v2: str | None
    removed: bool = False

    @property
    def kind(self) -> RecordKind:
        """Always TARGET_STATE."""
        return RecordKind.TARGET_STATE

    def read_by(self, version: KafkaVersion) -> TargetState | None:
        """The state that a worker of this version takes from it, None if it ignores the record.

        From 3.5 `state.v2` wins over `state`; before, `state` alone counts and STOPPED is not a state.
        """
        known = TargetState if version >= STOPPED_STATE else (TargetState.STARTED, TargetState.PAUSED)
        newer = self.state_v2 if version >= STOPPED_STATE else None
        text = self.state if newer is None else newer
        return next((state for state in known if state.value == text), None)


class TaskCountRecord(NamedTuple):
    """`tasks-fencing-<name>`: a round of zombie fencing is done; the next one fences `task_count` producers."""

    origin: Origin
    connector: str
    task_count: int

    @property
    def kind(self) -> RecordKind:
        """Always TASK_COUNT."""
        return RecordKind.TASK_COUNT


class SessionKeyRecord(NamedTuple):
    """`session-key`: a new key between workers (KIP-507). The key itself is not kept."""

    origin: Origin
    algorithm: str
    creation_timestamp: int

    @property
    def kind(self) -> RecordKind:
        """Always SESSION_KEY."""
        return RecordKind.SESSION_KEY


class RestartRequestRecord(NamedTuple):
    """`restart-connector-<name>`: a restart (KIP-745); acts when read live and is not replayed."""

    origin: Origin
    connector: str
    include_tasks: bool
    only_failed: bool

    @property
    def kind(self) -> RecordKind:
        """Always RESTART_REQUEST."""
        return RecordKind.RESTART_REQUEST


class LoggerLevelRecord(NamedTuple):
    """`logger-cluster-<namespace>`: a log level for all workers (KIP-976, 3.7); not replayed."""

    origin: Origin
    namespace: str
    level: str

    @property
    def kind(self) -> RecordKind:
        """Always LOGGER_LEVEL."""
        return RecordKind.LOGGER_LEVEL


class InvalidKeyRecord(NamedTuple):
    """A key that is none of the above, as text; workers log it and go on."""

    origin: Origin
    key: str

    @property
    def kind(self) -> RecordKind:
        """Always INVALID_KEY."""
        return RecordKind.INVALID_KEY


class MalformedRecord(NamedTuple):
    """A value (or a null key) that a worker cannot use, what it does then, and why; no part of the value is kept."""

    origin: Origin
    key_kind: RecordKind
    key: str | None
    connector: str | None
    disposition: Disposition
    reason: str

    @property
    def kind(self) -> RecordKind:
        """What it is by its key."""
        return self.key_kind


ConfigRecord = (
    TaskConfigRecord
    | TaskCommitRecord
    | ConnectorConfigRecord
    | TaskCountRecord
    | TargetStateRecord
    | SessionKeyRecord
    | RestartRequestRecord
    | LoggerLevelRecord
    | InvalidKeyRecord
    | MalformedRecord
)
