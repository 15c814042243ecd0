"""Groups and the offsets they committed, from all coordinators at once."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.clients import codes
from eosctl.clients.errors import protocol_error
from eosctl.clients.group_messages import cluster_operations, find_group_coordinators, list_groups, offset_fetch
from eosctl.clients.messages import Response, topics_metadata
from eosctl.clients.pieces import in_pieces
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, TimedOut
from eosctl.model import hanging
from eosctl.model.acls import OPERATION_CODES, Operation
from eosctl.model.counts import some
from eosctl.model.groups import CONSUMER_OFFSETS, ListedGroup, ShareGroups
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets

GROUPS_PER_REQUEST: Final = 500
PAUSE_S: Final = 0.2
RETRIABLE: Final = frozenset(
    {codes.COORDINATOR_LOAD_IN_PROGRESS, codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR}
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
    return found


def without_coordinator(wire: Wire) -> Skipped | None:
    """Why brokers may leave groups out of `listed_groups` whoever asks; None where every group has a coordinator.

    A coordinator lists the groups of those partitions of `__consumer_offsets` that it leads (GroupCoordinator's
    `listGroups`), so one without a leader takes its groups out of every list.
    """
    [topic] = wire.request_any(topics_metadata([CONSUMER_OFFSETS])).topics
    if topic.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    if topic.error_code:
        error = protocol_error(
            topic.error_code, principal=wire.principal, operation="Describe", resource=f"Topic {CONSUMER_OFFSETS}"
        )
        return Skipped.of(error)
    gone = sorted(each.partition_index for each in topic.partitions if each.leader_id < 0)
    if not gone:
        return None
    places = some([f"{CONSUMER_OFFSETS}-{each}" for each in gone], most=1)
    return Skipped(f"groups of {places} have no coordinator: no broker leads the partition", Cause.UNREACHABLE)


def may_list_all(wire: Wire) -> bool:
    """Whether brokers leave no group out for lack of a right: so it is for Describe on the cluster (KIP-700)."""
    return OPERATION_CODES[Operation.DESCRIBE] in (wire.request_any(cluster_operations()).authorized_operations or ())


class _Lookup(NamedTuple):
    group_ids: tuple[str, ...]


class _Fetch(NamedTuple):
    group_id: str


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
    states: Mapping[str, str],
    offsets: Mapping[TopicPartition, PartitionOffsets],
) -> "Mapping[TopicPartition, tuple[hanging.WaitingGroup, ...]]":
    """Those of the groups that may wait at the last stable offset of each partition, by their committed offsets.

    Those of a share group are its start offsets; one that reads uncommitted does not wait. states are those of the
    groups, by ID.
    """
    begun = {group_id: each.starts for group_id, each in shares.items() if not each.reads_uncommitted}
    given = {**committed, **begun}
    known = {group_id: each for group_id, each in given.items() if not isinstance(each, Skipped)}
    return {
        place: hanging.waiting_groups(
            bounds, {group_id: each[place] for group_id, each in known.items() if place in each}, states
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
                self._receive_offsets(answer.item.group_id, answer.response)
        return self._found

    def _look_up(self, group_ids: Sequence[str], delay_s: float) -> None:
        node_id = self._wire.brokers()[0].node_id
        for chunk in in_pieces(group_ids, GROUPS_PER_REQUEST):
            self._window.put(_Lookup(chunk), node_id, find_group_coordinators(chunk), delay_s=delay_s)

    def _receive_coordinators(self, response: Response) -> None:
        again = []
        for coordinator in response.coordinators:
            if coordinator.error_code == 0:
                request = offset_fetch(coordinator.key, self._partitions)
                self._window.put(_Fetch(coordinator.key), coordinator.node_id, request)
            elif coordinator.error_code in RETRIABLE:
                again.append(coordinator.key)
            else:
                self._refuse(coordinator.key, coordinator.error_code)
        if again:
            self._look_up(again, PAUSE_S)

    def _receive_offsets(self, group_id: str, response: Response) -> None:
        parts = [(topic.name, part) for topic in response.topics for part in topic.partitions]
        refused = next((part.error_code for _, part in parts if part.error_code), 0)
        if response.error_code in RETRIABLE:
            self._look_up([group_id], PAUSE_S)
        elif response.error_code:
            self._refuse(group_id, response.error_code)
        elif refused:
            self._refuse(group_id, refused)
        else:
            self._found[group_id] = {
                TopicPartition(topic, part.partition_index): part.committed_offset
                for topic, part in parts
                if part.committed_offset >= 0
            }

    def _receive_nothing(self, item: _Lookup | _Fetch, error: EosctlError | None) -> None:
        group_ids = item.group_ids if isinstance(item, _Lookup) else (item.group_id,)
        if error is not None and error.retriable and not isinstance(error, TimedOut):
            self._look_up(group_ids, PAUSE_S)
            return
        for group_id in group_ids:
            self._found[group_id] = Skipped("no answer" if error is None else error.message)

    def _refuse(self, group_id: str, code: int) -> None:
        resource = f"Group {group_id}"
        error = protocol_error(code, principal=self._wire.principal, operation="Describe", resource=resource)
        self._found[group_id] = Skipped.of(error)
