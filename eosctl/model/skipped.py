"""The difference between "there is none" and "it was not read"."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skipped:
    """Not read, and why. Unknown is not absent."""

    reason: str
