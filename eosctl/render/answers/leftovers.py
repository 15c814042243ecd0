"""`transactions leftovers`: what is open under a prefix of transactional IDs."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from eosctl.model.leftovers import Leftover, LeftoverKind, Leftovers
from eosctl.model.names import FLINK_SINK
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transactions import NO_TIMEOUT_MS, TransactionState
from eosctl.render.answers.transactions import OwnerFields, PartitionRow, owner_fields
from eosctl.render.document import Document, Table, Tone, col, columns, row_of

TONES = {"prepared": Tone.WARN}


class MissingMarkerRow(Struct, frozen=True):
    """A partition that lacks the marker of a decided transaction, its leader, and why."""

    topic: str
    partition: int
    broker: int | None
    why: str


class LeftoverRow(OwnerFields, frozen=True):
    """A transaction that has not ended.

    later_commit is an ID that differs in its last number or UUID only, and committed a transaction which began later.
    """

    transactional_id: Annotated[str, "the ID"]
    kind: Annotated[LeftoverKind, col("open, or prepared (decided)", tones=TONES)]
    state: Annotated[TransactionState, "its state at the coordinator"]
    producer_id: Annotated[int, "its producer"]
    producer_epoch: Annotated[int, col("its epoch", "EPOCH")]
    start_ms: int
    started: Annotated[str, "when it began, UTC"]
    running_s: Annotated[float, "how long it has been open"]
    ends_at: Annotated[str | None, "when its coordinator aborts it, UTC; - never, or its end is decided"]
    two_phase_commit: bool
    partitions: list[PartitionRow]
    partition_count: Annotated[
        int, col("its partitions; in Prepare*, partitions whose marker may be missing", "PARTITIONS")
    ]
    later_commit: Annotated[
        str | None,
        "an ID that differs in its last number or UUID only, and committed a transaction that began later. A subtask "
        "of Flink left this one behind. Producers of a pool (Spring) are independent",
    ]
    missing_markers: list[MissingMarkerRow] | Skipped


class LeftoversData(Struct, frozen=True):
    """Open transactions, the oldest first; ids counts all IDs that begin with the prefix."""

    leftovers: list[LeftoverRow]
    prefix: str
    ids: int


LEFTOVERS = Table(
    "leftovers",
    columns(
        LeftoverRow,
        "transactional_id kind state producer_id producer_epoch started running_s ends_at partition_count "
        "later_commit owner",
    ),
    empty="nothing is open",
)


def view_leftovers(found: Leftovers) -> Document:
    rows = [_row(each, found) for each in found.leftovers]
    unread = tuple(f"not read: partition {place} of the log: {why.reason}" for place, why in found.unread.items())
    return Document(
        kind="transactions.leftovers",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=LeftoversData(leftovers=rows, prefix=found.prefix, ids=found.ids),
        blocks=(LEFTOVERS,),
        prose=(
            f"Unfinished transactions: {len(rows):,} of {pluralize(found.ids, 'transactional ID')} with this prefix.",
        ),
        notes=(*_missing(found), *_of_flink(found), *unread, *found.notes),
    )


def _missing(found: Leftovers) -> Iterator[str]:
    """The partitions that each decided transaction waits for."""
    for left in found.leftovers:
        if isinstance(left.missing, Skipped):
            yield f"{left.transactional_id}: which markers are missing is not known: {left.missing.reason}"
            continue
        for each in left.missing:
            at = "" if each.broker is None else f" (broker {each.broker})"
            yield f"{left.transactional_id} waits for the marker in {each.topic_partition}{at}: {each.why}"


def _of_flink(found: Leftovers) -> Iterator[str]:
    """Which of them a checkpoint may hold."""
    opened = [each.transactional_id for each in found.leftovers if each.kind is LeftoverKind.OPEN]
    shaped = [each for each in opened if FLINK_SINK.fullmatch(each) and not found.owners[each].owners]
    if shaped:
        yield (
            f"by the shape of the ID a checkpoint of a Flink job may hold {first_few(shaped)}: restore the job, or "
            "give --flink-checkpoint. Fencing loses the records"
        )


def _row(left: Leftover, found: Leftovers) -> LeftoverRow:
    value, ends_at = left.value, left.ends_at_ms
    partitions = [PartitionRow(each.topic, each.partition) for each in value.partitions or ()]
    return LeftoverRow(
        transactional_id=left.transactional_id,
        kind=left.kind,
        state=value.state,
        producer_id=value.producer.producer_id,
        producer_epoch=value.producer.producer_epoch,
        start_ms=value.start_ms,
        started=rfc3339(value.start_ms),
        running_s=round(max(0, found.as_of - value.start_ms) / 1000, 1),
        ends_at=None if ends_at is None else rfc3339(ends_at),
        two_phase_commit=value.timeout_ms == NO_TIMEOUT_MS,
        partitions=partitions,
        partition_count=len(partitions),
        later_commit=left.later_commit,
        missing_markers=left.missing
        if isinstance(left.missing, Skipped)
        else [
            row_of(MissingMarkerRow, each, topic=each.topic_partition.topic, partition=each.topic_partition.partition)
            for each in left.missing
        ],
        **owner_fields(found.owners[left.transactional_id]),
    )
