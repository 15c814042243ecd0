"""Times as eosctl shows them: UTC, to the millisecond; and how long something lasted."""

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from eosctl.late_pattern import late_pattern

CLOCKS_MS: Final = 5_000
"""The assumed largest difference between the clocks of two brokers."""
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def rfc3339(timestamp_ms: int) -> str:
    """A time in ms since the epoch as RFC 3339 in UTC: `2026-01-31T12:00:00.000Z`; `invalid:<ms>` beyond year 9999."""
    try:
        when = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError):
        return f"invalid:{timestamp_ms}"
    return f"{when:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"


def lasting(duration_ms: float) -> str:
    """A duration in ms in the largest unit of which it has at least two (`90 s`, `3.5 h`, `12 d`), or in ms."""
    for unit, name in _UNITS:
        if duration_ms >= 2 * unit:
            count = duration_ms / unit
            return f"{count:.1f} {name}" if count < 10 else f"{count:.0f} {name}"
    return f"{duration_ms:.0f} ms"


_DURATION: Final = late_pattern(r"(?P<count>\d{1,9})(?P<unit>ms|s|m|min|h|d|w)")
_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def duration_ms(text: str) -> int | None:
    """`90s`, `30m`, `2h` or `7d` in ms; None for another text."""
    found = _DURATION.fullmatch(text.strip())
    return None if found is None else int(found["count"]) * _UNIT_MS[found["unit"]]


TOLERANCE_MS: Final = 60_000
"""Clocks that differ by more show no age: a minute is little beside the quarter of an hour that a transaction has."""


class ClusterClock(Struct, frozen=True):
    """The clock of the active controller (node_id), measured by one request.

    ahead_ms is its time minus ours, negative where ours is ahead; it is wrong by at most within_ms, the time that the
    request took.
    """

    node_id: int
    ahead_ms: int
    within_ms: int

    @property
    def agrees(self) -> bool:
        """True if the measured difference from our clock is at most a minute."""
        return abs(self.ahead_ms) + self.within_ms <= TOLERANCE_MS

    def __str__(self) -> str:
        way = "ahead of" if self.ahead_ms >= 0 else "behind"
        return f"the clock of controller {self.node_id} is {abs(self.ahead_ms) / 1000:.0f} s {way} this machine's"
