"""The records of the config topic: the eight kinds that KafkaConfigBackingStore knows, and what it cannot use."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from eosctl.errors import EosctlError, UsageError
from eosctl.model.connectors import ClusterConfigState, ConnectorState, ConnectorType, Properties, Reader, TargetState
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch
from eosctl.model.records import RecordState
from eosctl.model.report import Finding, Result
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.versions import STOPPED_STATE, KafkaVersion


class Effect(StrEnum):
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
    """A worker's treatment of a value it cannot use.

    unreadable: not JSON, logged and skipped. ignored: JSON of the wrong shape, logged and skipped. poison: the record
    handler throws, and the worker loses the other records of that poll (KafkaBasedLog). fatal: the poll loop does not
    catch the exception, so the worker fails to start.
    """

    UNREADABLE = "unreadable"
    IGNORED = "ignored"
    POISON = "poison"
    FATAL = "fatal"


class Origin(Struct, frozen=True):
    """The place and the writer of a record: the fields of model.records.Record without key and value."""

    offset: int
    timestamp: int
    state: RecordState = RecordState.COMMITTED
    transactional: bool = False
    producer_id: int = -1
    producer_epoch: int = -1

    @property
    def producer(self) -> ProducerIdAndEpoch | None:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch) if self.producer_id >= 0 else None


class ConnectorConfigRecord(Struct, frozen=True):
    """`connector-<name>`: the connector's configuration; properties None deletes the connector."""

    origin: Origin
    connector: str
    properties: Properties | None

    @property
    def kind(self) -> RecordKind:
        return RecordKind.CONNECTOR_CONFIG


class TaskConfigRecord(Struct, frozen=True):
    """`task-<name>-<n>`: the configuration of task n, which waits for a task commit."""

    origin: Origin
    connector: str
    task: int
    properties: Properties

    @property
    def kind(self) -> RecordKind:
        return RecordKind.TASK_CONFIG

    @property
    def task_id(self) -> ConnectorTaskId:
        return ConnectorTaskId(self.connector, self.task)


class TaskCommitRecord(Struct, frozen=True):
    """`commit-<name>`: the task configs written before it are complete, and there are `tasks` of them."""

    origin: Origin
    connector: str
    tasks: int

    @property
    def kind(self) -> RecordKind:
        return RecordKind.TASK_COMMIT


class TargetStateRecord(Struct, frozen=True):
    """`target-state-<name>`: both fields as text, None where absent or not text; removed for a tombstone."""

    origin: Origin
    connector: str
    state: str | None
    state_v2: str | None
    removed: bool = False

    @property
    def kind(self) -> RecordKind:
        return RecordKind.TARGET_STATE

    def read_by(self, version: KafkaVersion) -> TargetState | None:
        """The state that a worker of this version takes from it, None if it ignores the record.

        From 3.5 `state.v2` wins over `state`; before, `state` alone counts and STOPPED is not a state.
        """
        known = TargetState if version >= STOPPED_STATE else (TargetState.STARTED, TargetState.PAUSED)
        newer = self.state_v2 if version >= STOPPED_STATE else None
        text = self.state if newer is None else newer
        return next((state for state in known if state.value == text), None)


class TaskCountRecord(Struct, frozen=True):
    """`tasks-fencing-<name>`: a round of zombie fencing is done; the next one fences `task_count` producers."""

    origin: Origin
    connector: str
    task_count: int

    @property
    def kind(self) -> RecordKind:
        return RecordKind.TASK_COUNT


class SessionKeyRecord(Struct, frozen=True):
    """`session-key`: a new key between workers (KIP-507). The key itself is not kept."""

    origin: Origin
    algorithm: str
    creation_timestamp: int

    @property
    def kind(self) -> RecordKind:
        return RecordKind.SESSION_KEY


class RestartRequestRecord(Struct, frozen=True):
    """`restart-connector-<name>`: a restart (KIP-745); acts when read live and is not replayed."""

    origin: Origin
    connector: str
    include_tasks: bool
    only_failed: bool

    @property
    def kind(self) -> RecordKind:
        return RecordKind.RESTART_REQUEST


class LoggerLevelRecord(Struct, frozen=True):
    """`logger-cluster-<namespace>`: a log level for all workers (KIP-976, 3.7); not replayed."""

    origin: Origin
    namespace: str
    level: str

    @property
    def kind(self) -> RecordKind:
        return RecordKind.LOGGER_LEVEL


class InvalidKeyRecord(Struct, frozen=True):
    """A key of no known kind, as text; workers log it and continue."""

    origin: Origin
    key: str

    @property
    def kind(self) -> RecordKind:
        return RecordKind.INVALID_KEY


class MalformedRecord(Struct, frozen=True):
    """A value (or a null key) that a worker cannot use, the worker's reaction, and the reason; no part of the value is
    kept."""

    origin: Origin
    key_kind: RecordKind
    key: str | None
    connector: str | None
    disposition: Disposition
    reason: str

    @property
    def kind(self) -> RecordKind:
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


SHOWN = 20
"""The most examples that are kept of each kind of trouble."""


