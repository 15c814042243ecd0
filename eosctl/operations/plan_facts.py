"""Reads the facts of a plan's preconditions again, from a ClusterReader that keeps no earlier facts."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from eosctl.analysis.config_topic import connector_states
from eosctl.clients.deadline import Deadline
from eosctl.codecs.offsets_topic import entries_by_connector, offsets_now
from eosctl.errors import EosctlError, NotAuthorized, Refused, Unreachable, UsageError
from eosctl.model.config_topic import ConnectorConfigRecord
from eosctl.model.connectors import ConnectorState, Properties, TargetState
from eosctl.model.hanging import OpenTransaction
from eosctl.model.names import Side, TopicPartition
from eosctl.model.offsets import Entry, OffsetsTopic, StorePlace
from eosctl.model.preconditions import (
    AclsPresent,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorFacts,
    ConnectorStopped,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsNow,
    OffsetsUnchanged,
    OpenNow,
    PlanFacts,
    Precondition,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TopicNow,
    TransactionHangs,
    TransactionNow,
    TransactionUnchanged,
)
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped, not_asked, read_or_skip
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import ActiveProducer, AnsweredProducers, TransactionDescription, TransactionState
from eosctl.model.workers import LiveOwners
from eosctl.operations.decisions import read_decisions
from eosctl.operations.hanging import join_with_coordinators
from eosctl.sources.cluster_reader import ClusterReader, read_live_owners, read_task_states, require_sources

States = Mapping[str, ConnectorState] | Skipped
"""Every connector that a config topic mentions; Skipped where it was not read."""


class ReadSide(NamedTuple):
    """One side of a plan as it is read. config_topic None: its connectors cannot be read from Kafka."""

    reader: ClusterReader
    config_topic: str | None


Reading = Callable[[Side], ReadSide]
"""Each side, with a reader of its own at each call."""

SETTLING_S: Final = 5.0
"""The time that a rebalance has to assign a connector, or to end its tasks."""
POLL_S: Final = 0.2


def read_plan_facts(reading: Reading, preconditions: Sequence[Precondition]) -> PlanFacts:
    """Everything that these preconditions need, read now, each topic once."""
    sides = {side: reading(side) for side in dict.fromkeys(each.side for each in preconditions)}
    readers = {side: each.reader for side, each in sides.items()}
    offsets = [each for each in preconditions if isinstance(each, OffsetsUnchanged | NoOpenTransaction)]
    unused = [each for each in preconditions if isinstance(each, NoLiveOwner)]
    topics = {
        (each.side, each.topic) for each in preconditions if isinstance(each, TopicIsCompact | TopicIsCompactOrAbsent)
    }
    return PlanFacts(
        {each.side: readers[each.side].ask_cluster_id() for each in preconditions if isinstance(each, ClusterIs)},
        _connectors_now(sides, [each for each in preconditions if isinstance(each, ConnectorStopped)]),
        {place: read_topic_now(readers[place[0]], place[1]) for place in topics},
        _offsets_now(readers, offsets),
        {
            (each.side, TopicPartition(each.topic, each.partition), each.producer_id): read_open_now(
                readers[each.side], TopicPartition(each.topic, each.partition), each.producer_id
            )
            for each in preconditions
            if isinstance(each, TransactionHangs)
        },
        {
            side: read_owners_now(readers[side], [each for each in unused if each.side is side])
            for side in {each.side for each in unused}
        },
        {
            side: readers[side].acls(()).bindings
            for side in {each.side for each in preconditions if isinstance(each, AclsPresent)}
        },
        {
            (each.side, each.connector): readers[each.side].config_digest(each.connector)
            for each in preconditions
            if isinstance(each, ConnectorConfigIs)
        },
        {
            (each.side, each.transactional_id): read_or_skip(
                partial(read_transaction_now, readers[each.side], each.transactional_id)
            )
            for each in preconditions
            if isinstance(each, TransactionUnchanged)
        },
    )


def _offsets_now(
    readers: Mapping[Side, ClusterReader], wanted: Sequence[OffsetsUnchanged | NoOpenTransaction]
) -> dict[tuple[Side, str, str], OffsetsNow]:
    topics = {(each.side, each.topic) for each in wanted}
    held = {(side, topic): entries_by_connector(read_offsets_topic(readers[side], topic)) for side, topic in topics}
    return {
        (each.side, each.topic, each.connector): offsets_now(held[each.side, each.topic].get(each.connector, ()))
        for each in wanted
    }


def _connectors_now(
    sides: Mapping[Side, ReadSide], wanted: Sequence[ConnectorStopped]
) -> dict[tuple[Side, str], ConnectorFacts | Skipped]:
    found: dict[tuple[Side, str], ConnectorFacts | Skipped] = {}
    for side in {each.side for each in wanted}:
        names = [each.connector for each in wanted if each.side is side]
        deadline = Deadline(SETTLING_S)
        while True:
            facts = read_connector_facts(sides[side], names, lived_here=side is Side.SOURCE)
            if not any(map(_is_settling, facts.values())) or not deadline.pause(POLL_S):
                break
        found |= {(side, name): each for name, each in facts.items()}
    return found


def _is_settling(facts: ConnectorFacts | Skipped) -> bool:
    """Whether a rebalance may change the state soon: after a change of its config a STOPPED connector is UNASSIGNED."""
    return isinstance(facts, ConnectorFacts) and (
        facts.state == "UNASSIGNED" or (facts.state == "STOPPED" and facts.tasks > 0)
    )


def read_owners_now(reader: ClusterReader, unused: Iterable[NoLiveOwner]) -> LiveOwners:
    """The present owners of these preconditions' IDs, by the groups that may have them, and by the workers' task
    states."""
    unused = tuple(unused)
    states = read_or_skip(partial(read_task_states, reader))
    besides = {each.besides for each in unused}
    return read_live_owners(
        reader,
        [name for each in unused for name in each.transactional_ids],
        None if isinstance(states, Skipped) else states,
        reader.group_id,
        besides.pop() if len(besides) == 1 else None,
    )


def read_connector_facts(
    side: ReadSide, names: Iterable[str], *, lived_here: bool = False
) -> dict[str, ConnectorFacts | Skipped]:
    """State and number of tasks of each connector: from REST with a known address, otherwise from the config topic.

    lived_here: at least one of them is or was a connector of these workers; a config topic that never held any of them
    is another cluster's, and nothing is known. Raises UsageError for one that REST calls a sink. Tasks of a connector
    that was deleted just now may still be stopping and committing offsets: REST reports them, and their end is awaited.
    The config topic does not.
    """
    wanted, connect = list(names), side.reader.connect()
    if not isinstance(connect, Skipped):
        known = connect.connectors
        require_sources(known, wanted)
        return {
            name: ConnectorFacts(known[name].state, len(known[name].tasks)) if name in known else _ended(side, name)
            for name in wanted
        }
    states = read_connector_states(side)
    if isinstance(states, Skipped):
        return dict.fromkeys(wanted, states)
    if lived_here and not states.keys() & set(wanted):
        return dict.fromkeys(
            wanted,
            Skipped(
                f"config topic {side.config_topic} never held it; check that --config-topic and --connect-url "
                "belong to its workers"
            ),
        )
    return {name: _from_config_topic(states.get(name)) for name in wanted}


def _ended(side: ReadSide, name: str) -> ConnectorFacts | Skipped:
    """Of a connector that does not exist."""
    running = side.reader.ending_tasks(name)
    if running:
        return Skipped(f"it does not exist, but its tasks {', '.join(running)} have not ended")
    return ConnectorFacts(None)


def read_connector_states(side: ReadSide) -> States:
    """Every connector that the config topic mentions; Skipped where there is no such topic or it may not be read."""
    if side.config_topic is None:
        return not_asked("give a worker's address or a config topic")
    try:
        return connector_states(side.reader.config_topic(side.config_topic).records)
    except (UsageError, NotAuthorized, Refused) as error:
        return Skipped.of(error)


def _from_config_topic(state: ConnectorState | None) -> ConnectorFacts:
    if state is None or not state.known:
        return ConnectorFacts(None)
    target = state.target_state or TargetState.STARTED
    return ConnectorFacts(target.value, len(state.visible_tasks))


def read_former_configs(side: ReadSide, names: Collection[str]) -> Mapping[str, Properties] | Skipped:
    """The last config of each of these connectors that the config topic still holds, deleted ones included.

    Empty without a config topic; Skipped if it may not be read.
    """
    if not names or side.config_topic is None:
        return {}
    try:
        return {
            record.connector: record.properties
            for record in side.reader.config_topic(side.config_topic).records
            if isinstance(record, ConnectorConfigRecord)
            and record.connector in names
            and record.properties is not None
            and record.origin.state is RecordState.COMMITTED
        }
    except (UsageError, NotAuthorized, Refused) as error:
        return Skipped.of(error)


def read_entries(reading: Reading, side: Side, topic: str, connector: str) -> Sequence[Entry]:
    """The topic's present entries of the connector."""
    return entries_by_connector(read_offsets_topic(reading(side).reader, topic)).get(connector, ())


