"""What is wrong with the transactions of one producer ID, and how large and long they were.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.audit.logged_parts import CLOCKS_DIFFER_MS, Matched, match_parts
from eosctl.analysis.audit.transaction_owners import AnomalyKind, Owners
from eosctl.analysis.audit.transaction_parts import Transaction, join_parts
from eosctl.model.audit import LONGEST_TRANSACTION_MS
from eosctl.model.audit_report import Stall
from eosctl.model.audit_states import Part
from eosctl.model.audit_summaries import Anomaly
from eosctl.model.transaction_log_history import LoggedTransaction

GRACE_MS: Final = 5_000
CLOSE_MS: Final = 1_000
STALL_MS: Final = 1_000

NOTHING_LOGGED: Final[Mapping[int, Sequence[LoggedTransaction]]] = {}

Places = tuple[tuple[str, int], ...]


class JudgementInputs(NamedTuple):
    """What transactions are judged by. whole_since: offsets topics are complete from then on (None: none was read).

    logged are transactions by producer ID, where the transaction log was read; offsets_topics are those under audit.
    longest_ms is how long a transaction can be: timestamps older than that are the source's, not the producer's.
    """

    as_of: int
    whole_since: int | None
    owners: Owners
    logged: Mapping[int, Sequence[LoggedTransaction]] = NOTHING_LOGGED
    offsets_topics: frozenset[str] = frozenset()
    longest_ms: int = LONGEST_TRANSACTION_MS


def judge_producer(parts: Sequence[Part], inputs: JudgementInputs) -> Iterator[tuple[Transaction, tuple[Anomaly, ...]]]:
    """Each transaction of one producer ID with its anomalies."""
    logged = inputs.logged.get(parts[0].producer_id, ()) if parts else ()
    matched = match_parts(parts, logged, inputs.as_of) if logged else {}
    transactions = join_parts(parts, matched)
    others = _Others(transactions)
    pending = any(part.offsets and part.marker_offset is None for part in parts)
    for transaction in transactions:
        yield transaction, tuple(_anomalies(transaction, inputs, _Beside(others, pending, matched)))


class _Beside(NamedTuple):
    """What a producer's transactions are judged by beside themselves. pending: offsets of one are open."""

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
    """A committed transaction with offsets, beside data that may be of it."""

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

    def decided_since(self, data: Sequence[Part]) -> int:
        """Rule 1: when data was decided at the earliest, in ms since the epoch."""
        before = bisect_left(self._ends, ended_ms(tuple(data)))
        return max(0, _begun_ms(data), self._ends[before - 1] if before else 0)

    def may_hold(self, data: Sequence[Part]) -> bool:
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


def _places(parts: Iterable[Part]) -> Places:
    return tuple((part.topic, part.partition) for part in parts)


def _without_offsets(data: Sequence[Part], inputs: JudgementInputs, beside: _Beside) -> Iterator[Anomaly]:
    kind = None if beside.pending else _kind(data, inputs, beside)
    yield from () if kind is None else (_trouble(kind, part) for part in data)


def _kind(data: Sequence[Part], inputs: JudgementInputs, beside: _Beside) -> AnomalyKind | None:
    if inputs.whole_since is None or beside.others.decided_since(data) <= inputs.whole_since:
        return AnomalyKind.UNJUDGED
    logged = next((beside.matched[part] for part in data if part in beside.matched), None)
    if logged is not None:
        with_offsets = any(place.topic in inputs.offsets_topics for place in logged.partitions)
        return None if with_offsets else AnomalyKind.DATA_WITHOUT_OFFSETS
    by_clock = any(part.marker_epoch == part.producer_epoch for part in data)
    unclear = by_clock and beside.others.may_hold(data)
    return AnomalyKind.UNCLEAR if unclear else AnomalyKind.DATA_WITHOUT_OFFSETS


def _trouble(kind: AnomalyKind, part: Part) -> Anomaly:
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


def _data(transaction: Transaction) -> list[Part]:
    return [part for part in transaction if not part.offsets and part.records]


def _offsets(transaction: Transaction) -> list[Part]:
    return [part for part in transaction if part.offsets]


def ended_ms(transaction: Transaction) -> int:
    """The time of its last marker, in ms; -1 where it has none."""
    return max((part.marker_timestamp for part in transaction if part.marker_offset is not None), default=-1)


def _begun_ms(transaction: Iterable[Part]) -> int:
    return min(part.first_timestamp for part in transaction)


def duration_ms(transaction: Transaction, longest_ms: int) -> int | None:
    """From the first record to the last marker, by their timestamps; None while it is open, or if they cannot tell."""
    ended = ended_ms(transaction)
    begun = [part.first_timestamp for part in transaction if 0 <= ended - part.first_timestamp <= longest_ms]
    return ended - min(begun) if begun and ended >= 0 else None


def stalls_of(transaction: Transaction, inputs: JudgementInputs) -> Iterator[Stall]:
    """Where it kept a last stable offset back for STALL_MS or longer."""
    for part in transaction:
        until = part.marker_timestamp if part.marker_offset is not None else None
        length = (inputs.as_of if until is None else until) - part.first_timestamp
        if part.records and length >= STALL_MS and (until is None or length <= inputs.longest_ms):
            yield Stall(part.topic, part.partition, part.first, part.first_timestamp, until, part.producer_id, None)
