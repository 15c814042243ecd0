"""`eosctl(...)`: one command line run in this process, with its streams kept apart."""

from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest

from eosctl.cli import run
from eosctl.render.console import Stream, Terminal
from tests.schemas import check_documents


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command line."""

    exit_code: int
    stdout: str
    stderr: str


Eosctl = Callable[..., Ran]


class Asked(StringIO):
    """A person, who lets something happen before the answer."""

    def __init__(self, answer: str, meanwhile: Callable[[], object]) -> None:
        super().__init__(answer)
        self._meanwhile = meanwhile

    def readline(self, size: int | None = -1, /) -> str:
        self._meanwhile()
        return super().readline(-1 if size is None else size)


@dataclass(frozen=True, slots=True)
class Typed:
    """Streams of a terminal `width` columns wide (None: pipes); `meanwhile` happens before `answer` is typed."""

    width: int | None = None
    answer: str = ""
    meanwhile: Callable[[], object] = lambda: None
    more: dict[str, Any] = field(default_factory=dict)

    def run(self, *args: object) -> Ran:
        stdin, stdout, stderr = Asked(self.answer, self.meanwhile), StringIO(), StringIO()
        streams = [Stream(file, self.width) for file in (stdin, stdout, stderr)]
        code = run([str(arg) for arg in args], Terminal(*streams, **self.more))
        if "probe" not in args:  # a command of the tests
            check_documents(stdout.getvalue())
        return Ran(code, stdout.getvalue(), stderr.getvalue())


@pytest.fixture
def eosctl(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Eosctl:
    """Run a command line as a script would: no terminal, nothing from the environment, no profiles."""
    import os

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

    for name in [name for name in os.environ if name.startswith("EOSCTL_")]:
        monkeypatch.delenv(name)
    return Typed().run


@pytest.fixture
def at_terminal(eosctl: Callable[..., Ran]) -> Callable[..., Typed]:
    """`at_terminal(width=80, answer="y\\n").run(...)`: the same with a person in front of it."""
    return lambda width=80, answer="", meanwhile=lambda: None, **more: Typed(width, answer, meanwhile, more)
