"""A ledger in PostgreSQL, or a source there that is read, through psycopg 3. No password is in the URL: it is a
reference, or libpq finds it.

1. The transaction begins with an advisory lock on the job: those who write the same job wait for each other, also for
   one whose client has died and whose COMMIT is still on its way. The lock only orders them, it decides nothing.
2. READ COMMITTED for writing, REPEATABLE READ for reading, whatever the server's default is; a server that does not
   wait for its disk (synchronous_commit = off) has to, for these transactions.
3. Nothing depends on the session, so a pooler that gives each transaction another connection may stand between.
"""

import os
import re
import select
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from eosctl.codecs.client_properties import Lookup, resolve_references
from eosctl.errors import (
    ConfigError,
    EosctlError,
    NotAuthorized,
    NotInstalled,
    TimedOut,
    Undecodable,
    Unreachable,
    Unsupported,
    UsageError,
)
from eosctl.late_pattern import late_pattern
from eosctl.ledger.store import BUSY_S, Dialect, Row, Value
from eosctl.model.client_properties import REFERENCE

if TYPE_CHECKING:
    import psycopg


# A connection of psycopg that ends: each wait for the server has a deadline and a limit of bytes.
#
# 1. libpq reads a long message for as long as more of it is there, and one call may take gigabytes. So libpq gets one
#    end of a socket pair instead of its socket. The server's bytes go through the other end, and are counted before
#    libpq reads them. libpq knows no difference: host, port, TLS and passwords belong to its own connection.
# 2. psycopg drives libpq without blocking, and waits in one method. That method here moves bytes between the server
#    and the pair, and stops at the deadline, however the server drips.
# 3. Connecting runs in a thread: a server chooses how often libpq hashes the password (SCRAM), and one call does all
#    of it. A connection that comes after its time is closed.


READ: Final = 1
WRITE: Final = 2
"""As psycopg's Wait and Ready have them."""
PIECE: Final = 1 << 16
"""The size of one move; the socket pair holds more."""


class Late(Exception):
    """The server took longer than it may."""


class TooLarge(Exception):
    """The server sent more than it may."""


class Bounds:
    def __init__(self, deadline: float, most_bytes: int) -> None:
        self.deadline, self.bytes_left = deadline, most_bytes

    @property
    def seconds_left(self) -> float:
        if (left := self.deadline - monotonic()) <= 0:
            raise Late
        return left

    def count(self, arrived: int) -> None:
        self.bytes_left -= arrived
        if self.bytes_left < 0:
            raise TooLarge


