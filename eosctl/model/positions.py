"""Where a source offset lies, in the terms of the connector that wrote it."""

from enum import StrEnum


class Order(StrEnum):
    """Where a position lies, seen from another one of the same source."""

    BEFORE = "before"
    SAME = "same"
    AFTER = "after"
    INCOMPARABLE = "cannot be compared"
