"""The fold over one partition of an offsets topic: the last record of each key in each transaction state.

Memory grows with the number of keys, not of records. Values are not looked into. The raw bytes of a key are its
identity.
"""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby, islice, repeat
from operator import attrgetter, concat
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.json import Encoder
from msgspec.structs import replace

from eosctl.analysis.positions import (
    POSTGRESQL,
    at_source,
    compare_positions,
    explain_position,
    meaning_of_rewind,
    position_reader,
)
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import (
    KEPT_STATES,
    AtSource,
    Change,
    KeyRecords,
    LastRecords,
    MalformedKey,
    MalformedValue,
    MergedOffset,
    MergedOffsets,
    OffsetChange,
    OffsetId,
    OffsetKey,
    OffsetsById,
    OffsetsDifference,
    OffsetsPartition,
    OffsetsTopic,
    OffsetStore,
    OffsetStores,
    SourceOffset,
    SourcePartition,
    SourceRead,
    StoredOffset,
    StorePlace,
)
from eosctl.model.records import Entry, IsolationLevel, Record, RecordState, Writer, Written
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import PartitionOffsets
from eosctl.model.versions import NEWEST, KafkaVersion

NOT_ASKED = not_asked("not asked")

Key = bytes | None
DecodeKey = Callable[[Key], OffsetKey | MalformedKey]


class OffsetsFold:
    """The state of the fold: give it records in offset order with `add`, or batches, then ask for `result`.

    1. For each record the last entry of its key is replaced, and nothing else is done: this decides the time.
    2. A key is decoded once, after the batch in which it was new.
    3. Records are counted by the batch. Only under a malformed key they are counted by key: see counts_by_key.
    4. The writer of a record is found by its offset, at the end.
    """

    def __init__(self, decode_key: DecodeKey) -> None:
        self._decode = decode_key
        self._decoded: dict[Key, OffsetKey | MalformedKey] = {}
        self._last: Mapping[RecordState, dict[Key, Entry]] = {state: {} for state in KEPT_STATES}
        self._counted: dict[Key, int] = {}
        self._records = 0
        self._begins: list[int] = []
        self._writers: list[Writer] = []

    def add(self, records: Iterable[Record]) -> None:
        for (state, writer), run in groupby(records, _batch_of):
            entries = list(run)
            self.add_batch(entries, Written(entries[0].offset, len(entries), state, writer))
            if self.counts_by_key:
                self.count_by_key(entries)

    def add_batch(self, entries: Iterable[Entry], written: Written) -> None:
        """Take in records that follow each other and were written in one state by one writer."""
        last = self._last[written.state]
        before = len(last)
        for entry in entries:
            last[entry.key] = entry
        self._records += written.records
        self._note_keys(reversed([*islice(reversed(last), len(last) - before)]))
        if not self._writers or self._writers[-1] != written.writer:
            self._begins.append(written.offset)
            self._writers.append(written.writer)

    def _note_keys(self, new: Iterable[Key]) -> None:
        for key in new:
            if key not in self._decoded:
                found = self._decoded[key] = self._decode(key)
                if type(found) is MalformedKey:
                    self._counted[key] = 0

    @property
    def counts_by_key(self) -> bool:
        """True if `count_by_key` must be given the records of the last batch, too, and of each later one."""
        return bool(self._counted)

    def count_by_key(self, entries: Iterable[Entry]) -> None:
        """Counts the records under each malformed key."""
        counted = self._counted
        for entry in entries:
            if entry.key in counted:
                counted[entry.key] += 1

    def result(
        self, topic_partition: TopicPartition, offsets: PartitionOffsets | Skipped = NOT_ASKED
    ) -> OffsetsPartition:
        committed, opened, aborted = map(self._records_in, KEPT_STATES)
        last = committed, opened, aborted
        keys = LastRecords(topic_partition, self._decoded.keys(), last, self._counted)
        return OffsetsPartition(topic_partition, offsets, keys, self._decoded, self._records)

    def _records_in(self, state: RecordState) -> Mapping[Key, Record]:
        """With the bytes of the key that the fold keeps: those of the entry are as many again."""
        last, begins, writers = self._last[state], self._begins, self._writers
        offsets, timestamps, values = (
            map(attrgetter(each), last.values()) for each in ("offset", "timestamp", "value")
        )
        written_by: Iterable[Writer] = (
            repeat(writers[0])
            if len(writers) == 1
            else (writers[bisect_right(begins, entry.offset) - 1] for entry in last.values())
        )
        rows = map(concat, zip(offsets, timestamps, last, values, repeat(state)), written_by)
        return dict(zip(last, map(tuple.__new__, repeat(Record), rows), strict=True))


