"""The config topic replayed as a worker does it (KafkaConfigBackingStore), over records in offset order.

Rules, applied record by record:

 1. A read_committed reader is not shown records of aborted transactions, nor anything from the first record of an open
    transaction on (the last stable offset).
 2. A connector config is stored; a connector without a target state becomes STARTED.
 3. A connector config tombstone forgets config, task count, task configs and, since 3.4 (KAFKA-14147), task configs
    waiting for a commit. Task count record, pending fencing, generation, inconsistency and target state stay.
 4. A task config waits for a task commit.
 5. A task commit of n tasks: since 3.7.1 (KAFKA-16838), if the connector config is unknown, forget as in 3 and stop.
    Otherwise it is complete if tasks 0..n-1 all wait (more may). Complete: all that wait are taken over, the
    generation goes up if anything was ever written, and the connector is consistent. Not complete: inconsistent.
    Either way nothing waits any more, the task count is n, and fencing is pending.
 6. A task count record stores its count and ends pending fencing.
 7. A target state is stored if this version knows it. Its tombstone forgets it, or makes it STARTED while the connector
    exists.
 8. Restart requests and logger levels act on workers that read them live and leave no state.
 9. What is malformed changes nothing, except that a commit still forgets under rule 5.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.errors import UsageError
from eosctl.model.config_topic import (
    PRIVILEGED_KINDS,
    SHOWN,
    ConfigRecord,
    ConfigTopicCensus,
    ConnectorConfigRecord,
    Disposition,
    Effect,
    Interleaving,
    InvalidKeyRecord,
    InvalidKeys,
    LoggerLevelRecord,
    MalformedKey,
    MalformedRecord,
    Origin,
    PrivilegedWrites,
    RecordKind,
    RestartRequestRecord,
    SessionKeyRecord,
    TargetStateRecord,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
    TimelineEntry,
)
from eosctl.model.connectors import ClusterConfigState, ConnectorState, Properties, Reader, SessionKey, TargetState
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.text import pluralize
from eosctl.model.versions import NEWEST, KafkaVersion

MOST_FOREIGN: Final = 10_000
"""Of another topic, this many records are read before it is taken for one."""

TOMBSTONE_CLEARS_WAITING: Final = KafkaVersion(3, 4)
"""KAFKA-14147: a deleted connector's task configs no longer wait for a commit."""

COMMIT_NEEDS_CONFIG: Final = KafkaVersion(3, 7, 1)
"""KAFKA-16838 (3.7.1 and 3.8.0): a task commit of a connector whose config is unknown is not applied."""


def fold_config_topic(records: Iterable[ConfigRecord], reader: Reader) -> ClusterConfigState:
    """The state of `reader` after all records of the partition, in offset order. Memory: one state per name."""
    replay = ConfigTopicReplay(reader)
    for record in records:
        replay.apply(record)
    return replay.state()


def connector_states(records: Iterable[ConfigRecord]) -> Mapping[str, ConnectorState]:
    """Every connector that the records mention, as a worker of the newest version knows it.

    Raises UsageError where they are of another topic.
    """
    return fold_config_topic(of_a_config_topic(records), Reader(NEWEST)).states


def of_a_config_topic(records: Iterable[ConfigRecord]) -> Iterator[ConfigRecord]:
    """The same records. Raises UsageError, before the first, where they are of another topic: it says nothing.

    That is where there are some, and none of the first has a key of a config topic.
    """
    first: list[ConfigRecord] = []
    following = iter(records)
    while not first or first[-1].kind is RecordKind.INVALID_KEY:
        record = next(following, None)
        if first and (record is None or len(first) == MOST_FOREIGN):
            some = "its" if record is None else "its first"
            raise UsageError(
                f"the topic that was read as the config topic is not one: none of {some} {len(first)} records has a "
                "key of Kafka Connect's config topic",
                hint="name the topic that config.storage.topic of the workers names: --config-topic TOPIC",
            )
        if record is None:
            return
        first.append(record)
    yield from first
    yield from following


