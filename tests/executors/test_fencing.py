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
from eosctl.errors import EosctlError, NotAuthorized, TimedOut, Unreachable
from eosctl.executors.fencing import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Fence,
    FencingRun,
    Lookup,
    StepProgress,
    _unanswered,
    challenge_old_producers,
    fence_producers,
    fence_transaction,
)
from eosctl.model.fencing import Candidate, FenceOutcome, FenceResult, FenceStep, FencingOutcome
from eosctl.model.names import ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.plan import FenceProducers, FenceTransaction
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
    reported: list[FenceResult] = []
    outcome = FencingRun(script, steps, 45_000, 10.0, reported.append).run()  # type: ignore[arg-type]  # the script stands in
    assert (
        reported == [each for each in outcome.results if each.outcome is not FenceOutcome.SKIPPED]
        or outcome.interrupted
    )
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


def test_a_late_answer_is_final_for_an_unknown_name() -> None:
    outcome, _ = fence([TimedOut("too late")], before=known(), over=True)
    error = outcome.results[0].error
    assert error is not None
    assert error.name == "TIMED_OUT"
    assert "whether it was fenced is not known" in error.message


def test_an_interruption_keeps_the_completed_ids_and_lists_the_others() -> None:
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


def test_a_timeout_at_a_coordinator_that_answers_names_its_last_answer() -> None:
    before = replace(known(), state=TransactionState.PREPARE_COMMIT, partitions=(TopicPartition("orders", 3),))
    outcome, _ = fence([code(51), code(51), TimedOut("too late")], before=before, over=True)
    error = outcome.results[0].error
    assert error is not None
    assert error.message.startswith("2 answers, the last one CONCURRENT_TRANSACTIONS: ")
    assert "waits for the leaders of orders-3" in error.message


def test_an_interruption_while_waiting_to_retry_reports_the_answer_of_the_coordinator() -> None:
    outcome, _ = fence([code(51), KeyboardInterrupt()], before=known())
    assert outcome.results[0].outcome is FenceOutcome.FAILED
    assert outcome.results[0].attempts == 1


def test_an_id_that_waits_for_another_try_is_interrupted_without_a_doubt() -> None:
    """The request that was to be sent again is dropped: the coordinator's last answer stands."""
    script = Script({"Fence": deque([code(51)]), "Lookup": deque()}, over=False)
    steps = [FenceStep(Candidate(each, named=True), replace(known(), transactional_id=each)) for each in (ID, "b")]
    script.answers["Fence"].append(KeyboardInterrupt())
    outcome = FencingRun(script, steps, 45_000, 10.0).run()  # type: ignore[arg-type]  # as above
    messages = [each.error.message for each in outcome.results if each.error is not None]
    assert messages == [
        "stopped after 1 answers, the last one CONCURRENT_TRANSACTIONS; not fenced",
        "stopped before the answer; whether it was fenced is not known",
    ]


def test_an_id_whose_request_was_lost_is_in_doubt_even_where_it_waits_for_another_try() -> None:
    outcome, _ = fence([Unreachable("gone")], lookups=[KeyboardInterrupt()], before=known())
    [result] = outcome.results
    assert result.outcome is FenceOutcome.FAILED
    assert result.error is not None
    assert result.error.message == "stopped before the answer; whether it was fenced is not known"


@pytest.mark.parametrize(
    ("number", "partitions", "words"),
    [
        (51, (TopicPartition("orders", 3),), ": the end of its transaction waits for the leaders of orders-3"),
        (51, (), ";"),
        (14, (TopicPartition("orders", 3),), ";"),
    ],
)
def test_only_an_end_of_a_transaction_waits_for_the_leaders_of_its_partitions(number, partitions, words) -> None:
    outcome, _ = fence([code(number), TimedOut("late")], before=replace(known(), partitions=partitions), over=True)
    error = outcome.results[0].error
    assert error is not None
    assert (
        error.message.partition("1 answers, the last one ")[2]
        .partition("S")[2]
        .endswith(f"{words.removesuffix(';')}; whether it was fenced is not known, so fence it again")
    )
    assert ("waits for the leaders" in error.message) == words.startswith(":")


def test_the_brokers_are_listed_again_at_most_twice_a_second_and_the_broker_that_failed_is_asked_last() -> None:
    lost = Unreachable("gone")
    outcome, script = fence([lost, lost, DONE], lookups=[found(2), found(1)], before=known(1))
    assert outcome.count(FenceOutcome.FENCED) == 1
    assert nodes(script, Lookup) == [2, 1]
    assert script.refreshed == 1


def test_pauses_double_up_to_half_a_second() -> None:
    _, script = fence([*[code(51)] * 8, DONE], before=known())
    assert [delay_s for _, _, _, delay_s in script.sent] == [0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]


# Steps of a plan

