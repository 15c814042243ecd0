"""What a pure function concluded: findings, each with a stable ID, and what to do about them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from eosctl.errors import EXIT_FINE, EXIT_FOUND, EosctlError
from eosctl.model.coverage import Coverage

Evidence = Mapping[str, object]


class Severity(StrEnum):
    """error: the promise is broken or will be; warning: it may be; info: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth telling.

    id is stable (lower-case words joined by dashes); subject is the connector, topic or transactional ID concerned;
    message says what was found; cure what to do next; evidence holds the figures behind it, ready for JSON.
    """

    id: str
    severity: Severity
    subject: str
    message: str
    cure: str
    evidence: Evidence = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether a command that found this ends with exit code 1: an info does not."""
        return self.severity is not Severity.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an operation returns: a Report, a Plan that is shown, or an Outcome. Subclasses add what was found.

    coverage is what was asked of the cluster, and what of it was not read.
    """

    coverage: Coverage = field(default_factory=Coverage)

    @property
    def found(self) -> bool:
        """Whether it found something that a user should look at."""
        return False

    @property
    def failure(self) -> EosctlError | None:
        """The error that the command ends with once the answer is shown; None where it did what it was asked."""
        return None

    def covering(self, coverage: Coverage) -> Self:
        """The same with what was read for it."""
        return replace(self, coverage=coverage)


def exit_code(answer: Answer) -> int:
    """The exit code of every command: its failure's, 1 where something was found, else 0."""
    if answer.failure is not None:
        return answer.failure.exit_code
    return EXIT_FOUND if answer.found else EXIT_FINE


def any_counts(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings is more than information."""
    return any(each.counts for each in findings)
