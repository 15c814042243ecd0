"""Answers `timeline`: reads the topics that keep time, one after the other, and merges their events."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.config_topic import connector_of, of_a_config_topic
from eosctl.analysis.timeline import MOST_EVENTS, Events, Leadership, in_order, with_actors, within_bounds
from eosctl.analysis.topic_events import (
    LEADERS_OWN,
    GroupEvents,
    GroupRecord,
    Halts,
    Marker,
    OffsetsWrite,
    PlanRecord,
    TransactionEvents,
    config_events,
    marker_events,
    merged_offsets,
    offset_events,
    plan_events,
    status_events,
)
from eosctl.analysis.transactions import KnownNames
from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.config_topic import decode_config_record
from eosctl.codecs.groups import decode_group_generation, group_of_generation
from eosctl.codecs.offsets_topic import decode_offsets_key, decode_offsets_value
from eosctl.codecs.record_batches import Batch, DamagedOffsets, MarkerType, decode_records, most_batch_bytes
from eosctl.codecs.status_topic import decode_status_records
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import EosctlError, Undecodable, UsageError
from eosctl.model.config_topic import ConfigRecord, ConnectorConfigRecord
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.groups import CONSUMER_OFFSETS, ConnectGroup
from eosctl.model.names import (
    TRANSACTION_LOG,
    ProducerIdAndEpoch,
    TopicPartition,
    coordinator_partition,
    is_topic_name,
    leader_transactional_id,
    not_in_config_topic,
)
from eosctl.model.offsets import OffsetKey
from eosctl.model.records import Record, RecordState, Writer
from eosctl.model.report import Severity
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.text import pluralize
from eosctl.model.timeline import Clock, Event, EventKind, EventSource, ReadPartition, Timeline, TimelineFacts
from eosctl.model.times import ClusterClock, duration_ms, rfc3339
from eosctl.model.topics import OffsetRange, PartitionOffsets
from eosctl.model.workers import host_port
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC
from eosctl.operations.plan_files import plan_records
from eosctl.operations.session import Session
from eosctl.operations.workers import require_workers_group
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem, RecordLog
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.log_directories import SegmentLog

STATUS_TOPIC: Final = "connect-status"
LOG_APPEND_TIME: Final = 0x08
BEFORE_MS: Final = 60_000
"""Records of a clock that is behind lie before the offset that a time leads to."""
TRANSACTION_MS: Final = 900_000
"""A transaction that ends in the period began before it, by the brokers' longest timeout at most."""
GENERATION_MS: Final = 3_600_000
POSITION_SHOWN: Final = 120


class TimelineRequest(Struct, frozen=True):
    """The connectors (none: all), the period (ms since the epoch; None: open), and the workers' topics.

    outputs: output topics are read, too; it needs `since`. report is the file for the page, None: no page.
    """

    connectors: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    config_topic: str = "connect-configs"
    status_topic: str | None = None
    worker_offsets_topic: str | None = None
    log_directories: tuple[Path, ...] = ()
    outputs: bool = True
    report: Path | None = None


def time_of(text: str, now: int, option: str) -> int:
    """A time as the user says it, in ms since the epoch: `2h` before now, or RFC 3339 (without a zone: UTC)."""
    ago = duration_ms(text)
    if ago is not None:
        return now - ago
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        hint = "give 90s, 30m, 2h or 7d, counted back from now, or a time such as 2026-01-31T12:00:00Z"
        raise UsageError(f"{option}: {text!r} is neither a duration nor a time", hint=hint) from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


_Ends = dict[int, list[tuple[int, bool]]]


