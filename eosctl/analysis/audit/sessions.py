"""Producer sessions: where a producer ID began again, by the epochs of its batches and markers in all partitions.

1. InitProducerId raises the epoch. Under transaction.version 0 and 1 nothing else raises it: each epoch is a session.
2. Under version 2 (KIP-890) every commit raises it: its marker has the epoch of its data plus one, and the producer
   goes on with that. So an epoch to which a commit in any partition raised it begins no session.
3. A marker that aborts may be InitProducerId's own, for a transaction that was left open: its epoch proves nothing.
4. A partition sees some of a producer's transactions only. What looks like a beginning there is one if no partition
   has a commit that raised the epoch to it.
5. A range knows nothing of earlier ones; the merge compares its first data with the end of the previous range.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.audit.batches import BatchWriter, Header, first_time
from eosctl.model.audit_states import ProducerState, SessionStart

NO_EPOCH: Final = -1
NO_WRITER: Final = BatchWriter(NO_EPOCH, NO_EPOCH, False)
MOST: Final = 1 << 16
Intervals = tuple[tuple[int, int], ...]


class _Producer:
    """A producer ID while its range is read."""

    __slots__ = (
        "epoch", "first", "first_epoch", "last", "last_timestamp", "leading", "marker_epoch", "open", "plain",
        "plain_first", "plain_last", "raised", "records", "starts", "timestamp", "writer",
    )  # fmt: skip

    def __init__(self) -> None:
        self.marker_epoch = self.epoch = self.open = NO_EPOCH
        self.leading: int | None = None
        self.first_epoch: int | None = None
        self.first = self.last = self.timestamp = self.last_timestamp = NO_EPOCH
        self.records = self.plain = 0
        self.plain_first = self.plain_last = (NO_EPOCH, NO_EPOCH)
        self.starts: list[SessionStart] = []
        self.raised: set[int] = set()
        self.writer = NO_WRITER


class SessionScan:
    """Give it batches and markers in offset order; it names the writer of each batch."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def writer(self, header: Header) -> BatchWriter:
        """The writer of a data batch: the same object as long as it is the same writer."""
        producer_id, epoch, transactional = header.producer_id, header.producer_epoch, header.is_transactional
        producer = self._producer(producer_id)
        if producer.first_epoch is None:
            producer.first_epoch, producer.first = epoch, header.base_offset
            producer.timestamp = first_time(header)
        elif epoch > producer.epoch and producer_id >= 0:
            producer.starts.append(SessionStart(header.base_offset, first_time(header), epoch))
        producer.epoch = max(epoch, producer.epoch)
        producer.open = epoch if transactional else NO_EPOCH
        producer.last, producer.last_timestamp = header.last_offset, header.max_timestamp
        producer.records += header.record_count
        if not transactional:
            if not producer.plain:
                producer.plain_first = header.base_offset, first_time(header)
            producer.plain += header.record_count
            producer.plain_last = header.last_offset, header.max_timestamp
        writer = BatchWriter(producer_id, epoch, transactional)
        if producer.writer != writer:
            producer.writer = writer
        return producer.writer

    def mark(self, producer_id: int, epoch: int, *, committed: bool) -> None:
        producer = self._producer(producer_id)
        if producer.first_epoch is None and producer.leading is None:
            producer.leading = epoch if committed else NO_EPOCH
        if committed:
            if NO_EPOCH < producer.open == epoch - 1:
                producer.raised.add(epoch)
            producer.epoch = max(epoch, producer.epoch)
            if producer.first_epoch is None:
                producer.marker_epoch = max(epoch, producer.marker_epoch)
        producer.open = NO_EPOCH

    def _producer(self, producer_id: int) -> _Producer:
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = _Producer()
        return producer

    def states(self) -> tuple[ProducerState, ...]:
        return tuple(_state(producer_id, self._producers[producer_id]) for producer_id in sorted(self._producers))


def _state(producer_id: int, producer: _Producer) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        marker_epoch=producer.marker_epoch,
        leading_epoch=producer.leading,
        first_epoch=producer.first_epoch,
        first_offset=producer.first,
        first_timestamp=producer.timestamp,
        epoch=producer.epoch,
        open_epoch=producer.open,
        last_offset=producer.last,
        last_timestamp=producer.last_timestamp,
        records=producer.records,
        plain_records=producer.plain,
        first_plain=producer.plain_first[0],
        last_plain=producer.plain_last[0],
        first_plain_timestamp=producer.plain_first[1],
        last_plain_timestamp=producer.plain_last[1],
        starts=tuple(producer.starts),
        raised=join_intervals((epoch, epoch) for epoch in producer.raised),
    )


