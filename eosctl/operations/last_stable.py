"""What `transactions lso` reads, once or again and again."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from eosctl.analysis.hanging import find_candidates
from eosctl.analysis.last_stable import stability
from eosctl.analysis.transactions import Ownership, ownership
from eosctl.errors import Unreachable, UsageError
from eosctl.model.counts import counted
from eosctl.model.hanging import OpenTransaction
from eosctl.model.last_stable import PartitionStability
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.operations.hanging_search import partitions_to_search, read_producers
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.operations.saved_transactions import read_saved, saved_partitions, saved_stability
from eosctl.operations.session import Session
from eosctl.render.document import Document
from eosctl.render.views.last_stable import view_stability

ALL_AGES = -1 << 62


def look(session: Session, arguments: Sequence[str], connect: ConnectNames) -> Document:
    """Offsets of the partitions named, or of all that are held back, with who holds them back."""
    from eosctl.sources.first_batches import first_timestamps
    from eosctl.sources.kafka_offsets import offsets_or_skipped

    wire, wanted = session.wire, wanted_partitions(arguments)
    leaders = partitions_to_search(session, wanted, None)
    told = offsets_or_skipped(wire, leaders) if leaders else {}
    offsets = {partition: each for partition, each in told.items() if not isinstance(each, Skipped)}
    held = {partition: each for partition, each in offsets.items() if each.held_back > 0}
    as_of = session.now()
    since = first_timestamps(wire, {each: held[each].last_stable_offset for each in held}, leaders)
    shown = offsets if wanted else held
    opened, unknown = _open_in(session, held, leaders)
    missing = [str(partition) for partition, each in told.items() if isinstance(each, Skipped)]
    return view_stability(
        _owned(stability(shown, opened, since), connect),
        len(offsets) - len(held),
        missing,
        (*unknown, *connect.notes),
        as_of,
        wire.cluster_id,
    )


def _saved(path: Path, group_id: str | None, arguments: Sequence[str]) -> Document:
    """The same when the snapshot was saved."""
    saved, wanted = read_saved(path, group_id), wanted_partitions(arguments)
    partitions = saved_partitions(saved, wanted)
    found, free = saved_stability(saved, partitions, all_of_them=bool(wanted))
    missing = [str(place) for place, each in partitions.items() if each.offsets is None]
    unknown = _unknown_holders(saved.silent_coordinators) if any(each.holders for each in found) else ()
    notes = (*unknown, *saved.connect.notes)
    return view_stability(_owned(found, saved.connect), free, missing, notes, saved.snapshot.as_of, saved.cluster_id)


def _unknown_holders(reasons: Sequence[str]) -> tuple[str, ...]:
    return (f"which IDs hold back is not known of all: {'; '.join(reasons)}",) if reasons else ()


def _owned(
    found: Sequence[PartitionStability], connect: ConnectNames
) -> list[tuple[PartitionStability, list[tuple[OpenTransaction, Ownership]]]]:
    return [
        (each, [(holder, ownership(holder.transactional_id, connect.names)) for holder in each.holders])
        for each in found
    ]


def _open_in(
    session: Session, held: Mapping[TopicPartition, PartitionOffsets], leaders: Mapping[TopicPartition, int]
) -> tuple[tuple[OpenTransaction, ...], tuple[str, ...]]:
    """The open transactions, and what is not known of them."""
    from eosctl.sources.open_transactions import join_with_answering

    seen = read_producers(session, {each: leaders[each] for each in held}, quiet=True)
    joined = join_with_answering(session.wire, find_candidates(seen.producers, session.now(), ALL_AGES))
    return (*joined.transactions, *joined.undecided), _unknown_holders(joined.reasons)


def require_all(document: Document) -> None:
    """Raise Unreachable, once it is shown, where partitions were left out."""
    missing = document.data["not_searched"]
    if missing:
        raise Unreachable(f"no leader answers for {counted(len(missing), 'partition')}, {missing[0]} first")


def last_stable_offsets(
    session: Session, arguments: Sequence[str], config_topic: str, every_s: float | None, looks: int | None
) -> Document:
    """The last look. Before it, with every_s, the same is drawn on the terminal every every_s seconds.

    looks bounds how often; without it Ctrl-C ends the watching.
    """
    if looks is not None and every_s is None:
        raise UsageError("--looks says how often to look, so it needs --watch")
    if session.options.snapshot is not None:
        if every_s is not None:
            raise UsageError("a snapshot does not change, so it cannot be watched")
        return _saved(session.options.snapshot, session.options.group_id, arguments)
    connect = read_connect_names(session, config_topic)
    document = look(session, arguments, connect)
    if every_s is None:
        return document
    count = 1
    try:
        while looks is None or count < looks:
            session.options.console.redraw(document)
            time.sleep(every_s)
            document = look(session, arguments, connect)
            count += 1
    except KeyboardInterrupt:
        session.options.console.narrate(f"watched {count} times")
    return document
