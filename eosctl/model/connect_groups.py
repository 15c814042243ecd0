"""The groups that Connect workers form, as their coordinators describe them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from eosctl.model.names import ConnectorTaskId
from eosctl.model.near_names import did_you_mean
from eosctl.model.skipped import Skipped

DEAD: Final = "Dead"
"""The state that a coordinator answers for a group that does not exist."""
NO_SUCH_GROUP: Final = Skipped("no such group exists: none of its workers runs, or --group-id is wrong")


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of the workers' group: its member ID, the REST address that it advertises, and the tasks that it has.

    url None: not advertised. tasks None: the coordinator does not show them, as while the group rebalances.
    """

    member_id: str
    url: str | None
    tasks: tuple[ConnectorTaskId, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConnectGroup:
    """The group that the workers form (DescribeGroups): its state and protocol, and who is in it.

    protocol is `default` (eager), `compatible` or `sessioned`, empty while the group rebalances; leader_url is the
    REST address of the leader by the last assignment.
    """

    state: str
    protocol_type: str
    protocol: str
    members: tuple[GroupMember, ...]
    leader_url: str | None = None

    @property
    def lacking(self) -> tuple[Skipped, ...]:
        """That the group does not exist: no worker of it runs, or its name is another one."""
        return (NO_SUCH_GROUP,) if self.state == DEAD and not self.members else ()


Groups = Mapping[str, ConnectGroup | Skipped]
"""Groups by ID, as their coordinators describe them."""


def no_such_group(group_id: str, known: Iterable[str]) -> Skipped:
    """That no such group exists, with the Connect group that may be meant; known are those that there are."""
    meant = did_you_mean(group_id, known)
    return NO_SUCH_GROUP if meant is None else replace(NO_SUCH_GROUP, reason=f"{NO_SUCH_GROUP.reason}; {meant}")
