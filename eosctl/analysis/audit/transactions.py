"""Anomalies, sizes and durations of the transactions of one producer ID.

1. A committed transaction with data of a connector and no source offsets: the data will be produced again, or was.
   It is judged only if it was decided after the time from which the offsets topics are whole: compaction removes
   offsets. A marker may be written long after the decision, but the decision is not before the transaction began, nor
   before the producer's previous one ended.
2. Offsets without data are ordinary (a connector may abort its records, offsets may be altered) and only counted.
3. A transaction that is ended in one partition and open in another, for longer than GRACE_MS: a marker is missing.
4. Committed in one partition and aborted in another: atomicity is broken.
5. Under transaction.version 0 and 1 parts are put together by the clock. Data without offsets may belong to another
   transaction with offsets if two brokers wrote their markers by different clocks. That is unclear if the other one has
   nothing in the same partitions, and ended within CLOCKS_DIFFER_MS without data, or within CLOSE_MS; or within
   CLOCKS_DIFFER_MS, while none with offsets there has anything in these partitions, so that nothing shows equal clocks.
   Brokers before 4.3 write the marker of a partition without leader once it has one: hours after the others. Nothing
   of the producer ends meanwhile. So it is unclear, too, beside offsets without data that ended next before it or next
   after it, unless one began after the other had ended.
   The transaction log settles it where it was read: it names all partitions of a transaction.

Nothing here asks whose a producer ID is: that may become known later, when the transactions are closed. See
`transaction_owners`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from eosctl.analysis.audit.owners import AnomalyKind, Owners, name_owners, name_stall
from eosctl.analysis.audit.scan import extend_items, join_items
from eosctl.model.audit import (
    LONGEST_TRANSACTION_MS,
    Anomaly,
    ClosedTransactions,
    CommittedData,
    OffsetsWrite,
    OutputPart,
    OwnerFigures,
    Stall,
    Tally,
    TransactionSummary,
)
from eosctl.model.audit_states import KEPT_PLACES, ItemKind, ProducerItems, TransactionItem, TransactionPart
from eosctl.model.names import TopicPartition
from eosctl.model.transaction_log import LoggedTransaction

# Transactions of one producer ID, joined from their parts in each partition.
#
# 1. In one partition, data up to the next marker is one part of a transaction. A marker without data is a part, too,
#    if it commits: compaction removed its records.
# 2. Under transaction.version 2 (KIP-890) a marker has the epoch of its data plus one, and the next transaction that
#    epoch: parts with the same epoch of data are one transaction.
# 3. Under versions 0 and 1 all transactions of a session share an epoch, and one follows the other: parts whose
#    markers were written within TOGETHER_MS are one transaction, unless they lie in the same partition.
# 4. Where the transaction log was read, it is more exact than the clock which of those are one (see `logged_parts`).


TOGETHER_MS: Final = 5
"""Markers of one transaction were seen 1 ms apart at most where the brokers share a clock."""

NOTHING_MATCHED: Final[Mapping[TransactionPart, LoggedTransaction]] = {}

Transaction = tuple[TransactionPart, ...]


def parts_of(
    topic_partition: TopicPartition, producer_id: int, items: Iterable[TransactionItem], *, offsets: bool
) -> Iterator[TransactionPart]:
    """The parts that a producer ID's transactions left in one partition, in offset order; the last may be open."""
    data: TransactionItem | None = None
    for item in items:
        if item.kind is ItemKind.DATA:
            if data is not None:
                yield _part(topic_partition, producer_id, data, None, offsets=offsets)
            data = item
            continue
        if data is not None or item.kind is ItemKind.COMMIT:
            yield _part(topic_partition, producer_id, data, item, offsets=offsets)
        data = None
    if data is not None:
        yield _part(topic_partition, producer_id, data, None, offsets=offsets)


