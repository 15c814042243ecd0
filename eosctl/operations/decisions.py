"""What coordinators decided about transactions that are open in a partition although they are complete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.analysis.hanging import LoggedDecisions, as_written, by_coordinator, may_be_earlier, overtaken
from eosctl.errors import Refused, Unreachable
from eosctl.model.hanging import Decision, FirstBatch, OpenTransaction, Place, Verdict, join_open_transactions
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.text import first_few, pluralize
from eosctl.model.timeline import TimelineFacts
from eosctl.model.topics import OffsetRange
from eosctl.model.transaction_log import LoggedHolders
from eosctl.sources import audit_log
from eosctl.sources.cluster_reader import ClusterReader


class Decisions(Struct, frozen=True):
    """The decision about each transaction, by its place; notes say how much of the transaction log was read."""

    by_place: Mapping[Place, Decision | Skipped | None]
    notes: tuple[str, ...] = ()


def read_decisions(
    reader: ClusterReader,
    transactions: Collection[OpenTransaction],
    leaders: Mapping[TopicPartition, int],
    most_bytes: int | None = None,
) -> Decisions:
    """What coordinators decided about these hanging transactions, from the transaction log.

    Where no coordinator knows a producer ID, the log is searched for the IDs that held it, most_bytes at a time. Then
    the partitions of all IDs are read. If the log cannot be read, the answers of the coordinators show which ones may
    be committed.
    """
    if not transactions:
        return Decisions({})
    ids = {each.transactional_id for each in transactions} - {None}
    lost = {each.producer.producer_id for each in transactions if each.transactional_id is None}
    with reader.optional_reads():
        found = read_or_skip(partial(_read_holders, reader, lost, most_bytes)) if lost else LoggedHolders()
        if isinstance(found, Skipped):
            return Decisions({each.place: by_coordinator(each, found.reason) for each in transactions})
        names = {*ids, *(each.transactional_id for each in found.holders)}
        logged = read_or_skip(partial(_read_log, reader, sorted(filter(None, names)), transactions, most_bytes))
        if isinstance(logged, Skipped):
            by_place = {each.place: _unread(each, found, logged) for each in transactions}
            return Decisions(by_place, _how_much(found, len(lost)))
        held = {each.producer_id for each in found.holders}
        return Decisions(
            {
                each.place: Skipped(_not_yet(found))
                if each.transactional_id is None and found.left
                else logged.about(each, _first_ms(reader, each, leaders), held=each.producer.producer_id in held)
                for each in transactions
            },
            _how_much(found, len(lost)),
        )


def _read_holders(reader: ClusterReader, producer_ids: Collection[int], most_bytes: int | None) -> LoggedHolders:
    """Raises Unreachable where a partition of the log was not read."""
    found = reader.logged_holders(producer_ids, most_bytes)
    for reason in found.unread.values():
        raise Unreachable(reason.reason)
    return found


MOST_LOG_BYTES: Final = 2 << 30
"""Of a larger log no more is searched for one answer: some 15 s of CPU. A healthy one of 100,000 IDs has 100 MB."""


def read_former_holders(reader: ClusterReader, producer_ids: Collection[int]) -> frozenset[str]:
    """The IDs that held these producer IDs, by the transaction log; none where the log has none.

    Raises Refused where one was not found in the first MOST_LOG_BYTES, Unreachable where a partition was not read.
    """
    found = _read_holders(reader, producer_ids, MOST_LOG_BYTES)
    lost = set(producer_ids) - {each.producer_id for each in found.holders}
    if lost and found.left:
        searched = f"{found.read_bytes / (1 << 20):,.1f} MiB of the transaction log were searched"
        raise Refused(f"{searched} for the ID of {_named(lost)}, and {pluralize(found.left, 'record')} of it are left")
    return frozenset(each.transactional_id for each in found.holders)


def _named(producer_ids: Collection[int]) -> str:
    return f"producer {min(producer_ids)}" if len(producer_ids) == 1 else f"{len(producer_ids):,} producers"


def _read_log(
    reader: ClusterReader, names: Sequence[str], transactions: Iterable[OpenTransaction], most_bytes: int | None
) -> LoggedDecisions:
    producer_ids = {each.producer.producer_id for each in transactions}
    if not names:
        return LoggedDecisions((), producer_ids)
    log = reader.transaction_log(names, {}, "", most_bytes)
    for reason in log.unread.values():
        raise Unreachable(reason.reason)
    return LoggedDecisions(log.records, producer_ids)


def _unread(transaction: OpenTransaction, found: LoggedHolders, why: Skipped) -> Skipped | None:
    """By the coordinator's answer; without one its producer ID may be of an ID in the log."""
    if transaction.transactional_id is not None:
        return by_coordinator(transaction, why.reason)
    held = any(each.producer_id == transaction.producer.producer_id for each in found.holders)
    return Skipped(_not_yet(found)) if found.left else why if held else None


def _not_yet(found: LoggedHolders) -> str:
    return (
        f"its ID may be in one of {pluralize(found.left, 'record')} of the transaction log that were not read yet; "
        "`eosctl transactions hanging` reads them all"
    )


