"""One connector on one screen, and the list of all."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.acls import AclBinding
from eosctl.model.connector_description import (
    DescribedConnector,
    DescribedId,
    ExactlyOnce,
    LastCommit,
    ListedConnector,
    ListedConnectors,
)
from eosctl.model.connectors import ConnectorType, TargetState
from eosctl.model.evidence import IcebergState
from eosctl.model.report import SEVERITIES, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import lasting, rfc3339
from eosctl.model.workers import TaskStatus
from eosctl.render.answers.explanations import STEPS as NEXT
from eosctl.render.answers.explanations import NextStepRow
from eosctl.render.answers.findings import FindingRow, findings_of
from eosctl.render.answers.hanging import stability_row
from eosctl.render.answers.inspection import NextStartRow
from eosctl.render.answers.offsets import OffsetRow, offset_row
from eosctl.render.answers.transactions import StabilityRow
from eosctl.render.cells import brief_of, cell
from eosctl.render.document import (
    MOST,
    Column,
    Document,
    Fields,
    Findings,
    Rows,
    Table,
    Tone,
    Tree,
    col,
    columns,
    look_up,
    row_of,
)

STATES: Final = {
    "FAILED": Tone.BAD,
    "UNASSIGNED": Tone.WARN,
    "PAUSED": Tone.WARN,
    "STOPPED": Tone.WARN,
    "unknown": Tone.WARN,
    "RUNNING": Tone.GOOD,
}
EFFECTS: Final = {"no": Tone.BAD, "partly": Tone.WARN, "unknown": Tone.WARN, "yes": Tone.GOOD}


def _none(_: Tree) -> str:
    return "-"


def _brief_cause(row: Tree) -> str:
    """The name of the exception alone: the FAILED tasks are beside it."""
    _, colon, said = cell(look_up(row, "cause")).partition(": ")
    return said.partition(":")[0].rpartition(".")[2] if colon else "-"


class ConnectorTaskRow(Struct, frozen=True):
    """A task; trace is the first line of the trace of a FAILED one, cause its innermost exception."""

    id: Annotated[int, col("the task's number", "TASK")]
    state: Annotated[str, col("its state by the workers", tones=STATES)]
    worker: Annotated[str, "the worker that has it, as it advertises itself"]
    trace: Annotated[
        str | None, col("the first line of its trace; on a terminal the causes lead the answer", brief=_none)
    ]
    cause: Annotated[str | None, col("the innermost exception of its trace", brief=_none)]


class ExactlyOnceRow(Struct, frozen=True):
    """The effective exactly-once support: yes, no, partly or unknown, and why.

    worker is enabled, not enabled or mixed; connector is exactly.once.support, requested by default.
    """

    worker: str | Skipped
    connector: str
    boundary: str
    interval_ms: int | None
    timeout_ms: int | None
    effective: str
    why: str
    words: Annotated[str, col("the effective support: workers, connector, boundary, timeout", "EXACTLY-ONCE")]


class ConnectorIdRow(Struct, frozen=True):
    """A task's transactional ID; state is null where its coordinator does not know the ID."""

    transactional_id: Annotated[str, "the ID of a task's producer"]
    state: Annotated[str | Skipped | None, "its state by its coordinator; - if the coordinator does not know the ID"]
    producer_id: Annotated[int | None, "the producer ID"]
    producer_epoch: Annotated[int | None, col("its epoch", "EPOCH")]
    open_s: Annotated[float | None, "how long its transaction is open"]
    last_commit: str | Skipped | None
    quiet_s: Annotated[float | None, "time since its last commit in the transaction log"]


class LastCommitRow(Struct, frozen=True):
    """The last committed transaction of any task, and the longest interval between two before it."""

    at: str
    ago_s: float
    longest_interval_s: float
    intervals: int
    words: Annotated[str, col("the last committed transaction, and the longest interval before", "LAST-COMMIT")]


class MissingAclRow(Struct, frozen=True):
    """An ACL that the connector or its workers need and do not have."""

    principal: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str


class ConnectorAclsRow(Struct, frozen=True):
    """The ACLs that are missing."""

    missing: list[MissingAclRow] | Skipped
    words: Annotated[str | Skipped, col("ACLs that are needed now and missing", "ACLS")]


class ControlGroupRow(Struct, frozen=True):
    """The second group of an Iceberg sink: its coordinator is the one member, and reads the control topic in it.

    lag counts offsets, markers among them, up to the last stable offsets.
    """

    group_id: str
    control_topic: str
    coordinators: int | Skipped
    lag: int | Skipped
    words: Annotated[str, col("the second group of an Iceberg sink, in which its coordinator reads", "CONTROL")]


