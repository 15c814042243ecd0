"""Producer sessions: where a producer ID began anew in a partition, by the epochs of its batches and markers.

1. Data goes on in the session if its epoch is the one that the producer had: that of its last data, or of its last
   marker where that is higher (under transaction.version 2 every marker raises it, KIP-890).
2. A higher epoch begins a session: InitProducerId was called. Before that it raised the epoch of an open transaction
   only to abort it, and that marker's epoch is not yet the new session's.
3. A range knows nothing of what lies before it; the merge compares its first data with what the range before left.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from eosctl.analysis.audit.batches import BatchWriter, Header, Session
from eosctl.model.audit_states import ProducerState, SessionStart
from eosctl.model.names import TopicPartition

NO_EPOCH = -1


class _Producer:
    """A producer ID while its range is read."""

    __slots__ = (
        "epoch", "first", "first_epoch", "last", "last_timestamp", "marker_epoch", "plain", "plain_first", "plain_last",
        "records", "session", "starts", "timestamp", "writer",
    )  # fmt: skip

    def __init__(self, session: Session) -> None:
        self.session = session
        self.marker_epoch = self.epoch = NO_EPOCH
        self.first_epoch: int | None = None
        self.first = self.last = self.timestamp = self.last_timestamp = NO_EPOCH
        self.records = self.plain = 0
        self.plain_first = self.plain_last = (NO_EPOCH, NO_EPOCH)
        self.starts: list[SessionStart] = []
        self.writer: BatchWriter | None = None


class SessionScan:
    """Give it batches and markers in offset order; it names the writer of each batch."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._producers: dict[int, _Producer] = {}

    def writer(self, header: Header) -> BatchWriter:
        """Who wrote a data batch: its session goes on, or begins here."""
        producer_id, epoch, transactional = header.producer_id, header.producer_epoch, header.is_transactional
        producer = self._producer(producer_id)
        if producer.first_epoch is None:
            producer.first_epoch, producer.first = epoch, header.base_offset
            producer.timestamp = header.base_timestamp
            begins = NO_EPOCH < producer.marker_epoch < epoch
        else:
            begins = epoch > producer.epoch
        if begins and producer_id >= 0:
            producer.session = Session(producer_id, header.base_offset)
            producer.starts.append(SessionStart(header.base_offset, header.base_timestamp, epoch))
        producer.epoch = max(epoch, producer.epoch)
        producer.last, producer.last_timestamp = header.last_offset, header.max_timestamp
        producer.records += header.record_count
        if not transactional:
            if not producer.plain:
                producer.plain_first = header.base_offset, header.base_timestamp
            producer.plain += header.record_count
            producer.plain_last = header.last_offset, header.max_timestamp
        writer = BatchWriter(producer_id, epoch, transactional, producer.session)
        if producer.writer is None or producer.writer != writer:
            producer.writer = writer
        return producer.writer

    def mark(self, producer_id: int, epoch: int) -> None:
        """Take in a marker."""
        producer = self._producer(producer_id)
        producer.epoch = max(epoch, producer.epoch)
        if producer.first_epoch is None:
            producer.marker_epoch = max(epoch, producer.marker_epoch)

    def _producer(self, producer_id: int) -> _Producer:
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = _Producer(Session(producer_id, self._start))
        return producer

    def states(self) -> tuple[ProducerState, ...]:
        """The state of each producer ID, by ID."""
        return tuple(_state(producer_id, self._producers[producer_id]) for producer_id in sorted(self._producers))


def _state(producer_id: int, producer: _Producer) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        marker_epoch=producer.marker_epoch,
        first_epoch=producer.first_epoch,
        first_offset=producer.first,
        first_timestamp=producer.timestamp,
        epoch=producer.epoch,
        last_offset=producer.last,
        last_timestamp=producer.last_timestamp,
        records=producer.records,
        plain_records=producer.plain,
        first_plain=producer.plain_first[0],
        last_plain=producer.plain_last[0],
        first_plain_timestamp=producer.plain_first[1],
        last_plain_timestamp=producer.plain_last[1],
        starts=tuple(producer.starts),
    )


def merge_producers(left: ProducerState, right: ProducerState) -> ProducerState:
    """The state of both ranges together, `right` being the later one."""
    epoch = max(left.epoch, right.marker_epoch)
    starts = left.starts
    if right.first_epoch is not None and left.epoch > NO_EPOCH and right.first_epoch > epoch and right.producer_id >= 0:
        begun = SessionStart(right.first_offset, right.first_timestamp, right.first_epoch)
        starts = (*starts, *(() if begun in right.starts[:1] else (begun,)))
    dataless = left.first_epoch is None
    first = right if dataless else left
    last = left if right.first_epoch is None else right
    plain_first = left if left.plain_records else right
    plain_last = right if right.plain_records else left
    return ProducerState(
        producer_id=left.producer_id,
        marker_epoch=max(left.marker_epoch, right.marker_epoch) if dataless else left.marker_epoch,
        first_epoch=first.first_epoch,
        first_offset=first.first_offset,
        first_timestamp=first.first_timestamp,
        epoch=max(left.epoch, right.epoch),
        last_offset=last.last_offset,
        last_timestamp=last.last_timestamp,
        records=left.records + right.records,
        plain_records=left.plain_records + right.plain_records,
        first_plain=plain_first.first_plain,
        last_plain=plain_last.last_plain,
        first_plain_timestamp=plain_first.first_plain_timestamp,
        last_plain_timestamp=plain_last.last_plain_timestamp,
        starts=(*starts, *right.starts),
    )


class Sessions:
    """Where producer IDs began anew, by partition."""

    def __init__(self, starts: Mapping[tuple[TopicPartition, int], Iterable[int]]) -> None:
        self._starts = {place: sorted(offsets) for place, offsets in starts.items()}

    def began(self, topic_partition: TopicPartition, producer_id: int, after: int, until: int) -> bool:
        """Whether the producer ID began a session at an offset in (after, until]."""
        offsets = self._starts.get((topic_partition, producer_id), ())
        place = bisect_right(offsets, after)
        return place < len(offsets) and offsets[place] <= until
