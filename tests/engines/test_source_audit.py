"""The file in which `audit source` keeps a comparison, and what of the records in it counts for a row."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.engines.source_audit import TableComparison
from eosctl.errors import ConfigError, Refused
from eosctl.model.audit import AuditPlan, AuditVerdict
from eosctl.model.source_audit import (
    CapturedTable,
    ColumnKind,
    ComparedTable,
    Handling,
    RowDifference,
    SourcePoint,
    TableColumn,
)
from eosctl.model.topics import OffsetRange
from eosctl.sources.source_tables import SourceChunk
from tests.engines.mirror_logs import Log, Written, batch

ORDERS = CapturedTable(
    "public",
    "orders",
    "orders",
    (
        TableColumn("id", "int8", ColumnKind.INTEGER, key=1),
        TableColumn("name", "text", ColumnKind.TEXT),
        TableColumn("place", "point", ColumnKind.OTHER),
    ),
)
PLAN = AuditPlan(0, "cluster", None, (), (), ())
POINT = SourcePoint(100, 100)
NOTHING = dict.fromkeys(RowDifference, 0)


class Change(NamedTuple):
    """A record of a row, with its position in the source's log; name None: the row was deleted."""

    key: int
    name: str | None
    place: int | None = 1
    is_read: bool = False


def chunk(point: SourcePoint, **rows: str) -> SourceChunk:
    """Rows by their keys, as `row1="name"`."""
    return SourceChunk(point, [((key[3:],), (key[3:], name, "")) for key, name in rows.items()])


@pytest.fixture
def kept() -> Iterator[TableComparison]:
    with TableComparison(":memory:", "db", Handling()) as made:
        made.begin(ORDERS, "topic-id", is_compacted=False)
        yield made


def fold(kept: TableComparison, *changes: Change, partition: int = 0) -> None:
    """The changes at the end of the partition."""
    records = []
    for each in changes:
        row = None if each.name is None else {"id": each.key, "name": each.name}
        source = {} if each.place is None else {"file": "log.000000", "pos": each.place}
        op = "d" if row is None else "r" if each.is_read else "c"
        value = json.dumps({"before": {"id": each.key}, "after": row, "op": op, "source": source})
        records.append(Written(0, json.dumps({"id": each.key}).encode(), value.encode()))
    begin = kept.next_offset(partition)
    log = Log((batch(records, range(len(records)), begin),))
    list(kept.fold(log, PLAN, OffsetRange("orders", partition, begin, begin + len(records))))


def counts(kept: TableComparison) -> dict[RowDifference, int]:
    return {each: kept.count(each) for each in RowDifference}


def look_again(kept: TableComparison, seen: SourceChunk, kinds: Sequence[RowDifference]) -> None:
    for some in kept.differing(ORDERS, kinds):
        kept.look(ORDERS, some, seen)
    kept.compare_again(ORDERS)
    kept.end_look()


def test_a_row_that_the_first_look_did_not_read_is_compared_by_the_second(kept: TableComparison):
    """It was inserted behind the reader, or the reader passed over it: that its key is there does not make it equal."""
    kept.add(ORDERS, chunk(POINT, row1="a"))
    fold(kept, Change(1, "a"), Change(2, "b"), Change(3, "c"), Change(4, "d"))
    kept.compare(ORDERS)
    assert counts(kept) == NOTHING | {RowDifference.EXTRA: 3}
    look_again(kept, chunk(SourcePoint(200, 200), row2="b", row3="another"), [RowDifference.EXTRA])
    assert (counts(kept), kept.undecided()) == (
        {RowDifference.MISSING: 0, RowDifference.EXTRA: 1, RowDifference.DIFFERING: 1}, 0,
    )  # fmt: skip
    assert [(each.key, each.columns) for each in kept.samples(RowDifference.DIFFERING)] == [("3", ("name",))]


def test_a_key_of_another_case_does_not_make_a_missing_row_be_there(kept: TableComparison):
    """A database that folds case gives row 1 when it is asked for key 01."""
    kept.add(ORDERS, chunk(POINT, row1="a"))
    fold(kept, Change(7, "a"))
    kept.compare(ORDERS)
    look_again(kept, chunk(SourcePoint(200, 200), row1="a"), [RowDifference.EXTRA])
    assert counts(kept) == {RowDifference.MISSING: 1, RowDifference.EXTRA: 1, RowDifference.DIFFERING: 0}


def test_positions_order_the_records_of_a_key_in_two_partitions(kept: TableComparison):
    kept.add(ORDERS, chunk(POINT, row1="new", row2="new"))
    fold(kept, Change(1, "new", 50), Change(2, "old", 10))
    fold(kept, Change(1, "old", 10), Change(2, "new", 50), partition=1)
    kept.compare(ORDERS)
    assert (counts(kept), kept.undecided()) == (NOTHING, 0)


def test_a_key_in_two_partitions_without_positions_is_undecided(kept: TableComparison):
    """Which of them is the last is not known, even where one is equal, or none has a row."""
    kept.add(ORDERS, chunk(POINT, row1="a"))
    fold(kept, Change(1, "a", None), Change(2, "b", None))
    fold(kept, Change(1, "b", None), Change(2, None, None), partition=1)
    kept.compare(ORDERS)
    assert (counts(kept), kept.undecided()) == (NOTHING, 2)


