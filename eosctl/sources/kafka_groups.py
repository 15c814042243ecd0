"""Groups and the offsets they committed, from all coordinators at once."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.clients import errors
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    UNKNOWN_TOPIC_OR_PARTITION,
    protocol_error,
)
from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.messages import (
    GROUP_RESOURCE,
    Response,
    cluster_operations,
    describe_configs,
    describe_groups,
    fetch,
    find_group_coordinators,
    in_pieces,
    list_groups,
    offset_fetch,
    topics_metadata,
)
from eosctl.clients.wire import Wire
from eosctl.codecs import groups as group_messages
from eosctl.codecs import record_batches
from eosctl.errors import EosctlError, TimedOut, Undecodable, Unsupported
from eosctl.model import acls, hanging
from eosctl.model.groups import (
    CONNECT_PROTOCOL,
    CONSUMER_OFFSETS,
    SHARE_ISOLATION,
    STREAMS_THREAD,
    ConnectGroup,
    ConsumerMember,
    ConsumerMembers,
    GroupMember,
    ListedGroup,
    ShareGroup,
    ShareGroups,
)
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.skipped import Cause, Skipped, read_or_skip
from eosctl.model.text import first_few
from eosctl.model.topics import PartitionOffsets
from eosctl.model.workers import NO_MEMBERS
from eosctl.sources import kafka_acls
from eosctl.sources.kafka_topics import settings_of

if TYPE_CHECKING:
    from eosctl.model.names import ConnectorTaskId


GROUPS_PER_REQUEST: Final = 500
FETCHED_GROUPS: Final = 100
"""Groups whose offsets are in one answer of their coordinator (KIP-709)."""
PAUSE_S: Final = 0.2
RETRIABLE: Final = frozenset(
    {errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR}
)

CommittedOffsets = Mapping[str, Mapping[TopicPartition, int] | Skipped]
"""Group ID to its committed offsets, those partitions only that it has one for; Skipped where they may not be read."""


def listed_groups(wire: Wire) -> Mapping[str, ListedGroup]:
    """Every group that the principal may Describe, by ID. Raises the error of a broker that does not answer."""
    window = wire.window()
    for broker in wire.brokers():
        window.put(broker.node_id, broker.node_id, list_groups())
    found: dict[str, ListedGroup] = {}
    for node_id, _, response, error in window:
        if error is not None:
            raise error
        assert response is not None
        if response.error_code in RETRIABLE:  # it starts, or loads its groups
            window.put(node_id, node_id, list_groups(), delay_s=PAUSE_S)
        elif response.error_code:
            raise protocol_error(
                response.error_code, principal=wire.principal, operation="ListGroups", resource=f"broker {node_id}"
            )
        else:
            for group in response.groups:
                state = getattr(group, "group_state", None) or ""
                found[group.group_id] = ListedGroup(group.group_id, group.protocol_type, state)
    wire.has_groups |= bool(found)
    return found


def without_coordinator(wire: Wire, offsets_topic: Callable[[], Response] | None = None) -> Skipped | None:
    """Why brokers may omit groups from `listed_groups` for any principal; None if every group has a coordinator.

    A coordinator lists the groups of its partitions of `__consumer_offsets` (GroupCoordinator's `listGroups`), so a
    leaderless partition removes its groups from every list. offsets_topic gives its Metadata, if that was requested.
    """
    answer = wire.request_any(topics_metadata([CONSUMER_OFFSETS])) if offsets_topic is None else offsets_topic()
    [topic] = answer.topics
    if topic.error_code == errors.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    if topic.error_code:
        error = protocol_error(
            topic.error_code, principal=wire.principal, operation="Describe", resource=f"Topic {CONSUMER_OFFSETS}"
        )
        return Skipped.of(error)
    gone = sorted(each.partition_index for each in topic.partitions if each.leader_id < 0)
    if not gone:
        return None
    places = first_few([f"{CONSUMER_OFFSETS}-{each}" for each in gone], most=1)
    return Skipped(f"groups of {places} have no coordinator: no broker leads the partition", Cause.UNREACHABLE)


def _may_list_all(cluster: Response) -> bool:
    """Whether brokers leave no group out for lack of a right: so it is for Describe on the cluster (KIP-700)."""
    return acls.OPERATION_CODES[acls.Operation.DESCRIBE] in (cluster.authorized_operations or ())


class _Lookup(Struct, frozen=True):
    group_ids: tuple[str, ...]


class _Fetch(Struct, frozen=True):
    group_ids: tuple[str, ...]


def committed_offsets(
    wire: Wire, group_ids: Collection[str], partitions: Collection[TopicPartition] | None
) -> CommittedOffsets:
    """Offsets that the groups committed for the partitions (None: all); each group from its coordinator, at once."""
    if not group_ids or (partitions is not None and not partitions):
        return {}
    reading = _Reading(wire, None if partitions is None else sorted(partitions))
    return reading.result(sorted(group_ids))


def waiting_groups_of(
    committed: CommittedOffsets,
    shares: ShareGroups,
    groups: Mapping[str, ListedGroup],
    offsets: Mapping[TopicPartition, PartitionOffsets],
) -> Mapping[TopicPartition, tuple[hanging.WaitingGroup, ...]]:
    """Groups that may wait at the last stable offset of each partition, by their committed offsets.

    For a share group, its start offsets count; one that reads uncommitted does not wait. groups are those
    that are listed.
    """
    begun = {group_id: each.starts for group_id, each in shares.items() if not each.reads_uncommitted}
    given = {**committed, **begun}
    known = {group_id: each for group_id, each in given.items() if not isinstance(each, Skipped)}
    return {
        place: hanging.waiting_groups(
            bounds, {group_id: each[place] for group_id, each in known.items() if place in each}, groups
        )
        for place, bounds in offsets.items()
    }


class _Reading:
    def __init__(self, wire: Wire, partitions: Sequence[TopicPartition] | None) -> None:
        self._wire = wire
        self._partitions = partitions
        self._window = wire.window(in_flight=50)
        self._found: dict[str, Mapping[TopicPartition, int] | Skipped] = {}

    def result(self, group_ids: Sequence[str]) -> CommittedOffsets:
        self._look_up(group_ids, 0.0)
        for answer in self._window:
            if answer.response is None:
                self._receive_nothing(answer.item, answer.error)
            elif isinstance(answer.item, _Lookup):
                self._receive_coordinators(answer.response)
            else:
                for group in answer.response.groups:
                    self._receive_offsets(group)
        return self._found

    def _look_up(self, group_ids: Sequence[str], delay_s: float) -> None:
        node_id = self._wire.brokers()[0].node_id
        for chunk in in_pieces(group_ids, GROUPS_PER_REQUEST):
            self._window.put(_Lookup(chunk), node_id, find_group_coordinators(chunk), delay_s=delay_s)

    def _receive_coordinators(self, response: Response) -> None:
        again = []
        led: dict[int, list[str]] = {}
        for coordinator in response.coordinators:
            if coordinator.error_code == 0:
                led.setdefault(coordinator.node_id, []).append(coordinator.key)
            elif coordinator.error_code in RETRIABLE:
                again.append(coordinator.key)
            else:
                self._refuse(coordinator.key, coordinator.error_code)
        for node_id, group_ids in led.items():
            for chunk in in_pieces(group_ids, FETCHED_GROUPS):
                self._window.put(_Fetch(chunk), node_id, offset_fetch(chunk, self._partitions))
        if again:
            self._look_up(again, PAUSE_S)

    def _receive_offsets(self, group: Response) -> None:
        group_id, parts = group.group_id, [(topic.name, part) for topic in group.topics for part in topic.partitions]
        refused = next((part.error_code for _, part in parts if part.error_code), 0)
        if group.error_code in RETRIABLE:
            self._look_up([group_id], PAUSE_S)
        elif group.error_code:
            self._refuse(group_id, group.error_code)
        elif refused:
            self._refuse(group_id, refused)
        else:
            self._found[group_id] = {
                TopicPartition(topic, part.partition_index): part.committed_offset
                for topic, part in parts
                if part.committed_offset >= 0
            }

    def _receive_nothing(self, item: _Lookup | _Fetch, error: EosctlError | None) -> None:
        group_ids = item.group_ids
        if error is not None and error.retriable and not isinstance(error, TimedOut):
            self._look_up(group_ids, PAUSE_S)
            return
        for group_id in group_ids:
            self._found[group_id] = Skipped("no answer" if error is None else error.message)

    def _refuse(self, group_id: str, code: int) -> None:
        resource = f"Group {group_id}"
        error = protocol_error(code, principal=self._wire.principal, operation="Describe", resource=resource)
        self._found[group_id] = Skipped.of(error)


GROUP_ID_NOT_FOUND: Final = 69
RETRIABLE_ERRORS: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
STABLE: Final = "Stable"
REBALANCE_PAUSE_S: Final = 0.1
SETTLED_S: Final = 10.0
"""How long a group that rebalances is waited for."""


def read_connect_group(wire: Wire, group_id: str) -> ConnectGroup:
    """The group with its members, without any where no such group exists. Raises NotAuthorized without Describe."""
    deadline = Deadline(wire.timeout_s)
    while True:
        answer = _describe_groups(wire, [group_id])[group_id]
        if isinstance(answer, ConnectGroup):
            return answer
        if answer not in RETRIABLE_ERRORS:
            raise _refusal(wire, group_id, answer)
        deadline.pause_or_raise(REBALANCE_PAUSE_S, f"no coordinator of group {group_id} answers")


def read_connect_groups(wire: Wire, group_ids: Iterable[str]) -> dict[str, ConnectGroup | Skipped]:
    """Each of these groups, without members if it does not exist; Skipped if that cannot be known.

    eosctl waits for rebalancing groups, because only stable ones show the tasks of their members. A group that may not
    be described does not exist if the principal may list all groups (Describe on the cluster), each group has a
    coordinator, and the list does not have it.
    """
    waiting = sorted(set(group_ids))
    if not waiting or not _has_groups(wire):
        return dict.fromkeys(waiting, NO_MEMBERS)
    deadline = Deadline(min(wire.timeout_s, SETTLED_S))
    found: dict[str, ConnectGroup | int] = {}
    while True:
        try:
            found |= _describe_groups(wire, waiting)
            why = _no_coordinator(wire)
        except EosctlError as error:
            why = Skipped.of(error)
            if not error.retriable:
                return {**dict.fromkeys(waiting, why), **dict(_readable_groups(wire, found))}
        waiting = [each for each in waiting if not _is_settled(found.get(each, NOT_COORDINATOR))]
        if not waiting or not deadline.pause(REBALANCE_PAUSE_S):
            return {**dict.fromkeys(waiting, why), **dict(_readable_groups(wire, found))}


def _has_groups(wire: Wire) -> bool:
    """Whether any group was ever used: a look-up of a coordinator would create `__consumer_offsets`."""
    if wire.has_groups:
        return True
    [topic] = wire.request_any(topics_metadata([CONSUMER_OFFSETS])).topics
    return bool(topic.error_code != UNKNOWN_TOPIC_OR_PARTITION)


def _is_settled(answer: ConnectGroup | int) -> bool:
    if isinstance(answer, int):
        return answer not in RETRIABLE_ERRORS
    return answer.protocol_type != CONNECT_PROTOCOL or not answer.members or answer.state == STABLE


def _readable_groups(
    wire: Wire, found: Mapping[str, ConnectGroup | int]
) -> Iterator[tuple[str, ConnectGroup | Skipped]]:
    refused = {each: code for each, code in found.items() if isinstance(code, int) and code not in RETRIABLE_ERRORS}
    listed = _all_groups(wire) if refused else None
    for group_id, answer in found.items():
        if isinstance(answer, ConnectGroup):
            yield group_id, answer
        elif group_id in refused:
            absent = listed is not None and group_id not in listed
            yield group_id, NO_MEMBERS if absent else Skipped.of(_refusal(wire, group_id, answer))


def _all_groups(wire: Wire) -> Collection[str] | None:
    """The existing Connect groups; None if some may not be listed."""
    try:
        if not _may_list_all(wire.request_any(cluster_operations())) or without_coordinator(wire):
            return None
        return [each.group_id for each in listed_groups(wire).values() if each.is_connect]
    except EosctlError:
        return None


def _describe_groups(wire: Wire, group_ids: Collection[str]) -> dict[str, ConnectGroup | int]:
    """Each Connect group as its coordinator describes it, or the error code that it answers."""
    answers = _group_answers(wire, group_ids).items()
    return {group_id: each if isinstance(each, int) else _group(each) for group_id, each in answers}


def _group_answers(wire: Wire, group_ids: Collection[str]) -> dict[str, Response | int]:
    """Each group in the answer of its coordinator, or the error code."""
    found: dict[str, Response | int] = {}
    by_coordinator: dict[int, list[str]] = {}
    for chunk in in_pieces(list(group_ids), GROUPS_PER_REQUEST):
        for coordinator in wire.request_any(find_group_coordinators(chunk)).coordinators:
            if coordinator.error_code:
                found[coordinator.key] = coordinator.error_code
            else:
                by_coordinator.setdefault(coordinator.node_id, []).append(coordinator.key)
    for node_id, of_node in by_coordinator.items():
        for chunk in in_pieces(of_node, GROUPS_PER_REQUEST):
            for group in wire.request(node_id, describe_groups(chunk)).groups:
                failed = group.error_code not in {0, GROUP_ID_NOT_FOUND}
                found[group.group_id] = group.error_code if failed else group
    return found


def read_consumer_members(wire: Wire, group_ids: Collection[str]) -> ConsumerMembers:
    """The members of each of these groups; Skipped where its coordinator does not answer for it now."""
    answers = _group_answers(wire, sorted(group_ids))
    found: dict[str, tuple[ConsumerMember, ...] | Skipped] = {
        group_id: Skipped.of(_refusal(wire, group_id, each))
        if isinstance(each, int)
        else tuple(_consumer(member, stable=each.group_state == STABLE) for member in each.members)
        for group_id, each in answers.items()
    }
    return {group_id: each if each else _streams_members(wire, group_id) for group_id, each in found.items()}


def _streams_members(wire: Wire, group_id: str) -> tuple[ConsumerMember, ...] | Skipped:
    """The threads of a streams group (KIP-1071), to which DescribeGroups answers as to a group that does not exist."""
    from eosctl.clients.groups import describe_streams_groups

    try:
        [coordinator] = wire.request_any(find_group_coordinators([group_id])).coordinators
        _require(wire, coordinator, group_id)
        [group] = wire.request(coordinator.node_id, describe_streams_groups([group_id])).groups
    except Unsupported:
        return ()
    except EosctlError as error:
        return Skipped.of(error)
    if group.error_code == GROUP_ID_NOT_FOUND:
        return ()
    if group.error_code:
        return Skipped.of(_refusal(wire, group_id, group.error_code))
    topology = None if group.topology is None else group.topology.subtopologies
    reads = {
        each.subtopology_id: (*each.source_topics, *(topic.name for topic in each.repartition_source_topics))
        for each in topology or ()
    }
    return tuple(
        ConsumerMember(
            member.client_id,
            member.client_host.removeprefix("/"),
            member.process_id,
            tuple(
                sorted(
                    TopicPartition(topic, partition)
                    for task in member.assignment.active_tasks
                    for topic in reads.get(task.subtopology_id, ())
                    for partition in task.partitions
                )
            ),
        )
        for member in group.members
    )


def _consumer(member: Response, *, stable: bool) -> ConsumerMember:
    sent = bytes(member.member_metadata or b"")
    assignment = bytes(member.member_assignment or b"")
    is_thread = STREAMS_THREAD in member.client_id
    try:
        return ConsumerMember(
            member.client_id,
            member.client_host.removeprefix("/"),
            group_messages.decode_streams_process(sent) if stable and is_thread else None,
            group_messages.decode_assigned_partitions(assignment) if stable else None,
        )
    except Undecodable:  # of a protocol that is not the consumers'
        return ConsumerMember(member.client_id, member.client_host.removeprefix("/"))


def _refusal(wire: Wire, group_id: str, code: int) -> EosctlError:
    return protocol_error(code, principal=wire.principal, operation="Describe", resource=f"Group {group_id}")


def _no_coordinator(wire: Wire) -> Skipped:
    patience = min(wire.timeout_s, SETTLED_S)
    return Skipped(f"no coordinator of it answers within {patience:g} s", Cause.UNREACHABLE)


def _group(response: Response) -> ConnectGroup:
    stable = response.group_state == STABLE
    sent = [
        (each, bytes(each.member_metadata or b""), bytes(each.member_assignment or b"")) for each in response.members
    ]
    return ConnectGroup(
        state=response.group_state,
        protocol_type=response.protocol_type,
        protocol=response.protocol_data,
        members=tuple(
            GroupMember(each.member_id, _url(metadata), _tasks(metadata, assignment) if stable else None)
            for each, metadata, assignment in sent
        ),
        leader_url=next((url for _, _, assignment in sent if (url := _leader(assignment))), None),
    )


def _url(metadata: bytes) -> str | None:
    try:
        return group_messages.decode_member_url(metadata)
    except Undecodable:  # a member that is no Connect worker, as the protocol type says
        return None


def _leader(assignment: bytes) -> str | None:
    try:
        return group_messages.decode_leader_url(assignment)
    except Undecodable:
        return None


def _tasks(metadata: bytes, assignment: bytes) -> tuple[ConnectorTaskId, ...] | None:
    try:
        return group_messages.decode_tasks(metadata, assignment)
    except Undecodable:
        return None


NOT_REPORTED: Final = Skipped(f"the broker does not report {SHARE_ISOLATION}")


def read_share_groups(wire: Wire, group_ids: Collection[str]) -> Mapping[str, ShareGroup]:
    """Each of these groups; facts that may not be read are Skipped."""
    return {each: ShareGroup(_isolation(wire, each), read_or_skip(partial(_starts, wire, each))) for each in group_ids}


def _isolation(wire: Wire, group_id: str) -> str | Skipped:
    settings = read_or_skip(partial(_settings, wire, group_id))
    return settings if isinstance(settings, Skipped) else settings.get(SHARE_ISOLATION, NOT_REPORTED)


def _settings(wire: Wire, group_id: str) -> Mapping[str, str] | Skipped:
    response = wire.request_any(describe_configs(GROUP_RESOURCE, group_id, [SHARE_ISOLATION]))
    return settings_of(wire, response, f"Group {group_id}")


def _starts(wire: Wire, group_id: str) -> Mapping[TopicPartition, int]:
    """The start offset of each of its partitions, -1 if there is none yet. Raises the coordinator's error."""
    from eosctl.clients.groups import describe_share_group_offsets

    [coordinator] = wire.request_any(find_group_coordinators([group_id])).coordinators
    _require(wire, coordinator, group_id)
    [group] = wire.request(coordinator.node_id, describe_share_group_offsets([group_id])).groups
    _require(wire, group, group_id)
    parts = [(topic.topic_name, part) for topic in group.topics for part in topic.partitions]
    for _, part in parts:
        _require(wire, part, group_id)
    return {TopicPartition(topic, part.partition_index): part.start_offset for topic, part in parts}


def _require(wire: Wire, answer: Response, group_id: str) -> None:
    if answer.error_code:
        resource = f"Group {group_id}"
        raise protocol_error(answer.error_code, principal=wire.principal, operation="Describe", resource=resource)


FETCH_BYTES: Final = 1 << 20

Place = tuple[TopicPartition, int, int]


def pending_commits(
    wire: Wire, transactions: Collection[hanging.OpenTransaction]
) -> dict[Place, tuple[hanging.PendingCommit, ...] | Skipped]:
    """The offsets that each of the open transactions in `__consumer_offsets` would commit, by its place.

    One Fetch for each, from its beginning: a coordinator writes all offsets of one TxnOffsetCommit in one batch.
    Records more than 1 MiB later are not seen. Needs Read on `__consumer_offsets`.
    """
    wanted = [each for each in transactions if each.topic_partition.topic == CONSUMER_OFFSETS]
    if not wanted:
        return {}
    leaders = partition_leaders(wire, [CONSUMER_OFFSETS])
    window = wire.window(in_flight=20)
    for each in wanted:
        partition = each.topic_partition
        request = fetch(partition, each.start_offset, FETCH_BYTES, IsolationLevel.READ_UNCOMMITTED)
        window.put(each, leaders.get(partition, NO_LEADER), request)
    found: dict[Place, tuple[hanging.PendingCommit, ...] | Skipped] = {}
    for transaction, _, response, error in window:
        part = None if response is None else response.responses[0].partitions[0]
        if part is None or part.error_code:
            why = "no answer" if part is None else f"Fetch answered with error {part.error_code}"
            found[transaction.place] = Skipped(why if error is None else error.message)
        else:
            found[transaction.place] = _by_group(_partitions(transaction, part.records or b""))
    return found


def _partitions(transaction: hanging.OpenTransaction, records: bytes) -> Iterator[tuple[str, TopicPartition]]:
    place = transaction.topic_partition
    for batch in record_batches.iter_batches(records, topic_partition=place):
        ours = batch.header.producer_id == transaction.producer.producer_id
        if not ours or batch.header.is_control or not batch.header.is_transactional:
            continue
        for record in record_batches.decode_records(batch, state=RecordState.OPEN, topic_partition=place):
            key = group_messages.decode_offset_commit_key(record.key or b"")
            if key is not None:
                yield key


def _by_group(commits: Iterator[tuple[str, TopicPartition]]) -> tuple[hanging.PendingCommit, ...]:
    groups: dict[str, set[TopicPartition]] = {}
    for group_id, partition in commits:
        groups.setdefault(group_id, set()).add(partition)
    return tuple(hanging.PendingCommit(group_id, tuple(sorted(found))) for group_id, found in sorted(groups.items()))


# Does this principal see every topic and every group? Brokers leave those without Describe out of their lists.


OF_TOPICS: Final = string.digits + string.ascii_letters + "._-"
"""A topic's name has no other characters."""
OF_GROUPS: Final = string.digits + string.ascii_letters + string.punctuation.replace("*", "")
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
SHOWN: Final = 3


NO_TOPICS: Final = Skipped("the broker names no topic: the cluster has no topics, or the broker has not read them yet")
"""A broker that starts answers so until it has replayed the controllers' log."""


def hidden_topics(wire: Wire, listed: Collection[object] | None = None) -> Skipped | None:
    """Why topics may be missing from the metadata of all; None if none can be. listed are the topics in it."""
    hidden = read_or_skip(lambda: _hidden_topics(wire))
    return NO_TOPICS if hidden is None and listed is not None and not listed else hidden


def _hidden_topics(wire: Wire) -> Skipped | None:
    probes = kafka_acls.probes_of(wire, acls.ResourceType.TOPIC, OF_TOPICS, "topics")
    # Metadata answers UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist, and creates none.
    topics = wire.request_any(topics_metadata(probes.names)).topics
    return _hidden(wire, probes, [each.name for each in topics if each.error_code == TOPIC_AUTHORIZATION_FAILED])


def hidden_groups(wire: Wire) -> Callable[[], Skipped | None]:
    """The function that says why groups may be missing from ListGroups, or None if none can be.

    Its requests are on their way meanwhile: list the groups, then call it.
    """
    asked = read_or_skip(lambda: (wire.ahead(cluster_operations()), wire.ahead(topics_metadata([CONSUMER_OFFSETS]))))
    return lambda: asked if isinstance(asked, Skipped) else read_or_skip(lambda: _hidden_groups(wire, *asked))


def _hidden_groups(
    wire: Wire, cluster: Callable[[], Response], offsets_topic: Callable[[], Response]
) -> Skipped | None:
    if _may_list_all(cluster()):
        return without_coordinator(wire, offsets_topic)
    probes = kafka_acls.probes_of(wire, acls.ResourceType.GROUP, OF_GROUPS, "groups")
    # A broker that does not coordinate a group says so only to principals that may describe it.
    groups = wire.request_any(describe_groups(probes.names)).groups
    denied = [each.group_id for each in groups if each.error_code == GROUP_AUTHORIZATION_FAILED]
    return _hidden(wire, probes, denied) or without_coordinator(wire, offsets_topic)


def _hidden(wire: Wire, probes: kafka_acls.Probes, denied: list[str]) -> Skipped | None:
    if denied:
        names = sorted((probes.names[each] for each in denied), key=lambda name: (not name[:1].isalnum(), name))
        what = f"{wire.principal} lacks Describe on some of them, and brokers omit these"
        return Skipped(f"{what}; refused are names such as {first_few(names, most=SHOWN)}", Cause.DENIED)
    return None if probes.unknown is None else Skipped(probes.unknown, Cause.DENIED)
