"""What the folds need to see of batches, records and markers; eosctl.codecs.record_batches gives them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from eosctl.model.audit_states import ReadKey


class Header(Protocol):
    """The header of a record batch (see codecs.record_batches.BatchHeader)."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def batch_length(self) -> int: ...
    @property
    def base_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def record_count(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...


def first_time(header: Header) -> int:
    """The timestamp of a batch's first record, in ms.

    Compaction may put the time there at which tombstones and markers may go (KIP-534): then that of the latest record.
    """
    return min(header.base_timestamp, header.max_timestamp)


class Entry(Protocol):
    """A record by itself."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...


class Marker(Protocol):
    """An end-transaction marker."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...


Decode = Callable[[bytes], object]
"""JSON bytes to a value; raises ValueError for what is none."""

Entries = Iterable[Entry]


class BatchWriter(NamedTuple):
    """Who wrote a batch, and how."""

    producer_id: int
    producer_epoch: int
    transactional: bool


KeyReader = Callable[[bytes | None], ReadKey]
