"""The history of a Connect cluster in the records of its topics: events, and the partitions that were read."""

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
    """The clock that gave a record its time.

    create-time: the clock of its writer (CreateTime). log-append-time: that of the broker that led the partition
    (LogAppendTime). coordinator: that of the broker that coordinates the ID or group, or that wrote the marker. local:
    that of the machine that keeps the plan.
    """

    CREATE_TIME = "create-time"
    LOG_APPEND_TIME = "log-append-time"
    COORDINATOR = "coordinator"
    LOCAL = "local"


class Actor(NamedTuple):
    """The author of an event, if the records name one: a worker's address, a transactional ID, a producer; all None:
    unknown."""

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

    at is in ms since the epoch by `clock`, -1 if the record has no time. order is the time by which it is sorted if
    that is not `at`: its offset shows that its clock disagrees with its neighbours'.
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
    """A partition that was read: the offsets [start, end), its log start, and its contents.

    records counts the records; missing counts offsets without a record or marker, which compaction removed. clocks gave
    its records their times.
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
    """The events that were read, in order, and their partitions.

    since is the beginning of the period (ms since the epoch), or None. coarse_ms is 0, or the length of the intervals
    in which events of one kind were merged because there were too many. unread are unread topics or partitions, and
    their deleted parts. statuses are the last ones in the status topic, by connector, for a snapshot for which no
    worker answered.
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
