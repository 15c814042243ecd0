"""Tables of a source database, read in chunks by their primary key, each chunk at a point of the database's log.

Each chunk is a transaction of its own that only reads: no snapshot is held open for longer, and a killed reader
goes on behind its last chunk. A chunk comes as one value of JSON, so that a driver handles few rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import DecodeError
from msgspec.json import decode

from eosctl.errors import Undecodable, UsageError
from eosctl.model.source_audit import CapturedTable, ColumnKind, SourcePoint, TableColumn
from eosctl.sources.replication_slots import read_slots

Texts = Sequence[str | None]


class SourceChunk(NamedTuple):
    """Rows at one point: the values of the primary key as the database writes them, and those of all columns."""

    point: SourcePoint
    rows: Sequence[tuple[tuple[str, ...], Texts]]


class SourceTables(Protocol):
    """A database that is only read. Values come as texts, in the form that analysis.source_audit compares."""

    @property
    def name(self) -> str:
        """Its name for people, without a password."""

    def tables(self) -> Sequence[tuple[str, str]]:
        """Schema and name of each table of the user."""

    def columns(self, schema: str, name: str) -> tuple[TableColumn, ...]:
        """The columns of a table in their order; none where there is no such table."""

    def parts(self, schema: str, name: str) -> tuple[str, ...]:
        """The names of the partitions of a table, at all levels."""

    def is_via_root(self, publication: str) -> bool | None:
        """True if changes of partitions are published under their table's name; None: the publication does not
        exist."""

    def row_filter(self, table: CapturedTable, publication: str) -> str | None:
        """The condition that rows must meet to be published; None: there is none."""

    def count(self, table: CapturedTable) -> int:
        """How many rows the table has."""

    def chunk(self, table: CapturedTable, after: Sequence[str] | None, limit: int, share: float | None) -> SourceChunk:
        """The next rows behind this key (None: from the first), by the key; share: a random part of them, below 1."""

    def rows_at(self, table: CapturedTable, keys: Sequence[Sequence[str]]) -> SourceChunk:
        """Those rows of the table that have these keys."""

    def position(self) -> int:
        """The end of the database's log now."""

    def confirmed(self, slot: str | None) -> int | None:
        """Up to where the connector says that it has read; None: the database does not know."""

    def words_of(self, position: int) -> str:
        """A position as the database writes it."""


class Session(Protocol):
    """A connection to PostgreSQL."""

    def begin_reading(self) -> None:
        """Begins a transaction that sees one state of the database."""

    def rows(self, statement: str, values: Sequence[str | int] = ()) -> Iterator[Sequence[object]]:
        """The rows of a query in a transaction."""

    def roll_back(self) -> None:
        """Ends the transaction."""


# How PostgreSQL's types are compared. A domain is of its base type.

KINDS: Final[Mapping[str, ColumnKind]] = {
    "bool": ColumnKind.BOOLEAN,
    **dict.fromkeys(("int2", "int4", "int8"), ColumnKind.INTEGER),
    "float4": ColumnKind.REAL,
    "float8": ColumnKind.DOUBLE,
    "numeric": ColumnKind.DECIMAL,
    **dict.fromkeys(("text", "varchar", "citext", "uuid", "json", "jsonb", "xml", "cidr", "macaddr"), ColumnKind.TEXT),
    "bpchar": ColumnKind.PADDED,
    "bytea": ColumnKind.BYTES,
    "date": ColumnKind.DATE,
    "time": ColumnKind.TIME,
    "timestamp": ColumnKind.TIMESTAMP,
    "timestamptz": ColumnKind.INSTANT,
    **dict.fromkeys(("_int2", "_int4", "_int8", "_text", "_varchar", "_bool", "_uuid"), ColumnKind.LIST),
}
_MICROS: Final = (
    "CASE WHEN {0} IS NULL THEN NULL WHEN isfinite({0}) "
    "THEN (extract(epoch from {0})::numeric * 1000000)::bigint::text ELSE 'infinite' END"
)
_EXPRESSIONS: Final[Mapping[ColumnKind, str]] = {
    ColumnKind.BYTES: "encode({0}, 'hex')",
    ColumnKind.DATE: "CASE WHEN {0} IS NULL THEN NULL WHEN isfinite({0}) THEN ({0} - date '1970-01-01')::text "
    "ELSE 'infinite' END",
    ColumnKind.TIME: "(extract(epoch from {0})::numeric * 1000000)::bigint::text",
    ColumnKind.TIMESTAMP: _MICROS,
    ColumnKind.INSTANT: _MICROS,
    ColumnKind.LIST: "to_json({0})::text",
    ColumnKind.OTHER: "CASE WHEN {0} IS NULL THEN NULL ELSE '' END",
}
_TABLES: Final = (
    "SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
    "AND n.nspname NOT LIKE 'pg!_t%' ESCAPE '!' ORDER BY 1, 2"
)
_COLUMNS: Final = (
    "SELECT a.attname::text, coalesce(b.typname, t.typname)::text, coalesce(b.typtype, t.typtype)::text, "
    "CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END, "
    "array_position(string_to_array(i.indkey::text, ' ')::int[], a.attnum::int) "
    "FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
    "LEFT JOIN pg_catalog.pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype "
    "LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary "
    "AND a.attnum = ANY ((string_to_array(i.indkey::text, ' ')::int[])[1:i.indnkeyatts]) "
    "WHERE n.nspname = ? AND c.relname = ? AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_PARTS: Final = (
    "SELECT p.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "JOIN LATERAL pg_catalog.pg_partition_tree(c.oid) t ON true JOIN pg_catalog.pg_class p ON p.oid = t.relid "
    "WHERE n.nspname = ? AND c.relname = ? AND c.relkind = 'p' AND p.oid != c.oid ORDER BY 1"
)
_SNAPSHOT: Final = "SELECT txid_current_snapshot()::text, set_config('row_security', 'off', true)"
"""A policy that hides rows from this user makes a query end with an error then."""
_ROW_FILTER: Final = (
    "SELECT rowfilter::text FROM pg_catalog.pg_publication_tables "
    "WHERE pubname = ? AND schemaname = ? AND tablename = ?"
)
_NOW: Final = "pg_current_wal_insert_lsn()::text"


