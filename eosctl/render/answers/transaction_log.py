"""The transaction log: the last state of each ID, or its history."""

from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import fields

from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import (
    LoggedId,
    TransactionHistory,
    TransactionLogRecord,
    TransactionLogReport,
    TransactionLogValue,
)
from eosctl.model.transactions import TransactionState
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.answers.transactions import STATE_TONES, OwnerRow, OwnerWords, PartitionRow, owner_fields
from eosctl.render.document import MOST, Column, Document, Findings, Table, col, columns

# The answer of `transactions log`.


class LogPlaceFields(Struct, frozen=True):
    """The place of a record; log_partition is a partition of `__transaction_state`."""

    transactional_id: Annotated[str, "the ID"]
    log_partition: Annotated[int, "its partition of __transaction_state"]
    offset: Annotated[int, "the record's offset"]
    timestamp: int
    time: Annotated[str | None, "its timestamp, UTC"]


class LoggedFields(LogPlaceFields, frozen=True):
    """The fields of a record of `__transaction_state`; null for a tombstone."""

    state: Annotated[
        TransactionState | None, col("its last state; - where the coordinator forgot it", tones=STATE_TONES)
    ]
    producer_id: Annotated[int | None, "the producer that holds it"]
    producer_epoch: Annotated[int | None, col("its epoch", "EPOCH")]
    value_version: int | None
    timeout_ms: int | None
    last_update_ms: int | None
    last_update: Annotated[str | None, col("when the coordinator wrote this, UTC", "UPDATED")]
    start_ms: int | None
    partitions: list[PartitionRow] | None
    partition_count: Annotated[int, col("partitions in its open transaction", "PARTITIONS")]
    previous_producer_id: int | None
    next_producer_id: int | None
    next_producer_epoch: int | None
    client_transaction_version: int | None


class LoggedIdRow(LoggedFields, frozen=True):
    """An ID with its last record, and how many records the log has of it."""

    coordinator: Annotated[int | Skipped | None, "that partition's leader, which coordinates the ID"]
    records: Annotated[int, "its records in the log"]
    owner: OwnerWords
    owners: list[OwnerRow]
    shapes: list[str]


class TransactionLogData(ShownFindings, frozen=True):
    """Every ID of the log with its last state."""

    transactional_ids: list[LoggedIdRow]
    records: int


class LogRecordRow(LoggedFields, frozen=True):
    """A record of the log, and what happened."""

    words: Annotated[str, col("what happened", "WHAT")]


class LogHistoryData(Struct, frozen=True):
    """Every record, partition by partition in offset order."""

    history: list[LogRecordRow]


IDS = Table(
    "transactional_ids",
    columns(
        LoggedIdRow,
        "transactional_id state producer_id producer_epoch last_update partition_count log_partition coordinator "
        "records owner",
    ),
    empty="no transactional IDs",
)

HISTORY = Table(
    "history",
    columns(
        LogRecordRow,
        "log_partition offset time transactional_id",
        Column("STATE", "state", "the state it logs", tones=STATE_TONES),
        "producer_id producer_epoch words",
    ),
    empty="no records",
)


TOMBSTONE: Final = {**dict.fromkeys(each.name for each in fields(LoggedFields)[5:]), "partition_count": 0}


def _value_fields(value: TransactionLogValue | None) -> dict[str, Any]:
    """The fields of the record; all null for a tombstone."""
    if value is None:
        return TOMBSTONE
    return {
        "state": value.state,
        "producer_id": value.producer.producer_id,
        "producer_epoch": value.producer.producer_epoch,
        "value_version": value.version,
        "timeout_ms": value.timeout_ms,
        "last_update_ms": value.last_update_ms,
        "last_update": rfc3339(value.last_update_ms),
        "start_ms": None if value.start_ms < 0 else value.start_ms,
        "partitions": None
        if value.partitions is None
        else [{"topic": each.topic, "partition": each.partition} for each in value.partitions],
        "partition_count": len(value.partitions or ()),
        "previous_producer_id": _none_below_zero(value.previous_producer_id),
        "next_producer_id": _none_below_zero(value.next_producer_id),
        "client_transaction_version": value.client_transaction_version,
        "next_producer_epoch": _none_below_zero(value.next_producer_epoch),
    }


def _none_below_zero(value: int) -> int | None:
    return None if value < 0 else value


def _place(record: TransactionLogRecord) -> dict[str, Any]:
    return {
        "transactional_id": record.transactional_id,
        "log_partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "time": None if record.timestamp < 0 else rfc3339(record.timestamp),
    }


def _id_row(name: str, logged: LoggedId, found: TransactionLogReport) -> LoggedIdRow:
    leaders = found.leaders
    return LoggedIdRow(
        **_place(logged.last),
        **_value_fields(logged.value),
        coordinator=leaders if isinstance(leaders, Skipped) else leaders.get(logged.last.partition),
        records=logged.records,
        **owner_fields(found.owners[name]),
    )


def view_transaction_log(found: TransactionLogReport) -> Document:
    """Every ID with its last state, and the findings."""
    log = found.log
    live = sum(1 for each in log.ids.values() if each.value is not None)
    data = TransactionLogData(
        transactional_ids=[_id_row(name, each, found) for name, each in sorted(log.ids.items())],
        records=log.records,
        **findings_of(found),
    )
    return Document(
        kind="transactions.log",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(IDS, Findings(most=MOST)),
        prose=(
            f"{pluralize(log.records, 'record')} of {pluralize(len(log.ids), 'transactional ID')}, "
            f"{live:,} of them known to coordinators.",
        ),
        notes=found.all_notes,
    )


def view_transaction_history(found: TransactionHistory) -> Document:
    """Every record, partition by partition in offset order, with what happened."""
    data = LogHistoryData(
        history=[
            LogRecordRow(**_place(each.record), **_value_fields(each.record.value), words=each.words)
            for each in found.entries
        ]
    )
    return Document(
        kind="transactions.log.history",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(HISTORY,),
        notes=found.all_notes,
    )