class ConnectorRow(Struct, frozen=True):
    """One connector; state is the worst of its own and its tasks', null if the workers do not know it.

    state_written is null if workers report state and tasks. Otherwise no worker answered: state and tasks come from the
    status topic, and state_written is the time of its newest record of them. output_topics are the partitions that a
    source writes to, or that a sink's group reads. control_group is null unless it is an Iceberg sink.
    """

    name: str
    type: Annotated[ConnectorType | None, "source or sink"]
    connector_class: Annotated[str | None, col("its class", "CLASS")]
    state: str | Skipped | None
    state_written: str | None
    worker: Annotated[str | None, "the worker that has the connector itself"]
    target_state: TargetState | Skipped | None
    trace: str | None
    words: str
    tasks: list[ConnectorTaskRow] | Skipped
    exactly_once: ExactlyOnceRow | Skipped
    transactional_ids: list[ConnectorIdRow] | Skipped
    offsets: list[OffsetRow] | Skipped
    next_start: NextStartRow | Skipped
    last_commit: LastCommitRow | Skipped | None
    output_topics: list[StabilityRow] | Skipped
    output_words: Annotated[str | Skipped, col("the topics that it writes to, or that a sink's group reads", "TOPICS")]
    control_group: ControlGroupRow | None
    acls: ConnectorAclsRow
    findings: list[FindingRow]
    next: list[NextStepRow]


class ConnectorData(Struct, frozen=True):
    """The connector; cluster_findings counts by severity the findings about the cluster that are not its own."""

    connector: ConnectorRow
    cluster_findings: dict[str, int]
    findings_left_out: int


class TaskCountRow(Struct, frozen=True):
    """How many tasks are in this state."""

    state: str
    tasks: int


class ListedConnectorRow(Struct, frozen=True):
    """A connector of the list; state is the worst of its own and its tasks'.

    state_written is null if workers report state and tasks. Otherwise no worker answered: they come from the status
    topic, and state_written is the time of its newest record of them.
    """

    name: Annotated[str, col("the connector's name", "CONNECTOR")]
    type: Annotated[ConnectorType | None, "source or sink"]
    connector_class: Annotated[str | None, col("its class", "CLASS")]
    state: Annotated[
        str | Skipped | None, col("the worst of its own state and its tasks'; - if no worker reports it", tones=STATES)
    ]
    state_written: str | None
    target_state: Annotated[TargetState | Skipped | None, col("the target state in the config topic", "TARGET")]
    tasks: list[TaskCountRow] | Skipped
    task_words: Annotated[str | Skipped, col("its tasks by state", "TASKS")]
    cause: Annotated[
        str | None, col("why it or a task is FAILED; a terminal shows only the exception", brief=_brief_cause)
    ]


class ConnectorListData(Struct, frozen=True):
    """The connectors of the Connect cluster."""

    group_id: str | None
    connectors: list[ListedConnectorRow]


STEPS = replace(NEXT, rows="connector.next")
TASKS = Table("connector.tasks", columns(ConnectorTaskRow, "id state worker trace cause"), title="Tasks", most=MOST)
FACTS = Fields(
    columns(
        ConnectorRow,
        "type connector_class worker exactly_once.words next_start.words last_commit.words output_words acls.words",
    ),
    at="connector",
)
SINK_FACTS = Fields(columns(ConnectorRow, "type connector_class worker output_words acls.words"), at="connector")
CONTROL = Fields(columns(ConnectorRow, "control_group.words"), at="connector")
IDS = Table(
    "connector.transactional_ids",
    columns(ConnectorIdRow, "transactional_id state producer_id producer_epoch open_s quiet_s"),
    title="Transactional IDs",
    empty="no coordinator knows one",
    most=MOST,
)
OFFSETS = Table(
    "connector.offsets",
    columns(
        OffsetRow,
        "partition",
        Column(
            "NEXT-START-FROM",
            "kafka_effective.value",
            "the offset that the next start begins from; - from nothing",
            brief=brief_of("kafka_effective.value"),
        ),
        "provenance",
    ),
    title="Offsets",
    empty="none: it begins from nothing",
    most=MOST,
)
PARTITIONS = Table(
    "connector.output_topics",
    columns(StabilityRow, "topic partition committed_offset lag last_stable_offset high_watermark held_back held_s by"),
    title="Partitions that are held back",
    most=MOST,
)
CONNECTORS = Table(
    "connectors",
    columns(ListedConnectorRow, "name state task_words type connector_class cause"),
    empty="no connectors",
)


def view_connector(described: DescribedConnector) -> Document:
    """The state in a sentence, the next steps, the findings, then the facts."""
    row = _connector(described)
    data = ConnectorData(connector=row, cluster_findings=_counted(described), findings_left_out=_left_out(described))
    return Document(
        kind="connector.show",
        as_of=rfc3339(described.as_of),
        cluster_id=described.cluster_id,
        data=data,
        blocks=tuple(_blocks(described, row)),
        prose=(f"{described.words.rstrip('.')}.",),
        notes=tuple(_notes(described)),
    )


