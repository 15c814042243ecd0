"""Producers of partitions (DescribeProducers, KIP-664), from all leaders at once."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, partition_leaders, unknown_topic
from eosctl.clients.messages import Response, topics_metadata
from eosctl.clients.pieces import in_pieces
from eosctl.clients.producer_messages import describe_producers
from eosctl.clients.wire import Wire
from eosctl.errors import Throttled, TimedOut, Unreachable, UsageError
from eosctl.model.counts import some
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producers import ActiveProducer, AnsweredProducers

PARTITIONS_PER_REQUEST: Final = 500
IN_FLIGHT: Final = 4
PAUSE_S: Final = 0.1


def cluster_partitions(
    wire: Wire, topics: Iterable[str] | None, *, broker: int | None = None
) -> Mapping[TopicPartition, int]:
    """Every partition of `topics` (None: all that the principal may Describe, internal ones too) and its leader.

    broker keeps the partitions that have a replica there. NO_LEADER stands where there is no leader. Raises UsageError
    for a topic that does not exist, NotAuthorized where Describe on a named topic is missing.
    """
    names = None if topics is None else sorted(set(topics))
    if broker is not None and broker not in {each.node_id for each in wire.brokers()}:
        raise UsageError(f"the cluster has no live broker {broker}", hint=f"it has {_numbers(wire)}")
    found: dict[TopicPartition, int] = {}
    for topic in wire.request_any(topics_metadata(names)).topics:
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


def active_producers(
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    *,
    on_answer: Callable[[int], None] = lambda _: None,
    timeout_s: float | None = None,
) -> tuple[ActiveProducer, ...]:
    """Producers that the leaders of these partitions remember, by partition and producer ID.

    The rules of answering_producers; raises TimedOut naming partitions that no leader answers for.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    answer = answering_producers(wire, leaders, on_answer=on_answer, timeout_s=patience)
    if answer.unanswered:
        raise TimedOut(f"no leader answered for {some(answer.unanswered)} within {patience:g} s")
    return answer.producers


def answering_producers(
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    *,
    on_answer: Callable[[int], None] = lambda _: None,
    timeout_s: float | None = None,
) -> AnsweredProducers:
    """Producers of those of these partitions whose leaders answer.

    Up to 500 partitions travel in a request, to all leaders at once. Leaders that moved are looked up again until the
    time is up. on_answer gets how many more partitions are answered for. Raises NotAuthorized where Read on a topic
    is missing, Unsupported before Kafka 2.8.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    deadline = time.monotonic() + patience
    found: list[ActiveProducer] = []
    pending = dict(leaders)
    while pending and (remaining := deadline - time.monotonic()) > 0:
        answered, hopeless = _ask(wire, pending, remaining, found)
        on_answer(len(answered))
        pending = {partition: leader for partition, leader in pending.items() if partition not in answered}
        if pending.keys() <= hopeless:
            break
        if pending:
            time.sleep(PAUSE_S)
            now = partition_leaders(wire, {partition.topic for partition in pending})
            pending = {partition: now.get(partition, NO_LEADER) for partition in pending}
    producers = tuple(sorted(found, key=lambda each: (each.topic_partition, each.producer)))
    return AnsweredProducers(producers, tuple(sorted(pending)))


def _ask(
    wire: Wire, leaders: Mapping[TopicPartition, int], remaining: float, found: list[ActiveProducer]
) -> tuple[set[TopicPartition], set[TopicPartition]]:
    """Ask once; what was found is appended. The partitions that were answered for, and those that never will be."""
    led: dict[int, list[TopicPartition]] = {}
    for partition, leader in leaders.items():
        if leader != NO_LEADER:
            led.setdefault(leader, []).append(partition)
    window = wire.window(in_flight=IN_FLIGHT, timeout_s=remaining)
    for node_id, partitions in led.items():
        for number, chunk in enumerate(in_pieces(partitions, PARTITIONS_PER_REQUEST)):
            window.put((node_id, number), node_id, describe_producers(chunk))
    answered: set[TopicPartition] = set()
    hopeless: set[TopicPartition] = set()
    for answer in window:
        if isinstance(answer.error, Throttled):
            hopeless |= set(led[answer.node_id])
        elif answer.error is not None and not isinstance(answer.error, Unreachable):
            raise answer.error
        for partition, part in _parts(answer.response):
            if _usable(wire, partition, part.error_code):
                answered.add(partition)
                found += [_producer(partition, each) for each in part.active_producers]
    return answered, hopeless


def _parts(response: Response | None) -> Iterator[tuple[TopicPartition, Response]]:
    return (
        (TopicPartition(topic.name, part.partition_index), part)
        for topic in (() if response is None else response.topics)
        for part in topic.partitions
    )


def _usable(wire: Wire, partition: TopicPartition, code: int) -> bool:
    if code in MOVED or code == UNKNOWN_TOPIC_OR_PARTITION:
        return False
    if code:
        resource = f"Topic {partition.topic}"
        raise protocol_error(code, principal=wire.principal, operation="Read", resource=resource)
    return True


def _producer(partition: TopicPartition, answer: Response) -> ActiveProducer:
    return ActiveProducer(
        topic_partition=partition,
        producer=ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch),
        last_sequence=answer.last_sequence,
        last_timestamp=None if answer.last_timestamp < 0 else answer.last_timestamp,
        coordinator_epoch=None if answer.coordinator_epoch < 0 else answer.coordinator_epoch,
        transaction_start_offset=None if answer.current_txn_start_offset < 0 else answer.current_txn_start_offset,
    )