class Relay:
    """Moves bytes between the server and libpq within `bounds`, which its owner sets before each exchange."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._server, self._near = socket.socket(), socket.socket()
        self._file, self._inode = -1, -1
        self._inward, self._outward, self._has_ended = b"", b"", False

    def connecting(self, gen: Any) -> Generator[tuple[int, int], int, Any]:  # noqa: ANN401  # psycopg's generators
        """psycopg's generator of a connection, with the pair in the place of each socket from its first read on.

        Until then libpq looks at the socket itself, such as for the user of a local server (requirepeer).
        """
        file, wanted = next(gen)
        while True:
            if wanted == READ and not self._encloses(file):
                self._enclose(file)
            if not self._encloses(file):
                ready = yield file, wanted
            elif not (ready := self._pump(wanted)) and (yield self._server.fileno(), self._waited_for):
                ready = self._pump(wanted)
            try:
                file, wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    def run(self, gen: Any) -> Any:  # noqa: ANN401  # psycopg's generators
        """Runs one of psycopg's exchanges to its end. Raises Late or TooLarge."""
        try:
            wanted = next(gen)
            while True:
                left = self._bounds.seconds_left
                if ready := self._pump(wanted):
                    wanted = gen.send(ready)
                else:
                    _ready(self._server.fileno(), self._waited_for, min(left, 1.0))
        except StopIteration as end:
            return end.value

    def require_enclosed(self, made: "psycopg.Connection[Row]") -> None:
        """Raises Unsupported for a connection without the pair: this psycopg did not connect by `connecting`."""
        import psycopg

        if not self._encloses(made.pgconn.socket):
            made.close()
            raise Unsupported(
                f"psycopg {psycopg.__version__} connects in a way that does not limit the bytes from a server",
                hint="install psycopg 3.2 or 3.3",
            )

    def close(self) -> None:
        self._move_outward()
        self._server.close()
        self._near.close()

    def _encloses(self, file: int) -> bool:
        """Whether this is the pair: libpq may close a socket and open another of the same number."""
        return os.fstat(file).st_ino == self._inode

    def _enclose(self, file: int) -> None:
        self._server.close()
        self._near.close()
        self._server = socket.socket(fileno=os.dup(file))
        self._near, far = socket.socketpair()
        with far:
            for each in (self._server, self._near, far):
                each.setblocking(False)
            os.dup2(far.fileno(), file, inheritable=False)
        self._file, self._inode = file, os.fstat(file).st_ino
        self._inward, self._outward, self._has_ended = b"", b"", False

    @property
    def _waited_for(self) -> int:
        return READ * (not self._inward and not self._has_ended) | WRITE * bool(self._outward)

    def _pump(self, wanted: int) -> int:
        """Moves the bytes that can be moved now; returns the wanted events that libpq can act on."""
        self._move_outward()
        self._move_inward()
        return _ready(self._file, wanted, 0)

    def _move_inward(self) -> None:
        if not self._inward and not self._has_ended:
            try:
                self._inward = self._server.recv(min(PIECE, self._bounds.bytes_left + 1))
                self._has_ended = not self._inward
            except BlockingIOError:
                return
            except OSError:
                self._has_ended = True
            self._bounds.count(len(self._inward))
        with suppress(OSError):  # it is full, or libpq has closed its end
            if self._has_ended:
                self._near.shutdown(socket.SHUT_WR)
            elif self._inward:
                self._inward = self._inward[self._near.send(self._inward) :]

    def _move_outward(self) -> None:
        """All of it, or until the server takes no more: libpq can write again once little of the pair is full."""
        try:
            while self._outward or (said := self._near.recv(PIECE)):
                self._outward = self._outward or said
                self._outward = self._outward[self._server.send(self._outward) :]
        except BlockingIOError:
            return
        except OSError:  # the server is gone, which libpq reads, or nothing is connected
            self._outward = b""


def _ready(file: int, wanted: int, seconds: float) -> int:
    """The wanted events that are possible with the file within this time; 0 for none. An end or an error is both."""
    poll = select.poll()
    poll.register(file, (select.POLLIN if wanted & READ else 0) | (select.POLLOUT if wanted & WRITE else 0))
    events = poll.poll(seconds * 1000)
    if not events:
        return 0
    seen = events[0][1]
    ended = wanted if seen & (select.POLLERR | select.POLLHUP | select.POLLNVAL) else 0
    return ended | (READ if seen & select.POLLIN else 0) | (WRITE if seen & select.POLLOUT else 0)


def bounded_connection(bounds: Bounds, parameters: dict[str, Any]) -> "psycopg.Connection[Row]":
    """A connection that keeps to `bounds`, which its owner sets before each exchange. Raises Late or TooLarge."""
    from psycopg import Connection

    relay = Relay(bounds)

    class Bounded(Connection[Row]):
        @classmethod
        def _connect_gen(cls, *args: Any, **named: Any) -> Any:  # noqa: ANN401  # as psycopg has it
            return relay.connecting(super()._connect_gen(*args, **named))

        def wait(self, gen: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  # as psycopg has it
            try:
                return relay.run(gen)
            except (Late, TooLarge):
                self.pgconn.finish()
                relay.close()
                raise

        def close(self) -> None:
            super().close()
            relay.close()

    def connect() -> "psycopg.Connection[Row]":
        try:
            made = Bounded.connect(autocommit=True, prepare_threshold=None, client_encoding="UTF8", **parameters)
            relay.require_enclosed(made)
        except BaseException:
            relay.close()
            raise
        return made

    return _in_time(bounds.deadline, connect)


def _in_time(deadline: float, connect: Callable[[], "psycopg.Connection[Row]"]) -> "psycopg.Connection[Row]":
    made: list[psycopg.Connection[Row]] = []
    failed: list[Exception] = []
    over: list[bool] = []

    def run() -> None:
        try:
            connection = connect()
        except Exception as error:  # noqa: BLE001  # raised by who waits
            failed.append(error)
            return
        made.append(connection)
        if over:
            connection.close()

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - monotonic()))
    if thread.is_alive():
        over.append(True)
        raise Late
    if failed:
        raise failed[0]
    return made[0]