class _Connector(Struct):
    """The present state of one name; the fields are those of ConnectorState, in its order."""

    config: Properties | None = None
    target_state: TargetState | None = None
    task_count: int | None = None
    task_configs: dict[int, Properties] = field(default_factory=dict)
    deferred: dict[int, Properties] | None = None
    task_count_record: int | None = None
    generation: int | None = None
    pending_fencing: bool = False
    inconsistent: bool = False
    missing_tasks: tuple[int, ...] = ()
    config_offset: int | None = None
    target_state_offset: int | None = None
    commit_offset: int | None = None
    task_count_offset: int | None = None
    unclaimed_commit_offset: int | None = None
    commit_timestamp: int | None = None

    def freeze(self, name: str) -> ConnectorState:
        """A copy that later records do not change."""
        return ConnectorState(
            name,
            self.config,
            self.target_state,
            self.task_count,
            dict(self.task_configs),
            None if self.deferred is None else dict(self.deferred),
            self.task_count_record,
            self.generation,
            self.pending_fencing,
            self.inconsistent,
            self.missing_tasks,
            self.config_offset,
            self.target_state_offset,
            self.commit_offset,
            self.task_count_offset,
            self.unclaimed_commit_offset,
            self.commit_timestamp,
        )


class ConfigTopicReplay:
    """The fold one record at a time, for callers that look between the records."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._committed_only = reader.isolation_level is IsolationLevel.READ_COMMITTED
        self._commit_needs_config = reader.version >= COMMIT_NEEDS_CONFIG
        self._tombstone_clears_waiting = reader.version >= TOMBSTONE_CLEARS_WAITING
        self._connectors: dict[str, _Connector] = {}
        self._session_key: SessionKey | None = None
        self._offset = -1
        self._blocked_at: int | None = None
        self._held_back = 0

    def state(self) -> ClusterConfigState:
        states = {name: connector.freeze(name) for name, connector in self._connectors.items()}
        return ClusterConfigState(
            self._reader, self._offset, self._session_key, states, self._blocked_at, self._held_back
        )

    def is_pending_fencing(self, connector: str) -> bool:
        known = self._connectors.get(connector)
        return known is not None and known.pending_fencing

    def missing_tasks(self, connector: str) -> tuple[int, ...]:
        """The task configs that make this connector inconsistent so far: none if it is consistent."""
        known = self._connectors.get(connector)
        return () if known is None else known.missing_tasks

    def apply(self, record: ConfigRecord) -> Effect:
        """Take in the next record, whose offset must be greater than those before."""
        if self._committed_only:
            state = record.origin.state
            if self._blocked_at is not None or state is RecordState.OPEN:
                return self._hold_back(record)
            if state is RecordState.ABORTED:
                return Effect.ABORTED
        if isinstance(record, MalformedRecord) and record.disposition is Disposition.UNREADABLE:
            return Effect.UNREADABLE
        self._offset = record.origin.offset + 1
        return self._dispatch(record)

    def _hold_back(self, record: ConfigRecord) -> Effect:
        if self._blocked_at is None:
            self._blocked_at = record.origin.offset
        self._held_back += 1
        return Effect.HELD_BACK

    def _dispatch(self, record: ConfigRecord) -> Effect:
        match record:
            case TaskConfigRecord():
                effect = self._task_config(record)
            case TaskCommitRecord():
                effect = self._task_commit(record)
            case ConnectorConfigRecord():
                effect = self._connector_config(record)
            case TaskCountRecord():
                effect = self._task_count(record)
            case TargetStateRecord():
                effect = self._target_state(record)
            case SessionKeyRecord():
                effect = self._store_session_key(record)
            case MalformedRecord():
                effect = self._malformed(record)
            case InvalidKeyRecord():
                effect = Effect.IGNORED
            case _:
                effect = Effect.LIVE_ONLY
        return effect

    def _store_session_key(self, record: SessionKeyRecord) -> Effect:
        self._session_key = SessionKey(record.algorithm, record.creation_timestamp, record.origin.offset)
        return Effect.APPLIED

    def _of(self, name: str) -> _Connector:
        connector = self._connectors.get(name)
        if connector is None:
            connector = self._connectors[name] = _Connector()
        return connector

    def _connector_config(self, record: ConnectorConfigRecord) -> Effect:
        connector = self._of(record.connector)
        connector.config_offset = record.origin.offset
        connector.config = record.properties
        if record.properties is None:
            self._forget_tasks(connector)
            if self._tombstone_clears_waiting:
                connector.deferred = None
        elif connector.target_state is None:
            connector.target_state = TargetState.STARTED
        return Effect.APPLIED

    def _forget_tasks(self, connector: _Connector) -> None:
        connector.task_count = None
        connector.task_configs = {}

    def _task_config(self, record: TaskConfigRecord) -> Effect:
        connector = self._of(record.connector)
        if connector.deferred is None:
            connector.deferred = {}
        connector.deferred[record.task] = record.properties
        return Effect.APPLIED

    def _task_commit(self, record: TaskCommitRecord) -> Effect:
        connector = self._of(record.connector)
        if self._disown(connector, record.origin.offset):
            return Effect.UNCLAIMED
        waiting = connector.deferred
        missing = _missing(waiting or {}, record.tasks)
        if not missing and waiting is not None:
            connector.task_configs.update(waiting)
            connector.generation = 0 if connector.generation is None else connector.generation + 1
        connector.inconsistent = bool(missing)
        connector.missing_tasks = missing
        if waiting is not None:
            connector.deferred = {}
        connector.task_count = record.tasks
        connector.pending_fencing = True
        connector.commit_offset = record.origin.offset
        connector.commit_timestamp = record.origin.timestamp
        return Effect.APPLIED

    def _disown(self, connector: _Connector, offset: int) -> bool:
        if not self._commit_needs_config or connector.config is not None:
            return False
        self._forget_tasks(connector)
        connector.deferred = None
        connector.unclaimed_commit_offset = offset
        return True

    def _task_count(self, record: TaskCountRecord) -> Effect:
        connector = self._of(record.connector)
        connector.task_count_record = record.task_count
        connector.task_count_offset = record.origin.offset
        connector.pending_fencing = False
        return Effect.APPLIED

    def _target_state(self, record: TargetStateRecord) -> Effect:
        connector = self._of(record.connector)
        if record.removed:
            connector.target_state = None if connector.config is None else TargetState.STARTED
        else:
            state = record.read_by(self._reader.version)
            if state is None:
                return Effect.IGNORED
            connector.target_state = state
        connector.target_state_offset = record.origin.offset
        return Effect.APPLIED

    def _malformed(self, record: MalformedRecord) -> Effect:
        name = record.connector if record.kind is RecordKind.TASK_COMMIT else None
        unclaimed = name is not None and self._disown(self._of(name), record.origin.offset)
        return Effect.UNCLAIMED if unclaimed else Effect(record.disposition.value)


_SHOWN_MISSING: Final = 100


def _missing(waiting: dict[int, Properties], tasks: int) -> tuple[int, ...]:
    """The first hundred task numbers below `tasks` that no task config waits for; empty if the commit is complete."""
    missing: list[int] = []
    for task in range(tasks):
        if task not in waiting:
            missing.append(task)
            if len(missing) == _SHOWN_MISSING:
                break
    return tuple(missing)


class Survey(Struct, frozen=True):
    """A config topic read once: the reader's state and the census."""

    state: ClusterConfigState
    census: ConfigTopicCensus