def _part(
    place: TopicPartition,
    producer_id: int,
    data: TransactionItem | None,
    marker: TransactionItem | None,
    *,
    offsets: bool,
) -> TransactionPart:
    known = data or marker
    assert known is not None
    return TransactionPart(
        topic=place.topic,
        partition=place.partition,
        offsets=offsets,
        producer_id=producer_id,
        producer_epoch=known.producer_epoch,
        first=known.offset,
        last=known.last_offset,
        records=0 if data is None else data.records,
        size_bytes=0 if data is None else data.size_bytes,
        first_timestamp=known.first_timestamp,
        committed=marker is not None and marker.kind is ItemKind.COMMIT,
        marker_offset=None if marker is None else marker.offset,
        marker_timestamp=-1 if marker is None else marker.first_timestamp,
        marker_epoch=-1 if marker is None else marker.producer_epoch,
    )


def raises_epochs(parts: Iterable[TransactionPart]) -> bool | None:
    """True if the producer's commits raise its epoch (transaction.version 2); None if no commit shows it."""
    for part in parts:
        if part.committed and part.records:
            return part.marker_epoch == part.producer_epoch + 1
    return None


def join_parts(
    parts: Iterable[TransactionPart], matched: Mapping[TransactionPart, LoggedTransaction] = NOTHING_MATCHED
) -> list[Transaction]:
    """Joins parts of the same transaction of one producer ID, in the order of their markers."""
    ended = [part for part in parts if part.marker_offset is not None]
    opened = [part for part in parts if part.marker_offset is None]
    by_epoch: dict[int, list[TransactionPart]] = {}
    clocked: list[TransactionPart] = []
    raising = {epoch for epoch, group in _by_epoch(ended).items() if raises_epochs(group)}
    by_log: dict[LoggedTransaction, list[TransactionPart]] = {}
    for part in ended:
        if part in matched:
            by_log.setdefault(matched[part], []).append(part)
            continue
        epoch = part.producer_epoch if part.records else part.marker_epoch - 1
        if epoch in raising:
            by_epoch.setdefault(epoch, []).append(part)
        else:
            clocked.append(part)
    for part in opened:
        if part.producer_epoch in by_epoch:
            by_epoch[part.producer_epoch].append(part)
    joined = [tuple(group) for group in (*by_epoch.values(), *by_log.values())]
    joined += _join_by_clock(clocked)
    joined += [(part,) for part in opened if part.producer_epoch not in by_epoch]
    return sorted(joined, key=_order)


def _by_epoch(parts: Iterable[TransactionPart]) -> Mapping[int, list[TransactionPart]]:
    groups: dict[int, list[TransactionPart]] = {}
    for part in parts:
        groups.setdefault(part.producer_epoch, []).append(part)
    return groups


def _join_by_clock(parts: list[TransactionPart]) -> list[Transaction]:
    parts.sort(key=lambda part: (part.marker_timestamp, not part.offsets, part.topic, part.partition, part.first))
    groups: list[list[TransactionPart]] = []
    taken: set[tuple[str, int]] = set()
    for part in parts:
        place = part.topic, part.partition
        near = groups and part.marker_timestamp - groups[-1][0].marker_timestamp <= TOGETHER_MS
        if near and place not in taken and part.committed == groups[-1][0].committed:
            groups[-1].append(part)
        else:
            groups.append([part])
            taken = set()
        taken.add(place)
    return [tuple(group) for group in groups]


def _order(transaction: Transaction) -> tuple[int, str, int, int]:
    first = min(transaction, key=lambda part: (part.topic, part.partition, part.first))
    ended = [part.marker_timestamp for part in transaction if part.marker_offset is not None]
    return min(ended, default=1 << 62), first.topic, first.partition, first.first


