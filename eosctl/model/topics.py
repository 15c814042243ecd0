"""Partitions' offsets and topics' settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, not_asked


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """The three offsets that bound what readers of one partition see."""

    topic_partition: TopicPartition
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int

    @property
    def held_back(self) -> int:
        """Offsets that an open transaction hides from read_committed consumers."""
        return self.high_watermark - self.last_stable_offset


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the cluster describes it; settings are its effective configs, Skipped where they could not be read.

    in_sync is the number of replicas in sync of the partition that has fewest; None where it is not known. leaderless
    are the partitions that have no leader.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] | Skipped = field(default_factory=lambda: not_asked("not asked"))
    in_sync: int | None = None
    leaderless: tuple[int, ...] = ()

    def setting(self, key: str) -> str | Skipped:
        """The value of one of its configs."""
        if isinstance(self.settings, Skipped):
            return self.settings
        return self.settings.get(key, Skipped(f"the broker does not report {key} of topic {self.name}"))

    def lacks_replicas(self, min_isr: int) -> bool:
        """Whether a write with acks=all is refused in a partition: too few replicas in sync, or too few at all."""
        return min_isr > (self.replication_factor if self.in_sync is None else self.in_sync)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic with its ID (KIP-516; None where it has none, or it is not known) and those settings that were asked for.

    settings are Skipped where they could not be read.
    """

    name: str
    partitions: int
    topic_id: str | None
    settings: Mapping[str, str] | Skipped
