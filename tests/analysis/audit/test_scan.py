"""Batches of a log: holes, damage, and records that are read as they come."""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from struct import pack_into

import pytest
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import BatchWriter
from eosctl.analysis.audit.key_scan import KeyScan
from eosctl.analysis.audit.scan import GapKind, LogScan, RangeScan, TransactionScan, join_items, merge_logs
from eosctl.codecs.ledger import decode_json
from eosctl.codecs.record_batches import (
    SHORTEST_BATCH,
    BatchHeader,
    Codec,
    DamagedOffsets,
    EndTransactionMarker,
    MarkerType,
    iter_batches,
)
from eosctl.engines.scanning import scan_range
from eosctl.model.audit import AuditedTopic, AuditPlan, Gap, PartitionBounds, StateRow, TopicRole
from eosctl.model.audit_states import Damage, GrowthPoint, ItemKind, LogState, TransactionItem
from eosctl.model.records import Record
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import DataBatch, LogItem, LogSource
from tests.analysis.audit.brokers import ATTRIBUTES_AT, CRC_AT, Writer, Written, data_batch

HOUR = 3_600_000
COMPACTED, LOST = GapKind.COMPACTED, GapKind.LOST


def header(base: int, last: int, *, records: int | None = None, time: int = 0, begun: int | None = None) -> BatchHeader:
    count = last - base + 1 if records is None else records
    return BatchHeader(base, 100, 0, 2, 0, 0x10, last - base, time if begun is None else begun, time, 1, 0, 0, count)


def scanned(start: int, end: int, kind: GapKind, items: list[BatchHeader | Damage]) -> LogState:
    scan = LogScan(start, end, kind)
    for item in items:
        if isinstance(item, Damage):
            scan.add_damage(*item)
        else:
            scan.add_batch(item)
            scan.add_data(item, aborted=False)
    return scan.state(())


def in_ranges(edges: list[int], kind: GapKind, items: list[BatchHeader | Damage]) -> LogState:
    """Each item in the range of its last offset; a damage across ranges in both.

    Every pairing of the ranges gives the same state: an audit merges them as a tree.
    """
    states: list[LogState] = []
    for start, end in pairwise(edges):
        mine: list[BatchHeader | Damage] = []
        for item in items:
            if isinstance(item, Damage):
                first, behind = max(item.offset, start), min(item.next_offset, end)
                mine += [Damage(first, behind, item.reason)] if first < behind else []
            elif start <= item.last_offset < end:
                mine.append(item)
        states.append(scanned(start, end, kind, mine))
    merged = reduce(merge_logs, states)
    assert merged == reduce(lambda right, left: merge_logs(left, right), reversed(states))
    return merged


@pytest.mark.parametrize("kind", [COMPACTED, LOST, GapKind.UNCLEAR])
def test_offsets_without_a_batch_are_a_gap_of_the_topics_kind(kind):
    state = scanned(0, 12, kind, [header(2, 3), header(4, 5), header(8, 9)])
    assert state.gaps == (Gap(0, 2, kind.value), Gap(6, 8, kind.value), Gap(10, 12, kind.value))


def test_a_batch_within_offsets_that_could_not_be_read_leaves_no_gap_behind_it():
    assert scanned(0, 10, LOST, [Damage(0, 8, "CRC"), header(2, 3), header(8, 9)]).gaps == ()


