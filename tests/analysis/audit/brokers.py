"""Brokers and a Connect cluster that write logs as real ones do, byte for byte."""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from msgspec.structs import replace

from eosctl.codecs.record_batches import Batch, Codec, DamagedOffsets, MarkerType, decode_marker, iter_batches
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, TopicRole
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange
from eosctl.model.transaction_log import TransactionalIdHolder
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem, LogSource

CRC_AT, ATTRIBUTES_AT, LAST_OFFSET_DELTA_AT = 17, 21, 23
CONTROL_BIT = 0x20


class Written(NamedTuple):
    """A record to be written; delta is its offset in the batch."""

    delta: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class Writer(NamedTuple):
    """The producer in a batch's header."""

    producer_id: int = -1
    producer_epoch: int = -1
    transactional: bool = False


def data_batch(
    base_offset: int,
    records: Sequence[Written],
    writer: Writer,
    codec: Codec = Codec.NONE,
    last_delta: int | None = None,
    sequence: int = 0,
) -> bytes:
    """A data batch; last_delta is kept by compaction where the last records are gone, sequence is its base sequence."""
    builder = DefaultRecordBatchBuilder(
        2, int(codec), int(writer.transactional), writer.producer_id, writer.producer_epoch, sequence, 1 << 24
    )
    for delta, timestamp, key, value, headers in records:
        builder.append(delta, timestamp, key, value, list(headers))
    data = bytearray(builder.build())
    if last_delta is not None:
        struct.pack_into(">i", data, LAST_OFFSET_DELTA_AT, last_delta)
    return _finished(data, base_offset)


def marker_batch(offset: int, timestamp: int, kind: MarkerType, writer: Writer) -> bytes:
    """A control batch with the marker that ends a transaction."""
    builder = DefaultRecordBatchBuilder(2, 0, 1, writer.producer_id, writer.producer_epoch, -1, 1 << 10)
    builder.append(0, timestamp, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 3), [])
    data = bytearray(builder.build())
    (attributes,) = struct.unpack_from(">h", data, ATTRIBUTES_AT)
    struct.pack_into(">h", data, ATTRIBUTES_AT, attributes | CONTROL_BIT)
    return _finished(data, offset)


def damaged(data: bytes) -> bytes:
    """The batch with a flipped bit: its CRC does not match."""
    return data[:-1] + bytes([data[-1] ^ 0x40])


def _finished(data: bytearray, base_offset: int) -> bytes:
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">I", data, CRC_AT, calc_crc32c(bytes(data[ATTRIBUTES_AT:])))
    return bytes(data)


BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z
Headers = tuple[tuple[str, bytes], ...]
Rows = Iterable[tuple[bytes | None, bytes | None] | tuple[bytes | None, bytes | None, Headers]]


class Stored(NamedTuple):
    """A batch in a log; data None: bytes that are no batch."""

    base: int
    last: int
    data: bytes | None
    records: tuple[Written, ...] = ()
    writer: Writer = Writer()
    kind: MarkerType | None = None


@dataclass
class Log:
    """A partition's log."""

    batches: list[Stored] = field(default_factory=list)
    start: int = 0
    next: int = 0
    open: dict[int, int] = field(default_factory=dict)

    @property
    def last_stable_offset(self) -> int:
        return min(self.open.values(), default=self.next)

    def add(self, data: bytes | None, records: tuple[Written, ...], writer: Writer, kind: MarkerType | None) -> int:
        base, self.next = self.next, self.next + max(1, len(records))
        self.batches.append(Stored(base, self.next - 1, data, records, writer, kind))
        return base


class Seen(NamedTuple):
    """The cluster at one moment, as the plan of an audit sees it.

    Without known, no worker and no coordinator answered: the existing connectors and their topics are unknown.
    """

    as_of: int
    bounds: tuple[PartitionBounds, ...]
    holders: tuple[TransactionalIdHolder, ...]
    connectors: tuple[str, ...]
    known: bool = True


