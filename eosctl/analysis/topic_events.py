"""Events out of the records of each topic that keeps time: the action behind each record, and its actor."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.analysis.config_topic import ConfigTopicReplay, connector_of, record_words
from eosctl.analysis.timeline import CLOCKS_MS, Events, Leadership, follows, joined
from eosctl.analysis.transactions import KnownNames
from eosctl.model.client_properties import HIDDEN
from eosctl.model.config_topic import (
    ConfigRecord,
    ConnectorConfigRecord,
    Effect,
    RecordKind,
    TargetStateRecord,
    TaskConfigRecord,
)
from eosctl.model.connectors import Properties, Reader, TargetState
from eosctl.model.groups import GroupGeneration
from eosctl.model.names import TRANSACTION_LOG, ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import RecordState, Writer
from eosctl.model.report import Severity
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.text import first_few, pluralize
from eosctl.model.timeline import Actor, Clock, Event, EventKind, EventSource
from eosctl.model.times import lasting
from eosctl.model.transaction_log import LogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import LeaderOwner, TaskOwner, TransactionState
from eosctl.model.versions import NEWEST
from eosctl.model.workers import host_port

MARKERS_MS: Final = 60_000
"""Markers are written soon after the decision; a partition without a leader waits for longer."""

# The config topic.


SHOWN_KEYS: Final = 8
SHOWN_VALUE: Final = 60
_KINDS: Final[Mapping[RecordKind, EventKind]] = {
    RecordKind.TARGET_STATE: EventKind.TARGET_STATE,
    RecordKind.CONNECTOR_CONFIG: EventKind.CONFIG_CHANGED,
    RecordKind.TASK_CONFIG: EventKind.CONFIG_RECORD,
    RecordKind.TASK_COMMIT: EventKind.TASKS_COMMITTED,
    RecordKind.RESTART_REQUEST: EventKind.RESTART_REQUESTED,
    RecordKind.TASK_COUNT: EventKind.TASK_COUNT_RECORD,
}
_TROUBLE: Final = frozenset({Effect.POISON, Effect.FATAL, Effect.UNREADABLE, Effect.UNCLAIMED, Effect.ABORTED})


def config_events(records: Iterable[ConfigRecord], place: TopicPartition, events: Events) -> Iterator[ConfigRecord]:
    """Adds an event for each record that changes something, and passes the records on.

    Task configs wait for their commit, which is the event; uncommitted ones are events of their own.
    """
    replay = ConfigTopicReplay(Reader(NEWEST))
    configs: dict[str, Properties | None] = {}
    waiting: dict[str, list[TaskConfigRecord]] = {}
    for record in records:
        yield record
        effect = replay.apply(record)
        name = connector_of(record)
        if isinstance(record, TaskConfigRecord):
            waiting.setdefault(record.connector, []).append(record)
            continue
        if name is not None and record.kind is RecordKind.TASK_COMMIT:
            waiting.pop(name, None)
        if isinstance(record, TargetStateRecord) and record.removed and configs.get(record.connector) is None:
            continue  # a part of the deletion
        kind, what = _KINDS.get(record.kind, EventKind.CONFIG_RECORD), ""
        if isinstance(record, ConnectorConfigRecord) and effect is Effect.APPLIED:
            kind, what = _config_change(configs.get(record.connector), record.properties)
            configs[record.connector] = record.properties
        missing = () if name is None else replay.missing_tasks(name)
        what = what or record_words(record, effect, missing)
        severity = Severity.WARNING if missing or effect in _TROUBLE else Severity.INFO
        alike = record.kind if kind is EventKind.CONFIG_RECORD else None
        events.add(_of_config(record, kind, what, place, severity), (EventSource.CONFIG, name), alike)
    for name, left in waiting.items():
        tasks = pluralize(len(left), "task config")
        what = f"{tasks} of {name}, and no commit follows: workers do not use them"
        events.add(_of_config(left[0], EventKind.CONFIG_RECORD, what, place, Severity.WARNING))


def _of_config(record: ConfigRecord, kind: EventKind, what: str, place: TopicPartition, severity: Severity) -> Event:
    origin = record.origin
    return Event(
        origin.timestamp,
        EventSource.CONFIG,
        kind,
        what,
        connector=connector_of(record),
        task=record.task if isinstance(record, TaskConfigRecord) else None,
        actor=Actor(producer=origin.producer),
        place=place,
        offset=origin.offset,
        severity=severity,
    )


def _config_change(before: Properties | None, now: Properties | None) -> tuple[EventKind, str]:
    if now is None:
        return EventKind.CONNECTOR_DELETED, "connector deleted"
    if before is None:
        return EventKind.CONNECTOR_CREATED, f"connector created: {_setting(now.get('connector.class'))}"
    changes = [
        f"{key}={_setting(now[key])}" if key not in before else f"{key} {_setting(before[key])} to {_setting(now[key])}"
        for key in sorted(now)
        if key not in before or before[key] != now[key]
    ]
    changes += [f"{key} removed" for key in sorted(before.keys() - now.keys())]
    if changes:
        return EventKind.CONFIG_CHANGED, first_few(changes, most=SHOWN_KEYS)
    hidden = " (hidden values are not compared)" if HIDDEN in now.values() else ""
    return EventKind.CONFIG_CHANGED, f"written again without a change{hidden}"


def _setting(value: object) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}…"


# The status topic.


def status_events(
    records: Iterable[StatusRecord], place: TopicPartition, events: Events, connectors: Collection[str] = ()
) -> None:
    """Adds an event for each status; of these connectors only (none: all). Discarded records are events too."""
    before: dict[tuple[str, int | None], StatusRecord] = {}
    for status in records:
        if connectors and status.connector not in connectors:
            continue
        key = (status.connector, None if status.kind is StatusKind.TOPIC else status.task)
        if status.kind is StatusKind.TOPIC:
            kind, what, severity = EventKind.TOPIC_USED, _use_words(status), Severity.INFO
        else:
            kind = EventKind.TASK_STATE if status.kind is StatusKind.TASK else EventKind.CONNECTOR_STATE
            what, severity = _state_words(status, before.get(key))
            before[key] = status
        event = Event(
            status.record.timestamp,
            EventSource.STATUS,
            kind,
            what,
            connector=status.connector or None,
            task=status.task,
            actor=Actor(worker=status.worker_id),
            place=place,
            offset=status.record.offset,
            severity=severity,
        )
        events.add(event, (EventSource.STATUS, kind, *key, status.topic), (what, status.worker_id))


def _use_words(status: StatusRecord) -> str:
    if status.reason is not None:
        return f"discarded: {status.reason}"
    return f"topic {status.topic} {'is forgotten' if status.task is None else 'is used'}"


def _state_words(status: StatusRecord, before: StatusRecord | None) -> tuple[str, Severity]:
    if status.reason is not None:
        return f"discarded: {status.reason}", Severity.WARNING
    if status.state is None:
        return "status removed", Severity.INFO
    words = f"{status.state}, generation {status.generation}"
    if before is not None and (before.generation or 0) > (status.generation or 0):
        words += f", which is older than {before.generation}: the worker wrote it after another one had taken over"
    if status.trace:
        words += f": {trace_words(status.trace)}"
    return words, Severity.ERROR if status.state == "FAILED" else Severity.INFO


def trace_words(trace: str) -> str:
    """The first line of a Java stack trace, and its last cause."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys([*lines[:1], *causes[-1:]]))


