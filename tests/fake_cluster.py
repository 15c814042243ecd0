"""A cluster that answers from a dict: for tests of the decisions in operations."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from eosctl.errors import EosctlError
from eosctl.model.skipped import Cause, Skipped
from eosctl.sources.cluster_reader import ClusterReader, CoverageLog

QUESTIONS = frozenset(name for name in dir(ClusterReader) if not name.startswith("_"))
NOT_GIVEN = Skipped("the test gives none", Cause.NOT_ASKED)


class InTurn:
    """Changing answers: the next of these at each look, the last one from then on.

    An error is raised. asked are the arguments of each look.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any, **_: Any) -> Any:
        self.asked.append(args)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class FakeCluster(CoverageLog):
    """Answers each question of ClusterReader with the fact of its name; a function is called, an error is raised."""

    cluster_id = "fake"
    principal = "User:test"
    unknown_id = "no coordinator knows it"

    def __init__(self, *, as_of: int = 0, group_id: str | None = None, **facts: object) -> None:
        super().__init__()
        unknown = facts.keys() - QUESTIONS
        assert not unknown, f"no question of ClusterReader: {unknown}"
        self.group_id, self._as_of, self._facts = group_id, as_of, facts

    def sparing_workers(self) -> AbstractContextManager[None]:
        return nullcontext()

    def now(self) -> int:
        return self._as_of

    def require_workers(self, group_id: str) -> None:
        """None is of another group."""

    def require_topic(self, role: str, topic: str) -> None:
        if error := self._facts.get("require_topic"):
            raise error  # type: ignore[misc]  # the test gives an error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in QUESTIONS:
            raise AttributeError(name)

        def ask(*args: object, **options: object) -> object:
            fact = self._facts.get(name, NOT_GIVEN)
            if callable(fact):
                fact = fact(*args, **options)
            if isinstance(fact, EosctlError):
                self.note(name, Skipped.of(fact))
                raise fact
            self.note(name, fact)
            return fact

        return ask