@pytest.mark.parametrize("edges", [[0, 3, 10], [0, 2, 3, 4, 10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
def test_a_batch_that_crosses_ranges_leaves_no_gap(edges):
    assert in_ranges(edges, LOST, [header(0, 0), header(1, 7), header(8, 9)]).gaps == ()


@pytest.mark.parametrize("kind", [COMPACTED, LOST])
@pytest.mark.parametrize("at", range(1, 20))
def test_any_range_border_gives_the_same_state(at, kind):
    items: list[BatchHeader | Damage] = [
        header(1, 3, time=10),
        Damage(4, 6, "CRC"),
        Damage(6, 8, "CRC"),
        Damage(8, 9, "magic"),
        header(11, 13, records=1, time=HOUR + 20, begun=HOUR),
        Damage(15, 16, "CRC"),
        header(16, 17, time=HOUR + 5),
        header(18, 18, time=HOUR + 6),
    ]
    whole = scanned(0, 20, kind, items)
    assert in_ranges([0, at, 20], kind, items) == whole
    assert in_ranges([0, *range(at, 21)], kind, items) == whole
    assert whole.damages == (Damage(4, 8, "CRC"), Damage(8, 9, "magic"), Damage(15, 16, "CRC"))
    assert whole.growth == (GrowthPoint(0, 3, 0), GrowthPoint(1, 4, 0))


@pytest.mark.parametrize(
    ("items", "cleaned"),
    [
        ([header(0, 9, time=7)], None),
        ([header(0, 4, time=5), header(6, 9, time=7)], 7),
        ([header(3, 4, time=5), header(5, 9, time=7)], 5),
        ([header(0, 4, records=2, time=5), header(5, 9, time=7)], 5),
        ([header(0, 4, records=4, time=5), header(5, 9, time=7)], 5),
        ([header(0, 3, time=5), Damage(5, 6, "CRC"), header(6, 9, time=7)], 7),
        ([header(0, 3, time=5)], None),
        ([header(3, 9, time=7, begun=90_000_000)], 7),
        ([header(0, 9, records=2, time=7, begun=5)], 7),
    ],
)
def test_compaction_cleaned_until_the_last_batch_behind_a_hole(items, cleaned):
    assert scanned(0, 10, COMPACTED, items).cleaned_until == cleaned
    assert scanned(0, 10, LOST, items).cleaned_until is None


@pytest.mark.parametrize("at", range(1, 8))
def test_a_hole_at_a_range_border_is_distinguished_from_the_batch_behind_it(at):
    items: list[BatchHeader | Damage] = [header(0, 1, time=5), header(6, 7, time=9)]
    assert in_ranges([0, at, 8], COMPACTED, items).cleaned_until == 9
    assert in_ranges([0, at, 8], COMPACTED, [header(0, 1, time=5), header(2, 7, time=9)]).cleaned_until is None


def test_aborted_and_plain_records_are_counted_among_the_records():
    scan = LogScan(0, 10, LOST)
    plain = header(4, 6, time=9)._replace(attributes=0)
    for each, aborted in ((header(0, 3, time=4, begun=2), True), (plain, False)):
        scan.add_batch(each)
        scan.add_data(each, aborted=aborted)
    scan.add_batch(header(7, 7))
    scan.add_control(header(7, 7))
    scan.add_tombstones(plain, 2)
    state = scan.state(())
    assert (state.records, state.aborted_records, state.plain_records, state.control_records) == (7, 4, 3, 1)
    assert (state.batches, state.size_bytes, state.first_timestamp, state.last_timestamp) == (3, 300, 2, 9)
    assert state.growth == (GrowthPoint(0, 7, 2),)


KEYS = (b'["c",{"p":1}]', b'["c",{"p":2}]', b'["d",{"p":1}]', b"no key", b"", None)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.one_of(st.none(), st.just(b"no value"), st.integers(0, 12).map(lambda lsn: b'{"lsn":%d}' % lsn)),
    ),
    min_size=1,
    max_size=8,
)
WRITERS = [BatchWriter(*who) for who in ((-1, -1, False), (1, 0, True), (1, 1, True), (2, 0, True))]


class Items(LogSource):
    """A range in memory that can be read repeatedly."""

    def __init__(self, items: Sequence[LogItem]) -> None:
        self._items = items

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        return iter(self._items)


def _rows(items: Sequence[LogItem], end: int) -> list[StateRow]:
    topics, bounds = (AuditedTopic("offsets", TopicRole.OFFSETS),), (PartitionBounds("offsets", 0, 0, end, end, 0),)
    offsets = OffsetRange("offsets", 0, 0, end)
    plan = AuditPlan(0, "cluster", "group", topics, bounds, (offsets,), (), ())
    return list(scan_range(plan, offsets, Items(items)))


def _item(base: int, rows: list[tuple[bytes | None, bytes | None]], codec: Codec) -> DataBatch:
    written = [Written(delta, 1_000 + base, *row) for delta, row in enumerate(rows)]
    [batch] = iter_batches(data_batch(base, written, Writer(1, 0, transactional=True), codec))
    return DataBatch(batch, aborted=False)


def _spoilt(item: DataBatch, cut: int, more: bytes) -> DataBatch:
    """The batch without its last bytes or with more of them, and with a CRC that matches."""
    data = bytearray(item.batch.data)
    data = data[: max(SHORTEST_BATCH, len(data) - cut)] + more
    pack_into(">i", data, 8, len(data) - 12)
    pack_into(">I", data, CRC_AT, calc_crc32c(bytes(data[ATTRIBUTES_AT:])))
    [batch] = iter_batches(bytes(data))
    return DataBatch(batch, aborted=False)


@settings(max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from(Codec), st.data())
def test_a_batch_whose_records_do_not_add_up_gives_none_of_them(
    batches: list[list[tuple[bytes | None, bytes | None]]], codec: Codec, data: st.DataObject
):
    items: list[LogItem] = []
    end = 0
    for rows in batches:
        items.append(_item(end, rows, codec))
        end += len(rows)
    place = data.draw(st.integers(0, len(items) - 1))
    plain = _item(items[place].batch.header.base_offset, batches[place], Codec.NONE)  # type: ignore[union-attr]
    cut, more = data.draw(st.one_of(st.tuples(st.integers(1, 30), st.just(b"")), st.just((0, b"\x00"))))
    header = plain.batch.header

    found = _rows([*items[:place], _spoilt(plain, cut, more), *items[place + 1 :]], end)

    damage = DamagedOffsets(
        header.base_offset, header.next_offset, f"offset {header.base_offset}: its records cannot be decoded"
    )
    assert found == _rows([*items[:place], damage, *items[place + 1 :]], end)
    assert found != _rows(items, end)


@settings(max_examples=40)
@given(st.lists(st.tuples(ROWS, st.sampled_from(WRITERS)), min_size=1, max_size=8))
def test_a_key_has_the_state_that_its_own_records_give(
    batches: list[tuple[list[tuple[bytes | None, bytes | None]], BatchWriter]],
):
    together, alone = KeyScan(decode_json), {key: KeyScan(decode_json) for key in KEYS}
    offset = 0
    for rows, writer in batches:
        records = [Record(offset + delta, 1_000, *row) for delta, row in enumerate(rows)]
        offset += len(rows)
        together.add_batch(records, writer)
        for key in KEYS:
            alone[key].add_batch([record for record in records if record.key == key], writer)

    expected = {state.key: state for scan in alone.values() for state in scan.states()}
    assert {state.key: state for state in together.states()} == expected


def ranged(role: TopicRole, *, settled: bool = True) -> RangeScan:
    return RangeScan(OffsetRange("offsets", 0, 0, 10, settled), role, LOST, decode_json)


@pytest.mark.parametrize(
    ("role", "settled", "aborted", "keys"),
    [
        (TopicRole.OFFSETS, True, False, 1),
        (TopicRole.OFFSETS, True, True, 0),
        (TopicRole.OFFSETS, False, False, 0),
        (TopicRole.OUTPUT, True, False, 0),
    ],
)
def test_only_committed_records_of_settled_offsets_are_decoded(role, settled, aborted, keys):
    opened: list[int] = []

    def entries() -> list[Record]:
        opened.append(1)
        return [Record(0, 5, b"k", None)]

    scan = ranged(role, settled=settled)
    scan.add_data(header(0, 0, time=5), entries, aborted=aborted)
    found = scan.result()
    assert (len(found.keys), len(opened)) == (keys, keys)
    assert (found.log.records, found.log.aborted_records) == (1, int(aborted))
    assert found.log.growth == (GrowthPoint(0, 1, keys),)


@pytest.mark.parametrize("transactional", [True, False])
def test_only_transactional_batches_are_parts_of_transactions(transactional):
    scan = ranged(TopicRole.OUTPUT)
    scan.add_data(header(0, 1)._replace(attributes=0x10 if transactional else 0), list, aborted=False)
    found = scan.result()
    assert [each.producer_id for each in found.transactions] == ([1] if transactional else [])
    assert found.log.plain_records == (0 if transactional else 2)


@pytest.mark.parametrize("committed", [True, False, None])
def test_a_marker_ends_a_transaction_and_another_control_record_does_not(committed):
    scan = ranged(TopicRole.OUTPUT)
    scan.add_data(header(0, 1), list, aborted=False)
    marker = None if committed is None else EndTransactionMarker(2, 7, MarkerType.COMMIT, 1, 0, 0)
    scan.add_marker(header(2, 2), marker, committed=bool(committed))
    found = scan.result()
    kinds = {True: [ItemKind.COMMIT], False: [ItemKind.ABORT], None: []}[committed]
    assert [each.kind for each in found.transactions[0].items] == [ItemKind.DATA, *kinds]
    assert (found.log.control_records, found.log.batches, found.log.records) == (1, 2, 2)


@pytest.mark.parametrize(
    ("second", "count"),
    [({}, 1), ({"producer_epoch": 1}, 2)],
)
def test_batches_of_one_epoch_without_a_marker_between_are_one_item(second, count):
    scan = TransactionScan()
    scan.add_data(header(0, 1, time=9, begun=5))
    scan.add_data(header(4, 5, time=8, begun=3)._replace(**second))
    [state] = scan.states()
    assert len(state.items) == count
    if count == 1:
        [item] = state.items
        assert (item.offset, item.last_offset, item.records, item.size_bytes) == (0, 5, 4, 200)
        assert (item.first_timestamp, item.last_timestamp) == (3, 9)


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [([(5, 9), (3, 8)], 3, 9), ([(3, 8), (5, 9)], 3, 9), ([(5, 9), (5, 9)], 5, 9), ([], None, None)],
)
def test_a_log_has_the_earliest_and_the_latest_time_of_its_data(times, first, last):
    items = [header(at, at, time=end, begun=begun) for at, (begun, end) in enumerate(times)]
    state = scanned(0, len(items), LOST, items)
    assert (state.first_timestamp, state.last_timestamp) == (first, last)
    merged = merge_logs(state, scanned(len(items), len(items) + 1, LOST, []))
    assert (merged.first_timestamp, merged.last_timestamp) == (first, last)