# The transaction log.


MOST_BOUNDS: Final = 10_000
LEADERS_OWN: Final = frozenset({EventKind.TRANSACTION_COMMITTED, EventKind.TRANSACTION_BEGUN})
"""Events of the leader's ID that are no events of a connector: the config topic has its records."""
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


class _Past(Struct):
    """The known past of one transactional ID; forgotten: its last record is a tombstone.

    initialized waits for the record that shows whether that producer wrote; began and decided are records of the
    current transaction.
    """

    last: TransactionLogValue | None = None
    forgotten: bool = False
    initialized: Event | None = None
    began: TransactionLogRecord | None = None
    decided: TransactionLogRecord | None = None


class TransactionEvents:
    """Adds the events of transactional IDs, record by record, in the order of offsets within a partition.

    wanted are the connectors whose IDs have events (none: all). others are IDs that no member of the Connect group can
    have (None: the group is unknown). By producer ID, holders has its transactional ID, owners its task, sessions the
    times of its initializations, and ends its transactions: the time of the record times two, plus one for a commit.
    written are the partitions that the wanted IDs wrote to. bounds is when a producer may have written (of the last
    MOST_BOUNDS producers). Times are in ms since the epoch.
    """

    def __init__(
        self, events: Events, names: KnownNames, group_id: str | None = None, wanted: Collection[str] = ()
    ) -> None:
        self._events, self._names, self._wanted = events, names, wanted
        self._stem = None if group_id is None else f"{group_id}-"
        self.others: set[str] = set()
        self.newer = 0
        """Records of a version that a newer Kafka wrote: of their IDs this is not the whole history."""
        self._past: dict[str, _Past] = {}
        self.holders: dict[int, str] = {}
        self.owners: dict[int, ConnectorTaskId] = {}
        self.sessions: dict[int, list[int]] = {}
        self.ends: dict[int, array[int]] = {}
        self.written: set[TopicPartition] = set()
        self.bounds: dict[ProducerIdAndEpoch, tuple[int, int]] = {}

    def add_all(self, records: Iterable[LogRecord]) -> None:
        for record in records:
            if isinstance(record, TransactionLogRecord):
                self._add(record)
            else:
                self.newer += 1

    def finish(self) -> None:
        """Adds events that waited for a record that did not come: open transactions, producers that wrote nothing."""
        for name, past in self._past.items():
            self._settle(name, past, wrote=False)
            if past.began is not None and past.began.value is not None:
                self.bounds.pop(past.began.value.producer, None)
                partitions = pluralize(len(past.began.value.partitions or ()), "partition")
                what = f"transaction begun in {partitions}; it has not ended"
                if past.decided is not None and past.decided.value is not None:
                    what = f"{past.decided.value.state.value}, and markers are not all written"
                self._note(name, past.began, EventKind.TRANSACTION_BEGUN, what, Severity.WARNING)
        self._past.clear()

    def _add(self, record: TransactionLogRecord) -> None:
        name, value = record.transactional_id, record.value
        past = self._past.setdefault(name, _Past())
        if value is None:
            self._settle(name, past, wrote=False)
            self._note(name, record, EventKind.ID_FORGOTTEN, "forgotten by its coordinator: it was idle")
            self._past[name] = _Past(forgotten=True)
            return
        self.holders[value.producer.producer_id] = name
        if value.state is TransactionState.EMPTY:
            self.sessions.setdefault(value.producer.producer_id, []).append(record.timestamp)
            self._bound(value.producer, record.timestamp, is_first=True)
            self._settle(name, past, wrote=False)
            past.initialized = self._initialized(record, value, past)
            past.began = past.decided = None
        elif value.state in COMPLETE:
            self._ended(record, value, past)
        else:
            self._settle(name, past, wrote=True)
            if value.state in PREPARED:
                past.decided = record
                self._note_partitions(name, value)
            elif past.began is None:
                past.began = record
        past.last, past.forgotten = value, False

    def _bound(self, producer: ProducerIdAndEpoch, at: int, *, is_first: bool = False) -> None:
        if not is_first and producer not in self.bounds:
            return
        first, last = self.bounds.pop(producer, (at, at))
        self.bounds[producer] = min(first, at), max(last, at)
        if len(self.bounds) > MOST_BOUNDS:
            del self.bounds[next(iter(self.bounds))]

    def _note_partitions(self, name: str, value: TransactionLogValue) -> None:
        task = self._task(name)
        if task is not None:
            self.owners[value.producer.producer_id] = task
            self.written.update(value.partitions or ())

    def _task(self, name: str) -> ConnectorTaskId | None:
        """The wanted connector's task with this ID; None if there is none, or several."""
        tasks = [each.task for each in self._names.owners(name) if isinstance(each, TaskOwner)]
        ours = [each for each in tasks if not self._wanted or each.connector in self._wanted]
        return ours[0] if len(ours) == 1 else None

    def _settle(self, name: str, past: _Past, *, wrote: bool) -> None:
        if past.initialized is None:
            return
        event, past.initialized = past.initialized, None
        what = f"{event.what}; {'it then began a transaction' if wrote else 'it began no transaction'}"
        self._events.add(event._replace(what=what), (EventSource.TRANSACTIONS, name), None)

    def _initialized(self, record: TransactionLogRecord, now: TransactionLogValue, past: _Past) -> Event | None:
        before, epoch = past.last, now.producer.producer_epoch
        fenced = EventKind.PRODUCER_FENCED
        if past.forgotten:
            kind, what = EventKind.PRODUCER_INITIALIZED, "initialized again after its coordinator had forgotten it"
        elif before is None and epoch == 0:
            kind, what = EventKind.PRODUCER_INITIALIZED, "initialized"
        elif before is None:
            kind, what = fenced, f"initialized with epoch {epoch}: a producer of a lower epoch is fenced"
        elif before.producer.producer_id != now.producer.producer_id:
            kind, what = fenced, f"initialized with another producer ID: producer {before.producer} is fenced"
        else:
            kind, what = (
                fenced,
                f"epoch {before.producer.producer_epoch} to {epoch}: producer {before.producer} is fenced",
            )
        words = f"{what}; transaction timeout {now.timeout_ms} ms"
        return self._event(record.transactional_id, record, kind, words, Severity.INFO)

    def _ended(self, record: TransactionLogRecord, now: TransactionLogValue, past: _Past) -> None:
        name = record.transactional_id
        self._settle(name, past, wrote=True)
        began, decided = past.began, past.decided
        past.began = past.decided = None
        ends = self.ends.setdefault(now.producer.producer_id, array("q"))
        ends.append(record.timestamp * 2 + (now.state is TransactionState.COMPLETE_COMMIT))
        if began is not None and began.value is not None:
            # Under transaction.version 2 (KIP-890) each transaction has an epoch of its own.
            self._bound(began.value.producer, began.timestamp, is_first=began.value.client_transaction_version >= 2)
            self._bound(began.value.producer, record.timestamp)
        record = decided or record  # where the client is answered; markers may follow much later
        if now.state is TransactionState.COMPLETE_COMMIT:
            self._note(name, record, EventKind.TRANSACTION_COMMITTED, "committed", alike="committed")
            return
        if began is not None:
            self._note(name, began, EventKind.TRANSACTION_BEGUN, "transaction begun that is aborted later")
        words = _abort_words(None if began is None else began.value, None if decided is None else decided.value, now)
        self._note(name, record, EventKind.TRANSACTION_ABORTED, words, Severity.WARNING)

    def _note(
        self,
        name: str,
        record: TransactionLogRecord,
        kind: EventKind,
        what: str,
        severity: Severity = Severity.INFO,
        alike: str | None = None,
    ) -> None:
        event = self._event(name, record, kind, what, severity)
        if event is not None:
            self._events.add(event, (EventSource.TRANSACTIONS, name), alike)

    def _event(
        self, name: str, record: TransactionLogRecord, kind: EventKind, what: str, severity: Severity
    ) -> Event | None:
        """None for an ID of no wanted connector. The config topic has the leader's commits."""
        owners = self._names.owners(name)
        is_leader = any(isinstance(each, LeaderOwner) for each in owners)
        if not owners and self._stem is not None and not name.startswith(self._stem):
            self.others.add(name)
            return None
        ours = any(isinstance(each, TaskOwner) and each.task.connector in self._wanted for each in owners)
        if self._wanted and not ours and (not is_leader or kind in LEADERS_OWN):
            return None
        task = self._task(name)
        return Event(
            record.timestamp,
            EventSource.TRANSACTIONS,
            kind,
            what,
            connector=None if task is None else task.connector,
            task=None if task is None else task.task,
            actor=Actor(transactional_id=name, producer=None if record.value is None else record.value.producer),
            place=TopicPartition(TRANSACTION_LOG, record.partition),
            offset=record.offset,
            clock=Clock.COORDINATOR,
            severity=severity,
        )


