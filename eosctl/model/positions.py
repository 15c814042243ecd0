"""Where a source offset lies, in the terms of the connector that wrote it."""

from enum import StrEnum
from typing import NamedTuple


class Order(StrEnum):
    """Where a position lies, seen from another one of the same source."""

    BEFORE = "before"
    SAME = "same"
    AFTER = "after"
    INCOMPARABLE = "cannot be compared"


class Served(StrEnum):
    """Whether a source still has what follows a position: all of it, not what follows at once, or none."""

    SERVED = "served"
    LEFT_BEHIND = "left-behind"
    GONE = "gone"


class AtSource(NamedTuple):
    """What a source says of a position, and in words."""

    served: Served
    words: str