@dataclass(slots=True)
class PartitionReading:
    """One partition read once, from `start` on, and what its offsets show: how many hold nothing, whose clock it is.

    after_gap is the offset and the time (ms) behind the last offsets that hold nothing.
    """

    log: RecordLog
    source: EventSource
    place: TopicPartition
    bounds: PartitionOffsets
    start: int
    records: int = 0
    missing: int = 0
    after_gap: tuple[int, int] | None = None
    first: tuple[int, int] | None = None
    damages: list[DamagedOffsets] = field(default_factory=list)
    clocks: list[tuple[int, Clock]] = field(default_factory=list)
    _expected: int = 0

    def read(self) -> Iterator[Record]:
        """Its records with the states of their transactions, in the order of offsets."""
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[Sequence[Record]]:
        """The same, batch by batch."""
        stable, end = self.bounds.last_stable_offset, self.bounds.high_watermark
        self._expected = self.start
        yield from self._batches(self._items(self.start, stable, settled=True), None)
        if max(self.start, stable) < end:
            ends = self._ends(stable, end)
            yield from self._batches(self._items(max(self.start, stable), end, settled=False), ends)
        self._expect(end, -1, end)

    def markers(self) -> Iterator[Marker]:
        """Its end-transaction markers; the records between them are not unpacked."""
        end = self.bounds.high_watermark
        self._expected = self.start
        for item in self._items(self.start, end, settled=False):
            if isinstance(item, DamagedOffsets):
                self._note_damage(item)
                continue
            header = item.batch.header
            self._expect(header.base_offset, header.max_timestamp, header.next_offset)
            self.records += header.record_count
            marker = item.marker if isinstance(item, ControlBatch) else None
            if marker is not None:
                commits = marker.type is MarkerType.COMMIT
                producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
                yield Marker(marker.offset, marker.timestamp, commits, producer, marker.coordinator_epoch)

    def clock_at(self, offset: int) -> Clock:
        """Whose clock gave the record at this offset its time."""
        before = [clock for first, clock in self.clocks if first <= offset]
        return before[-1] if before else Clock.CREATE_TIME

    def _items(self, start: int, end: int, *, settled: bool) -> Iterator[LogItem]:
        wanted = OffsetRange(self.place.topic, self.place.partition, start, end, settled=settled)
        return self.log.read(wanted) if start < end else iter(())

    def _ends(self, start: int, end: int) -> _Ends:
        """The markers behind the last stable offset, by producer ID: offset, and whether it commits."""
        found: _Ends = {}
        for item in self._items(start, end, settled=False):
            if isinstance(item, ControlBatch) and item.marker is not None:
                commits = item.marker.type is MarkerType.COMMIT
                found.setdefault(item.marker.producer_id, []).append((item.marker.offset, commits))
        return found

    def _batches(self, items: Iterator[LogItem], ends: _Ends | None) -> Iterator[Sequence[Record]]:
        for item in items:
            if isinstance(item, DamagedOffsets):
                self._note_damage(item)
                continue
            header = item.batch.header
            self._note_clock(item.batch)
            if isinstance(item, ControlBatch):
                self._expect(header.base_offset, header.max_timestamp, header.next_offset)
                continue
            state = RecordState.ABORTED if item.aborted else _state(item, ends)
            decoded = decode_records(item.batch, state=state, topic_partition=self.place)
            records = [each for each in decoded if self.start <= each.offset < self.bounds.high_watermark]
            for record in records:
                self._expect(record.offset, record.timestamp, record.offset + 1)
            self.records += len(records)
            if records:
                yield records

    def _expect(self, offset: int, timestamp: int, following: int) -> None:
        if self.first is None and timestamp >= 0:
            self.first = (offset, timestamp)
        if offset > self._expected:
            self.missing += offset - self._expected
            self.after_gap = (offset, timestamp)
        self._expected = max(self._expected, following)

    def _note_damage(self, damage: DamagedOffsets) -> None:
        self.damages.append(damage)
        self._expected = damage.next_offset

    def _note_clock(self, batch: Batch) -> None:
        clock = Clock.LOG_APPEND_TIME if batch.header.attributes & LOG_APPEND_TIME else Clock.CREATE_TIME
        if not self.clocks or self.clocks[-1][1] is not clock:
            self.clocks.append((batch.header.base_offset, clock))


def _state(item: DataBatch, ends: _Ends | None) -> RecordState:
    header = item.batch.header
    if not header.is_transactional or ends is None:
        return RecordState.COMMITTED
    ended = (commits for offset, commits in ends.get(header.producer_id, ()) if offset > header.last_offset)
    commits = next(ended, None)
    return RecordState.OPEN if commits is None else RecordState.COMMITTED if commits else RecordState.ABORTED