def survey_config_topic(records: Iterable[ConfigRecord], reader: Reader) -> Survey:
    replay, census = ConfigTopicReplay(reader), _Census()
    for record in records:
        census.note(record, replay.apply(record))
    return Survey(replay.state(), census.freeze())


class _Census:
    def __init__(self) -> None:
        self._kinds: Counter[RecordKind] = Counter()
        self._states: Counter[RecordState] = Counter()
        self._first_open: Origin | None = None
        self._invalid: list[tuple[int, str]] = []
        self._malformed: dict[str | None, MalformedKey] = {}
        self._writes = _PrivilegedWrites()
        self._leaders = _Leaders()

    def note(self, record: ConfigRecord, effect: Effect) -> None:
        origin, kind = record.origin, record.kind
        self._kinds[kind] += 1
        if origin.state is not RecordState.COMMITTED:
            self._note_transaction(origin)
        if isinstance(record, MalformedRecord):
            self._note_malformed(record, effect)
        elif isinstance(record, InvalidKeyRecord) and len(self._invalid) < SHOWN:
            self._invalid.append((origin.offset, record.key))
        if kind in PRIVILEGED_KINDS:
            self._writes.note(origin)
            self._leaders.note(origin)

    def _note_transaction(self, origin: Origin) -> None:
        self._states[origin.state] += 1
        if self._first_open is None and origin.state is RecordState.OPEN:
            self._first_open = origin

    def _note_malformed(self, record: MalformedRecord, effect: Effect) -> None:
        if effect is Effect.ABORTED:
            return
        # A commit of an unknown connector is dropped before its value is looked at.
        disposition = Disposition.IGNORED if effect is Effect.UNCLAIMED else record.disposition
        before = self._malformed.pop(record.key, None)
        if before is None and len(self._malformed) >= SHOWN and disposition in _HARMLESS:
            return
        self._malformed[record.key] = MalformedKey(
            record.key,
            record.kind,
            record.connector,
            disposition,
            record.reason,
            1 if before is None else before.count + 1,
            record.origin.offset,
        )
        if len(self._malformed) > SHOWN * 2:
            self._forget_one()

    def _forget_one(self) -> None:
        harmless = (key for key, value in self._malformed.items() if value.disposition in _HARMLESS)
        del self._malformed[next(harmless, next(iter(self._malformed)))]

    def freeze(self) -> ConfigTopicCensus:
        invalid = InvalidKeys(self._kinds[RecordKind.INVALID_KEY], tuple(self._invalid))
        return ConfigTopicCensus(
            records=sum(self._kinds.values()),
            aborted=self._states[RecordState.ABORTED],
            open=self._states[RecordState.OPEN],
            first_open=self._first_open,
            kinds=dict(self._kinds),
            invalid_keys=invalid,
            malformed=tuple(self._malformed.values()),
            privileged=self._writes.freeze(),
            interleaving=self._leaders.interleaving,
        )


