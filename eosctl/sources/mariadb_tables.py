"""Tables of a MariaDB or MySQL, by PyMySQL. Each chunk is a consistent snapshot whose place in the binary log is known.

A MariaDB names that place. A MySQL does not: there a snapshot is taken at a moment in which no transaction commits.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import sleep
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from eosctl.codecs.client_properties import Lookup, resolve_references
from eosctl.errors import NotAuthorized, NotInstalled, Undecodable, Unreachable, UsageError
from eosctl.model.client_properties import REFERENCE
from eosctl.model.source_audit import UNSIGNED, CapturedTable, ColumnKind, SourcePoint, TableColumn
from eosctl.sources.source_tables import SourceChunk, Texts

SCHEMES: Final = ("mariadb", "mysql")
PLACE_BITS: Final = 40
MOST_TRIES: Final = 1000
PAUSE_S: Final = 0.002
BYTES: Final = ColumnKind.BYTES
DENIED: Final = frozenset({1044, 1045, 1142, 1143, 1227, 1370})
# A float is left out: a snapshot of Debezium has six digits of it, a streamed change all of them.
KINDS: Final[Mapping[str, ColumnKind]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", UNSIGNED, "year"), ColumnKind.INTEGER),
    "double": ColumnKind.DOUBLE,
    "decimal": ColumnKind.DECIMAL,
    **dict.fromkeys(("varchar", "tinytext", "text", "mediumtext", "longtext", "json", "uuid"), ColumnKind.TEXT),
    **dict.fromkeys(("enum", "set"), ColumnKind.TEXT),
    "char": ColumnKind.PADDED,
    **dict.fromkeys(("varbinary", "tinyblob", "blob", "mediumblob", "longblob"), ColumnKind.BYTES),
    "date": ColumnKind.DATE,
    "time": ColumnKind.TIME,
    "datetime": ColumnKind.TIMESTAMP,
    "timestamp": ColumnKind.INSTANT,
}
_KNOWN: Final = "IF({{0}} IS NULL, NULL, COALESCE(CAST({} AS CHAR), 'none'))"
"""A function has no result for a zero date: Debezium has none either, and writes NULL or the epoch."""
_MICROS: Final = _KNOWN.format("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {0})")
_EXPRESSIONS: Final[Mapping[ColumnKind, str]] = {
    ColumnKind.BYTES: "LOWER(HEX({0}))",
    ColumnKind.DATE: _KNOWN.format("DATEDIFF({0}, '1970-01-01')"),
    ColumnKind.TIME: "CAST(TIME_TO_SEC({0}) * 1000000 AS SIGNED)",
    ColumnKind.TIMESTAMP: _MICROS,
    ColumnKind.INSTANT: _MICROS,
    ColumnKind.OTHER: "IF({0} IS NULL, NULL, '')",
}
_SYSTEM: Final = "('mysql', 'information_schema', 'performance_schema', 'sys')"
_COLUMNS: Final = (
    "SELECT c.COLUMN_NAME, IF(c.COLUMN_TYPE LIKE 'bigint%% unsigned%%', 'bigint unsigned', c.DATA_TYPE), "
    "COALESCE(c.DATETIME_PRECISION, c.NUMERIC_SCALE), k.ORDINAL_POSITION "
    "FROM information_schema.COLUMNS c LEFT JOIN information_schema.KEY_COLUMN_USAGE k "
    "ON k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME "
    "AND k.CONSTRAINT_NAME = 'PRIMARY' WHERE c.TABLE_SCHEMA = %s AND c.TABLE_NAME = %s ORDER BY c.ORDINAL_POSITION"
)


class MariadbTables:
    """A server with a binary log; texts are read as they are, in UTC."""

    kinds: ClassVar = KINDS

    def __init__(self, connection: Any, name: str) -> None:  # noqa: ANN401  # PyMySQL has no types
        self._connection, self.name, self.queries = connection, name, 0
        self._rows("SET time_zone = '+00:00'")
        self._base = ""

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        import pymysql

        self.queries += 1
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement, values)
                return [tuple(each) for each in cursor.fetchall()]
        except pymysql.err.MySQLError as error:
            raise _failure(error, self.name) from error

    def is_mariadb(self) -> bool:
        return "MariaDB" in _text(self._rows("SELECT version()")[0][0])

    def tables(self) -> Sequence[tuple[str, str]]:
        return self._rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' "
            f"AND TABLE_SCHEMA NOT IN {_SYSTEM} ORDER BY 1, 2"
        )

    def columns(self, schema: str, name: str) -> tuple[TableColumn, ...]:
        return tuple(
            TableColumn(
                column,
                kind,
                self.kinds.get(kind, ColumnKind.OTHER),
                None if digits is None else int(digits),
                None if key is None else int(key),
            )
            for column, kind, digits, key in self._rows(_COLUMNS, (schema, name))
        )

    def parts(self, schema: str, name: str) -> tuple[str, ...]:
        """Its partitions are no tables."""
        return ()

    def is_via_root(self, publication: str) -> bool | None:
        return None

    def row_filter(self, table: CapturedTable, publication: str) -> str | None:
        return None

    def count(self, table: CapturedTable) -> int:
        return int(self._rows(f"SELECT count(*) FROM {_place(table)}")[0][0])

    def chunk(self, table: CapturedTable, after: Sequence[str] | None, limit: int, share: float | None) -> SourceChunk:
        order = ", ".join(map(_ordered, table.key))
        wanted, values = ("1 = 1", []) if after is None else _behind(table, after)
        if share is not None:
            wanted += f" AND RAND() < {share!r}"
        return self._at_a_point(table, f"WHERE {wanted} ORDER BY {order} LIMIT {limit}", values)

    def rows_at(self, table: CapturedTable, keys: Sequence[Sequence[str]]) -> SourceChunk:
        order = ", ".join(_quoted(each.name) for each in table.key)
        one = f"({', '.join(map(_typed, table.key))})"
        wanted = f"WHERE ({order}) IN ({', '.join([one] * len(keys))})"
        return self._at_a_point(table, wanted, [text for each in keys for text in each])

    def _at_a_point(self, table: CapturedTable, which: str, values: Sequence[str]) -> SourceChunk:
        texts = [_EXPRESSIONS[BYTES] if each.kind is BYTES else "{0}" for each in table.key]
        texts = [text.format(_quoted(each.name)) for text, each in zip(texts, table.key, strict=True)]
        texts += [_EXPRESSIONS.get(each.kind, "{0}").format(_quoted(each.name)) for each in table.columns]
        try:
            place = self._begin_snapshot()
            found = self._rows(f"SELECT {', '.join(texts)} FROM {_place(table)} {which}", values)
        finally:
            self._rows("ROLLBACK")
        width = len(table.key)
        rows: list[tuple[tuple[str, ...], Texts]] = []
        for row in found:
            read = [None if each is None else _text(each) for each in row]
            rows.append((tuple(each or "" for each in read[:width]), read[width:]))
        return SourceChunk(SourcePoint(place, place), rows)

    def _begin_snapshot(self) -> int:
        """The server freezes binlog_snapshot_* with the snapshot: all that lies before it is seen, and nothing else."""
        self._take_snapshot()
        return self.position()

    def _take_snapshot(self) -> None:
        self._rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self._rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    def position(self) -> int:
        found = {str(name).lower(): str(value) for name, value in self._rows("SHOW STATUS LIKE 'binlog_snapshot_%%'")}
        return self._order(found.get("binlog_snapshot_file", ""), found.get("binlog_snapshot_position", ""))

    def _order(self, file: str, place: str) -> int:
        self._base, _, number = file.rpartition(".")
        if not number.isdecimal() or not str(place).isdecimal():
            raise UsageError(f"{self.name} does not report its binary log position", hint="is log_bin on?")
        return (int(number) << PLACE_BITS) + int(place)

    def confirmed(self, slot: str | None) -> int | None:
        """A MariaDB does not know what its readers have committed."""
        return None

    def words_of(self, position: int) -> str:
        return f"{self._base}.{position >> PLACE_BITS:06} position {position & (1 << PLACE_BITS) - 1}"


class MysqlTables(MariadbTables):
    """A MySQL with GTIDs: each snapshot is taken while no transaction commits, or not at all.

    1. A transaction owns its GTID from before it is written to the binary log until its engine has committed it. So if
       no GTID is owned after the end of the log was read, a snapshot sees all that lies before that end.
    2. If the log ends there after the snapshot, too, nothing was written meanwhile: the snapshot sees nothing else.
    """

    kinds: ClassVar = {**KINDS, "json": ColumnKind.OTHER}  # the server and Debezium write it with other spaces

    def __init__(self, connection: Any, name: str) -> None:  # noqa: ANN401  # PyMySQL has no types
        super().__init__(connection, name)
        [(mode, version)] = self._rows("SELECT @@GLOBAL.gtid_mode, version()")
        if _text(mode) != "ON":
            raise UsageError(
                f"{name} has gtid_mode={_text(mode)}: the binary log position of its snapshots is not known",
                hint="ask a server with gtid_mode=ON",
            )
        is_older = [int(each) for each in _text(version).split(".")[:2]] < [8, 4]
        self._end = f"SHOW {'MASTER' if is_older else 'BINARY LOG'} STATUS"

    def _begin_snapshot(self) -> int:
        for _ in range(MOST_TRIES):
            place = self.position()
            if not any(_text(owned) for (owned,) in self._rows("SELECT @@GLOBAL.gtid_owned")):
                self._take_snapshot()
                if self.position() == place:
                    return place
                self._rows("ROLLBACK")
            sleep(PAUSE_S)
        raise Undecodable(
            f"{self.name} committed transactions without a pause: none of {MOST_TRIES} snapshots has a known position",
            hint="compare at a time when the database commits fewer transactions",
        )

    def position(self) -> int:
        found = self._rows(self._end)
        return self._order(_text(found[0][0]), _text(found[0][1])) if found else self._order("", "")


@contextmanager
def mariadb_tables(dsn: str, lookup: Lookup, timeout_s: float) -> Iterator[MariadbTables]:
    """The server of mariadb://USER:${env:NAME}@HOST:PORT/, or mysql. Raises UsageError for a password in it."""
    try:
        import pymysql
    except ImportError as error:
        raise NotInstalled("a source in MariaDB", "mariadb", error) from error
    references = [found[0] for found in REFERENCE.finditer(dsn)]
    numbers = iter(range(len(references)))
    url = urlsplit(REFERENCE.sub(lambda _: f"reference{next(numbers)}x", dsn))
    given = unquote(url.password or "")
    stands_in = {f"reference{number}x": each for number, each in enumerate(references)}
    if given and given not in stands_in:
        raise UsageError(
            "the password is in the source's URL, where other users can read it", hint="write ${env:NAME} in its place"
        )
    resolved = resolve_references({"password": stands_in.get(given, "")}, lookup, origin="the source's URL")
    host, port = url.hostname or "127.0.0.1", url.port or 3306
    name = f"{url.scheme}://{host}:{port}"
    try:
        connection = pymysql.connect(
            host=host, port=port, user=unquote(url.username or ""), password=resolved["password"], charset="utf8mb4",
            autocommit=True, conv={}, connect_timeout=max(1, round(timeout_s)), read_timeout=timeout_s,
            write_timeout=timeout_s,
        )  # fmt: skip
    except pymysql.err.MySQLError as error:
        raise _failure(error, name) from error
    with connection:
        yield _tables_of(connection, name)


