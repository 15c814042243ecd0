"""Topics as a snapshot keeps them. Of record batches it holds only what they were decoded to."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from eosctl.model.groups import ShareGroups
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets, TopicDescription, TopicFacts
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.coverage_log import asked
from eosctl.sources.saved_connect import NOT_SAVED, SavedConnect
from eosctl.sources.topic_reader import Topics

NO_BATCHES = Skipped("a snapshot holds no record batches", Cause.NOT_SAVED)


class SavedTopics(SavedConnect):
    """Topics that the sections of a snapshot name."""

    @asked("topics")
    def topic_names(self) -> frozenset[str]:
        """Those of partitions with producers, and Connect's own."""
        return frozenset(self._partition_counts())

    def _partition_counts(self) -> Mapping[str, int]:
        producers = self._snapshot.producers
        counts = {name: each.partitions for name, each in self._facts().items()}
        for place in () if isinstance(producers, Skipped) else producers.partitions:
            counts[place.topic] = max(counts.get(place.topic, 0), place.partition + 1)
        return counts

    def _facts(self) -> Mapping[str, TopicFacts]:
        log = self._snapshot.config_topic
        found = [*(each.facts for each in self._offsets_topics()), *(() if isinstance(log, Skipped) else (log.facts,))]
        return {each.name: each for each in found if not isinstance(each, Skipped)}

    def _offsets_topics(self) -> Iterator[OffsetsTopic]:
        offsets = self._snapshot.offsets
        for place, topic in () if isinstance(offsets, Skipped) else offsets.topics.items():
            if place.bootstrap_servers is None and isinstance(topic, OffsetsTopic):
                yield topic

    @asked("topics")
    def topics(self, names: Collection[str], settings: Collection[str]) -> Topics:
        """Settings are those of Connect's own topics."""
        counts, facts = self._partition_counts(), self._facts()
        return {
            name: TopicDescription(name, counts[name], None, facts[name].settings if name in facts else NOT_SAVED)
            for name in names
            if name in counts
        }

    @asked("settings of topic")
    def topic_facts(self, names: Collection[str]) -> Mapping[str, TopicFacts | Skipped | None] | Skipped:
        """Skipped for one that no connector had when the snapshot was saved."""
        known = self._evidence if isinstance(self._evidence, Skipped) else self._evidence.topics
        return known if isinstance(known, Skipped) else {name: known.get(name, NOT_SAVED) for name in names}

    @asked("share groups")
    def share_groups(self, group_ids: Collection[str]) -> ShareGroups | Skipped:  # the port's signature
        """As they were saved."""
        return self._evidence if isinstance(self._evidence, Skipped) else self._evidence.share_groups

    def first_keys(self, topic: str) -> Sequence[bytes | None]:
        """Those of an offsets topic: of other topics a snapshot holds no records."""
        return tuple(key for each in self._offsets_topics() if each.topic == topic for key in each.raw_keys())

    @asked("active topics")
    def active_topics(self, connectors: Sequence[str]) -> Mapping[str, tuple[str, ...] | Skipped] | Skipped:
        """As they were saved."""
        known = NOT_SAVED if isinstance(self._evidence, Skipped) else self._evidence.active_topics
        return known if isinstance(known, Skipped) else {name: known.get(name, NOT_SAVED) for name in connectors}

    @asked("offsets of")
    def bounds(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """As they were saved; partitions whose offsets were not saved are omitted."""
        producers = self._snapshot.producers
        known = {} if isinstance(producers, Skipped) else producers.partitions
        return {
            place: each.offsets for place, each in known.items() if place in partitions and each.offsets is not None
        }

    @asked("record batches")
    def record_batches(self) -> OpenSource | Skipped:
        """None is saved."""
        return NO_BATCHES