def _abort_words(
    began: TransactionLogValue | None, decided: TransactionLogValue | None, now: TransactionLogValue
) -> str:
    """Before transaction.version 2 a producer's own abort keeps the epoch; only a coordinator raises it."""
    lasted = now.last_update_ms - now.start_ms if now.start_ms >= 0 else None
    words = "aborted" if lasted is None else f"aborted after {lasting(lasted)}"
    end = decided or now
    if began is None or lasted is None or end.producer.producer_epoch == began.producer.producer_epoch:
        return words
    if lasted >= now.timeout_ms:
        return f"{words}: its timeout of {now.timeout_ms} ms was over"
    if now.client_transaction_version < 2:
        return f"{words} by its coordinator: the ID was initialized by another producer"
    return words


# The group's generations in `__consumer_offsets`.


MOVES_SHOWN: Final = 5


class GroupRecord(NamedTuple):
    """A logged generation, None for a tombstone; at is in ms since the epoch."""

    offset: int
    at: int
    generation: GroupGeneration | None


class GroupEvents:
    """Adds the events of the workers' group: each generation, and each change of its leader.

    `leadership` is who led from when on, as far as these records show.
    """

    def __init__(self, events: Events, place: TopicPartition) -> None:
        self._events, self._place = events, place
        self._before: GroupGeneration | None = None
        self._led: list[tuple[int, str | None]] = []

    @property
    def leadership(self) -> Leadership:
        return Leadership(tuple(at for at, _ in self._led), tuple(worker for _, worker in self._led))

    def add(self, record: GroupRecord) -> None:
        now, before = record.generation, self._before
        if now is None:
            return  # the coordinator forgot an empty group: the generation before it says that it was empty
        if before is not None and (before.generation, before.group) == (now.generation, now.group):
            return
        url = now.group.leader_url
        leader = None if url is None else host_port(url)
        severity = Severity.INFO if now.group.members else Severity.WARNING
        self._note(record, EventKind.REBALANCE, _generation_words(before, now), leader, severity)
        if now.leader is not None and (before is None or before.leader != now.leader) and before is not None:
            old = before.group.leader_url
            what = f"the leader is {leader}, before it was {host_port(old) if old else 'none'}"
            self._note(record, EventKind.LEADER_CHANGED, what, leader, Severity.INFO)
        self._before = now
        self._led.append((record.at, leader))

    def _note(self, record: GroupRecord, kind: EventKind, what: str, leader: str | None, severity: Severity) -> None:
        self._events.add(
            Event(
                record.at,
                EventSource.GROUP,
                kind,
                what,
                actor=Actor(worker=leader),
                place=self._place,
                offset=record.offset,
                clock=Clock.COORDINATOR,
                severity=severity,
            )
        )


