"""A session on a fake cluster, and a console that keeps its output and answers questions by rule."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from eosctl.errors import Refused
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from tests.fake_cluster import FakeCluster


class Conversation:
    """A Reporter: its narration, warnings, questions and answers, in order."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.agrees = agrees
        self.said: list[str] = []
        self.shown: list[Any] = []

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        self.said.append(text)

    def waiting(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str) -> None:
        self.said.append(f"warning: {text}")

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        if not yes:
            self.said.append(question)
            if not self.agrees:
                raise Refused("not confirmed, nothing was changed")

    @contextmanager
    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> Iterator[Callable[[int], None]]:
        yield lambda count: None

    @contextmanager
    def results(self, label: str, total: int, *, unit: str = "") -> Iterator[Callable[[str], None]]:
        yield self.narrate

    def show(self, answer: object) -> None:
        """The answer that a command shows before the question."""
        self.shown.append(answer)


def session_on(cluster: FakeCluster, conversation: Conversation, **options: Any) -> Session:
    """A session that reads this cluster and speaks so."""
    session = Session(SessionOptions(console=conversation, **options))
    vars(session)["reader"] = cluster
    return session
