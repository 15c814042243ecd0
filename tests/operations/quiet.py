"""A session whose reader answers from a dict and whose reporter shows nothing."""

from contextlib import AbstractContextManager, nullcontext

from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from tests.fake_cluster import FakeCluster


class Quiet:
    """A reporter that shows nothing and agrees to nothing."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None: ...
    def waiting(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...
    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        raise AssertionError(question)

    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> AbstractContextManager[object]:
        return nullcontext(lambda _: None)

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[object]:
        return nullcontext(lambda _: None)

    result = preview = redraw = None


def session_with(reader: FakeCluster) -> Session:
    """A session that reads from there."""
    session = Session(SessionOptions(Quiet()))  # type: ignore[arg-type]  # what operations need of it
    vars(session)["reader"] = reader
    return session
