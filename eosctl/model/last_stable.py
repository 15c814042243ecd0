"""Where read_committed consumers of a partition stand, and what keeps them there."""

from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.errors import EosctlError
from eosctl.model.hanging import OpenTransaction
from eosctl.model.names import TopicPartition
from eosctl.model.producers import no_leader_answers
from eosctl.model.report import Answer
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LastStableOffsets(Answer):
    """Partitions with what holds their last stable offsets back; as_of is in ms since the epoch.

    free counts the partitions that nothing is held back in, not_searched are those that no leader answers for; owners
    are those of transactional IDs.
    """

    as_of: int
    cluster_id: str | None
    partitions: tuple[PartitionStability, ...]
    free: int
    owners: Mapping[str, Ownership]
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]

    @property
    def failure(self) -> EosctlError | None:
        """Unreachable where partitions are left out because no leader answers."""
        return no_leader_answers(self.not_searched)
