"""One record's transaction: its outcome, its partitions, and its commits."""

from typing import Annotated, Final

from msgspec import UNSET, Struct, UnsetType

from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.tracing import (
    Absence,
    CommittedOffset,
    Extent,
    Found,
    LoggedTransaction,
    NoRecord,
    ProducerState,
    Trace,
    TracedRecord,
)
from eosctl.render.answers.transactions import OwnerFields, owner_fields
from eosctl.render.document import Document, Table, Tone, col, columns, row_of

# The answer of `transactions trace`.


FOUND_TONES: Final = {Found.WHOLE.value: Tone.GOOD}


class TracedRecordFields(Struct, frozen=True, kw_only=True):
    """The requested record; without a record, absent names the content of the offset and the reason."""

    topic: str
    partition: int
    offset: int
    absent: Absence | None
    reason: str | UnsetType = UNSET
    timestamp: int | UnsetType = UNSET
    time: str | UnsetType | None = UNSET
    transactional: bool | UnsetType = UNSET
    state: RecordState | Skipped | UnsetType = UNSET
    visible: bool | UnsetType = UNSET
    producer_id: int | UnsetType | None = UNSET
    producer_epoch: int | UnsetType | None = UNSET


class LoggedTransactionFields(Struct, frozen=True):
    """The transaction as `__transaction_state` has it; certain is false where it was found by time alone."""

    transactional_id: str
    partitions: list[str]
    started: str | None
    decided: str | None
    completed: str | None
    certain: bool


class ExtentRow(Struct, frozen=True):
    """The transaction's records in one partition; the marker's fields are null if none was found."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    first_offset: Annotated[int | None, col("the first offset of the transaction there", "FIRST")]
    last_offset: Annotated[int | None, col("the last offset of the transaction there", "LAST")]
    found: Annotated[
        Found,
        col(
            "whole, first-deleted (the log starts after it), first-unknown (beyond --within), by-time or none",
            tones=FOUND_TONES,
        ),
    ]
    marker_offset: Annotated[
        int | None, col("the offset of the marker that ended it there; - where it is open or was not found", "MARKER")
    ]
    marker_type: str | None
    marker_epoch: int | None
    coordinator_epoch: int | None
    ended: Annotated[str | None, "when the marker was written, UTC"]


class CommittedOffsetRow(Struct, frozen=True):
    """A source offset or a group's offset that the transaction committed; kind is source or group."""

    kind: str
    holder: Annotated[str, "the connector or group whose offset was committed"]
    of: Annotated[str, "the source partition, or the topic and partition"]
    value: Annotated[str | None, col("the source offset, or the offset", "OFFSET")]
    where: Annotated[str, "the record that holds it"]


class AbortedTransactionRow(Struct, frozen=True):
    """An aborted transaction of the record's partition."""

    producer_id: Annotated[int, "the producer ID that wrote it"]
    first_offset: Annotated[int, col("the first offset of the transaction in the record's partition", "FIRST")]
    marker_offset: Annotated[int, col("the offset of its abort marker there", "MARKER")]
    indexed: Annotated[
        bool,
        col(
            "whether the broker's transaction index has it; if not, read_committed consumers get its records",
            tones={"False": Tone.BAD},
        ),
    ]


class OpenTransactionRow(Struct, frozen=True):
    """A transaction that is open at the end of the record's partition."""

    producer_id: Annotated[int, "the producer ID that writes it"]
    producer_epoch: Annotated[int, col("the producer's epoch", "EPOCH")]
    first_offset: Annotated[int, col("the first offset of the transaction in the record's partition", "FIRST")]


class ProducerStateFields(Struct, frozen=True):
    """The record's partition by the files beside its segments; snapshot_offset is the last producer snapshot's.

    aborted and opened are skipped, with the reason, if unknown.
    """

    partition: str
    aborted: list[AbortedTransactionRow] | Skipped
    opened: list[OpenTransactionRow] | Skipped
    snapshot_offset: int | None


class UnreadPartitionRow(Struct, frozen=True):
    """A partition that was not read, and why."""

    partition: str
    reason: str


