"""Where read_committed consumers of a partition stand, and what keeps them there."""

from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.errors import EosctlError
from eosctl.model.hanging import OpenTransaction
from eosctl.model.names import TopicPartition
from eosctl.model.producers import no_leader_answers
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import Ownership


@dataclass(frozen=True, slots=True)
class PartitionStability:
    """One partition's offsets, and the open transactions between last stable offset and high watermark.

    holders are those that begin at the last stable offset, or the earliest where none begins exactly there (a log may
    be compacted); since_ms is the timestamp of the first batch at or after the last stable offset, None where nothing
    is held back.
    """

    offsets: PartitionOffsets
    holders: tuple[OpenTransaction, ...]
    since_ms: int | None


@dataclass(frozen=True, slots=True)
class GroupReading:
    """A consumer group by the offsets that it committed, of a share group its start offsets.

    pending are the partitions whose offsets of the group an open transaction commits: members that read committed do
    not begin there (KIP-447).
    """

    group_id: str
    state: str
    committed: Mapping[TopicPartition, int] | Skipped
    pending: tuple[TopicPartition, ...] | Skipped = ()

    def at(self, place: TopicPartition) -> int | None:
        """Its committed offset; None where it has none, or it was not read."""
        return None if isinstance(self.committed, Skipped) else self.committed.get(place)

    def is_held_back(self, offsets: PartitionOffsets) -> bool:
        """Whether it may be kept from records there; a group that committed beyond the last stable offset is not."""
        committed = self.at(offsets.topic_partition)
        return offsets.held_back > 0 and committed is not None and committed <= offsets.last_stable_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class LastStableOffsets(Answer):
    """Partitions with what holds their last stable offsets back; as_of is in ms since the epoch.

    free counts the partitions that nothing is held back in, not_searched are those that no leader answers for; owners
    are those of transactional IDs; group is the one that was asked about.
    """

    as_of: int
    cluster_id: str | None
    partitions: tuple[PartitionStability, ...]
    free: int
    owners: Mapping[str, Ownership]
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]
    group: GroupReading | None = None

    @property
    def failure(self) -> EosctlError | None:
        """Unreachable where partitions are left out because no leader answers."""
        return no_leader_answers(self.not_searched)
