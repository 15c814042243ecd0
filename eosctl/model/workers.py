"""A Connect cluster as its workers' REST interface describes it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct, field

from eosctl.errors import UsageError
from eosctl.model.groups import CONNECT_PROTOCOL, ConnectGroup, GroupMember, Groups, ListedGroup
from eosctl.model.names import LEADER_PREFIX, ConnectorTaskId, leader_transactional_id, stem_and_task
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.text import first_few
from eosctl.model.versions import KafkaVersion

SOURCE_SUPPORT: Final = "exactly.once.source.support"

UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Bytes that stand for themselves in a URL (RFC 3986, section 2.3)."""


def connector_path(connector: str) -> str:
    """`/connectors/<name>`: the connector's path in Connect's REST interface, the name as a URL has it."""
    name = connector.encode("utf-8", "surrogatepass")
    return "/connectors/" + "".join(chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in name)


class SourceSupport(StrEnum):
    """A worker's exactly.once.source.support; only `enabled` changes where offsets are kept and how they are read."""

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"


class KnownPhase(StrEnum):
    """The workers' phase, if known.

    `not enabled` is disabled or preparing: a worker's answer shows only whether it is enabled.
    """

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"
    NOT_ENABLED = "not enabled"


class WorkerFacts(Struct, frozen=True):
    url: str
    version: str
    kafka_cluster_id: str


class TaskStatus(Struct, frozen=True):
    """State (RUNNING, FAILED, PAUSED, UNASSIGNED, …) of one task and its worker.

    cause is the last cause in the trace of a FAILED task, or None. trace is the trace without its stack frames.
    """

    task: int
    state: str
    worker_id: str
    cause: str | None = None
    trace: str | None = None


class ConnectorStatus(Struct, frozen=True):
    """A connector and its tasks; type is "source", "sink" or None where the worker does not know the plugin.

    worker_id is where the connector itself runs, trace why it is FAILED, without stack frames.
    """

    name: str
    type: str | None
    state: str
    tasks: tuple[TaskStatus, ...]
    worker_id: str | None = None
    trace: str | None = None

    @property
    def running_tasks(self) -> tuple[int, ...]:
        return tuple(sorted(status.task for status in self.tasks if status.state == "RUNNING"))

    @property
    def producing_tasks(self) -> tuple[int, ...]:
        """Indexes of the tasks that may have a producer: RUNNING and PAUSED ones.

        A PAUSED task keeps its producer, unless it was started while PAUSED: then it has none before it is resumed.
        """
        return tuple(sorted(status.task for status in self.tasks if status.state in {"RUNNING", "PAUSED"}))


class WrittenStatus(Struct, frozen=True):
    """The last status of a connector and its tasks in the status topic, and when its newest record was written (ms)."""

    status: ConnectorStatus
    at_ms: int


class ConnectFacts(Struct, frozen=True):
    """The workers at the given URLs (those that did not answer are Skipped) and the connectors of their cluster."""

    workers: Mapping[str, WorkerFacts | Skipped]
    connectors: Mapping[str, ConnectorStatus]

    @property
    def types(self) -> dict[str, str]:
        return {name: status.type for name, status in self.connectors.items() if status.type is not None}

    @property
    def running_tasks(self) -> dict[str, int]:
        return {name: len(status.running_tasks) for name, status in self.connectors.items()}


def version_of(worker: WorkerFacts) -> KafkaVersion | Skipped:
    """The version that the worker names; one whose build left none behind answers `unknown` (AppInfoParser)."""
    try:
        return KafkaVersion.parse(worker.version)
    except ValueError:
        return Skipped(f"{worker.url} names no version: {worker.version!r}", Cause.UNDECODABLE)


def oldest_version(workers: Iterable[WorkerFacts | Skipped]) -> KafkaVersion | Skipped:
    """The oldest version that these workers name; Skipped where none names one."""
    versions = [each if isinstance(each, Skipped) else version_of(each) for each in workers]
    unknown = [each for each in versions if isinstance(each, Skipped)]
    known = [each for each in versions if not isinstance(each, Skipped)]
    return min(known, default=unknown[-1] if unknown else not_asked("no worker was asked for its version"))


def host_port(url: str) -> str:
    """Host and port of a REST address, as far as two spellings of it are the same."""
    scheme, separator, rest = url.rpartition("://")
    host = rest.partition("/")[0].rpartition("@")[2].lower()
    _, colon, port = host.rpartition(":")
    known = colon and port.isdecimal()
    return host if known else f"{host}:{443 if separator and scheme == 'https' else 80}"


