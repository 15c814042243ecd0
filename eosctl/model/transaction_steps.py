"""Steps that end a transaction, and what must hold before them: abort what hangs, commit what its owner decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producers import ActiveProducer
from eosctl.model.sides import Side
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import TransactionDescription, TransactionState

NOTHING_OPEN: Final = -1
COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})


@dataclass(frozen=True, slots=True)
class AbortTransaction:
    """WriteTxnMarkers: one ABORT marker for the producer into the partition (KIP-664), where its transaction is open.

    It begins at start_offset. The marker passes the coordinator by, so it is for transactions that hang; forced ones
    are aborted although their coordinator knows them. coordinator_epoch 0 stands for one that is not known.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    forced: bool = False


@dataclass(frozen=True, slots=True)
class TransactionHangs:
    """What the producer has open in the partition begins at start_offset and, unless forced, hangs (KIP-664).

    It holds as well where the producer has nothing open there any more: then there is nothing to abort.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    start_offset: int
    forced: bool = False


@dataclass(frozen=True, slots=True, order=True)
class OpenPart:
    """What a transaction has in one partition: its first offset, and the sequence number of its producer's last record.

    Both are NOTHING_OPEN in a partition that was added to the transaction and has no record of it.
    """

    topic: str
    partition: int
    start_offset: int
    last_sequence: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def is_empty(self) -> bool:
        """Whether no record of the transaction is there."""
        return self.start_offset == NOTHING_OPEN


Parts = Mapping[TopicPartition, OpenPart | Skipped]


@dataclass(frozen=True, slots=True)
class CommitTransaction:
    """EndTxn with COMMIT in the name of the producer that is gone (KIP-98).

    started_ms is when its coordinator began the transaction, in ms since the epoch: with the ID it names one
    transaction. transaction_version is the one that its client used (KIP-890); 2 takes EndTxn v5, which raises the
    epoch. parts are all partitions of the transaction.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    transaction_version: int
    parts: tuple[OpenPart, ...]

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """In whose name it is committed."""
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)


@dataclass(frozen=True, slots=True)
class TransactionUnchanged:
    """The ID's transaction is Ongoing and the same: its start, producer, partitions, and the last record in each.

    It holds as well where this transaction is committed: then there is nothing to commit. It does not hold where the
    client wrote another record, for then it is not gone.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    parts: tuple[OpenPart, ...]


@dataclass(frozen=True, slots=True)
class TransactionNow:
    """A transactional ID as its coordinator and the leaders of its transaction's partitions have it now.

    state None: its coordinator does not know it. started_ms is when its current or last transaction began, None where
    there was none. parts are read while it is Ongoing; Skipped where a leader did not answer.
    """

    state: TransactionState | None
    producer: ProducerIdAndEpoch | None = None
    started_ms: int | None = None
    parts: Parts = field(default_factory=dict)

    @classmethod
    def ongoing(
        cls,
        description: TransactionDescription,
        producers: tuple[ActiveProducer, ...],
        unanswered: tuple[TopicPartition, ...],
    ) -> Self:
        """An Ongoing one, by what the leaders of its partitions answered."""
        producer = description.producer
        parts: dict[TopicPartition, OpenPart | Skipped] = {
            place: OpenPart(place.topic, place.partition, NOTHING_OPEN, NOTHING_OPEN)
            for place in description.partitions
        }
        for each in producers:
            place, start = each.topic_partition, each.transaction_start_offset
            if each.producer == producer and start is not None and place in parts:
                parts[place] = OpenPart(place.topic, place.partition, start, each.last_sequence)
        for place in unanswered:
            parts[place] = Skipped(f"no leader answered for {place}", Cause.UNREACHABLE)
        return cls(description.state, producer, description.start_ms, parts)

    def is_committed(self, started_ms: int) -> bool:
        """Whether the commit of the transaction that began then is decided; its markers may not all be written."""
        return self.state in COMMITTED and self.started_ms == started_ms


def why_changed(wanted: TransactionUnchanged, now: TransactionNow) -> str | None:
    """Why the precondition does not hold, None where it does."""
    name, producer = wanted.transactional_id, ProducerIdAndEpoch(wanted.producer_id, wanted.producer_epoch)
    if now.is_committed(wanted.started_ms):
        return None
    if now.state is None:
        return f"no coordinator knows {name} any more"
    if now.state is not TransactionState.ONGOING or now.started_ms != wanted.started_ms:
        return f"{name} is {now.state.value} as {now.producer} now: the transaction of the plan has ended"
    if now.producer != producer:
        return f"{name} is held by producer {now.producer} now, not by {producer}"
    return why_moved(name, {each.topic_partition: each for each in wanted.parts}, now.parts)


def why_moved(name: str, before: Parts, now: Parts) -> str | None:
    """Why the client of the ID is not known to be gone: its transaction changed, or a part was not read.

    A transaction loses no partition while it is Ongoing. A coordinator leaves out those whose topics the principal may
    not describe (KafkaApis.handleDescribeTransactionsRequest).
    """
    unread = next((f"{place}: {part.reason}" for place, part in now.items() if isinstance(part, Skipped)), None)
    hidden = min(before.keys() - now.keys(), default=None)
    if unread is None and hidden is not None:
        unread = f"{hidden}, which is hidden: Describe on its topic is missing"
    if unread is not None:
        return f"whether the client of {name} still writes is unknown in {unread}"
    moved = sorted(place for place, part in now.items() if before.get(place) != part)
    return f"the client of {name} is not gone: it wrote to {', '.join(map(str, moved))}" if moved else None