class PostgresqlTables:
    """A primary server; a standby's snapshots do not name the transactions that run, so it is refused."""

    def __init__(self, name: str, session: Session) -> None:
        self.name, self._session, self.queries = name, session, 0
        if self._all("SELECT pg_is_in_recovery()") != [(False,)]:
            raise UsageError(f"{name} is a standby: what its transactions see is not known", hint="name its primary")

    def _all(self, statement: str, values: Sequence[str | int] = ()) -> list[Sequence[object]]:
        self._session.begin_reading()
        try:
            return self._rows(statement, values)
        finally:
            self._session.roll_back()

    def _rows(self, statement: str, values: Sequence[str | int] = ()) -> list[Sequence[object]]:
        self.queries += 1
        return [tuple(each) for each in self._session.rows(statement, values)]

    def tables(self) -> Sequence[tuple[str, str]]:
        return [(str(schema), str(name)) for schema, name in self._all(_TABLES.replace("%", "%%"))]

    def columns(self, schema: str, name: str) -> tuple[TableColumn, ...]:
        found = []
        for column, kind, form, modifier, key in self._all(_COLUMNS, (schema, name)):
            how = ColumnKind.TEXT if form == "e" else KINDS.get(str(kind), ColumnKind.OTHER)
            digits = _digits(how, int(str(modifier)))
            if how is ColumnKind.DECIMAL and digits is not None and digits < 0:
                how = ColumnKind.OTHER  # Debezium takes -2 for 2046
            found.append(TableColumn(str(column), str(kind), how, digits, None if key is None else int(str(key))))
        return tuple(found)

    def parts(self, schema: str, name: str) -> tuple[str, ...]:
        return tuple(str(part) for (part,) in self._all(_PARTS, (schema, name)))

    def is_via_root(self, publication: str) -> bool | None:
        if self._all("SELECT current_setting('server_version_num')::int >= 130000") != [(True,)]:
            return None
        found = self._all("SELECT pubviaroot FROM pg_catalog.pg_publication WHERE pubname = ?", (publication,))
        return bool(found[0][0]) if found else None

    def row_filter(self, table: CapturedTable, publication: str) -> str | None:
        if self._all("SELECT current_setting('server_version_num')::int >= 150000") != [(True,)]:
            return None
        found = self._all(_ROW_FILTER, (publication, table.schema, table.name))
        return next((str(each[0]) for each in found if each[0] is not None), None)

    def count(self, table: CapturedTable) -> int:
        return int(str(self._all(f"SELECT count(*) FROM {_rows_of(table)}")[0][0]))

    def chunk(self, table: CapturedTable, after: Sequence[str] | None, limit: int, share: float | None) -> SourceChunk:
        key = ", ".join(_quoted(each.name) for each in table.key)
        wanted = "" if after is None else f"WHERE ({key}) > ({_typed(table)})"
        sampled = "" if share is None else f" TABLESAMPLE BERNOULLI ({share * 100!r})"
        return self._at_a_point(table, f"{sampled} {wanted} ORDER BY {key} LIMIT {limit}", tuple(after or ()))

    def rows_at(self, table: CapturedTable, keys: Sequence[Sequence[str]]) -> SourceChunk:
        key = ", ".join(_quoted(each.name) for each in table.key)
        wanted = ", ".join([f"({_typed(table)})"] * len(keys))
        return self._at_a_point(table, f"WHERE ({key}) IN ({wanted})", tuple(text for each in keys for text in each))

    def _at_a_point(self, table: CapturedTable, which: str, values: Sequence[str]) -> SourceChunk:
        """low is read before the snapshot is taken, high when the rows were read."""
        low = self.position()
        texts = [f"{_quoted(each.name)}::text" for each in table.key]
        texts += [_EXPRESSIONS.get(each.kind, "{0}::text").format(_quoted(each.name)) for each in table.columns]
        order = ", ".join(_quoted(each.name) for each in table.key)
        inner = f"SELECT ARRAY[{', '.join(texts)}]::text[] AS r, row_number() OVER (ORDER BY {order}) AS n"
        statement = f"SELECT json_agg(r ORDER BY n)::text FROM ({inner} FROM {_rows_of(table)} {which}) s"
        self._session.begin_reading()
        try:
            [(snapshot, _)] = self._rows(_SNAPSHOT)
            [(text,)] = self._rows(statement, values)
            [(high,)] = self._rows(f"SELECT {_NOW}")
        finally:
            self._session.roll_back()
        return SourceChunk(SourcePoint(low, _lsn(high), str(snapshot)), split_rows(text, len(table.key)))

    def position(self) -> int:
        return _lsn(self._all(f"SELECT {_NOW}")[0][0])

    def confirmed(self, slot: str | None) -> int | None:
        if slot is None:
            return None
        self._session.begin_reading()
        try:
            found = read_slots(self._session.rows).slots.get(slot)
        finally:
            self._session.roll_back()
        return None if found is None else found.confirmed_flush_lsn

    def words_of(self, position: int) -> str:
        return f"LSN {position >> 32:X}/{position & 0xFFFFFFFF:X}"