def _generation_words(before: GroupGeneration | None, now: GroupGeneration) -> str:
    then = {} if before is None else _workers(before)
    there = _workers(now)
    parts = [f"generation {now.generation}: {pluralize(len(there), 'worker')}"]
    if before is None:
        parts.append(first_few(sorted(there.values())))
    else:
        came = sorted(url for member, url in there.items() if member not in then)
        left = sorted(url for member, url in then.items() if member not in there)
        parts += [f"{what} {first_few(some)}" for what, some in (("joined:", came), ("left:", left)) if some]
    moves = _moves({} if before is None else _tasks(before), _tasks(now)) if before is not None else []
    if moves:
        parts.append(first_few(moves, most=MOVES_SHOWN))
    return "; ".join(part for part in parts if part)


def _workers(generation: GroupGeneration) -> dict[str, str]:
    return {each.member_id: host_port(each.url) if each.url else each.member_id for each in generation.group.members}


def _tasks(generation: GroupGeneration) -> dict[ConnectorTaskId, str]:
    workers = _workers(generation)
    return {task: workers[each.member_id] for each in generation.group.members for task in each.tasks or ()}


def _moves(before: Mapping[ConnectorTaskId, str], now: Mapping[ConnectorTaskId, str]) -> list[str]:
    """Tasks that another worker has, or none any more; in a generation that revokes tasks they may return later."""
    moved = [f"{task} to {now[task]}" for task in sorted(now) if before.get(task) != now[task]]
    return moved + [f"{task} to no worker" for task in sorted(before.keys() - now.keys())]