def _batch_of(record: Record) -> tuple[RecordState, Writer]:
    return record.state, Writer(record.transactional, record.producer_id, record.producer_epoch)


def fold_offsets(
    topic_partition: TopicPartition,
    records: Iterable[Record],
    decode_key: DecodeKey,
    offsets: PartitionOffsets | Skipped = NOT_ASKED,
) -> OffsetsPartition:
    """All records of one partition, in offset order, folded."""
    fold = OffsetsFold(decode_key)
    fold.add(records)
    return fold.result(topic_partition, offsets)


# The merged view of a connector's offset stores, as Kafka's code merges and as KIP-618 says it should.
#
# 1. ConnectorOffsetBackingStore.get overwrites the answers of the worker-global store with those of the
#    connector-specific store. Each store answers every key it is asked for, null where it has none
#    (KafkaOffsetBackingStore.get), and null is put over a value like anything else: with two stores, the worker-global
#    one is never used. (A shadowed offset.)
# 2. KIP-618: the connector-specific offset, and where there is none the worker-global one.
# 3. A value that is not JSON, or not an object without nested members, is answered as null (OffsetStorageReaderImpl).
# 4. Workers from 4.2 on write offsets of a null source partition and look them up in vain: OffsetStorageReaderImpl
#    makes the key with a list that takes no null, logs that as CRITICAL, and answers nothing.
# 5. A key in two partitions of one topic: the partition read last wins, and nothing decides which that is.


DecodeValue = Callable[[bytes | None], SourceOffset | MalformedValue | None]
Answer = StoredOffset | Skipped | None
Candidates = tuple[OffsetStores, ...] | Skipped

NULL_PARTITION_IS_LOST: Final = KafkaVersion(4, 2)
NOT_READ = Skipped("it was not read")
LOST_NULL_PARTITION: Final = (
    "workers from 4.2 on do not find the offset of a null source partition: the connector begins without an offset"
)
UNDECIDED = Skipped("it depends on the workers' exactly.once.source.support, which is not known")


class ByKey(Mapping[bytes | None, tuple[KeyRecords, ...]]):
    """Raw key -> its records, one entry for each partition of the topic with that key.

    decoded are the keys, decoded.
    """

    def __init__(self, partitions: Iterable[OffsetsPartition] = ()) -> None:
        self._parts = tuple(partitions)
        self.decoded: dict[bytes | None, OffsetKey | MalformedKey] = {}
        for part in self._parts:
            self.decoded |= part.decoded

    @cached_property
    def in_several(self) -> Collection[bytes | None]:
        """The raw keys in more than one partition."""
        if sum(len(part.keys) for part in self._parts) == len(self):
            return ()
        counted = Counter(chain.from_iterable(part.keys for part in self._parts))
        return dict.fromkeys(raw for raw, count in counted.items() if count > 1)

    @cached_property
    def _part_of(self) -> Mapping[bytes | None, OffsetsPartition]:
        return {raw: part for part in self._parts for raw in part.keys}

    def __getitem__(self, raw: bytes | None) -> tuple[KeyRecords, ...]:
        if raw in self.in_several:
            return tuple(part.keys[raw] for part in self._parts if raw in part.keys)
        return (self._part_of[raw].keys[raw],)

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self.decoded)

    def __len__(self) -> int:
        return len(self.decoded)

    def uncommitted(self) -> Iterator[tuple[bytes | None, KeyRecords]]:
        """The records under each key with one of an open or aborted transaction."""
        return ((raw, part.keys[raw]) for part in self._parts for raw in part.uncommitted)

    def committed_alone(self) -> Iterator[tuple[OffsetsPartition, Iterable[tuple[bytes | None, bytes | None]]]]:
        """Each partition with the raw keys that are in it alone and whose records are all committed, and the last value
        of each.

        In the order in which the records were folded, which is how they lie in memory.
        """
        several = self.in_several
        for part in self._parts:
            found = part.committed_alone()
            yield part, (each for each in found if each[0] not in several) if several else found


