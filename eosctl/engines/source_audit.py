"""The comparison of one table with its topic, in a SQLite file: what was read stays there, so memory does not grow.

Rows and records are written as they come, in blocks by the bucket of their key: a hash of it. Once all was read, one
bucket at a time is compared in memory. `pair` has then for each key that differs the image of its row with the number
of the point it was read at (None: no row was read), and the last record that its point saw (`record_offset` None: none
was read); equal keys are only counted. `differing` has the keys that differ as far as it is known now: records that are
read later change both. Each step commits its rows together with the place to resume. `blanks` of a row or a record are
its columns without a comparable value. `raw` is the key as the database writes it, in JSON; None: `key` is.

A record of a key without a row is taken whatever its position: `look` gives such a key a point of its own later, which
decides (rule 4 of docs/source-audit.md). A tombstone has no position and belongs to the record before it.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

from msgspec import Struct, msgpack
from msgspec.json import decode, encode
from msgspec.structs import astuple, replace

from eosctl.analysis.source_audit import (
    RowReader,
    SeenByAll,
    differing_columns,
    is_seen,
)
from eosctl.engines.source_records import (
    BUCKETS,
    Block,
    Later,
    ReadApart,
    RecordFacts,
    RecordsAsked,
    SourceRecord,
    blocks_of,
    key_hash,
    read_records,
)
from eosctl.errors import ConfigError, Refused, Undecodable
from eosctl.model.audit import AuditPlan
from eosctl.model.source_audit import (
    CapturedTable,
    ColumnKind,
    ComparedTable,
    Handling,
    RowDifference,
    RowSample,
    SourcePoint,
    SourcePosition,
    TableColumn,
)
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import LogSource
from eosctl.sources.source_tables import SourceChunk

AT_A_TIME: Final = 500
MOST_SAMPLES: Final = 10
FORM: Final = 3
"""Version of the stored state: a run with another version begins again."""
CACHE_KIB: Final = 64 << 10
ASKABLE: Final = frozenset(
    {ColumnKind.INTEGER, ColumnKind.TEXT, ColumnKind.PADDED, ColumnKind.BOOLEAN, ColumnKind.DECIMAL}
)
"""Kinds whose text is what the database takes as a value."""
_ROW: Final = ("point INTEGER", "image BLOB", "blanks TEXT", "raw TEXT")
_RECORD: Final = (
    "record_image BLOB", "record_blanks TEXT", "topic_partition INTEGER", "record_offset INTEGER", "place INTEGER",
    "xid INTEGER", "is_read INTEGER", "is_later INTEGER",
)  # fmt: skip
_TABLES: Final = f"""
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS point (number INTEGER PRIMARY KEY, low INTEGER, high INTEGER, snapshot TEXT);
CREATE TABLE IF NOT EXISTS block (number INTEGER PRIMARY KEY, bucket INTEGER, of_rows INTEGER, content BLOB);
CREATE INDEX IF NOT EXISTS blocks_of ON block (bucket, of_rows);
CREATE TABLE IF NOT EXISTS pair (key TEXT PRIMARY KEY, {", ".join(_ROW + _RECORD)}) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS differing (key TEXT PRIMARY KEY, kind TEXT, point INTEGER, columns TEXT,
    topic_partition INTEGER, record_offset INTEGER, raw TEXT, doubt INTEGER DEFAULT 0) WITHOUT ROWID;
"""


def _names(columns: Sequence[str]) -> list[str]:
    return [each.partition(" ")[0] for each in columns]


def _set(columns: Sequence[str]) -> str:
    return f"UPDATE pair SET {', '.join(f'{each} = ?' for each in _names(columns))} WHERE key = ?"


_LAST: Final = ", ".join(_names(_RECORD))
_ADD_PAIR: Final = f"INSERT INTO pair VALUES ({', '.join('?' * (1 + len(_ROW + _RECORD)))})"
_SET_ROW, _SET_RECORD = _set(_ROW), _set(_RECORD)
APPLICATION: Final = 0x656F7363
"""`eosc`, the application_id of such a file: any other database of the user's is left alone."""


class _Row(Struct, array_like=True, gc=False):
    """raw are the key's values as the database writes them, in JSON; None: it is one value, and the key."""

    key: str
    point: int
    image: bytes
    blanks: str
    raw: str | None