# The logged transaction of a committed part of one producer ID, under transaction.version 0 and 1.
#
# 1. Transactions of a session follow each other. So the committed parts in one partition and the logged transactions
#    that committed there are the same ones in the same order.
# 2. They are put together one by one only if none is missing: there are at least as many parts as transactions that
#    were complete SETTLED_MS before the audit, and no more than were decided at all. Compaction, retention, or a log
#    that begins later leave a partition unmatched.
# 3. A marker is written between the decision and the completion, which are hours apart where a partition had no
#    leader. The broker of the partition and the coordinator have a clock each. If the marker is outside by more than
#    CLOCKS_DIFFER_MS, they would rather be different transactions: the partition is unmatched.


SETTLED_MS: Final = 10_000
CLOCKS_DIFFER_MS: Final = 60_000

Matched = Mapping[TransactionPart, LoggedTransaction]


def match_parts(parts: Iterable[TransactionPart], logged: Sequence[LoggedTransaction], as_of: int) -> Matched:
    """Parts with their transactions, those that could be matched."""
    sessions: dict[int, list[LoggedTransaction]] = {}
    for transaction in logged:
        if transaction.committed:
            sessions.setdefault(transaction.producer_epoch, []).append(transaction)
    places: dict[tuple[int, TopicPartition], list[TransactionPart]] = {}
    for part in parts:
        if part.committed and part.marker_epoch == part.producer_epoch:
            places.setdefault((part.producer_epoch, TopicPartition(part.topic, part.partition)), []).append(part)
    matched: dict[TransactionPart, LoggedTransaction] = {}
    for (epoch, place), mine in places.items():
        theirs = [each for each in sessions.get(epoch, ()) if place in each.partitions]
        settled = sum(each.completed_ms is not None and each.completed_ms <= as_of - SETTLED_MS for each in theirs)
        pairs = list(zip(sorted(mine, key=attrgetter("first")), theirs, strict=False))
        if settled <= len(mine) <= len(theirs) and all(_may_be_of(part, each) for part, each in pairs):
            matched.update(pairs)
    return matched


def _may_be_of(part: TransactionPart, logged: LoggedTransaction) -> bool:
    after = logged.completed_ms is not None and part.marker_timestamp > logged.completed_ms + CLOCKS_DIFFER_MS
    return part.marker_timestamp >= logged.decided_ms - CLOCKS_DIFFER_MS and not after


GRACE_MS: Final = 5_000
CLOSE_MS: Final = 1_000
STALL_MS: Final = 1_000

NOTHING_LOGGED: Final[Mapping[int, Sequence[LoggedTransaction]]] = {}

Places = tuple[tuple[str, int], ...]


class JudgementInputs(NamedTuple):
    """Inputs of the judgement of transactions. whole_since: offsets topics are complete since then (None: not read).

    logged are transactions by producer ID, where the transaction log was read; offsets_topics are those under audit.
    longest_ms is how long a transaction can be: timestamps older than that are the source's, not the producer's.
    """

    as_of: int
    whole_since: int | None
    owners: Owners
    logged: Mapping[int, Sequence[LoggedTransaction]] = NOTHING_LOGGED
    offsets_topics: frozenset[str] = frozenset()
    longest_ms: int = LONGEST_TRANSACTION_MS


def judge_producer(
    parts: Sequence[TransactionPart], inputs: JudgementInputs
) -> Iterator[tuple[Transaction, tuple[Anomaly, ...]]]:
    """Each transaction of one producer ID with its anomalies."""
    logged = inputs.logged.get(parts[0].producer_id, ()) if parts else ()
    matched = match_parts(parts, logged, inputs.as_of) if logged else {}
    transactions = join_parts(parts, matched)
    others = _Others(transactions)
    pending = any(part.offsets and part.marker_offset is None for part in parts)
    for transaction in transactions:
        yield transaction, tuple(_anomalies(transaction, inputs, _Beside(others, pending, matched)))


class _Beside(NamedTuple):
    """Facts beside a producer's transactions that judging them needs. pending: offsets of one are open."""

    others: "_Others"
    pending: bool
    matched: Matched


