"""What a pure function concluded: findings, each with a stable ID, and what to do about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

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