_HARMLESS = frozenset({Disposition.IGNORED, Disposition.UNREADABLE})


class _PrivilegedWrites:
    def __init__(self) -> None:
        self._transactional = self._plain = self._plain_after = 0
        self._first_plain_after: int | None = None
        self._last_plain_after: int | None = None
        self._last_transactional: int | None = None
        self._last_is_plain = False

    def note(self, origin: Origin) -> None:
        self._last_is_plain = not origin.transactional
        if origin.transactional:
            self._transactional += 1
            self._last_transactional = origin.offset
            return
        self._plain += 1
        if self._last_transactional is not None:
            self._plain_after += 1
            self._last_plain_after = origin.offset
            if self._first_plain_after is None:
                self._first_plain_after = origin.offset

    def freeze(self) -> PrivilegedWrites:
        return PrivilegedWrites(
            self._transactional,
            self._plain,
            self._plain_after,
            self._first_plain_after,
            self._last_plain_after,
            self._last_transactional,
            self._last_is_plain,
        )


class _Leaders:
    """Watches the order of the leaders' producers.

    One transactional ID keeps its producer ID with rising epochs, or gets a new producer ID for good. So a producer ID
    that comes back, or an epoch that falls, means that two transactional IDs write to this topic.
    """

    def __init__(self) -> None:
        self.interleaving: Interleaving | None = None
        self._current: ProducerIdAndEpoch | None = None
        self._current_offset = -1
        self._retired: dict[int, tuple[ProducerIdAndEpoch, int]] = {}

    def note(self, origin: Origin) -> None:
        current = self._current
        if not origin.transactional:
            return
        if current is None or (origin.producer_id, origin.producer_epoch) != (
            current.producer_id,
            current.producer_epoch,
        ):
            self._take_over(ProducerIdAndEpoch(origin.producer_id, origin.producer_epoch), origin.offset)
        self._current_offset = origin.offset

    def _take_over(self, producer: ProducerIdAndEpoch, offset: int) -> None:
        current = self._current
        if current is not None:
            before = self._retired.pop(producer.producer_id, None)
            if before is not None:
                self._note_interleaving(before, (current, self._current_offset), offset)
            elif producer.producer_id == current.producer_id and producer.producer_epoch < current.producer_epoch:
                self._note_interleaving((producer, offset), (current, self._current_offset), offset)
            if producer.producer_id != current.producer_id:
                self._retired[current.producer_id] = (current, self._current_offset)
        self._current = producer

    def _note_interleaving(
        self, earlier: tuple[ProducerIdAndEpoch, int], later: tuple[ProducerIdAndEpoch, int], offset: int
    ) -> None:
        if self.interleaving is None:
            self.interleaving = Interleaving(earlier[0], later[0], earlier[1], later[1], offset, 1)
        else:
            self.interleaving = replace(self.interleaving, count=self.interleaving.count + 1)


