"""Offsets topics for tests, built from (partition, key, value) triples."""

from collections.abc import Sequence

from eosctl.analysis.offsets import fold_offsets
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.records import Record, RecordState, java_partition
from eosctl.model.skipped import Skipped

Triple = tuple[int, bytes, bytes | None]
Written = Triple | tuple[int, bytes, bytes | None, RecordState]


def topic_of(name: str, partitions: int, written: Sequence[Written], state=RecordState.COMMITTED) -> OffsetsTopic:
    """The topic after these records were written in this order; a record may have its own state."""
    parts = []
    for number in range(partitions):
        records = [
            Record(offset, 0, key, value, own[0] if own else state, producer_id=7, producer_epoch=1)
            for offset, (partition, key, value, *own) in enumerate(written)
            if partition == number
        ]
        parts.append(fold_offsets(TopicPartition(name, number), records, decode_offsets_key))
    return OffsetsTopic(name, Skipped("a test's"), tuple(parts))


def java(partitions: int, offsets: dict[bytes, bytes | None]) -> list[Triple]:
    """Each key in the partition that a Java producer puts it in."""
    return [(java_partition(key, partitions), key, value) for key, value in offsets.items()]