def _anomalies(transaction: Transaction, inputs: JudgementInputs, beside: _Beside) -> Iterator[Anomaly]:
    ended = [part for part in transaction if part.marker_offset is not None]
    if not ended:
        return
    if len({part.committed for part in ended}) > 1:
        yield _trouble(AnomalyKind.MIXED_MARKERS, ended[0])
    if inputs.as_of - ended_ms(transaction) > GRACE_MS:
        opened = (part for part in transaction if part.marker_offset is None)
        yield from (_trouble(AnomalyKind.MISSING_MARKER, part) for part in opened)
    if not _is_committed(transaction):
        return
    data, offsets = _data(transaction), _offsets(transaction)
    if data and not offsets:
        yield from _without_offsets(data, inputs, beside)
    elif offsets and not data and offsets[0].records:
        yield _trouble(AnomalyKind.OFFSETS_WITHOUT_DATA, offsets[0])


class _Other(NamedTuple):
    """A committed transaction with offsets beside data that may belong to it."""

    ended: int
    begun: int
    with_data: bool
    places: Places


class _Others:
    """A producer's transactions, by the time at which they ended."""

    def __init__(self, transactions: Sequence[Transaction]) -> None:
        committed = (each for each in transactions if _is_committed(each) and _offsets(each))
        self._with_offsets = sorted(
            _Other(ended_ms(each), _begun_ms(each), bool(_data(each)), _places(each)) for each in committed
        )
        self._ends = sorted(ended for each in transactions if (ended := ended_ms(each)) >= 0)

    def decided_since(self, data: Sequence[TransactionPart]) -> int:
        """Rule 1: the earliest time at which data was decided, in ms since the epoch."""
        before = bisect_left(self._ends, ended_ms(tuple(data)))
        return max(_begun_ms(data), self._ends[before - 1] if before else 0)

    def may_hold(self, data: Sequence[TransactionPart]) -> bool:
        """Rule 5, for data without offsets."""
        ended, begun, places = ended_ms(tuple(data)), _begun_ms(data), set(_places(data))
        first, last = ended - CLOCKS_DIFFER_MS, ended + CLOCKS_DIFFER_MS
        apart = [each for each in self._within(*self._next(first, last)) if places.isdisjoint(each.places)]
        for each in apart:
            overlaps = each.begun <= last and begun <= each.ended + CLOCKS_DIFFER_MS
            if (overlaps and not each.with_data) or abs(each.ended - ended) <= CLOSE_MS:
                return True
        near = self._within(first, last)
        found = any(places.isdisjoint(each.places) for each in near)
        return found and all(places.isdisjoint(each.places) for each in near)

    def _next(self, first: int, last: int) -> tuple[int, int]:
        """From the last end before these times to the first after them, clocks that differ included."""
        before, after = bisect_left(self._ends, first), bisect_right(self._ends, last)
        return (
            self._ends[before - 1] - CLOCKS_DIFFER_MS if before else first,
            self._ends[after] + CLOCKS_DIFFER_MS if after < len(self._ends) else last,
        )

    def _within(self, first: int, last: int) -> Sequence[_Other]:
        begin = bisect_left(self._with_offsets, first, key=_ended)
        return self._with_offsets[begin : bisect_right(self._with_offsets, last, key=_ended)]


def _ended(other: _Other) -> int:
    return other.ended


def _places(parts: Iterable[TransactionPart]) -> Places:
    return tuple((part.topic, part.partition) for part in parts)


def _without_offsets(data: Sequence[TransactionPart], inputs: JudgementInputs, beside: _Beside) -> Iterator[Anomaly]:
    kind = None if beside.pending else _kind(data, inputs, beside)
    yield from () if kind is None else (_trouble(kind, part) for part in data)