def timeline(
    records: Iterable[ConfigRecord], reader: Reader, connectors: Collection[str] = ()
) -> Iterator[TimelineEntry]:
    """Entries in offset order, read lazily; of the given connectors only, if any are given."""
    replay = ConfigTopicReplay(reader)
    for record in records:
        name = connector_of(record)
        effect = replay.apply(record)
        if connectors and name not in connectors:
            continue
        missing = () if name is None else replay.missing_tasks(name)
        yield TimelineEntry(
            record.origin,
            record.kind,
            name,
            record_words(record, effect, missing),
            effect,
            None if name is None else replay.is_pending_fencing(name),
            None if name is None else bool(missing),
        )


def connector_of(record: ConfigRecord) -> str | None:
    """The connector that a record is about, None for session keys, logger levels and invalid keys."""
    if isinstance(record, SessionKeyRecord | LoggerLevelRecord | InvalidKeyRecord):
        return None
    return record.connector


def record_words(record: ConfigRecord, effect: Effect, missing: tuple[int, ...]) -> str:
    words = _summary(record)
    if effect is Effect.APPLIED and isinstance(record, TaskCommitRecord):
        words += "; fencing pending"
        if missing:
            words += f"; task configs missing: {', '.join(map(str, missing[:10]))}"
    return words + _EFFECT_WORDS.get(effect, "")


def _summary(record: ConfigRecord) -> str:
    match record:
        case ConnectorConfigRecord():
            summary = (
                "connector deleted" if record.properties is None else f"connector config {_class(record)}".rstrip()
            )
        case TaskConfigRecord():
            summary = f"config of task {record.task}, waiting for a commit"
        case TaskCommitRecord():
            summary = f"commit of {pluralize(record.tasks, 'task')}"
        case TaskCountRecord():
            summary = f"fencing done, {pluralize(record.task_count, 'task')} recorded"
        case TargetStateRecord():
            summary = "target state removed" if record.removed else f"target state {record.state_v2 or record.state}"
        case _:
            summary = _cluster_summary(record)
    return summary


def _cluster_summary(record: ConfigRecord) -> str:
    match record:
        case SessionKeyRecord():
            summary = f"session key ({record.algorithm})"
        case RestartRequestRecord():
            tasks = " with its tasks" if record.include_tasks else ""
            summary = f"restart of the connector{tasks}{', FAILED ones only' if record.only_failed else ''}"
        case LoggerLevelRecord():
            summary = f"logger {record.namespace} at {record.level}"
        case InvalidKeyRecord():
            summary = f"invalid key {record.key[:100]}"
        case MalformedRecord():
            summary = f"malformed {record.kind.value}: {record.reason}"
        case _:
            summary = record.kind.value
    return summary


def _class(record: ConnectorConfigRecord) -> object:
    return (record.properties or {}).get("connector.class") or ""


_EFFECT_WORDS = {
    Effect.IGNORED: " (ignored)",
    Effect.UNCLAIMED: " (ignored: the connector's config is unknown)",
    Effect.UNREADABLE: " (ignored)",
    Effect.POISON: " (a worker throws here and loses the rest of that poll)",
    Effect.FATAL: " (a starting worker fails here)",
    Effect.ABORTED: " (aborted: not seen)",
    Effect.HELD_BACK: " (not yet read: after the begin of an open transaction)",
}
