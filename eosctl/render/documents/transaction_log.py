"""What `transactions log` answers."""

from typing import TypedDict

from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionState
from eosctl.render.documents.findings import ShownFindings
from eosctl.render.documents.places import OwnerFields, PartitionRow


class LoggedFields(TypedDict):
    """The fields of a record of `__transaction_state`; null for a tombstone."""

    state: TransactionState | None
    producer_id: int | None
    producer_epoch: int | None
    value_version: int | None
    timeout_ms: int | None
    last_update_ms: int | None
    last_update: str | None
    start_ms: int | None
    partitions: list[PartitionRow] | None
    partition_count: int
    previous_producer_id: int | None
    next_producer_id: int | None
    next_producer_epoch: int | None
    client_transaction_version: int | None


class LogPlaceFields(TypedDict):
    """Where a record lies; log_partition is a partition of `__transaction_state`."""

    transactional_id: str
    log_partition: int
    offset: int
    timestamp: int
    time: str | None


class LoggedIdRow(LogPlaceFields, LoggedFields, OwnerFields):
    """An ID with its last record, and how many records the log has of it."""

    coordinator: int | Skipped | None
    records: int


class TransactionLogData(ShownFindings):
    """Every ID of the log with its last state."""

    transactional_ids: list[LoggedIdRow]
    records: int


class LogRecordRow(LogPlaceFields, LoggedFields):
    """A record of the log, and what happened."""

    words: str


class LogHistoryData(TypedDict):
    """Every record, partition by partition in offset order."""

    history: list[LogRecordRow]