def _kind(data: Sequence[TransactionPart], inputs: JudgementInputs, beside: _Beside) -> AnomalyKind | None:
    if inputs.whole_since is None or beside.others.decided_since(data) <= inputs.whole_since:
        return AnomalyKind.UNJUDGED
    logged = next((beside.matched[part] for part in data if part in beside.matched), None)
    if logged is not None:
        with_offsets = any(place.topic in inputs.offsets_topics for place in logged.partitions)
        return None if with_offsets else AnomalyKind.DATA_WITHOUT_OFFSETS
    by_clock = any(part.marker_epoch == part.producer_epoch for part in data)
    unclear = by_clock and beside.others.may_hold(data)
    return AnomalyKind.UNCLEAR if unclear else AnomalyKind.DATA_WITHOUT_OFFSETS


def _trouble(kind: AnomalyKind, part: TransactionPart) -> Anomaly:
    return Anomaly(
        kind.value,
        (),
        part.topic,
        part.partition,
        part.first,
        part.last,
        part.producer_id,
        part.producer_epoch,
        part.marker_timestamp if part.marker_offset is not None else part.first_timestamp,
        part.records,
    )


def _is_committed(transaction: Transaction) -> bool:
    return any(part.committed for part in transaction)


def _data(transaction: Transaction) -> list[TransactionPart]:
    return [part for part in transaction if not part.offsets and part.records]


def _offsets(transaction: Transaction) -> list[TransactionPart]:
    return [part for part in transaction if part.offsets]


def ended_ms(transaction: Transaction) -> int:
    """The time of its last marker, in ms; -1 where it has none."""
    return max((part.marker_timestamp for part in transaction if part.marker_offset is not None), default=-1)


def _begun_ms(transaction: Iterable[TransactionPart]) -> int:
    return min(part.first_timestamp for part in transaction)


def duration_ms(transaction: Transaction, longest_ms: int) -> int | None:
    """From the first record to the last marker, by their timestamps; None while it is open, or if they cannot tell."""
    ended = ended_ms(transaction)
    begun = [part.first_timestamp for part in transaction if 0 <= ended - part.first_timestamp <= longest_ms]
    return ended - min(begun) if begun and ended >= 0 else None


def stalls_of(transaction: Transaction, inputs: JudgementInputs) -> Iterator[Stall]:
    """Partitions where the transaction kept a last stable offset back for STALL_MS or longer."""
    for part in transaction:
        until = part.marker_timestamp if part.marker_offset is not None else None
        length = (inputs.as_of if until is None else until) - part.first_timestamp
        if length >= STALL_MS and (until is None or length <= inputs.longest_ms):
            yield Stall(part.topic, part.partition, part.first, part.first_timestamp, until, part.producer_id, None)


# Conclusions about transactions, added up. Adding is associative: parts may come in any grouping.


KEPT_STALLS: Final = 100
Place = tuple[str, tuple[str, ...], str]


class AskedWrites:
    """Source offsets, found by the transaction that they were committed in."""

    def __init__(self, asked: Iterable[OffsetsWrite]) -> None:
        self._all = frozenset(asked)
        self._of: dict[tuple[int, str, int], list[OffsetsWrite]] = {}
        for each in sorted(self._all):
            self._of.setdefault((each.producer_id, each.topic, each.partition), []).append(each)

    def committed_in(self, transaction: Transaction) -> tuple[CommittedData, ...]:
        """The writes whose record belongs to this transaction, with its data."""
        mine = [each for part in transaction if part.offsets and self._of for each in self._inside(part)]
        if not mine:
            return ()
        data = tuple(
            OutputPart(part.topic, part.partition, part.first, part.last, part.records)
            for part in transaction
            if part.records and not part.offsets
        )
        return tuple(CommittedData(each, data) for each in mine)

    def still(self, committed: Iterable[CommittedData]) -> tuple[CommittedData, ...]:
        """Requests of earlier audits that this one repeats."""
        return tuple(each for each in committed if each.write in self._all)

    def _inside(self, part: TransactionPart) -> Sequence[OffsetsWrite]:
        mine = self._of.get((part.producer_id, part.topic, part.partition), ())
        return mine[bisect_left(mine, part.first, key=_offset) : bisect_right(mine, part.last, key=_offset)]


