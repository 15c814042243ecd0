"""What `transactions trace` answers."""

from typing import NotRequired, TypedDict

from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.tracing import Absence, Found
from eosctl.render.documents.places import OwnerFields


class TracedRecordFields(TypedDict):
    """The record that was asked for; where there is none, absent says what is there instead, and reason why."""

    topic: str
    partition: int
    offset: int
    absent: Absence | None
    reason: NotRequired[str]
    timestamp: NotRequired[int]
    time: NotRequired[str | None]
    transactional: NotRequired[bool]
    state: NotRequired[RecordState | Skipped]
    visible: NotRequired[bool]
    producer_id: NotRequired[int | None]
    producer_epoch: NotRequired[int | None]


class LoggedTransactionFields(TypedDict):
    """The transaction as `__transaction_state` has it; certain is false where it was found by time alone."""

    transactional_id: str
    partitions: list[str]
    started: str | None
    decided: str | None
    completed: str | None
    certain: bool


class ExtentRow(TypedDict):
    """What the transaction has in one partition; the marker's fields are null where none was found."""

    topic: str
    partition: int
    first_offset: int | None
    last_offset: int | None
    found: Found
    marker_offset: int | None
    marker_type: str | None
    marker_epoch: int | None
    coordinator_epoch: int | None
    ended: str | None


class CommittedOffsetRow(TypedDict):
    """A source offset or a group's offset that the transaction committed; kind is source or group."""

    kind: str
    holder: str
    of: str
    value: str | None
    where: str


class UnreadPartitionRow(TypedDict):
    """A partition that was not read, and why."""

    partition: str
    reason: str


class TraceData(OwnerFields):
    """One record and its transaction; partitions_by is transaction-log or scan."""

    record: TracedRecordFields
    transactional_id: str | Skipped | None
    transaction_log: LoggedTransactionFields | Skipped | None
    partitions_by: str | None
    partitions: list[ExtentRow]
    offsets: list[CommittedOffsetRow]
    unread_partitions: list[UnreadPartitionRow]