def merge_producers(left: ProducerState, right: ProducerState) -> ProducerState:
    """The state of both ranges together; `right` is the later one."""
    dataless = left.first_epoch is None
    first = right if dataless else left
    last = left if right.first_epoch is None else right
    plain_first = left if left.plain_records else right
    plain_last = right if right.plain_records else left
    ends_left = left.open_epoch > NO_EPOCH and right.leading_epoch == left.open_epoch + 1
    raised = [*left.raised, *right.raised]
    if ends_left:
        raised.append((left.open_epoch + 1, left.open_epoch + 1))
    return ProducerState(
        producer_id=left.producer_id,
        marker_epoch=max(left.marker_epoch, right.marker_epoch) if dataless else left.marker_epoch,
        leading_epoch=right.leading_epoch if dataless and left.leading_epoch is None else left.leading_epoch,
        first_epoch=first.first_epoch,
        first_offset=first.first_offset,
        first_timestamp=first.first_timestamp,
        epoch=max(left.epoch, right.epoch),
        open_epoch=right.open_epoch,
        last_offset=last.last_offset,
        last_timestamp=last.last_timestamp,
        records=left.records + right.records,
        plain_records=left.plain_records + right.plain_records,
        first_plain=plain_first.first_plain,
        last_plain=plain_last.last_plain,
        first_plain_timestamp=plain_first.first_plain_timestamp,
        last_plain_timestamp=plain_last.last_plain_timestamp,
        starts=(*left.starts, *_starts_behind(left, right)),
        raised=join_intervals(raised),
    )


def _starts_behind(left: ProducerState, right: ProducerState) -> Iterator[SessionStart]:
    """Beginnings that remain in the later range, and whether its first data is one."""
    if left.first_epoch is not None and right.first_epoch is not None and right.producer_id >= 0:
        begins = right.first_epoch > max(left.epoch, right.marker_epoch)
        yield from [SessionStart(right.first_offset, right.first_timestamp, right.first_epoch)] if begins else []
    yield from (start for start in right.starts if start.producer_epoch > left.epoch)


def join_intervals(intervals: Iterable[tuple[int, int]]) -> Intervals:
    """The same numbers in as few intervals as can be."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return tuple(joined)


def raised_epochs(producers: Iterable[ProducerState]) -> Mapping[int, Intervals]:
    """By producer ID, the epochs to which its commits raised it, in all partitions."""
    raised: dict[int, list[tuple[int, int]]] = {}
    for producer in producers:
        if producer.raised:
            raised.setdefault(producer.producer_id, []).extend(producer.raised)
    return {producer_id: join_intervals(found) for producer_id, found in raised.items()}


def beginnings(producer: ProducerState, raised: Mapping[int, Intervals]) -> Iterator[SessionStart]:
    """The beginnings of sessions that this partition shows, including its first data (rule 4)."""
    known = raised.get(producer.producer_id, ())
    starts = producer.starts
    if producer.first_epoch is not None:
        starts = (SessionStart(producer.first_offset, producer.first_timestamp, producer.first_epoch), *starts)
    yield from (start for start in starts if not _holds(known, start.producer_epoch))


def without_raised(producer: ProducerState, raised: Mapping[int, Intervals]) -> ProducerState:
    """The state without the starts that a commit in another partition explains."""
    known = raised.get(producer.producer_id, ())
    if not known or not producer.starts:
        return producer
    return producer._replace(starts=tuple(each for each in producer.starts if not _holds(known, each.producer_epoch)))


def _holds(intervals: Intervals, number: int) -> bool:
    place = bisect_right(intervals, (number, MOST))
    return place > 0 and intervals[place - 1][1] >= number


class Sessions:
    """The epochs with which sessions of producer IDs began."""

    def __init__(self, epochs: Mapping[int, Iterable[int]]) -> None:
        self._epochs = {producer_id: sorted(found) for producer_id, found in epochs.items()}

    def began(self, producer_id: int, after: int, until: int) -> bool:
        """Whether the producer ID began a session with an epoch in (after, until]."""
        epochs = self._epochs.get(producer_id, ())
        place = bisect_right(epochs, after)
        return place < len(epochs) and epochs[place] <= until