class TraceData(OwnerFields, frozen=True):
    """One record and its transaction; partitions_by is transaction-log or scan."""

    record: TracedRecordFields
    transactional_id: str | Skipped | None
    transaction_log: LoggedTransactionFields | Skipped | None
    partitions_by: str | None
    partitions: list[ExtentRow]
    offsets: list[CommittedOffsetRow]
    producer_state: ProducerStateFields | None
    unread_partitions: list[UnreadPartitionRow]


EXTENTS: Final = Table(
    "partitions",
    columns(ExtentRow, "topic partition first_offset last_offset marker_offset ended found"),
    title="The transaction is in",
)
OFFSETS: Final = Table(
    "offsets",
    columns(CommittedOffsetRow, "holder of value where"),
    title="Offsets committed with it",
)
ABORTED: Final = Table(
    "producer_state.aborted",
    columns(AbortedTransactionRow, "producer_id first_offset marker_offset indexed"),
    title="Aborted transactions of this partition",
)
OPENED: Final = Table(
    "producer_state.opened",
    columns(OpenTransactionRow, "producer_id producer_epoch first_offset"),
    title="Open transactions of this partition",
)


def view_trace(traced: Trace) -> Document:
    """The record in a sentence or two, then the partitions of its transaction and the offsets in it."""
    extents = [_extent_row(each) for each in traced.extents]
    offsets = [_offset_row(each) for each in traced.offsets]
    data = TraceData(
        record=_record(traced),
        transactional_id=traced.transactional_id,
        **owner_fields(traced.ownership),
        transaction_log=_logged(traced.logged),
        partitions_by=_partitions_by(traced),
        partitions=extents,
        offsets=offsets,
        producer_state=None if traced.producer_state is None else _producer_state(traced.producer_state),
        unread_partitions=[
            UnreadPartitionRow(partition=str(at), reason=each.reason) for at, each in traced.unread.items()
        ],
    )
    return Document(
        kind="transactions.trace",
        as_of=rfc3339(traced.as_of),
        cluster_id=traced.cluster_id,
        data=data,
        blocks=(
            *([EXTENTS] if extents else []),
            *([OFFSETS] if offsets else []),
            *(_state_blocks(traced.producer_state)),
        ),
        prose=tuple(_prose(traced)),
        notes=(
            *(f"{place}: {each.reason}" for place, each in traced.unread.items()),
            *_state_notes(traced.producer_state),
            *traced.notes,
        ),
    )


def _record(traced: Trace) -> TracedRecordFields:
    record = traced.record
    place = record.topic_partition
    topic, partition = place.topic, place.partition
    if isinstance(record, NoRecord):
        absent, reason = record.absence, record.reason
        return TracedRecordFields(topic=topic, partition=partition, offset=record.offset, absent=absent, reason=reason)
    producer = record.producer
    return TracedRecordFields(
        topic=topic,
        partition=partition,
        offset=record.offset,
        absent=None,
        timestamp=record.timestamp,
        time=rfc3339(record.timestamp) if record.timestamp >= 0 else None,
        transactional=record.transactional,
        state=record.state,
        visible=record.visible,
        producer_id=None if producer is None else producer.producer_id,
        producer_epoch=None if producer is None else producer.producer_epoch,
    )


def _logged(logged: LoggedTransaction | Skipped | None) -> LoggedTransactionFields | Skipped | None:
    if not isinstance(logged, LoggedTransaction):
        return logged
    return LoggedTransactionFields(
        transactional_id=logged.transactional_id,
        partitions=[str(each) for each in logged.partitions],
        started=_time(logged.started_ms),
        decided=_time(logged.decided_ms),
        completed=_time(logged.completed_ms),
        certain=logged.certain,
    )


def _partitions_by(traced: Trace) -> str | None:
    if not traced.extents:
        return None
    return "transaction-log" if isinstance(traced.logged, LoggedTransaction) else "scan"


def _extent_row(extent: Extent) -> ExtentRow:
    place, marker = extent.topic_partition, extent.marker
    return row_of(
        ExtentRow,
        extent,
        topic=place.topic,
        partition=place.partition,
        marker_offset=None if marker is None else marker.offset,
        marker_type=None if marker is None else "COMMIT" if marker.committed else "ABORT",
        marker_epoch=None if marker is None else marker.producer_epoch,
        coordinator_epoch=None if marker is None else marker.coordinator_epoch,
        ended=None if marker is None else rfc3339(marker.timestamp),
    )