class Brokers:
    """The cluster: topics, logs, and transactional IDs with their producer ID and epoch."""

    def __init__(self, *, transaction_version: int = 2, clock_skew_ms: int = 0) -> None:
        self.transaction_version, self.clock_skew_ms = transaction_version, clock_skew_ms
        self.now = BEGIN
        self.topics: dict[str, AuditedTopic] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.ids: dict[str, Producer] = {}
        self.connectors: list[str] = []
        self._next_id = 100

    def create(self, topic: AuditedTopic, partitions: int) -> None:
        self.topics[topic.name] = topic
        self.logs |= {TopicPartition(topic.name, index): Log() for index in range(partitions)}

    def tick(self, ms: int = 1) -> int:
        self.now += ms
        return self.now

    def init(self, transactional_id: str) -> "Producer":
        """InitProducerId: the same producer ID with a higher epoch; an open transaction is aborted first."""
        before = self.ids.get(transactional_id)
        if before is None:
            producer = Producer(self, self._next_id, 0)
            self._next_id += 1
        else:
            epoch = before.epoch + 1
            if before.touched:
                before.write_markers(MarkerType.ABORT, epoch)
                epoch += 1
            producer = Producer(self, before.producer_id, epoch)
        self.ids[transactional_id] = producer
        return producer

    def append(
        self,
        place: TopicPartition,
        rows: Rows,
        writer: Writer = Writer(),  # noqa: B008  # immutable
        *,
        codec: Codec = Codec.NONE,
        timestamp: int | None = None,
    ) -> int:
        """A data batch; returns its first offset."""
        time = self.tick() if timestamp is None else timestamp
        records = tuple(Written(delta, time, *row) for delta, row in enumerate(rows))
        log = self.logs[place]
        return log.add(data_batch(log.next, records, writer, codec), records, writer, None)

    def add_marker(self, place: TopicPartition, kind: MarkerType, writer: Writer, timestamp: int) -> None:
        log = self.logs[place]
        log.add(marker_batch(log.next, timestamp, kind, writer), (), writer, kind)
        log.open.pop(writer.producer_id, None)

    def damage(self, place: TopicPartition, index: int, *, magic: bool = False) -> None:
        """A flipped bit in a batch, or bytes that are no batch at all."""
        stored = self.logs[place].batches[index]
        assert stored.data is not None
        self.logs[place].batches[index] = stored._replace(data=None if magic else damaged(stored.data))

    def compact(self, place: TopicPartition, until: int, *, drop_markers: bool = False) -> None:
        """The cleaner: below `until`, only the last committed record of each key is left, and the markers."""
        log = self.logs[place]
        aborted = set(_aborted(log.batches))
        kept = [each for each in log.batches if each.kind is None and each.base not in aborted]
        last = {written.key: (each.base, written.delta) for each in kept for written in each.records}
        left: list[Stored] = []
        held: set[int] = set()
        for each in log.batches:
            cleaned = each if each.last >= until else _cleaned(each, last)
            if each.kind is None and cleaned:
                held.add(each.writer.producer_id)
            if cleaned and (each.kind is None or each.writer.producer_id in held or not drop_markers):
                left.append(cleaned)
            if each.kind is not None:
                held.discard(each.writer.producer_id)
        log.batches = left

    def lose(self, place: TopicPartition, index: int) -> Stored:
        """A batch disappears from the middle of the log."""
        return self.logs[place].batches.pop(index)

    def seen(self) -> Seen:
        bounds = tuple(
            PartitionBounds(place.topic, place.partition, log.start, log.last_stable_offset, log.next, log.start)
            for place, log in sorted(self.logs.items())
        )
        holders = tuple(TransactionalIdHolder(each.producer_id, name) for name, each in sorted(self.ids.items()))
        return Seen(self.tick(), bounds, holders, tuple(sorted(self.connectors)))

    def plan(self, seen: Seen | None = None) -> AuditPlan:
        """A plan without ranges, as sources.audit_plan resolves it."""
        seen = seen or self.seen()
        nobody = Skipped("no answer")
        return AuditPlan(
            as_of=seen.as_of,
            cluster_id="cluster",
            group_id="group",
            topics=tuple(each if seen.known else _of_nobody(each) for each in self.topics.values()),
            bounds=seen.bounds,
            ranges=(),
            connectors=seen.connectors if seen.known else nobody,
            holders=seen.holders if seen.known else nobody,
        )

    def source(self) -> "MemorySource":
        return MemorySource(self.logs)


def _of_nobody(topic: AuditedTopic) -> AuditedTopic:
    return replace(topic, connectors=())