DIALECT: Final = Dialect(
    blob="BYTEA",
    text='TEXT COLLATE "C"',
    now_ms="CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
)
SECRETS: Final = ("password", "sslpassword")
ROWS_AT_A_TIME: Final = 20
MOST_ROWS: Final = 10_000_000
"""The limit of one query; a source and rows held as a whole have fewer."""
MOST_ROWS_HELD: Final = 1_000_000
MOST_BYTES: Final = 64 << 20
"""Of the answers of one query, or of one statement."""
MOST_BYTES_STREAMED: Final = 1 << 30
"""Of each fetch, where the rows are carried state: one may have 512 MiB."""
MOST_WORDS: Final = 300
KEEPALIVES: Final = {"tcp_keepalives_idle": 60, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 6}
"""A machine that vanishes in the middle of a commit holds its job's lock for two minutes, not for the usual two hours.
The server's timeout for idle transactions is of no use here: it is not set again after a pipeline of statements."""

_STAND_IN: Final = late_pattern(r"(?:eosctlreference\d+x)+")
_BY_REFERENCE: Final = (
    "write ${env:NAME} or ${file:PROPERTIES:KEY} in its place, "
    "or leave it out and use PGPASSWORD, ~/.pgpass or a service"
)

T = TypeVar("T")


class Called(NamedTuple):
    url: str = "store"
    database: str = "ledger"
    is_short: bool = False
    """True if the timeout applies to the whole connection, not to each statement."""


LEDGER: Final = Called()
SOURCE: Final = Called("source", "source database", is_short=True)


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
                f"the {secret} is in the {called.url}'s URL, where other users can read it", hint=_BY_REFERENCE
            )
    parameters = {key: str(value) for key, value in given.items() if value is not None}
    for number, reference in enumerate(references):
        name = f"eosctlreference{number}x"
        parameters = {key: value.replace(name, reference) for key, value in parameters.items()}
    resolved = resolve_references(parameters, lookup, origin=f"the {called.url}'s URL") if references else parameters
    for key, value in resolved.items():
        if "\0" in value:  # libpq, which is written in C, would take the text before it
            raise UsageError(f"the {key} of the {called.url}'s URL has a NUL character")
    hosts = 1 + resolved.get("host", "").count(",")
    each_host = {"connect_timeout": str(max(2, round(timeout_s / hosts)))}
    return PostgresqlStore({**each_host, **resolved}, called.database, timeout_s, is_short=called.is_short)


def _is_port(text: str) -> bool:
    return all(not each or _STAND_IN.fullmatch(each) or each.isdecimal() for each in text.split(","))


