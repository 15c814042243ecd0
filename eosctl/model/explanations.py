"""Errors of workers and clients, and findings: what each means for Connect, and what to do next."""

import re
from dataclasses import dataclass

from eosctl.model.report import Severity


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """One kind of error; it matches where all its patterns are found, on any line, in any case.

    id is stable; cause says what it means here; commands are what to do next and may name {connector}, {task},
    {transactional_id}, {topic} and {group}; source is where it comes from.
    """

    id: str
    patterns: tuple[str, ...]
    title: str
    cause: str
    commands: tuple[str, ...]
    source: str

    def matches(self, text: str) -> bool:
        """Whether every pattern is found."""
        return all(re.search(each, text, re.IGNORECASE) for each in self.patterns)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One error that was recognised, or one kind of finding.

    The commands of an error have the names filled in that the text shows. name, severity and reported_by (commands of
    eosctl) are those of a kind of finding; an error has none.
    """

    id: str
    title: str
    cause: str
    commands: tuple[str, ...]
    source: str
    name: str | None = None
    severity: Severity | None = None
    reported_by: tuple[str, ...] = ()
