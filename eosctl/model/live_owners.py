"""Who may write under a transactional ID now: tasks that members of Connect groups have, and their leaders.

1. `<group.id>-<connector>-<task>` can be read in as many ways as there are dashes before its number: every beginning up
   to one of them may be a group. So the groups that may own an ID follow from the ID (`possible_groups`), and nobody
   has to see all groups of a cluster.
2. A task that a member has keeps its producer while it is RUNNING and while it is PAUSED. One that is FAILED has closed
   it, and a STOPPED connector has no tasks. Only REST reports states: without it every task of a member counts.
3. A group whose members or tasks are not known may own each of its possible IDs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from eosctl.model.connect_groups import ConnectGroup, GroupMember, Groups
from eosctl.model.counts import some
from eosctl.model.groups import CONNECT_PROTOCOL
from eosctl.model.names import LEADER_PREFIX, ConnectorTaskId, leader_transactional_id, stem_and_task
from eosctl.model.skipped import Skipped
from eosctl.model.workers import ConnectorStatus, TaskStatus

AT_WORK: Final = frozenset({"RUNNING", "PAUSED", "RESTARTING"})
"""States of a task in which it has a producer."""
NO_MEMBERS: Final = ConnectGroup("Dead", "", "", ())
"""A group that does not exist."""

Stem = tuple[str, int]
"""`<group.id>-<connector>` and the task's number."""


@dataclass(frozen=True, slots=True)
class LiveOwner:
    """A task of a Connect group (None: its leader) and the member that has it; state is "" where REST was not asked."""

    group_id: str
    task: ConnectorTaskId | None
    member: str
    state: str = ""

    def __str__(self) -> str:
        if self.task is None:
            return f"the leader of Connect cluster {self.group_id} at {self.member}"
        state = f" ({self.state})" if self.state else ""
        task = f"task {self.task.task} of connector {self.task.connector}{state}"
        return f"{task} in Connect cluster {self.group_id} at {self.member}"


@dataclass(frozen=True, slots=True)
class LiveOwners:
    """The live owners of transactional IDs; unknown says of which groups it is not known what they own, and why."""

    tasks: Mapping[Stem, tuple[LiveOwner, ...]] = field(default_factory=dict)
    leaders: Mapping[str, LiveOwner] = field(default_factory=dict)
    unknown: Mapping[str, Skipped] = field(default_factory=dict)

    @classmethod
    def of(
        cls, groups: Groups, own_group: str | None = None, connectors: Mapping[str, ConnectorStatus] | None = None
    ) -> Self:
        """From groups that were described; connectors are those of own_group by REST, None where it was not asked.

        The own group's tasks are known by REST where the group is not.
        """
        known = connectors or {}
        found: dict[Stem, list[LiveOwner]] = {}
        for owner in (*_assigned(groups, known), *_at_work(own_group, known)):
            assert owner.task is not None
            others = found.setdefault((f"{owner.group_id}-{owner.task.connector}", owner.task.task), [])
            if all(each.group_id != owner.group_id for each in others):
                others.append(owner)
        unknown = {each: why for each, group in groups.items() if (why := _why_unknown(each, group)) is not None}
        if connectors is not None and own_group is not None:
            unknown.pop(own_group, None)
        return cls({stem: tuple(owners) for stem, owners in found.items()}, dict(_leaders(groups)), unknown)

    def of_id(self, transactional_id: str) -> tuple[LiveOwner, ...]:
        """The tasks that have this ID now, and the leader that has it."""
        stem = stem_and_task(transactional_id)
        leader = self.leaders.get(transactional_id)
        return (() if stem is None else self.tasks.get(stem, ())) + (() if leader is None else (leader,))

    def unknown_of(self, transactional_id: str) -> tuple[str, ...]:
        """The groups that may own this ID and of which that is not known."""
        if not self.unknown:
            return ()
        return tuple(sorted(possible_groups([transactional_id]) & self.unknown.keys()))

    def why_in_use(self, transactional_ids: Iterable[str], besides: str | None) -> str | None:
        """Who else has one of these IDs, or may have; None: nobody. The tasks of group `besides` are left out."""
        reasons = []
        for each in transactional_ids:
            owners = [owner for owner in self.of_id(each) if owner.group_id != besides]
            reasons += [f"transactional ID {each} is also that of {owner}" for owner in owners]
            reasons += [
                f"whether a task of Connect group {group_id} has transactional ID {each} is unknown: {why.reason}"
                for group_id in self.unknown_of(each)
                if group_id != besides and (why := self.unknown[group_id])
            ]
        return some(reasons, "; ") if reasons else None

    @property
    def connectors(self) -> dict[str, set[str]]:
        """The connectors with live tasks by group; groups with members and none are there, too."""
        found: dict[str, set[str]] = {leader.group_id: set() for leader in self.leaders.values()}
        for owner in (each for owners in self.tasks.values() for each in owners):
            if owner.task is not None:
                found.setdefault(owner.group_id, set()).add(owner.task.connector)
        return found


