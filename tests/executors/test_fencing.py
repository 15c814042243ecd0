"""How fencing treats each answer of a coordinator: the cases of Kafka's FenceProducersHandlerTest, and those beyond."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.clients.messages import Request
from eosctl.clients.wire import Reply
from eosctl.errors import EosctlError, TimedOut, Unreachable
from eosctl.executors.fencing import Fence, FencingRun, Lookup
from eosctl.model.fencing import Candidate, FenceOutcome, FenceResult, FenceStep, FencingOutcome
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transactions import TransactionDescription, TransactionState

ID = "orders-0"
DONE = SimpleNamespace(error_code=0, producer_id=7, producer_epoch=2)


@dataclass
class Script:
    """Answers in the order in which they are given; replaces the wire and its window."""

    answers: dict[str, deque[Any]]
    sent: list[tuple[Any, int, Request, float]] = field(default_factory=list)
    given: int = 0
    over: bool = True
    extended: int = 0
    stopped: bool = False
    dropped: list[Any] = field(default_factory=list)
    refreshed: int = 0
    principal: str = "User:tool"

    def window(self, **_: object) -> "Script":
        return self

    def brokers(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(node_id=1), SimpleNamespace(node_id=2)]

    def refresh(self) -> None:
        self.refreshed += 1

    def put(self, item: Lookup | Fence, node_id: int, request: Request, *, delay_s: float = 0.0) -> None:
        if self.stopped:
            self.dropped.append(item)
        else:
            self.sent.append((item, node_id, request, delay_s))

    def extend(self) -> None:
        self.extended += 1

    def stop(self, within_s: float) -> None:
        assert within_s > 0
        self.stopped = True
        self.dropped += [entry[0] for entry in self.sent[self.given :]]
        del self.sent[self.given :]

    def __iter__(self) -> Iterator[Reply[Any]]:
        while self.given < len(self.sent):
            item, node_id, _, _ = self.sent[self.given]
            self.given += 1
            answer = self.answers[type(item).__name__].popleft()
            if isinstance(answer, EosctlError):
                yield Reply(item, node_id, None, answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                yield Reply(item, node_id, answer, None)


def code(number: int) -> SimpleNamespace:
    return SimpleNamespace(error_code=number, producer_id=-1, producer_epoch=-1)


def found(node_id: int = 1, number: int = 0) -> SimpleNamespace:
    return SimpleNamespace(coordinators=[SimpleNamespace(key=ID, node_id=node_id, error_code=number)])


def known(coordinator: int = 1) -> TransactionDescription:
    return TransactionDescription(ID, TransactionState.EMPTY, ProducerIdAndEpoch(7, 1), 60_000, None, (), coordinator)


def fence(
    fences: list[Any],
    lookups: list[Any] | None = None,
    before: TransactionDescription | None = None,
    *,
    over: bool = False,
) -> tuple[FencingOutcome, Script]:
    script = Script({"Fence": deque(fences), "Lookup": deque([found()] if lookups is None else lookups)}, over=over)
    steps = [FenceStep(Candidate(ID, named=True), before)]
    told: list[FenceResult] = []
    outcome = FencingRun(script, steps, 45_000, 10.0, told.append).run()  # type: ignore[arg-type]  # the script stands in
    assert told == [each for each in outcome.results if each.outcome is not FenceOutcome.SKIPPED] or outcome.interrupted
    return outcome, script


def nodes(script: Script, kind: type) -> list[int]:
    return [node_id for item, node_id, _, _ in script.sent if isinstance(item, kind)]


def test_the_request_claims_no_producer_and_carries_the_timeout() -> None:
    _, script = fence([DONE], before=known())
    _, node_id, request, delay_s = script.sent[0]
    assert (node_id, delay_s) == (1, 0.0)
    assert request.fields == {
        "transactional_id": ID,
        "transaction_timeout_ms": 45_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }


def test_success_gives_the_new_producer_id_and_epoch() -> None:
    outcome, script = fence([DONE], before=known())
    result = outcome.results[0]
    assert (result.outcome, result.after, result.attempts) == (FenceOutcome.FENCED, ProducerIdAndEpoch(7, 2), 1)
    assert result.coordinator == 1
    assert script.extended == 1, "the others have the whole timeout again"


def test_an_unknown_coordinator_is_looked_up_first() -> None:
    outcome, script = fence([DONE], lookups=[found(2)])
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert nodes(script, Fence) == [2]


@pytest.mark.parametrize("number", [14, 51])
def test_a_busy_coordinator_is_asked_again_after_a_growing_pause(number: int) -> None:
    outcome, script = fence([code(number), code(number), DONE], before=known())
    assert outcome.results[0].attempts == 3
    assert nodes(script, Lookup) == []
    delays = [delay_s for _, _, _, delay_s in script.sent]
    assert delays[0] == 0.0
    assert 0 < delays[1] < delays[2]


@pytest.mark.parametrize("number", [15, 16])
def test_a_coordinator_that_moved_is_looked_up_again(number: int) -> None:
    outcome, script = fence([code(number), DONE], lookups=[found(2)], before=known(1))
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert nodes(script, Fence) == [1, 2]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (-1, "UNKNOWN_SERVER_ERROR"),
        (90, "PRODUCER_FENCED"),
        (105, "TRANSACTIONAL_ID_NOT_FOUND"),
        (47, "INVALID_PRODUCER_EPOCH"),
        (42, "INVALID_REQUEST"),
        (50, "INVALID_TRANSACTION_TIMEOUT"),
        (120, "TRANSACTION_ABORTABLE"),
        (9999, "UNKNOWN_ERROR_9999"),
    ],
)
def test_every_other_error_is_final(number: int, name: str) -> None:
    outcome, _ = fence([code(number)], before=known())
    result = outcome.results[0]
    assert (result.outcome, result.attempts) == (FenceOutcome.FAILED, 1)
    assert result.error is not None
    assert result.error.name == name


@pytest.mark.parametrize("number", [14, 15])
def test_a_look_up_that_is_too_early_is_repeated(number: int) -> None:
    outcome, script = fence([DONE], lookups=[found(number=number), found()])
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert len(nodes(script, Lookup)) == 2


def test_a_look_up_that_is_not_allowed_fails_the_id_and_names_the_acl() -> None:
    outcome, _ = fence([], lookups=[found(number=53)])
    error = outcome.results[0].error
    assert error is not None
    assert error.message == f"User:tool lacks Describe on transactional ID {ID}"


def test_a_lost_connection_is_looked_up_again_at_another_broker() -> None:
    outcome, script = fence([Unreachable("gone"), DONE], lookups=[found(2)], before=known(1))
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert nodes(script, Lookup) == [2]
    assert script.refreshed == 1


def test_a_request_that_times_out_before_the_whole_is_sent_again_where_the_coordinator_is_now() -> None:
    outcome, script = fence([TimedOut("too late"), DONE], before=known())
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert len(nodes(script, Lookup)) == 1


def test_a_late_answer_is_final_and_says_of_an_unknown_name() -> None:
    outcome, _ = fence([TimedOut("too late")], before=known(), over=True)
    error = outcome.results[0].error
    assert error is not None
    assert error.name == "TIMED_OUT"
    assert "whether it was fenced is not known" in error.message


def test_an_interruption_keeps_what_is_done_and_says_what_is_not() -> None:
    outcome, _ = fence([KeyboardInterrupt()], before=known())
    result = outcome.results[0]
    assert outcome.interrupted
    assert result.outcome is FenceOutcome.FAILED
    assert result.error is not None
    assert result.error.name == "INTERRUPTED"


def test_an_interruption_before_sending_leaves_the_id_alone() -> None:
    outcome, _ = fence([], lookups=[KeyboardInterrupt()])
    result = outcome.results[0]
    assert (result.outcome, result.error.message if result.error else "") == (FenceOutcome.SKIPPED, "not sent")


def test_time_that_ran_out_on_a_coordinator_that_answers_tells_its_last_answer() -> None:
    before = replace(known(), state=TransactionState.PREPARE_COMMIT, partitions=(TopicPartition("orders", 3),))
    outcome, _ = fence([code(51), code(51), TimedOut("too late")], before=before, over=True)
    error = outcome.results[0].error
    assert error is not None
    assert error.message.startswith("2 answers, the last one CONCURRENT_TRANSACTIONS: ")
    assert "waits for the leaders of orders-3" in error.message


def test_an_interruption_while_waiting_to_try_again_says_what_the_coordinator_said() -> None:
    outcome, _ = fence([code(51), KeyboardInterrupt()], before=known())
    assert outcome.results[0].outcome is FenceOutcome.FAILED
    assert outcome.results[0].attempts == 1
