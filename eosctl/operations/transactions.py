"""What `transactions list`, `describe` and `producers` answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from eosctl.analysis.owners import owners_of, ownership
from eosctl.analysis.transactions import list_with_owners
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.model.counts import counted
from eosctl.model.described import transactional_ids_by_producer
from eosctl.model.near_names import did_you_mean
from eosctl.model.skipped import Skipped
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
)
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.sources.cluster_reader import ClusterReader


@dataclass(frozen=True, slots=True)
class DescribeRequest:
    """The transactional IDs to describe, and the topic that names their owners' connectors."""

    transactional_ids: tuple[str, ...]
    config_topic: str


@dataclass(frozen=True, slots=True)
class ProducersRequest:
    """The partitions whose producers to list, as TOPIC[:PARTITION,…], and the topic that names connectors."""

    topics: tuple[str, ...]
    config_topic: str


def list_transactions(reader: ClusterReader, selection: Selection, config_topic: str) -> TransactionList:
    """Every transactional ID that the selection keeps, described, with owners."""
    as_of = reader.now()
    listed = reader.transactional_ids(states=selection.states, producer_ids=selection.producer_ids)
    named = [each for each in listed.transactions if selection.names(each)]
    coordinators = {each.transactional_id: each.coordinator for each in named}
    described = reader.describe(coordinators, coordinators)
    connect = read_connect_names(reader, config_topic, needed=selection.owner is not None)
    descriptions = {name: each for name, each in described.items() if isinstance(each, TransactionDescription)}
    hidden = _hidden(reader, len(listed.transactions), selection)
    undescribed = (each.message for each in described.values() if isinstance(each, Unreachable))
    transactions = list_with_owners(named, descriptions, connect.names, selection, as_of)
    return TransactionList(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=transactions,
        hidden=hidden,
        unanswered=listed.unanswered,
        missing=tuple(dict.fromkeys((*listed.unlisted, *undescribed))),
        notes=(
            *_hidden_notes(reader.principal, hidden),
            *(() if transactions else _owner_notes(selection.owner, connect)),
            *connect.notes,
        ),
        coverage=reader.coverage,
    )


def _owner_notes(wanted: str | None, connect: ConnectNames) -> tuple[str, ...]:
    """Whom --owner may mean, where no connector is called so."""
    known = () if isinstance(connect.connectors, Skipped) else connect.connectors
    meant = None if wanted is None or wanted in known else did_you_mean(wanted, known)
    return () if meant is None else (f"no connector is called {wanted}; {meant}",)


def _hidden(reader: ClusterReader, listed: int, selection: Selection) -> HiddenIds | Skipped:
    """How many IDs the brokers keep from this principal, as far as that is known."""
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
    how_many = "how many is unknown" if isinstance(hidden.count, Skipped) else counted(hidden.count, "ID")
    return (f"{principal} lacks Describe on some transactional IDs, and brokers leave them out: {how_many}",)


def describe_transactions(reader: ClusterReader, request: DescribeRequest) -> TransactionDescriptions:
    """Each ID as its coordinator describes it."""
    as_of = reader.now()
    described = reader.describe(request.transactional_ids)
    connect = read_connect_names(reader, request.config_topic)
    return TransactionDescriptions(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=tuple(
            _described(name, each, connect, as_of, reader.unknown_id) for name, each in described.items()
        ),
        errors=tuple(each for each in described.values() if isinstance(each, EosctlError)),
        notes=connect.notes,
        coverage=reader.coverage,
    )


def _described(
    name: str, described: Described, connect: ConnectNames, as_of: int, unknown: str
) -> ListedTransaction | UndescribedId:
    if not isinstance(described, TransactionDescription):
        reason = unknown if described is None else described.message
        return UndescribedId(name, ownership(name, connect.names), reason)
    listing = TransactionListing(name, described.producer.producer_id, described.state, described.coordinator)
    (listed,) = list_with_owners([listing], {name: described}, connect.names, Selection(), as_of)
    return listed


def list_producers(reader: ClusterReader, request: ProducersRequest) -> ProducerList:
    """The producers of the partitions named, with the IDs that hold them. Raises UsageError where none is named."""
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
        owners=owners_of(names.values(), connect.names),
        not_searched=seen.unanswered,
        notes=(*(_unknown_holders(listed.unlisted) if ids - names.keys() else ()), *connect.notes),
        coverage=reader.coverage,
    )


def _unknown_holders(reasons: Sequence[str]) -> tuple[str, ...]:
    return (f"who holds a producer ID is not known of all: {'; '.join(reasons)}",) if reasons else ()
