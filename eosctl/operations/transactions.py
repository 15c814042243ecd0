"""Answers `transactions list`, `describe` and `producers`."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.transactions import (
    KnownNames,
    list_with_owners,
    owners_of,
    ownership,
    streams_applications,
)
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.model.connectors import ICEBERG_START, ConnectorState
from eosctl.model.groups import no_such_group
from eosctl.model.names import did_you_mean
from eosctl.model.skipped import Skipped, not_asked, read_or_skip
from eosctl.model.text import pluralize
from eosctl.model.transactions import (
    Described,
    HiddenIds,
    ListedTransaction,
    ListedTransactions,
    ProducerList,
    Selection,
    TransactionDescription,
    TransactionDescriptions,
    TransactionList,
    TransactionListing,
    UndescribedId,
    transactional_ids_by_producer,
)
from eosctl.operations.workers import require_group
from eosctl.sources.cluster_reader import ClusterReader, Wanted


class ConnectNames(Struct, frozen=True):
    """Known Connect clusters: groups of the Kafka cluster, and the connectors of --group-id.

    config_topic is the name of the topic that the connectors are from; notes say what makes owners less certain.
    """

    names: KnownNames
    connectors: Mapping[str, ConnectorState] | Skipped
    config_topic: str
    notes: tuple[str, ...]


class _Connectors(Struct, frozen=True):
    config_topic: str
    states: Mapping[str, ConnectorState]


def read_connect_names(reader: ClusterReader, config_topic: str, *, needed: bool = False) -> ConnectNames:
    """The readable names; others are Skipped, because a transaction without an owner is still worth showing.

    needed: owners decide which IDs are shown. UsageError if the group is not that of the answering workers.
    """
    with nullcontext() if needed else reader.optional_reads():
        groups, group_id = reader.groups(), reader.group_id
        connect = read_or_skip(reader.connect)
        found = read_or_skip(lambda: _read_connectors(reader, config_topic))
        absent = group_id is not None and not isinstance(groups, Skipped) and group_id not in groups
        if absent:
            require_group(reader, connect)
    clusters: dict[str, set[str]] = {}
    if not isinstance(groups, Skipped):
        clusters = {each.group_id: set() for each in groups.values() if each.is_connect}
    if group_id is not None:
        known = set() if isinstance(found, Skipped) else set(found.states)
        running = set() if isinstance(connect, Skipped) else set(connect.connectors)
        clusters[group_id] = known | running
    states = {} if isinstance(found, Skipped) else found.states
    starts = {
        str(task[ICEBERG_START]): name
        for name, state in states.items()
        for task in state.task_configs.values()
        if ICEBERG_START in task
    }
    unread = {"groups": groups, "connectors": found}
    notes = [f"owners by {what}: {why.reason}" for what, why in unread.items() if isinstance(why, Skipped)]
    if group_id is not None and absent:
        notes.append(f"group {group_id}: {no_such_group(group_id, clusters.keys() - {group_id}).reason}")
    return ConnectNames(
        KnownNames.of(clusters, () if isinstance(groups, Skipped) else groups.values(), starts),
        found if isinstance(found, Skipped) else found.states,
        config_topic if isinstance(found, Skipped) else found.config_topic,
        tuple(notes),
    )


def with_threads(reader: ClusterReader, names: KnownNames, transactional_ids: Iterable[str | None]) -> KnownNames:
    """The names, with the members of Kafka Streams applications that may have some of the IDs."""
    applications = streams_applications(filter(None, transactional_ids), names.groups)
    if not applications:
        return names
    with reader.optional_reads():
        members = reader.consumer_members(applications)
    return names if isinstance(members, Skipped) else replace(names, members=members)


def _read_connectors(reader: ClusterReader, config_topic: str) -> _Connectors | Skipped:
    if reader.group_id is None:
        return not_asked("no --group-id was given, so connectors are not known")
    log = reader.config_topic(config_topic)
    return _Connectors(log.topic, connector_states(log.records))


def wanted_partitions(arguments: Iterable[str]) -> Wanted:
    """The partitions in the arguments. Raises UsageError for one that is not TOPIC[:PARTITION,…]."""
    wanted: dict[str, frozenset[int] | None] = {}
    for argument in arguments:
        topic, colon, indexes = argument.partition(":")
        if not topic or (colon and not all(index.isascii() and index.isdigit() for index in indexes.split(","))):
            raise UsageError(f"invalid partition {argument!r}: expected TOPIC[:N,…]", hint="for example orders:0,3")
        before = wanted.get(topic, frozenset())
        named = frozenset(int(index) for index in indexes.split(",")) if colon else None
        wanted[topic] = None if named is None or before is None else before | named
    return wanted


class DescribeRequest(Struct, frozen=True):
    """The transactional IDs to describe, and the topic that names their owners' connectors."""

    transactional_ids: tuple[str, ...]
    config_topic: str


class ProducersRequest(Struct, frozen=True):
    """The partitions whose producers to list, as TOPIC[:PARTITION,…], and the topic that names connectors."""

    topics: tuple[str, ...]
    config_topic: str


MOST_DESCRIBED: Final = 100_000
"""Of more IDs only those with an open transaction are described: 0.2 ms of CPU and 1 kB each."""


