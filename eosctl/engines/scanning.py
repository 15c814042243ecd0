"""One range from the log to state rows: what a worker process and a Spark executor do."""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Final
from zlib import crc32

from eosctl.analysis.audit.batches import Entry
from eosctl.analysis.audit.events import EventScan
from eosctl.analysis.audit.history import config_event
from eosctl.analysis.audit.key_scan import Tracked
from eosctl.analysis.audit.scan import GapKind, RangeScan
from eosctl.analysis.grammars import BY_NAME
from eosctl.analysis.grammars.grammar import Readers
from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.ledger import decode_json, encode_audit_state, read_offsets_key
from eosctl.codecs.record_batches import (
    Batch,
    DamagedOffsets,
    MarkerType,
    decode_entries,
    decode_entries_with,
    decode_records,
    iter_entries,
)
from eosctl.codecs.record_keys import read_keys
from eosctl.errors import Undecodable
from eosctl.model.audit import BUCKETS, AuditedTopic, AuditPlan, RangeDigest, StateKind, StateRow, TopicRole
from eosctl.model.audit_states import ConfigEvent, KeyState, ProducerItems
from eosctl.model.events import EventItem, TransactionItem
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem, LogSource

COMPACT = "compact"
RARELY: Final = (200_000, 50, 100)
DecodeBatch = Callable[[Batch], Iterable[Entry]]


class _Unfinished(Exception):
    """Records of a batch do not add up, and some of them were taken in already."""


# The digest of a range's bytes: part of an evidence file, and computed again to check it.


class RangeDigester:
    """Give it every item of a range in offset order, then ask for `digest`."""

    def __init__(self, offsets: OffsetRange) -> None:
        self._offsets = offsets
        self._hash = sha256()
        self._batches = self._size = 0

    def add(self, item: LogItem) -> None:
        if not isinstance(item, DamagedOffsets):
            self._hash.update(item.batch.data)
            self._batches += 1
            self._size += len(item.batch.data)

    def digest(self) -> RangeDigest:
        return RangeDigest(*self._offsets, self._batches, self._size, self._hash.hexdigest())


def read_digest(plan: AuditPlan, offsets: OffsetRange, source: LogSource) -> RangeDigest:
    """Reads the range for its digest alone."""
    digester = RangeDigester(offsets)
    for item in source.read(plan, offsets):
        digester.add(item)
    return digester.digest()


def scan_range(plan: AuditPlan, offsets: OffsetRange, source: LogSource) -> Iterator[StateRow]:
    """The state rows of one range.

    Records are folded while they are decoded. A batch with one bad record must yield none: if there is such a batch the
    range is read again, and each batch decoded before it is folded.
    """
    with collecting_rarely():
        try:
            scan = _scanned(plan, offsets, source, iter_entries)
        except _Unfinished:
            scan = _scanned(plan, offsets, source, decode_entries)
        yield from scan.rows()


