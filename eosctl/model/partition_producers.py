"""Producers, offsets and waiting groups of all partitions at one time, as a snapshot keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import PendingCommit, WaitingGroup
from eosctl.model.id_access import TransactionalIdAccess
from eosctl.model.names import TopicPartition
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets

NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class PartitionProducers:
    """One partition: its leader, and what the leader reported.

    leader is NO_LEADER and offsets None where there was none that answered. since_ms is the timestamp of the first
    batch at or after the last stable offset, None where nothing is held back. waiting are the groups that may wait
    there, commits the offset commits of its open transactions by producer ID.
    """

    topic_partition: TopicPartition
    leader: int
    offsets: PartitionOffsets | None
    producers: tuple[ActiveProducer, ...] = ()
    since_ms: int | None = None
    waiting: tuple[WaitingGroup, ...] | Skipped = ()
    commits: Mapping[int, tuple[PendingCommit, ...]] | Skipped = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProducersFacts:
    """All partitions that could be seen, whether all transactional IDs could, and the cluster's groups.

    Producers were asked before the coordinators and again afterwards: an open transaction that was gone by then is not
    among them.
    """

    partitions: Mapping[TopicPartition, PartitionProducers]
    access: TransactionalIdAccess | Skipped
    groups: Mapping[str, ListedGroup] | Skipped
