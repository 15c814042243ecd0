"""Fencing on the wire: FindCoordinator where the coordinator is not known, then one InitProducerId for each ID.

InitProducerId cannot carry two IDs, so speed comes from having many in flight at once. Error codes (Admin's
FenceProducersHandler and CoordinatorStrategy, and TransactionCoordinator on the broker):

1. 14 COORDINATOR_LOAD_IN_PROGRESS and 51 CONCURRENT_TRANSACTIONS: the same coordinator again, after a pause. 51 is the
   rule, not the exception, when an open transaction is interrupted: the coordinator first aborts it.
2. 15 COORDINATOR_NOT_AVAILABLE and 16 NOT_COORDINATOR, and any lost connection: look the coordinator up again. An ID
   may then be fenced twice, which only raises its epoch once more.
3. Everything else is final for that ID and touches no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.clients import errors
from eosctl.clients.errors import code_name
from eosctl.clients.messages import Response, end_transaction, find_coordinators, in_pieces, init_producer_id
from eosctl.clients.wire import Reply, Window, Wire
from eosctl.errors import EosctlError, TimedOut, Unreachable, denial
from eosctl.model.fencing import (
    Candidate,
    FenceError,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    failure_of,
)
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.text import pluralize
from eosctl.model.transactions import TransactionDescription

if TYPE_CHECKING:
    from eosctl.clients.access import ClusterAccess
    from eosctl.executors.apply import Recheck
    from eosctl.model.plan import FenceProducers, FenceTransaction

SAME_COORDINATOR: Final = frozenset({errors.COORDINATOR_LOAD_IN_PROGRESS, errors.CONCURRENT_TRANSACTIONS})
FIND_AGAIN: Final = frozenset({errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR})
FIRST_PAUSE_S: Final = 0.01
LONGEST_PAUSE_S: Final = 0.5
IDS_PER_LOOKUP: Final = 500
REFRESH_PAUSE_S: Final = 0.5
ANSWERS_S: Final = 3.0
"""How long an interrupted run waits for answers to its requests."""

IN_FLIGHT: Final = 50
"""Requests in flight on one connection: enough to hide the round trip, few enough not to crowd out producers."""
MOST_LANES: Final = 8
IDS_PER_LANE: Final = 200
"""A coordinator answers one request of a connection at a time and waits for replication, so many IDs need several."""


class Lookup(Struct, frozen=True):
    transactional_ids: tuple[str, ...]


class Fence(Struct, frozen=True):
    transactional_id: str


Item = Lookup | Fence


class StepProgress(Struct):
    """The progress of one step: responses received, pauses made, its start (monotonic seconds), its result.

    retriable is the last error code after which it was sent again; lost: a request of it got no answer.
    """

    step: FenceStep
    attempts: int = 0
    pauses: int = 0
    began: float | None = None
    coordinator: int | None = None
    retriable: int | None = None
    lost: bool = False
    result: FenceResult | None = None

    def pause_s(self) -> float:
        self.pauses += 1
        return float(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self.pauses - 1)))

    def end(self, outcome: FenceOutcome, after: ProducerIdAndEpoch | None, error: FenceError | None) -> FenceResult:
        elapsed_ms = 0.0 if self.began is None else (monotonic() - self.began) * 1000
        self.result = FenceResult(self.step, outcome, after, self.attempts, elapsed_ms, self.coordinator, error)
        return self.result


class FencingRun:
    """Steps being carried out over one window of requests; gives up when no ID was fenced for `timeout_s`.

    transaction_timeout_ms is the one that every ID is left with.
    """

    def __init__(
        self,
        wire: Wire,
        steps: Sequence[FenceStep],
        transaction_timeout_ms: int,
        timeout_s: float,
        on_result: Callable[[FenceResult], object] = lambda _: None,
    ) -> None:
        self._wire = wire
        self._timeout_ms = transaction_timeout_ms
        self._on_result = on_result
        self._steps = {step.transactional_id: StepProgress(step) for step in steps}
        self._refreshed = 0.0
        lanes = min(MOST_LANES, 1 + len(steps) // IDS_PER_LANE)
        self._window: Window[Item] = wire.window(in_flight=IN_FLIGHT, lanes=lanes, timeout_s=timeout_s)

    def run(self) -> FencingOutcome:
        """Every step's result. A KeyboardInterrupt ends the run; unanswered steps are marked."""
        start, unsent = monotonic(), None
        try:
            self._begin()
            self._receive_all()
        except KeyboardInterrupt:
            unsent = self._finish()
        results = tuple(step.result or _unanswered(step, unsent or ()) for step in self._steps.values())
        return FencingOutcome(results, (monotonic() - start) * 1000, unsent is not None)

    def _finish(self) -> Collection[str]:
        """Send nothing more and take the answers in flight; a second KeyboardInterrupt ends that too.

        Returns the IDs that were not sent.
        """
        self._window.stop(ANSWERS_S)
        with suppress(KeyboardInterrupt):
            self._receive_all()
        return frozenset(name for item in self._window.dropped for name in _names(item))

    def _receive_all(self) -> None:
        for answer in self._window:
            self._receive(answer)

    def _begin(self) -> None:
        for name, progress in self._steps.items():
            if progress.step.before is not None:
                self._send(name, progress.step.before.coordinator)
        self._look_up([name for name, progress in self._steps.items() if progress.step.before is None])

    def _send(self, transactional_id: str, node_id: int, delay_s: float = 0.0) -> None:
        progress = self._steps[transactional_id]
        progress.began = progress.began or monotonic()
        self._window.put(
            Fence(transactional_id), node_id, init_producer_id(transactional_id, self._timeout_ms), delay_s=delay_s
        )

    def _look_up(self, transactional_ids: Sequence[str], delay_s: float = 0.0, not_at: int | None = None) -> None:
        if not transactional_ids:
            return
        node_id = self._some_broker(not_at)
        for ids in in_pieces(transactional_ids, IDS_PER_LOOKUP):
            self._window.put(Lookup(ids), node_id, find_coordinators(ids), delay_s=delay_s)

    def _receive(self, answer: Reply[Item]) -> None:
        names = _names(answer.item)
        if answer.response is None:
            for name in names if isinstance(answer.item, Fence) else ():
                self._steps[name].lost = True
            self._receive_nothing(names, answer.node_id, answer.error)
        elif isinstance(answer.item, Lookup):
            self._receive_coordinators(answer.response.coordinators)
        else:
            self._receive_producer(self._steps[names[0]], answer.node_id, answer.response)

    def _receive_coordinators(self, coordinators: Iterable[Response]) -> None:
        again = []
        for coordinator in coordinators:
            name, code = coordinator.key, coordinator.error_code
            if code == 0:
                self._send(name, coordinator.node_id)
            elif code in SAME_COORDINATOR | FIND_AGAIN:
                again.append(name)
            else:
                self._fail(self._steps[name], _final(code, "Describe", name, self._wire.principal))
        self._look_up(again, self._longest_pause_s(again))

    def _receive_producer(self, progress: StepProgress, node_id: int, response: Response) -> None:
        name, code = progress.step.transactional_id, response.error_code
        progress.attempts += 1
        progress.coordinator = node_id
        if code == 0:
            after = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
            self._window.extend()
            self._on_result(progress.end(FenceOutcome.FENCED, after, None))
            return
        progress.retriable = code
        if code in SAME_COORDINATOR:
            self._send(name, node_id, progress.pause_s())
        elif code in FIND_AGAIN:
            self._look_up([name], progress.pause_s())
        else:
            self._fail(progress, _final(code, "Write", name, self._wire.principal))

    def _receive_nothing(self, names: Sequence[str], node_id: int, error: EosctlError | None) -> None:
        """No response. Where the coordinator may move, look again until the time is up. Other errors are final.

        One request may time out long before: a coordinator that lost a follower holds its answers back.
        """
        if error is not None and error.retriable and not self._window.over:
            self._look_up(names, self._longest_pause_s(names), not_at=node_id)
            return
        for name in names:
            progress = self._steps[name]
            self._fail(progress, _no_response(progress, error))

    def _fail(self, progress: StepProgress, error: FenceError) -> None:
        self._on_result(progress.end(FenceOutcome.FAILED, None, error))

    def _some_broker(self, not_at: int | None) -> int:
        """A live broker, another than the one that just failed where there is one."""
        if not_at is not None and monotonic() - self._refreshed > REFRESH_PAUSE_S:
            self._refreshed = monotonic()
            with suppress(Unreachable):  # the brokers known so far are tried in turn
                self._wire.refresh()
        nodes = [broker.node_id for broker in self._wire.brokers()]
        return next((node_id for node_id in nodes if node_id != not_at), nodes[0])

    def _longest_pause_s(self, names: Sequence[str]) -> float:
        return max((self._steps[name].pause_s() for name in names), default=0.0)


