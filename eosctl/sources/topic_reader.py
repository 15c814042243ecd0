"""What can be asked of topics and of the record batches in them: a part of ClusterReader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from eosctl.model.topics import PartitionOffsets, TopicDescription

if TYPE_CHECKING:
    from eosctl.model.names import TopicPartition
    from eosctl.model.skipped import Skipped
    from eosctl.sources.audit_log import OpenSource

Topics = Mapping[str, TopicDescription]


class TopicReader(Protocol):
    """Topics, who writes to them, and their record batches."""

    def topic_names(self) -> frozenset[str]:
        """Every topic that may be described."""

    def topics(self, names: Collection[str], settings: Collection[str]) -> Topics:
        """Each of these topics that exists, with these settings."""

    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """Keys of the first records in partition 0."""

    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        """The topics that each connector was seen to use since its last reset (KIP-558)."""

    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """The offsets of these partitions at one moment: what a transaction wrote that ended below a last stable offset
        lies below every high watermark.

        Raises UsageError for a partition that does not exist, TimedOut for one without a leader.
        """

    def record_batches(self) -> OpenSource | Skipped:
        """What opens the record batches of partitions, in this process and in others."""