class Cluster(Struct, frozen=True):
    """The Connect group, None where it is not known, and its leader now by its coordinator."""

    group_id: str | None = None
    leader: str | None = None


@dataclass(slots=True)
class Reading:
    """The topics read so far, and the facts that the next ones need."""

    log: RecordLog
    request: TimelineRequest
    cluster: Cluster
    events: Events
    transactions: TransactionEvents | None = None
    leadership: Leadership = field(default_factory=Leadership)
    halts: Halts = field(default_factory=Halts)
    connectors: set[str] = field(default_factory=set)
    offsets_topics: set[str] = field(default_factory=set)
    partitions: list[PartitionReading] = field(default_factory=list)
    asked: dict[TopicPartition, tuple[PartitionOffsets, int]] = field(default_factory=dict)
    unread: dict[str, Skipped] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def attempt(self, what: str, read: Callable[[], None]) -> None:
        """An unreadable topic is reported, and the others are read."""
        try:
            read()
        except EosctlError as error:
            self.unread[what] = Skipped.of(error)

    def read_all(self) -> None:
        """Raises UsageError where the config topic is none, or mentions none of the connectors."""
        self._read_config_topic()
        self.attempt("the status topic", self._read_status_topic)
        self.attempt("the generations of the Connect group", self._read_group)
        self.attempt("the transaction log", self._read_transaction_log)
        for topic in sorted(self.offsets_topics):
            self.attempt(f"offsets topic {topic}", lambda topic=topic: self._read_offsets_topic(topic))  # type: ignore[misc]  # bound now
        self._read_output_topics()

    def _partition(self, source: EventSource, place: TopicPartition, before_ms: int | None) -> PartitionReading:
        """A reading that begins so long before the period (None: at the log start), and one offset earlier.

        A time leads to the first record that is left. Where compaction removed the ones before, that offset is missing.
        """
        bounds, start = self.asked.get(place) or next(self._beginnings([place], before_ms))
        reading = PartitionReading(self.log, source, place, bounds, start)
        self.partitions.append(reading)
        return reading

    def _beginnings(
        self, places: Sequence[TopicPartition], before_ms: int | None
    ) -> Iterator[tuple[PartitionOffsets, int]]:
        bounds, since = self.log.bounds(places), self.request.since
        if since is None or before_ms is None:
            yield from ((bounds[place], bounds[place].log_start_offset) for place in places)
            return
        found = self.log.offsets_at(places, since - before_ms)
        for place in places:
            at, end = found[place], bounds[place].high_watermark
            yield bounds[place], max(bounds[place].log_start_offset, (end if at is None else at[0]) - 1)

    def _ask(self, places: Sequence[TopicPartition], before_ms: int) -> Sequence[TopicPartition]:
        """The same places, asked for at once; where that fails each is asked by itself when it is read."""
        with suppress(EosctlError):
            self.asked |= dict(zip(places, self._beginnings(places, before_ms), strict=True))
        return places

    def _read_config_topic(self) -> None:
        """The whole topic: earlier records decide the effect of a record in the period."""
        place = TopicPartition(self.request.config_topic, 0)
        reading = self._partition(EventSource.CONFIG, place, None)
        records = of_a_config_topic(map(decode_config_record, reading.read()))
        for record in config_events(records, place, _Wanted(self.events, self.request.connectors)):
            self._note_config(record)
        self.halts.whole = not reading.missing and not reading.bounds.log_start_offset
        unknown = [each for each in self.request.connectors if each not in self.connectors]
        if unknown and len(unknown) == len(self.request.connectors):
            raise not_in_config_topic(unknown, self.connectors)
        if unknown:
            self.notes.append(not_in_config_topic(unknown, self.connectors).message)
        self.offsets_topics.add(self.request.worker_offsets_topic or DEFAULT_OFFSETS_TOPIC)

    def _note_config(self, record: ConfigRecord) -> None:
        self.halts.note(record)
        name = connector_of(record)
        if name is None:
            return
        self.connectors.add(name)
        if isinstance(record, ConnectorConfigRecord) and name in (self.request.connectors or self.connectors):
            topic = (record.properties or {}).get(OFFSETS_TOPIC)
            if isinstance(topic, str) and is_topic_name(topic):
                self.offsets_topics.add(topic)

    def _read_status_topic(self) -> None:
        for place in self._ask(self.log.partitions(self.request.status_topic or STATUS_TOPIC), BEFORE_MS):
            statuses = decode_status_records(self._partition(EventSource.STATUS, place, BEFORE_MS).read())
            status_events(self._noting_ends(statuses), place, self.events, self.request.connectors)

    def _noting_ends(self, statuses: Iterable[StatusRecord]) -> Iterator[StatusRecord]:
        for status in statuses:
            if status.kind is StatusKind.TASK and status.state in {None, "UNASSIGNED"} and status.reason is None:
                self.halts.ends.setdefault(status.connector, []).append(status.record.timestamp)
            yield status

    def _read_group(self) -> None:
        if self.cluster.group_id is None:
            self.unread["the generations of the Connect group"] = not_asked("no --group-id was given")
            return
        places = self.log.partitions(CONSUMER_OFFSETS)
        number = coordinator_partition(self.cluster.group_id, len(places))
        place = next((each for each in places if each.partition == number), None)
        if place is None:
            raise UsageError(
                f"partition {number} of {CONSUMER_OFFSETS}, which has group {self.cluster.group_id}, is not there"
            )
        group = GroupEvents(self.events, place)
        for record in self._partition(EventSource.GROUP, place, GENERATION_MS).read():
            if group_of_generation(record.key or b"") == self.cluster.group_id:
                value = None if record.value is None else decode_group_generation(record.value)
                group.add(GroupRecord(record.offset, record.timestamp, value))
        self.leadership = group.leadership
        if not self.leadership.times and self.request.since is not None and self.cluster.leader is not None:
            self.leadership = Leadership((self.request.since - GENERATION_MS,), (self.cluster.leader,))

    def _read_transaction_log(self) -> None:
        names = KnownNames.of({} if self.cluster.group_id is None else {self.cluster.group_id: self.connectors})
        found = TransactionEvents(self.events, names, self.cluster.group_id, self.request.connectors)
        try:
            places = self.log.partitions(TRANSACTION_LOG)
        except UsageError:
            if self.request.log_directories:
                raise
            none = Skipped("the cluster has none: no transactional ID was used yet", Cause.NOT_IN_USE)
            self.unread["the transaction log"] = none
            places = ()
        for place in self._ask(places, TRANSACTION_MS):
            reading = self._partition(EventSource.TRANSACTIONS, place, TRANSACTION_MS)
            found.add_all(decode_log_record(place.partition, record) for record in reading.read())
        found.finish()
        self.transactions = found
        if found.newer:
            why = f"{pluralize(found.newer, 'record has', 'records have')} a version that a newer Kafka wrote"
            self.unread["the whole transaction log"] = Skipped(why, Cause.UNSUPPORTED)
        if found.others:
            self.notes.append(f"{pluralize(len(found.others), 'transactional ID')} of other applications left out")

    def _read_offsets_topic(self, topic: str) -> None:
        known = self.transactions
        sessions, owners = ({}, {}) if known is None else (known.sessions, known.owners)
        for place in self._ask(self.log.partitions(topic), BEFORE_MS):
            reading = self._partition(EventSource.OFFSETS, place, BEFORE_MS)
            writes = chain.from_iterable(map(_writes, reading.batches()))
            wanted = (each for each in writes if each.connector in (self.request.connectors or (each.connector,)))
            offset_events(wanted, place, self.events, self.halts, sessions, owners)

    def _read_output_topics(self) -> None:
        """The ends of transactions that the transaction log does not have, and damage."""
        known = self.transactions
        internal = {self.request.config_topic, CONSUMER_OFFSETS, *self.offsets_topics}
        places = sorted(each for each in (() if known is None else known.written) if each.topic not in internal)
        if known is None or not places:
            return
        if self.request.since is None or not self.request.outputs:
            why = "give --since: only records of that period are read"
            self.unread["output topics"] = not_asked(why if self.request.outputs else "a snapshot has no such records")
            return
        for place in self._ask(places, BEFORE_MS):
            self.attempt(f"output topic {place}", lambda place=place: self._read_markers(known, place))  # type: ignore[misc]  # bound now

    def _read_markers(self, known: TransactionEvents, place: TopicPartition) -> None:
        reading = self._partition(EventSource.OUTPUT, place, BEFORE_MS)
        marker_events(reading.markers(), place, self.events, known.ends, known.owners)


