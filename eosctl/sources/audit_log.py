"""One offset range of a partition as an audit reads it: batches, markers and damages, never an end before the end.

1. A batch belongs to the range in which its last offset lies; ranges that tile a log share no batch and miss none.
2. Settled ranges are fetched with read_committed: each answer names the aborted transactions of its stretch.
3. Bytes that are no batch, records deleted while they are read, and a topic created again meanwhile are damages with
   their offsets: the reading goes on behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import Batch, DamagedOffsets, EndTransactionMarker, MarkerType, decode_marker
from eosctl.errors import Undecodable, UsageError
from eosctl.sources.corruption_tolerant_reader import LenientReader, NotServed
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_topics import topic_ids
from eosctl.sources.log_reader import LogReader, RecordsDeleted

if TYPE_CHECKING:
    from eosctl.model.audit import AuditPlan, OffsetRange
    from eosctl.model.client_properties import ClientProperties

SILENT: Final = "the broker gives none of them, but those behind"


class DataBatch(NamedTuple):
    """A data batch; aborted is whether its transaction was (never in a tail range, where that is open)."""

    batch: Batch
    aborted: bool


class ControlBatch(NamedTuple):
    """A control batch; marker None is a control record that ends no transaction."""

    batch: Batch
    marker: EndTransactionMarker | None


LogItem = DataBatch | ControlBatch | DamagedOffsets


class LogSource(AbstractContextManager["LogSource"]):
    """Where ranges are read from; opened in each process that reads."""

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        raise NotImplementedError


OpenSource = Callable[[], LogSource]
"""Opens a source; it can be pickled."""


class ClusterSource(LogSource):
    """Fetches from the partition leaders, with the identity that the properties give."""

    def __init__(self, properties: ClientProperties, timeout_s: float) -> None:
        self._wire = Wire(properties, timeout_s=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        return read_range(self._wire, offsets, plan.topic(offsets.topic).topic_id)


@dataclass(frozen=True, slots=True)
class OpenCluster:
    """Opens a ClusterSource; can be sent to other processes of this machine, secrets and all."""

    properties: ClientProperties
    timeout_s: float

    def __call__(self) -> ClusterSource:
        """A source of its own."""
        return ClusterSource(self.properties, self.timeout_s)


def read_range(wire: Wire, offsets: OffsetRange, topic_id: str | None) -> Iterator[LogItem]:
    """Everything in the range, in offset order.

    topic_id is that of the plan: if the topic has another one when the range has been read, all of it is damaged.
    Raises NotAuthorized where Read is missing, TimedOut where no leader answers for `wire.timeout_s`.
    """
    try:
        yield from _read(wire, offsets)
    except UsageError:
        yield DamagedOffsets(offsets.start, offsets.end, "the topic or partition was deleted before it was read")
        return
    found = topic_ids(wire, [offsets.topic]).get(offsets.topic)
    if topic_id is not None and found != topic_id:
        what = "deleted" if found is None else f"deleted and created again (topic ID {found})"
        yield DamagedOffsets(offsets.start, offsets.end, f"the topic was {what} while it was read")


def _read(wire: Wire, offsets: OffsetRange) -> Iterator[LogItem]:
    position = offsets.start
    while position < offsets.end:
        reader = LenientReader(wire, offsets, position)
        try:
            yield from _stated(reader)
            behind, reason = reader.next_served(), SILENT
            if behind is None:
                return
        except RecordsDeleted:
            start = partition_offsets(wire, [offsets.topic_partition])[offsets.topic_partition].log_start_offset
            behind, reason = max(start, reader.position + 1), "records were deleted while being read"
        except NotServed as error:
            behind, reason = reader.next_served() or offsets.end, error.message
        position = min(behind, offsets.end)
        yield DamagedOffsets(reader.position, position, reason)


def _stated(reader: LenientReader) -> Iterator[LogItem]:
    """Batches with what became of them, by the rule of sources.kafka_log."""
    start, end, settled = reader.offsets.start, reader.offsets.end, reader.offsets.settled
    for batches, answer in reader:
        coming = sorted((entry.first_offset, entry.producer_id) for entry in answer.aborted_transactions or ())
        coming.reverse()
        aborting: set[int] = set()
        yield from reader.take_damages()
        for batch in batches:
            header = batch.header
            while coming and coming[-1][0] <= header.last_offset:
                aborting.add(coming.pop()[1])
            if header.is_control:
                item = _control(batch, reader)
                if isinstance(item, ControlBatch) and item.marker and item.marker.type is MarkerType.ABORT:
                    aborting.discard(item.marker.producer_id)
                if start <= header.last_offset < end:
                    yield item
            elif start <= header.last_offset < end:
                yield DataBatch(batch, settled and header.is_transactional and header.producer_id in aborting)
    yield from reader.take_last_damages()


def _control(batch: Batch, reader: LogReader) -> ControlBatch | DamagedOffsets:
    try:
        return ControlBatch(batch, decode_marker(batch, topic_partition=reader.topic_partition))
    except Undecodable as error:
        return DamagedOffsets(batch.header.base_offset, batch.header.next_offset, error.reason)