def _require_psycopg(called: Called) -> None:
    try:
        import psycopg  # noqa: F401  # is it there?
    except ImportError as error:
        raise NotInstalled(f"a {called.url} in PostgreSQL", "postgres", error) from error


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
        given = self._parameters
        if "service" in given:
            return f"postgresql://?service={given['service']}"
        host = ":".join(filter(None, (given.get("host", "localhost"), given.get("port"))))
        return f"postgresql://{host}/{given.get('dbname', '')}"

    @property
    def user(self) -> str:
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
            lambda: bounded_connection(self._bounds, _without_encoding(parameters))
        )

    def _allow(self, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        """Limits the next exchange in time and bytes."""
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
        self._do("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def change(self, statement: str, rows: Iterable[Sequence[Value]]) -> int:
        def act() -> int:
            with self._connection.cursor() as cursor:
                cursor.executemany(_in_dialect(statement), rows)
                return max(cursor.rowcount, 0)

        self._allow(BUSY_S + self._store.timeout_s)
        return self._reporting(act)

    def define(self, statement: str) -> None:
        self._do(_in_dialect(statement))

    def rows(self, statement: str, values: Sequence[Value] = (), *, streamed: bool = False) -> Iterator[Row]:
        """A cursor at the server, so inside a transaction. The timeout covers all rows; if streamed, each fetch.

        Streamed rows may be used slowly, and may be large.
        """
        import psycopg

        most_rows = MOST_ROWS if streamed else MOST_ROWS_HELD
        closing_s = self._store.timeout_s
        self._allow(closing_s)
        cursor = self._reporting(lambda: self._connection.cursor("eosctl", binary=True))
        try:
            cursor.itersize = ROWS_AT_A_TIME
            self._reporting(lambda: cursor.execute(_in_dialect(statement), values))
            while found := self._reporting(lambda: self._fetched(cursor, streamed=streamed)):
                most_rows -= len(found)
                if len(found) > ROWS_AT_A_TIME or most_rows < 0:
                    raise Undecodable(f"{self._where}: it answered with more rows than requested")  # noqa: TRY301  # as what the server did
                yield from found
        except Exception:
            closing_s = min(1.0, closing_s)  # the server may not answer this either
            raise
        finally:
            self._allow(closing_s)
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
            raise Undecodable(f"{self._where}: it answered COMMIT with {_server_message(answer)}")

    def roll_back(self) -> None:
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
            reason = f"{type(error).__name__}: {_server_message(error)}"
            raise Undecodable(f"{self._where}: its answer is not PostgreSQL's protocol ({reason})") from error


def _server_message(said: object) -> str:
    """A server's message on one line, cut."""
    return "".join(each if each.isprintable() else " " for each in " ".join(str(said).split())[:MOST_WORDS])


def _without_encoding(parameters: Mapping[str, str]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key != "client_encoding"}


def _in_dialect(statement: str) -> str:
    return DIALECT.render(statement).replace("?", "%s")


_NOT_LET_IN: Final = ("authentication failed", "no password supplied", "pg_hba.conf")
"""libpq gives no SQLSTATE for errors before a connection is established."""

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
    "42": (Undecodable, "eosctl does not know its tables or functions"),
}


def postgresql_failure(error: "psycopg.Error", store: PostgresqlStore) -> EosctlError:
    """The meaning of an error for the user, by its SQLSTATE (PostgreSQL's Appendix A); none: the connection was
    lost."""
    from psycopg import OperationalError

    state, where = error.sqlstate or "", f"{store.what} {store.name}"
    try:
        text = _server_message(error.diag.message_primary or error)
    except (LookupError, ValueError):
        text = "in no encoding that is known"
    if state[:2] == "28" or (not state and any(words in text for words in _NOT_LET_IN)):
        return NotAuthorized(
            principal=store.user,
            operation="connect",
            resource=store.name,
            hint=f"{text}; eosctl does not ask for a password: {_BY_REFERENCE}",
        )
    if state == "42501":
        operation = "write" if store.what == LEDGER.database else "read"
        return NotAuthorized(principal=store.user, operation=operation, resource=store.name, hint=text)
    if not state and "does not exist" in text:
        return ConfigError(f"{where}: {text}")
    if not state and isinstance(error, OperationalError):
        text = text.partition(" Is the server running")[0].rpartition(" failed: ")[2]
        return Unreachable(f"{where} cannot be reached: {text}", hint="check host and port, and that the server runs")
    unknown = (Undecodable, "it answered with an error that eosctl does not know")
    kind, meaning = _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or unknown
    return kind(f"{where}: {meaning} ({text}, SQLSTATE {_server_message(state) or 'missing'})")