def _final(code: int, operation: str, transactional_id: str, principal: str) -> FenceError:
    match code:
        case errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            meaning = denial(principal, operation, f"TransactionalId {transactional_id}")
        case errors.CLUSTER_AUTHORIZATION_FAILED:
            meaning = denial(principal, "IdempotentWrite", "Cluster kafka-cluster")
        case errors.INVALID_TRANSACTION_TIMEOUT:
            meaning = "the timeout sent is above the broker's transaction.max.timeout.ms; give --transaction-timeout-ms"
        case errors.INVALID_REQUEST:
            meaning = "the broker takes this for no transactional ID"
        case errors.UNKNOWN_SERVER_ERROR:
            # 4.0.0 raises the epoch of a transaction that is open at the last one, and fails: it stays open.
            meaning = "the coordinator failed within; whether the old producer is fenced is not known"
        case _:
            meaning = "the coordinator refused; the ID was not fenced"
    return FenceError(code_name(code), meaning)


def _no_response(progress: StepProgress, error: EosctlError | None) -> FenceError:
    name = "TIMED_OUT" if isinstance(error, TimedOut) else type(error).__name__
    reported = error.message if error is not None else "no response"
    if progress.retriable is not None:
        reported = _reported_until_now(progress)
    return FenceError(
        name, f"{reported}; whether it was fenced is not known, so fence it again" if progress.began else reported
    )


