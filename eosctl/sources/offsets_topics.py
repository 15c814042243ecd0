"""Offsets topics, each partition folded as it is read."""

from collections.abc import Callable

from eosctl.analysis.offsets import OffsetsFold, Writer
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import decode_entries
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsPartition
from eosctl.model.topics import PartitionOffsets
from eosctl.sources.kafka_log import read_batches
from eosctl.sources.kafka_offsets import partition_offsets

Advance = Callable[[int], object]


def offsets_bounds(wire: Wire, topic: str, partitions: int) -> dict[TopicPartition, PartitionOffsets]:
    """What bounds the reading of each partition of the topic, in their order."""
    bounds = partition_offsets(wire, [TopicPartition(topic, number) for number in range(partitions)])
    return dict(sorted(bounds.items()))


def read_offsets_partitions(
    wire: Wire, bounds: dict[TopicPartition, PartitionOffsets], advance: Advance = lambda _: None
) -> tuple[OffsetsPartition, ...]:
    """The partitions as they were when `bounds` was asked, folded. `advance` is told how many records were read.

    Raises what read_log raises.
    """
    folded = []
    for place, offsets in bounds.items():
        folded.append(_folded(wire, place, offsets))
        advance(offsets.high_watermark - offsets.log_start_offset)
    return tuple(folded)


def _folded(wire: Wire, place: TopicPartition, offsets: PartitionOffsets) -> OffsetsPartition:
    """Of each batch only what outlives it is made a record."""
    fold = OffsetsFold()
    for part in read_batches(wire, place, offsets=offsets):
        header = part.batch.header
        entries = decode_entries(part.batch, topic_partition=place)
        if not part.whole:
            entries = [entry for entry in entries if part.first <= entry.offset < part.limit]
        writer = Writer(header.is_transactional, header.producer_id, header.producer_epoch)
        fold.add_batch(entries, part.state, writer)
    return fold.result(place, offsets)
