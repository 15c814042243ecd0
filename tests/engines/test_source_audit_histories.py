"""Random histories of a database: what its snapshots saw, against the records of its transactions, whatever was spoilt.

Transactions run side by side, hold their rows, and are streamed when they commit; the reader takes chunks meanwhile.
The expected findings follow from the transactions that each snapshot saw, without code of eosctl.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.engines.source_audit import TableComparison
from eosctl.model.audit import AuditPlan
from eosctl.model.source_audit import CapturedTable, ColumnKind, Handling, RowDifference, SourcePoint, TableColumn
from eosctl.model.topics import OffsetRange
from eosctl.sources.source_tables import SourceChunk
from tests.engines.mirror_logs import Log, Written, batch

ORDERS = CapturedTable(
    "public",
    "orders",
    "orders",
    (TableColumn("id", "int8", ColumnKind.INTEGER, key=1), TableColumn("name", "int8", ColumnKind.INTEGER)),
)
PLAN = AuditPlan(0, "cluster", None, (), (), ())
PARTITIONS, KEYS, CHUNK = 2, 6, 2
MISSING, EXTRA, DIFFERING = RowDifference.MISSING, RowDifference.EXTRA, RowDifference.DIFFERING


class Write(NamedTuple):
    """A change of a row; value None: it was deleted."""

    xid: int
    lsn: int
    key: int
    value: int | None


class Database:
    """Rows, transactions, and the topic that gets the writes of each when it commits."""

    def __init__(self) -> None:
        self.lsn, self.next_xid = 100, 10
        self.running: dict[int, list[Write]] = {}
        self.committed: list[Write] = []
        self.topic: list[list[Write]] = [[] for _ in range(PARTITIONS)]

    def write(self, slot: int, key: int, value: int | None) -> None:
        """By the transaction of this slot, unless another one holds the row."""
        xid = next((each for each in self.running if each % 3 == slot), None)
        if any(write.key == key for other, writes in self.running.items() if other != xid for write in writes):
            return
        if xid is None:
            self.next_xid += 3
            xid = self.next_xid - self.next_xid % 3 + slot
            self.next_xid = xid + 1
        self.lsn += 1
        self.running.setdefault(xid, []).append(Write(xid, self.lsn, key, value))

    def end(self, slot: int, *, commits: bool) -> None:
        xid = next((each for each in self.running if each % 3 == slot), None)
        if xid is None:
            return
        self.lsn += 1
        writes = self.running.pop(xid)
        if commits:
            self.committed += writes
            for each in writes:
                self.topic[each.key % PARTITIONS].append(each)

    def rows(self) -> dict[int, int]:
        return last_of(self.committed)

    def point(self) -> SourcePoint:
        """Of a snapshot that is taken now."""
        self.next_xid += 1  # a number that no transaction has
        running = ",".join(map(str, sorted(self.running)))
        oldest = min(self.running, default=self.next_xid)
        return SourcePoint(self.lsn, self.lsn, f"{oldest}:{self.next_xid}:{running}")


def last_of(writes: list[Write]) -> dict[int, int]:
    found: dict[int, int] = {}
    for each in writes:
        found.pop(each.key, None)
        if each.value is not None:
            found[each.key] = each.value
    return found


class Reader:
    """Takes chunks, folds what the topic has, and knows which commits each row's snapshot saw."""

    def __init__(self, database: Database, kept: TableComparison) -> None:
        self.database, self.kept = database, kept
        self.after: int | None = -1
        self.seen: dict[int, tuple[int, int | None]] = {}

    def chunk(self) -> None:
        if self.after is None:
            return
        rows = sorted((key, value) for key, value in self.database.rows().items() if key > self.after)[:CHUNK]
        point = self.database.point()
        if rows:
            self.kept.add(ORDERS, SourceChunk(point, [((str(key),), (str(key), str(value))) for key, value in rows]))
        self.seen |= {key: (len(self.database.committed), value) for key, value in rows}
        self.after = rows[-1][0] if len(rows) == CHUNK else None
        if self.after is None:
            self.kept.end_rows()

    def fold(self, topic: list[list[Write]]) -> None:
        for partition, writes in enumerate(topic):
            begin = self.kept.next_offset(partition)
            records = list(map(record, writes[begin:]))
            if records:
                log = Log((batch(records, range(len(records)), begin),))
                offsets = OffsetRange("orders", partition, begin, begin + len(records))
                list(self.kept.fold(log, PLAN, offsets))

    def look(self) -> None:
        """A second look at keys without a row, as of now."""
        for some in self.kept.differing(ORDERS, [EXTRA]):
            rows, count = self.database.rows(), len(self.database.committed)
            found = [(each.raw, (each.key, str(rows[int(each.key)]))) for each in some if int(each.key) in rows]
            self.kept.look(ORDERS, some, SourceChunk(self.database.point(), found))
            self.seen |= {int(each.key): (count, rows.get(int(each.key))) for each in some}


