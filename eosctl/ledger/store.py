"""The port of a ledger's database. SQLite and PostgreSQL differ only below here.

Statements are written once: `?` stands for a value (and nothing else), {blob}, {text} and {now_ms} for the words of
each dialect. Text is compared by its bytes in both.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, Self

from msgspec import Struct

Value = str | int | bytes | None
Row = tuple[Any, ...]

BUSY_S: Final = 60.0
"""How long a writer waits for another one that commits just now."""


class Dialect(Struct, frozen=True):
    """Types and expressions that are written differently: bytes, text compared by its bytes, now in ms."""

    blob: str
    text: str
    now_ms: str

    def render(self, statement: str) -> str:
        return statement.format(blob=self.blob, text=self.text, now_ms=self.now_ms)


class LedgerConnection(Protocol):
    """One connection; every failure of it is an EosctlError. Outside a transaction nothing is written."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(self, *_: object) -> None:
        """Rolls back and closes; never raises."""

    def begin_writing(self, lock: str) -> None:
        """Begins a transaction after all others that were begun with the same lock have ended, however they ended.

        Raises TimedOut where one of them takes longer than BUSY_S.
        """

    def begin_reading(self) -> None:
        """Begins a transaction that sees one state of the ledger, regardless of other commits meanwhile."""

    def change(self, statement: str, rows: Iterable[Sequence[Value]]) -> int:
        """Executes the statement for each row of values; how many rows of the table it changed in all."""

    def define(self, statement: str) -> None:
        """Executes a statement that takes no values: a definition."""

    def rows(self, statement: str, values: Sequence[Value] = (), *, streamed: bool = False) -> Iterator[Row]:
        """The rows of a query, a few at a time: only the rows held count in memory.

        Streamed rows may be many or large, and used slowly; of others a store returns as many as fit in memory.
        """

    def has_table(self, name: str) -> bool:
        """True if there is such a table."""

    def commit(self) -> None:
        """Ends the transaction; on disk when this returns. If it raises, the outcome is unknown."""

    def roll_back(self) -> None:
        """Ends the transaction, and nothing of it remains."""


class LedgerStore(Protocol):
    """A database that holds a ledger, or will. name is for people: it holds no password."""

    @property
    def name(self) -> str:
        """Its name for a person."""

    def connect(self, *, create: bool = False) -> LedgerConnection:
        """A new connection; `create` makes a SQLite file that is not there, otherwise ConfigError."""