def by_key(topic: OffsetsTopic) -> ByKey:
    return ByKey(topic.partitions)


Keys = Mapping[bytes | None, OffsetKey | MalformedKey]
STRETCH: Final = 1000
"""Keys that are written as JSON at a time."""

_compact_lines: Final = Encoder().encode_lines


def similar_keys(keys: Keys) -> Collection[list[OffsetKey]]:
    """Keys that may be the same JSON: Python finds 1, 1.0 and true equal, and hashes faster than it writes JSON."""
    found = [key for key in keys.values() if isinstance(key, OffsetKey)]
    if _differ_as_their_bytes(found):
        return ()
    similar: defaultdict[object, list[OffsetKey]] = defaultdict(list)
    for key in found:
        similar[_members(key)].append(key)
    return [alike for alike in similar.values() if len(alike) > 1]


def _differ_as_their_bytes(keys: Sequence[OffsetKey]) -> bool:
    """True if keys of other bytes are other JSON: each is what one writer makes of its parts, in one order of members.

    1. A key is the compact JSON of its connector and partition: no blank, escape or digit more, no member twice.
    2. It has one level, so that only the order of its members is left to choose: no further object begins in it.
    3. No two keys have the same members in another order.
    """
    orders: set[tuple[str, ...]] = set()
    for at in range(0, len(keys), STRETCH):
        stretch = keys[at : at + STRETCH]
        partitions = [key.partition for key in stretch]
        try:
            text = _compact_lines([(key.connector, key.partition) for key in stretch])
        except (ValueError, OverflowError):  # half a surrogate pair, a number that the encoder refuses
            return False
        levels = sum(each is not None for each in partitions)
        # No line has a line feed in it, so that equal texts are equal line by line.
        if text != b"\n".join([*[key.raw for key in stretch], b""]) or text.count(b"{") != levels:
            return False
        orders.update(map(tuple, [each or () for each in partitions]))
    return len(set(map(frozenset, orders))) == len(orders)


def _members(key: OffsetKey) -> tuple[str, Collection[object]]:
    try:
        return key.connector, frozenset(key.members.items())
    except TypeError:  # nested, which no worker writes
        return key.connector, ()


class Opened(NamedTuple):
    """A store with its topic at hand: None where there is no such topic."""

    place: StorePlace
    level: IsolationLevel
    topic: ByKey | Skipped | None

    def seen(self, raw: bytes, decode: DecodeValue) -> list[StoredOffset]:
        """The records under the key that a reader of the store holds, one for each partition."""
        if self.topic is None or isinstance(self.topic, Skipped):
            return []
        level, found = self.level, []
        for each in self.topic.get(raw, ()):
            record = each.seen_by(level)
            if record is not None:
                found.append(StoredOffset(each.topic_partition, record, decode(record.value)))
        return found

    def waiting(self, raw: bytes) -> int | None:
        """Offset of a record in an open transaction that replaces the present one once it is committed."""
        if self.topic is None or isinstance(self.topic, Skipped) or self.level is IsolationLevel.READ_UNCOMMITTED:
            return None
        for each in self.topic.get(raw, ()):
            if each.open is not None and each.open is each.last:
                return each.open.offset
        return None


