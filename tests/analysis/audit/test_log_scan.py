"""Gaps, damages and counts of a partition's log, and the ranges that they are seen from."""

from functools import reduce
from itertools import pairwise

import pytest

from eosctl.analysis.audit.scan import GapKind, LogScan, merge_logs
from eosctl.codecs.record_batches import BatchHeader
from eosctl.model.audit import Gap
from eosctl.model.audit_states import Damage, GrowthPoint, LogState

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
    """Each item to the range in which its last offset lies; a damage that crosses ranges to both.

    However the ranges are paired, the state is the same: an audit merges them as a tree.
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
def test_a_hole_at_a_range_border_is_told_from_the_batch_behind_it(at):
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