def _offset_row(offset: CommittedOffset) -> CommittedOffsetRow:
    return row_of(
        CommittedOffsetRow,
        offset,
        kind="group" if offset.is_group else "source",
        where=f"{offset.topic_partition}@{offset.offset}",
    )


def _producer_state(state: ProducerState) -> ProducerStateFields:
    aborted: list[AbortedTransactionRow] | Skipped
    if isinstance(state.aborted, Skipped):
        aborted = state.aborted
    else:
        missing = set(state.unindexed)
        both = sorted({*state.aborted, *missing}, key=lambda each: each.marker)
        aborted = [AbortedTransactionRow(*each, indexed=each not in missing) for each in both]
    opened: list[OpenTransactionRow] | Skipped = (
        state.opened
        if isinstance(state.opened, Skipped)
        else [
            OpenTransactionRow(each.producer.producer_id, each.producer.producer_epoch, each.first)
            for each in state.opened
        ]
    )
    return ProducerStateFields(str(state.topic_partition), aborted, opened, state.snapshot_offset)


def _state_blocks(state: ProducerState | None) -> list[Table]:
    if state is None:
        return []
    facts = ((ABORTED, state.aborted or state.unindexed), (OPENED, state.opened))
    return [table for table, fact in facts if fact and not isinstance(fact, Skipped)]


def _state_notes(state: ProducerState | None) -> list[str]:
    if state is None:
        return []
    facts = (("aborted", state.aborted), ("open", state.opened))
    said = [
        f"{what} transactions of {state.topic_partition} are not known: {fact.reason}"
        for what, fact in facts
        if isinstance(fact, Skipped)
    ]
    if state.unindexed:
        count = pluralize(len(state.unindexed), "aborted transaction")
        said.append(
            f"the transaction index of {state.topic_partition} lacks {count}: a broker that serves these files sends "
            "their records to read_committed consumers; let it copy the partition from another replica"
        )
    return said


def _prose(traced: Trace) -> list[str]:
    record = traced.record
    where = f"{record.topic_partition}@{record.offset}"
    if isinstance(record, NoRecord):
        said = [f"{where} is no record: {record.reason}." if record.offset >= 0 else f"{record.reason}."]
    else:
        said = [_what_became(where, record)]
    if not traced.extents:
        return said
    name = traced.transactional_id
    if isinstance(name, Skipped):
        said.append(f"The owner of its producer ID is not known: {name.reason}.")
    elif name is None:
        said.append(
            "No transactional ID holds its producer ID now, and the transaction log does not have it: its "
            "coordinator has removed it."
        )
    else:
        said.append(f"Its transactional ID is {name}; owner: {traced.ownership}.")
    return [*said, _how_known(traced)]


def _what_became(where: str, record: TracedRecord) -> str:
    producer = "" if record.producer is None else f" by producer {record.producer}"
    if not record.transactional:
        return f"{where} was written{producer} outside any transaction: consumers read it at once."
    if isinstance(record.state, Skipped):
        return f"{where} was written{producer}; what became of its transaction is not known: {record.state.reason}."
    unseen = "" if record.visible else "; it is beyond the last stable offset, where read_committed consumers wait"
    words = {
        RecordState.COMMITTED: f"is committed{unseen}",
        RecordState.ABORTED: "is aborted: who reads committed skips it",
        RecordState.OPEN: "is in a transaction without an end: who reads committed waits before it",
    }
    return f"{where} {words[record.state]}. It was written{producer}."


def _how_known(traced: Trace) -> str:
    logged, count = traced.logged, pluralize(len(traced.extents), "partition")
    if isinstance(logged, LoggedTransaction):
        times = [("begun", logged.started_ms), ("decided", logged.decided_ms), ("complete", logged.completed_ms)]
        said = ", ".join(f"{what} {rfc3339(when)}" for what, when in times if when is not None)
        doubt = "" if logged.certain else "; by the time of its marker, for others of its producer ended about then"
        return f"The transaction log has it in {count}: {said}{doubt}."
    reason = logged.reason if isinstance(logged, Skipped) else "not asked"
    return f"Its partitions are those found by reading where its producer is known, {count} ({reason})."


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else rfc3339(time_ms)