class OpenedStores(NamedTuple):
    """The stores of a connector with their topics: primary is what Kafka answers from, fallback KIP-618's second."""

    primary: Opened
    fallback: Opened | None
    kind: str


PlainKeys = Mapping[bytes | None, OffsetsPartition]


class Merger(Struct, frozen=True):
    """Merges keys over the topics that were read: by place, None where there is no such topic.

    version is the workers'. plain keeps the keys of each place that need no rule.
    """

    worker_place: StorePlace
    topics: Mapping[StorePlace, ByKey | Skipped | None]
    decode: DecodeValue
    version: KafkaVersion = NEWEST
    plain: dict[StorePlace, PlainKeys] = field(default_factory=dict)

    def merge(self, keys: Sequence[OffsetKey], candidates: Candidates) -> Sequence[MergedOffset]:
        """Merges the keys of one connector, in the order of their raw bytes.

        There are two candidates where it is unknown which stores apply.
        """
        if isinstance(candidates, Skipped):
            unread = self._open(OffsetStore(self.worker_place, IsolationLevel.READ_COMMITTED))
            rest = (candidates, candidates, candidates, candidates.reason)
            return [MergedOffset(key, self._shown(unread, key.raw), *rest) for key in _in_order(keys)]
        opened = [self._open_all(stores) for stores in candidates]
        first = candidates[0]
        level = (first.worker_global or first.connector_specific or _UNUSED).isolation_level
        general = self._open(OffsetStore(self.worker_place, level))
        own = first.connector_specific
        specific = None if own is None or own.place == self.worker_place else self._open(own)
        only = len(opened) == 1 and opened[0].fallback is None and opened[0].primary == general
        if opened[0].primary == general:
            general = opened[0].primary
        held = opened[0].primary.topic if only else None

        def merged(keys: Iterable[OffsetKey]) -> Iterator[MergedOffset]:
            return (_explained(self._merged(key, opened, general, specific)) for key in _in_order(keys))

        if held is None or isinstance(held, Skipped):
            return list(merged(keys))
        plain = self._plain_in(opened[0].primary.place, held)
        others = merged(key for key in keys if key.raw not in plain or key.partition is None)
        return MergedOffsets(keys, {each.key.raw: each for each in others}, _plain(plain, opened[0].kind, self.decode))

    def _open(self, store: OffsetStore) -> Opened:
        return Opened(store.place, store.isolation_level, self.topics.get(store.place, NOT_READ))

    def _open_all(self, stores: OffsetStores) -> OpenedStores:
        general, own = stores.worker_global, stores.connector_specific
        if own is None:
            assert general is not None
            return OpenedStores(self._open(general), None, "worker-global")
        return OpenedStores(self._open(own), None if general is None else self._open(general), "connector-specific")

    def _plain_in(self, place: StorePlace, topic: ByKey) -> PlainKeys:
        """The partition of each raw key with a usable value, if no transaction left another record and no other
        partition has the key.

        Found once for a topic.
        """
        if place not in self.plain:
            decode = self.decode
            self.plain[place] = {
                raw: part
                for part, found in topic.committed_alone()
                for raw, value in found
                if isinstance(decode(value), dict)
            }
        return self.plain[place]

    def _merged(
        self, key: OffsetKey, candidates: list[OpenedStores], general: Opened, specific: Opened | None
    ) -> MergedOffset:
        raw, stores = key.raw, candidates[0]
        seen, kafka, promised = self._answers(raw, stores)
        in_general = self._shown(general, raw, seen if general is stores.primary else None)
        in_specific = None if specific is None else self._shown(specific, raw)
        for other in candidates[1:]:
            if self._answers(raw, other)[1:] != (kafka, promised):
                return MergedOffset(key, in_general, in_specific, UNDECIDED, UNDECIDED, UNDECIDED.reason)
        if key.partition is None and self.version >= NULL_PARTITION_IS_LOST:
            return MergedOffset(key, in_general, in_specific, None, promised, LOST_NULL_PARTITION)
        # Not even a tombstone there, which would be a request.
        shadowed = kafka is None and not seen and isinstance(promised, StoredOffset)
        words = self._words(raw, stores, seen, kafka, shadowed)
        return MergedOffset(key, in_general, in_specific, kafka, promised, words, shadowed)

    def _shown(self, store: Opened, raw: bytes, seen: list[StoredOffset] | None = None) -> Answer:
        """The newest record that a reader holds; otherwise one that it does not see."""
        if isinstance(store.topic, Skipped):
            return store.topic
        seen = store.seen(raw, self.decode) if seen is None else seen
        return _newest(seen or store._replace(level=IsolationLevel.READ_UNCOMMITTED).seen(raw, self.decode))

    def _answers(self, raw: bytes, stores: OpenedStores) -> tuple[list[StoredOffset], Answer, Answer]:
        """The primary store's records, Kafka's answer, and the answer that KIP-618 promises."""
        seen = stores.primary.seen(raw, self.decode)
        kafka = _answer(stores.primary, seen)
        if kafka is not None or stores.fallback is None:
            return seen, kafka, kafka
        return seen, None, _answer(stores.fallback, stores.fallback.seen(raw, self.decode))

    def _words(self, raw: bytes, stores: OpenedStores, seen: list[StoredOffset], kafka: Answer, shadowed: bool) -> str:
        if isinstance(kafka, Skipped):
            return kafka.reason
        if kafka is not None:
            words = f"{stores.kind} store, {kafka.topic_partition}@{kafka.record.offset}"
        elif shadowed:
            words = f"nothing in {stores.primary.place} hides the offset in {self.worker_place}: it begins from nothing"
        else:
            words = _why_nothing(stores.primary, seen)
        waiting = stores.primary.waiting(raw)
        return words if waiting is None else f"{words}; an open transaction may replace it (offset {waiting})"


