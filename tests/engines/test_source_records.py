"""Ranges of a table's topic whose replaced records are left out lead to the answer of all their records."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack

from eosctl.analysis.source_audit import RowReader, SeenByAll
from eosctl.engines.source_audit import TableComparison
from eosctl.engines.source_records import RangeRecords, RecordsAsked, SourceRecord, range_records
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan
from eosctl.model.source_audit import Handling, RowDifference, SourcePoint
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import LogItem
from eosctl.sources.source_tables import SourceChunk
from tests.engines.mirror_logs import Log, Written, batch, sealed
from tests.engines.test_source_audit_histories import ORDERS, PLAN

PARTITIONS, KEYS, OFFSETS = 2, 3, 16


class Record(NamedTuple):
    """A record of a key; place None: without a position. form: an envelope, a deletion, a tombstone or no JSON."""

    key: int
    value: int
    place: int | None
    xid: int | None
    is_read: bool
    form: str

    def written(self) -> Written:
        source = {"lsn": self.place} if self.xid is None else {"lsn": self.place, "txId": self.xid}
        row = {"id": self.key, "name": self.value}
        envelope = {"before": row, "after": row, "op": "r" if self.is_read else "u"}
        if self.place is not None:
            envelope["source"] = source
        elif self.form == "row":
            envelope = row
        if self.form == "deletion":
            envelope |= {"after": None, "op": "d"}
        values = {"tombstone": None, "no JSON": b"{"}
        return Written(0, b'{"id":%d}' % self.key, values.get(self.form, json.dumps(envelope).encode()))


RECORDS = st.lists(
    st.builds(
        Record,
        st.integers(0, KEYS - 1),
        st.integers(0, 2),
        st.sampled_from([*range(1, 9), None]),
        st.sampled_from([9, 10, 10, 11, 12, None]),
        st.sampled_from([False] * 4 + [True]),
        st.sampled_from(["row"] * 8 + ["deletion", "tombstone", "tombstone", "no JSON"]),
    ),
    max_size=OFFSETS,
)
POINTS = st.lists(
    st.builds(
        lambda low, more, first, end: SourcePoint(low, low + more, f"{first}:{first + end}:{first}"),
        st.integers(5, 9), st.integers(0, 3), st.integers(10, 11), st.integers(1, 2),
    ),
    min_size=KEYS, max_size=KEYS,
)  # fmt: skip
WHOLE = OffsetRange("orders", 0, 0, 8)
CUTS = st.lists(st.integers(1, OFFSETS - 1), max_size=3)


class Partitions(Log):
    """A log of several partitions, each record a batch of its own."""

    def __init__(self, partitions: Sequence[Sequence[Record]]) -> None:
        self.logs = [
            Log(tuple(batch([each.written()], [0], offset) for offset, each in enumerate(records)))
            for records in partitions
        ]

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        return self.logs[offsets.partition].read(plan, offsets)


def cut(ranges: Sequence[OffsetRange], places: Sequence[int]) -> Iterator[OffsetRange]:
    for each in ranges:
        ends = sorted({place for place in places if each.start < place < each.end} | {each.end})
        for start, end in zip([each.start, *ends], ends, strict=False):
            yield each._replace(start=start, end=end)


def apart(log: Log, places: Sequence[int]) -> Callable[..., Iterator[RangeRecords]]:
    """As executors do, in ranges that are cut at these places."""

    def read(
        plan: AuditPlan, asked: RecordsAsked, ranges: Sequence[OffsetRange], advance: Callable[[int], None]
    ) -> Iterator[RangeRecords]:
        sent = msgpack.decode(msgpack.encode(asked), type=RecordsAsked)
        reader = RowReader(sent.table, sent.handling)
        for each in cut(ranges, places):
            yield range_records(sent, reader, log, plan, each)
            advance(each.size)

    return read


def answer(points: Sequence[SourcePoint], fold: Callable[[TableComparison], None], compacted: bool) -> object:
    """The answer on rows that were read at these points, after the records were taken."""
    with TableComparison(":memory:", "db", Handling()) as kept:
        kept.begin(ORDERS, None, is_compacted=compacted)
        for key, point in enumerate(points):
            if key != 1:  # a key of the topic without a row
                kept.add(ORDERS, SourceChunk(point, [((str(key),), (str(key), "1"))]))
        kept.end_rows()
        fold(kept)
        kept.compare(ORDERS)
        facts = [kept.next_offset(each) for each in range(PARTITIONS)], kept.highest(), kept.has_positions
        found = {kind: (kept.count(kind), kept.samples(kind)) for kind in RowDifference}
        return found, kept.undecided(), kept.rows(), kept.keys(), kept.uncompared(ORDERS), kept.unusable(), facts


@given(st.tuples(RECORDS, RECORDS), POINTS, CUTS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_ranges_that_are_read_apart_give_the_answer_of_all_records(partitions, points, places, compacted):
    log = Partitions(partitions)
    ranges = [OffsetRange("orders", number, 0, len(each)) for number, each in enumerate(partitions) if each]

    def all_records(kept: TableComparison) -> None:
        for each in ranges:
            list(kept.fold(log, PLAN, each))

    def some_records(kept: TableComparison) -> None:
        kept.fold_apart(apart(log, places), PLAN, ranges, lambda _: None)

    assert answer(points, some_records, compacted) == answer(points, all_records, compacted)


AT_5, AT_5_BY_A_LATER_ONE = (5, 9, "row"), (5, 10, "row")


@pytest.mark.parametrize(
    ("before", "record", "kept"),
    [
        (AT_5, (6, 9, "row"), [1]),
        (AT_5, (5, 9, "deletion"), [1]),
        (AT_5, (4, 9, "row"), [0, 1]),
        (AT_5, (15, 9, "row"), [0, 1]),
        (AT_5, (6, 10, "row"), [0, 1]),
        (AT_5_BY_A_LATER_ONE, (6, 9, "row"), [0, 1]),
        (AT_5, (None, None, "tombstone"), [0, 1]),
        (AT_5, (None, None, "row"), [0, 1]),
        ((None, None, "row"), AT_5, [0, 1]),
        ((None, None, "row"), (None, None, "row"), [1]),
        ((None, None, "row"), (None, None, "tombstone"), [0, 1]),
        ((None, None, "tombstone"), (None, None, "row"), [1]),
    ],
)
def test_a_record_replaces_the_one_before_it_where_all_points_saw_both_in_their_order(before, record, kept):
    """Points see what was written before 10, and by transactions below 10: place, transaction, form."""
    records = [Record(0, 1, place, xid, is_read=False, form=form) for place, xid, form in (before, record)]
    asked = RecordsAsked(ORDERS, Handling(), SeenByAll.of([SourcePoint(10, 12, "10:11:")]))
    found = range_records(asked, RowReader(ORDERS, Handling()), Partitions([records]), PLAN, WHOLE._replace(end=2))
    [block] = found.blocks
    assert [each.offset for each in msgpack.decode(block.content, type=list[SourceRecord])] == kept


def test_a_batch_that_cannot_be_read_is_named_with_its_place():
    broken = Log((sealed(bytearray(batch([Written(0, b"1", b"{}")], [0], 7))[:-3]),))
    asked = RecordsAsked(ORDERS, Handling(), SeenByAll(0, None))
    with pytest.raises(Undecodable, match="orders-0@7"):
        range_records(asked, RowReader(ORDERS, Handling()), broken, PLAN, WHOLE)
