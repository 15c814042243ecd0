"""Source offsets as they lie in an offsets topic: keys, values, and the latest record of each key.

The raw bytes of a key are its identity, as they are for a worker (KafkaOffsetBackingStore keeps a map keyed by bytes):
two texts of the same JSON are two keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, Record
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts

SourcePartition = Mapping[str, object]
"""What a connector reads from, as it names it: text to null, text, number or boolean."""

SourceOffset = Mapping[str, object]
"""How far a connector has read there: text to null, text, number or boolean."""


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """A key `["connector",{source partition}]`; partition None is JSON null, which workers look up but never list."""

    raw: bytes
    connector: str
    partition: SourcePartition | None


@dataclass(frozen=True, slots=True)
class MalformedKey:
    """A key that is not of that form, and why; workers ignore its record. raw None is a null key."""

    raw: bytes | None
    reason: str


@dataclass(frozen=True, slots=True)
class MalformedValue:
    """A value that a worker cannot use, and why: the connector is then answered as if there were none."""

    raw: bytes
    reason: str


class KeyRecords(NamedTuple):
    """What one topic partition holds under one raw key: its last record in each transaction state, and how many.

    records counts all of them in every state, tombstones those without a value.
    """

    topic_partition: TopicPartition
    committed: Record | None
    open: Record | None
    aborted: Record | None
    records: int
    tombstones: int

    @property
    def last(self) -> Record:
        """The record with the highest offset, whatever became of its transaction."""
        if self.committed is not None and self.open is None and self.aborted is None:
            return self.committed
        found = (record for record in (self.committed, self.open, self.aborted) if record is not None)
        return max(found, key=lambda record: record.offset)

    def seen_by(self, isolation_level: IsolationLevel) -> Record | None:
        """The record that a reader of this isolation level holds: a value, a tombstone, or None for neither."""
        return self.committed if isolation_level is IsolationLevel.READ_COMMITTED else self.last


Entry = tuple[OffsetKey, KeyRecords]
"""A key, and what one partition holds under it."""


@dataclass(frozen=True, slots=True)
class OffsetsPartition:
    """One partition of an offsets topic, folded: records by raw key, None standing for a null key."""

    topic_partition: TopicPartition
    offsets: PartitionOffsets | Skipped
    keys: Mapping[bytes | None, KeyRecords]

    @property
    def records(self) -> int:
        """How many records were read."""
        return sum(each.records for each in self.keys.values())


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """An offsets topic, folded: its settings and its partitions in order."""

    topic: str
    facts: TopicFacts | Skipped
    partitions: tuple[OffsetsPartition, ...]

    def under(self, raw: bytes | None) -> tuple[KeyRecords, ...]:
        """What lies under a raw key, one entry for each partition that has it: more than one is a fault (V12)."""
        return tuple(part.keys[raw] for part in self.partitions if raw in part.keys)

    def raw_keys(self) -> Iterator[bytes | None]:
        """Every raw key once, partition by partition."""
        seen: set[bytes | None] = set()
        for part in self.partitions:
            yield from (raw for raw in part.keys if raw not in seen)
            seen.update(part.keys)

    @property
    def records(self) -> int:
        """How many records were read."""
        return sum(part.records for part in self.partitions)
