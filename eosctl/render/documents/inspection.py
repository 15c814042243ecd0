"""What `inspect-config` answers."""

from typing import TypedDict

from eosctl.model.config_topic import Effect
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.inspection import NextStartRule
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.render.documents.findings import ShownFindings


class ReaderRow(TypedDict):
    """The worker that the topic is read as."""

    kafka_version: str
    isolation_level: IsolationLevel


class SessionKeyRow(TypedDict):
    """The newest session key of the workers, without the key."""

    algorithm: str
    created: str
    offset: int


class NextStartRow(TypedDict):
    """What the next start of the connector does: which rule decides, and how many producers it fences."""

    rule: NextStartRule
    fences: int
    words: str


class InspectedConnectorRow(TypedDict):
    """A connector in the terms of Kafka's ClusterConfigState; offsets are of the config topic."""

    name: str
    known: bool
    type: ConnectorType | None
    target_state: TargetState | None
    task_count: int | None
    task_count_record: int | None
    pending_fencing: bool
    inconsistent: bool
    consistent: str
    missing_tasks: list[int]
    generation: int | None
    visible_tasks: list[int]
    running_tasks: int | Skipped
    next_start: NextStartRow
    last_config_offset: int | None
    last_commit_offset: int | None
    last_task_count_offset: int | None
    last_target_state_offset: int | None


class InspectionData(ShownFindings):
    """The config topic as a worker reads it up to `offset`; skipped names what was not checked, with the reason."""

    topic: str
    group_id: str | None
    reader: ReaderRow
    offset: int
    records: int
    aborted_records: int
    open_records: int
    blocked_at: int | None
    session_key: SessionKeyRow | None
    connectors: list[InspectedConnectorRow]
    skipped: dict[str, str]


class ConfigRecordRow(TypedDict):
    """A record of the config topic, and what it did to a worker's state."""

    offset: int
    timestamp: int
    time: str | None
    writer: str
    transactional: bool
    transaction: str | None
    producer_id: int
    producer_epoch: int
    kind: str
    connector: str | None
    words: str
    effect: Effect
    pending_fencing: bool | None
    inconsistent: bool | None


class ConfigHistoryData(TypedDict):
    """Every record in offset order."""

    topic: str
    history: list[ConfigRecordRow]
