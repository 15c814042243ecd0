"""Numbers of things in sentences."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 5


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 connector`, `2,000 connectors`; `counted(2, "key lies", "keys lie")` where more than a letter changes."""
    noun = one if count == 1 else many or f"{one}s"
    return f"{count:,} {noun}"


def some(names: Sequence[object], between: str = ", ", most: int = SHOWN) -> str:
    """The first of them (five, unless `most` says otherwise), and how many more there are."""
    shown = between.join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
