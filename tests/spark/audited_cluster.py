"""A cluster with every kind of batch in the topics of an audit, and the ranges of its plan cut anywhere."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.model.audit import AuditedTopic, AuditPlan, TopicRole
from eosctl.model.client_properties import ClientProperties
from eosctl.model.topics import OffsetRange
from eosctl.operations.audit_topics import AuditScope, read_bounds
from eosctl.planning.audit import plan_ranges, resume
from eosctl.sources.audit_log import DataBatch, read_range
from tests.live_reader import reader_over

OFFSETS, COMPACTED, OUTPUT, CHANGES = "audited-offsets", "audited-compacted", "audited-output", "audited-changes"
PARTITIONS = 2
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NEVER = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000"}
AT_ONCE = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.0"}
AS_OF = 1_800_000_000_000


@dataclass
class AuditedCluster:
    """Producers of three connectors, the last of which leave transactions open."""

    servers: str

    def __post_init__(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})
        configs = {OFFSETS: NEVER, COMPACTED: AT_ONCE, OUTPUT: {}, CHANGES: {}}
        topics = [NewTopic(name, PARTITIONS, 1, config=config) for name, config in configs.items()]
        for future in admin.create_topics(topics).values():
            future.result(30)
        self._open: list[Producer] = []
        self._left: list[int] = []

    def producer(self, name: str, codec: str) -> Producer:
        """A producer inside its first transaction."""
        settings = {"bootstrap.servers": self.servers, "compression.type": codec, "linger.ms": 20, "log_level": 0}
        # Longer than the tests take: the brokers end what is left open for longer.
        patience = {"transactional.id": f"connect-cluster-{name}", "transaction.timeout.ms": 900_000}
        producer = Producer({**settings, **patience})
        producer.init_transactions(30)
        producer.begin_transaction()
        return producer

    def write(
        self,
        producer: Producer,
        connector: str,
        lsn: int,
        *,
        keys: int = 6,
        data: bool = True,
        topics: Sequence[str] = (OFFSETS, COMPACTED),
    ) -> None:
        """One offset for each key in these offsets topics, and data."""
        for key in range(keys):
            raw = f'["{connector}",{{"table":{key}}}]'.encode()
            value = None if (lsn + key) % 11 == 0 else b'{"lsn":%d,"file":"log.%06d"}' % (lsn, lsn // 3)
            for topic in topics:
                producer.produce(topic, value, raw, partition=key % PARTITIONS)
            if data:
                producer.produce(OUTPUT, b"record " * 20, raw, partition=key % PARTITIONS)
        assert producer.flush(30) == 0

    def fill(self) -> None:
        """Committed, aborted, repeated, plain and open; in every codec; offsets that go back; a zombie."""
        for number, codec in enumerate(CODECS):
            first, second = self.producer("a-0", codec), self.producer("b-0", codec)
            for step in range(4):
                self.write(first, "a", 100 * number + step)
                self.write(second, "b", 1000 - 10 * number - step, keys=3, data=step % 2 == 0)
                (first.abort_transaction if step == 2 else first.commit_transaction)(30)
                second.commit_transaction(30)
                first.begin_transaction()
                second.begin_transaction()
            plain = Producer({"bootstrap.servers": self.servers, "compression.type": codec})
            self.write(plain, "a" if number % 2 else "c", 50, keys=2)
        alone, plain = self.producer("f-0", "none"), Producer({"bootstrap.servers": self.servers})
        self.write(alone, "f", 1, keys=1, topics=[OFFSETS])
        alone.commit_transaction(30)
        self.write(plain, "f", 2, keys=1, topics=[OFFSETS])
        zombie, other = self.producer("d-0", "none"), self.producer("d-1", "none")
        for lsn in range(3):
            for producer in (zombie, other):
                self.write(producer, "d", lsn, keys=2)
                producer.commit_transaction(30)
                producer.begin_transaction()
        self.change_keys()
        self.count_transactions()
        left = self.producer("e-0", "zstd")
        self.write(left, "e", 1)
        after = self.producer("e-1", "lz4")
        self.write(after, "e", 2)
        after.commit_transaction(30)
        self._open = [left]

    def change_keys(self) -> None:
        """Changes of keys as Debezium writes them, in two sessions; the last change of the first one is half there."""
        for session in range(2):
            producer = self.producer("g-0", CODECS[session])
            for old in range(100 * session, 100 * session + 8):
                new = old + 1001
                self._change(producer, old, new, is_cut=(session, old) == (0, 7))
                producer.commit_transaction(30)
                producer.begin_transaction()

    def _change(self, producer: Producer, old: int, new: int, *, is_cut: bool) -> None:
        leaving, coming = [("__debezium.newkey", b'{"id":%d}' % new)], [("__debezium.oldkey", b'{"id":%d}' % old)]
        pieces = [(old, b'{"op":"d"}', leaving), (old, None, leaving), (new, b'{"op":"c"}', coming)]
        for key, value, headers in pieces[: 1 if is_cut else 3]:
            producer.produce(CHANGES, value, b'{"id":%d}' % key, partition=key % PARTITIONS, headers=headers)
            assert producer.flush(30) == 0

    def count_transactions(self) -> None:
        """Transactions of a database with five records each, in both partitions; of the third one a record is gone."""
        producer = self.producer("g-1", "none")
        for number in range(4):
            said = {"id": f"{700 + number}:{9000 + number}", "event_count": None}
            records = [(0, {**said, "status": "BEGIN"})]
            for order in range(1, 6):
                place = {"id": f"{700 + number}:{9000 + order}", "total_order": order}
                records.append((order % PARTITIONS, {"op": "c", "transaction": place}))
            records.append((1, {**said, "status": "END", "event_count": 5}))
            if number == 2:
                del records[3]
            for partition, value in records:
                text = json.dumps(value, separators=(",", ":"))
                producer.produce(CHANGES, text, b"%d" % number, partition=partition)
                assert producer.flush(30) == 0
            producer.commit_transaction(30)
            producer.begin_transaction()

    def settle(self) -> None:
        """End open transactions, so that no clock changes an audit's view."""
        for each in self._open:
            each.abort_transaction(30)

    def is_compacted(self) -> bool:
        """Whether the cleaner took most offsets out of the compacted topic, and nothing more since the last call."""
        with Wire(ClientProperties((self.servers,))) as wire:
            bounds = [each for each in self.plan(wire).bounds if each.topic == COMPACTED]
            left = [
                _records(wire, OffsetRange(COMPACTED, each.partition, 0, each.last_stable_offset)) for each in bounds
            ]
        before, self._left = self._left, left
        small = all(records < 0.4 * each.last_stable_offset for records, each in zip(left, bounds, strict=True))
        return small and left == before

    def plan(self, wire: Wire) -> AuditPlan:
        """The plan of an audit of these topics, each partition in one range."""
        topics = (
            AuditedTopic(OFFSETS, TopicRole.OFFSETS),
            AuditedTopic(COMPACTED, TopicRole.OFFSETS, own=True),
            AuditedTopic(OUTPUT, TopicRole.OUTPUT, connectors=("a", "b", "d", "e")),
            AuditedTopic(CHANGES, TopicRole.OUTPUT, connectors=("g",), grammar="debezium-transactions"),
        )
        reader = reader_over(wire, ClientProperties((self.servers,)), as_of=AS_OF, group_id="connect-cluster")
        bounds = read_bounds(reader, AuditScope(topics, ("a", "b", "c", "d", "e", "g")))
        return plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, 1)


def _records(wire: Wire, offsets: OffsetRange) -> int:
    items = [item for item in read_range(wire, offsets, None) if isinstance(item, DataBatch)]
    return sum(item.batch.header.record_count for item in items)


def cut(plan: AuditPlan, places: Sequence[float]) -> AuditPlan:
    """The plan with every settled range cut at these parts of its length."""
    return replace(plan, ranges=tuple(piece for each in plan.ranges for piece in _pieces(each, places)))


def _pieces(offsets: OffsetRange, places: Sequence[float]) -> Iterator[OffsetRange]:
    start = offsets.start
    for at in sorted({offsets.start + int(place * offsets.size) for place in places} if offsets.settled else ()):
        if start < at < offsets.end:
            yield offsets._replace(start=start, end=at)
            start = at
    yield offsets._replace(start=start)
