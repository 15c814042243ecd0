"""Names that a TAB offered before: topics or connectors of a cluster, kept so that the next TAB need not ask."""

from dataclasses import dataclass
from typing import Final

FRESH_MS: Final = 5 * 60 * 1000
PATIENCE_MS: Final = 30 * 1000
FORGOTTEN_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class CachedNames:
    """Names as they were at read_at, and when they were last asked for (both ms since the epoch).

    asked_at is later than read_at where the cluster did not answer the last time.
    """

    names: tuple[str, ...]
    read_at: int
    asked_at: int

    def is_due(self, now: int) -> bool:
        """Whether to ask again: after FRESH_MS, and after a failure not before PATIENCE_MS have passed."""
        return now - self.read_at >= FRESH_MS and now - self.asked_at >= PATIENCE_MS

    def known(self, now: int) -> tuple[str, ...]:
        """The names, () where they are older than FORGOTTEN_MS."""
        return self.names if now - self.read_at < FORGOTTEN_MS else ()

    def unanswered(self, now: int) -> "CachedNames":
        """The same after the cluster was asked in vain."""
        return CachedNames(self.names, self.read_at, now)


NOTHING: Final = CachedNames((), 0, 0)
