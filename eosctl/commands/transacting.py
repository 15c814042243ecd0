"""What `transactions list`, `describe` and `producers` read and decide."""

from collections.abc import Sequence
from typing import Any

from eosctl.analysis.hanging import transactional_ids_by_producer
from eosctl.analysis.transactions import Selection, list_with_owners, ownership
from eosctl.commands.context import Context
from eosctl.commands.owning import read_connect_names
from eosctl.commands.partitions import chosen, wanted_partitions
from eosctl.errors import EXIT_FINE, EXIT_FOUND, EosctlError, NotAuthorized, UsageError
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionDescription, TransactionListing
from eosctl.render.document import Document, rfc3339
from eosctl.render.views.transactions import (
    listed_row,
    unknown_row,
    view_descriptions,
    view_producers,
    view_transactions,
)


def list_transactions(context: Context, selection: Selection, config_topic: str) -> Document:
    """Every transactional ID that the selection keeps, described, with owners."""
    if context.options.snapshot is not None:
        return _list_saved(context, selection)
    from eosctl.sources.kafka_transactions import describe_transactional_ids, list_transactional_ids

    as_of, wire = context.now(), context.wire
    listed = list_transactional_ids(wire, states=selection.states, producer_ids=selection.producer_ids)
    named = [each for each in listed.transactions if selection.names(each)]
    described = describe_transactional_ids(wire, [each.transactional_id for each in named])
    connect = read_connect_names(context, config_topic)
    descriptions = {name: told for name, told in described.items() if isinstance(told, TransactionDescription)}
    hidden, note = _hidden(context, len(listed.transactions), selection)
    return view_transactions(
        list_with_owners(named, descriptions, connect.names, selection, as_of),
        hidden,
        {node_id: error.message for node_id, error in listed.unanswered.items()},
        (*note, *connect.notes),
        rfc3339(as_of),
        wire.cluster_id,
    )


def _hidden(context: Context, listed: int, selection: Selection) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How many IDs the brokers keep from this principal, as far as that can be told."""
    from eosctl.sources.transaction_log import count_transactional_ids
    from eosctl.sources.transactional_id_access import transactional_id_access

    access, principal = transactional_id_access(context.wire), context.wire.principal
    if access.granted:
        unsure = () if access.unknown is None else (f"whether all IDs are shown is not certain: {access.unknown}",)
        return {"may_see_all": True, "count": 0, "uncertain": access.unknown}, unsure
    count: int | Skipped = Skipped("a list with filters cannot be held against the transaction log")
    if not (selection.states or selection.producer_ids):
        try:
            count = max(0, count_transactional_ids(context.wire) - listed)
        except EosctlError as error:
            count = Skipped(error.message)
    how_many = "how many is unknown" if isinstance(count, Skipped) else f"{count} IDs"
    note = f"{principal} may not Describe every TransactionalId; brokers leave the others out: {how_many}"
    return {"may_see_all": False, "count": count, "uncertain": access.unknown}, (note,)


def _list_saved(context: Context, selection: Selection) -> Document:
    from eosctl.analysis.owners import KnownNames
    from eosctl.sources.snapshot_file import read_snapshot_file

    assert context.options.snapshot is not None
    saved = read_snapshot_file(context.options.snapshot)
    if isinstance(saved.transactions, Skipped):
        raise UsageError(f"the snapshot holds no transactions: {saved.transactions.reason}")
    running = () if isinstance(saved.connect, Skipped) else saved.connect.connectors
    names = KnownNames.of({} if saved.group_id is None else {saved.group_id: running})
    listings = [
        TransactionListing(name, each.producer.producer_id, each.state, each.coordinator)
        for name, each in saved.transactions.items()
        if each.state in (selection.states or (each.state,))
        and each.producer.producer_id in (selection.producer_ids or (each.producer.producer_id,))
    ]
    named = [each for each in listings if selection.names(each)]
    return view_transactions(
        list_with_owners(named, saved.transactions, names, selection, saved.as_of),
        {"skipped": "read from a snapshot"},
        {},
        (),
        rfc3339(saved.as_of),
        None if isinstance(saved.cluster, Skipped) else saved.cluster.cluster_id,
    )


def describe_transactions(context: Context, names: Sequence[str], config_topic: str) -> int:
    """Shows each ID; raises NotAuthorized where one may not be described, exits 1 where one is not known."""
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    as_of, wire = context.now(), context.wire
    described = describe_transactional_ids(wire, names)
    connect = read_connect_names(context, config_topic)
    rows: list[dict[str, Any]] = []
    failures: list[EosctlError] = []
    for name, told in described.items():
        if isinstance(told, TransactionDescription):
            listing = TransactionListing(name, told.producer.producer_id, told.state, told.coordinator)
            (listed,) = list_with_owners([listing], {name: told}, connect.names, Selection(), as_of)
            rows.append(listed_row(listed))
        else:
            words = "its coordinator does not know it: never used, or expired" if told is None else told.message
            rows.append(unknown_row(name, ownership(name, connect.names), None, words))
            failures += [] if told is None else [told]
    context.options.console.result(view_descriptions(rows, connect.notes, rfc3339(as_of), wire.cluster_id))
    for failure in sorted(failures, key=lambda each: not isinstance(each, NotAuthorized)):
        raise failure
    return EXIT_FOUND if None in described.values() else EXIT_FINE


def partition_producers(context: Context, arguments: Sequence[str], config_topic: str) -> Document:
    """The producers of the partitions named, with the IDs that hold them."""
    from eosctl.sources.kafka_producers import active_producers, cluster_partitions
    from eosctl.sources.kafka_transactions import list_transactional_ids

    as_of, wire, wanted = context.now(), context.wire, wanted_partitions(arguments)
    producers = active_producers(wire, chosen(cluster_partitions(wire, wanted), wanted))
    connect = read_connect_names(context, config_topic)
    ids = {each.producer.producer_id for each in producers}
    names = transactional_ids_by_producer(list_transactional_ids(wire, producer_ids=ids).transactions) if ids else {}
    rows = [
        (each, name, ownership(name, connect.names))
        for each in producers
        for name in [names.get(each.producer.producer_id)]
    ]
    return view_producers(rows, connect.notes, rfc3339(as_of), wire.cluster_id)
