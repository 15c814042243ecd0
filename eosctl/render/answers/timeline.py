"""`timeline`: the events in order, and what was read for them."""

from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.report import Severity
from eosctl.model.text import pluralize
from eosctl.model.timeline import Clock, Event, EventKind, EventSource, ReadPartition, Timeline
from eosctl.model.times import lasting, rfc3339
from eosctl.render.document import Document, Table, Tone, Tree, col, columns

TONES: Final = {"error": Tone.BAD, "warning": Tone.WARN}


def _brief_time(row: Tree) -> str:
    """Date and time to the second: the row's own JSON has the milliseconds."""
    at = row["at"] if isinstance(row, dict) else None
    return str(at)[:19].replace("T", " ") if at else "-"


def _brief_who(row: Tree) -> str:
    assert isinstance(row, dict)
    return str(row["worker"] or row["transactional_id"] or row["who"] or "-")


class EventRow(Struct, frozen=True):
    """An event, or a run of equal ones: count of them from `at` until `last_at`, every_ms apart on average."""

    at: Annotated[str | None, col("when, UTC, by the clock of the record; - without a time", brief=_brief_time)]
    source: Annotated[EventSource, "the topics that it is from"]
    kind: Annotated[EventKind, col("what kind of event it is")]
    connector: Annotated[str | None, "the connector"]
    task: Annotated[int | None, "the task"]
    who: Annotated[
        str | None,
        col("the worker, or transactional ID and producer; - if no record names it", brief=_brief_who),
    ]
    what: Annotated[str, "what happened"]
    topic: str | None
    partition: int | None
    offset: Annotated[int | None, "the offset of its record"]
    severity: Annotated[Severity, col("error, warning or info", tones=TONES)]
    worker: str | None
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    clock: Annotated[Clock, "whose clock gave the time: of the writer, of the partition's leader or of a coordinator"]
    misdated: Annotated[bool, "whether its offset contradicts its time; then its offset decides its place"]
    count: int
    last_at: str | None
    last_offset: int | None
    every_ms: int | None
    longest_pause_ms: int | None


class ReadPartitionRow(Struct, frozen=True):
    """A partition that was read: offsets from start to end; missing ones hold no record or marker any more."""

    source: EventSource
    topic: str
    partition: int
    start: int
    end: int
    log_start_offset: int
    records: int
    missing: int
    clocks: list[Clock]


class TimelineData(Struct, frozen=True):
    """The events in order of time, those of one partition in order of offsets."""

    events: list[EventRow]
    connectors: list[str]
    group_id: str | None
    since: str | None
    until: str | None
    coarse_ms: int
    partitions: list[ReadPartitionRow]


EVENTS: Final = Table(
    "events",
    columns(EventRow, "at kind connector task who what"),
    empty="no events in this period",
    below=("who", "what"),
)
OF_ONE_CONNECTOR: Final = replace(
    EVENTS,
    columns=tuple(replace(each, brief=lambda _: "-") if each.path == "connector" else each for each in EVENTS.columns),
)
"""The summary names the connector: a terminal does not repeat it in each row."""


def event_row(event: Event) -> EventRow:
    """One of `data.events[]`."""
    run, producer = event.run, event.actor.producer
    return EventRow(
        at=_time(event.at),
        source=event.source,
        kind=event.kind,
        connector=event.connector,
        task=event.task,
        who=str(event.actor) or None,
        what=words(event),
        topic=None if event.place is None else event.place.topic,
        partition=None if event.place is None else event.place.partition,
        offset=event.offset,
        severity=event.severity,
        worker=event.actor.worker,
        transactional_id=event.actor.transactional_id,
        producer_id=None if producer is None else producer.producer_id,
        producer_epoch=None if producer is None else producer.producer_epoch,
        clock=event.clock,
        misdated=event.order is not None,
        count=1 if run is None else run.events,
        last_at=_time(event.until),
        last_offset=event.offset if run is None else run.last_offset,
        every_ms=None if run is None else (run.until - event.at) // (run.events - 1),
        longest_pause_ms=None if run is None else run.longest_ms,
    )


def words(event: Event) -> str:
    """The event in words, and for a run their number: `committed; 1,204 times, every 2.1 s`."""
    run = event.run
    if run is None:
        return event.what
    mean = (run.until - event.at) / (run.events - 1)
    longest = f", the longest pause {lasting(run.longest_ms)}" if run.longest_ms > 2 * mean else ""
    return f"{event.what}; {run.events:,} times, every {lasting(mean)}{longest}"


def _time(at: int) -> str | None:
    return None if at < 0 else rfc3339(at)


def view_timeline(found: Timeline) -> Document:
    """The events, led by how many there are."""
    data = TimelineData(
        events=[event_row(each) for each in found.facts.events],
        connectors=list(found.connectors),
        group_id=found.group_id,
        since=None if found.since is None else rfc3339(found.since),
        until=None if found.until is None else rfc3339(found.until),
        coarse_ms=found.facts.coarse_ms,
        partitions=[partition_row(each) for each in found.facts.partitions],
    )
    return Document(
        kind="timeline",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(OF_ONE_CONNECTOR if len(found.connectors) == 1 else EVENTS,),
        prose=(summary_of(found),),
        notes=tuple(timeline_notes(found)),
    )


def partition_row(read: ReadPartition) -> ReadPartitionRow:
    return ReadPartitionRow(
        source=read.source,
        topic=read.topic_partition.topic,
        partition=read.topic_partition.partition,
        start=read.start,
        end=read.end,
        log_start_offset=read.log_start_offset,
        records=read.records,
        missing=read.missing,
        clocks=list(read.clocks),
    )


def summary_of(found: Timeline) -> str:
    events = found.facts.events
    counted = sum(1 if each.run is None else each.run.events for each in events)
    rows = f" in {pluralize(len(events), 'row')}" if counted != len(events) else ""
    whose = f" of {', '.join(found.connectors)}" if found.connectors else ""
    records = pluralize(sum(each.records for each in found.facts.partitions), "record")
    return f"{pluralize(counted, 'event')}{whose}{rows}, from {records}."


def timeline_notes(found: Timeline) -> list[str]:
    notes = list(found.facts.notes)
    if found.facts.coarse_ms:
        stretch = lasting(found.facts.coarse_ms)
        notes.append(f"events of one kind within {stretch} are one row, because there are very many: name --connector")
    misdated = sum(1 for each in found.facts.events if each.order is not None)
    if misdated:
        times = pluralize(misdated, "event has a time", "events have times")
        notes.append(f"clocks disagree: {times} that its offset contradicts; its offset decides its place")
    return notes