def is_loopback(place: str) -> bool:
    """Whether `host:port` leads every host to itself."""
    host = place.rpartition(":")[0]
    return host in {"localhost", "[::1]"} or host.startswith("127.")


NAME_IT = "name it: --group-id (or set EOSCTL_GROUP_ID)"


def only_connect_group(listed: Mapping[str, ListedGroup], hidden: Skipped | None) -> str | Skipped | None:
    """The Connect group of the Kafka cluster where it has exactly one; None where it has none.

    1. Of several none is chosen: UsageError with all of them. One without members counts: its workers may be stopped.
    2. Where brokers may leave groups out (`hidden`), one that they list may not be the only one: Skipped. It is not
       asked for where the user lacks Describe, because a restricted principal may see no groups.
    """
    found = sorted((each for each in listed.values() if each.is_connect), key=lambda each: each.group_id)
    if len(found) > 1:
        names = [each.group_id + (f" ({each.state})" if each.state == "Empty" else "") for each in found]
        raise UsageError(f"the Kafka cluster has {len(found)} Connect groups: {first_few(names)}", hint=NAME_IT)
    if hidden is None:
        return found[0].group_id if found else None
    what = f"{found[0].group_id} may not be the only Connect group" if found else "there may be Connect groups"
    reason = f"{what}: {hidden.reason}; {NAME_IT}"
    return not_asked(reason) if hidden.cause is Cause.DENIED else Skipped(reason, hidden.cause)


class WorkerTrust(Struct, frozen=True):
    """The conditions for asking a worker whose address only the group names.

    wants names what workers at an address may want to see of the user ("" where nothing), and do not get. opted_in: the
    profile has `discover-workers: true`.
    """

    wants: Callable[[str], str]
    opted_in: bool = False


class FoundWorkers(Struct, frozen=True):
    """The members of a Connect group by address; unlisted is why they are not known, by the name of that question.

    facts are the answers of those that were reached. groups has the group if it was read for this and is stable.
    """

    reached: tuple[str, ...] = ()
    unread: Mapping[str, Skipped] = field(default_factory=dict)
    unlisted: Mapping[str, Skipped] = field(default_factory=dict)
    facts: "Mapping[str, WorkerFacts]" = field(default_factory=dict)
    groups: Mapping[str, ConnectGroup] = field(default_factory=dict)

    @property
    def silent(self) -> Mapping[str, Skipped]:
        return {url: each for url, each in self.unread.items() if each.cause.is_gap}


def workers_to_ask(group: ConnectGroup, named: Collection[str], trust: WorkerTrust) -> Mapping[str, Skipped | None]:
    """The members of the group that are not among the named workers: None for one to query, or the reason not to.

    The address of a member is the claim of any client that may join the group. So eosctl sends it no password or
    certificate, and if the user has one, queries it only if the user opted in. A member without an address is named by
    its member ID.
    """
    known = {host_port(url) for url in named}
    found: dict[str, Skipped | None] = {}
    for member in group.members:
        url = (member.url or "").rstrip("/")
        if not url:
            found[member.member_id] = Skipped(f"the group does not show its address while it is {group.state}")
        elif host_port(url) not in known:
            known.add(host_port(url))
            found[url] = _against(url, trust)
    return found


def _against(url: str, trust: WorkerTrust) -> Skipped | None:
    wanted = "" if trust.opted_in else trust.wants(url)
    if not wanted:
        return None
    return not_asked(f"its address is from the group, and only a named worker gets {wanted}: {name_worker(url)}")


def name_worker(url: str) -> str:
    """The way to have a discovered worker asked everything."""
    return f"give --connect-url {url}, if it is one of your workers"


# Who may write under a transactional ID now: tasks that members of Connect groups have, and their leaders.
#
# 1. `<group.id>-<connector>-<task>` can be read in as many ways as there are dashes before its number: every beginning
#    up to one of them may be a group. So the groups that may own an ID follow from the ID (`possible_groups`), and
#    no client needs to see all groups of a cluster.
# 2. A task that a member has keeps its producer while it is RUNNING and while it is PAUSED. One that is FAILED has
#    closed it, and a STOPPED connector has no tasks. Only REST reports states: without it every task of a member
#    counts.
# 3. A group whose members or tasks are not known may own each of its possible IDs.


AT_WORK: Final = frozenset({"RUNNING", "PAUSED", "RESTARTING"})
"""States of a task in which it has a producer."""
NO_MEMBERS: Final = ConnectGroup("Dead", "", "", ())
"""A group that does not exist."""

Stem = tuple[str, int]
"""`<group.id>-<connector>` and the task's number."""


class LiveOwner(Struct, frozen=True):
    """A task of a Connect group (None: its leader) and its member; state is "" if REST was not queried."""

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


