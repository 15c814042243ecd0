"""Producers as a partition's leader remembers them (DescribeProducers, KIP-664)."""

from dataclasses import dataclass
from typing import NamedTuple

from eosctl.errors import Unreachable
from eosctl.model.counts import counted
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """One idempotent producer that wrote to a partition and is not forgotten yet.

    last_sequence is the sequence number of its last record (-1: its last batch was a marker); last_timestamp is the
    timestamp of its last batch in ms, None where there is none; coordinator_epoch is that of the last marker of its
    producer ID, None where there is none; transaction_start_offset is where its open transaction begins, None where
    none is open in this partition.
    """

    topic_partition: TopicPartition
    producer: ProducerIdAndEpoch
    last_sequence: int
    last_timestamp: int | None
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class AnsweredProducers(NamedTuple):
    """Producers by partition and producer ID, and the partitions that no leader answered for in time."""

    producers: tuple[ActiveProducer, ...]
    unanswered: tuple[TopicPartition, ...]


def no_leader_answers(partitions: tuple[TopicPartition, ...]) -> Unreachable | None:
    """The error of an answer that lacks these partitions; None where it lacks none."""
    if not partitions:
        return None
    return Unreachable(f"no leader answers for {counted(len(partitions), 'partition')}, {partitions[0]} first")