def split_rows(text: object, width: int) -> list[tuple[tuple[str, ...], Texts]]:
    """Rows of a chunk from their JSON, the key's `width` values first in each. Raises Undecodable."""
    if text is None:
        return []
    try:
        rows = decode(str(text), type=list[list[str | None]])
        return [(tuple(each or "" for each in row[:width]), row[width:]) for row in rows]
    except DecodeError as error:
        raise Undecodable(f"the source's rows are not in the requested form: {error}") from None


def _digits(kind: ColumnKind, modifier: int) -> int | None:
    """The scale of a numeric (11 bits, signed), or the digits of a second's fraction, 6 unless the type says so."""
    if kind is ColumnKind.DECIMAL:
        return None if modifier < 0 else ((modifier - 4 & 0x7FF) ^ 0x400) - 0x400
    return 6 if modifier < 0 else modifier


def _quoted(name: str) -> str:
    """An identifier; braces and percent signs as a statement has them."""
    if "?" in name:
        raise UsageError(f"a name with a question mark cannot be read: {name}", hint="leave this table out")
    return '"' + name.replace('"', '""').replace("{", "{{").replace("}", "}}").replace("%", "%%") + '"'


def _place(table: CapturedTable) -> str:
    return f"{_quoted(table.schema)}.{_quoted(table.name)}"


def _rows_of(table: CapturedTable) -> str:
    """Rows of tables that inherit from this one are theirs; those of partitions are the table's."""
    return _place(table) if table.parts else f"ONLY {_place(table)}"


def _typed(table: CapturedTable) -> str:
    """A stand-in for each value of the key, as text that becomes the column's type."""
    return ", ".join(
        f"(SELECT (json_populate_record(NULL::{_place(table)}, json_build_object({_literal(each.name)}, ?::text)))"
        f".{_quoted(each.name)})"
        if each.kind is ColumnKind.OTHER or each.type not in KINDS or each.type == "citext"
        else f"CAST(? AS {each.type})"
        for each in table.key
    )


def _literal(name: str) -> str:
    return "'" + name.replace("'", "''").replace("{", "{{").replace("}", "}}").replace("%", "%%") + "'"


def _lsn(text: object) -> int:
    high, _, low = str(text).partition("/")
    try:
        return (int(high, 16) << 32) + int(low, 16)
    except ValueError:
        raise Undecodable(f"the server answered {str(text)[:40]!r} where a log sequence number is expected") from None