def _reported_until_now(progress: StepProgress) -> str:
    """The coordinator's last answer. 51 without end: markers of a transaction cannot be written."""
    times = f"{progress.attempts} answers, the last one {code_name(progress.retriable or 0)}"
    before = progress.step.before
    if progress.retriable != errors.CONCURRENT_TRANSACTIONS or before is None or not before.partitions:
        return times
    return f"{times}: the end of its transaction waits for the leaders of {', '.join(map(str, before.partitions[:5]))}"


def _names(item: Item) -> tuple[str, ...]:
    return item.transactional_ids if isinstance(item, Lookup) else (item.transactional_id,)


def _unanswered(progress: StepProgress, unsent: Collection[str]) -> FenceResult:
    """An interrupted step: never sent, answered with a retriable error, or sent and not answered."""
    waiting = progress.began is None or progress.step.transactional_id in unsent
    if waiting and progress.attempts == 0 and not progress.lost:
        return progress.end(FenceOutcome.SKIPPED, None, FenceError("INTERRUPTED", "not sent"))
    message = "stopped before the answer; whether it was fenced is not known"
    if waiting and not progress.lost:
        message = f"stopped after {_reported_until_now(progress)}; not fenced"
    return progress.end(FenceOutcome.FAILED, None, FenceError("INTERRUPTED", message))


Describe = Callable[["ClusterAccess", Sequence[str]], Mapping[str, TransactionDescription]]
"""Descriptions of the IDs that their coordinators know."""


def fence_producers(step: FenceProducers, _: Recheck, *, access: ClusterAccess, describe: Describe) -> str:
    """Fences the IDs that exist; one that its coordinator does not know has no producer and is not created."""
    known = describe(access, step.transactional_ids)
    steps = tuple(
        FenceStep(Candidate(each, named=True), known[each]) for each in step.transactional_ids if each in known
    )
    missing = len(step.transactional_ids) - len(steps)
    if steps:
        outcome = FencingRun(access.wire, steps, step.transaction_timeout_ms, access.timeout_s).run()
        failure = failure_of(outcome, access.wire.principal)
        if failure is not None:
            raise failure
    unknown = f"; {pluralize(missing, 'ID was', 'IDs were')} never used or expired" if missing else ""
    return pluralize(len(steps), "producer") + unknown


