"""What `transactions list`, `describe` and `producers` read and decide."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eosctl.analysis.hanging import transactional_ids_by_producer
from eosctl.analysis.transactions import Ownership, Selection, list_with_owners, ownership
from eosctl.errors import EXIT_FINE, EXIT_FOUND, EosctlError, NotAuthorized, Unreachable
from eosctl.model.counts import counted
from eosctl.model.partition_producers import NO_LEADER
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.model.transactions import TransactionDescription, TransactionListing
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import chosen, wanted_partitions
from eosctl.operations.saved_transactions import read_saved, saved_partitions
from eosctl.operations.session import Session
from eosctl.render.document import Document
from eosctl.render.views.transactions import (
    listed_row,
    unknown_row,
    view_descriptions,
    view_producers,
    view_transactions,
)

NOT_KNOWN: Final = "its coordinator does not know it: never used, or expired"
NOT_SAVED: Final = "the snapshot does not have it: no coordinator knew it, or whoever saved it might not see it"


def list_transactions(session: Session, selection: Selection, config_topic: str) -> Document:
    """Every transactional ID that the selection keeps, described, with owners."""
    if session.options.snapshot is not None:
        return _list_saved(session.options.snapshot, session.options.group_id, selection)
    from eosctl.sources.kafka_transactions import describe_transactional_ids, list_transactional_ids, unlisted

    as_of, wire = session.now(), session.wire
    listed = list_transactional_ids(wire, states=selection.states, producer_ids=selection.producer_ids)
    named = [each for each in listed.transactions if selection.names(each)]
    described = describe_transactional_ids(wire, [each.transactional_id for each in named])
    connect = read_connect_names(session, config_topic)
    descriptions = {name: told for name, told in described.items() if isinstance(told, TransactionDescription)}
    hidden, note = _hidden(session, len(listed.transactions), selection)
    undescribed = (told.message for told in described.values() if isinstance(told, Unreachable))
    return view_transactions(
        list_with_owners(named, descriptions, connect.names, selection, as_of),
        hidden,
        {node_id: error.message for node_id, error in listed.unanswered.items()},
        tuple(dict.fromkeys((*unlisted(wire, listed), *undescribed))),
        (*note, *connect.notes),
        rfc3339(as_of),
        wire.cluster_id,
    )


def _hidden(session: Session, listed: int, selection: Selection) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How many IDs the brokers keep from this principal, as far as that can be told."""
    from eosctl.sources.transaction_log import count_transactional_ids
    from eosctl.sources.transactional_id_access import transactional_id_access

    access, principal = transactional_id_access(session.wire), session.wire.principal
    if access.granted:
        unsure = () if access.unknown is None else (f"whether all IDs are shown is not certain: {access.unknown}",)
        return {"may_see_all": True, "count": 0, "uncertain": access.unknown}, unsure
    count: int | Skipped = Skipped("a list with filters cannot be held against the transaction log")
    if not (selection.states or selection.producer_ids):
        try:
            count = max(0, count_transactional_ids(session.wire) - listed)
        except EosctlError as error:
            count = Skipped.of(error)
    how_many = "how many is unknown" if isinstance(count, Skipped) else counted(count, "ID")
    note = f"{principal} may not Describe every TransactionalId; brokers leave the others out: {how_many}"
    return {"may_see_all": False, "count": count, "uncertain": access.unknown}, (note,)


def _list_saved(path: Path, group_id: str | None, selection: Selection) -> Document:
    saved = read_saved(path, group_id)
    listings = [
        each
        for each in map(_listing, saved.described.values())
        if each.state in (selection.states or (each.state,))
        and each.producer_id in (selection.producer_ids or (each.producer_id,))
        and selection.names(each)
    ]
    as_of = saved.snapshot.as_of
    return view_transactions(
        list_with_owners(listings, saved.described, saved.connect.names, selection, as_of),
        {"skipped": "read from a snapshot"},
        {},
        saved.silent_coordinators,
        saved.connect.notes,
        rfc3339(as_of),
        saved.cluster_id,
    )


def require_all_listed(document: Document) -> None:
    """Raise Unreachable, once it is shown, where a coordinator did not answer."""
    missing = document.data["missing"]
    if missing:
        raise Unreachable(
            f"not every coordinator answers: {missing[0]}", hint="the list is right for all the others that do"
        )


def _listing(told: TransactionDescription) -> TransactionListing:
    return TransactionListing(told.transactional_id, told.producer.producer_id, told.state, told.coordinator)


