"""The transactions of one producer in one partition, and one of them in the transaction log.

1. A transaction's batches lie between two markers of its producer ID. Another epoch ends it too: its marker is gone
   then, as the log cleaner takes it in time.
2. In a range that begins in the middle of a log, the first batch of a transaction is the first one seen if a marker or
   another epoch came before it, or if its base sequence is 0: a producer begins so in each epoch (and again after 2^31
   records of one).
3. From transaction.version 2 on each transaction has an epoch of its own, and its marker the next one. Up to 1 several
   transactions share an epoch; time distinguishes them: a coordinator decides, the leaders write the markers, and
   the coordinator logs that it is complete before the producer's next one may begin. When that was is the timestamp of
   the record: the last update in its value is from before the markers (TransactionMetadata.prepareComplete).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.times import CLOCKS_MS
from eosctl.model.tracing import Ending, LoggedTransaction, Written
from eosctl.model.transaction_log import LogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState

DECIDED: Final = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}
COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


class Piece(Struct, frozen=True):
    """Consecutive batches of one transaction in a range; begins: the first one of the transaction is among them."""

    producer_epoch: int
    first_offset: int
    last_offset: int
    begins: bool
    marker: Ending | None = None


def pieces(items: Iterable[Written | Ending], producer_id: int) -> Iterator[Piece]:
    """The transactions of this producer ID in a range, by rules 1 and 2, the last one perhaps without its marker.

    items are transactional batches and markers in offset order, of other producers too. A marker without batches before
    it in the range is of a piece that is all before it: first_offset and last_offset are -1 then.
    """
    piece: Piece | None = None
    after_end = False
    for item in items:
        if isinstance(item, Ending):
            if item.producer_id == producer_id:
                yield replace(piece or Piece(item.producer_epoch, -1, -1, after_end), marker=item)
                piece, after_end = None, True
            continue
        if item.producer_id != producer_id:
            continue
        if piece is not None and piece.producer_epoch != item.producer_epoch:
            yield piece
            piece, after_end = None, True
        if piece is None:
            begins = after_end or item.base_sequence == 0
            piece = Piece(item.producer_epoch, item.first_offset, item.last_offset, begins)
        else:
            piece = replace(piece, last_offset=item.last_offset)
    if piece is not None:
        yield piece


def is_of(marker: Ending, producer: ProducerIdAndEpoch) -> bool:
    """True if the marker can end a transaction of this producer: it has the producer's epoch, or the next one."""
    return marker.producer_id == producer.producer_id and marker.producer_epoch - producer.producer_epoch in {0, 1}


def nearest(
    found: Iterable[Piece],
    producer: ProducerIdAndEpoch,
    ending: Ending | None,
    logged: LoggedTransaction | None = None,
) -> tuple[Piece, bool] | None:
    """The piece of the same transaction in another partition, and whether it is certain; None if there is none.

    ending is its marker in the partition of the record; None: it is open. logged is the transaction in the log, if that
    has this partition in it. Without it both only ended together, as consecutive transactions may: that is never
    certain.
    """
    if ending is None:
        opened = [each for each in found if each.marker is None and each.producer_epoch == producer.producer_epoch]
        return (opened[-1], True) if opened else None
    ended = [each for each in found if each.marker is not None and _ends_alike(each.marker, ending)]
    if not ended:
        return None
    if has_own_epoch(producer, ending):
        return ended[-1], True
    near = [each for each in ended if _apart_ms(each, ending) <= CLOCKS_MS]
    if not near:
        return None
    within = [each for each in near if logged is not None and each.marker and logged.spans(each.marker.timestamp)]
    best = within[0] if len(within) == 1 else min(near, key=lambda each: _apart_ms(each, ending))
    return best, len(near) == 1 and logged is not None and logged.certain