# The offsets topics.


class OffsetsWrite(NamedTuple):
    """The records of one connector in one batch of an offsets topic, committed; at is in ms since the epoch.

    position is the last of them as text; tombstones are records that delete an offset.
    """

    offset: int
    at: int
    connector: str
    writer: Writer
    records: int
    tombstones: int
    position: str


class Halts:
    """When connectors were stopped or did not exist, and when their tasks ended, in ms since the epoch."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[bool, bool]] = {}
        self._changes: dict[str, list[tuple[int, bool]]] = {}
        self.ends: dict[str, list[int]] = {}
        self.whole = True
        """True if the config topic still has every record that was ever written to it."""

    def note(self, record: ConfigRecord) -> None:
        """Take in the next record of the config topic."""
        name = connector_of(record)
        if name is None or record.origin.state is not RecordState.COMMITTED:
            return
        exists, stopped = before = self._states.get(name, (False, False))
        if isinstance(record, ConnectorConfigRecord):
            exists = record.properties is not None
        elif isinstance(record, TargetStateRecord):
            stopped = record.read_by(NEWEST) is TargetState.STOPPED
        self._states[name] = (exists, stopped)
        is_halted = stopped or not exists
        if name not in self._changes or is_halted != (before[1] or not before[0]):
            self._changes.setdefault(name, []).append((record.origin.timestamp, is_halted))

    def since(self, connector: str, at: int) -> int | None:
        """The time since when it was halted then; None if it was not, or if that is unknown."""
        changes = self._changes.get(connector, [])
        number = bisect_right(changes, (at, True))
        if number == 0:
            return 0 if self.whole else None
        return changes[number - 1][0] if changes[number - 1][1] else None

    def altered(self, write: OffsetsWrite, sessions: Mapping[int, list[int]]) -> bool:
        """True if another client than the connector's tasks changed the offsets.

        Workers refuse to alter offsets unless the connector is stopped, and then use another producer
        (Worker.alterSourceConnectorOffsets). A stopping task may commit a last time: with its own producer, and before
        it ended. sessions are the times at which each producer ID was initialized.
        """
        since = self.since(write.connector, write.at)
        if since is None:
            return False
        if write.writer.transactional:
            begun = sessions.get(write.writer.producer_id, [])
            number = bisect_right(begun, write.at + CLOCKS_MS)
            return number > 0 and begun[number - 1] >= since - CLOCKS_MS
        return any(since - CLOCKS_MS <= each <= write.at for each in self.ends.get(write.connector, ()))


def offset_events(
    writes: Iterable[OffsetsWrite],
    place: TopicPartition,
    events: Events,
    halts: Halts,
    sessions: Mapping[int, list[int]],
    owners: Mapping[int, ConnectorTaskId],
) -> None:
    """Adds the commits of offsets, and the changes of them. owners are the tasks that have each producer ID."""
    for write in writes:
        is_altered = halts.altered(write, sessions)
        task = owners.get(write.writer.producer_id)
        producer = ProducerIdAndEpoch(write.writer.producer_id, write.writer.producer_epoch)
        deleted = f", {write.tombstones} of them deleted" if write.tombstones else ""
        verb = "changed while the connector was halted" if is_altered else "committed"
        event = Event(
            write.at,
            EventSource.OFFSETS,
            EventKind.OFFSETS_ALTERED if is_altered else EventKind.OFFSETS_COMMITTED,
            f"{pluralize(write.records, 'offset')} {verb}{deleted}, the last {write.position}",
            connector=write.connector,
            task=None if is_altered or task is None or task.connector != write.connector else task.task,
            actor=Actor(producer=producer if producer.producer_id >= 0 else None),
            place=place,
            offset=write.offset,
            severity=Severity.WARNING if is_altered else Severity.INFO,
        )
        lane = (EventSource.OFFSETS, write.connector, producer.producer_id)
        events.add(event, lane, (event.kind, session_of(event, sessions)))


def session_of(event: Event, sessions: Mapping[int, list[int]]) -> int:
    """The session of the event's producer ID: the number of earlier ones, as far as clocks agree."""
    producer = event.actor.producer
    begun = [] if producer is None else sessions.get(producer.producer_id, [])
    return bisect_right(begun, event.at + CLOCKS_MS)