def _scanned(plan: AuditPlan, offsets: OffsetRange, source: LogSource, decode: DecodeBatch) -> "_Scan":
    scan = _Scan(plan, offsets, decode)
    for item in source.read(plan, offsets):
        scan.take(item)
    return scan


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Runs the cycle collector rarely: records and states have no cycles, and walking them takes half the time."""
    usual = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def key_bucket(key: bytes | None) -> int:
    """The bucket of all keys that are the same JSON."""
    return crc32(read_offsets_key(key).text.encode()) % BUCKETS


def event_bucket(start: str) -> int:
    """The bucket of all events that leave the same key, or of all parts of a database transaction."""
    return crc32(start.encode()) % BUCKETS


def producer_bucket(producer_id: int) -> int:
    return producer_id % BUCKETS


class _Scan:
    """The folds of one range, and its records where they are the config topic's."""

    def __init__(self, plan: AuditPlan, offsets: OffsetRange, decode: DecodeBatch) -> None:
        self._decode = decode
        topic = plan.topic(offsets.topic)
        self._offsets = offsets
        self._audited_from = next(
            each.audited_from for each in plan.bounds if (each.topic, each.partition) == offsets[:2]
        )
        self._scan = RangeScan(offsets, topic.role, _gap_kind(topic), decode_json, _tracked(plan))
        self._config: list[ConfigEvent] | None = [] if topic.role is TopicRole.CONFIG and offsets.settled else None
        grammar = BY_NAME.get(topic.grammar or "")
        readers = Readers(read_keys, decode_json)
        self._events = None if grammar is None else EventScan(grammar, readers, topic.connectors)
        self._words = () if grammar is None else grammar.words
        self._digester = RangeDigester(offsets) if plan.digested else None

    def take(self, item: LogItem) -> None:
        if self._digester is not None:
            self._digester.add(item)
        match item:
            case DataBatch():
                self._take_data(item)
            case ControlBatch():
                marker = item.marker
                committed = marker is not None and marker.type is MarkerType.COMMIT
                self._scan.add_marker(item.batch.header, marker, committed=committed)
            case DamagedOffsets():
                self._scan.add_damage(*item)

    def _take_data(self, item: DataBatch) -> None:
        header = item.batch.header
        try:
            if self._config is not None and not item.aborted:
                records = decode_records(item.batch)
                self._config += map(config_event, decode_config_records(records))
            if self._events is not None and not item.aborted:
                self._take_events(self._events, item.batch)
            self._scan.add_data(header, lambda: self._entries(item.batch), aborted=item.aborted)
        except Undecodable as error:
            self._scan.add_damage(header.base_offset, header.next_offset, error.reason)
        except Exception as error:
            if self._decode is decode_entries:
                raise
            raise _Unfinished from error

    def _entries(self, batch: Batch) -> Iterable[Entry]:
        entries = self._decode(batch)
        if batch.header.base_offset >= self._audited_from:
            return entries
        return [entry for entry in entries if entry.offset >= self._audited_from]

    def _take_events(self, events: EventScan, batch: Batch) -> None:
        header = batch.header
        words = (b"",) if events.needs_records(header) else self._words
        records = decode_entries_with(batch, words)
        if records is not None and header.base_offset < self._audited_from:
            records = [each for each in records if each.offset >= self._audited_from]
        events.add_batch(header, records)

    def rows(self) -> Iterator[StateRow]:
        """One row for the log, one for the config topic, and one for each bucket of keys, transactions and events."""
        result = self._scan.result()
        yield self._row(StateKind.LOG, 0, result.log)
        if self._config is not None:
            yield self._row(StateKind.CONFIG, 0, self._config)
        if self._digester is not None:
            yield self._row(StateKind.DIGESTS, 0, self._digester.digest())
        keys: dict[int, list[KeyState]] = {}
        for state in result.keys:
            keys.setdefault(key_bucket(state.key), []).append(state)
        for bucket in sorted(keys):
            yield self._row(StateKind.KEYS, bucket, keys[bucket])
        transactions: dict[int, list[ProducerItems]] = {}
        for items in result.transactions:
            transactions.setdefault(producer_bucket(items.producer_id), []).append(items)
        for bucket in sorted(transactions):
            yield self._row(StateKind.TRANSACTIONS, bucket, transactions[bucket])

        if self._events is not None:
            yield from self._event_rows(self._events)

    def _event_rows(self, events: EventScan) -> Iterator[StateRow]:
        yield self._row(StateKind.EVENT_WRITERS, 0, tuple(events.writers()))
        buckets: dict[int, list[EventItem]] = {}
        for item in events.items:
            buckets.setdefault(event_bucket(item.start), []).append(item)
        for bucket in sorted(buckets):
            yield self._row(StateKind.EVENTS, bucket, buckets[bucket])
        named: dict[int, list[TransactionItem]] = {}
        for part in events.transactions.items:
            named.setdefault(event_bucket(part.transaction), []).append(part)
        for bucket in sorted(named):
            yield self._row(StateKind.DATABASE_TRANSACTIONS, bucket, named[bucket])

    def _row(self, kind: StateKind, bucket: int, state: object) -> StateRow:
        topic, partition, start, _, settled = self._offsets
        return StateRow(kind, bucket, topic, partition, start, settled, encode_audit_state(state))


def _tracked(plan: AuditPlan) -> Tracked:
    """True for a key of a connector with its own offsets topic, now or earlier; for all keys if its users are
    unknown."""
    own = [topic for topic in plan.topics if topic.own]
    if not all(topic.connectors for topic in own):
        return lambda _: True
    users = {name for topic in own for name in topic.connectors}
    return lambda key: read_offsets_key(key).connector in users if users else False


def _gap_kind(topic: AuditedTopic) -> GapKind:
    """Assumes compaction, which Connect requires, if an offsets or config topic has an unknown policy."""
    policy = topic.cleanup_policy
    if isinstance(policy, Skipped):
        return GapKind.UNCLEAR if topic.role is TopicRole.OUTPUT else GapKind.COMPACTED
    return GapKind.COMPACTED if COMPACT in policy else GapKind.LOST