def _offset(write: OffsetsWrite) -> int:
    return write.offset


class Totals:
    """A sum that grows: of summaries, and of single transactions."""

    def __init__(self) -> None:
        self._figures: dict[str | None, _Figures] = {}
        self._tallies: Counter[Place] = Counter()
        self._records: Counter[Place] = Counter()
        self._anomalies: dict[Place, set[Anomaly]] = {}
        self._stalls: set[Stall] = set()
        self._committed: set[CommittedData] = set()

    def add(self, summary: TransactionSummary) -> None:
        for each in summary.figures:
            self._of(each.connector).add(each)
        for tally in summary.tallies:
            self._tallies[tally[:3]] += tally.transactions
            self._records[tally[:3]] += tally.records
        self._add_places(summary.anomalies)
        self._add_stalls(summary.stalls)
        self._committed.update(summary.committed)

    def add_transaction(
        self,
        transaction: Transaction,
        anomalies: Sequence[Anomaly],
        committed: Iterable[CommittedData],
        inputs: JudgementInputs,
    ) -> None:
        """Takes in a transaction, which counts once per kind of anomaly and topic; it names no owner."""
        self._of(None).add_transaction(transaction, inputs.longest_ms)
        for anomaly in anomalies:
            self._records[anomaly[:3]] += anomaly.records
        for place in {anomaly[:3] for anomaly in anomalies}:
            self._tallies[place] += 1
        self._add_places(anomalies)
        self._add_stalls(stalls_of(transaction, inputs))
        self._committed.update(committed)

    def _of(self, connector: str | None) -> "_Figures":
        figures = self._figures.get(connector)
        if figures is None:
            figures = self._figures[connector] = _Figures()
        return figures

    def _add_places(self, anomalies: Iterable[Anomaly]) -> None:
        for anomaly in anomalies:
            known = self._anomalies.setdefault(anomaly[:3], set())
            known.add(anomaly)
            if len(known) > 10 * KEPT_PLACES:
                self._anomalies[anomaly[:3]] = set(first_troubles(known))

    def _add_stalls(self, stalls: Iterable[Stall]) -> None:
        self._stalls.update(stalls)
        if len(self._stalls) > 10 * KEPT_STALLS:
            self._stalls = set(_longest_stalls(self._stalls))

    def result(self) -> TransactionSummary:
        names = sorted(self._figures, key=lambda each: (each is None, each or ""))
        return TransactionSummary(
            tuple(self._figures[name].result(name) for name in names),
            tuple(Tally(*place, self._tallies[place], self._records[place]) for place in sorted(self._tallies)),
            first_troubles(anomaly for place in sorted(self._anomalies) for anomaly in self._anomalies[place]),
            _longest_stalls(self._stalls),
            tuple(sorted(self._committed)),
        )


class _Figures:
    """Figures of one connector that grow."""

    def __init__(self) -> None:
        self._sums = (0, 0, 0, 0, 0, 0)
        self._sizes: Counter[int] = Counter()
        self._durations: Counter[int] = Counter()

    def add(self, figures: OwnerFigures) -> None:
        self._add(*figures[1:7])
        self._sizes.update(dict(figures.sizes))
        self._durations.update(dict(figures.durations))

    def add_transaction(self, transaction: Transaction, longest_ms: int) -> None:
        ended = [part for part in transaction if part.marker_offset is not None]
        if not ended:
            return
        data = [part for part in ended if not part.offsets]
        records, size = sum(part.records for part in data), sum(part.size_bytes for part in data)
        committed = any(part.committed for part in ended)
        added = (1, 0, records, size, 0, 0) if committed else (0, 1, 0, 0, records, size)
        self._add(*added)
        duration = duration_ms(transaction, longest_ms) if committed else None
        if committed:
            self._sizes[records.bit_length()] += 1
        if duration is not None:
            self._durations[duration.bit_length()] += 1

    def _add(self, *added: int) -> None:
        one, two, three, four, five, six = (had + more for had, more in zip(self._sums, added, strict=True))
        self._sums = one, two, three, four, five, six

    def result(self, connector: str | None) -> OwnerFigures:
        histograms = tuple(sorted(self._sizes.items())), tuple(sorted(self._durations.items()))
        return OwnerFigures(connector, *self._sums, *histograms)