def _writes(records: Sequence[Record]) -> Iterator[OffsetsWrite]:
    """The writes of one batch for each connector."""
    found: dict[str, list[Record]] = {}
    for record in records:
        connector = _connector_of_key(record.key)
        if connector is not None and record.state is RecordState.COMMITTED:
            found.setdefault(connector, []).append(record)
    for connector, some in found.items():
        last = some[-1]
        writer = Writer(last.transactional, last.producer_id, last.producer_epoch)
        tombstones = sum(1 for each in some if each.value is None)
        yield OffsetsWrite(last.offset, last.timestamp, connector, writer, len(some), tombstones, _position(last))


@lru_cache(maxsize=4096)  # the same keys are written again and again
def _connector_of_key(key: bytes | None) -> str | None:
    decoded = decode_offsets_key(key)
    return decoded.connector if isinstance(decoded, OffsetKey) else None


def _position(record: Record) -> str:
    key, value = decode_offsets_key(record.key), decode_offsets_value(record.value)
    partition = key.partition if isinstance(key, OffsetKey) else None
    shown = value if isinstance(value, Mapping) else None
    texts = [json.dumps(each, ensure_ascii=False) for each in (partition, shown)]
    return " at ".join(each if len(each) <= POSITION_SHOWN else f"{each[:POSITION_SHOWN]}…" for each in texts)