class Producer:
    """A transactional producer; a task that was never told keeps an old one."""

    def __init__(self, brokers: Brokers, producer_id: int, epoch: int) -> None:
        self.brokers, self.producer_id, self.epoch = brokers, producer_id, epoch
        self.touched: list[TopicPartition] = []

    @property
    def writer(self) -> Writer:
        return Writer(self.producer_id, self.epoch, transactional=True)

    def send(self, place: TopicPartition, rows: Rows, **how: object) -> int:
        """A batch of the current transaction, which it begins if need be."""
        log = self.brokers.logs[place]
        log.open.setdefault(self.producer_id, log.next)
        if place not in self.touched:
            self.touched.append(place)
        return self.brokers.append(place, rows, self.writer, **how)  # type: ignore[arg-type]

    def commit(self, *, missing: Iterable[TopicPartition] = ()) -> None:
        self._end(MarkerType.COMMIT, missing)

    def abort(self) -> None:
        self._end(MarkerType.ABORT, ())

    def _end(self, kind: MarkerType, missing: Iterable[TopicPartition]) -> None:
        if self.touched:
            raised = self.epoch + (self.brokers.transaction_version == 2)
            self.touched = [place for place in self.touched if place not in missing]
            self.write_markers(kind, raised)
            self.epoch = raised

    def write_markers(self, kind: MarkerType, epoch: int) -> None:
        time = self.brokers.tick()
        for place in self.touched:
            skewed = time + self.brokers.clock_skew_ms * (place.partition % 2)
            self.brokers.add_marker(place, kind, Writer(self.producer_id, epoch, transactional=True), skewed)
        self.touched = []


def _aborted(batches: Iterable[Stored]) -> Iterator[int]:
    """Base offsets of the data of aborted transactions."""
    waiting: dict[int, list[int]] = {}
    for each in batches:
        if each.kind is None and each.writer.transactional:
            waiting.setdefault(each.writer.producer_id, []).append(each.base)
        elif each.kind is not None:
            bases = waiting.pop(each.writer.producer_id, [])
            yield from bases if each.kind is MarkerType.ABORT else ()


def _cleaned(each: Stored, last: Mapping[bytes | None, tuple[int, int]]) -> Stored | None:
    if each.data is None or each.kind is not None:
        return each
    left = tuple(written for written in each.records if last.get(written.key) == (each.base, written.delta))
    if not left:
        return None
    data = data_batch(each.base, left, each.writer, last_delta=each.last - each.base)
    return each._replace(data=data, records=left)


class MemorySource(LogSource):
    """Serves ranges as sources.audit_log does."""

    def __init__(self, logs: Mapping[TopicPartition, Log]) -> None:
        self._logs = logs

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        batches = self._logs[offsets.topic_partition].batches
        aborted = set(_aborted(batches))
        for each in batches:
            if each.data is None:
                first, behind = max(each.base, offsets.start), min(each.last + 1, offsets.end)
                if first < behind:
                    yield DamagedOffsets(first, behind, "message format 1, only 2 is read")
            elif offsets.start <= each.last < offsets.end:
                [batch] = iter_batches(each.data)
                yield _item(batch, aborted=offsets.settled and each.base in aborted)


def _item(batch: Batch, *, aborted: bool) -> LogItem:
    if not batch.header.is_control:
        return DataBatch(batch, aborted)
    return ControlBatch(batch, decode_marker(batch))


CONFIGS, OFFSETS = "connect-configs", "connect-offsets"
PARTITIONS = 3


def key_of(connector: str, source: str) -> bytes:
    return json.dumps([connector, {"table": source}], separators=(",", ":")).encode()


def value_of(position: int) -> bytes:
    return b'{"position":%d}' % position


