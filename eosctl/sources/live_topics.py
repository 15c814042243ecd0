"""Topics and their record batches as the brokers and Connect workers answer now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.topics import PartitionOffsets, TopicDescription
from eosctl.sources import connect_rest, first_batches, kafka_offsets, kafka_topics
from eosctl.sources.audit_log import OpenCluster, OpenSource
from eosctl.sources.cluster_reader import ALL_TOPICS
from eosctl.sources.coverage_log import asked
from eosctl.sources.hidden_names import hidden_topics
from eosctl.sources.live_connect import LiveConnect

if TYPE_CHECKING:
    from eosctl.sources.topic_reader import Topics

ACTIVE_TOPICS_KEPT_S: Final = 600.0
"""A request for each connector; a connector that runs seldom begins to write to another topic."""


class LiveTopics(LiveConnect):
    """Asks again at each question."""

    @asked("topics")
    def topic_names(self) -> frozenset[str]:
        """By their metadata."""
        self.note(ALL_TOPICS, hidden_topics(self._connections.wire))
        return frozenset(name for name, facts in kafka_topics.topic_facts(self._connections.wire).items() if facts)

    @asked("topics")
    def topics(self, names: Collection[str], settings: Collection[str]) -> Topics:
        """One request for each topic's settings."""
        wire = self._connections.wire
        ids, facts = kafka_topics.topic_ids(wire, names), kafka_topics.topic_facts(wire, names)
        return {
            name: TopicDescription(
                name, each.partitions, ids.get(name), kafka_topics.topic_settings(wire, name, settings)
            )
            for name, each in facts.items()
            if each is not None
        }

    @asked("keys of topic {0}")
    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """Those of the first records after the log start offset."""
        return tuple(first_batches.first_keys(self._connections.wire, [TopicPartition(topic, 0)]))

    @asked("active topics of connector", once=True, kept_s=ACTIVE_TOPICS_KEPT_S)
    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        """From the first worker that answers."""
        urls, timeout_s = self._answering, self._timeout_s
        return (
            or_skipped(lambda: connect_rest.read_active_topics(urls, connectors, timeout_s)) if urls else self._nobody
        )

    @asked("offsets of")
    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """Last stable offsets of all partitions are asked before the first high watermark is."""
        before = kafka_offsets.partition_offsets(self._connections.wire, partitions)
        after = kafka_offsets.partition_offsets(self._connections.wire, partitions)
        return {
            place: PartitionOffsets(place, each.log_start_offset, each.last_stable_offset, after[place].high_watermark)
            for place, each in before.items()
        }

    @asked("record batches")
    def record_batches(self) -> OpenSource | Skipped:
        """Fetched with the same identity."""
        return OpenCluster(self._connections.wire.properties, self._connections.timeout_s)
