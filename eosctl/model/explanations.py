"""Errors of workers and clients, and findings: what each means for Connect, and what to do next."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.model.report import Answer, FindingKind, Severity


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

    def speaks_of(self, word: str) -> bool:
        """Whether this class or name of an error is one of its patterns."""
        return any(re.search(each, word, re.IGNORECASE) for each in self.patterns)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained(Answer):
    """All that a text shows, the more special first; one that shows nothing ends with exit code 1.

    near are IDs and names that are spelt much like a word of a text that shows nothing.
    """

    text: str
    explanations: tuple[Explanation, ...]
    near: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether nothing was recognised, so that the text is still to be looked at."""
        return not self.explanations


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownExplanations(Answer):
    """All that can be explained: kinds of findings by theme, errors, and Kafka's own classes of errors."""

    findings: Mapping[str, tuple[FindingKind, ...]]
    errors: tuple[ErrorPattern, ...]
    classes: tuple[str, ...]
