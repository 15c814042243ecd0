"""A ledger in PostgreSQL, or a source there that is read, through psycopg 3. No password is in the URL: it is a
reference, or libpq finds it.

1. The transaction begins with an advisory lock on the job: those who write the same job wait for each other, also for
   one whose client is gone and whose COMMIT is still on its way. The lock only orders them, it decides nothing.
2. READ COMMITTED for writing, REPEATABLE READ for reading, whatever the server's default is; a server that does not
   wait for its disk (synchronous_commit = off) has to, for these transactions.
3. Nothing depends on the session, so a pooler that gives each transaction another connection may stand between.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from eosctl.codecs.config_providers import Lookup, resolve_references
from eosctl.errors import ConfigError, EosctlError, NotAuthorized, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.ledger.bounded_connection import Bounds, Late, TooLarge, bounded_connection
from eosctl.ledger.store import BUSY_S, Dialect, Row, Value
from eosctl.model.client_properties import REFERENCE

if TYPE_CHECKING:
    import psycopg

DIALECT: Final = Dialect(
    blob="BYTEA",
    text='TEXT COLLATE "C"',
    now_ms="CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
)
SECRETS: Final = ("password", "sslpassword")
ROWS_AT_A_TIME: Final = 20
MOST_ROWS: Final = 10_000_000
"""Of one query; a source and what is held whole have fewer."""
MOST_ROWS_HELD: Final = 1_000_000
MOST_BYTES: Final = 64 << 20
"""Of the answers of one query, or of one statement."""
MOST_BYTES_STREAMED: Final = 1 << 30
"""Of each fetch, where the rows are carried state: one may have 512 MiB."""
MOST_WORDS: Final = 300
KEEPALIVES: Final = {"tcp_keepalives_idle": 60, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 6}
"""A machine that vanishes in the middle of a commit holds its job's lock for two minutes, not for the usual two hours.
The server's timeout for idle transactions is of no use here: it is not set again after a pipeline of statements."""

_STAND_IN: Final = re.compile(r"(?:eosctlreference\d+x)+")
_BY_REFERENCE: Final = (
    "write ${env:NAME} or ${file:PROPERTIES:KEY} in its place, "
    "or leave it out and use PGPASSWORD, ~/.pgpass or a service"
)

T = TypeVar("T")


class Called(NamedTuple):
    """What errors call the URL, and the database that it leads to."""

    url: str = "store"
    database: str = "ledger"
    is_short: bool = False
    """Whether the timeout is that of the whole connection, not of each statement."""


LEDGER: Final = Called()


def postgresql_store(url: str, lookup: Lookup, timeout_s: float, called: Called = LEDGER) -> "PostgresqlStore":
    """The store that a libpq URL names, with its references resolved. Raises UsageError for a password in it."""
    _require_psycopg(called)
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    references: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        references.append(match[0])
        return f"eosctlreference{len(references) - 1}x"

    try:
        given = conninfo_to_dict(REFERENCE.sub(stand_in, url))
    except ProgrammingError:
        raise UsageError(
            f"the {called.url} is no URL that PostgreSQL understands", hint="special characters: %XX"
        ) from None
    if any("@" in str(given.get(part, "")) for part in ("host", "dbname")) or not _is_port(str(given.get("port", ""))):
        # A password with a / in it ends the host for libpq: its parts would be shown as port and database.
        raise UsageError(f"the {called.url} is no URL that PostgreSQL understands", hint="special characters: %XX")
    for secret in SECRETS:
        if given.get(secret) and not _STAND_IN.fullmatch(str(given[secret])):
            raise UsageError(
                f"the {secret} stands in the {called.url}'s URL, where others can read it", hint=_BY_REFERENCE
            )
    parameters = {key: str(value) for key, value in given.items() if value is not None}
    for number, reference in enumerate(references):
        name = f"eosctlreference{number}x"
        parameters = {key: value.replace(name, reference) for key, value in parameters.items()}
    resolved = resolve_references(parameters, lookup, origin=f"the {called.url}'s URL") if references else parameters
    hosts = 1 + resolved.get("host", "").count(",")
    each_host = {"connect_timeout": str(max(2, round(timeout_s / hosts)))}
    return PostgresqlStore({**each_host, **resolved}, called.database, timeout_s, is_short=called.is_short)


def _is_port(text: str) -> bool:
    return all(not each or _STAND_IN.fullmatch(each) or each.isdecimal() for each in text.split(","))


