"""Transactions as their coordinators know them (KIP-664): describe IDs, list a cluster's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple

from eosctl.clients import codes
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import Response, describe_transactions, find_coordinators, list_transactions
from eosctl.clients.pieces import in_pieces
from eosctl.clients.window import Answer, Window
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.model.counts import some
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import (
    STATES,
    Described,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from eosctl.sources.kafka_offsets import LEADERLESS_PATIENCE_S
from eosctl.sources.transaction_log_leaders import leaderless_log_partitions, transaction_log_leaders

TRANSACTIONAL_ID_NOT_FOUND: Final = 105
IDS_PER_REQUEST: Final = 500
SHOWN: Final = 10
FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.5
RETRIABLE: Final = frozenset(
    {codes.COORDINATOR_LOAD_IN_PROGRESS, codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR}
)


def describe_transactional_ids(
    wire: Wire,
    transactional_ids: Iterable[str],
    coordinators: Mapping[str, int] | None = None,
    *,
    timeout_s: float | None = None,
) -> Mapping[str, Described]:
    """What the coordinators know of each ID, in the order given; all coordinators are asked at once.

    coordinators are the nodes that listed IDs of them: FindCoordinator is sent only for the other IDs, and for those
    that moved.
    A missing Describe on one TransactionalId is that ID's NotAuthorized; coordinators that are loading or moving are
    asked again until the time is up, then the ID's value is TimedOut. An ID whose partition of the transaction log has
    no leader is Unreachable after LEADERLESS_PATIENCE_S. Nothing is raised for single IDs.
    """
    run = _Describing(wire, list(dict.fromkeys(transactional_ids)), timeout_s)
    return run.result(coordinators or {})


class _Lookup(NamedTuple):
    transactional_ids: tuple[str, ...]


class _Describe(NamedTuple):
    transactional_ids: tuple[str, ...]


class _Describing:
    def __init__(self, wire: Wire, transactional_ids: Sequence[str], timeout_s: float | None) -> None:
        self._wire = wire
        self._wanted = transactional_ids
        self._found: dict[str, Described] = {}
        self._pauses: dict[str, float] = {}
        patience_s = wire.timeout_s if timeout_s is None else timeout_s
        self._leader_is_due = monotonic() + min(LEADERLESS_PATIENCE_S, patience_s / 2)
        self._window: Window[_Lookup | _Describe] = wire.window(in_flight=4, timeout_s=timeout_s)

    def result(self, coordinators: Mapping[str, int]) -> Mapping[str, Described]:
        led: dict[int, list[str]] = {}
        for name, node_id in coordinators.items():
            led.setdefault(node_id, []).append(name)
        self._describe(led)
        self._look_up([name for name in self._wanted if name not in coordinators], 0.0)
        for answer in self._window:
            if answer.response is None:
                self._receive_nothing(answer)
            elif isinstance(answer.item, _Lookup):
                self._receive_coordinators(answer.response.coordinators)
            else:
                self._receive_states(answer.response.transaction_states, answer.node_id)
        return {name: self._found[name] for name in self._wanted}

    def _look_up(self, names: Sequence[str], delay_s: float, not_at: int | None = None) -> None:
        nodes = [broker.node_id for broker in self._wire.brokers() if broker.node_id != not_at]
        nodes = nodes or [broker.node_id for broker in self._wire.brokers()]
        for number, ids in enumerate(in_pieces(names, IDS_PER_REQUEST)):
            self._window.put(_Lookup(ids), nodes[number % len(nodes)], find_coordinators(ids), delay_s=delay_s)

    def _receive_coordinators(self, coordinators: Iterable[Response]) -> None:
        led: dict[int, list[str]] = {}
        again = []
        lost: dict[str, Unreachable] = {}
        answers = tuple(coordinators)
        if monotonic() >= self._leader_is_due:
            lost = self._lost([each.key for each in answers if each.error_code == codes.COORDINATOR_NOT_AVAILABLE])
            self._found |= lost
        for coordinator in answers:
            if coordinator.key in lost:
                continue
            if coordinator.error_code == 0:
                led.setdefault(coordinator.node_id, []).append(coordinator.key)
            elif coordinator.error_code in RETRIABLE:
                again.append(coordinator.key)
            else:
                self._found[coordinator.key] = self._refusal(coordinator.key, coordinator.error_code)
        self._describe(led)
        self._look_up(again, self._pause_s(again))

    def _describe(self, led: Mapping[int, Sequence[str]]) -> None:
        for node_id, names in led.items():
            for ids in in_pieces(names, IDS_PER_REQUEST):
                self._window.put(_Describe(ids), node_id, describe_transactions(ids))

    def _lost(self, names: Sequence[str]) -> dict[str, Unreachable]:
        """Those of the IDs that nobody coordinates, because their partition of the transaction log has no leader."""
        partitions = leaderless_log_partitions(self._wire) if names else ()
        if not partitions or isinstance(partitions, Skipped):
            return {}
        count = len(transaction_log_leaders(self._wire))
        places = {name: coordinator_partition(name, count) for name in names}
        return {
            name: Unreachable(
                f"{TRANSACTION_LOG}-{place} has no leader, so no broker coordinates its transactional IDs",
                hint=f"start the brokers of its replicas: `kafka-topics.sh --describe --topic {TRANSACTION_LOG}`",
            )
            for name, place in places.items()
            if place in partitions
        }

    def _receive_states(self, states: Iterable[Response], node_id: int) -> None:
        again = []
        for state in states:
            if state.error_code in RETRIABLE:
                again.append(state.transactional_id)
            elif state.error_code == TRANSACTIONAL_ID_NOT_FOUND:
                self._found[state.transactional_id] = None
            elif state.error_code:
                self._found[state.transactional_id] = self._refusal(state.transactional_id, state.error_code)
            else:
                self._found[state.transactional_id] = _description(state, node_id)
        self._look_up(again, self._pause_s(again))

    def _receive_nothing(self, answer: Answer[_Lookup | _Describe]) -> None:
        names = answer.item.transactional_ids
        assert answer.error is not None
        if answer.error.retriable and not self._window.over:
            self._look_up(names, self._pause_s(names), not_at=answer.node_id)
            return
        self._found |= dict.fromkeys(names, answer.error)

    def _pause_s(self, names: Sequence[str]) -> float:
        for name in names:
            self._pauses[name] = min(LONGEST_PAUSE_S, 2 * self._pauses.get(name, FIRST_PAUSE_S / 2))
        return max((self._pauses[name] for name in names), default=0.0)

    def _refusal(self, transactional_id: str, code: int) -> EosctlError:
        resource = f"TransactionalId {transactional_id}"
        return protocol_error(code, principal=self._wire.principal, operation="Describe", resource=resource)


def _description(answer: Response, coordinator: int) -> TransactionDescription:
    state = STATES.get(answer.transaction_state, TransactionState.UNKNOWN)
    return TransactionDescription(
        transactional_id=answer.transactional_id,
        state=state,
        producer=ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch),
        timeout_ms=answer.transaction_timeout_ms,
        start_ms=answer.transaction_start_time_ms if state.is_open else None,
        partitions=tuple(
            sorted(TopicPartition(topic.topic, partition) for topic in answer.topics for partition in topic.partitions)
        ),
        coordinator=coordinator,
    )


@dataclass(frozen=True, slots=True)
class TransactionListings:
    """The IDs that the brokers listed, by ID, and the brokers that did not answer, with the reason.

    Brokers drop IDs without Describe silently (KIP-664): absence from the list proves nothing without that ACL.
    """

    transactions: tuple[TransactionListing, ...]
    unanswered: Mapping[int, EosctlError]


def _unlisted(listings: TransactionListings, lost: tuple[int, ...] | Skipped) -> tuple[str, ...]:
    """Why IDs may be missing from the listings: brokers that did not answer, partitions of the log without leader."""
    silent = (
        f"broker {node_id} did not list its transactional IDs: {error.message}"
        for node_id, error in listings.unanswered.items()
    )
    if isinstance(lost, Skipped) or not lost:
        return tuple(silent)
    partitions = some([f"{TRANSACTION_LOG}-{each}" for each in lost], most=SHOWN)
    no_leader = "has no leader, so its" if len(lost) == 1 else "have no leader, so their"
    return (*silent, f"{partitions} {no_leader} transactional IDs are not listed")


def listed_transactions(
    wire: Wire, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = ()
) -> ListedTransactions:
    """What `list_transactional_ids` answers, with the reasons why IDs may be missing."""
    found = list_transactional_ids(wire, states=states, producer_ids=producer_ids)
    unanswered = {node_id: error.message for node_id, error in found.unanswered.items()}
    lost = leaderless_log_partitions(wire)
    return ListedTransactions(found.transactions, unanswered, _unlisted(found, lost), lost)


def list_transactional_ids(
    wire: Wire,
    *,
    states: Iterable[TransactionState] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int | None = None,
    pattern: str | None = None,
    timeout_s: float | None = None,
) -> TransactionListings:
    """Every transactional ID that some coordinator knows and the filters keep (none given: all), all brokers at once.

    longer_than_ms drops only open transactions that are younger: other states have no running time, so give states
    with it. Raises Unsupported where brokers are too old for a filter, UsageError for a state they do not know.
    """
    request = list_transactions(
        states=[state.value for state in states],
        producer_ids=producer_ids,
        longer_than_ms=longer_than_ms,
        pattern=pattern,
    )
    window: Window[int] = wire.window(timeout_s=timeout_s)
    for broker in wire.brokers():
        window.put(broker.node_id, broker.node_id, request)
    listed: list[TransactionListing] = []
    unanswered: dict[int, EosctlError] = {}
    for node_id, _, response, error in window:
        if error is not None and not isinstance(error, Unreachable):
            raise error
        code = 0 if response is None else response.error_code
        if code == codes.COORDINATOR_LOAD_IN_PROGRESS:
            window.put(node_id, node_id, request, delay_s=LONGEST_PAUSE_S)
        elif code:
            place = f"broker {node_id}"
            unanswered[node_id] = protocol_error(
                code, principal=wire.principal, operation="ListTransactions", resource=place
            )
        elif error is not None:
            unanswered[node_id] = error
        else:
            listed += _listings(response, node_id)
    return TransactionListings(tuple(sorted(listed)), unanswered)


def _listings(response: Response, node_id: int) -> Iterator[TransactionListing]:
    if response.unknown_state_filters:
        raise UsageError(f"broker {node_id} does not know the state {', '.join(response.unknown_state_filters)}")
    for entry in response.transaction_states:
        state = STATES.get(entry.transaction_state, TransactionState.UNKNOWN)
        yield TransactionListing(entry.transactional_id, entry.producer_id, state, node_id)
