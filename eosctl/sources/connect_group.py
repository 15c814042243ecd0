"""The groups that Connect workers form, as their coordinators describe them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from eosctl.clients.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import protocol_error
from eosctl.clients.group_messages import describe_groups, find_group_coordinators
from eosctl.clients.messages import Response, topics_metadata
from eosctl.clients.pieces import in_pieces
from eosctl.codecs.connect_protocol import decode_leader_url, decode_member_url, decode_tasks
from eosctl.errors import EosctlError, Undecodable
from eosctl.model.connect_groups import ConnectGroup, GroupMember
from eosctl.model.groups import CONNECT_PROTOCOL, CONSUMER_OFFSETS
from eosctl.model.live_owners import NO_MEMBERS
from eosctl.model.skipped import Cause, Skipped
from eosctl.sources.kafka_groups import listed_groups, may_list_all, without_coordinator

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire
    from eosctl.model.names import ConnectorTaskId

GROUP_ID_NOT_FOUND: Final = 69
RETRIABLE: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
STABLE: Final = "Stable"
PAUSE_S: Final = 0.1
SETTLED_S: Final = 10.0
"""How long a group that rebalances is waited for."""
GROUPS_PER_REQUEST: Final = 500


def read_connect_group(wire: Wire, group_id: str) -> ConnectGroup:
    """The group with its members, without any where no such group exists. Raises NotAuthorized without Describe."""
    deadline = Deadline(wire.timeout_s)
    while True:
        answer = _described(wire, [group_id])[group_id]
        if isinstance(answer, ConnectGroup):
            return answer
        if answer not in RETRIABLE:
            raise _refusal(wire, group_id, answer)
        deadline.pause_or_raise(PAUSE_S, f"no coordinator of group {group_id} answers")


def read_connect_groups(wire: Wire, group_ids: Iterable[str]) -> dict[str, ConnectGroup | Skipped]:
    """Each of these groups, without members where it does not exist; Skipped where that cannot be known.

    Groups that rebalance are waited for, because only stable ones show the tasks of their members. One that may not be
    described does not exist where the principal may list all groups (Describe on the cluster), each group has a
    coordinator, and it is not among them.
    """
    waiting = sorted(set(group_ids))
    if not waiting or not _has_groups(wire):
        return dict.fromkeys(waiting, NO_MEMBERS)
    deadline = Deadline(min(wire.timeout_s, SETTLED_S))
    found: dict[str, ConnectGroup | int] = {}
    while True:
        try:
            found |= _described(wire, waiting)
            why = _no_coordinator(wire)
        except EosctlError as error:
            why = Skipped.of(error)
            if not error.retriable:
                return {**dict.fromkeys(waiting, why), **dict(_known(wire, found))}
        waiting = [each for each in waiting if not _is_settled(found.get(each, NOT_COORDINATOR))]
        if not waiting or not deadline.pause(PAUSE_S):
            return {**dict.fromkeys(waiting, why), **dict(_known(wire, found))}


def _has_groups(wire: Wire) -> bool:
    """Whether any group was ever used: a look-up of a coordinator would create `__consumer_offsets`."""
    [topic] = wire.request_any(topics_metadata([CONSUMER_OFFSETS])).topics
    return bool(topic.error_code != UNKNOWN_TOPIC_OR_PARTITION)


def _is_settled(answer: ConnectGroup | int) -> bool:
    if isinstance(answer, int):
        return answer not in RETRIABLE
    return answer.protocol_type != CONNECT_PROTOCOL or not answer.members or answer.state == STABLE


def _known(wire: Wire, found: Mapping[str, ConnectGroup | int]) -> Iterator[tuple[str, ConnectGroup | Skipped]]:
    """The groups that were described, and those that their coordinator refused to describe."""
    refused = {each: code for each, code in found.items() if isinstance(code, int) and code not in RETRIABLE}
    listed = _all_groups(wire) if refused else None
    for group_id, answer in found.items():
        if isinstance(answer, ConnectGroup):
            yield group_id, answer
        elif group_id in refused:
            absent = listed is not None and group_id not in listed
            yield group_id, NO_MEMBERS if absent else Skipped.of(_refusal(wire, group_id, answer))


def _all_groups(wire: Wire) -> Collection[str] | None:
    """The Connect groups that there are; None where some may not be listed."""
    try:
        if not may_list_all(wire) or without_coordinator(wire):
            return None
        return [each.group_id for each in listed_groups(wire).values() if each.is_connect]
    except EosctlError:
        return None


def _described(wire: Wire, group_ids: Collection[str]) -> dict[str, ConnectGroup | int]:
    """Each group as its coordinator describes it, or the error code that it answers."""
    found: dict[str, ConnectGroup | int] = {}
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
                found[group.group_id] = group.error_code if failed else _group(group)
    return found


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
        return decode_member_url(metadata)
    except Undecodable:  # a member that is no Connect worker, as the protocol type says
        return None


def _leader(assignment: bytes) -> str | None:
    try:
        return decode_leader_url(assignment)
    except Undecodable:
        return None


def _tasks(metadata: bytes, assignment: bytes) -> tuple[ConnectorTaskId, ...] | None:
    try:
        return decode_tasks(metadata, assignment)
    except Undecodable:
        return None