def list_transactions(reader: ClusterReader, selection: Selection, config_topic: str) -> TransactionList:
    """Every transactional ID that the selection keeps, described, with owners."""
    as_of = reader.now()
    listed = reader.transactional_ids(states=selection.states, producer_ids=selection.producer_ids)
    named = [each for each in listed.transactions if selection.names(each)]
    wanted = named if len(named) <= MOST_DESCRIBED else [each for each in named if each.state.is_open]
    coordinators = {each.transactional_id: each.coordinator for each in wanted}
    described = reader.describe(coordinators, coordinators)
    connect = read_connect_names(reader, config_topic, needed=selection.owner is not None)
    descriptions = {name: each for name, each in described.items() if isinstance(each, TransactionDescription)}
    hidden = _hidden(reader, len(listed.transactions), selection)
    undescribed = (each.message for each in described.values() if isinstance(each, Unreachable))
    names = with_threads(reader, connect.names, coordinators)
    transactions = list_with_owners(named, descriptions, names, selection, as_of)
    return TransactionList(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=transactions,
        hidden=hidden,
        unanswered=listed.unanswered,
        missing=tuple(dict.fromkeys((*listed.unlisted, *undescribed))),
        notes=(
            *_hidden_notes(reader.principal, hidden),
            *_undescribed_notes(len(named) - len(wanted)),
            *(() if transactions else _owner_notes(selection.owner, connect)),
            *connect.notes,
        ),
        coverage=reader.coverage,
    )


def _undescribed_notes(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (
        f"{count:,} IDs without an open transaction were not described: epochs and timeouts of their producers are not "
        "shown. Give --state or --pattern to list fewer",
    )


def _owner_notes(wanted: str | None, connect: ConnectNames) -> tuple[str, ...]:
    """Possible meanings of --owner, if it names no connector."""
    known = () if isinstance(connect.connectors, Skipped) else connect.connectors
    if wanted is None or wanted in known:
        return ()
    meant = did_you_mean(wanted, known, "`eosctl connector list` lists them")
    return (f"no connector is called {wanted}; {meant}",)


def _hidden(reader: ClusterReader, listed: int, selection: Selection) -> HiddenIds | Skipped:
    """How many IDs the brokers hide from this principal, as far as known."""
    access = reader.access()
    if isinstance(access, Skipped):
        return access
    if access.granted:
        return HiddenIds(may_see_all=True, count=0, uncertain=access.unknown)
    count: int | Skipped = Skipped("a list with filters cannot be held against the transaction log")
    if not (selection.states or selection.producer_ids):
        logged = reader.logged_ids()
        count = logged if isinstance(logged, Skipped) else max(0, logged - listed)
    return HiddenIds(may_see_all=False, count=count, uncertain=access.unknown)


def _hidden_notes(principal: str, hidden: HiddenIds | Skipped) -> tuple[str, ...]:
    if isinstance(hidden, Skipped):
        return ()
    if hidden.may_see_all:
        unsure = hidden.uncertain
        return () if unsure is None else (f"whether all IDs are shown is not certain: {unsure}",)
    how_many = "how many is unknown" if isinstance(hidden.count, Skipped) else pluralize(hidden.count, "ID")
    return (f"{principal} lacks Describe on some transactional IDs, and brokers omit these IDs: {how_many}",)


def describe_transactions(reader: ClusterReader, request: DescribeRequest) -> TransactionDescriptions:
    as_of = reader.now()
    described = reader.describe(request.transactional_ids)
    connect = read_connect_names(reader, request.config_topic)
    names = with_threads(reader, connect.names, described)
    return TransactionDescriptions(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=tuple(_described(name, each, names, as_of, reader.unknown_id) for name, each in described.items()),
        errors=tuple(each for each in described.values() if isinstance(each, EosctlError)),
        notes=connect.notes,
        coverage=reader.coverage,
    )


def _described(
    name: str, described: Described, names: KnownNames, as_of: int, unknown: str
) -> ListedTransaction | UndescribedId:
    if not isinstance(described, TransactionDescription):
        reason = unknown if described is None else described.message
        return UndescribedId(name, ownership(name, names), reason)
    listing = TransactionListing(name, described.producer.producer_id, described.state, described.coordinator)
    (listed,) = list_with_owners([listing], {name: described}, names, Selection(), as_of)
    return listed


def list_producers(reader: ClusterReader, request: ProducersRequest) -> ProducerList:
    """The producers of the partitions named, with the IDs that hold them. Raises UsageError if none is named."""
    if not request.topics:
        raise UsageError("no topic was named", hint="give --topic TOPIC[:N,…]")
    as_of = reader.now()
    seen = reader.producers(reader.partitions(wanted_partitions(request.topics)), quiet=True)
    connect = read_connect_names(reader, request.config_topic)
    ids = {each.producer.producer_id for each in seen.producers}
    listed = reader.transactional_ids(producer_ids=ids) if ids else ListedTransactions((), {})
    names = transactional_ids_by_producer(listed.transactions)
    if ids - names.keys():
        reader.access()  # the coverage keeps it if IDs may be hidden
    return ProducerList(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        producers=seen.producers,
        transactional_ids=names,
        owners=owners_of(names.values(), with_threads(reader, connect.names, names.values())),
        not_searched=seen.unanswered,
        notes=(*(_unknown_holders(listed.unlisted) if ids - names.keys() else ()), *connect.notes),
        coverage=reader.coverage,
    )


def _unknown_holders(reasons: Sequence[str]) -> tuple[str, ...]:
    return (f"who holds a producer ID is not known of all: {'; '.join(reasons)}",) if reasons else ()
