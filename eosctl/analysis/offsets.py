"""The fold over one partition of an offsets topic: the last record of each key in each transaction state.

Memory grows with the number of keys, not of records. Keys and values are not looked into: the raw bytes of a key are
its identity. Folds of two stretches of one partition merge into the fold of both (the later one on the right).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Final

from eosctl.model.names import TopicPartition
from eosctl.model.offsets import KeyRecords, OffsetsPartition
from eosctl.model.records import Record, RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets

NOT_ASKED = Skipped("not asked")

_CHUNK: Final = 4096
_key = itemgetter(Record._fields.index("key"))
_value = itemgetter(Record._fields.index("value"))
_state = itemgetter(Record._fields.index("state"))

Key = bytes | None


class OffsetsFold:
    """The state of the fold: give it records in offset order with `add`, then ask for `result`."""

    def __init__(self) -> None:
        self._last: dict[RecordState, dict[Key, Record]] = {state: {} for state in RecordState}
        self._records: Counter[Key] = Counter()
        self._tombstones: Counter[Key] = Counter()

    def add(self, records: Iterable[Record]) -> None:
        """Take in records, a chunk at a time."""
        stream: Iterator[Record] = iter(records)
        while chunk := list(islice(stream, _CHUNK)):
            self._add_chunk(chunk)

    def _add_chunk(self, chunk: list[Record]) -> None:
        keys = list(map(_key, chunk))
        self._records.update(keys)
        if None in map(_value, chunk):
            self._tombstones.update(record.key for record in chunk if record.value is None)
        states = set(map(_state, chunk))
        if len(states) == 1:
            self._last[states.pop()].update(zip(keys, chunk, strict=True))
            return
        for record in chunk:
            self._last[record.state][record.key] = record

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
            self._last[state].get for state in (RecordState.COMMITTED, RecordState.OPEN, RecordState.ABORTED)
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


def fold_offsets(
    topic_partition: TopicPartition, records: Iterable[Record], offsets: PartitionOffsets | Skipped = NOT_ASKED
) -> OffsetsPartition:
    """All records of one partition, in offset order, folded."""
    fold = OffsetsFold()
    fold.add(records)
    return fold.result(topic_partition, offsets)