class _Known(NamedTuple):
    """The stored facts about a key: the number of the point that decides for it, and its last record."""

    point: int | None
    last: SourceRecord | None


_UNKNOWN: Final = _Known(None, None)
_NO_RECORD: Final = (None,) * len(_RECORD)
_NO_ROW: Final = (None,) * len(_ROW)
MOST_BYTES: Final = 8 << 20
"""Of a bucket that is compared at once: a larger one is read several times, for some of its keys each time."""
_ROWS: Final = msgpack.Decoder(list[_Row])
_RECORDS: Final = msgpack.Decoder(list[SourceRecord])


class _Blocks:
    """Rows and records that were read and are not compared yet, by the bucket of their key, in the order of reading."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, blocks: Iterable[Block], *, of_rows: bool) -> None:
        self._database.executemany(
            "INSERT INTO block (bucket, of_rows, content) VALUES (?, ?, ?)",
            ((number, of_rows, content) for number, content in blocks),
        )

    def buckets(self, start: int) -> list[int]:
        """Those that have rows or records, from `start` on."""
        statement = "SELECT DISTINCT bucket FROM block WHERE bucket >= ? ORDER BY bucket"
        return [int(bucket) for (bucket,) in self._database.execute(statement, (start,))]

    def parts(self, bucket: int) -> Iterator[tuple[Iterator[_Row], Iterator[SourceRecord]]]:
        """All rows and records of some of its keys, for all of its keys in turn."""
        statement = "SELECT coalesce(sum(length(content)), 0) FROM block WHERE bucket = ?"
        (size,) = self._database.execute(statement, (bucket,)).fetchone()
        of = 1 + size // MOST_BYTES
        for part in range(of):
            yield self._some(_ROWS, bucket, part, of), self._some(_RECORDS, bucket, part, of)

    def _some(self, decoder: "msgpack.Decoder[list[Kept]]", bucket: int, part: int, of: int) -> "Iterator[Kept]":
        statement = "SELECT content FROM block WHERE bucket = ? AND of_rows = ? ORDER BY number"
        with closing(self._database.cursor()) as cursor:
            for (content,) in cursor.execute(statement, (bucket, decoder is _ROWS)):
                found = decoder.decode(content)
                yield from found if of == 1 else (each for each in found if key_hash(each.key) // BUCKETS % of == part)


Kept = TypeVar("Kept", _Row, SourceRecord)


class Differing(NamedTuple):
    """A key that differs; raw are the values of its primary key as the database writes them."""

    key: str
    raw: tuple[str, ...]


class TableComparison:
    """The file at `path`; `of` names all that must be the same to go on with it. Refused if it is another one."""

    def __init__(self, path: Path | str, of: str, handling: Handling) -> None:
        self._handling = handling
        try:
            self._database = sqlite3.connect(path, isolation_level=None)
            self._require_own(path)
            self._database.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{CACHE_KIB}; "
                f"PRAGMA application_id={APPLICATION}; {_TABLES}"
            )
        except sqlite3.Error as error:
            raise ConfigError(f"cannot keep the comparison in {path}: {error}") from error
        self._blocks, self._doubtful = _Blocks(self._database), Later.SNAPSHOT
        self._seen_by_all: SeenByAll | None = None
        self.topic_id: str | None = None
        before = self.kept("of")
        if before is not None and before != of:
            self._database.close()
            raise Refused(f"{path} holds the comparison of {before}, not of {of}", hint="name another --state file")
        self._keep("of", of)

    def _require_own(self, path: Path | str) -> None:
        """Only an empty file, or one of an earlier comparison: it is emptied, and removed at the end."""
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            self._database.close()
            raise Refused(f"{path} is another database, and no comparison", hint="name a new --state file")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def kept(self, name: str) -> str | None:
        """A value of `keep`; None: it was not kept."""
        found = self._one("SELECT value FROM kept WHERE name = ?", name)
        return None if found is None else str(found[0])

    def _keep(self, name: str, value: object) -> None:
        self._database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, str(value)))

    def _one(self, statement: str, *values: object) -> Sequence[object] | None:
        return self._database.execute(statement, values).fetchone()  # type: ignore[no-any-return]  # sqlite3's rows

    def _number(self, name: str) -> int:
        return int(self.kept(name) or 0)

    def begin(self, table: CapturedTable, topic_id: str | None, *, is_compacted: bool) -> None:
        """Makes room for this table, unless it is the one that the file has begun with.

        It is another one, too, if its columns, the connector's settings, or the topic are not the same any more. Of a
        compacted topic the records before a later one may be gone: what differs then is undecided.
        """
        self._doubtful, self.topic_id = Later.STREAMED if is_compacted else Later.SNAPSHOT, topic_id
        self._table, self._reader, self._seen_by_all = table, RowReader(table, self._handling), None
        this = encode((FORM, table, self._handling, topic_id)).decode()
        if self.kept("table") == this:
            return
        with self._database:
            self._database.execute("BEGIN")
            for each in ("point", "block", "pair", "differing"):
                self._database.execute(f"DELETE FROM {each}")
            self._database.execute("DELETE FROM kept WHERE name != 'of' AND name NOT LIKE 'ended %'")
            self._keep("table", this)

    def ended(self, table: CapturedTable) -> ComparedTable | None:
        """The answer on this table that a run before has kept, so that it is not compared again."""
        text = self.kept(f"ended {table.label}")
        found = None if text is None else decode(text, type=ComparedTable)
        return found if found is not None and found.table == table else None

    def end(self, compared: ComparedTable) -> None:
        self._keep(f"ended {compared.table.label}", encode(compared).decode())

    # -- rows of the table ---------------------------------------------------------------------------------------------

    @property
    def after(self) -> tuple[str, ...] | None:
        """The key that the next chunk begins behind; None: at the first row."""
        text = self.kept("after")
        return None if text is None else decode(text, type=tuple[str, ...])

    @property
    def is_read(self) -> bool:
        """Whether all rows of the table are here."""
        return self.kept("rows read") is not None

    def end_rows(self) -> None:
        self._keep("rows read", 1)

    def add(self, table: CapturedTable, chunk: SourceChunk) -> None:
        """Takes the rows of a chunk, and keeps where it ends."""
        with self._database:
            self._database.execute("BEGIN")
            rows = self._images_of(table, chunk, self._add_point(chunk.point))
            self._blocks.add(blocks_of(rows), of_rows=True)
            self._keep("after", encode(chunk.rows[-1][0]).decode())

    def _images_of(self, table: CapturedTable, chunk: SourceChunk, point: int) -> list[_Row]:
        """Raises Undecodable for a key that is not compared."""
        found = []
        images = self._reader.rows([values for _, values in chunk.rows])
        for (raw, _), (key, image, blanks) in zip(chunk.rows, images, strict=True):
            if key is None:
                raise Undecodable(
                    f"table {table.label}: a value of the primary key cannot be compared: {', '.join(raw)}"
                )
            found.append(_Row(key, point, image, blanks, None if raw == (key,) else encode(raw).decode()))
        return found

    def uncompared(self, table: CapturedTable) -> tuple[str, ...]:
        """Columns of which not all values were compared, with their type, and in how many rows unless it is all."""
        pairs, blank, counted = 0, [0] * len(table.columns), self._equal()
        for mine, its, count in self._database.execute(
            "SELECT blanks, record_blanks, count(*) FROM pair WHERE point IS NOT NULL AND record_image IS NOT NULL "
            "GROUP BY 1, 2"
        ):
            either = _either(mine, its)
            counted[either] = counted.get(either, 0) + count
        for either, count in counted.items():
            pairs, bits = pairs + count, int(either, 16)
            for number in range(len(blank)):
                blank[number] += count if bits >> number & 1 else 0
        return tuple(
            f"{column.name} ({column.type}){'' if count == pairs else f' in {count:,} of {pairs:,} rows'}"
            for column, count in zip(table.columns, blank, strict=True)
            if count
        )

    def _add_point(self, point: SourcePoint) -> int:
        self._seen_by_all = None
        cursor = self._database.execute("INSERT INTO point (low, high, snapshot) VALUES (?, ?, ?)", point)
        return int(cursor.lastrowid or 0)

    def last_point(self) -> SourcePoint | None:
        found = self._one("SELECT low, high, snapshot FROM point ORDER BY high DESC LIMIT 1")
        return None if found is None else SourcePoint(*found)  # type: ignore[arg-type]  # as `_add_point` wrote it

    def rows(self) -> int:
        """How many rows were read of the table, without those of the second look."""
        return self._number("rows")

    def keys(self) -> int:
        return sum(self._equal().values()) + self._count("pair WHERE record_image IS NOT NULL")

    def _equal(self) -> dict[str, int]:
        """How many keys have a row and an equal record, by the blanks of both."""
        return decode(self.kept("equal") or "{}", type=dict[str, int])

    def _count(self, what: str) -> int:
        found = self._one(f"SELECT count(*) FROM {what}")
        return 0 if found is None else int(str(found[0]))

    # -- records of the topic ------------------------------------------------------------------------------------------

    def next_offset(self, partition: int) -> int:
        """The first offset of the partition that was not read."""
        return self._number(f"offset {partition}")

    def is_short_of(self, ends: Mapping[int, int]) -> bool:
        """Whether any partition was not read up to this offset."""
        return any(self.next_offset(partition) < end for partition, end in ends.items())

    def begin_at(self, partition: int, log_start: int) -> int:
        """The offset to resume at; notes records that were deleted between two steps."""
        next_offset = self.next_offset(partition)
        if self.kept(f"first {partition}") is None:
            self._keep(f"first {partition}", log_start)
        if 0 < next_offset < log_start:
            self._keep("gap", f"offsets {next_offset} to {log_start - 1} of partition {partition} were deleted unread")
        return max(log_start, next_offset)

    def ranges(self, topic: str) -> tuple[OffsetRange, ...]:
        """The ranges of the topic that were read."""
        firsts = self._database.execute("SELECT substr(name, 7), value FROM kept WHERE name LIKE 'first %'").fetchall()
        read = [(int(partition), int(first), self.next_offset(int(partition))) for partition, first in firsts]
        return tuple(OffsetRange(topic, *each) for each in sorted(read) if each[1] < each[2])

    def gap(self) -> str | None:
        """Records that were deleted before they were read, but after others of their partition were."""
        return self.kept("gap")

    def highest(self) -> int:
        """The highest position of a change that was streamed to any partition."""
        found = self._one("SELECT max(CAST(value AS INTEGER)) FROM kept WHERE name LIKE 'order %'")
        return 0 if found is None or found[0] is None else int(str(found[0]))

    def note_order(self, partition: int) -> int:
        """The highest position of a change that was streamed to this partition."""
        return self._number(f"order {partition}")

    def unusable(self) -> Mapping[str, int]:
        """Records that are none of a row's, by the reason."""
        rows = self._database.execute("SELECT substr(name, 10), value FROM kept WHERE name LIKE 'unusable %'")
        return {str(name): int(value) for name, value in rows}

    @property
    def has_positions(self) -> bool:
        """True if every record of a row has the position of its change."""
        return self.kept("without position") is None

    @property
    def is_comparing(self) -> bool:
        """Whether rows and records were compared already, or some of them."""
        return self._number("merged") > 0

    def fold(self, source: LogSource, plan: AuditPlan, offsets: OffsetRange) -> Iterator[int]:
        """Takes the committed records of the range, and gives how many offsets each step has gone on."""
        done = offsets.start
        for records, facts in read_records(self._reader, source, plan, offsets):
            with self._database:
                self._database.execute("BEGIN")
                merged = self._number("merged")
                if merged < BUCKETS:
                    self._blocks.add(blocks_of(records, merged), of_rows=False)
                if merged:
                    self._continue_pairs(records)
                self._note(facts)
            yield facts.end - done
            done = facts.end

    def fold_apart(
        self, read_apart: ReadApart, plan: AuditPlan, ranges: Sequence[OffsetRange], advance: Callable[[int], None]
    ) -> None:
        """Takes the records of these ranges, before anything is compared; a range is taken as a whole."""
        asked = RecordsAsked(self._table, self._handling, SeenByAll.of(self._points()))
        for blocks, facts in read_apart(plan, asked, ranges, advance):
            with self._database:
                self._database.execute("BEGIN")
                self._blocks.add(blocks, of_rows=False)
                self._note(facts)

    def _note(self, facts: RecordFacts) -> None:
        partition = facts.partition
        self._keep(f"offset {partition}", facts.end)
        self._keep(f"order {partition}", max(facts.highest, self.note_order(partition)))
        if facts.is_without_position:
            self._keep("without position", 1)
        for reason, count in facts.unusable.items():
            self._keep(f"unusable {reason}", count + self._number(f"unusable {reason}"))

    def _continue_pairs(self, read: Sequence[SourceRecord]) -> None:
        """Takes the records of those keys that were kept because they differ."""
        if self._one("SELECT 1 FROM pair LIMIT 1") is None:
            return
        known = self._known_of(sorted({each.key for each in read}))
        last: dict[str, SourceRecord] = {}
        for each in read:
            found = known.get(each.key)
            if found is not None:
                last[each.key] = self._next(each, found.point, last.get(each.key, found.last))
        self._database.executemany(_SET_RECORD, [(*astuple(each)[1:], key) for key, each in last.items()])

    def _next(self, record: SourceRecord, point: int | None, before: SourceRecord | None) -> SourceRecord:
        """The key's last record once this one is taken; none counts behind the first that its point did not see.

        Offsets order the records of one partition only. Of a key with records in several ones positions decide.
        """
        position, elsewhere = record.position, before is not None and before.partition != record.partition
        if before is not None and before.is_later and not elsewhere:
            return before
        if before is not None and elsewhere and (position is None or before.place is None):
            return record.without_row(Later.UNORDERED)
        if position is not None and point is not None and not self._is_seen(position, point):
            later = Later.SNAPSHOT if position.is_read else Later.STREAMED
            return record.without_row(later) if before is None else replace(before, is_later=later)
        if before is not None and elsewhere and position is not None and position.order < (before.place or 0):
            return before
        if position is None and record.image is None and before is not None:
            place = {"partition": record.partition, "offset": record.offset}
            return replace(before, image=None, blanks="0", **place, is_later=Later.NONE)
        return record

    def _is_seen(self, position: SourcePosition, point: int) -> bool:
        """Most records are older than all points: these need no look at their own one."""
        if self._seen_by_all is None:
            self._seen_by_all = SeenByAll.of(self._points())
        return self._seen_by_all.has(position) or is_seen(position, self._point(point))

    def _points(self) -> Iterator[SourcePoint]:
        with closing(self._database.cursor()) as cursor:
            for point in cursor.execute("SELECT low, high, snapshot FROM point"):
                yield SourcePoint(*point)

    def _point(self, number: int) -> SourcePoint:
        found = self._one("SELECT low, high, snapshot FROM point WHERE number = ?", number)
        return SourcePoint(*found)  # type: ignore[misc]  # as `_add_point` wrote it

    def _known_of(self, keys: Sequence[str]) -> dict[str, "_Known"]:
        """The stored facts about these keys; the point of the second look at a key takes precedence over the point of
        its row."""
        found = {}
        for key, point, *last in self._among(f"SELECT key, point, {_LAST} FROM pair WHERE key IN ", keys):
            found[str(key)] = _Known(point, None if last[3] is None else SourceRecord(str(key), *last))  # type: ignore[arg-type]  # as they were written
        if self.has_differing():
            for key, point in self._among("SELECT key, point FROM differing WHERE point != 0 AND key IN ", keys):
                found[str(key)] = found.get(str(key), _UNKNOWN)._replace(point=point)  # type: ignore[arg-type]  # ours
        return found

    def _among(self, statement: str, keys: Sequence[str]) -> Iterator[Sequence[object]]:
        for begin in range(0, len(keys), AT_A_TIME):
            some = keys[begin : begin + AT_A_TIME]
            yield from self._database.execute(f"{statement} ({','.join('?' * len(some))})", some)

    # -- what differs --------------------------------------------------------------------------------------------------

    def _merge(self, columns: Sequence[TableColumn]) -> None:
        """Compares rows and records, a bucket at a time: `pair` gets the keys that differ, the others are counted."""
        for bucket in self._blocks.buckets(self._number("merged")):
            with self._database:
                self._database.execute("BEGIN")
                for rows, records in self._blocks.parts(bucket):
                    self._merge_some({each.key: each for each in rows}, records, columns)
                self._keep("merged", bucket + 1)
        self._keep("merged", BUCKETS)

    def _merge_some(
        self, rows: Mapping[str, _Row], records: Iterator[SourceRecord], columns: Sequence[TableColumn]
    ) -> None:
        last: dict[str, SourceRecord] = {}
        for each in records:
            row = rows.get(each.key)
            last[each.key] = self._next(each, None if row is None else row.point, last.get(each.key))
        equal, found = self._equal(), list[tuple[object, ...]]()
        for key, row in rows.items():
            its = last.get(key)
            if its is None or its.image is None or (its.image != row.image and _differs(columns, row, its)):
                found.append((*astuple(row), *(_NO_RECORD if its is None else astuple(its)[1:])))
            else:
                either = _either(row.blanks, its.blanks)
                equal[either] = equal.get(either, 0) + 1
        for key, its in last.items():
            if key not in rows and (its.image is not None or its.is_later == Later.UNORDERED):
                found.append((key, *_NO_ROW, *astuple(its)[1:]))
        self._database.executemany(_ADD_PAIR, found)
        self._keep("equal", encode(equal).decode())
        self._keep("rows", len(rows) + self.rows())

    def compare(self, table: CapturedTable, sample: int | None = None) -> None:
        """Finds all keys that differ, those of the topic without a row among them; of the latter so many at random."""
        self._merge(table.columns)
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute("DELETE FROM differing")
            self._database.execute(
                "INSERT INTO differing (key, kind, point, topic_partition, record_offset, raw, doubt) "
                "SELECT key, ?, point, topic_partition, record_offset, raw, coalesce(is_later, 0) >= ? "
                "FROM pair WHERE point IS NOT NULL AND record_image IS NULL",
                (RowDifference.MISSING, self._doubtful),
            )
            self._database.execute(
                "INSERT INTO differing (key, kind, point, topic_partition, record_offset, doubt) "
                "SELECT key, ?, 0, topic_partition, record_offset, is_later = ? FROM pair "
                "WHERE point IS NULL AND (record_image IS NOT NULL OR is_later = ?)"
                + ("" if sample is None else f" ORDER BY random() LIMIT {sample}"),
                (RowDifference.EXTRA, Later.UNORDERED, Later.UNORDERED),
            )
            self._database.executemany(
                "INSERT INTO differing (key, kind, point, columns, topic_partition, record_offset, raw, doubt) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                self._with_other_values(table),
            )

    def _with_other_values(self, table: CapturedTable) -> Iterator[tuple[object, ...]]:
        statement = (
            "SELECT key, point, raw, image, record_image, topic_partition, record_offset, is_later FROM pair "
            "WHERE point IS NOT NULL AND record_image != image"
        )
        with closing(self._database.cursor()) as cursor:
            for key, point, raw, mine, its, partition, offset, is_later in cursor.execute(statement):
                columns = differing_columns(table.columns, mine, its)
                if columns:
                    doubt = is_later >= self._doubtful
                    yield key, RowDifference.DIFFERING, point, encode(columns).decode(), partition, offset, raw, doubt

    def compare_again(self, table: CapturedTable) -> None:
        """The same for those keys with a row that differed, after more records were read.

        Where records have no positions, a key with another last record than before is left undecided.
        """
        rows = self._database.execute(
            "SELECT d.key, p.image, p.record_image, p.topic_partition, p.record_offset, p.is_later, d.record_offset "
            "FROM differing d JOIN pair p ON p.key = d.key WHERE d.kind != ? AND d.doubt = 0",
            (RowDifference.EXTRA,),
        ).fetchall()
        changes, equal = [], []
        for key, mine, its, partition, offset, is_later, before in rows:
            columns = () if its is None else differing_columns(table.columns, mine, its)
            if its is not None and not columns:
                equal.append((key,))
            kind = RowDifference.MISSING if its is None else RowDifference.DIFFERING
            doubt = (is_later or 0) >= self._doubtful or (offset != before and not self.has_positions)
            changes.append((kind, encode(columns).decode(), partition, offset, doubt, key))
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                "UPDATE differing SET kind = ?, columns = ?, topic_partition = ?, record_offset = ?, doubt = ? "
                "WHERE key = ?",
                changes,
            )
            self._database.executemany("DELETE FROM differing WHERE key = ?", equal)

    def differing(self, table: CapturedTable, kinds: Sequence[RowDifference]) -> Iterator[list[Differing]]:
        """The keys that differ so, a few at a time, and only those that the database can be asked for."""
        askable = all(each.kind in ASKABLE for each in table.key)
        statement = "SELECT key, raw FROM differing WHERE kind = ? AND doubt = 0 AND key > ? ORDER BY key LIMIT ?"
        for kind in kinds:
            last = ""
            while rows := self._database.execute(statement, (kind, last, AT_A_TIME)).fetchall():
                last = rows[-1][0]
                has_raw = askable or kind is not RowDifference.EXTRA
                some = [Differing(key, _raw(table, key, raw)) for key, raw in rows if raw is not None or has_raw]
                if some:
                    yield some

    def has_differing(self) -> bool:
        return self._one("SELECT 1 FROM differing LIMIT 1") is not None

    def count(self, kind: RowDifference) -> int:
        return self._count(f"differing WHERE kind = '{kind}' AND doubt = 0")

    def undecided(self) -> int:
        return self._count("differing WHERE doubt != 0")

    def samples(self, kind: RowDifference) -> tuple[RowSample, ...]:
        statement = (
            "SELECT key, columns, topic_partition, record_offset FROM differing WHERE kind = ? AND doubt = 0 "
            "ORDER BY key LIMIT ?"
        )
        return tuple(
            RowSample(key, () if columns is None else decode(columns, type=tuple[str, ...]), partition, offset)
            for key, columns, partition, offset in self._database.execute(statement, (kind, MOST_SAMPLES))
        )

    def doubt_behind(self, position: int) -> None:
        """Leaves undecided what differs at a point that the connector has not passed."""
        with self._database:
            self._database.execute(
                "UPDATE differing SET doubt = 1 WHERE point IN (SELECT number FROM point WHERE high > ?)", (position,)
            )

    def doubt(self, kind: RowDifference) -> None:
        """Leaves undecided all keys that differ so."""
        with self._database:
            self._database.execute("UPDATE differing SET doubt = 1 WHERE kind = ?", (kind,))

    # -- a second look -------------------------------------------------------------------------------------------------

    def look(self, table: CapturedTable, keys: Sequence[Differing], chunk: SourceChunk) -> None:
        """These keys are compared at the chunk's point from now on: those that have a row there are not extra.

        A key whose row, or whose last record, is another one than before is left undecided. A row that was not read
        before is compared like the others.
        """
        point = self._add_point(chunk.point)
        found = {each.key: each for each in self._images_of(table, chunk, point)}
        names = [each.key for each in keys]
        rows = {
            str(key): image
            for key, image in self._among("SELECT key, image FROM pair WHERE point IS NOT NULL AND key IN ", names)
        }
        last = {key: each.last for key, each in self._known_of(names).items() if each.last is not None}
        new = [found[each] for each in names if each in found and each not in rows]
        unseen = [
            key for key, each in last.items() if each.position is not None and not is_seen(each.position, chunk.point)
        ]
        changed = [key for key in rows if key not in found or found[key].image != rows[key]]
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                "UPDATE differing SET point = ? WHERE key = ?", [(point, each) for each in names]
            )
            self._database.executemany(
                "UPDATE differing SET doubt = 1 WHERE key = ?", [(each,) for each in (*unseen, *changed)]
            )
            self._database.executemany(_SET_ROW, [(*astuple(each)[1:], each.key) for each in new])
            self._database.executemany(
                "UPDATE differing SET kind = ?, raw = ? WHERE key = ?",
                [(RowDifference.DIFFERING, each.raw, each.key) for each in new],
            )

    def end_look(self) -> None:
        """Extra keys without a second look are undecided; one that its last record has deleted is none."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute(
                "DELETE FROM differing WHERE kind = ? AND key IN (SELECT key FROM pair WHERE record_image IS NULL)",
                (RowDifference.EXTRA,),
            )
            self._database.execute(
                "UPDATE differing SET doubt = 1 WHERE kind = ? AND point = 0", (RowDifference.EXTRA,)
            )


def _either(mine: str, its: str) -> str:
    """The blanks of one or the other."""
    return mine if mine == its else format(int(mine, 16) | int(its, 16), "x")


def _differs(columns: Sequence[TableColumn], row: _Row, its: SourceRecord) -> bool:
    return bool(differing_columns(columns, row.image, its.image or b""))


def _raw(table: CapturedTable, key: str, raw: str | None) -> tuple[str, ...]:
    if raw is not None:
        return decode(raw, type=tuple[str, ...])
    return (key,) if len(table.key) == 1 else decode(key, type=tuple[str, ...])