def item(kind: ItemKind, epoch: int = 0, offset: int = 0) -> TransactionItem:
    return TransactionItem(kind, offset, offset, epoch, 1, 10, offset, offset)


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        (item(ItemKind.DATA), item(ItemKind.DATA), True),
        (item(ItemKind.DATA), item(ItemKind.DATA, 1), False),
        (item(ItemKind.DATA), item(ItemKind.COMMIT), False),
        (item(ItemKind.COMMIT), item(ItemKind.DATA), False),
        (item(ItemKind.ABORT), item(ItemKind.DATA), False),
        (item(ItemKind.COMMIT), item(ItemKind.COMMIT), False),
    ],
)
def test_data_goes_on_with_data_of_its_epoch_and_with_nothing_behind_a_marker(before, after, joined):
    assert len(join_items((before,), (after._replace(offset=1, last_offset=1),))) == (1 if joined else 2)
    assert join_items((before,), ()) == join_items((), (before,)) == (before,)


@pytest.mark.parametrize(
    ("kind", "end"), [(GapKind.EXPIRED, 4), (GapKind.LOST, 2), (GapKind.COMPACTED, 2), (GapKind.UNCLEAR, 2)]
)
def test_offsets_that_expired_stay_expired_though_the_next_batch_begins_among_them(kind, end):
    left, right = scanned(0, 4, kind, []), scanned(4, 8, LOST, [header(2, 7)])
    assert merge_logs(left, right).gaps == (Gap(0, end, kind.value),)


@pytest.mark.parametrize(
    ("kinds", "gaps"),
    [((LOST, LOST), [(0, 8)]), ((GapKind.EXPIRED, LOST), [(0, 4), (4, 8)])],
)
def test_gaps_of_one_kind_that_meet_are_one(kinds, gaps):
    found = merge_logs(scanned(0, 4, kinds[0], []), scanned(4, 8, kinds[1], [])).gaps
    assert [(each.start, each.end) for each in found] == gaps
