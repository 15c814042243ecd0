"""Consumer groups, share groups, and Connect clusters as the groups that their workers form."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.names import ConnectorTaskId, TopicPartition, did_you_mean
from eosctl.model.skipped import Skipped

CONNECT_PROTOCOL: Final = "connect"
"""The protocol type under which Connect workers form their group."""

CONSUMER_PROTOCOL: Final = "consumer"
STREAMS_PROTOCOL: Final = "streams"
"""The protocol type of streams groups (KIP-1071)."""
SHARE_PROTOCOL: Final = "share"
"""The protocol type of share groups (KIP-932)."""
SHARE_ISOLATION: Final = "share.isolation.level"
"""The group setting by which a share group reads: read_committed, or read_uncommitted (the default)."""

CONSUMER_OFFSETS: Final = "__consumer_offsets"
"""The topic in which coordinators keep groups and the offsets that they committed."""


class ListedGroup(Struct, frozen=True):
    """A group as its coordinator lists it; state is such as Stable or Empty, "" where the broker does not report it.

    protocol_type is consumer, connect, share (KIP-932) or streams (KIP-1071), "" for offsets without members.
    """

    group_id: str
    protocol_type: str
    state: str

    @property
    def is_connect(self) -> bool:
        return self.protocol_type == CONNECT_PROTOCOL

    @property
    def is_share(self) -> bool:
        return self.protocol_type == SHARE_PROTOCOL

    def __str__(self) -> str:
        """Such as `streams group pay`: consumers are the ordinary kind, and not named."""
        kind = f"{self.protocol_type} " if self.protocol_type not in {"", CONSUMER_PROTOCOL} else ""
        return f"{kind}group {self.group_id}"


class ShareGroup(Struct, frozen=True):
    """A share group: its share.isolation.level, and the start offset of each of its partitions (-1: none yet).

    Records before the start offset were acknowledged or given up (KIP-932).
    """

    isolation: str | Skipped
    starts: Mapping[TopicPartition, int] | Skipped

    @property
    def reads_uncommitted(self) -> bool:
        """True if the group is known to read records of open and aborted transactions; then it waits for no
        transaction."""
        return self.isolation == "read_uncommitted"


ShareGroups = Mapping[str, ShareGroup]


DEAD: Final = "Dead"
"""The state that a coordinator answers for a group that does not exist."""
NO_SUCH_GROUP: Final = Skipped("no such group exists: none of its workers runs, or --group-id is wrong")


class GroupMember(Struct, frozen=True):
    """A member of the workers' group: its member ID, the REST address that it advertises, and the tasks that it has.

    url None: not advertised. tasks None: the coordinator does not show them, as while the group rebalances.
    """

    member_id: str
    url: str | None
    tasks: tuple[ConnectorTaskId, ...] | None = None


class ConnectGroup(Struct, frozen=True):
    """The group that the workers form (DescribeGroups): its state and protocol, and who is in it.

    protocol is `default` (eager), `compatible` or `sessioned`, empty while the group rebalances; leader_url is the
    REST address of the leader by the last assignment.
    """

    state: str
    protocol_type: str
    protocol: str
    members: tuple[GroupMember, ...]
    leader_url: str | None = None

    def objection(self, *, workers_answer: bool) -> str | None:
        """Why it is no group of workers, or not the group of the workers that answer (EOS020); None if it may be."""
        if self.protocol_type != CONNECT_PROTOCOL and (self.members or self.protocol_type):
            return f"the group is one of {self.protocol_type or 'unknown'} clients, not of Connect workers"
        if self.members or not workers_answer:
            return None
        return f"the group has no member (state {self.state}), though workers answer"

    @property
    def lacking(self) -> tuple[Skipped, ...]:
        return (NO_SUCH_GROUP,) if self.state == DEAD and not self.members else ()


Groups = Mapping[str, ConnectGroup | Skipped]


STREAMS_THREAD: Final = "-StreamThread-"
"""What the client.id of a Kafka Streams thread has before the thread's number."""


class ConsumerMember(Struct, frozen=True):
    """A member of a consumer group: the client.id and the host that its coordinator saw, and its partitions.

    process is the UUID of the Kafka Streams process that it belongs to, None where it is no thread of one. partitions
    None: the coordinator does not show them, as while the group rebalances.
    """

    client_id: str
    host: str
    process: str | None = None
    partitions: tuple[TopicPartition, ...] | None = None


ConsumerMembers = Mapping[str, tuple[ConsumerMember, ...] | Skipped]
"""Group ID to its members."""


class GroupGeneration(Struct, frozen=True):
    """One generation of the workers' group as its coordinator logged it in `__consumer_offsets`.

    leader is the leader's member ID, None where the group is empty.
    """

    generation: int
    leader: str | None
    group: ConnectGroup


class Checkpoint(NamedTuple):
    """A record of a checkpoints topic: a group at the source offset `upstream` would go on at `downstream`.

    topic is the target's.
    """

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int


def no_such_group(group_id: str, known: Iterable[str]) -> Skipped:
    meant = did_you_mean(group_id, known)
    return NO_SUCH_GROUP if meant is None else replace(NO_SUCH_GROUP, reason=f"{NO_SUCH_GROUP.reason}; {meant}")