def possible_groups(transactional_ids: Iterable[str]) -> frozenset[str]:
    """The Connect groups of which each ID may be a task's, or the leader's."""
    ids = list(transactional_ids)
    stems = {stem[0] for each in ids if (stem := stem_and_task(each)) is not None}
    leaders = {each.removeprefix(LEADER_PREFIX) for each in ids if each.startswith(LEADER_PREFIX)}
    beginnings = {
        stem[:place] for stem in stems for place, sign in enumerate(stem) if sign == "-" and 0 < place < len(stem) - 1
    }
    return frozenset((beginnings | leaders) - {""})


def _assigned(groups: Groups, connectors: Mapping[str, ConnectorStatus]) -> Iterator[LiveOwner]:
    """The tasks that members have, but for those of which REST reports at that member that they have no producer."""
    for group_id, group in groups.items():
        members = () if isinstance(group, Skipped) or group.protocol_type != CONNECT_PROTOCOL else group.members
        for member, task in ((each, task) for each in members for task in each.tasks or ()):
            connector = connectors.get(task.connector)
            status = next((each for each in _tasks(connector) if each.task == task.task and _is_at(member, each)), None)
            if status is None or (status.state in AT_WORK and _may_be_source(connector)):
                yield LiveOwner(group_id, task, member.url or member.member_id, "" if status is None else status.state)


def _at_work(group_id: str | None, connectors: Mapping[str, ConnectorStatus]) -> Iterator[LiveOwner]:
    """The tasks of the group that have a producer by REST."""
    for name, connector in connectors.items() if group_id is not None else ():
        for status in _tasks(connector) if _may_be_source(connector) else ():
            if status.state in AT_WORK:
                yield LiveOwner(group_id or "", ConnectorTaskId(name, status.task), status.worker_id, status.state)


def _tasks(connector: ConnectorStatus | None) -> tuple[TaskStatus, ...]:
    return () if connector is None else connector.tasks


def _may_be_source(connector: ConnectorStatus | None) -> bool:
    """Sinks have no transactional producers."""
    return connector is None or connector.type != "sink"


def _is_at(member: GroupMember, status: TaskStatus) -> bool:
    """Whether REST speaks of the task at this member: another Connect cluster may have one of the same name."""
    if member.url is None:
        return False
    _, _, address = member.url.partition("//")
    return status.worker_id.startswith(address.partition("/")[0])


def _leaders(groups: Groups) -> Iterator[tuple[str, LiveOwner]]:
    for group_id, group in groups.items():
        if not isinstance(group, Skipped) and group.protocol_type == CONNECT_PROTOCOL and group.members:
            yield leader_transactional_id(group_id), LiveOwner(group_id, None, group.leader_url or "one of its members")


def _why_unknown(group_id: str, group: ConnectGroup | Skipped) -> Skipped | None:
    if isinstance(group, Skipped):
        return group
    if group.protocol_type != CONNECT_PROTOCOL or all(each.tasks is not None for each in group.members):
        return None
    return Skipped(f"the tasks of Connect group {group_id} are not known while it is {group.state}")