class InvalidKeys(Struct, frozen=True):
    """Records whose key is of no kind: how many, and the first of them as (offset, key)."""

    count: int = 0
    examples: tuple[tuple[int, str], ...] = ()


class MalformedKey(Struct, frozen=True):
    """Malformed records under one key: their number, the last one's place, the worker's reaction and the reason."""

    key: str | None
    kind: RecordKind
    connector: str | None
    disposition: Disposition
    reason: str
    count: int
    last_offset: int


class PrivilegedWrites(Struct, frozen=True):
    """Records that only a leader writes, counted by transactional and non-transactional writes.

    plain_after counts the non-transactional ones after a transactional one; first_plain_after and last_plain_after are
    their bounds. last_transactional is the offset of the last transactional one. last_is_plain: the last of all is
    non-transactional.
    """

    transactional: int = 0
    plain: int = 0
    plain_after: int = 0
    first_plain_after: int | None = None
    last_plain_after: int | None = None
    last_transactional: int | None = None
    last_is_plain: bool = False


class Interleaving(Struct, frozen=True):
    """A leader's producer that wrote again after another producer had taken over.

    `earlier` wrote at earlier_offset and again at offset, although `later` had written at later_offset in between.
    count is the number of such cases in the topic; this is the first.
    """

    earlier: ProducerIdAndEpoch
    later: ProducerIdAndEpoch
    earlier_offset: int
    later_offset: int
    offset: int
    count: int


class ConfigTopicCensus(Struct, frozen=True):
    """Counts and examples over all records, aborted and open ones included; size does not grow with the topic."""

    records: int = 0
    aborted: int = 0
    open: int = 0
    first_open: Origin | None = None
    kinds: Mapping[RecordKind, int] = field(default_factory=dict)
    invalid_keys: InvalidKeys = InvalidKeys()
    malformed: tuple[MalformedKey, ...] = ()
    privileged: PrivilegedWrites = PrivilegedWrites()
    interleaving: Interleaving | None = None

    @property
    def valid_keys(self) -> int:
        return self.records - self.kinds.get(RecordKind.INVALID_KEY, 0)

    @property
    def is_config_topic(self) -> bool:
        """True if the topic may be a config topic: it is empty, or a record has a key that Connect knows."""
        return not self.records or self.valid_keys > 0


class TimelineEntry(Struct, frozen=True):
    """One record: its place, its meaning and its effect; connector is None for records about none.

    pending_fencing and inconsistent are the connector's state after the record, None without a connector.
    """

    origin: Origin
    kind: RecordKind
    connector: str | None
    words: str
    effect: Effect
    pending_fencing: bool | None
    inconsistent: bool | None


class ConfigTopicHistory(Result, frozen=True):
    """The answer of inspect-config --history; entries may be a stream that can be read once.

    as_of is in ms since the epoch, None where the records are from a file.
    """

    topic: str
    entries: Iterable[TimelineEntry]
    as_of: int | None
    cluster_id: str | None
    notes: tuple[str, ...] = ()


class NextStartRule(StrEnum):
    """How a leader with exactly-once source support answers the next request to fence (DistributedHerder.fence)."""

    NONE = "none"
    FIRST_START = "first-start"
    SINGLE_TASK = "single-task"
    FENCE = "fence"


class NextStart(Struct, frozen=True):
    rule: NextStartRule
    fences: int
    words: str


class InspectedConnector(Struct, frozen=True):
    """A connector name and its state; type is None where nothing shows whether it is a source or a sink."""

    state: ConnectorState
    type: ConnectorType | None
    running_tasks: int | Skipped
    next_start: NextStart


class Inspection(Struct, frozen=True):
    """The contents of a config topic.

    connectors exist or have left records, by name; absent are the requested names that
    the topic does not mention. skipped says what could not be checked and why.
    """

    topic: str
    state: ClusterConfigState
    census: ConfigTopicCensus
    topic_facts: TopicFacts | Skipped
    connectors: tuple[InspectedConnector, ...]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...]
    skipped: Mapping[str, Skipped]


class InspectedConfigTopic(Result, frozen=True):
    """The answer of inspect-config: the topic as `reader` reads it.

    as_of is in ms since the epoch, None where the records are from a file; group_id is the Connect cluster's.
    """

    inspection: Inspection
    reader: Reader
    group_id: str | None
    as_of: int | None
    cluster_id: str | None
    notes: tuple[str, ...] = ()

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.inspection.findings

    @property
    def failure(self) -> EosctlError | None:
        if self.inspection.census.is_config_topic:
            return None
        hint = "--config-topic takes the topic that config.storage.topic of the workers names"
        return UsageError(f"topic {self.inspection.topic} is not a config topic of Kafka Connect", hint=hint)

    @property
    def complete(self) -> bool:
        return not self.coverage.gaps and not any(each.cause.is_gap for each in self.inspection.skipped.values())


class ConfigTopicLog(Struct, frozen=True):
    """The config topic: its settings, its offsets, and its records in offset order.

    records may be a stream that can be read once; saved snapshots hold them as a tuple.
    """

    topic: str
    facts: TopicFacts | Skipped
    offsets: PartitionOffsets | Skipped
    records: Iterable[ConfigRecord]
