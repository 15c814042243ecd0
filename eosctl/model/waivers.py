"""Waivers: findings that somebody has accepted, until a day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Waiver:
    """Who accepts which findings, why, and until when.

    finding is the ID or name of a kind, subject a pattern as in a shell (`*`, `?`, `[…]`) for the whole subject of a
    finding. expires is the last day, in UTC, on which it holds.
    """

    finding: str
    subject: str
    owner: str
    reason: str
    expires: date

    def covers(self, words: Iterable[str], subject: str) -> bool:
        """Whether it is for findings that have one of these words as ID or name, and this subject."""
        named = self.finding.lower()
        return any(each.lower() == named for each in words) and fnmatchcase(subject, self.subject)


class AppliedWaiver(NamedTuple):
    """The waiver of a finding, and whether its last day is over: it does not hold then."""

    waiver: Waiver
    expired: bool
