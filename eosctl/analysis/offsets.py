"""The fold over one partition of an offsets topic: the last record of each key in each transaction state.

Memory grows with the number of keys, not of records. Keys and values are not looked into: the raw bytes of a key are
its identity. Folds of two stretches of one partition merge into the fold of both (the later one on the right).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, repeat

from eosctl.model.names import TopicPartition
from eosctl.model.offsets import KeyRecords, OffsetsPartition
from eosctl.model.records import Entry, Record, RecordState, Writer
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import PartitionOffsets

NOT_ASKED = not_asked("not asked")

Key = bytes | None


Kept = tuple[Entry, Writer]


class OffsetsFold:
    """The state of the fold: give it records in offset order with `add`, or batches, then ask for `result`."""

    def __init__(self) -> None:
        self._last: dict[RecordState, dict[Key, Kept]] = {state: {} for state in RecordState}
        self._records: Counter[Key] = Counter()
        self._tombstones: Counter[Key] = Counter()

    def add(self, records: Iterable[Record]) -> None:
        """Take in records."""
        for (state, writer), run in groupby(records, _batch_of):
            self.add_batch(list(run), state, writer)

    def add_batch(self, entries: Sequence[Entry], state: RecordState, writer: Writer) -> None:
        """Take in records that follow each other and were written in one state by one writer."""
        keys = [entry.key for entry in entries]
        self._last[state].update(zip(keys, zip(entries, repeat(writer), strict=False), strict=True))
        self._records.update(keys)
        if deleted := [entry.key for entry in entries if entry.value is None]:
            self._tombstones.update(deleted)

    def merge(self, later: "OffsetsFold") -> None:
        """Take in the fold of the records that follow."""
        for state, last in later._last.items():
            self._last[state].update(last)
        self._records.update(later._records)
        self._tombstones.update(later._tombstones)

    def result(
        self, topic_partition: TopicPartition, offsets: PartitionOffsets | Skipped = NOT_ASKED
    ) -> OffsetsPartition:
        """What has been folded so far."""
        committed, opened, aborted = (
            {key: _record(kept, state) for key, kept in self._last[state].items()}.get
            for state in (RecordState.COMMITTED, RecordState.OPEN, RecordState.ABORTED)
        )
        tombstones = self._tombstones.get
        return OffsetsPartition(
            topic_partition,
            offsets,
            {
                key: KeyRecords(topic_partition, committed(key), opened(key), aborted(key), count, tombstones(key, 0))
                for key, count in self._records.items()
            },
        )


def _batch_of(record: Record) -> tuple[RecordState, Writer]:
    return record.state, Writer(record.transactional, record.producer_id, record.producer_epoch)


def _record(kept: Kept, state: RecordState) -> Record:
    entry, writer = kept
    return Record(entry.offset, entry.timestamp, entry.key, entry.value, state, *writer)


def fold_offsets(
    topic_partition: TopicPartition, records: Iterable[Record], offsets: PartitionOffsets | Skipped = NOT_ASKED
) -> OffsetsPartition:
    """All records of one partition, in offset order, folded."""
    fold = OffsetsFold()
    fold.add(records)
    return fold.result(topic_partition, offsets)
