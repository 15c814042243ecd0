"""Whether a source offset lies behind the one before it, as far as its kind of source or its numbers show.

Where both have the members of one of Debezium's connectors, and their key those of its source partitions, its order is
it (see `analysis.positions`). A member that is called `lsn` alone is no sign of Debezium. Otherwise:

1. Both are objects; a field that only one of them has is not compared. Booleans are not numbers.
2. Text counts as a number where both texts are alike up to digits at their end (`binlog.000007`, a GTID set's
   `…:1-97`): of the same length, or neither of them with a leading zero. Any other change of a text leaves the question
   open: the numbers beside it may have begun again.
3. BACK: a number is lower, none is higher, and no text changed. A lower number beside a higher one is the ordinary
   carry of an offset with several digits (file and position, timestamp and sequence).
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from eosctl.analysis.audit.batches import Decode
from eosctl.analysis.positions.index import debezium_reader
from eosctl.model.audit_states import Change
from eosctl.model.positions import Order

Fields = Mapping[str, object]

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)", re.DOTALL)


class Advance(Enum):
    """How an offset relates to the one before it."""

    ADVANCED = "advanced"
    SAME = "same"
    BACK = "back"
    UNCLEAR = "unclear"


_ADVANCES: Final = {
    Order.AFTER: Advance.ADVANCED,
    Order.SAME: Advance.SAME,
    Order.BEFORE: Advance.BACK,
    Order.INCOMPARABLE: Advance.UNCLEAR,
}


def compare_offsets(before: object, after: object, key: bytes | None, decode: Decode) -> Advance:
    """How `after` relates to `before`, both decoded values of one raw key; UNCLEAR where one is no object."""
    if type(before) is not dict or type(after) is not dict:
        return Advance.UNCLEAR
    kind = debezium_reader(after)
    if kind is not None and kind is debezium_reader(before) and kind.partition <= _partition(key, decode).keys():
        return _ADVANCES[kind.compare(before, after)]
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


def is_back(change: Change, key: bytes | None, decode: Decode) -> bool:
    """Whether the later write is a setback; never from or to a tombstone, nor where a value cannot be decoded."""
    before, after = change.before.value, change.after.value
    if before is None or after is None or before == after:
        return False
    try:
        return compare_offsets(decode(before), decode(after), key, decode) is Advance.BACK
    except ValueError:
        return False


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
    """1 higher, -1 lower, 0 cannot be compared."""
    if type(was) is int and type(now) is int:
        return (now > was) - (now < was)
    if isinstance(was, int | float) and isinstance(now, int | float):
        return 0 if isinstance(was, bool) or isinstance(now, bool) else (now > was) - (now < was)
    if isinstance(was, str) and isinstance(now, str):
        before, after = _NUMBERED.fullmatch(was), _NUMBERED.fullmatch(now)
        if before and after and before[1] == after[1]:
            return _digits_direction(before[2], after[2])
    return 0


def _digits_direction(was: str, now: str) -> int:
    if len(was) == len(now):
        return (now > was) - (now < was)
    padded = was[0] == "0" or now[0] == "0"
    return 0 if padded else (len(now) > len(was)) - (len(now) < len(was))
