"""The records of the status topic: what workers write about connectors, tasks, and the topics that they use."""

from enum import StrEnum
from typing import NamedTuple

from eosctl.model.records import Record


class StatusKind(StrEnum):
    CONNECTOR = "connector"
    TASK = "task"
    TOPIC = "topic"
    INVALID = "invalid"


class StatusRecord(NamedTuple):
    """One record as a worker reads it.

    kind INVALID: workers discard the key; reason says why, also if they discard the value. state None without a reason
    is a tombstone: workers forget the status (they write DESTROYED so). trace has its secrets masked. topic is the
    subject of a TOPIC record; task is None in CONNECTOR and INVALID records.
    """

    record: Record
    kind: StatusKind
    connector: str
    task: int | None = None
    topic: str | None = None
    state: str | None = None
    trace: str | None = None
    worker_id: str | None = None
    generation: int | None = None
    reason: str | None = None