class ConnectCluster:
    """A Connect cluster with exactly-once support enabled, and connectors that write to topics of their own name."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        brokers.create(AuditedTopic(CONFIGS, TopicRole.CONFIG, cleanup_policy="compact"), 1)
        brokers.create(AuditedTopic(OFFSETS, TopicRole.OFFSETS, cleanup_policy="compact"), PARTITIONS)
        self.configs = TopicPartition(CONFIGS, 0)
        self.leader = brokers.init("connect-cluster-group")
        self.connectors: dict[str, Connector] = {}

    def connector(
        self, name: str, tasks: int = 2, *, own: str | None = None, grammar: str | None = None, policy: str = "delete"
    ) -> "Connector":
        """A new connector, running; policy is its topic's cleanup policy."""
        topic = AuditedTopic(name, TopicRole.OUTPUT, cleanup_policy=policy, connectors=(name,), grammar=grammar)
        self.brokers.create(topic, PARTITIONS)
        self.brokers.connectors.append(name)
        made = self.connectors[name] = Connector(self, name)
        made.own = own
        if own is not None:
            self.add_own_topic(name, own)
        made.configure(tasks)
        made.fence()
        made.start()
        return made

    def add_own_topic(self, connector: str, topic: str) -> None:
        role = TopicRole.OFFSETS
        self.brokers.create(
            AuditedTopic(topic, role, cleanup_policy="compact", connectors=(connector,), own=True), PARTITIONS
        )

    def write_config(self, *records: tuple[str, object], plain: bool = False) -> int:
        """Records of the leader, in one transaction; returns the first offset."""
        rows = [(key.encode(), None if value is None else json.dumps(value).encode()) for key, value in records]
        if plain:
            return self.brokers.append(self.configs, rows)
        first = self.leader.send(self.configs, rows)
        self.leader.commit()
        return first

    def elect(self) -> None:
        """Another worker leads from now on."""
        self.leader = self.brokers.init("connect-cluster-group")


class Connector:
    """A source connector; each task has a producer once it has been started."""

    def __init__(self, cluster: ConnectCluster, name: str) -> None:
        self.cluster, self.brokers, self.name = cluster, cluster.brokers, name
        self.own: str | None = None
        self.tasks: list[Producer] = []
        self.count = 0
        self.fenced: int | None = None

    def configure(self, tasks: int, *, plain: bool = False) -> int:
        """New task configs; returns the offset of the commit."""
        self.count = tasks
        configs = [(f"task-{self.name}-{task}", {"properties": {"task.class": "T"}}) for task in range(tasks)]
        self.cluster.write_config((f"connector-{self.name}", {"properties": {}}), plain=plain)
        if configs:
            self.cluster.write_config(*configs, plain=plain)
        return self.cluster.write_config((f"commit-{self.name}", {"tasks": tasks}), plain=plain)

    def fence(self) -> None:
        """A fencing round, as the leader carries it out before the first task of a generation starts."""
        if self.fenced is not None and (self.fenced, self.count) != (1, 1):
            for task in range(self.fenced):
                self.brokers.init(f"group-{self.name}-{task}")
        self.fenced = self.count
        self.cluster.write_config((f"tasks-fencing-{self.name}", {"task-count": self.count}))

    def start(self, *tasks: int) -> None:
        """Starts these tasks (none: all): each calls InitProducerId."""
        self.tasks = (self.tasks + [None] * self.count)[: self.count]  # type: ignore[list-item]
        for task in tasks or range(self.count):
            self.tasks[task] = self.brokers.init(f"group-{self.name}-{task}")

    def reconfigure(self, tasks: int) -> None:
        """The whole sequence of a new configuration."""
        self.configure(tasks)
        self.brokers.tick(200)
        self.fence()
        self.start()

    def place(self, key: bytes, topic: str | None = None) -> TopicPartition:
        """Where the key belongs in an offsets topic."""
        return TopicPartition(topic or self.own or OFFSETS, crc32(key) % PARTITIONS)

    def offset(self, task: Producer, source: str, value: bytes | None) -> int:
        """The source partition's offset, in the task's transaction."""
        key = key_of(self.name, source)
        return task.send(self.place(key), [(key, value)])

    def write(
        self,
        task: int,
        positions: Mapping[str, int],
        records: int = 2,
        *,
        outputs: Sequence[int] = (0,),
        codec: Codec = Codec.NONE,
        timestamp: int | None = None,
    ) -> None:
        """One transaction: records to each of these output partitions, then the offsets."""
        producer = self.tasks[task]
        self.data(producer, records, outputs=outputs, codec=codec, timestamp=timestamp)
        for source, position in positions.items():
            self.offset(producer, source, value_of(position))
        producer.commit()

    def write_plainly(self, positions: Mapping[str, int]) -> None:
        """Records, then their offsets, outside any transaction."""
        self.brokers.append(TopicPartition(self.name, 0), [(None, b"x")] * 3)
        for source, position in positions.items():
            key = key_of(self.name, source)
            self.brokers.append(self.place(key), [(key, value_of(position))])

    def data(self, producer: Producer, records: int, *, outputs: Sequence[int] = (0,), **how: object) -> None:
        for partition in outputs if records else ():
            producer.send(TopicPartition(self.name, partition), [(None, b"x" * 20)] * records, **how)
