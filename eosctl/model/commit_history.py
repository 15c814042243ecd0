"""When a transactional ID committed: its last commit, and how long its intervals between two commits were."""

from dataclasses import dataclass
from typing import Final, NamedTuple

DAY_MS: Final = 86_400_000
KEPT_DAYS: Final = 28
"""How many days before the last commit a history reaches back at most: four weeks."""


class CommitDay(NamedTuple):
    """The intervals that ended on one day: its number since the epoch, how many there were, and the longest, in ms."""

    day: int
    intervals: int
    longest_ms: int


@dataclass(frozen=True, slots=True)
class CommitHistory:
    """The commits of one transactional ID, as far as they are known; times are in ms since the epoch.

    first_ms is the first commit and last_ms the last; claimed_ms is when a producer last claimed the ID
    (InitProducerId), None where that is not known. days are those on which an interval ended, the oldest first; an
    interval in which a producer claimed the ID is not counted: the task was started meanwhile.
    """

    first_ms: int
    last_ms: int
    claimed_ms: int | None = None
    days: tuple[CommitDay, ...] = ()

    @property
    def intervals(self) -> int:
        """How many intervals between two commits are known."""
        return sum(each.intervals for each in self.days)

    @property
    def longest_ms(self) -> int:
        """The longest of them in ms; 0 where none is known."""
        return max((each.longest_ms for each in self.days), default=0)

    @property
    def span_ms(self) -> int:
        """From the first commit to the last, in ms."""
        return self.last_ms - self.first_ms

    @property
    def quiet_since_ms(self) -> int:
        """The last commit, or the later time at which a producer claimed the ID, in ms since the epoch."""
        return max(self.last_ms, self.claimed_ms or 0)
