"""The folds' interface to batches, records and markers, which eosctl.codecs.record_batches implements."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple, Protocol

from eosctl.analysis.positions import MYSQL, begins_transaction_again, debezium_reader, is_unfinished_snapshot
from eosctl.late_pattern import late_pattern
from eosctl.model.audit_states import Change, ReadKey
from eosctl.model.offsets import Order
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
        """The offset of the first record, even where compaction removed it."""

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
        """The batch's producer ID; -1 if its producer was not idempotent."""

    @property
    def producer_epoch(self) -> int:
        """The producer's epoch; -1 if it was not idempotent."""

    @property
    def record_count(self) -> int:
        """The number of records left in it."""

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
        """The producer whose transaction it ends."""

    @property
    def producer_epoch(self) -> int:
        """The epoch in the marker: that of the transaction, or the next one (KIP-890)."""


Decode = Callable[[bytes], object]
"""JSON bytes to a value; raises ValueError for bytes that are no JSON."""

Entries = Iterable[Entry]


class BatchWriter(NamedTuple):
    """Producer ID and epoch of a batch, and whether it is transactional."""

    producer_id: int
    producer_epoch: int
    transactional: bool


KeyReader = Callable[[bytes | None], ReadKey]


# Order of two source offsets, by their kind of source or their numbers.
#
# If both have the members of one Debezium connector's offsets, and their key has those of its source partitions, they
# are compared as `analysis.positions` does. A member that is called `lsn` alone is no sign of Debezium. Otherwise:
#
# 1. Both are objects; a field that only one of them has is not compared. Booleans are not numbers.
# 2. Text counts as a number where both texts are alike up to digits at their end (`binlog.000007`, a GTID set's
#    `…:1-97`): of the same length, or neither of them with a leading zero. Any other change of a text leaves the
#    question open: the numbers beside it may have begun again.
# 3. BACK: a number is lower, none is higher, and no text changed. A lower number beside a higher one is the ordinary
#    carry of an offset with several digits (file and position, timestamp and sequence).
# 4. AGAIN: back to the start of the database's transaction that the offset before is within, which Debezium writes for
#    MySQL and MariaDB, and may go on behind it.


Fields = Mapping[str, object]

_NUMBERED: Final = late_pattern(r"(.*?)([0-9]+)", re.DOTALL)


class Advance(Enum):
    ADVANCED = "advanced"
    SAME = "same"
    BACK = "back"
    AGAIN = "again"
    UNCLEAR = "unclear"


_ADVANCES: Final = {
    Order.AFTER: Advance.ADVANCED,
    Order.SAME: Advance.SAME,
    Order.BEFORE: Advance.BACK,
    Order.INCOMPARABLE: Advance.UNCLEAR,
}


def compare_offsets(before: object, after: object, key: bytes | None, decode: Decode) -> Advance:
    """The order of `after` relative to `before`, both decoded values of one raw key; UNCLEAR if one is no object."""
    if type(before) is not dict or type(after) is not dict:
        return Advance.UNCLEAR
    kind = debezium_reader(after)
    if kind is not None and kind is debezium_reader(before) and kind.partition <= _partition(key, decode).keys():
        order = _ADVANCES[kind.compare(before, after)]
        is_again = order is Advance.BACK and kind is MYSQL and begins_transaction_again(before, after)
        return Advance.AGAIN if is_again else order
    lower = changed = False
    for name, now in after.items():
        was = before.get(name)
        if now == was:
            continue
        way = _direction(was, now)
        if way > 0:
            return Advance.ADVANCED
        lower = lower or way < 0
        changed = changed or way == 0
    if lower and not changed:
        return Advance.BACK
    return Advance.UNCLEAR if lower or changed or before.keys() != after.keys() else Advance.SAME


def advance_of(change: Change, key: bytes | None, decode: Decode) -> Advance:
    """The order of two writes; UNCLEAR from or to a tombstone, and if a value cannot be decoded."""
    before, after = change.before.value, change.after.value
    if before is None or after is None:
        return Advance.UNCLEAR
    try:
        return Advance.SAME if before == after else compare_offsets(decode(before), decode(after), key, decode)
    except ValueError:
        return Advance.UNCLEAR


def is_back(change: Change, key: bytes | None, decode: Decode) -> bool:
    """True if the later write is a setback; never from or to a tombstone, nor if a value cannot be decoded."""
    return advance_of(change, key, decode) in {Advance.BACK, Advance.AGAIN}


def may_begin_transaction(value: bytes | None) -> bool:
    """Whether an offset may be the start of a database's transaction, after which Debezium skips what it has read."""
    return value is not None and b'"pos"' in value and b'"event"' not in value and b'"row"' not in value


def _partition(key: bytes | None, decode: Decode) -> Fields:
    """The source partition of a key of an offsets topic; empty where it has none."""
    try:
        decoded = None if key is None else decode(key)
    except ValueError:
        return {}
    match decoded:
        case [_, dict() as partition]:
            return partition
    return {}


def _direction(was: object, now: object) -> int:
    """Above 0 is higher, below 0 lower, 0 cannot be compared; both differ."""
    if type(was) is int and type(now) is int:
        return 1 if now > was else -1
    if isinstance(was, int | float) and isinstance(now, int | float):
        return 0 if isinstance(was, bool) or isinstance(now, bool) else 1 if now > was else -1
    if isinstance(was, str) and isinstance(now, str):
        before, after = _NUMBERED.fullmatch(was), _NUMBERED.fullmatch(now)
        if before and after and before[1] == after[1]:
            return _digits_direction(before[2], after[2])
    return 0


def _digits_direction(was: str, now: str) -> int:
    if len(was) == len(now):
        return 1 if now > was else -1
    padded = was[0] == "0" or now[0] == "0"
    return 0 if padded else len(now) - len(was)


# Detects that an unfinished snapshot began again.
#
# 1. `analysis.positions.snapshots` recognizes the offsets of such a snapshot.
# 2. Debezium cannot resume it. A task that finds one begins another snapshot, at another position of the database.
# 3. The position is the same within one snapshot. An offset without any member of POSITIONS has an unknown form.


POSITIONS: Final = frozenset(
    {
        "change_lsn", "commit_lsn", "commit_scn", "file", "gtids", "lsn", "lsn_commit", "lsn_proc", "ord", "pos",
        "resume_token", "scn", "sec", "snapshot_scn", "txId",
    }
)  # fmt: skip
_SIGN: Final = b'"snapshot'


class SnapshotChange(Enum):
    """Relation of two offsets of snapshots that have not ended."""

    SAME_POSITION = "same-position"
    OTHER_POSITION = "other-position"
    UNKNOWN_FORM = "unknown-form"


def snapshot_change(change: Change, decode: Decode) -> SnapshotChange | None:
    """Kind of a change from one offset of an unfinished snapshot to another; None for every other change."""
    before, after = change.before.value, change.after.value
    if before is None or after is None or before == after or _SIGN not in before or _SIGN not in after:
        return None
    try:
        was, now = decode(before), decode(after)
    except ValueError:
        return None
    if not isinstance(was, Mapping) or not isinstance(now, Mapping):
        return None
    if not is_unfinished_snapshot(was) or not is_unfinished_snapshot(now):
        return None
    common = POSITIONS & was.keys() & now.keys()
    if not common:
        return SnapshotChange.UNKNOWN_FORM
    differ = any(was[name] != now[name] for name in common)
    return SnapshotChange.OTHER_POSITION if differ else SnapshotChange.SAME_POSITION