def _how_much(found: LoggedHolders, lost: int) -> tuple[str, ...]:
    """How much of the log was read for producer IDs that no coordinator knows."""
    if not lost:
        return ()
    what = f"the transaction log was searched for {pluralize(lost, 'producer ID')} that no coordinator knows"
    rest = f"; up to {pluralize(found.left, 'record')} of it are left" if found.left else ""
    return (f"{what}: {found.read_bytes / (1 << 20):,.1f} MiB read{rest}",)


MOST_OPEN: Final = 2000
"""Of so many open transactions the first batch is read, to find those that overtook an earlier one."""
MOST_OFFSETS: Final = 1_000_000
"""The longest range of offsets in which a marker is looked for."""


class Overtaken(NamedTuple):
    """Verdicts on earlier transactions that others, in progress, have overtaken in their partition.

    unread says why others may be missing, None: none is.
    """

    verdicts: tuple[Verdict, ...]
    unread: str | None = None


def read_overtaken(
    reader: ClusterReader, transactions: Collection[OpenTransaction], leaders: Mapping[TopicPartition, int]
) -> Overtaken:
    """The transactions that these have overtaken.

    They must still be open there, at the same offset, after the coordinators were queried.
    """
    with reader.optional_reads():
        at = {(each.topic_partition, each.start_offset): each for each in transactions if each.reason is None}
        first = read_or_skip(lambda: reader.first_batches(tuple(at), leaders) if at else {})
        if isinstance(first, Skipped):
            return Overtaken((), first.reason)
        unread = _unread_batches(at.keys() - first.keys())
        suspects = [(at[each], begun) for each, begun in first.items() if may_be_earlier(at[each], begun)]
        if not suspects:
            return Overtaken((), unread)
        asked = {each.topic_partition: leaders[each.topic_partition] for each, _ in suspects}
        again = reader.producers(asked, quiet=True).producers
        open_now = {each.place for each in join_open_transactions(again, {}, {})}
        suspects = [(each, begun) for each, begun in suspects if each.place in open_now]
        names = sorted({str(each.transactional_id) for each, _ in suspects})
        log = read_or_skip(partial(_read_log, reader, names, [each for each, _ in suspects], None))
        found = (_on_earlier(reader, each, begun, log) for each, begun in suspects)
        return Overtaken(tuple(each for each in found if each is not None), unread or _unread_log(suspects, log))


def _unread_batches(places: Collection[tuple[TopicPartition, int]]) -> str | None:
    if not places:
        return None
    names = first_few([f"{place} at {offset}" for place, offset in sorted(places)], most=3)
    return f"the first batches of {pluralize(len(places), 'transaction')} were not read: {names}"


def _unread_log(suspects: Collection[tuple[OpenTransaction, FirstBatch]], log: LoggedDecisions | Skipped) -> str | None:
    """Why it is not known of a transaction that began before its coordinator's record of it; with one epoch."""
    if not isinstance(log, Skipped):
        return None
    alike = (begun.producer_epoch == each.producer.producer_epoch for each, begun in suspects)
    return f"the transaction log was not read: {log.reason}" if any(alike) else None


def _on_earlier(
    reader: ClusterReader, transaction: OpenTransaction, first: FirstBatch, log: LoggedDecisions | Skipped
) -> Verdict | None:
    """None where the first batch belongs to the transaction in progress, or that is likely and the log was not read."""
    described = transaction.description
    assert described is not None
    if first.producer_epoch < described.producer.producer_epoch:
        earlier = as_written(transaction, first)
        return overtaken(transaction, first, log if isinstance(log, Skipped) else log.about(earlier, first.written_ms))
    last = None if isinstance(log, Skipped) else log.last_before(transaction)
    if last is None:
        return None
    marked = read_or_skip(partial(_has_marker, reader, transaction, last.marked_ms))
    if isinstance(marked, Skipped):
        return overtaken(transaction, first, marked)
    return None if marked else overtaken(transaction, first, last.decision)


def _has_marker(reader: ClusterReader, transaction: OpenTransaction, since_ms: int) -> bool | Skipped:
    """Whether a marker of the producer lies before the transaction, written since then."""
    log, place, start = reader.timeline(), transaction.topic_partition, transaction.start_offset
    if isinstance(log, Skipped | TimelineFacts):
        return Skipped("the markers of the partition were not read")
    begin = log.offsets_at([place], since_ms)[place]
    if begin is None or begin[0] >= start:
        return False
    if start - begin[0] > MOST_OFFSETS:
        return Skipped(f"{start - begin[0]:,} offsets lie before it in which its marker may be")
    producer_id = transaction.producer.producer_id
    markers = [
        each.marker
        for each in log.read(OffsetRange(place.topic, place.partition, begin[0], start, settled=False))
        if isinstance(each, audit_log.ControlBatch)
    ]
    return any(each is not None and each.producer_id == producer_id and each.timestamp >= since_ms for each in markers)


def _first_ms(reader: ClusterReader, transaction: OpenTransaction, leaders: Mapping[TopicPartition, int]) -> int | None:
    place = transaction.topic_partition
    return reader.first_timestamps({place: transaction.start_offset}, {place: leaders[place]}).get(place)
