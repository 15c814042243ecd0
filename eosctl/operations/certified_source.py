"""The source of a connector that is certified: its load, and the truth about what it has."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from eosctl.analysis.certification import Expected
from eosctl.clients.librdkafka import producer
from eosctl.codecs.record_identity import BETWEEN
from eosctl.errors import ConfigError, EosctlError, NotInstalled, UsageError
from eosctl.files import EXPECTED, SQL, read_text
from eosctl.model.certification import Part, Selector

if TYPE_CHECKING:
    from eosctl.model.client_properties import ClientProperties

BEAT_S: Final = 0.1
COMMAND_S: Final = 60.0
SEND_S: Final = 60.0
NUMBER: Final = "{n}"
STDOUT: Final = "-"


class Load(Protocol):
    """Makes source records, numbered from 1 on."""

    def write(self, numbers: range) -> Sequence[str]:
        """Writes the records of these numbers, and returns their identities, where it knows them."""


class LinesLoad(Struct, frozen=True):
    """Lines at the end of a file; `line` has the number in the place of {n}."""

    file: Path
    line: str
    identity: Selector

    def write(self, numbers: range) -> Sequence[str]:
        lines = [self.line.replace(NUMBER, str(number)) for number in numbers]
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{each}\n" for each in lines))
        return lines if self.identity.part is Part.VALUE else [str(number) for number in numbers]


class TopicLoad:
    """Records of a topic, their keys and values the number, in a cluster that a mirror reads."""

    def __init__(self, properties: "ClientProperties", topic: str, line: str) -> None:
        self._producer = producer(properties, linger_ms=5)
        self._topic, self._line = topic, line

    def write(self, numbers: range) -> Sequence[str]:
        lines = [self._line.replace(NUMBER, str(number)) for number in numbers]
        failed: list[str] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failed.append(str(error))

        for number, line in zip(numbers, lines, strict=True):
            self._producer.produce(self._topic, line, str(number), on_delivery=delivered)
        left = self._producer.flush(SEND_S)
        if failed or left:
            raise ConfigError(f"{left + len(failed)} records are missing in topic {self._topic}: {failed[:1]}")
        return lines


class CommandLoad(Struct, frozen=True):
    """A command of the user's, run by the shell for each few numbers; it may print the identities that it wrote."""

    command: str
    environment: Mapping[str, str]

    def write(self, numbers: range) -> Sequence[str]:
        more = {"EOSCTL_FIRST": str(numbers.start), "EOSCTL_COUNT": str(len(numbers))}
        return run_command(self.command, {**self.environment, **more})


def run_command(command: str, environment: Mapping[str, str]) -> Sequence[str]:
    """The lines of its stdout. Raises ConfigError with its stderr where it fails, or takes too long."""
    try:
        ran = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, timeout=COMMAND_S,
            stdin=subprocess.DEVNULL, env={**os.environ, **environment},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{command} did not end within {COMMAND_S:g} s") from error
    if ran.returncode != 0:
        raise ConfigError(f"{command} ended with code {ran.returncode}: {ran.stderr.strip()[-500:]}")
    return ran.stdout.splitlines()


class Database(Protocol):
    """Where rows are."""

    def execute(self, statements: str) -> None:
        """Runs them, each transaction as they say; raises ConfigError with the server's words."""

    def query(self, statement: str) -> Sequence[str]:
        """Its rows, the columns of each joined."""


