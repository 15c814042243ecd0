"""Partitions' offsets, topics' settings, and the Kafka cluster that has them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import first_few
from eosctl.model.whole_numbers import whole_number

MIN_ISR: Final = "min.insync.replicas"
CLEANUP_POLICY: Final = "cleanup.policy"
RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"
RETENTION_SETTINGS: Final = (CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES)
"""Settings of a topic that decide which records it keeps."""


class ClusterFacts(Struct, frozen=True):
    """A Kafka cluster: its ID, its brokers as node ID to `host:port`, and transaction.max.timeout.ms of its brokers."""

    cluster_id: str
    brokers: Mapping[int, str]
    transaction_max_timeout_ms: int | Skipped


class PartitionOffsets(Struct, frozen=True):
    """The three offsets that bound what readers of one partition see."""

    topic_partition: TopicPartition
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int

    @property
    def held_back(self) -> int:
        return self.high_watermark - self.last_stable_offset


class OffsetRange(NamedTuple):
    """Offsets [start, end) of one partition.

    A settled range ends at or before the last stable offset: of every record in it is known whether it was committed.
    The range behind it, up to the high watermark, is read for its batch headers only, and read again next time.
    """

    topic: str
    partition: int
    start: int
    end: int
    settled: bool = True

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Offsets in it: at least the number of its records."""
        return self.end - self.start


class RecordCounts(NamedTuple):
    """The content between an offset and the last stable offset, for a read_committed consumer.

    It gets the readable records. aborted ones and markers it passes over; at removed offsets there is no record (any
    more). The sum of the four are the offsets between the two.
    """

    readable: int
    aborted: int
    markers: int
    removed: int


class CountedStretch(NamedTuple):
    """The records of the offsets from `first` to before `limit`, as RecordCounts has them."""

    first: int
    limit: int
    readable: int
    aborted: int
    markers: int

    def joined(self, following: "CountedStretch") -> "CountedStretch":
        """Both as one; `following` begins at the limit."""
        counts = (mine + other for mine, other in zip(self[2:], following[2:], strict=True))
        return CountedStretch(self.first, following.limit, *counts)


class RecordTally(Struct, frozen=True):
    """Counted stretches of one partition below its last stable offset, in their order; between two may be a gap."""

    stretches: tuple[CountedStretch, ...] = ()

    def counts(self, start: int, limit: int) -> RecordCounts | None:
        """The content between the two offsets; None if it was not counted, or not from `start` on."""
        found, reached = CountedStretch(start, start, 0, 0, 0), start
        for each in self.stretches:
            if each.first == reached and each.limit <= limit:
                found, reached = found.joined(each), each.limit
        removed = limit - start - found.readable - found.aborted - found.markers
        return RecordCounts(found.readable, found.aborted, found.markers, removed) if reached == limit else None


class TopicFacts(Struct, frozen=True):
    """A topic as the cluster describes it; settings are its effective configs, Skipped if unread.

    replication_factor and in_sync are the lowest numbers of replicas and of in-sync replicas of its partitions, in_sync
    None if unknown. under_replicated is the lowest number of in-sync replicas of a partition that has more replicas,
    None if all are in sync. leaderless are the partitions without a leader.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] | Skipped = field(default_factory=lambda: not_asked("not asked"))
    in_sync: int | None = None
    leaderless: tuple[int, ...] = ()
    under_replicated: int | None = None

    def setting(self, key: str) -> str | Skipped:
        if isinstance(self.settings, Skipped):
            return self.settings
        return self.settings.get(key, Skipped(f"the broker does not report {key} of topic {self.name}"))

    @property
    def min_isr(self) -> int | Skipped:
        """min.insync.replicas; Undecodable where it is no number."""
        text = self.setting(MIN_ISR)
        return text if isinstance(text, Skipped) else whole_number(text, f"{MIN_ISR} of topic {self.name}")

    def shortage(self, is_capped: bool | None) -> str | Skipped | None:
        """Why a write with acks=all is refused in a partition: too few replicas in sync, or too few in all.

        is_capped: all brokers are of CAPPED_MIN_ISR or newer, and accept it where all replicas are in sync (None:
        unknown, so it is too whether they do).
        """
        minimum, there = self.min_isr, self.replication_factor if self.in_sync is None else self.in_sync
        if isinstance(minimum, Skipped):
            return minimum
        factor = f"the replication factor {self.replication_factor}"
        short = f"{MIN_ISR} is {minimum}, {factor}, and a partition has {there} in sync"
        lagging = there if there < self.replication_factor else self.under_replicated
        if minimum <= there or (lagging is not None and lagging < minimum):
            return short if minimum > there else None
        refused = f"{short}, which brokers before 3.7 refuse"
        unknown = Skipped(f"{refused}; the release of a broker is not known")
        return unknown if is_capped is None else None if is_capped else refused

    def refusal(self, is_capped: bool | None) -> str | Skipped | None:
        """Why a partition takes no write with acks=all: it has no leader, or a shortage."""
        if self.leaderless:
            return f"no leader of partition {first_few(list(map(str, self.leaderless)))}"
        return self.shortage(is_capped)

    @property
    def is_weak(self) -> bool:
        """A write may be in one replica alone although there are three or more: of two, both would have to live."""
        return self.replication_factor > 2 and self.min_isr == 1

    def needs_all(self, is_capped: bool | None) -> str | None:
        """Why every write needs all replicas, of which there are several: brokers cap what the topic asks for."""
        if is_capped is not True or self.replication_factor < 2 or not self._exceeds_factor:
            return None
        return f"{MIN_ISR}={self.min_isr} above its replication factor {self.replication_factor}"

    def lacks_replicas(self, is_capped: bool | None) -> bool:
        """Too few replicas for min.insync.replicas, even with all in sync."""
        return is_capped is not True and self._exceeds_factor

    @property
    def _exceeds_factor(self) -> bool:
        minimum = self.min_isr
        return isinstance(minimum, int) and minimum > self.replication_factor


class TopicDescription(Struct, frozen=True):
    """A topic with its ID (KIP-516; None if it has none, or it is unknown) and the requested settings.

    settings are Skipped if they could not be read.
    """

    name: str
    partitions: int
    topic_id: str | None
    settings: Mapping[str, str] | Skipped


class RecordsDigest(NamedTuple):
    """How many committed records were read, and the SHA-256 of their keys and values in their order."""

    records: int
    digest: str


class MirroredPartition(NamedTuple):
    """A source partition of a MirrorSource connector.

    position is the offset of the last mirrored record; committed_ms (since the epoch) is when the worker wrote it to
    its offsets topic. bounds are the source's. written_ms is when the batch at position was written, None: it is gone,
    or may be another one (compaction). next_ms is when the batch after it was written, None: there is none.
    retention_ms and retention_bytes are the topic's, negative if they delete nothing.
    """

    connector: str
    position: int
    committed_ms: int
    bounds: PartitionOffsets
    written_ms: int | Skipped | None
    next_ms: int | Skipped | None
    retention_ms: int | Skipped
    retention_bytes: int | Skipped

    @property
    def unread(self) -> int:
        """Offsets of the source behind the position: records, and markers of transactions."""
        return max(0, self.bounds.high_watermark - max(self.position + 1, self.bounds.log_start_offset))

    @property
    def kept(self) -> int:
        return self.bounds.high_watermark - self.bounds.log_start_offset
