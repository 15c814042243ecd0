"""What happened to a Connect cluster, by the records of its topics: events, and the partitions that were read."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Result, Severity
from eosctl.model.skipped import Unread
from eosctl.model.workers import WrittenStatus


class EventSource(StrEnum):
    CONFIG = "config"
    STATUS = "status"
    OFFSETS = "offsets"
    TRANSACTIONS = "transactions"
    GROUP = "group"
    OUTPUT = "output"
    PLAN = "plan"


class EventKind(StrEnum):
    """CONFIG_RECORD is a record of the config topic of no other kind, such as a session key or a malformed one."""

    CONNECTOR_CREATED = "connector-created"
    CONFIG_CHANGED = "config-changed"
    CONNECTOR_DELETED = "connector-deleted"
    TARGET_STATE = "target-state"
    TASKS_COMMITTED = "tasks-committed"
    TASK_COUNT_RECORD = "task-count-record"
    RESTART_REQUESTED = "restart-requested"
    CONFIG_RECORD = "config-record"
    LEADER_CHANGED = "leader-changed"
    CONNECTOR_STATE = "connector-state"
    TASK_STATE = "task-state"
    TOPIC_USED = "topic-used"
    OFFSETS_COMMITTED = "offsets-committed"
    OFFSETS_ALTERED = "offsets-altered"
    TRANSACTION_BEGUN = "transaction-begun"
    TRANSACTION_COMMITTED = "transaction-committed"
    TRANSACTION_ABORTED = "transaction-aborted"
    PRODUCER_INITIALIZED = "producer-initialized"
    PRODUCER_FENCED = "producer-fenced"
    ID_FORGOTTEN = "id-forgotten"
    REBALANCE = "rebalance"
    PLAN_MADE = "plan-made"
    PLAN_STEP = "plan-step"
    GAP = "gap"


class Clock(StrEnum):
    """Whose clock gave a record its time.

    create-time: of the client that wrote it (CreateTime); log-append-time: of the broker that led the partition
    (LogAppendTime); coordinator: of the broker that coordinates the ID or group, or that wrote the marker; local: of
    the machine that keeps the plan.
    """

    CREATE_TIME = "create-time"
    LOG_APPEND_TIME = "log-append-time"
    COORDINATOR = "coordinator"
    LOCAL = "local"


class Actor(NamedTuple):
    """Who did it, as far as the records say: a worker's address, a transactional ID, a producer; all None: unknown."""

    worker: str | None = None
    transactional_id: str | None = None
    producer: ProducerIdAndEpoch | None = None

    def __str__(self) -> str:
        """Empty where nothing is known."""
        named = self.transactional_id or ("producer" if self.producer is not None else "")
        producer = "" if self.producer is None else f" {self.producer}"
        parts = (f"worker {self.worker}" if self.worker else "", f"{named}{producer}")
        return ", ".join(part for part in parts if part)


UNKNOWN_ACTOR = Actor()


class Run(NamedTuple):
    """Several events in one: how many, when the last was, its offset, and the longest pause between two, in ms."""

    events: int
    until: int
    last_offset: int | None
    longest_ms: int


class Event(NamedTuple):
    """One event, or a run of equal ones. A tuple because topics have millions of them.

    at is in ms since the epoch by `clock`, -1 where the record has no time. order is the time at which it stands among
    other events where that is not `at`: its offset shows that the clock of its time disagrees with its neighbours'.
    """

    at: int
    source: EventSource
    kind: EventKind
    what: str
    connector: str | None = None
    task: int | None = None
    actor: Actor = UNKNOWN_ACTOR
    place: TopicPartition | None = None
    offset: int | None = None
    clock: Clock = Clock.CREATE_TIME
    severity: Severity = Severity.INFO
    run: Run | None = None
    order: int | None = None

    @property
    def until(self) -> int:
        return self.at if self.run is None else self.run.until

    @property
    def stands_at(self) -> int:
        return self.at if self.order is None else self.order


class ReadPartition(Struct, frozen=True):
    """A partition that was read: the offsets [start, end), where its log starts, and what lies between.

    records counts them, missing the offsets without a record or marker: compaction removed what they held. clocks are
    those that gave its records their times.
    """

    source: EventSource
    topic_partition: TopicPartition
    start: int
    end: int
    log_start_offset: int
    records: int
    missing: int
    clocks: tuple[Clock, ...]


class TimelineFacts(Struct, frozen=True):
    """The events that were read, in order, and the partitions that they were read from.

    since is where the period begins (ms since the epoch), None: nowhere. coarse_ms is 0, or the length of the stretches
    in which events of one kind are one, because there were too many. unread are the topics or partitions that could
    not be read, and what they no longer have. statuses are the last ones in the status topic, by connector; they are
    kept in a snapshot for which no worker answered.
    """

    since: int | None
    events: tuple[Event, ...]
    partitions: tuple[ReadPartition, ...]
    unread: tuple[Unread, ...] = ()
    coarse_ms: int = 0
    notes: tuple[str, ...] = ()
    statuses: Mapping[str, WrittenStatus] = field(default_factory=dict)


class Timeline(Result, frozen=True, kw_only=True):
    """Events of the period in order: by time, and within a partition by offset.

    as_of is in ms since the epoch; since and until bound the period, None: open.
    """

    as_of: int
    cluster_id: str | None
    group_id: str | None
    connectors: tuple[str, ...]
    since: int | None
    until: int | None
    facts: TimelineFacts