def _require_psycopg(called: Called) -> None:
    try:
        import psycopg  # noqa: F401  # is it there?
    except ImportError as error:
        raise ConfigError(
            f"a {called.url} in PostgreSQL needs psycopg: {error}", hint="pip install 'eosctl[postgres]'"
        ) from error


class PostgresqlStore:
    """The database with these connection parameters (libpq's); `what` is what errors call it."""

    def __init__(
        self,
        parameters: Mapping[str, str],
        what: str = LEDGER.database,
        timeout_s: float = 10.0,
        *,
        is_short: bool = False,
    ) -> None:
        self._parameters, self.what, self.timeout_s, self.is_short = parameters, what, timeout_s, is_short

    @property
    def name(self) -> str:
        """Host, port and database, as far as they were given."""
        given = self._parameters
        if "service" in given:
            return f"postgresql://?service={given['service']}"
        host = ":".join(filter(None, (given.get("host", "localhost"), given.get("port"))))
        return f"postgresql://{host}/{given.get('dbname', '')}"

    @property
    def user(self) -> str:
        """Who connects, as far as it was given."""
        return self._parameters.get("user", "the default user")

    def connect(self, *, create: bool = False) -> "PostgresqlConnection":
        """A new connection; a database is made at the server, not here. Raises Unreachable or NotAuthorized."""
        return PostgresqlConnection(self, self._parameters)


