"""Consumer groups, share groups, and Connect clusters as the groups that their workers form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped

CONNECT_PROTOCOL: Final = "connect"
"""The protocol type under which Connect workers form their group."""

SHARE_PROTOCOL: Final = "share"
"""The protocol type of share groups (KIP-932)."""
SHARE_ISOLATION: Final = "share.isolation.level"
"""The group setting by which a share group reads: read_committed, or read_uncommitted (the default)."""

CONSUMER_OFFSETS: Final = "__consumer_offsets"
"""The topic in which coordinators keep groups and the offsets that they committed."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group as its coordinator lists it; state is such as Stable or Empty, "" where the broker does not report it."""

    group_id: str
    protocol_type: str
    state: str

    @property
    def is_connect(self) -> bool:
        """Whether it is a Connect cluster's workers."""
        return self.protocol_type == CONNECT_PROTOCOL

    @property
    def is_share(self) -> bool:
        """Whether it is a share group."""
        return self.protocol_type == SHARE_PROTOCOL


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A share group: its share.isolation.level, and the start offset of each of its partitions (-1: none yet).

    Records before the start offset were acknowledged or given up (KIP-932).
    """

    isolation: str | Skipped
    starts: Mapping[TopicPartition, int] | Skipped

    @property
    def reads_uncommitted(self) -> bool:
        """Whether it is known to read records of open and aborted transactions; it then waits for no transaction."""
        return self.isolation == "read_uncommitted"


ShareGroups = Mapping[str, ShareGroup]
"""Share groups by ID."""