class LiveOwners(Struct, frozen=True):
    """The live owners of transactional IDs; unknown gives the reasons for groups whose IDs are unknown.

    connectors are those whose tasks members have, with or without a producer, by group; a group with members but no
    tasks is included.
    """

    tasks: Mapping[Stem, tuple[LiveOwner, ...]] = field(default_factory=dict)
    leaders: Mapping[str, LiveOwner] = field(default_factory=dict)
    unknown: Mapping[str, Skipped] = field(default_factory=dict)
    connectors: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, groups: Groups, own_group: str | None = None, connectors: Mapping[str, ConnectorStatus] | None = None
    ) -> Self:
        """Builds the owners from described groups; connectors are own_group's by REST, None if it was not queried.

        REST shows the own group's tasks if the group itself is unknown.
        """
        known = connectors or {}
        found: dict[Stem, list[LiveOwner]] = {}
        assigned = dict(_assigned(groups, known))
        for owner in (*(each for each, has_producer in assigned.items() if has_producer), *_at_work(own_group, known)):
            assert owner.task is not None
            others = found.setdefault((f"{owner.group_id}-{owner.task.connector}", owner.task.task), [])
            if all(each.group_id != owner.group_id for each in others):
                others.append(owner)
        unknown = {each: why for each, group in groups.items() if (why := _why_unknown(each, group)) is not None}
        if connectors is not None and own_group is not None:
            unknown.pop(own_group, None)
        leaders = dict(_leaders(groups))
        names: dict[str, set[str]] = {leader.group_id: set() for leader in leaders.values()}
        for owner in (*assigned, *(each for owners in found.values() for each in owners)):
            names.setdefault(owner.group_id, set()).update(() if owner.task is None else (owner.task.connector,))
        tasks = {stem: tuple(owners) for stem, owners in found.items()}
        return cls(tasks, leaders, unknown, {group_id: frozenset(each) for group_id, each in names.items()})

    def of_id(self, transactional_id: str) -> tuple[LiveOwner, ...]:
        stem = stem_and_task(transactional_id)
        leader = self.leaders.get(transactional_id)
        return (() if stem is None else self.tasks.get(stem, ())) + (() if leader is None else (leader,))

    def unknown_of(self, transactional_id: str) -> tuple[str, ...]:
        if not self.unknown:
            return ()
        return tuple(sorted(possible_groups([transactional_id]) & self.unknown.keys()))

    def why_in_use(self, transactional_ids: Iterable[str], besides: str | None) -> str | None:
        """Reason the IDs may be in use outside group `besides`, or None."""
        reasons = []
        for each in transactional_ids:
            owners = [owner for owner in self.of_id(each) if owner.group_id != besides]
            reasons += [f"transactional ID {each} is also the ID of {owner}" for owner in owners]
            reasons += [
                f"whether a task of Connect group {group_id} has transactional ID {each} is unknown: {why.reason}"
                for group_id in self.unknown_of(each)
                if group_id != besides and (why := self.unknown[group_id])
            ]
        return first_few(reasons, "; ") if reasons else None


def possible_groups(transactional_ids: Iterable[str]) -> frozenset[str]:
    ids = list(transactional_ids)
    stems = {stem[0] for each in ids if (stem := stem_and_task(each)) is not None}
    leaders = {each.removeprefix(LEADER_PREFIX) for each in ids if each.startswith(LEADER_PREFIX)}
    beginnings = {
        stem[:place] for stem in stems for place, sign in enumerate(stem) if sign == "-" and 0 < place < len(stem) - 1
    }
    return frozenset((beginnings | leaders) - {""})


def _assigned(groups: Groups, connectors: Mapping[str, ConnectorStatus]) -> Iterator[tuple[LiveOwner, bool]]:
    """The tasks that members have, without those of sinks, each with False where REST reports at that member that it
    has no producer.
    """
    for group_id, group in groups.items():
        members = () if isinstance(group, Skipped) or group.protocol_type != CONNECT_PROTOCOL else group.members
        for member, task in ((each, task) for each in members for task in each.tasks or ()):
            connector = connectors.get(task.connector)
            status = next((each for each in _tasks(connector) if each.task == task.task and _is_at(member, each)), None)
            owner = LiveOwner(group_id, task, member.url or member.member_id, "" if status is None else status.state)
            if status is None or _may_be_source(connector):
                yield owner, status is None or status.state in AT_WORK


def _at_work(group_id: str | None, connectors: Mapping[str, ConnectorStatus]) -> Iterator[LiveOwner]:
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
    return member.url is not None and host_port(member.url) == status.worker_id.lower()


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