class _Wanted(Events):
    """Takes the events of these connectors (none: all), and the ones of no connector."""

    def __init__(self, events: Events, connectors: Sequence[str]) -> None:
        self._events, self._connectors = events, connectors

    def add(self, event: Event, lane: Hashable = None, alike: Hashable = None) -> None:
        if not self._connectors or event.connector is None or event.connector in self._connectors:
            self._events.add(event, lane, alike)


def read_timeline(session: Session, request: TimelineRequest) -> Timeline:
    """The events of the period in all topics that can be read.

    UsageError where the config topic mentions none of the connectors, or is none, and for a period that ends too early.
    """
    if request.since is not None and request.until is not None and request.until < request.since:
        raise UsageError(
            f"--until {rfc3339(request.until)} is before --since {rfc3339(request.since)}",
            hint="a duration is counted back from now, so --since 2h --until 1h is the hour before the last",
        )
    if request.log_directories:
        log = SegmentLog(request.log_directories, most_batch_bytes(session.client_properties))
        facts = read_events(log, request, Cluster(session.options.group_id))
        facts = replace(facts, notes=(*facts.notes, "read from files: what another broker has is not here"))
        return _timeline(request, facts, session.now(), session.options.group_id)
    reader = session.reader
    facts = read_from(reader, request)
    found = _timeline(request, facts, reader.now(), reader.group_id)
    return replace(found, cluster_id=reader.cluster_id, coverage=reader.coverage + found.coverage)


def read_and_report(session: Session, request: TimelineRequest, page: Callable[[Timeline], str]) -> Timeline:
    """The same, also as a page where the request names a file."""
    found = read_timeline(session, request)
    if request.report is not None:
        write_atomic_file(request.report, page(found))
    return found


def _timeline(request: TimelineRequest, facts: TimelineFacts, as_of: int, group_id: str | None) -> Timeline:
    return Timeline(
        as_of=as_of,
        cluster_id=None,
        group_id=group_id,
        connectors=request.connectors,
        since=request.since,
        until=request.until,
        facts=facts,
        coverage=Coverage((), facts.unread),
    )


