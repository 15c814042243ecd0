"""The producer states of partitions and brokers, counted from their leaders' answers.

1. Each replica of a partition keeps the states that its leader keeps: it reads the same batches. So the leader's count
   stands for all of them.
2. A broker removes a state when its last timestamp is older than producer.id.expiration.ms, unless a transaction is
   open. The timestamp is the client's: a record from the future keeps its state for longer.
3. A transaction leaves its marker's coordinator epoch in the state of its producer, in each of its partitions. So a
   state that has neither an open transaction nor such an epoch is of an idempotent producer without an ID.
4. A producer writes into a partition after its ID is logged. A state that is newer than the reading of the log may be
   of an ID that was not there yet, and is not counted as unlogged.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.catalogue import transactions as kinds
from eosctl.model.names import TopicPartition
from eosctl.model.producer_state import STATE_BYTES, BrokerStates, PartitionStates, ProducerStates
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import DAY_MS
from eosctl.model.transactions import ActiveProducer
from eosctl.model.whole_numbers import whole_number

MANY_STATES: Final = 1_000_000
"""So many take about 400 MB. A broker has 1 GB of heap by default."""
MOST_PARTITIONS: Final = 100
EXPIRATIONS: Final = ("producer.id.expiration.ms", "transactional.id.expiration.ms")
"""The second one decides in brokers before 3.4, which do not have the first (KIP-854)."""

Settings = Mapping[int, Mapping[str, str] | Skipped] | Skipped


class StatesFold:
    """Takes in the producers of one partition after the other; logged are the producer IDs of the transaction log."""

    def __init__(self, as_of: int, logged: Container[int] | None) -> None:
        self._as_of, self._logged = as_of, logged
        self._partitions: list[PartitionStates] = []

    def add(self, place: TopicPartition, leader: int, producers: Iterable[ActiveProducer]) -> None:
        count = transactional = unlogged = opened = idle = 0
        last_ms: int | None = None
        for each in producers:
            at = each.last_timestamp
            count += 1
            idle += at is not None and self._as_of - at > DAY_MS
            last_ms = at if last_ms is None else max(last_ms, at or 0)
            opened += each.transaction_start_offset is not None
            if each.transaction_start_offset is not None or each.coordinator_epoch is not None:
                transactional += 1
                unlogged += self._is_unlogged(each)
        known = None if self._logged is None else unlogged
        self._partitions.append(PartitionStates(place, leader, count, transactional, known, opened, idle, last_ms))

    def found(
        self, replicas: Mapping[TopicPartition, Sequence[int]] | Skipped, settings: Settings, unread: int
    ) -> ProducerStates:
        """settings are the brokers' own, for the time after which they remove a state."""
        known = {} if isinstance(settings, Skipped) else settings
        expirations = {node: _expiration(each) for node, each in known.items()}
        rows = sorted(self._partitions, key=lambda each: (-each.producers, each.topic_partition))
        shown = [_expiring(each, expirations) for each in rows[:MOST_PARTITIONS] if each.producers]
        return ProducerStates(
            brokers=tuple(self._brokers(replicas, expirations, settings)),
            partitions=tuple(shown),
            other_partitions=len(rows) - len(shown),
            unread=unread,
        )

    def _is_unlogged(self, each: ActiveProducer) -> bool:
        if self._logged is None or each.last_timestamp is None or each.last_timestamp >= self._as_of:
            return False
        return each.producer.producer_id not in self._logged

    def _brokers(
        self,
        replicas: Mapping[TopicPartition, Sequence[int]] | Skipped,
        expirations: Mapping[int, int | Skipped],
        settings: Settings,
    ) -> Iterator[BrokerStates]:
        led: dict[int, list[PartitionStates]] = {node: [] for node in expirations}
        held: dict[int, int] = dict.fromkeys(expirations, 0)
        for each in self._partitions:
            led.setdefault(each.leader, []).append(each)
            for node in () if isinstance(replicas, Skipped) else replicas.get(each.topic_partition, ()):
                held[node] = held.get(node, 0) + each.producers
        unknown = settings if isinstance(settings, Skipped) else Skipped("the broker is not live")
        for node in sorted(led.keys() | held.keys()):
            rows = led.get(node, [])
            yield BrokerStates(
                broker=node,
                partitions=len(rows),
                producers=sum(each.producers for each in rows),
                transactional=sum(each.transactional for each in rows),
                idle=sum(each.idle for each in rows),
                held=None if isinstance(replicas, Skipped) else held.get(node, 0),
                expiration_ms=expirations.get(node, unknown),
            )


def _expiration(settings: Mapping[str, str] | Skipped) -> int | Skipped:
    if isinstance(settings, Skipped):
        return settings
    for key in EXPIRATIONS:
        if key in settings:
            return whole_number(settings[key], key)
    return Skipped(f"the broker does not report its {EXPIRATIONS[0]}")


def _expiring(each: PartitionStates, expirations: Mapping[int, int | Skipped]) -> PartitionStates:
    """With the time at which its leader removes the last one, if none of them writes again."""
    expiration = expirations.get(each.leader)
    if each.last_ms is None or not isinstance(expiration, int):
        return each
    return replace(each, expires_ms=each.last_ms + expiration)


TOP: Final = 3


def state_findings(found: ProducerStates) -> Iterator[Finding]:
    """A finding for each broker with MANY_STATES or more."""
    for each in found.brokers:
        if each.most >= MANY_STATES:
            rows = [row for row in found.partitions if row.leader == each.broker] or found.partitions
            heap = each.most * STATE_BYTES // 1_000_000
            yield kinds.STATES.finding(
                f"broker {each.broker}",
                f"it keeps {each.most:,} producer states, about {heap:,} MB of its heap{_most_of_them(rows)}",
                {
                    "producer_states": each.most,
                    "partitions": {str(row.topic_partition): row.producers for row in rows[:TOP]},
                },
            )


def _most_of_them(rows: Sequence[PartitionStates]) -> str:
    if not rows:
        return ""
    first = rows[0]
    without_id = first.producers - first.transactional
    return f". {first.topic_partition} has {first.producers:,}: {without_id:,} of producers without a transactional ID"
