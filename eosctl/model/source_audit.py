"""A captured table against its topic: columns, points of the source's log, and what the comparison found."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.model.audit import AuditVerdict, JudgedResult
from eosctl.model.report import FoundResult
from eosctl.model.topics import OffsetRange


class ColumnKind(StrEnum):
    """How the values of a column are compared; OTHER: they are not."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TEXT = "text"
    PADDED = "padded"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    INSTANT = "instant"
    LIST = "list"
    OTHER = "other"


UNSIGNED: Final = "bigint unsigned"
"""A type whose larger values Debezium writes as negative numbers unless its config says otherwise."""


class TableColumn(NamedTuple):
    """A column of a table. type is the database's name for it; digits are the digits of a second's fraction, or the
    scale of a decimal (None: any).

    key is its place in the primary key, from 1 on; None: it is not part of it.
    """

    name: str
    type: str
    kind: ColumnKind
    digits: int | None = None
    key: int | None = None


class CapturedTable(Struct, frozen=True, dict=True):
    """A table as `SCHEMA.NAME`, its columns in their order, and the topic that its rows go to.

    parts are the names of its partitions, which its records may have.
    """

    schema: str
    name: str
    topic: str
    columns: tuple[TableColumn, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.name}"

    @cached_property
    def key(self) -> tuple[TableColumn, ...]:
        """The columns of its primary key, in the order of the key."""
        return tuple(sorted((each for each in self.columns if each.key is not None), key=lambda each: each.key or 0))


class Handling(NamedTuple):
    """Debezium's settings that decide how a value is written, with its defaults.

    key_path is the user's: for each column of the primary key its place in the row, member by member. Empty: the key is
    the record's, or in the row.
    """

    decimals: str = "precise"
    times: str = "adaptive"
    binaries: str = "bytes"
    unavailable: str = "__debezium_unavailable_value"
    unsigned: str = "long"
    key_path: tuple[tuple[str, ...], ...] = ()


class SourcePoint(NamedTuple):
    """The changes that a transaction of the source saw: all that were committed before low, none written after high.

    Positions are integers in the order of the log: PostgreSQL's LSN, or the number of a binary log's file and the place
    in it. snapshot is PostgreSQL's txid_snapshot, which decides between low and high; None: low is exact.
    """

    low: int
    high: int
    snapshot: str | None = None


class SourcePosition(NamedTuple):
    """The position of a record's change in the source's log. transaction is PostgreSQL's ID of 32 bits; is_read: a
    snapshot's record."""

    order: int
    transaction: int | None = None
    is_read: bool = False


class RowDifference(StrEnum):
    """How a key differs: in the table only, in the topic only, or in both with other values."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERING = "differing"


class RowSample(NamedTuple):
    """A key that differs, its differing columns, and its last record in the topic; None: it has none."""

    key: str
    columns: tuple[str, ...] = ()
    partition: int | None = None
    offset: int | None = None


NO_SAMPLES: Final[Mapping[RowDifference, tuple[RowSample, ...]]] = {}


class ComparedTable(Struct, frozen=True, kw_only=True):
    """One table's comparison. rows counts the table's rows that were read, keys the topic's live keys. counts are keys
    that differ; undecided keys may differ.

    ranges are the topic's ranges that were read.

    sample_of is the table's number of rows if a random sample was read. unseen_at_most is how many rows of the table
    may differ although no row of the sample does, with a confidence of 95 %.
    """

    table: CapturedTable
    rows: int = 0
    keys: int = 0
    counts: Mapping[RowDifference, int] = {}
    undecided: int = 0
    samples: Mapping[RowDifference, tuple[RowSample, ...]] = NO_SAMPLES
    uncompared: tuple[str, ...] = ()
    at: str | None = None
    verdict: AuditVerdict = AuditVerdict.CANNOT_TELL
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    ranges: tuple[OffsetRange, ...] = ()
    sample_of: int | None = None
    unseen_at_most: int | None = None
    queries: int = 0


class SourceAuditReport(JudgedResult, FoundResult, frozen=True, kw_only=True):
    """source names the database without its password."""

    as_of: int
    cluster_id: str | None
    connector: str | None
    source: str
    tables: tuple[ComparedTable, ...]

    @property
    def verdicts(self) -> Iterable[AuditVerdict]:
        return (each.verdict for each in self.tables)
