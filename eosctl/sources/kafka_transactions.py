"""Transactions as their coordinators know them (KIP-664): describe IDs, list a cluster's."""

from __future__ import annotations

import string
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.clients import errors
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, protocol_error
from eosctl.clients.leaders import JUST_NOW_S, LEADERLESS_PATIENCE_S, MOVED, NO_LEADER, partition_leaders, unknown_topic
from eosctl.clients.messages import (
    Response,
    describe_producers,
    describe_transactions,
    find_coordinators,
    in_pieces,
)
from eosctl.clients.wire import Reply, Window, Wire
from eosctl.codecs import record_batches
from eosctl.errors import EosctlError, NotAuthorized, Throttled, Unreachable, UsageError
from eosctl.model import acls
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition, coordinator_partition
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Cause, Skipped, read_or_skip
from eosctl.model.transactions import (
    STATES,
    ActiveProducer,
    AnsweredProducers,
    Described,
    TransactionalIdAccess,
    TransactionDescription,
    TransactionState,
)
from eosctl.sources import kafka_acls, kafka_log
from eosctl.sources.kafka_topics import topic_facts

if TYPE_CHECKING:
    from eosctl.model.plan import CommitTransaction


def transaction_log_leaders(wire: Wire) -> Mapping[int, int]:
    """Partition of the transaction log to the node ID of its leader, which coordinates the IDs in it (-1: none).

    Empty where no transaction was ever begun in this cluster: the topic does not exist then.
    """
    if topic_facts(wire, [TRANSACTION_LOG])[TRANSACTION_LOG] is None:
        return {}
    leaders = partition_leaders(wire, [TRANSACTION_LOG], heard_s=JUST_NOW_S)
    return {each.partition: leader for each, leader in leaders.items()}


def leaderless_log_partitions(wire: Wire) -> tuple[int, ...] | Skipped:
    """Partitions of the transaction log without a leader: no broker coordinates, lists or describes their IDs.

    Skipped where Describe on the topic is missing.
    """
    try:
        leaders = transaction_log_leaders(wire)
    except NotAuthorized as error:
        return Skipped.of(error)
    return tuple(sorted(partition for partition, leader in leaders.items() if leader == NO_LEADER))


TRANSACTIONAL_ID_NOT_FOUND: Final = 105
IDS_PER_REQUEST: Final = 500
FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.5
RETRIABLE: Final = frozenset(
    {errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR}
)


def describe_transactional_ids(
    wire: Wire,
    transactional_ids: Iterable[str],
    coordinators: Mapping[str, int] | None = None,
    *,
    timeout_s: float | None = None,
) -> Mapping[str, Described]:
    """The coordinators' state of each ID, in the order given; all coordinators are queried at once.

    coordinators are the nodes that listed some of the IDs: FindCoordinator is sent only for the other IDs, and for
    moved ones. A missing Describe on one TransactionalId is that ID's NotAuthorized. A coordinator that is loading or
    moving is queried again until the deadline, then the ID's value is TimedOut. An ID of a leaderless partition of the
    transaction log is Unreachable after LEADERLESS_PATIENCE_S. Nothing is raised for single IDs.
    """
    run = _Describing(wire, list(dict.fromkeys(transactional_ids)), timeout_s)
    return run.result(coordinators or {})


class _Lookup(Struct, frozen=True):
    transactional_ids: tuple[str, ...]