def read_status_topic(log: RecordLog, topic: str) -> Iterator[StatusRecord]:
    """All records of the status topic, one partition after the other.

    Raises Undecodable for unreadable offsets: their records may be newer than the others.
    """
    places = log.partitions(topic)
    bounds = log.bounds(places)
    for place in places:
        reading = PartitionReading(log, EventSource.STATUS, place, bounds[place], bounds[place].log_start_offset)
        yield from decode_status_records(reading.read())
        if reading.damages:
            raise Undecodable(f"{place}: {reading.damages[0].reason}")


def read_from(reader: ClusterReader, request: TimelineRequest) -> TimelineFacts:
    """The events of the reader: read from topics, or the saved ones of the period.

    UsageError if the answering workers are of another group than the named one.
    """
    source, group_id = reader.timeline(), reader.group_id
    if isinstance(source, Skipped):
        raise UsageError(f"no events were read: {source.reason}")
    if isinstance(source, TimelineFacts):
        return _saved(source, request, group_id)
    require_workers_group(reader)  # by another one the same IDs would be those of other applications
    cluster_id = reader.cluster_id
    plans = () if cluster_id is None else tuple(plan_records(cluster_id))
    facts, clock = read_events(source, request, cluster_of(reader), plans=plans), reader.clock()
    if isinstance(clock, ClusterClock) and not clock.agrees:
        facts = replace(facts, notes=(*facts.notes, f"{clock}; --since and --until are by this machine's"))
    return facts


def cluster_of(reader: ClusterReader) -> Cluster:
    group_id = reader.group_id
    with reader.optional_reads():
        group = None if group_id is None else reader.connect_group(group_id)
    url = group.leader_url if isinstance(group, ConnectGroup) else None
    return Cluster(group_id, None if url is None else host_port(url))


def read_events(
    log: RecordLog,
    request: TimelineRequest,
    cluster: Cluster,
    most: int = MOST_EVENTS,
    plans: Iterable[PlanRecord] = (),
) -> TimelineFacts:
    """The events of the period in the topics of this log and of these plans, at most so many."""
    reading = Reading(log, request, cluster, Events(request.since, request.until, most))
    reading.read_all()
    plan_events(plans, reading.events, request.connectors)
    for each in _gaps(reading.partitions):
        reading.events.add(each)
    unread = (Unread(what, each.reason, each.cause) for what, each in reading.unread.items())
    return TimelineFacts(
        since=request.since,
        events=_arranged(reading),
        partitions=tuple(map(_read_partition, reading.partitions)),
        unread=(*unread, *_gone(reading, request)),
        coarse_ms=reading.events.coarse_ms,
        notes=tuple(reading.notes),
    )


def _saved(facts: TimelineFacts, request: TimelineRequest, group_id: str | None) -> TimelineFacts:
    """The saved events that lie in the period and concern the connectors."""
    known = {each.connector for each in facts.events}
    if request.connectors and known.isdisjoint(request.connectors):
        raise not_in_config_topic(request.connectors, {each for each in known if each is not None})
    period = Events(request.since, request.until)
    for each in facts.events:
        if not request.connectors or _concerns(each, request.connectors, group_id):
            period.add(each)
    unread = list(facts.unread)
    if facts.since is not None and (request.since is None or request.since < facts.since):
        why = f"the snapshot has the events from {rfc3339(facts.since)} on"
        unread.append(Unread("earlier events", why, Cause.NOT_SAVED, needed=request.since is not None))
    return replace(facts, events=tuple(period.collected()), unread=tuple(unread))


def _concerns(event: Event, connectors: Sequence[str], group_id: str | None) -> bool:
    if event.connector is not None:
        return event.connector in connectors
    if event.source is not EventSource.TRANSACTIONS:
        return True
    of_leader = group_id is not None and event.actor.transactional_id == leader_transactional_id(group_id)
    return of_leader and event.kind not in LEADERS_OWN


