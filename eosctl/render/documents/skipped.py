"""What was not read, in rows that are made as JSON from the start."""

from typing import TypedDict


class SkippedRow(TypedDict):
    """It was not read, for this reason: it may be there or not."""

    skipped: str