def add_summaries(summaries: Iterable[TransactionSummary]) -> TransactionSummary:
    totals = Totals()
    for summary in summaries:
        totals.add(summary)
    return totals.result()


def first_troubles(anomalies: Iterable[Anomaly]) -> tuple[Anomaly, ...]:
    """The earliest KEPT_PLACES of each kind, connectors and topic."""
    kept: dict[tuple[str, tuple[str, ...], str], list[Anomaly]] = {}
    for anomaly in sorted(anomalies, key=lambda each: (each[:3], each.timestamp, each[3:])):
        places = kept.setdefault(anomaly[:3], [])
        if len(places) < KEPT_PLACES:
            places.append(anomaly)
    return tuple(anomaly for places in kept.values() for anomaly in places)


def _longest_stalls(stalls: Iterable[Stall]) -> tuple[Stall, ...]:
    return tuple(sorted(stalls, key=_longest)[:KEPT_STALLS])


def _longest(stall: Stall) -> tuple[float, Stall]:
    length = float("inf") if stall.until_ms is None else stall.until_ms - stall.from_ms
    return -length, stall._replace(until_ms=stall.until_ms or 0, connector=stall.connector or "")


# The transactions of some producer IDs in all partitions: conclusions now, and carried items for a later run.
#
# A transaction is closed when nothing can be added to it, or to what it is judged by: its last marker is older than
# OPEN_FOR_MS, its producer has no open part, and those that are not settled in all partitions ended more than
# BESIDE_MS later. Closed ones are kept as a summary for each producer ID, the others as items.


OPEN_FOR_MS: Final = 15 * 60_000
BESIDE_MS: Final = CLOCKS_DIFFER_MS + TOGETHER_MS
"""As far as the judgement of a transaction, and where the clock puts its parts, looks at others."""

ProducerPlaces = dict[TopicPartition, list[tuple[ProducerItems, ...]]]
Items = dict[int, dict[TopicPartition, tuple[TransactionItem, ...]]]


class Known(NamedTuple):
    """Items of settled ranges and tails in offset order, and what earlier runs concluded."""

    settled: ProducerPlaces
    tails: ProducerPlaces
    closed: ClosedTransactions


class TransactionConclusion(NamedTuple):
    """Summary including, and excluding, open transactions, and the items of the open ones."""

    now: TransactionSummary
    closed: ClosedTransactions
    left: Mapping[TopicPartition, tuple[ProducerItems, ...]]