@pytest.mark.parametrize(("is_compacted", "expected"), [(False, (1, 0)), (True, (0, 1))])
def test_a_compacted_topic_may_have_lost_the_record_that_the_point_saw(is_compacted: bool, expected: tuple[int, int]):
    with TableComparison(":memory:", "db", Handling()) as kept:
        kept.begin(ORDERS, None, is_compacted=is_compacted)
        kept.add(ORDERS, chunk(POINT, row1="a"))
        fold(kept, Change(1, "b", 101))
        kept.compare(ORDERS)
        assert (kept.count(RowDifference.MISSING), kept.undecided()) == expected


def test_values_that_are_not_compared_are_counted_by_column(kept: TableComparison):
    kept.add(ORDERS, chunk(POINT, row1="a", row2="b", row3="c"))
    fold(kept, Change(1, "__debezium_unavailable_value"), Change(2, "b"), Change(3, None))
    kept.compare(ORDERS)
    assert kept.uncompared(ORDERS) == ("name (text) in 1 of 2 rows", "place (point)")


def test_another_topic_of_the_name_other_columns_and_other_settings_begin_again(tmp_path):
    state = tmp_path / "orders.state"
    wider = replace(ORDERS, columns=(*ORDERS.columns, TableColumn("more", "text", ColumnKind.TEXT)))
    others = [(ORDERS, "another", Handling()), (wider, "id", Handling()), (ORDERS, "id", Handling(decimals="string"))]
    for table, topic_id, handling in others:
        state.unlink(missing_ok=True)
        with TableComparison(state, "db", Handling()) as first:
            first.begin(ORDERS, "id", is_compacted=False)
            first.add(ORDERS, chunk(POINT, row1="a"))
            first.begin(ORDERS, "id", is_compacted=False)
            assert first.after == ("1",)
        with TableComparison(state, "db", handling) as again:
            again.begin(table, topic_id, is_compacted=False)
            assert again.after is None


def test_a_bucket_that_is_too_large_is_compared_in_parts(kept: TableComparison, monkeypatch: pytest.MonkeyPatch):
    """Each key once, with all its records."""
    kept.add(ORDERS, chunk(POINT, **{f"row{number}": "a" for number in range(600)}))
    kept.end_rows()
    changes = [Change(number, name) for number in range(1, 601) for name in ("b", "b" if number == 7 else "a")]
    fold(kept, *changes)
    monkeypatch.setattr("eosctl.engines.source_audit.MOST_BYTES", 60)
    kept.compare(ORDERS)
    assert (kept.rows(), kept.keys()) == (600, 600)
    samples = {kind: [each.key for each in kept.samples(kind)] for kind in RowDifference}
    assert samples == {RowDifference.MISSING: ["0"], RowDifference.EXTRA: ["600"], RowDifference.DIFFERING: ["7"]}


def test_a_table_that_was_ended_is_not_compared_again(kept: TableComparison):
    ended = ComparedTable(table=ORDERS, rows=3, verdict=AuditVerdict.HELD, ranges=(OffsetRange("orders", 0, 0, 3),))
    kept.end(ended)
    kept.begin(replace(ORDERS, name="others"), None, is_compacted=False)
    assert kept.ended(ORDERS) == ended
    assert kept.ended(replace(ORDERS, topic="elsewhere")) is None


def test_records_deleted_between_two_steps_are_noted(kept: TableComparison):
    assert kept.begin_at(0, 5) == 5
    fold(kept, Change(1, "a"))
    assert (kept.begin_at(0, 0), kept.gap()) == (1, None)
    assert (kept.begin_at(0, 9), kept.gap()) == (9, "offsets 1 to 8 of partition 0 were deleted unread")


def test_another_database_is_refused_and_left_as_it_is(tmp_path):
    """It would get the tables of the comparison, and be removed when that has ended."""
    ledger = tmp_path / "ledger.db"
    with closing(sqlite3.connect(ledger)) as made:
        made.execute("CREATE TABLE runs (number INTEGER)")
        made.execute("INSERT INTO runs VALUES (1)")
        made.commit()
    before = ledger.read_bytes()
    with pytest.raises(Refused, match=r"ledger\.db is another database, and no comparison"):
        TableComparison(ledger, "db", Handling())
    assert ledger.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    config = tmp_path / "worker.properties"
    config.write_text("group.id=a\n" * 100)
    with pytest.raises(ConfigError, match="cannot keep the comparison in"):
        TableComparison(config, "db", Handling())
    assert config.read_text() == "group.id=a\n" * 100


def test_a_comparison_continues_in_its_own_file_and_in_no_other_one(tmp_path):
    state = tmp_path / "orders.state"
    state.touch()
    with TableComparison(state, "db and orders", Handling()) as begun:
        assert begun.kept("of") == "db and orders"
    with TableComparison(state, "db and orders", Handling()) as again:
        assert again.kept("of") == "db and orders"
    with pytest.raises(Refused, match="holds the comparison of db and orders, not of another"):
        TableComparison(state, "another", Handling())
