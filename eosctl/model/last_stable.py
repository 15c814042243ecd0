"""Where read_committed readers of a partition stand, and what keeps them there."""

from dataclasses import dataclass

from eosctl.model.hanging import OpenTransaction
from eosctl.model.topics import PartitionOffsets


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
