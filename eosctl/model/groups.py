"""Consumer groups, and Connect clusters as the groups that their workers form."""

from dataclasses import dataclass
from typing import Final

CONNECT_PROTOCOL: Final = "connect"
"""The protocol type under which Connect workers form their group."""

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