def _tables_of(connection: Any, name: str) -> MariadbTables:  # noqa: ANN401  # PyMySQL has no types
    made = MariadbTables(connection, name)
    return made if made.is_mariadb() else MysqlTables(connection, name)


def _failure(error: Exception, name: str) -> Exception:
    number, text = (*error.args, "")[:2] if error.args else (0, "")
    if number in DENIED:
        return NotAuthorized(principal="the database's user", operation="read", resource=name, hint=str(text))
    if isinstance(number, int) and number >= 2000:
        hint = "check host and port, and that the server runs"
        return Unreachable(f"source database {name} cannot be reached: {text}", hint=hint)
    return Undecodable(f"source database {name} answered with an error: {text} ({number})")


def _behind(table: CapturedTable, after: Sequence[str]) -> tuple[str, list[str]]:
    """Keys behind this one, in the form that the server finds by its index: a > x OR (a = x AND b > y)."""
    parts, values = [], []
    for number, column in enumerate(table.key):
        equal = [f"{_ordered(each)} = {_typed(each)}" for each in table.key[:number]]
        parts.append(" AND ".join([*equal, f"{_ordered(column)} > {_typed(column)}"]))
        values += list(after[: number + 1])
    return f"({' OR '.join(f'({each})' for each in parts)})", values


def _ordered(column: TableColumn) -> str:
    """The server orders enums and sets by their numbers, and compares them with a text by their texts."""
    return f"CONCAT({_quoted(column.name)})" if column.type in {"enum", "set"} else _quoted(column.name)


def _typed(column: TableColumn) -> str:
    """A stand-in for a value of the key: compared with a text, the server takes large numbers for double ones."""
    return _STAND_INS.get(column.type, "UNHEX(%s)" if column.kind is BYTES else "%s")


_STAND_INS: Final = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), "CAST(%s AS SIGNED)"),
    UNSIGNED: "CAST(%s AS UNSIGNED)",
    "decimal": "CAST(%s AS DECIMAL(65, 30))",
    "double": "CAST(%s AS DOUBLE)",
}


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _place(table: CapturedTable) -> str:
    return f"{_quoted(table.schema)}.{_quoted(table.name)}"
