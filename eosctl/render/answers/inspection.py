"""The config topic inspected: connectors with their next start, findings, and the history."""

from typing import Annotated

from msgspec import Struct

from eosctl.model.config_topic import (
    ConfigTopicHistory,
    Effect,
    InspectedConfigTopic,
    InspectedConnector,
    Inspection,
    NextStartRule,
    TimelineEntry,
)
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.document import MOST, Document, Findings, Table, Tone, col, columns, row_of

# The answer of `inspect-config`.


class ReaderRow(Struct, frozen=True):
    """The worker that the topic is read as."""

    kafka_version: str
    isolation_level: IsolationLevel


class SessionKeyRow(Struct, frozen=True):
    """The newest session key of the workers, without the key."""

    algorithm: str
    created: str
    offset: int


class NextStartRow(Struct, frozen=True):
    """The next start of the connector: the rule that decides, and the number of producers that it fences."""

    rule: NextStartRule
    fences: Annotated[int, "producers that the next start fences"]
    words: Annotated[str, col("the effect of the next start, and its reason", "NEXT-START")]


class InspectedConnectorRow(Struct, frozen=True):
    """A connector in the terms of Kafka's ClusterConfigState; offsets are of the config topic."""

    name: Annotated[str, col("the connector's name", "CONNECTOR")]
    known: bool
    type: Annotated[ConnectorType | None, "source or sink; - if Connect REST and the task count records do not show it"]
    target_state: Annotated[
        TargetState | None,
        col("STARTED, PAUSED or STOPPED; - if the connector does not exist (only its leftovers remain)", "TARGET"),
    ]
    task_count: Annotated[int | None, col("tasks in the last task commit", "TASKS")]
    task_count_record: Annotated[
        int | None,
        col("the last task count record: how many producers a round of zombie fencing would fence", "RECORD"),
    ]
    pending_fencing: Annotated[
        bool, col("whether the last task commit is later than the last task count record", "PENDING")
    ]
    inconsistent: bool
    consistent: Annotated[
        str, col("no if task configs of the last commit are missing: Connect then runs no task", tones={"no": Tone.BAD})
    ]
    missing_tasks: list[int]
    generation: int | None
    visible_tasks: list[int]
    running_tasks: int | Skipped
    next_start: NextStartRow
    last_config_offset: int | None
    last_commit_offset: int | None
    last_task_count_offset: int | None
    last_target_state_offset: int | None


class InspectionData(ShownFindings, frozen=True):
    """The config topic as a worker reads it up to `offset`; skipped names the unchecked facts, with the reason."""

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


class ConfigRecordRow(Struct, frozen=True):
    """A record of the config topic, and what it did to a worker's state."""

    offset: Annotated[int, "offset of the record"]
    timestamp: int
    time: Annotated[str | None, "the record's timestamp, UTC"]
    writer: Annotated[str, "producer ID/epoch, or plain if the producer was not idempotent"]
    transactional: bool
    transaction: Annotated[
        str | None, col("the outcome of its transaction; - outside transactions", "TXN", tones={"open": Tone.WARN})
    ]
    producer_id: int
    producer_epoch: int
    kind: str
    connector: Annotated[str | None, "the connector's name"]
    words: Annotated[str, col("the content of the record and its effect", "WHAT")]
    effect: Effect
    pending_fencing: bool | None
    inconsistent: bool | None


class ConfigHistoryData(Struct, frozen=True):
    """Every record in offset order."""

    topic: str
    history: list[ConfigRecordRow]


CONNECTORS = Table(
    "connectors",
    columns(
        InspectedConnectorRow,
        "name type target_state task_count task_count_record pending_fencing consistent next_start.fences "
        "next_start.words",
    ),
    empty="no connectors",
)

HISTORY = Table(
    "history",
    columns(ConfigRecordRow, "offset time writer transaction connector words"),
    empty="no records",
)


def view_inspection(inspected: InspectedConfigTopic) -> Document:
    """Connectors and findings, led by what the whole topic shows."""
    inspection, reader = inspected.inspection, inspected.reader
    state, unchecked = inspection.state, sorted(inspection.skipped.items())
    data = InspectionData(
        topic=inspection.topic,
        group_id=inspected.group_id,
        reader=ReaderRow(kafka_version=str(reader.version), isolation_level=reader.isolation_level),
        offset=state.offset,
        records=inspection.census.records,
        aborted_records=inspection.census.aborted,
        open_records=inspection.census.open,
        blocked_at=state.blocked_at,
        session_key=None
        if state.session_key is None
        else SessionKeyRow(
            algorithm=state.session_key.algorithm,
            created=rfc3339(state.session_key.creation_timestamp),
            offset=state.session_key.offset,
        ),
        connectors=[connector_row(each) for each in inspection.connectors],
        **findings_of(inspected),
        skipped={name: each.reason for name, each in inspection.skipped.items()},
    )
    return Document(
        kind="inspect-config",
        as_of=_time(inspected.as_of),
        cluster_id=inspected.cluster_id,
        data=data,
        blocks=(CONNECTORS, Findings(most=MOST)),
        prose=(_summary(inspection),),
        notes=(*(f"not checked: {name}: {each.reason}" for name, each in unchecked), *inspected.notes),
    )


def _time(as_of: int | None) -> str | None:
    return None if as_of is None else rfc3339(as_of)


def connector_row(connector: InspectedConnector) -> InspectedConnectorRow:
    """One of `data.connectors[]`, in the terms of Kafka's ClusterConfigState."""
    state, start = connector.state, connector.next_start
    return row_of(
        InspectedConnectorRow,
        state,
        type=connector.type,
        consistent="no" if state.inconsistent else "yes",
        running_tasks=connector.running_tasks,
        next_start=row_of(NextStartRow, start),
        last_config_offset=state.config_offset,
        last_commit_offset=state.commit_offset,
        last_task_count_offset=state.task_count_offset,
        last_target_state_offset=state.target_state_offset,
    )


def _summary(inspection: Inspection) -> str:
    known = sum(1 for each in inspection.connectors if each.state.known)
    fences = [each.next_start.fences for each in inspection.connectors if each.next_start.fences]
    starts = "no connector fences any producer"
    if fences:
        who = pluralize(len(fences), "connector fences", "connectors fence")
        starts = f"{who} {pluralize(sum(fences), 'producer')}"
    records = pluralize(inspection.census.records, "record")
    return f"{inspection.topic}: {records}; connectors: {known}; next start: {starts}."


def view_history(history: ConfigTopicHistory) -> Document:
    """Every record in offset order, with what it did to a worker's state."""
    data = ConfigHistoryData(topic=history.topic, history=[history_row(each) for each in history.entries])
    return Document(
        kind="inspect-config.history",
        as_of=_time(history.as_of),
        cluster_id=history.cluster_id,
        data=data,
        blocks=(HISTORY,),
        notes=history.notes,
    )


def history_row(entry: TimelineEntry) -> ConfigRecordRow:
    origin = entry.origin
    return row_of(
        ConfigRecordRow,
        entry,
        offset=origin.offset,
        timestamp=origin.timestamp,
        time=None if origin.timestamp < 0 else rfc3339(origin.timestamp),
        writer="plain" if origin.producer is None else str(origin.producer),
        transactional=origin.transactional,
        transaction=origin.state.value if origin.transactional else None,
        producer_id=origin.producer_id,
        producer_epoch=origin.producer_epoch,
    )
