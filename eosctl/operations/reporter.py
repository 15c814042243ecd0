"""How an operation speaks to the user while it works: its answer is what it returns."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Advance = Callable[[int], None]


class Reporter(Protocol):
    """Narration, warnings, questions and progress. What is asked is shown by the command before."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Say what goes on; silent under -q, and below that many -v."""

    def waiting(self, text: str) -> None:
        """Say what takes long; on a terminal only, silent under -q."""

    def warn(self, text: str) -> None:
        """Say what the user ought to know although the command goes on."""

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        """Return if the user agrees, by typing the name where one is given, or gave --yes; otherwise raise Refused."""

    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> AbstractContextManager[Advance]:
        """How far a long read has come while the block runs; call the value with how many more are done."""

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        """Call the value with each of `total` results: it is said, unless the answer says it again there."""