def record(write: Write) -> Written:
    row = None if write.value is None else {"id": write.key, "name": write.value}
    source = {"lsn": write.lsn, "txId": write.xid}
    value = {"before": {"id": write.key}, "after": row, "op": "d" if row is None else "u", "source": source}
    return Written(0, b'{"id":%d}' % write.key, json.dumps(value).encode())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, KEYS), st.one_of(st.none(), st.integers(0, 3))),
        st.tuples(st.just("commit"), st.integers(0, 2)),
        st.tuples(st.just("abort"), st.integers(0, 2)),
        st.tuples(st.just("chunk")),
    ),
    min_size=5,
    max_size=60,
)
FAULTS = st.lists(st.tuples(st.sampled_from(["drop", "alter"]), st.integers(0, 100)), max_size=3)


def run(database: Database, reader: Reader | None, steps: list[tuple[object, ...]]) -> None:
    for name, *what in steps:
        match name:
            case "write":
                database.write(*what)  # type: ignore[arg-type]  # as STEPS draws them
            case "chunk" if reader is not None:
                reader.chunk()
            case "commit" | "abort":
                database.end(int(str(what[0])), commits=name == "commit")


def spoilt(topic: list[list[Write]], faults: list[tuple[str, int]]) -> list[list[Write]]:
    """The topic with records that are gone, or have another value."""
    found = [list(each) for each in topic]
    for kind, number in faults:
        places = [(partition, place) for partition, writes in enumerate(found) for place in range(len(writes))]
        if not places:
            break
        partition, place = places[number % len(places)]
        if kind == "drop":
            del found[partition][place]
        else:
            found[partition][place] = found[partition][place]._replace(value=99)
    return found


def expected(database: Database, reader: Reader, topic: list[list[Write]]) -> Iterator[tuple[RowDifference, int]]:
    """By the commits that a key's snapshot saw: its row, and its last record among theirs."""
    for key, (count, row) in reader.seen.items():
        saw = {each.xid for each in database.committed[:count]}
        records = [each for each in topic[key % PARTITIONS] if each.key == key and each.xid in saw]
        last = records[-1].value if records else None
        if row != last:
            yield (MISSING if last is None else EXTRA if row is None else DIFFERING), key


class Killed(Exception):
    pass


class Mortal(TableComparison):
    """Dies once when it is about to compare this one of the buckets with rows or records."""

    def __init__(self, path: Path, at: int | None) -> None:
        super().__init__(path, "db", Handling())
        self.begin(ORDERS, None, is_compacted=False)
        self._left = at

    def _merge_some(self, *what: Any) -> None:
        self._left = None if self._left is None else self._left - 1
        if self._left == 0:
            raise Killed
        super()._merge_some(*what)


@given(STEPS, STEPS, FAULTS, st.none() | st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_only_differences_at_each_row_s_snapshot_are_found(first, second, faults, dies_at):
    """True if the comparison continues with more records, and if it was killed before its end."""
    with TemporaryDirectory() as folder, ExitStack() as files:
        database, path = Database(), Path(folder, "state")
        reader = Reader(database, files.enter_context(Mortal(path, dies_at)))
        run(database, reader, first)
        while reader.after is not None:
            reader.chunk()
        run(database, None, second)
        topic, before = spoilt(database.topic, faults), list(map(len, database.topic))

        def streamed() -> list[list[Write]]:
            return [[*topic[each], *database.topic[each][before[each] :]] for each in range(PARTITIONS)]

        reader.fold(topic)
        if dies_at is not None:
            with suppress(Killed):
                reader.kept.compare(ORDERS)
            files.close()
            reader.kept = files.enter_context(Mortal(path, None))
            database.end(0, commits=True)
            reader.fold(streamed())
        reader.kept.compare(ORDERS)
        assert reader.kept.rows() == len(reader.seen)
        reader.look()
        for slot in range(3):
            database.end(slot, commits=True)
        reader.fold(streamed())
        reader.kept.compare_again(ORDERS)
        reader.kept.end_look()
        found = {(kind, int(each.key)) for kind in RowDifference for each in reader.kept.samples(kind)}
        assert (found, reader.kept.undecided()) == ({*expected(database, reader, streamed())}, 0)
