"""What is wrong with the transactions of one producer ID, and how large and long they were.

1. A committed transaction with data of a connector and no source offsets: the data will be produced again, or was.
   It is judged only if it ended after the time from which the offsets topics are whole: compaction removes offsets.
2. Offsets without data are ordinary (records may be filtered, offsets may be altered) and only counted.
3. A transaction that is ended in one partition and open in another, for longer than GRACE_MS: a marker is missing.
4. Committed in one partition and aborted in another: atomicity is broken.
5. Under transaction.version 0 and 1 parts are put together by the clock. Data without offsets beside offsets without
   data within CLOCKS_DIFFER_MS may be one transaction whose markers two brokers wrote by different clocks: unclear.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.analysis.audit.transaction_parts import Transaction, join_parts
from eosctl.model.audit_report import Stall
from eosctl.model.audit_states import Part
from eosctl.model.audit_summaries import Trouble

GRACE_MS: Final = 5_000
CLOCKS_DIFFER_MS: Final = 60_000
LONGEST_MS: Final = 15 * 60_000
"""Default of transaction.max.timeout.ms; timestamps older than that are the source's, not the producer's."""
STALL_MS: Final = 1_000


class TroubleKind(StrEnum):
    """What can be wrong with a transaction."""

    DATA_WITHOUT_OFFSETS = "data-without-offsets"
    OFFSETS_WITHOUT_DATA = "offsets-without-data"
    MISSING_MARKER = "missing-marker"
    MIXED_MARKERS = "mixed-markers"
    UNCLEAR = "unclear"
    UNJUDGED = "unjudged"


class Owners(NamedTuple):
    """Who is known to write what: connectors of producer IDs, and those that write their records to a topic."""

    producers: Mapping[int, tuple[str, ...]]
    topics: Mapping[str, tuple[str, ...]]

    def of(self, part: Part) -> tuple[str, ...]:
        """The connectors concerned by a part: those of its producer, else those that the topic belongs to."""
        return self.producers.get(part.producer_id) or self.topics.get(part.topic, ())


class Bench(NamedTuple):
    """What transactions are judged by. whole_since: offsets topics are complete from then on (None: none was read)."""

    as_of: int
    whole_since: int | None
    owners: Owners


def judge_producer(parts: Sequence[Part], bench: Bench) -> Iterator[tuple[Transaction, tuple[Trouble, ...]]]:
    """Each transaction of one producer ID with its troubles."""
    transactions = join_parts(parts)
    alone = sorted(
        ended_ms(each) for each in transactions if _is_committed(each) and not _data(each) and _offsets(each)
    )
    pending = any(part.offsets and part.marker_offset is None for part in parts)
    for transaction in transactions:
        yield transaction, tuple(_troubles(transaction, bench, alone, pending))


def _troubles(transaction: Transaction, bench: Bench, alone: list[int], pending: bool) -> Iterator[Trouble]:
    ended = [part for part in transaction if part.marker_offset is not None]
    if not ended:
        return
    if len({part.committed for part in ended}) > 1:
        yield from (_trouble(TroubleKind.MIXED_MARKERS, part, bench) for part in ended[:1])
    if bench.as_of - ended_ms(transaction) > GRACE_MS:
        opened = (part for part in transaction if part.marker_offset is None)
        yield from (_trouble(TroubleKind.MISSING_MARKER, part, bench) for part in opened)
    if not _is_committed(transaction):
        return
    data, offsets = _data(transaction), _offsets(transaction)
    if data and not offsets:
        yield from _without_offsets(data, bench, alone, pending)
    elif offsets and not data and offsets[0].records:
        yield _trouble(TroubleKind.OFFSETS_WITHOUT_DATA, offsets[0], bench)


def _without_offsets(data: Sequence[Part], bench: Bench, alone: list[int], pending: bool) -> Iterator[Trouble]:
    known = [part for part in data if bench.owners.of(part)]
    if not known or pending:
        return
    ended = ended_ms(tuple(data))
    by_clock = any(part.marker_epoch == part.producer_epoch for part in data)
    if bench.whole_since is None or ended <= bench.whole_since:
        kind = TroubleKind.UNJUDGED
    elif by_clock and bisect_left(alone, ended - CLOCKS_DIFFER_MS) < bisect_right(alone, ended + CLOCKS_DIFFER_MS):
        kind = TroubleKind.UNCLEAR
    else:
        kind = TroubleKind.DATA_WITHOUT_OFFSETS
    yield from (_trouble(kind, part, bench) for part in known)


def _trouble(kind: TroubleKind, part: Part, bench: Bench) -> Trouble:
    return Trouble(
        kind.value,
        bench.owners.of(part),
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


def duration_ms(transaction: Transaction) -> int | None:
    """From the first record to the last marker, by their timestamps; None while it is open, or if they cannot tell."""
    ended = ended_ms(transaction)
    begun = [part.first_timestamp for part in transaction if 0 <= ended - part.first_timestamp <= LONGEST_MS]
    return ended - min(begun) if begun and ended >= 0 else None


def stalls_of(transaction: Transaction, bench: Bench) -> Iterator[Stall]:
    """Where it kept a last stable offset back for STALL_MS or longer."""
    for part in transaction:
        until = part.marker_timestamp if part.marker_offset is not None else None
        length = (bench.as_of if until is None else until) - part.first_timestamp
        if part.records and length >= STALL_MS and (until is None or length <= LONGEST_MS):
            owners = bench.owners.of(part)
            connector = owners[0] if len(owners) == 1 else None
            yield Stall(
                part.topic, part.partition, part.first, part.first_timestamp, until, part.producer_id, connector
            )


def carries_data(transaction: Transaction) -> bool:
    """Whether it has records beside offsets."""
    return bool(_data(transaction))
