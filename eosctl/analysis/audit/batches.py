"""What the folds need to see of batches, records and markers; eosctl.codecs.record_batches gives them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from eosctl.model.audit_states import ReadKey
from eosctl.model.records import Entry, first_time

__all__ = [
    "BatchWriter",
    "Decode",
    "Entries",
    "Entry",
    "Header",
    "KeyReader",
    "Marker",
    "ReadKey",
    "first_time",
]


class Header(Protocol):
    """The header of a record batch (see codecs.record_batches.BatchHeader)."""

    @property
    def base_offset(self) -> int:
        """The offset of the first record, also where compaction removed it."""

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also where compaction removed it."""

    @property
    def batch_length(self) -> int:
        """How many bytes follow this field in the log."""

    @property
    def base_timestamp(self) -> int:
        """In ms since the epoch; see first_time."""

    @property
    def max_timestamp(self) -> int:
        """The latest of its records, in ms since the epoch."""

    @property
    def producer_id(self) -> int:
        """Who wrote it; -1 where the writer was not idempotent."""

    @property
    def producer_epoch(self) -> int:
        """The writer's epoch; -1 where it was not idempotent."""

    @property
    def record_count(self) -> int:
        """How many records are left in it."""

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""


class Marker(Protocol):
    """An end-transaction marker."""

    @property
    def offset(self) -> int:
        """Within its partition."""

    @property
    def timestamp(self) -> int:
        """In ms since the epoch."""

    @property
    def producer_id(self) -> int:
        """Whose transaction it ends."""

    @property
    def producer_epoch(self) -> int:
        """The epoch in the marker: that of the transaction, or the next one (KIP-890)."""


Decode = Callable[[bytes], object]
"""JSON bytes to a value; raises ValueError for what is none."""

Entries = Iterable[Entry]


class BatchWriter(NamedTuple):
    """Who wrote a batch, and how."""

    producer_id: int
    producer_epoch: int
    transactional: bool


KeyReader = Callable[[bytes | None], ReadKey]