def merged_offsets(events: Iterable[Event], sessions: Mapping[int, list[int]]) -> Iterator[Event]:
    """The same, where commits of one session in several partitions of an offsets topic are one run."""
    lanes: dict[Hashable, Event] = {}
    for event in sorted(events, key=lambda each: each.at):
        if event.source is not EventSource.OFFSETS:
            yield event
            continue
        producer = event.actor.producer
        number = producer and producer.producer_id
        lane = (event.connector, number, session_of(event, sessions))
        before = lanes.get(lane)
        if before is not None and before.kind is event.kind and follows(before, event):
            lanes[lane] = joined(before, event)
            continue
        if before is not None:
            yield before
        lanes[lane] = event
    yield from lanes.values()


# eosctl's own plans.


class PlanRecord(NamedTuple):
    """A plan that this machine keeps: when it was made, how many of its steps are done, and when the last one was.

    Times are in ms since the epoch; done_at None: no step was begun. file is the plan's.
    """

    file: str
    kind: str
    connectors: tuple[str, ...]
    made_at: int
    steps: int
    done: int
    done_at: int | None


def plan_events(plans: Iterable[PlanRecord], events: Events, connectors: Collection[str] = ()) -> None:
    """Adds when each plan was made and last carried out; of these connectors only (none: all)."""
    for plan in plans:
        if connectors and not set(connectors) & {*plan.connectors}:
            continue
        whose = plan.connectors[0] if len(plan.connectors) == 1 else None
        what = f"plan {plan.kind} of {pluralize(plan.steps, 'step')} made: {plan.file}"
        made = Event(plan.made_at, EventSource.PLAN, EventKind.PLAN_MADE, what, connector=whose, clock=Clock.LOCAL)
        events.add(made)
        if plan.done_at is not None:
            what = f"plan {plan.kind}: {plan.done} of {pluralize(plan.steps, 'step')} done by then: {plan.file}"
            severity = Severity.INFO if plan.done >= plan.steps else Severity.WARNING
            done = made._replace(at=plan.done_at, kind=EventKind.PLAN_STEP, what=what, severity=severity)
            events.add(done)


