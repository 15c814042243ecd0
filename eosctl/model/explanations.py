"""Errors of workers and clients: how each is recognised, what it means for Connect, and what to do next."""

import re
from dataclasses import dataclass


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
    """One error that was recognised, its commands with the names filled in that the text gives."""

    id: str
    title: str
    cause: str
    commands: tuple[str, ...]
    source: str