OPEN = replace(known(), state=TransactionState.ONGOING, start_ms=5)
NEWER = replace(known(), producer=ProducerIdAndEpoch(7, 2))


def access(fences: list[Any]) -> tuple[Any, Script]:
    script = Script({"Fence": deque(fences), "Lookup": deque()}, over=True)
    return SimpleNamespace(wire=script, timeout_s=10.0), script


def fenced_transaction(*described: TransactionDescription | None, fences: list[Any]) -> tuple[str, list[str]]:
    """The messages, and the order of the requests; each description answers one request."""
    step = FenceTransaction(Side.TARGET, ID, 7, 1, 5, (), 45_000)
    answers, done = list(described), list[str]()
    there, script = access(fences)

    def describe(_: object, names: Any) -> dict[str, TransactionDescription]:
        answer = answers.pop(0)
        done.append("describe")
        return {} if answer is None else {names[0]: answer}

    said = fence_transaction(step, lambda: done.append("recheck"), access=there, describe=describe)
    assert not answers
    return said, [*done, *(type(each[0]).__name__ for each in script.sent)]


@pytest.mark.parametrize(
    "before",
    [
        None,
        replace(OPEN, state=TransactionState.COMPLETE_ABORT),
        replace(OPEN, producer=ProducerIdAndEpoch(7, 2)),
        replace(OPEN, producer=ProducerIdAndEpoch(8, 1)),
        replace(OPEN, start_ms=6),
        replace(OPEN, start_ms=None),
    ],
)
def test_a_transaction_that_is_not_the_plan_s_any_more_is_not_fenced(before) -> None:
    assert fenced_transaction(before, fences=[]) == ("nothing to do: the transaction has ended", ["describe"])


@pytest.mark.parametrize(
    ("after", "producer"), [(NEWER, "7/2"), (None, "-"), (replace(OPEN, producer=ProducerIdAndEpoch(7, 2)), "7/2")]
)
def test_a_transaction_is_fenced_after_the_recheck_and_its_end_is_proved_by_the_coordinator(after, producer) -> None:
    said = fenced_transaction(OPEN, after, fences=[DONE])
    assert said == (f"aborted; {ID} has producer {producer} now", ["describe", "recheck", "describe", "Fence"])


def test_a_transaction_that_is_open_after_its_fence_is_no_success() -> None:
    for state in (TransactionState.ONGOING, TransactionState.PREPARE_ABORT):
        with pytest.raises(TimedOut, match=f"still has the transaction as {state.value}"):
            fenced_transaction(OPEN, replace(OPEN, state=state), fences=[DONE])
    with pytest.raises(NotAuthorized):
        fenced_transaction(OPEN, fences=[code(53)])


@pytest.mark.parametrize(
    ("ids", "there", "said", "sent"),
    [
        (("a",), ("a",), "1 producer", ["a"]),
        (("a", "b"), ("a", "b"), "2 producers", ["a", "b"]),
        (("a", "b"), ("b",), "1 producer; 1 ID was never used or expired", ["b"]),
        (("a", "b"), (), "0 producers; 2 IDs were never used or expired", []),
    ],
)
def test_an_id_that_its_coordinator_does_not_know_is_not_created(ids, there, said, sent) -> None:
    where, script = access([DONE] * len(sent))
    step = FenceProducers(Side.TARGET, ids, 45_000)
    known_ids = {each: replace(known(), transactional_id=each) for each in there}
    assert fence_producers(step, lambda: None, access=where, describe=lambda *_: known_ids) == said
    assert [each[0].transactional_id for each in script.sent] == sent


def test_a_producer_that_could_not_be_fenced_ends_the_step() -> None:
    where, _ = access([code(53)])
    step = FenceProducers(Side.TARGET, (ID,), 45_000)
    with pytest.raises(NotAuthorized):
        fence_producers(step, lambda: None, access=where, describe=lambda *_: {ID: known()})


# The proof


class Asked(Script):
    """Answers of EndTxn by their order, in place of those by kind."""

    def __iter__(self) -> Iterator[Reply[Any]]:
        while self.given < len(self.sent):
            item, node_id, _, _ = self.sent[self.given]
            answer = self.answers["EndTxn"][self.given]
            self.given += 1
            yield Reply(item, node_id, None if answer is None else code(answer), None)