def _in_order(keys: Iterable[OffsetKey]) -> Sequence[OffsetKey]:
    return sorted(keys, key=attrgetter("raw"))


def _plain(keys: PlainKeys, kind: str, decode: DecodeValue) -> Callable[[OffsetKey], MergedOffset]:
    """Gives the explained result of _merged for a plain key: one with a usable value alone in the only store."""
    new, places = tuple.__new__, dict[int, str]()

    def plain(key: OffsetKey) -> MergedOffset:
        part = keys[key.raw]
        topic_partition, record = part.topic_partition, part.committed(key.raw)
        assert record is not None
        value, place = decode(record.value), places.get(topic_partition.partition)
        assert isinstance(value, dict)
        if place is None:
            place = places[topic_partition.partition] = f"{kind} store, {topic_partition}@"
        stored = new(StoredOffset, (topic_partition, record, value))
        words, position = f"{place}{record.offset}", explain_position(key.partition, value)
        return new(MergedOffset, (key, stored, None, stored, stored, words, False, None, position))

    return plain


def _explained(merged: MergedOffset) -> MergedOffset:
    """Adds the meaning of the offset that a task starts from, for known kinds of source."""
    used = merged.kafka_effective
    if not isinstance(used, StoredOffset) or not isinstance(used.value, dict):
        return merged
    return merged._replace(position=explain_position(merged.key.partition, used.value))


_UNUSED = OffsetStore(StorePlace(""), IsolationLevel.READ_COMMITTED)