def read_offsets_topic(reader: ClusterReader, topic: str) -> OffsetsTopic:
    """The topic folded, with its transactions' states; without partitions where it does not exist."""
    found = reader.offsets_topic(StorePlace(topic))
    if isinstance(found, Skipped):
        raise Unreachable(f"topic {topic} was not read: {found.reason}")
    return OffsetsTopic(topic, Skipped(f"topic {topic} does not exist"), ()) if found is None else found


def read_topic_now(reader: ClusterReader, topic: str) -> TopicNow | None:
    """Partitions, settings and topic ID of the topic; None where it does not exist."""
    described = reader.topics([topic], ()).get(topic)
    if described is None:
        return None
    found = reader.topic_facts([topic])
    facts = found if isinstance(found, Skipped) else found[topic]
    if isinstance(facts, Skipped):
        raise Unreachable(f"topic {topic} was not read: {facts.reason}")
    return TopicNow(facts, described.topic_id) if isinstance(facts, TopicFacts) else None


def read_open_now(reader: ClusterReader, topic_partition: TopicPartition, producer_id: int) -> OpenNow | None:
    """The producer's open transaction in the partition now, or None. hangs is Skipped if unknown."""
    leaders = reader.partitions({topic_partition.topic: frozenset({topic_partition.partition})})
    found = reader.producers(leaders)
    for place in found.unanswered:
        raise Unreachable(f"no leader answered for {place}")
    for each in found.producers:
        if each.producer.producer_id == producer_id and each.transaction_start_offset is not None:
            hung = read_or_skip(partial(_hung, reader, each))
            if isinstance(hung, Skipped) or hung is None:
                return OpenNow(each.transaction_start_offset, False if hung is None else hung)
            decisions = read_decisions(reader, [hung], leaders).by_place
            return OpenNow(each.transaction_start_offset, True, decisions[hung.place])
    return None


