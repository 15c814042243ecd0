"""Who holds a last stable offset back: the open transaction that begins first (KIP-98).

The last stable offset is the start of the first transaction that is still open, or the high watermark. A transaction's
start in a partition is the offset of its first batch there.
"""

from collections.abc import Iterable, Mapping

from eosctl.model.hanging import HeldBack, OpenTransaction, PendingCommit, WaitingGroup
from eosctl.model.last_stable import PartitionStability
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets


def holders(offsets: PartitionOffsets, transactions: Iterable[OpenTransaction]) -> tuple[OpenTransaction, ...]:
    """The open transactions of the partition that begin first; none where nothing is held back."""
    if offsets.held_back <= 0:
        return ()
    here = [each for each in transactions if each.topic_partition == offsets.topic_partition]
    exact = [each for each in here if each.start_offset == offsets.last_stable_offset]
    first = min((each.start_offset for each in here), default=None)
    return tuple(exact or [each for each in here if each.start_offset == first])


def stability(
    offsets: Mapping[TopicPartition, PartitionOffsets],
    transactions: Iterable[OpenTransaction],
    since_ms: Mapping[TopicPartition, int],
) -> tuple[PartitionStability, ...]:
    """Every partition with its holders, those that are held back longest first."""
    found = list(transactions)
    all_ = [
        PartitionStability(each, holders(each, found), since_ms.get(partition)) for partition, each in offsets.items()
    ]
    return tuple(
        sorted(all_, key=lambda each: (each.since_ms is None, each.since_ms or 0, each.offsets.topic_partition))
    )


def held_back(
    transaction: OpenTransaction,
    offsets: PartitionOffsets | Skipped,
    groups: Iterable[WaitingGroup] | Skipped,
    connect: Iterable[str],
    commits: tuple[PendingCommit, ...] | Skipped = (),
) -> HeldBack:
    """What one open transaction keeps from readers."""
    holds = not isinstance(offsets, Skipped) and offsets.last_stable_offset == transaction.start_offset
    listed = groups if isinstance(groups, Skipped) else tuple(groups)
    return HeldBack(offsets, holds, listed, tuple(connect), commits)