def reduce_transactions(
    known: Known, inputs: JudgementInputs, offsets_topics: frozenset[str], asked_writes: Sequence[OffsetsWrite]
) -> TransactionConclusion:
    """Judges every transaction, and separates closed transactions from open ones."""
    inputs = inputs._replace(offsets_topics=offsets_topics)
    settled, tails = _by_producer(known.settled), _by_producer(known.tails)
    before = dict(known.closed.producers)
    now, closed = Totals(), _Closed()
    now.add(TransactionSummary(stalls=tuple(name_stall(each, inputs.owners) for each in known.closed.stalls)))
    asked = AskedWrites(asked_writes)
    for total in (now, closed.shared):
        total.add(TransactionSummary(committed=asked.still(known.closed.committed)))
    closed.shared.add(TransactionSummary(stalls=known.closed.stalls))
    left: dict[TopicPartition, list[ProducerItems]] = {}
    for producer_id in sorted(settled.keys() | tails.keys() | before.keys()):
        mine = settled.get(producer_id, {})
        behind = tails.get(producer_id, {})
        whole = {place: join_items(mine.get(place, ()), behind.get(place, ())) for place in {**mine, **behind}}
        judged = list(judge_producer(list(_parts(producer_id, whole, offsets_topics)), inputs))
        closed_until = _closed_until([transaction for transaction, _ in judged], mine, inputs.as_of)
        of_now, of_closed = Totals(), Totals()
        for total in (of_now, of_closed):
            total.add(before.get(producer_id, TransactionSummary()))
        still: dict[TopicPartition, set[int]] = {}
        for transaction, anomalies in judged:
            committed = asked.committed_in(transaction)
            of_now.add_transaction(transaction, anomalies, committed, inputs)
            if ended_ms(transaction) < closed_until:
                of_closed.add_transaction(transaction, anomalies, committed, inputs)
                continue
            for part in transaction:
                still.setdefault(TopicPartition(part.topic, part.partition), set()).add(part.first)
        now.add(name_owners(producer_id, of_now.result(), inputs.owners))
        closed.add(producer_id, of_closed.result())
        for place, items in mine.items():
            kept = _still_open(items, still.get(place, set()))
            if kept:
                left.setdefault(place, []).append(ProducerItems(producer_id, kept))
    frozen = {place: tuple(items) for place, items in left.items()}
    return TransactionConclusion(now.result(), closed.result(), frozen)


class _Closed:
    """Conclusions about closed transactions that grow."""

    def __init__(self) -> None:
        self.shared = Totals()
        self._producers: list[tuple[int, TransactionSummary]] = []

    def add(self, producer_id: int, summary: TransactionSummary) -> None:
        self.shared.add(TransactionSummary(stalls=summary.stalls, committed=summary.committed))
        own = summary._replace(stalls=(), committed=())
        if own != TransactionSummary():
            self._producers.append((producer_id, own))

    def result(self) -> ClosedTransactions:
        shared = self.shared.result()
        return ClosedTransactions(tuple(self._producers), shared.stalls, shared.committed)


def _by_producer(places: ProducerPlaces) -> Items:
    items: dict[int, dict[TopicPartition, list[TransactionItem]]] = {}
    for place, rows in places.items():
        for row in rows:
            for producer_id, found in row:
                extend_items(items.setdefault(producer_id, {}).setdefault(place, []), found)
    return {producer_id: {place: tuple(found) for place, found in mine.items()} for producer_id, mine in items.items()}


def _parts(
    producer_id: int, items: Mapping[TopicPartition, tuple[TransactionItem, ...]], offsets_topics: frozenset[str]
) -> Iterable[TransactionPart]:
    for place in sorted(items):
        yield from parts_of(place, producer_id, items[place], offsets=place.topic in offsets_topics)


def _closed_until(
    transactions: Sequence[Transaction], settled: Mapping[TopicPartition, tuple[TransactionItem, ...]], as_of: int
) -> int:
    """Transactions of one producer ID that ended before this time are closed."""
    bounds = {place: items[-1].last_offset for place, items in settled.items()}
    until = as_of - OPEN_FOR_MS
    for transaction in transactions:
        if any(part.marker_offset is None for part in transaction):
            return -1
        if any(
            (part.marker_offset or 0) > bounds.get(TopicPartition(part.topic, part.partition), -1)
            for part in transaction
        ):
            until = min(until, ended_ms(transaction) - BESIDE_MS)
    return until


def _still_open(items: Iterable[TransactionItem], first: set[int]) -> tuple[TransactionItem, ...]:
    """Items of transactions whose first offset is in `first`, with their markers; data at the end stays."""
    kept: list[TransactionItem] = []
    waiting: list[TransactionItem] = []
    for item in items:
        waiting.append(item)
        if item.kind != 0:
            if waiting[0].offset in first:
                kept += waiting
            waiting = []
    return tuple(kept + waiting)