def _blocks(described: DescribedConnector, row: ConnectorRow) -> Iterator[Table | Fields | Findings]:
    is_sink = described.type is ConnectorType.SINK
    if row.next:
        yield STEPS
    if any(each.severity.reaches(Severity.WARNING) for each in row.findings):
        yield Findings("connector.findings", most=MOST, least=Severity.WARNING)
    if isinstance(row.tasks, list) and row.tasks:
        yield TASKS
    yield SINK_FACTS if is_sink else FACTS
    if row.control_group is not None:
        yield CONTROL
    if isinstance(row.transactional_ids, list) and row.transactional_ids:
        yield IDS
    if isinstance(row.offsets, list):
        yield OFFSETS
    if isinstance(row.output_topics, list) and any(each.held_back for each in row.output_topics):
        yield PARTITIONS


def _notes(described: DescribedConnector) -> Iterator[str]:
    minor = [f"{each.id} {each.name}" for each in described.findings if not each.severity.reaches(Severity.WARNING)]
    if minor:
        yield f"Worth knowing: {', '.join(minor)} (`eosctl explain {minor[0].partition(' ')[0]}`)."
    counted = _counted(described)
    if counted:
        said = ", ".join(pluralize(count, severity) for severity, count in counted.items())
        yield f"About the cluster and not this connector: {said}: `eosctl doctor` shows them."


def _counted(described: DescribedConnector) -> dict[str, int]:
    counted = Counter(each.severity for each in described.others)
    return {severity.value: counted[severity] for severity in SEVERITIES if counted[severity]}


def _left_out(described: DescribedConnector) -> int:
    found = findings_of(described)["findings_left_out"]
    assert isinstance(found, int)
    return found


def _connector(described: DescribedConnector) -> ConnectorRow:
    tasks, ids, offsets = described.tasks, described.transactional_ids, described.offsets
    start, outputs = described.next_start, described.outputs
    return row_of(
        ConnectorRow,
        described,
        state_written=None if described.written_ms is None else rfc3339(described.written_ms),
        tasks=tasks if isinstance(tasks, Skipped) else [_task(each) for each in tasks],
        exactly_once=_exactly_once(described.exactly_once),
        transactional_ids=ids if isinstance(ids, Skipped) else [_id(each, described.as_of) for each in ids],
        offsets=offsets if isinstance(offsets, Skipped) else Rows(offset_row(each) for each in offsets),
        next_start=start if isinstance(start, Skipped) else row_of(NextStartRow, start),
        last_commit=_last_commit(described.last_commit),
        output_topics=outputs
        if isinstance(outputs, Skipped)
        else sorted((stability_row(each, outputs) for each in outputs.partitions), key=lambda row: -row.held_back),
        output_words=_output_words(described),
        control_group=None if described.iceberg is None else _control_group(described.iceberg),
        acls=_acls(described),
        findings=findings_of(described)["findings"],
        next=[row_of(NextStepRow, each) for each in described.steps],
    )


def _task(task: TaskStatus) -> ConnectorTaskRow:
    first = None if task.trace is None else task.trace.splitlines()[0]
    return ConnectorTaskRow(task.task, task.state, task.worker_id, first, task.cause)


def _exactly_once(known: ExactlyOnce | Skipped) -> ExactlyOnceRow | Skipped:
    if isinstance(known, Skipped):
        return known
    interval = "" if known.interval_ms is None else f" of {lasting(known.interval_ms)}"
    timeout = "" if known.timeout_ms is None else f", timeout {lasting(known.timeout_ms)}"
    said = (
        f"{known.effective}: {known.why} (exactly.once.support {known.connector}, boundary {known.boundary}{interval}"
    )
    return row_of(ExactlyOnceRow, known, words=f"{said}{timeout})")


def _id(known: DescribedId, as_of: int) -> ConnectorIdRow:
    last = known.last_commit_ms
    return row_of(
        ConnectorIdRow,
        known,
        open_s=None if known.open_ms is None else round(known.open_ms / 1000, 1),
        last_commit=rfc3339(last) if isinstance(last, int) else last,
        quiet_s=round(max(0, as_of - last) / 1000, 1) if isinstance(last, int) else None,
    )


def _last_commit(known: LastCommit | Skipped | None) -> LastCommitRow | Skipped | None:
    if known is None or isinstance(known, Skipped):
        return known
    before = (
        f"; the longest of {known.intervals:,} intervals before was {lasting(known.longest_ms)}"
        if known.intervals
        else ""
    )
    return LastCommitRow(
        at=rfc3339(known.at_ms) or "",
        ago_s=round(known.ago_ms / 1000, 1),
        longest_interval_s=round(known.longest_ms / 1000, 1),
        intervals=known.intervals,
        words=f"{lasting(known.ago_ms)} ago, {rfc3339(known.at_ms)}{before}",
    )