def has_own_epoch(producer: ProducerIdAndEpoch, ending: Ending) -> bool:
    """Whether no other transaction has the marker's epoch: its end raised it, by rule 3 or because it was fenced."""
    return ending.producer_epoch == producer.producer_epoch + 1


def _ends_alike(marker: Ending, ending: Ending) -> bool:
    same = (ending.producer_id, ending.producer_epoch, ending.committed)
    return (marker.producer_id, marker.producer_epoch, marker.committed) == same


def _apart_ms(piece: Piece, ending: Ending) -> int:
    return abs(piece.marker.timestamp - ending.timestamp) if piece.marker is not None else 1 << 62


@dataclass(slots=True)
class _Past:
    """The log's records of one ID up to a record: complete since when, and the possible transactions.

    Compaction keeps the last record of an ID in the cleaned part, and all records after it. So every record after the
    first remaining one is there, and a session whose beginning (Empty) is there is complete.
    """

    since_ms: int
    candidates: list[LoggedTransaction] = field(default_factory=list)
    last: TransactionLogValue | None = None


def logged_transaction(
    records: Iterable[LogRecord],
    producer: ProducerIdAndEpoch,
    place: TopicPartition,
    ending: Ending | None,
) -> tuple[str | None, LoggedTransaction | Skipped]:
    """The holder of the producer ID, and the producer's transaction with `place` that ended so.

    ending None: it is in progress. It is certain if it has its own epoch, or if no other one ended within CLOCKS_MS; by
    the time alone it is not. Skipped if the log does not have it (any more), or has several candidates.
    """
    past: dict[str, _Past] = {}
    for record in records:
        if not isinstance(record, TransactionLogRecord) or record.value is None:
            continue
        value = record.value
        ids = {value.producer.producer_id, value.previous_producer_id, value.next_producer_id}
        if producer.producer_id in ids:
            one = past.setdefault(record.transactional_id, _Past(record.timestamp))
            _follow(one, record, value, producer, place, ending)
    holder = next(iter(past), None)
    found = [each for one in past.values() for each in one.candidates]
    if ending is None:
        opened = [
            LoggedTransaction(name, one.last.partitions or (), one.last.start_ms)
            for name, one in past.items()
            if one.last is not None and one.last.state is TransactionState.ONGOING and one.last.producer == producer
        ]
        missing = "the transaction log has no transaction in progress of this producer"
        return holder, opened[0] if opened else Skipped(missing)
    if has_own_epoch(producer, ending) and len(found) == 1:
        return holder, found[0]
    near = [each for each in found if each.spans(ending.timestamp, CLOCKS_MS)]
    whole = any(one.since_ms < ending.timestamp - CLOCKS_MS for one in past.values() if one.candidates)
    if len(near) == 1 and whole:
        return holder, near[0]
    within = [each for each in near if each.spans(ending.timestamp)]
    if len(within) == 1:
        return holder, replace(within[0], certain=False)
    if within:
        return holder, Skipped(f"the transaction log has {len(within)} transactions of this producer at that time")
    return holder, Skipped("the transaction log no longer has this transaction")


def _follow(
    past: _Past,
    record: TransactionLogRecord,
    value: TransactionLogValue,
    producer: ProducerIdAndEpoch,
    place: TopicPartition,
    ending: Ending | None,
) -> None:
    past.last = value
    if value.state is TransactionState.EMPTY and value.producer == producer:
        past.since_ms = 0
    if value.state in COMPLETE and past.candidates and past.candidates[-1].completed_ms is None:
        past.candidates[-1] = replace(past.candidates[-1], completed_ms=record.timestamp)
    if ending is None or DECIDED.get(value.state) is not ending.committed:
        return
    held, places = (value.producer.producer_id, value.producer.producer_epoch), value.partitions or ()
    if held == (producer.producer_id, ending.producer_epoch) and place in places:
        begun = value.start_ms if value.start_ms >= 0 else None
        past.candidates.append(LoggedTransaction(record.transactional_id, places, begun, value.last_update_ms))
