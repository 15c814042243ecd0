"""The producers that brokers keep in memory: one state for each producer ID in each partition (KIP-360, KIP-664)."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped

STATE_BYTES: Final = 400
"""A state in a broker's heap: 265 bytes with one batch (measured with 200,000 on 4.3.1), and 40 for each of the
four more that it may remember."""


class PartitionStates(Struct, frozen=True):
    """The producer states of a partition, as its leader counts them; times are in ms since the epoch.

    transactional are those with an open transaction or a marker, the others are of idempotent producers. unlogged are
    the transactional ones whose producer ID the transaction log no longer has for any ID; None where not all of the log
    was read. open have an open transaction, and do not expire. idle wrote nothing for a day. last_ms is the newest of
    their last timestamps, which are the clients' own; None without producers.
    """

    topic_partition: TopicPartition
    leader: int
    producers: int
    transactional: int
    unlogged: int | None
    open: int
    idle: int
    last_ms: int | None
    expires_ms: int | None = None


class BrokerStates(Struct, frozen=True):
    """The producer states of a broker: those of the partitions that it leads, and all that it holds as a replica.

    held is None where the replicas are not known; of partitions that no leader answered for, nothing is counted.
    expiration_ms is its producer.id.expiration.ms.
    """

    broker: int
    partitions: int
    producers: int
    transactional: int
    idle: int
    held: int | None
    expiration_ms: int | Skipped

    @property
    def most(self) -> int:
        """The known number of states in its memory."""
        return self.producers if self.held is None else max(self.held, self.producers)


class ProducerStates(Struct, frozen=True):
    """Brokers by number, and the partitions with the most states; other_partitions have fewer, or none.

    unread is how many partitions could not be counted.
    """

    brokers: Sequence[BrokerStates]
    partitions: Sequence[PartitionStates]
    other_partitions: int
    unread: int