def fence_transaction(step: FenceTransaction, recheck: Recheck, *, access: ClusterAccess, describe: Describe) -> str:
    """Fences the ID while its transaction is the step's, and proves by its coordinator that it is not open any more.

    Raises TimedOut where the transaction is open all the same, and what fencing raises.
    """
    name = step.transactional_id
    before = describe(access, [name]).get(name)
    if before is None or not _is_open(step, before):
        return "nothing to do: the transaction has ended"
    recheck()
    steps = (FenceStep(Candidate(name, named=True), before),)
    failure = failure_of(
        FencingRun(access.wire, steps, step.transaction_timeout_ms, access.timeout_s).run(), access.wire.principal
    )
    if failure is not None:
        raise failure
    after = describe(access, [name]).get(name)
    if after is not None and _is_open(step, after):
        raise TimedOut(f"{name} was fenced, and its coordinator still has the transaction as {after.state.value}")
    return f"aborted; {name} has producer {'-' if after is None else after.producer} now"


def _is_open(step: FenceTransaction, described: TransactionDescription) -> bool:
    return described.state.is_open and described.producer == step.producer and described.start_ms == step.started_ms


# Ask coordinators, in the name of fenced producers, to abort: proof that they are refused.
#
# 1. EndTxn with the old producer ID and epoch is what a zombie would send. A coordinator that refuses it would refuse
#    its commit as well: the check of producer ID and epoch comes before anything else.
# 2. It cannot do harm. Abort, not commit, is asked for; and where the producer should not be fenced after all, its
#    transaction is either not there (INVALID_TXN_STATE) or was meant to be aborted anyway.
# 3. Version 4 at most: from version 5 (KIP-890) a coordinator may take an epoch one too low for a repeated request.


REFUSED: Final = frozenset({errors.INVALID_PRODUCER_EPOCH, errors.INVALID_PRODUCER_ID_MAPPING, errors.PRODUCER_FENCED})
TRY_AGAIN: Final = frozenset({errors.COORDINATOR_LOAD_IN_PROGRESS, errors.CONCURRENT_TRANSACTIONS})
PAUSE_S: Final = 0.05
PROOFS_IN_FLIGHT: Final = 200


def challenge_old_producers(wire: Wire, outcome: FencingOutcome, timeout_s: float) -> Mapping[str, str | None]:
    """For each fenced ID the error that its old producer got; "" if it was not refused, None if unknown."""
    old = {name: (producer, node_id) for name, producer, node_id in _old_producers(outcome)}
    window = wire.window(in_flight=PROOFS_IN_FLIGHT, timeout_s=timeout_s)
    for name, (producer, node_id) in old.items():
        window.put(name, node_id, end_transaction(name, producer, commit=False))
    refusals: dict[str, str | None] = {}
    for answer in window:
        code = None if answer.response is None else answer.response.error_code
        if code in TRY_AGAIN:
            again = end_transaction(answer.item, old[answer.item][0], commit=False)
            window.put(answer.item, answer.node_id, again, delay_s=PAUSE_S)
        else:
            refusals[answer.item] = _refusal(code)
            if code is not None:
                window.extend()
    return refusals


def _old_producers(outcome: FencingOutcome) -> list[tuple[str, ProducerIdAndEpoch, int]]:
    return [
        (result.step.transactional_id, result.step.before.producer, result.coordinator)
        for result in outcome.results
        if result.outcome is FenceOutcome.FENCED and result.step.before is not None and result.coordinator is not None
    ]


def _refusal(code: int | None) -> str | None:
    """NOT_COORDINATOR and the like say nothing about the producer."""
    match code:
        case (
            None
            | errors.NOT_COORDINATOR
            | errors.COORDINATOR_NOT_AVAILABLE
            | errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return None
        case code if code in REFUSED:
            return code_name(code)
        case _:
            return ""
