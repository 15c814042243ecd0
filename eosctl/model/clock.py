"""The cluster's clock beside the one that eosctl judges ages by."""

from dataclasses import dataclass
from typing import Final

TOLERANCE_MS: Final = 60_000
"""Clocks that differ by more show no age: a minute is little beside the quarter of an hour that a transaction has."""


@dataclass(frozen=True, slots=True)
class ClusterClock:
    """The clock of the active controller (node_id), measured by one request.

    ahead_ms is its time minus ours, negative where ours is ahead; it is wrong by at most within_ms, the time that the
    request took.
    """

    node_id: int
    ahead_ms: int
    within_ms: int

    @property
    def agrees(self) -> bool:
        """Whether it differs from ours by a minute at most, as far as could be measured."""
        return abs(self.ahead_ms) + self.within_ms <= TOLERANCE_MS

    def __str__(self) -> str:
        way = "ahead of" if self.ahead_ms >= 0 else "behind"
        return f"the clock of controller {self.node_id} is {abs(self.ahead_ms) / 1000:.0f} s {way} this machine's"