class _Describe(Struct, frozen=True):
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
            lost = self._without_coordinator(
                [each.key for each in answers if each.error_code == errors.COORDINATOR_NOT_AVAILABLE]
            )
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

    def _without_coordinator(self, names: Sequence[str]) -> dict[str, Unreachable]:
        """IDs without a coordinator, because their partition of the transaction log has no leader."""
        partitions = leaderless_log_partitions(self._wire) if names else ()
        if not partitions or isinstance(partitions, Skipped):
            return {}
        count = len(transaction_log_leaders(self._wire))
        places = {name: coordinator_partition(name, count) for name in names}
        return {
            name: Unreachable(
                f"{TRANSACTION_LOG}-{place} has no leader, so no broker coordinates its transactional IDs",
                hint="start the brokers of its replicas: `kafka-topics.sh --bootstrap-server HOST:PORT --describe "
                f"--topic {TRANSACTION_LOG}`",
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

    def _receive_nothing(self, answer: Reply[_Lookup | _Describe]) -> None:
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


# Does this principal see every transactional ID?
#
# DescribeTransactions says 53 (TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for an ID without Describe, before it looks
# whether the ID exists or is coordinated there. So any broker can be asked about unused IDs. FindCoordinator
# would be no probe: it creates `__transaction_state` where that is missing.


FIRST_CHARACTERS: Final = string.digits + string.ascii_letters + string.punctuation.replace("*", "") + "äжש中😀"


def transactional_id_access(wire: Wire) -> TransactionalIdAccess:
    """How far Describe on every transactional ID is granted. Raises Unsupported before 3.0."""
    probes = kafka_acls.probes_of(wire, acls.ResourceType.TRANSACTIONAL_ID, FIRST_CHARACTERS, "transactional IDs")
    denied: list[str] = []
    names = list(probes.names)
    for start in range(0, len(names), IDS_PER_REQUEST):
        answer = wire.request_any(describe_transactions(names[start : start + IDS_PER_REQUEST]))
        denied += [
            probes.names[state.transactional_id]
            for state in answer.transaction_states
            if state.error_code == errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ]
    return TransactionalIdAccess(tuple(denied), probes.unknown)


PARTITIONS_PER_REQUEST: Final = 500
FEW_PARTITIONS: Final = 50
"""A producer takes 37 bytes of an answer, and an answer of more than 256 MiB is not read."""
IN_FLIGHT: Final = 4
PAUSE_S: Final = 0.1


def cluster_partitions(
    wire: Wire, topics: Iterable[Response], *, broker: int | None = None
) -> Mapping[TopicPartition, int]:
    """Every partition of these topics of a Metadata response, and its leader.

    broker keeps the partitions that have a replica there. NO_LEADER stands where there is no leader. Raises UsageError
    for a topic that does not exist, NotAuthorized where Describe on a named topic is missing.
    """
    if broker is not None and broker not in {each.node_id for each in wire.brokers()}:
        raise UsageError(f"the cluster has no live broker {broker}", hint=f"its live brokers: {_numbers(wire)}")
    found: dict[TopicPartition, int] = {}
    for topic in topics:
        if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
            raise unknown_topic(wire, topic.name)
        if topic.error_code and not topic.partitions:
            resource = f"Topic {topic.name}"
            raise protocol_error(topic.error_code, principal=wire.principal, operation="Describe", resource=resource)
        for part in topic.partitions:
            if broker is None or broker in part.replica_nodes:
                found[TopicPartition(topic.name, part.partition_index)] = part.leader_id
    return dict(sorted(found.items()))


def _numbers(wire: Wire) -> str:
    return ", ".join(str(broker.node_id) for broker in wire.brokers())


def answering_producers(
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    *,
    on_answer: Callable[[int], None] = lambda _: None,
    timeout_s: float | None = None,
) -> AnsweredProducers:
    """Producers of the partitions whose leaders answer.

    Up to 500 partitions travel in a request, to all leaders at once. Leaders that moved are looked up again until the
    time is up. on_answer gets how many more partitions are answered for. Raises NotAuthorized where Read on a topic
    is missing, Unsupported before Kafka 2.8.
    """
    found: list[ActiveProducer] = []
    silent: list[TopicPartition] = []
    for partition, part in _answers(wire, leaders, PARTITIONS_PER_REQUEST, timeout_s):
        if part is None:
            silent.append(partition)
            continue
        refusal = _refusal(wire, partition, part.error_code)
        if refusal is not None:
            raise refusal
        on_answer(1)
        found += [_producer(partition, each) for each in part.active_producers]
    producers = tuple(sorted(found, key=lambda each: (each.topic_partition, each.producer)))
    return AnsweredProducers(producers, tuple(sorted(silent)))


def producers_by_partition(
    wire: Wire, leaders: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, Iterable[ActiveProducer] | Skipped]]:
    """The same, partition by partition as leaders answer, where there may be many: FEW_PARTITIONS travel in a request.

    Skipped where Read on the topic is missing, where there is no leader, and in the end where none answered.
    """
    led = {partition: leader for partition, leader in leaders.items() if leader != NO_LEADER}
    unled = ((partition, None) for partition in leaders.keys() - led.keys())
    for partition, part in chain(unled, _answers(wire, led, FEW_PARTITIONS, None)):
        if part is None:
            yield partition, Skipped(f"no leader answered for {partition}", Cause.UNREACHABLE)
        elif (refusal := _refusal(wire, partition, part.error_code)) is not None:
            yield partition, Skipped.of(refusal)
        else:
            yield partition, map(partial(_producer, partition), part.active_producers)


def _answers(
    wire: Wire, leaders: Mapping[TopicPartition, int], per_request: int, timeout_s: float | None
) -> Iterator[tuple[TopicPartition, Response | None]]:
    """The answer for each partition, asked again until the time is up; None in the end where no leader answered."""
    deadline = time.monotonic() + (wire.timeout_s if timeout_s is None else timeout_s)
    pending = dict(leaders)
    while pending and (remaining := deadline - time.monotonic()) > 0:
        hopeless: set[TopicPartition] = set()
        for partition, part in _ask(wire, pending, per_request, remaining, hopeless):
            del pending[partition]
            yield partition, part
        if pending.keys() <= hopeless:
            break
        time.sleep(PAUSE_S)
        now = partition_leaders(wire, {partition.topic for partition in pending})
        pending = {partition: now.get(partition, NO_LEADER) for partition in pending}
    yield from ((partition, None) for partition in pending)


def _ask(
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    per_request: int,
    remaining: float,
    hopeless: set[TopicPartition],
) -> Iterator[tuple[TopicPartition, Response]]:
    """One round of requests: the partitions that were answered. Those that never will be are added to hopeless."""
    led: dict[int, list[TopicPartition]] = {}
    for partition, leader in leaders.items():
        if leader != NO_LEADER:
            led.setdefault(leader, []).append(partition)
    window = wire.window(in_flight=IN_FLIGHT, timeout_s=remaining)
    for node_id, partitions in led.items():
        for number, chunk in enumerate(in_pieces(partitions, per_request)):
            window.put((node_id, number), node_id, describe_producers(chunk))
    for answer in window:
        if isinstance(answer.error, Throttled):
            hopeless |= set(led[answer.node_id])
        elif answer.error is not None and not isinstance(answer.error, Unreachable):
            raise answer.error
        for partition, part in _parts(answer.response):
            if part.error_code not in MOVED and part.error_code != UNKNOWN_TOPIC_OR_PARTITION:
                yield partition, part


def _parts(response: Response | None) -> Iterator[tuple[TopicPartition, Response]]:
    return (
        (TopicPartition(topic.name, part.partition_index), part)
        for topic in (() if response is None else response.topics)
        for part in topic.partitions
    )


def _refusal(wire: Wire, partition: TopicPartition, code: int) -> EosctlError | None:
    resource = f"Topic {partition.topic}"
    return protocol_error(code, principal=wire.principal, operation="Read", resource=resource) if code else None


def _producer(partition: TopicPartition, answer: Response) -> ActiveProducer:
    return ActiveProducer(
        topic_partition=partition,
        producer=ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch),
        last_sequence=answer.last_sequence,
        last_timestamp=None if answer.last_timestamp < 0 else answer.last_timestamp,
        coordinator_epoch=None if answer.coordinator_epoch < 0 else answer.coordinator_epoch,
        transaction_start_offset=None if answer.current_txn_start_offset < 0 else answer.current_txn_start_offset,
    )


def read_markers(
    wire: Wire, step: CommitTransaction, since: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, record_batches.EndTransactionMarker | Skipped | None]:
    """The first end-transaction marker of the step's producer at or after each of these offsets; None: there is none.

    Needs Read on the topics; unread partitions are Skipped.
    """
    return {place: read_or_skip(partial(_marker, wire, step, place, start)) for place, start in since.items()}


def _marker(
    wire: Wire, step: CommitTransaction, place: TopicPartition, start: int
) -> record_batches.EndTransactionMarker | None:
    end = kafka_log.partition_offsets(wire, [place])[place].high_watermark
    for batches, _ in kafka_log.LogReader(wire, place, start, end, IsolationLevel.READ_UNCOMMITTED):
        for batch in batches:
            header = batch.header
            if header.is_control and header.producer_id == step.producer_id and header.base_offset >= start:
                marker = record_batches.decode_marker(batch, topic_partition=place)
                if marker is not None:
                    return marker
    return None