# Output topics.


class Marker(NamedTuple):
    """An end-transaction marker in a partition of an output topic; at is in ms since the epoch."""

    offset: int
    at: int
    commits: bool
    producer: ProducerIdAndEpoch
    coordinator_epoch: int


def marker_events(
    markers: Iterable[Marker],
    place: TopicPartition,
    events: Events,
    ends: Mapping[int, Sequence[int]],
    owners: Mapping[int, ConnectorTaskId],
) -> None:
    """Adds the ends of transactions that the transaction log does not have; ends are the ones that it has.

    They are as TransactionEvents has them. A marker is written between the decision and the end of its transaction.
    """
    for marker in markers:
        logged = ends.get(marker.producer.producer_id, ())
        first, last = ((marker.at + by) * 2 for by in (-MARKERS_MS, MARKERS_MS))
        near = logged[bisect_left(logged, first) : bisect_right(logged, last + 1)]
        if any(each % 2 == marker.commits for each in near):
            continue
        verb, kind = ("committed", EventKind.TRANSACTION_COMMITTED)
        if not marker.commits:
            verb, kind = "aborted", EventKind.TRANSACTION_ABORTED
        task = owners.get(marker.producer.producer_id)
        what = (
            f"{verb} in {place}, coordinator epoch {marker.coordinator_epoch}: the transaction log has no such end. "
            "It was forgotten, or an administrator wrote the marker"
        )
        event = Event(
            marker.at,
            EventSource.OUTPUT,
            kind,
            what,
            connector=None if task is None else task.connector,
            task=None if task is None else task.task,
            actor=Actor(producer=marker.producer),
            place=place,
            offset=marker.offset,
            clock=Clock.COORDINATOR,
            severity=Severity.INFO if marker.commits else Severity.WARNING,
        )
        events.add(event, (EventSource.OUTPUT, place, marker.producer.producer_id), verb if marker.commits else None)
