"""Offsets topics, each partition folded as it is read."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import decode_entries
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsPartition, OffsetsTopic
from eosctl.model.records import Entry, RecordState, Writer
from eosctl.model.topics import PartitionOffsets
from eosctl.sources.kafka_log import begin_reading, read_batches
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_topics import topic_facts, topic_facts_or_skipped
from eosctl.sources.log_reader import LogReader

AHEAD: Final = 8
"""Partitions that are waited for at the same time; each holds one answer, of 1 MiB at most, until its turn."""

Advance = Callable[[int], object]
Progress = Callable[..., AbstractContextManager[Advance]]


class Fold(Protocol):
    """What keeps the last record of each key while a partition is read: analysis.offsets.OffsetsFold."""

    def add_batch(self, entries: Sequence[Entry], state: RecordState, writer: Writer) -> None:
        """Take in records that follow each other and were written in one state by one writer."""

    def result(self, topic_partition: TopicPartition, offsets: PartitionOffsets) -> OffsetsPartition:
        """What has been folded so far."""


NewFold = Callable[[], Fold]


def offsets_bounds(wire: Wire, topic: str, partitions: int) -> dict[TopicPartition, PartitionOffsets]:
    """What bounds the reading of each partition of the topic, in their order."""
    bounds = partition_offsets(wire, [TopicPartition(topic, number) for number in range(partitions)])
    return dict(sorted(bounds.items()))


def read_offsets_partitions(
    wire: Wire,
    bounds: Mapping[TopicPartition, PartitionOffsets],
    new_fold: NewFold,
    advance: Advance = lambda _: None,
) -> tuple[OffsetsPartition, ...]:
    """The partitions as they were when `bounds` was read, folded. `advance` is given the number of records read.

    While one partition is folded, the first batches of the next ones are on their way. Raises what read_log raises.
    """
    leaders = partition_leaders(wire, {place.topic for place in bounds})
    waiting, begun = deque(bounds.values()), deque[tuple[PartitionOffsets, LogReader]]()
    folded = []
    while waiting or begun:
        while waiting and len(begun) < AHEAD:
            offsets = waiting.popleft()
            begun.append((offsets, begin_reading(wire, offsets, leaders.get(offsets.topic_partition, NO_LEADER))))
        offsets, reader = begun.popleft()
        folded.append(_folded(wire, offsets, reader, new_fold()))
        advance(offsets.high_watermark - offsets.log_start_offset)
    return tuple(folded)


def _folded(wire: Wire, offsets: PartitionOffsets, reader: LogReader, fold: Fold) -> OffsetsPartition:
    """Of each batch only what outlives it is made a record."""
    place = offsets.topic_partition
    for part in read_batches(wire, place, offsets=offsets, begun=reader):
        header = part.batch.header
        entries = decode_entries(part.batch, topic_partition=place)
        if not part.whole:
            entries = [entry for entry in entries if part.first <= entry.offset < part.limit]
        writer = Writer(header.is_transactional, header.producer_id, header.producer_epoch)
        fold.add_batch(entries, part.state, writer)
    return fold.result(place, offsets)


def read_offsets_topic(wire: Wire, topic: str, new_fold: NewFold, progress: Progress) -> OffsetsTopic | None:
    """The topic's partitions, each folded as it is read; None where there is no such topic."""
    facts = topic_facts(wire, [topic])[topic]
    if facts is None:
        return None
    bounds = offsets_bounds(wire, topic, facts.partitions)
    total = sum(each.high_watermark - each.log_start_offset for each in bounds.values())
    with progress(f"reading {topic}", total, unit="records") as advance:
        parts = read_offsets_partitions(wire, bounds, new_fold, advance)
    return OffsetsTopic(topic, topic_facts_or_skipped(wire, topic), parts)