def challenged(*answers: int | None) -> tuple[object, Asked]:
    outcome, _ = fence([DONE], before=known(2))
    script = Asked({"EndTxn": deque(answers)})
    [(_, refusal)] = challenge_old_producers(script, outcome, 10.0).items()  # type: ignore[arg-type]  # as above
    return refusal, script


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (47, "INVALID_PRODUCER_EPOCH"),
        (49, "INVALID_PRODUCER_ID_MAPPING"),
        (90, "PRODUCER_FENCED"),
        (0, ""),
        (48, ""),
        (None, None),
        (15, None),
        (16, None),
        (53, None),
    ],
)
def test_an_old_producer_is_refused_only_by_an_answer_about_the_producer(answer, refusal) -> None:
    found_refusal, script = challenged(answer)
    assert found_refusal == refusal
    assert script.extended == (answer is not None)
    [(item, node_id, request, delay_s)] = script.sent
    assert (item, node_id, delay_s) == (ID, 2, 0.0)
    assert (request.fields["producer_id"], request.fields["producer_epoch"], request.fields["committed"]) == (
        7,
        1,
        False,
    )


@pytest.mark.parametrize("busy", [14, 51])
def test_a_busy_coordinator_is_challenged_again_after_a_pause(busy) -> None:
    refusal, script = challenged(busy, 90)
    assert refusal == "PRODUCER_FENCED"
    assert [delay_s for *_, delay_s in script.sent] == [0.0, 0.05]
    assert script.sent[0][2].fields == script.sent[1][2].fields


def test_only_producers_that_were_fenced_and_known_before_are_challenged() -> None:
    script = Asked({"EndTxn": deque()})
    for before, answers in ((known(), [code(53)]), (None, [DONE])):
        outcome, _ = fence(answers, before=before)
        assert challenge_old_producers(script, outcome, 10.0) == {}  # type: ignore[arg-type]  # as above
    assert script.sent == []


ONE_STEP = FenceStep(Candidate(ID, named=True), None)
ADDED_SIX = replace(known(), partitions=tuple(TopicPartition("t", number) for number in range(6)))
NEVER_SENT, MAY_BE_FENCED = "not sent", "stopped before the answer; whether it was fenced is not known"


@pytest.mark.parametrize(
    ("progress", "unsent", "outcome", "message"),
    [
        (StepProgress(ONE_STEP), (), FenceOutcome.SKIPPED, NEVER_SENT),
        (StepProgress(ONE_STEP, began=0.0), (ID,), FenceOutcome.SKIPPED, NEVER_SENT),
        (StepProgress(ONE_STEP, began=0.0), (), FenceOutcome.FAILED, MAY_BE_FENCED),
        (StepProgress(ONE_STEP, began=0.0), ("other",), FenceOutcome.FAILED, MAY_BE_FENCED),
        (StepProgress(ONE_STEP, lost=True), (), FenceOutcome.FAILED, MAY_BE_FENCED),
        (StepProgress(ONE_STEP, attempts=1, lost=True), (ID,), FenceOutcome.FAILED, MAY_BE_FENCED),
        (StepProgress(ONE_STEP, began=0.0, attempts=1, retriable=14), (), FenceOutcome.FAILED, MAY_BE_FENCED),
        (
            *(StepProgress(ONE_STEP, attempts=1, retriable=14), (), FenceOutcome.FAILED),
            "stopped after 1 answers, the last one COORDINATOR_LOAD_IN_PROGRESS; not fenced",
        ),
        (
            *(StepProgress(ONE_STEP, attempts=2, retriable=51), (), FenceOutcome.FAILED),
            "stopped after 2 answers, the last one CONCURRENT_TRANSACTIONS; not fenced",
        ),
        (
            *(StepProgress(replace(ONE_STEP, before=known()), attempts=2, retriable=51), (), FenceOutcome.FAILED),
            "stopped after 2 answers, the last one CONCURRENT_TRANSACTIONS; not fenced",
        ),
        (
            *(StepProgress(replace(ONE_STEP, before=ADDED_SIX), attempts=2, retriable=51), (), FenceOutcome.FAILED),
            "stopped after 2 answers, the last one CONCURRENT_TRANSACTIONS: the end of its transaction waits for the "
            "leaders of t-0, t-1, t-2, t-3, t-4; not fenced",
        ),
        (
            *(StepProgress(replace(ONE_STEP, before=ADDED_SIX), attempts=2, retriable=14), (), FenceOutcome.FAILED),
            "stopped after 2 answers, the last one COORDINATOR_LOAD_IN_PROGRESS; not fenced",
        ),
    ],
)
def test_a_step_that_was_interrupted_is_skipped_only_where_it_was_never_sent(progress, unsent, outcome, message):
    found = _unanswered(progress, unsent)
    assert found.outcome is outcome
    assert found.error is not None
    assert (found.error.name, found.error.message) == ("INTERRUPTED", message)


@pytest.mark.parametrize(("pauses", "first"), [(1, True), (2, False), (40, False)])
def test_each_pause_is_twice_the_one_before_up_to_a_limit(pauses, first):
    progress = StepProgress(ONE_STEP)
    made = [progress.pause_s() for _ in range(pauses)]
    assert made == [min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**number) for number in range(pauses)]
    assert (made[-1] == FIRST_PAUSE_S) is first