def _arranged(reading: Reading) -> tuple[Event, ...]:
    known, partitions = reading.transactions, {each.place: each for each in reading.partitions}
    holders, bounds, sessions = ({}, {}, {}) if known is None else (known.holders, known.bounds, known.sessions)
    merged = merged_offsets(reading.events.collected(), sessions)
    events = with_actors(merged, holders, reading.leadership)
    return in_order(_with_clock(each, partitions) for each in within_bounds(events, bounds))


def _with_clock(event: Event, partitions: Mapping[TopicPartition, PartitionReading]) -> Event:
    """The event with the clock of its record: CreateTime, unless the topic has LogAppendTime."""
    reading = None if event.place is None else partitions.get(event.place)
    if reading is None or event.offset is None or event.clock is not Clock.CREATE_TIME:
        return event
    clock = reading.clock_at(event.offset)
    return event if clock is event.clock else event._replace(clock=clock)


def _read_partition(reading: PartitionReading) -> ReadPartition:
    return ReadPartition(
        source=reading.source,
        topic_partition=reading.place,
        start=reading.start,
        end=reading.bounds.high_watermark,
        log_start_offset=reading.bounds.log_start_offset,
        records=reading.records,
        missing=reading.missing,
        clocks=tuple(dict.fromkeys(clock for _, clock in reading.clocks)),
    )


def _by_topic(readings: Iterable[PartitionReading]) -> Mapping[str, list[PartitionReading]]:
    topics: dict[str, list[PartitionReading]] = {}
    for each in readings:
        topics.setdefault(each.place.topic, []).append(each)
    return topics


def _gaps(readings: Sequence[PartitionReading]) -> Iterator[Event]:
    """One event for each topic that lacks records, where the last lack ends; and one for each damage."""
    for each in readings:
        for damage in each.damages:
            what = f"offsets {damage.offset} to {damage.next_offset - 1} could not be read: {damage.reason}"
            yield _gap(each, damage.offset, -1, what, Severity.ERROR)
    for topic, some in _by_topic(readings).items():
        compacted = [(each.after_gap, each) for each in some if each.after_gap is not None]
        if compacted:
            (offset, at), last = max(compacted, key=lambda pair: pair[0][1])
            offsets = pluralize(sum(each.missing for _, each in compacted), "offset")
            least = "at least " if any(each.start > each.bounds.log_start_offset for _, each in compacted) else ""
            what = (
                f"{least}{offsets} of {topic} no longer hold a record: compaction kept only the last record of each "
                "key before this time"
            )
            yield _gap(last, offset, at, what, Severity.WARNING)
        deleted = [(each.first, each) for each in some if _is_cut(each) and each.first is not None]
        if deleted:
            (offset, at), last = max(deleted, key=lambda pair: pair[0][1])
            what = f"{topic} begins here: the records before were deleted"
            yield _gap(last, offset, at, what, Severity.WARNING)


def _is_cut(reading: PartitionReading) -> bool:
    """True if records of the period may have been deleted: the reading begins at the log start, after offset 0."""
    return 0 < reading.bounds.log_start_offset == reading.start


def _gap(reading: PartitionReading, offset: int, at: int, what: str, severity: Severity) -> Event:
    return Event(at, reading.source, EventKind.GAP, what, place=reading.place, offset=offset, severity=severity)


def _gone(reading: Reading, request: TimelineRequest) -> Iterator[Unread]:
    """The deleted part of the period in the topics; it makes the answer incomplete if the period was named."""
    for topic, some in _by_topic(reading.partitions).items():
        since = -1 if request.since is None else request.since
        lacks = [each.after_gap for each in some if each.after_gap is not None and each.after_gap[1] >= since]
        cuts = [each for each in some if _is_cut(each)]
        for is_there, why in ((lacks, "compaction removed records"), (cuts, "its first records were deleted")):
            if is_there:
                gone = Skipped(why)
                yield Unread(f"history of {topic}", gone.reason, gone.cause, needed=request.since is not None)
        for each in some:
            for damage in each.damages:
                gone = Skipped(damage.reason)
                yield Unread(
                    f"offsets {damage.offset} to {damage.next_offset - 1} of {each.place}", gone.reason, gone.cause
                )
