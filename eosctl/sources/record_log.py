"""Batches of partitions wherever a trace may begin: at their leaders, or in log directories without a broker."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.messages import list_offsets
from eosctl.clients.wire import Wire
from eosctl.errors import Unreachable, UsageError
from eosctl.model.audit import OffsetRange
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import LogRecord
from eosctl.sources.audit_log import DataBatch, LogItem, read_range
from eosctl.sources.audit_segments import (
    PartitionSegments,
    find_segments,
    read_segments,
    read_transaction_log_segments,
    survey_segments,
)
from eosctl.sources.kafka_offsets import partition_offsets


class RecordLog(Protocol):
    """Partitions that can be read in ranges of offsets."""

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        """The partitions of the topic. Raises UsageError where there is none."""

    def bounds(self, place: TopicPartition) -> PartitionOffsets:
        """Its log start offset, last stable offset and high watermark."""

    def cut_bytes(self, place: TopicPartition) -> int:
        """How many bytes behind the high watermark are no whole batch."""

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order; batches of a settled range say whether they were aborted."""

    def offset_at(self, place: TopicPartition, time_ms: int) -> tuple[int, int] | None:
        """Offset and timestamp of the first record whose timestamp is that or later; None where there is none."""


class LiveLog:
    """Partitions of a cluster, read from their leaders."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        """By the cluster's metadata."""
        return sorted(partition_leaders(self._wire, [topic]))

    def bounds(self, place: TopicPartition) -> PartitionOffsets:
        """As its leader answers; raises UsageError for a partition that does not exist."""
        return partition_offsets(self._wire, [place])[place]

    def cut_bytes(self, place: TopicPartition) -> int:
        """None: a broker cuts them off when it starts."""
        return 0

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        """Fetched; raises NotAuthorized where Read is missing."""
        return read_range(self._wire, offsets, None) if offsets.size > 0 else iter(())

    def offset_at(self, place: TopicPartition, time_ms: int) -> tuple[int, int] | None:
        """ListOffsets by timestamp (KIP-79)."""
        leader = partition_leaders(self._wire, [place.topic]).get(place, NO_LEADER)
        if leader == NO_LEADER:
            raise Unreachable(f"{place} has no leader")
        request = list_offsets([place], max(0, time_ms), IsolationLevel.READ_UNCOMMITTED)
        part = self._wire.request(leader, request).topics[0].partitions[0]
        if part.error_code:
            resource = f"Topic {place.topic}"
            raise protocol_error(
                part.error_code, principal=self._wire.principal, operation="Describe", resource=resource
            )
        return None if part.offset < 0 else (int(part.offset), int(part.timestamp))


class SegmentLog:
    """Partitions whose segments lie under log directories. Each is gone through once for its bounds."""

    def __init__(self, directories: Sequence[Path], most_batch_bytes: int) -> None:
        self._directories, self._most = directories, most_batch_bytes
        self._surveyed: dict[TopicPartition, PartitionSegments] = {}

    @cached_property
    def all(self) -> Mapping[TopicPartition, tuple[Path, ...]]:
        """Every partition there, with its segments."""
        return find_segments(self._directories)

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        """Those that lie there."""
        found = [each for each in self.all if each.topic == topic]
        if not found:
            raise UsageError(f"no segment of topic {topic} in {', '.join(map(str, self._directories))}")
        return found

    def bounds(self, place: TopicPartition) -> PartitionOffsets:
        """As the files end: there the high watermark is taken to be."""
        segments = self._segments(place)
        return PartitionOffsets(place, segments.log_start_offset, segments.last_stable_offset, segments.end_offset)

    def cut_bytes(self, place: TopicPartition) -> int:
        """At the end of the last segment."""
        return self._segments(place).cut_bytes

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        """From the files."""
        return read_segments(self._segments(offsets.topic_partition), offsets)

    def offset_at(self, place: TopicPartition, time_ms: int) -> tuple[int, int] | None:
        """By the batches' latest timestamps: the first record of the batch may be earlier."""
        bounds = self.bounds(place)
        for item in self.read(
            OffsetRange(*_name(place), bounds.log_start_offset, bounds.high_watermark, settled=False)
        ):
            if isinstance(item, DataBatch) and item.batch.header.max_timestamp >= time_ms:
                return item.batch.header.base_offset, item.batch.header.max_timestamp
        return None

    def transaction_log(self) -> Iterator[LogRecord]:
        """The records of `__transaction_state` there; none where it does not lie there."""
        places = [each for each in self.all if each.topic == TRANSACTION_LOG]
        return read_transaction_log_segments([self._segments(each) for each in places])

    def _segments(self, place: TopicPartition) -> PartitionSegments:
        if place not in self.all:
            raise UsageError(f"no segment of {place} in {', '.join(map(str, self._directories))}")
        if place not in self._surveyed:
            self._surveyed[place] = replace(survey_segments(place, self.all[place]), most_batch_bytes=self._most)
        return self._surveyed[place]


def _name(place: TopicPartition) -> tuple[str, int]:
    return place.topic, place.partition
