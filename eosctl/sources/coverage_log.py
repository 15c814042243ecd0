"""What readers were asked for and did not read, and what several readers of one session ask once."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar, cast

from eosctl.errors import EosctlError
from eosctl.model.coverage import Coverage, unread_in
from eosctl.model.skipped import Skipped

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


class KeptFact(NamedTuple):
    """A fact, what was noted while it was read, and until when (of the monotonic clock) later sessions take it."""

    fact: object
    noted: Coverage
    until: float


class KeptFacts:
    """Facts that several readers of one session share, each by its question; a few are for later sessions, too.

    silent are the workers that did not answer in this session, by their addresses.
    """

    def __init__(self) -> None:
        self.by_question: dict[tuple[object, ...], KeptFact] = {}
        self.silent: dict[str, Skipped] = {}

    def probes(self, processes: object, kept_s: float) -> dict[str, bool]:
        """What each of these processes answered by its address, to be added to; later sessions take it as well."""
        kept = KeptFact({}, Coverage(), monotonic() + kept_s)
        return cast("dict[str, bool]", self.by_question.setdefault(("probes", processes), kept).fact)

    def next_session(self) -> None:
        """Forgets what was only for the session that is over, and what is too old."""
        now = monotonic()
        self.silent = {}
        self.by_question = {question: kept for question, kept in self.by_question.items() if kept.until > now}


class CoverageLog:
    """What a reader was asked for, in the order of asking. Readers inherit it; threads may share one.

    With `kept`, the answers to some questions are those that a reader before had; not for several threads.
    """

    def __init__(self, kept: KeptFacts | None = None) -> None:
        self._coverage, self._lock, self._needed, self._kept = Coverage(), Lock(), True, kept

    @property
    def coverage(self) -> Coverage:
        """What was asked for until now, and what of it was not read."""
        return self._coverage

    @contextmanager
    def adding(self) -> Iterator[None]:
        """What is asked for meanwhile is not needed."""
        before, self._needed = self._needed, False
        try:
            yield
        finally:
            self._needed = before

    def note(self, what: str, fact: object, *, needed: bool = True) -> None:
        """Keep that `what` was asked for, and what of `fact` is Skipped."""
        with self._lock:
            unread = (
                each if needed and self._needed else replace(each, needed=False) for each in unread_in(what, fact)
            )
            self._coverage += Coverage((what,), tuple(unread))

    def noted(self, what: str, records: Iterable[R]) -> Iterator[R]:
        """The same records; the error that ends them is kept in the coverage as `what`."""
        try:
            yield from records
        except EosctlError as error:
            self.note(what, Skipped.of(error))
            raise


def asked(what: str, *, once: bool = False, kept_s: float = 0.0) -> Callable[[F], F]:
    """A reader's method whose answer, or error, is kept in its coverage as `what`; {} is its first argument.

    once: readers that share their facts ask it once, as far as all of the answer was read; with options, each time.
    Sessions that share them, too, ask again when it was `kept_s` old at the end of the session before.
    """

    def decorate(method: F) -> F:
        def ask(reader: CoverageLog, *args: object, **options: object) -> object:
            name = what.format(*args) if "{" in what else what
            try:
                fact = method(reader, *args, **options)
            except EosctlError as error:
                reader.note(name, Skipped.of(error))
                raise
            reader.note(name, fact)
            return fact

        @wraps(method)
        def ask_once(reader: CoverageLog, *args: object, **options: object) -> object:
            kept = reader._kept
            if kept is None or not once or any(options.values()):
                return ask(reader, *args, **options)
            question = (method.__name__, *args)
            if question not in kept.by_question:
                before, reader._coverage = reader._coverage, Coverage()
                try:
                    fact = ask(reader, *args, **options)
                finally:
                    noted, reader._coverage = reader._coverage, before + reader._coverage
                if noted.unread:
                    return fact
                kept.by_question[question] = KeptFact(fact, noted, monotonic() + kept_s)
            found = kept.by_question[question]
            reader._coverage += found.noted
            return found.fact

        return ask_once  # type: ignore[return-value]  # the same signature

    return decorate