def _hung(reader: ClusterReader, producer: ActiveProducer) -> OpenTransaction | Skipped | None:
    """Its open transaction, if that hangs by KIP-664's rule."""
    access = reader.access()
    if isinstance(access, Skipped):
        return access
    access.require(reader.principal)
    joined = join_with_coordinators(reader, [producer])
    joined.require()
    (transaction,) = joined.transactions
    return None if transaction.reason is None else transaction


def read_transaction_now(reader: ClusterReader, transactional_id: str) -> TransactionNow:
    """As coordinator and leaders answer. Of a complete transaction the log says when it began; needs Read on it then.

    Raises NotAuthorized where a right is missing, Unreachable where the coordinator does not answer.
    """
    described = reader.describe([transactional_id])[transactional_id]
    if isinstance(described, EosctlError):
        raise described
    if described is None:
        return TransactionNow(None)
    if described.state is TransactionState.ONGOING:
        return read_parts(reader, described)
    if described.state.is_open:
        return TransactionNow(described.state, described.producer, described.start_ms)
    last = last_logged(read_log_records(reader, [transactional_id])).get(transactional_id)
    return TransactionNow(described.state, described.producer, None if last is None else last.start_ms)


def read_parts(reader: ClusterReader, described: TransactionDescription) -> TransactionNow:
    """An Ongoing transaction with the state at its partitions' leaders."""
    wanted: dict[str, frozenset[int]] = {}
    for place in described.partitions:
        wanted[place.topic] = wanted.get(place.topic, frozenset()) | {place.partition}
    found = reader.producers(reader.partitions(wanted), quiet=True) if wanted else AnsweredProducers((), ())
    return TransactionNow.ongoing(described, found.producers, found.unanswered)


def last_logged(records: Iterable[TransactionLogRecord]) -> dict[str, TransactionLogValue | None]:
    """The last record of each ID; None if it is a tombstone, no entry without a record."""
    return {each.transactional_id: each.value for each in records}


def read_log_records(reader: ClusterReader, transactional_ids: Collection[str]) -> Iterator[TransactionLogRecord]:
    """The records of these IDs in the transaction log, those of one ID in their order.

    Raises Unreachable where a partition of the log that has one of them was not read.
    """
    log = reader.transaction_log(transactional_ids)
    for reason in log.unread.values():
        raise Unreachable(f"the transaction log was not read: {reason.reason}")
    records = (each for each in log.records if isinstance(each, TransactionLogRecord))
    yield from (each for each in records if each.transactional_id in transactional_ids)
