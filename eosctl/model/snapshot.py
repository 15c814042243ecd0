"""Everything that one command read, and when. What could not be read is Skipped with a reason, never empty."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skipped:
    """Not read, and why. Unknown is not absent."""

    reason: str
