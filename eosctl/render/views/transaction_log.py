"""The transaction log: the last state of each ID, or its history."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eosctl.analysis.transaction_history import HistoryEntry
from eosctl.analysis.transaction_log import FoldedLog, LoggedId
from eosctl.analysis.transactions import Ownership
from eosctl.model.counts import counted
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.render.document import Column, Document, Findings, Table, figure
from eosctl.render.views.report import finding_rows
from eosctl.render.views.transactions import STATE_TONES, owner_fields

IDS = Table(
    "transactional_ids",
    (
        Column("TRANSACTIONAL-ID", "transactional_id", "the ID"),
        Column("STATE", "state", "its last state; - where the coordinator forgot it", tones=STATE_TONES),
        figure("PRODUCER-ID", "producer_id", "the producer that holds it"),
        figure("EPOCH", "producer_epoch", "its epoch"),
        Column("UPDATED", "last_update", "when the coordinator wrote this, UTC"),
        figure("PARTITIONS", "partition_count", "partitions in its open transaction"),
        figure("LOG-PARTITION", "log_partition", "the partition of __transaction_state that it lies in"),
        figure("COORDINATOR", "coordinator", "that partition's leader"),
        figure("RECORDS", "records", "records of it in the log"),
        Column("OWNER", "owner", "who uses it"),
    ),
    empty="no transactional IDs",
)

HISTORY = Table(
    "history",
    (
        figure("LOG-PARTITION", "log_partition", "the partition of __transaction_state"),
        figure("OFFSET", "offset", "the record's offset"),
        Column("TIME", "time", "its timestamp, UTC"),
        Column("TRANSACTIONAL-ID", "transactional_id", "the ID"),
        Column("STATE", "state", "the state it logs", tones=STATE_TONES),
        figure("PRODUCER-ID", "producer_id", "the producer"),
        figure("EPOCH", "producer_epoch", "its epoch"),
        Column("WHAT", "words", "what happened"),
    ),
    empty="no records",
)


def _value_fields(value: TransactionLogValue | None) -> dict[str, Any]:
    """The fields of the record; all null for a tombstone."""
    if value is None:
        names = (
            "state",
            "producer_id",
            "producer_epoch",
            "value_version",
            "timeout_ms",
            "last_update_ms",
            "last_update",
        )
        more = ("start_ms", "partitions", "previous_producer_id", "next_producer_id", "next_producer_epoch")
        last = ("client_transaction_version",)
        return dict.fromkeys((*names, *more, *last)) | {"partition_count": 0}
    return {
        "state": value.state.value,
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


def _id_row(logged: LoggedId, owned: Ownership, leaders: Mapping[int, int] | Skipped) -> dict[str, Any]:
    coordinator = leaders if isinstance(leaders, Skipped) else leaders.get(logged.last.partition)
    return {
        **_place(logged.last),
        **_value_fields(logged.value),
        "coordinator": coordinator,
        "records": logged.records,
        **owner_fields(owned),
    }


def view_transaction_log(
    folded: FoldedLog,
    owners: Mapping[str, Ownership],
    leaders: Mapping[int, int] | Skipped,
    findings: Sequence[Finding],
    notes: Iterable[str],
    as_of: str | None,
    cluster_id: str | None,
) -> Document:
    """Every ID with its last state, and the findings."""
    rows = [_id_row(each, owners[name], leaders) for name, each in sorted(folded.ids.items())]
    live = sum(1 for each in folded.ids.values() if each.value is not None)
    records = counted(folded.records, "record")
    return Document(
        kind="transactions.log",
        as_of=as_of,
        cluster_id=cluster_id,
        data={"transactional_ids": rows, "records": folded.records, "findings": finding_rows(findings)},
        blocks=(IDS, Findings()),
        prose=(f"{records} of {counted(len(rows), 'transactional ID')}, {live:,} of them known to coordinators.",),
        notes=tuple(notes),
    )


def view_transaction_history(
    entries: Iterable[HistoryEntry], notes: Iterable[str], as_of: str | None, cluster_id: str | None
) -> Document:
    """Every record, partition by partition in offset order, with what happened."""
    rows = [{**_place(each.record), **_value_fields(each.record.value), "words": each.words} for each in entries]
    return Document(
        kind="transactions.log.history",
        as_of=as_of,
        cluster_id=cluster_id,
        data={"history": rows},
        blocks=(HISTORY,),
        notes=tuple(notes),
    )
