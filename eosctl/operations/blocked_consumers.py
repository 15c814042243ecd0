"""Who waits behind open transactions: consumer groups by their committed offsets, and parts of Connect."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from eosctl.analysis.connect_waits import ConnectTopics, waiting_parts
from eosctl.analysis.last_stable import held_back
from eosctl.errors import EosctlError
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import HeldBack, OpenTransaction, PendingCommit, WaitingGroup, waiting_groups
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.operations.owners import ConnectNames
from eosctl.operations.session import Session

if TYPE_CHECKING:
    from eosctl.model.topics import PartitionOffsets

Waiting = Mapping[TopicPartition, tuple[WaitingGroup, ...]]


def read_held_back(
    session: Session, transactions: Collection[OpenTransaction], connect: ConnectNames, topics: ConnectTopics | None
) -> tuple[HeldBack, ...]:
    """What each open transaction keeps from readers, in their order; what cannot be read is Skipped."""
    partitions = sorted({each.topic_partition for each in transactions})
    offsets = _offsets(session, partitions)
    waiting = offsets if isinstance(offsets, Skipped) else read_waiting(session, offsets, connect.groups)
    commits = _commits(session, transactions)
    found = []
    for each in transactions:
        partition = each.topic_partition
        groups = waiting if isinstance(waiting, Skipped) else waiting[partition]
        names = () if isinstance(groups, Skipped) else [group.group_id for group in groups]
        here = offsets if isinstance(offsets, Skipped) else offsets[partition]
        parts = waiting_parts(partition.topic, names, topics)
        found.append(held_back(each, here, groups, parts, commits.get(each.place, ())))
    return tuple(found)


def _commits(
    session: Session, transactions: Collection[OpenTransaction]
) -> Mapping[tuple[TopicPartition, int, int], tuple[PendingCommit, ...] | Skipped]:
    from eosctl.sources.pending_commits import pending_commits

    try:
        return pending_commits(session.wire, transactions)
    except EosctlError as error:
        return {each.place: Skipped.of(error) for each in transactions}


def connect_topics(
    session: Session, connect: ConnectNames, config_topic: str, offsets_topic: str
) -> ConnectTopics | None:
    """The internal topics of the Connect cluster that --group-id names; None where none was named."""
    if session.options.group_id is None:
        return None
    connectors = {} if isinstance(connect.connectors, Skipped) else connect.connectors
    return ConnectTopics(session.options.group_id, config_topic, offsets_topic, connectors)


def _offsets(
    session: Session, partitions: Collection[TopicPartition]
) -> "Mapping[TopicPartition, PartitionOffsets] | Skipped":
    from eosctl.sources.kafka_offsets import partition_offsets

    try:
        return partition_offsets(session.wire, partitions) if partitions else {}
    except EosctlError as error:
        return Skipped.of(error)


def read_waiting(
    session: Session,
    offsets: "Mapping[TopicPartition, PartitionOffsets]",
    groups: Mapping[str, ListedGroup] | Skipped,
) -> Waiting | Skipped:
    """Groups that may wait in each of the partitions, by their committed offsets."""
    from eosctl.sources.kafka_groups import committed_offsets

    if isinstance(groups, Skipped):
        return groups
    consumers = {each.group_id: each.state for each in groups.values() if not each.is_connect}
    try:
        committed = committed_offsets(session.wire, consumers, offsets)
    except EosctlError as error:
        return Skipped.of(error)
    return {
        partition: waiting_groups(bounds, _committed_in(partition, committed), consumers)
        for partition, bounds in offsets.items()
    }


def _committed_in(
    partition: TopicPartition, committed: Mapping[str, Mapping[TopicPartition, int] | Skipped]
) -> dict[str, int]:
    return {
        group_id: told[partition]
        for group_id, told in committed.items()
        if not isinstance(told, Skipped) and partition in told
    }