class PostgreSQL:
    """By psycopg, in one session."""

    def __init__(self, dsn: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise NotInstalled("a source in PostgreSQL", "postgres", error) from error
        self._errors = psycopg.Error
        try:
            self._connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
        except psycopg.Error as error:
            raise ConfigError(f"--source-dsn: {str(error).strip()}") from error

    def execute(self, statements: str) -> None:
        self._run(statements)

    def query(self, statement: str) -> Sequence[str]:
        return [BETWEEN.join("" if each is None else str(each) for each in row) for row in self._run(statement)]

    def _run(self, statement: str) -> Sequence[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
        except self._errors as error:
            raise ConfigError(f"the source database refused {statement[:100]!r}: {str(error).strip()}") from error


class MySQL:
    """MariaDB or MySQL, by the client program of this machine."""

    def __init__(self, dsn: str) -> None:
        client = shutil.which("mariadb") or shutil.which("mysql")
        if client is None:
            raise ConfigError("a MariaDB or MySQL source needs the program mariadb or mysql on the PATH")
        url = urlsplit(dsn)
        self._environment = {**os.environ, "MYSQL_PWD": unquote(url.password or "")}
        place = ["--no-defaults", "--protocol=tcp", f"-h{url.hostname}", f"-P{url.port or 3306}"]
        user = f"-u{unquote(url.username or 'root')}"
        self._command = [client, *place, user, "-NB", *filter(None, [unquote(url.path.strip("/"))])]
        self.query("SELECT 1")

    def execute(self, statements: str) -> None:
        self.query(statements)

    def query(self, statement: str) -> Sequence[str]:
        ran = subprocess.run(
            [*self._command, "-e", statement], capture_output=True, text=True, check=False, timeout=COMMAND_S,
            env=self._environment,
        )  # fmt: skip
        if ran.returncode != 0:
            raise ConfigError(f"the source database refused {statement[:100]!r}: {ran.stderr.strip()[-300:]}")
        return [BETWEEN.join(line.split("\t")) for line in ran.stdout.splitlines()]


def open_database(dsn: str) -> Database:
    """The database of a URL: postgresql://, mysql:// or mariadb://. Raises UsageError for another scheme."""
    scheme = dsn.partition("://")[0]
    if scheme in {"postgresql", "postgres"}:
        return PostgreSQL(dsn)
    if scheme in {"mysql", "mariadb"}:
        return MySQL(dsn)
    raise UsageError(
        f"--source-dsn: scheme {scheme!r} is not known", hint="write postgresql://…, mysql://… or mariadb://…"
    )


class SqlLoad(Struct, frozen=True):
    """Statements, with the number in the place of {n}, in one request for each number."""

    database: Database
    statements: str

    def write(self, numbers: range) -> Sequence[str]:
        for number in numbers:
            self.database.execute(self.statements.replace(NUMBER, str(number)))
        return []


class Truth(Protocol):
    """The truth about the source."""

    @property
    def description(self) -> str:
        """Where that is from, as a report says it."""

    def read(self, written: Sequence[str]) -> Expected | None:
        """Its present records; None: unknown. written are the identities that the load reported."""


class WrittenTruth(Struct, frozen=True):
    """The identities that the load reported."""

    description: str

    def read(self, written: Sequence[str]) -> Expected | None:
        return Expected(tuple(written), is_ordered=True)


class FileTruth(Struct, frozen=True):
    """The lines of a file."""

    file: Path

    @property
    def description(self) -> str:
        return f"lines of {self.file}"

    def read(self, written: Sequence[str]) -> Expected | None:
        return Expected(tuple(read_text(self.file, EXPECTED).splitlines()), is_ordered=True)


class QueryTruth(Struct, frozen=True):
    """The rows of a query; in order, if it says by what."""

    database: Database
    query: str

    @property
    def description(self) -> str:
        return f"rows of {self.query}"

    def read(self, written: Sequence[str]) -> Expected | None:
        return Expected(tuple(self.database.query(self.query)), is_ordered="order by" in self.query.lower())


class NoTruth(Struct, frozen=True):
    description: str = "none: losses are not judged"

    def read(self, written: Sequence[str]) -> Expected | None:
        return None


class Source:
    """The load and the truth. `flow` runs the load on a thread until it is stopped."""

    def __init__(self, load: Load | None, truth: Truth) -> None:
        self.load, self.truth = load, truth
        self.written: list[str] = []
        self._next = 1
        self._stop = Event()
        self._thread: Thread | None = None
        self.failure: EosctlError | OSError | subprocess.SubprocessError | None = None

    @property
    def count(self) -> int | None:
        """The number of records that the load has made; None: the source makes its own."""
        return None if self.load is None else self._next - 1

    def write(self, count: int) -> None:
        if self.load is None:
            return
        numbers = range(self._next, self._next + count)
        self.written.extend(self.load.write(numbers))
        self._next += count

    def expected(self) -> Expected | None:
        return self.truth.read(self.written)

    def start(self, sizes: Iterable[int]) -> None:
        """So many records at a time, ten times a second, by turns."""
        self._stop.clear()
        self.failure = None
        turns = tuple(sizes)

        def run() -> None:
            turn = 0
            while not self._stop.wait(BEAT_S):
                try:
                    self.write(turns[turn % len(turns)])
                except (EosctlError, OSError, subprocess.SubprocessError) as error:
                    self.failure = error
                    return
                turn += 1

        if self.load is not None:
            self._thread = Thread(target=run, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Returns when the load writes no more."""
        self._stop.set()
        if self._thread is not None:
            with suppress(RuntimeError):
                self._thread.join()
            self._thread = None


class SourceOptions(Struct, frozen=True, kw_only=True):
    """The user's description of the source: how it grows, and where its truth is.

    load is KIND:ARGUMENT (file:, topic:, sql:, command:), prepare a file of SQL, expected a file or `-`.
    """

    load: str | None = None
    line: str = NUMBER
    prepare: Path | None = None
    expected: str | None = None
    dsn: str | None = None
    query: str | None = None


def open_source(
    options: SourceOptions, identity: Selector, filled: Callable[[str], str], properties: "ClientProperties",
    environment: Mapping[str, str],
) -> Source:  # fmt: skip
    """The source, prepared. `filled` puts the sandbox's values in the place of ${certify:…}."""
    database = None if options.dsn is None else open_database(options.dsn)
    if options.prepare is not None:
        _needed(database, "--prepare").execute(filled(_text_of(options.prepare)))
    kind, _, argument = (options.load or "").partition(":")
    argument = filled(argument)
    load: Load | None
    match kind:
        case "":
            load = None
        case "file":
            load = LinesLoad(Path(argument), options.line, identity)
            try:
                load.file.touch()
            except OSError as error:
                raise ConfigError(f"--load file:{argument}: {error.strerror}") from error
        case "topic":
            load = TopicLoad(properties, argument, options.line)
        case "sql":
            load = SqlLoad(_needed(database, "--load sql"), filled(_text_of(Path(argument))))
        case "command":
            load = CommandLoad(argument, environment)
        case _:
            raise UsageError(
                f"--load {options.load}: no such load", hint="write file:PATH, topic:NAME, sql:FILE or command:COMMAND"
            )
    return Source(load, _truth(options, kind, database, filled))


def _truth(options: SourceOptions, kind: str, database: Database | None, filled: Callable[[str], str]) -> Truth:
    if options.query is not None:
        return QueryTruth(_needed(database, "--source-query"), options.query)
    if options.expected == STDOUT:
        if kind != "command":
            raise UsageError("--expected - is the stdout of a load", hint="give --load command:COMMAND")
        return WrittenTruth("identities that the load printed")
    if options.expected is not None:
        return FileTruth(Path(filled(options.expected)))
    if kind in {"file", "topic"}:
        return WrittenTruth(f"records written by --load {options.load}")
    return NoTruth()


def _needed(database: Database | None, option: str) -> Database:
    if database is None:
        raise UsageError(f"{option} needs a database", hint="give --source-dsn URL, or --postgres")
    return database


def _text_of(file: Path) -> str:
    return read_text(file, SQL)