class PostgresqlConnection:
    """A connection of `store`."""

    def __init__(self, store: PostgresqlStore, parameters: Mapping[str, str]) -> None:
        self._store = store
        self._end = monotonic() + store.timeout_s if store.is_short else float("inf")
        self._bounds = Bounds(0.0, 0)
        self._allow(store.timeout_s)
        self._connection: psycopg.Connection[Row] = self._reporting(
            lambda: bounded_connection(self._bounds, _named(parameters))
        )

    def _allow(self, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        """What comes next may take so long, and so many bytes."""
        self._bounds.deadline, self._bounds.bytes_left = min(self._end, monotonic() + seconds), most_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._connection.close()

    def begin_writing(self, lock: str) -> None:
        """Waits for the advisory lock of `lock`, which ends with the transaction."""
        self._do("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        self._do(f"SET LOCAL lock_timeout = '{round(BUSY_S)}s'")
        for setting, value in KEEPALIVES.items():
            self._do(f"SET LOCAL {setting} = {value}")
        self._do(
            "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        )
        self._do("SELECT pg_advisory_xact_lock(hashtextextended(%s, 618))", (f"eosctl:{lock}",), waits_s=BUSY_S)

    def begin_reading(self) -> None:
        """The state is that of the first query."""
        self._do("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def change(self, statement: str, rows: Iterable[Sequence[Value]]) -> int:
        """How many rows of the table were changed."""

        def act() -> int:
            with self._connection.cursor() as cursor:
                cursor.executemany(_in_dialect(statement), rows)
                return max(cursor.rowcount, 0)

        self._allow(BUSY_S + self._store.timeout_s)
        return self._reporting(act)

    def define(self, statement: str) -> None:
        """Creates a table or changes one."""
        self._do(_in_dialect(statement))

    def rows(self, statement: str, values: Sequence[Value] = (), *, streamed: bool = False) -> Iterator[Row]:
        """A cursor at the server, so inside a transaction. The timeout is that of all rows; if streamed, of each fetch.

        Streamed rows may be used slowly, and may be large.
        """
        import psycopg

        most_rows = MOST_ROWS if streamed else MOST_ROWS_HELD
        self._allow(self._store.timeout_s)
        cursor = self._connection.cursor("eosctl", binary=True)
        try:
            cursor.itersize = ROWS_AT_A_TIME
            self._reporting(lambda: cursor.execute(_in_dialect(statement), values))
            while found := self._reporting(lambda: self._fetched(cursor, streamed=streamed)):
                most_rows -= len(found)
                if len(found) > ROWS_AT_A_TIME or most_rows < 0:
                    raise Undecodable(f"{self._where}: it answered with more rows than were asked for")
                yield from found
        finally:
            self._allow(min(1.0, self._store.timeout_s))
            with suppress(Exception):
                cursor.close()
            psycopg.Cursor.close(cursor)  # also where the server did not answer

    def _fetched(self, cursor: Any, *, streamed: bool) -> list[Row]:  # noqa: ANN401  # psycopg's
        if streamed:
            self._allow(BUSY_S + self._store.timeout_s, MOST_BYTES_STREAMED)
        return list(cursor.fetchmany(ROWS_AT_A_TIME))

    def has_table(self, name: str) -> bool:
        """Whether the search path leads to such a table. Reads the catalogue: to_regclass caches answers."""
        statement = "SELECT 1 FROM pg_catalog.pg_class WHERE relname = ? AND pg_catalog.pg_table_is_visible(oid)"
        return any(self.rows(statement, (name,)))

    def commit(self) -> None:
        """On disk when this returns: a COMMIT that the server turned into a rollback is an error."""
        answer = self._do("COMMIT", waits_s=BUSY_S)
        if answer != "COMMIT":
            raise Undecodable(f"{self._where}: it answered COMMIT with {_words(answer)}")

    def roll_back(self) -> None:
        """Nothing of the transaction remains."""
        self._do("ROLLBACK")

    def _do(self, statement: str, values: Sequence[Value] | None = None, waits_s: float = 0.0) -> str | None:
        self._allow(waits_s + self._store.timeout_s)
        return self._reporting(lambda: self._connection.execute(statement.encode(), values).statusmessage)

    @property
    def _where(self) -> str:
        return f"{self._store.what} {self._store.name}"

    def _reporting(self, act: Callable[[], T]) -> T:
        """Every way in which a server that is none can answer is an EosctlError."""
        import psycopg

        try:
            return act()
        except Late:
            raise TimedOut(f"{self._where} did not answer within {self._store.timeout_s:g} s") from None
        except TooLarge:
            raise Undecodable(f"{self._where}: its answer is larger than eosctl reads") from None
        except psycopg.Error as error:
            raise postgresql_failure(error, self._store) from error
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, OSError) as error:
            reason = f"{type(error).__name__}: {_words(error)}"
            raise Undecodable(f"{self._where}: its answer is not PostgreSQL's protocol ({reason})") from error


def _words(said: object) -> str:
    """What a server says: on one line, and cut."""
    return "".join(each if each.isprintable() else " " for each in " ".join(str(said).split())[:MOST_WORDS])


def _named(parameters: Mapping[str, str]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key != "client_encoding"}


def _in_dialect(statement: str) -> str:
    return DIALECT.render(statement).replace("?", "%s")


_NOT_LET_IN: Final = ("authentication failed", "no password supplied", "pg_hba.conf")
"""libpq gives no SQLSTATE for what happens before a connection stands."""

_BY_STATE: Final[Mapping[str, tuple[type[EosctlError], str]]] = {
    "53100": (ConfigError, "its disk is full"),
    "53200": (ConfigError, "it is out of memory"),
    "54000": (ConfigError, "a value is too large for it"),
    "25006": (ConfigError, "it can only be read; is it a standby?"),
    "3D000": (ConfigError, "there is no such database"),
    "3F000": (ConfigError, "there is no such schema"),
    "55P03": (TimedOut, f"another process has been writing this job for {BUSY_S:g} s"),
    "57014": (TimedOut, "the server cancelled it"),
    "40P01": (TimedOut, "it was chosen to end a deadlock; run it again"),
}
_BY_CLASS: Final[Mapping[str, tuple[type[EosctlError], str]]] = {
    "08": (Unreachable, "the connection failed"),
    "53": (Unreachable, "it lacks resources"),
    "57": (Unreachable, "it is shutting down, or starting"),
    "58": (ConfigError, "its disk fails"),
    "XX": (Undecodable, "its data are damaged"),
    "42": (Undecodable, "its tables or functions are not those that eosctl knows"),
}


def postgresql_failure(error: "psycopg.Error", store: PostgresqlStore) -> EosctlError:
    """What an error means to the user, by its SQLSTATE (PostgreSQL's Appendix A); none: the connection is gone."""
    from psycopg import OperationalError

    state, where = error.sqlstate or "", f"{store.what} {store.name}"
    try:
        text = _words(error.diag.message_primary or error)
    except (LookupError, ValueError):
        text = "in no encoding that is known"
    if state[:2] == "28" or (not state and any(words in text for words in _NOT_LET_IN)):
        return NotAuthorized(
            principal=store.user,
            operation="connect",
            resource=store.name,
            hint=f"{text}; no password is asked for: {_BY_REFERENCE}",
        )
    if state == "42501":
        return NotAuthorized(principal=store.user, operation="write", resource=store.name, hint=text)
    if not state and "does not exist" in text:
        return ConfigError(f"{where}: {text}")
    if not state and isinstance(error, OperationalError):
        return Unreachable(f"{where} cannot be reached: {text}")
    unknown = (Undecodable, "it answered with an error that eosctl does not know")
    kind, meaning = _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or unknown
    return kind(f"{where}: {meaning} ({text}, SQLSTATE {_words(state) or 'missing'})")
