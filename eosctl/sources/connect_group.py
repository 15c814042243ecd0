"""The group that Connect workers form, as its coordinator describes it."""

from collections.abc import Iterable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from eosctl.clients.codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from eosctl.clients.errors import protocol_error
from eosctl.clients.group_messages import find_group_coordinators
from eosctl.clients.messages import Request, Response
from eosctl.codecs.connect_protocol import decode_leader_url, decode_member_url
from eosctl.errors import TimedOut, Undecodable
from eosctl.model.evidence import ConnectGroup, GroupMember

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire

GROUP_ID_NOT_FOUND: Final = 69
RETRIABLE: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
PAUSE_S: Final = 0.1


def describe_groups(group_ids: Iterable[str]) -> Request:
    """DescribeGroups to the groups' coordinator: groups[] of {error_code, group_state, protocol_type, protocol_data,
    members[] of {member_id, member_metadata, member_assignment}}. Needs Describe on each.
    """
    from kafka.protocol.admin import DescribeGroupsRequest

    return Request(DescribeGroupsRequest, {"groups": list(group_ids)})


def read_connect_group(wire: "Wire", group_id: str) -> ConnectGroup:
    """The group with its members, without any where no such group exists. Raises NotAuthorized without Describe."""
    deadline = monotonic() + wire.timeout_s
    while True:
        code, response = _attempt(wire, group_id)
        if response is not None:
            return _group(response)
        if code not in RETRIABLE:
            resource = f"Group {group_id}"
            raise protocol_error(code, principal=wire.principal, operation="Describe", resource=resource)
        if monotonic() + PAUSE_S > deadline:
            raise TimedOut(f"no coordinator of group {group_id} answers within {wire.timeout_s:g} s")
        sleep(PAUSE_S)


def _attempt(wire: "Wire", group_id: str) -> tuple[int, Response | None]:
    [coordinator] = wire.request_any(find_group_coordinators([group_id])).coordinators
    if coordinator.error_code:
        return coordinator.error_code, None
    [group] = wire.request(coordinator.node_id, describe_groups([group_id])).groups
    return group.error_code, None if group.error_code not in {0, GROUP_ID_NOT_FOUND} else group


def _group(response: Response) -> ConnectGroup:
    members = tuple(GroupMember(each.member_id, _url(bytes(each.member_metadata or b""))) for each in response.members)
    leaders = (_leader(bytes(each.member_assignment or b"")) for each in response.members)
    return ConnectGroup(
        state=response.group_state,
        protocol_type=response.protocol_type,
        protocol=response.protocol_data,
        members=members,
        leader_url=next((url for url in leaders if url), None),
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