def describe_transactions(session: Session, names: Sequence[str], config_topic: str) -> int:
    """Shows each ID; raises NotAuthorized where one may not be described, exits 1 where one is not known."""
    options = session.options
    if options.snapshot is not None:
        saved = read_saved(options.snapshot, options.group_id)
        described = {name: saved.transactions.get(name) for name in names}
        as_of, silent = saved.snapshot.as_of, saved.silent_coordinators
        absent = f"{NOT_SAVED}, or its coordinator did not answer: {silent[0]}" if silent else NOT_SAVED
        rows = [_described_row(name, told, saved.connect, as_of, absent) for name, told in described.items()]
        options.console.result(view_descriptions(rows, saved.connect.notes, rfc3339(as_of), saved.cluster_id))
        if silent and not all(isinstance(each, TransactionDescription) for each in described.values()):
            raise Unreachable(f"not every coordinator answered when the snapshot was saved: {silent[0]}")
        return EXIT_FOUND if None in described.values() else EXIT_FINE
    return _describe_now(session, names, config_topic)


def _describe_now(session: Session, names: Sequence[str], config_topic: str) -> int:
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    as_of, wire = session.now(), session.wire
    described = describe_transactional_ids(wire, names)
    connect = read_connect_names(session, config_topic)
    rows = [_described_row(name, told, connect, as_of, NOT_KNOWN) for name, told in described.items()]
    session.options.console.result(view_descriptions(rows, connect.notes, rfc3339(as_of), wire.cluster_id))
    failures = [each for each in described.values() if isinstance(each, EosctlError)]
    for failure in sorted(failures, key=lambda each: not isinstance(each, NotAuthorized)):
        raise failure
    return EXIT_FOUND if None in described.values() else EXIT_FINE


def _described_row(
    name: str,
    told: TransactionDescription | EosctlError | Skipped | None,
    connect: ConnectNames,
    as_of: int,
    absent: str,
) -> dict[str, Any]:
    if isinstance(told, TransactionDescription):
        (listed,) = list_with_owners([_listing(told)], {name: told}, connect.names, Selection(), as_of)
        return listed_row(listed)
    reason = absent if told is None else told.reason if isinstance(told, Skipped) else told.message
    return unknown_row(name, ownership(name, connect.names), None, reason)


def partition_producers(session: Session, arguments: Sequence[str], config_topic: str) -> Document:
    """The producers of the partitions named, with the IDs that hold them."""
    if session.options.snapshot is not None:
        return _saved_producers(session.options.snapshot, session.options.group_id, arguments)
    from eosctl.sources.kafka_producers import answering_producers, cluster_partitions
    from eosctl.sources.kafka_transactions import TransactionListings, list_transactional_ids, unlisted

    as_of, wire, wanted = session.now(), session.wire, wanted_partitions(arguments)
    leaders = chosen(cluster_partitions(wire, wanted), wanted)
    led = {partition: leader for partition, leader in leaders.items() if leader != NO_LEADER}
    producers, unanswered = answering_producers(wire, led)
    missing = [str(each) for each in leaders if each not in led or each in unanswered]
    connect = read_connect_names(session, config_topic)
    ids = {each.producer.producer_id for each in producers}
    listed = list_transactional_ids(wire, producer_ids=ids) if ids else TransactionListings((), {})
    names = transactional_ids_by_producer(listed.transactions)
    unknown = _unknown_names(unlisted(wire, listed)) if ids - names.keys() else ()
    rows, notes = _with_ids(producers, names, connect), (*unknown, *connect.notes)
    return view_producers(rows, missing, notes, rfc3339(as_of), wire.cluster_id)


def _unknown_names(reasons: Sequence[str]) -> tuple[str, ...]:
    return (f"who holds a producer ID is not known of all: {'; '.join(reasons)}",) if reasons else ()


def _saved_producers(path: Path, group_id: str | None, arguments: Sequence[str]) -> Document:
    saved = read_saved(path, group_id)
    partitions = saved_partitions(saved, wanted_partitions(arguments))
    producers = [active for each in partitions.values() for active in each.producers]
    rows = _with_ids(producers, saved.transactional_ids, saved.connect)
    missing = [str(place) for place, each in partitions.items() if each.leader == NO_LEADER]
    unknown = _unknown_names(saved.silent_coordinators) if any(name is None for _, name, _ in rows) else ()
    notes = (*unknown, *saved.connect.notes)
    return view_producers(rows, missing, notes, rfc3339(saved.snapshot.as_of), saved.cluster_id)


def _with_ids(
    producers: Iterable[ActiveProducer], names: Mapping[int, str], connect: ConnectNames
) -> list[tuple[ActiveProducer, str | None, Ownership]]:
    return [
        (each, name, ownership(name, connect.names))
        for each in producers
        for name in [names.get(each.producer.producer_id)]
    ]