def _output_words(described: DescribedConnector) -> str | Skipped:
    """The topics with their partitions, and whether readers are held back."""
    outputs = described.outputs
    if isinstance(outputs, Skipped):
        return outputs
    counted = Counter(each.offsets.topic_partition.topic for each in outputs.partitions)
    named = ", ".join(f"{topic} ({pluralize(count, 'partition')})" for topic, count in list(counted.items())[:MOST])
    more = f" and {len(counted) - MOST} more" if len(counted) > MOST else ""
    held = [each for each in outputs.partitions if each.offsets.held_back]
    if outputs.group is not None:
        lag = sum(
            max(0, each.offsets.last_stable_offset - (outputs.group.at(each.offsets.topic_partition) or 0))
            for each in outputs.partitions
        )
        return f"group {outputs.group.group_id} reads {named or 'nothing yet'}{more}: lag {lag:,}"
    state = f"{pluralize(len(held), 'partition is', 'partitions are')} held back" if held else "nothing is held back"
    return f"{named}{more}: {state} (last stable offset)"


def _control_group(state: IcebergState) -> ControlGroupRow:
    group, topic, count, lag = state.sink.coordinator_group, state.sink.control_topic, state.coordinators, _lag(state)
    who = f"coordinators unknown: {count.reason}" if isinstance(count, Skipped) else pluralize(count, "coordinator")
    behind = f"lag unknown: {lag.reason}" if isinstance(lag, Skipped) else f"lag {lag:,}"
    words = f"group {group} reads {topic}: {behind}; {who}"
    return ControlGroupRow(group_id=group, control_topic=topic, coordinators=count, lag=lag, words=words)


def _lag(state: IcebergState) -> int | Skipped:
    """Where the group has no offset it has read nothing that is there."""
    if isinstance(state.committed, Skipped):
        return state.committed
    if isinstance(state.offsets, Skipped):
        return state.offsets
    known = {place: each for place, each in state.offsets.items() if not isinstance(each, Skipped)}
    if unread := next((each for each in state.offsets.values() if isinstance(each, Skipped)), None):
        return unread
    at = state.committed
    return sum(max(0, each.last_stable_offset - at.get(place, each.log_start_offset)) for place, each in known.items())


def _acls(described: DescribedConnector) -> ConnectorAclsRow:
    missing = described.acls_missing
    if isinstance(missing, Skipped):
        return ConnectorAclsRow(missing, missing)
    rows = [_binding(each.binding) for each in missing]
    first = ", ".join(f"{row.principal} {row.operation} {row.resource_type} {row.resource_name}" for row in rows[:MOST])
    return ConnectorAclsRow(
        rows, f"{pluralize(len(rows), 'ACL is', 'ACLs are')} missing: {first}" if rows else "none missing"
    )


def _binding(binding: AclBinding) -> MissingAclRow:
    pattern = binding.pattern
    return MissingAclRow(
        principal=binding.principal,
        operation=binding.operation.value,
        resource_type=pattern.resource_type.value,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type.value,
    )


def view_connectors(listed: ListedConnectors) -> Document:
    """Those that do not run first, then by name."""
    rows = sorted((_listed(each) for each in listed.connectors), key=lambda row: (row.state == "RUNNING", row.name))
    counted = Counter("unknown" if isinstance(each.state, Skipped) else each.state or "unknown" for each in rows)
    states = ", ".join(f"{count} {state}" for state, count in counted.most_common())
    return Document(
        kind="connector.list",
        as_of=rfc3339(listed.as_of),
        cluster_id=listed.cluster_id,
        data=ConnectorListData(group_id=listed.group_id, connectors=rows),
        blocks=(CONNECTORS,),
        prose=(f"{pluralize(len(rows), 'connector')}{': ' if rows else ''}{states}{_by_status_topic(listed)}.",),
    )


def _by_status_topic(listed: ListedConnectors) -> str:
    """That the states are not the workers', and since when they were not written again."""
    written = [each.written_ms for each in listed.connectors if each.written_ms is not None]
    if listed.unanswered is None or not written:
        return ""
    return (
        f". States and tasks are by the status topic, last written {rfc3339(max(written))}; whether they are so now is "
        f"unknown: {listed.unanswered.reason}"
    )


def _listed(listed: ListedConnector) -> ListedConnectorRow:
    tasks = listed.tasks
    return row_of(
        ListedConnectorRow,
        listed,
        state_written=None if listed.written_ms is None else rfc3339(listed.written_ms),
        tasks=tasks if isinstance(tasks, Skipped) else [row_of(TaskCountRow, each) for each in tasks],
        task_words=tasks
        if isinstance(tasks, Skipped)
        else ", ".join(f"{each.tasks} {each.state}" for each in tasks) or "none",
    )
