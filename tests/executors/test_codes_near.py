"""The reaction of an executor to each possible answer of a broker: every error code, at every request."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import code_name
from eosctl.errors import EosctlError, TimedOut, Unreachable
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transactions import TransactionState
from tests.executors import test_fencing as fencing
from tests.executors import test_transactions as ends
from tests.looked_at import AsLookedAt
from tests.neighbours import data_of

CODES = range(-1, 135)


def told(act: Callable[[], object]) -> str:
    try:
        return str(act())
    except EosctlError as error:
        return f"{type(error).__name__} {error.exit_code} {data_of(error.message)}"


def by_outcome(asked: Iterator[tuple[str, Callable[[], object]]]) -> Iterator[str]:
    """Each outcome with the situations that have it."""
    found: dict[str, list[str]] = {}
    for name, act in asked:
        found.setdefault(re.sub(r"CODE( \(-?\d+\))?", "CODE", told(act).replace(name, "CODE")), []).append(name)
    yield from (f"{outcome} <- {', '.join(names)}" for outcome, names in found.items())


def fenced(answers: list[Any], lookups: list[Any] | None = None, before: Any = None, *, over: bool = False) -> str:
    outcome, script = fencing.fence(answers, lookups, before, over=over)
    [result] = outcome.results
    error = "" if result.error is None else f"{result.error.name} {data_of(result.error.message)}"
    sent = [(type(item).__name__, node_id, delay_s > 0) for item, node_id, _, delay_s in script.sent]
    return f"{result.outcome} {result.attempts} {result.coordinator} {error} {outcome.interrupted} {sent}"


def of_fencing() -> Iterator[str]:
    yield "InitProducerId"
    done, known, found = fencing.DONE, fencing.known(), fencing.found
    yield from by_outcome(
        (code_name(each), lambda each=each: fenced([fencing.code(each), done], [found(2)], known)) for each in CODES
    )
    yield "FindCoordinator"
    yield from by_outcome(
        (code_name(each), lambda each=each: fenced([done], [found(number=each), found(2)])) for each in CODES
    )
    yield "no answer"
    places = (TopicPartition("orders", 3),)
    open_now = replace(known, state=TransactionState.PREPARE_COMMIT, partitions=places)
    for before in (None, known, open_now):
        for first in ([], [fencing.code(51)], [fencing.code(14), fencing.code(51)]):
            for error in (TimedOut("late"), Unreachable("gone"), KeyboardInterrupt()):
                for over in (False, True):
                    lost = fenced([*first, error, done], [found(), found(2), found()], before, over=over)
                    yield f"{len(first)} {type(error).__name__} {over} {lost}"


def test_each_answer_to_a_fence_has_the_outcome_of_its_golden_file(as_looked_at: AsLookedAt) -> None:
    as_looked_at("executors/fencing", of_fencing())


PAUSES = 3
"""So often an executor asks again, and then its time is over."""


@pytest.fixture(autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: Counter[Deadline] = Counter()

    def pause(self: Deadline, _: float) -> bool:
        paused[self] += 1
        return paused[self] <= PAUSES

    monkeypatch.setattr(Deadline, "pause", pause)


def of_aborting(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    def aborted(name: str, answer: Any) -> Callable[[], object]:
        return lambda: ends.aborted(monkeypatch, **{name: [answer]})

    answers: dict[str, Callable[[int], SimpleNamespace]] = {
        "DescribeProducers": lambda code: ends.opened(code=code),
        "ListOffsets": lambda code: ends.part(error_code=code, offset=-1),
        ends.MARKER: ends.marked,
    }
    for name, made in answers.items():
        yield name
        yield from by_outcome((code_name(each), aborted(name, made(each))) for each in CODES if each)


def test_each_answer_to_an_abort_has_the_outcome_of_its_golden_file(
    as_looked_at: AsLookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_looked_at("executors/abort", of_aborting(monkeypatch))


def committed(looks: list[Any], **more: Any) -> Callable[[], object]:
    return lambda: ends.committed(looks, **more)


def of_committing() -> Iterator[str]:
    now, complete = ends.ONGOING, ends.COMPLETE
    yield "EndTxn"
    yield from by_outcome(
        (code_name(each), committed([now, now, complete], ends=[ends.answered(each), ends.answered()]))
        for each in CODES
    )
    yield "FindCoordinator"
    yield from by_outcome(
        (code_name(each), committed([now, complete], found=[ends.coordinated(each)])) for each in CODES
    )
    yield "the transaction"
    for version in (0, 2):
        step = replace(ends.COMMIT, transaction_version=version)
        for state in TransactionState:
            for producer in (ProducerIdAndEpoch(7, 1), ProducerIdAndEpoch(7, 2), ProducerIdAndEpoch(8, 0)):
                found = replace(now, state=state, producer=producer, parts={} if state is not now.state else now.parts)
                first, then = (told(committed(each, step=step)) for each in ([found, complete], [now, found]))
                yield f"{version} {state} {producer} first: {first}; then: {then}"


def test_each_answer_to_a_commit_has_the_outcome_of_its_golden_file(as_looked_at: AsLookedAt) -> None:
    as_looked_at("executors/commit", of_committing())