def _answer(store: Opened, seen: list[StoredOffset]) -> Answer:
    """The offset that this store alone answers: None for a tombstone or an unusable value."""
    if isinstance(store.topic, Skipped):
        return store.topic
    if len({stored.record.value for stored in seen}) > 1:
        partitions = ", ".join(str(stored.topic_partition.partition) for stored in seen)
        return Skipped(f"{store.place} has it in partitions {partitions}; the last record read wins")
    stored = _newest(seen)
    return stored if stored is not None and stored.usable else None


def _why_nothing(store: Opened, seen: list[StoredOffset]) -> str:
    if store.topic is None:
        return f"{store.place} does not exist"
    malformed = [each.value.reason for each in seen if isinstance(each.value, MalformedValue)]
    if malformed:
        return f"the value in {store.place} cannot be used: {malformed[0]}"
    return f"a tombstone in {store.place}" if seen else f"nothing in {store.place}"


def _newest(found: list[StoredOffset]) -> StoredOffset | None:
    return (
        found[0]
        if len(found) == 1
        else max(found, key=lambda each: (each.record.timestamp, each.record.offset), default=None)
    )


Side = SourceOffset | Skipped | None


def compare_offsets(name_a: str, a: OffsetsById, name_b: str, b: OffsetsById) -> OffsetsDifference:
    """Every offset that is not the same in A and B, by connector and source partition."""
    changes = []
    same = 0
    for identity in sorted({*a, *b}):
        change = _change(identity, a.get(identity), b.get(identity))
        if change is not None:
            changes.append(change)
        elif a.get(identity) is not None:
            same += 1
    return OffsetsDifference(name_a, name_b, tuple(changes), same)


def as_renamed(a: OffsetsById, b: OffsetsById, names: Mapping[str, str]) -> tuple[OffsetsById, OffsetsById]:
    """A with its connectors under the names that they have in B, and B without what it keeps under the old names.

    The offsets of a connector that was renamed stay in the topic: Connect does not delete them.
    """
    left = names.keys() - set(names.values())
    return (
        {OffsetId(names.get(each.connector, each.connector), each.partition): value for each, value in a.items()},
        {each: value for each, value in b.items() if each.connector not in left},
    )


def with_source(difference: OffsetsDifference, source_of: Callable[[str], SourceRead]) -> OffsetsDifference:
    """The same with the source's view of both positions, for Debezium on PostgreSQL."""
    changes = []
    for each in difference.changes:
        source = source_of(each.id.connector)
        partition = json.loads(each.id.partition)
        asked = (_at_source(partition, offset, source) for offset in (each.a, each.b))
        changes.append(replace(each, source_a=next(asked), source_b=next(asked)))
    return replace(difference, changes=tuple(changes))


def _at_source(partition: SourcePartition | None, offset: Side, source: SourceRead) -> AtSource | Skipped | None:
    if offset is None or isinstance(offset, Skipped) or position_reader(partition, offset) is not POSTGRESQL:
        return None
    if isinstance(source.server, Skipped):
        return source.server
    return source.slot if isinstance(source.slot, Skipped) else at_source(offset, source.slot, source.server)


def _change(identity: OffsetId, a: Side, b: Side) -> OffsetChange | None:
    if isinstance(a, Skipped) or isinstance(b, Skipped):
        return OffsetChange(identity, Change.UNKNOWN, a, b)
    if _typed(a) == _typed(b):
        return None
    kind = Change.ONLY_IN_B if a is None else Change.ONLY_IN_A if b is None else Change.DIFFERENT
    partition = json.loads(identity.partition)
    return OffsetChange(
        identity,
        kind,
        a,
        b,
        position_a=None if a is None else explain_position(partition, a),
        position_b=None if b is None else explain_position(partition, b),
        order=None if a is None or b is None else compare_positions(partition, a, b),
        rewind=None if a is None or b is None else meaning_of_rewind(partition, a),
    )


def _typed(offset: SourceOffset | None) -> object:
    """With the type of each value: 1, 1.0 and true are three values in Java."""
    return None if offset is None else {name: (type(value), value) for name, value in offset.items()}
