"""The answers of commands that write files, and of the demo."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Struct

from eosctl.model.audit import SparkBundle
from eosctl.model.config_topic import InspectedConfigTopic
from eosctl.model.evidence import ClusterEvidence, Snapshot, SnapshotFile
from eosctl.model.fencing import Fenced, PlannedFencing
from eosctl.model.hanging import NO_LEADER, ProducersFacts
from eosctl.model.offsets import OffsetsFacts, OffsetsTopic
from eosctl.model.planned import Planned
from eosctl.model.sandbox import DemoReport
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import TransactionLogFacts
from eosctl.model.transactions import Descriptions, why_undescribed
from eosctl.model.workers import ConnectFacts
from eosctl.render.answers.fencing import view_fencing_answer
from eosctl.render.answers.inspection import view_inspection
from eosctl.render.answers.plan import view_plan
from eosctl.render.document import Column, Document, Table, col, columns


class SectionRow(Struct, frozen=True):
    """A section of a snapshot: its size, or why it was not read."""

    section: Annotated[str, "what was read"]
    seen: Annotated[str | Skipped, "the part that was read, or why it was not read"]


class SnapshotData(Struct, frozen=True):
    """The contents of a snapshot."""

    file: str
    group_id: str | None
    sections: list[SectionRow]


class FileRow(Struct, frozen=True):
    """A file and its size in bytes."""

    file: Annotated[str, "the file"]
    bytes: Annotated[int, "its size"]


class SparkBundleData(Struct, frozen=True):
    """The files of a bundle for spark-submit."""

    files: list[FileRow]


class DemoStepRow(Struct, frozen=True):
    """A step of the demo: the action, and its effect on the real cluster."""

    step: Annotated[str, "what was done"]
    seen: Annotated[str, "what was seen"]
    elapsed_s: Annotated[float, col("how long it took", "SECONDS")]


class DemoData(Struct, frozen=True):
    """All steps."""

    kafka_version: str
    steps: list[DemoStepRow]


class TextData(Struct, frozen=True):
    """The text that a command prints instead of a table, as a file to install or a script."""

    text: str


# The contents of a snapshot.


T = TypeVar("T")

SECTIONS = Table(
    "sections",
    columns(SectionRow, "section seen"),
)


def view_snapshot(answer: SnapshotFile) -> Document:
    """Each section with its size, or why it was not read."""
    snapshot = answer.snapshot
    data = SnapshotData(
        file=answer.file,
        group_id=snapshot.group_id,
        sections=_sections(snapshot),
    )
    return Document(
        kind="snapshot",
        as_of=rfc3339(snapshot.as_of),
        cluster_id=None if isinstance(snapshot.cluster, Skipped) else snapshot.cluster.cluster_id,
        data=data,
        blocks=(SECTIONS,),
    )


def _sections(snapshot: Snapshot) -> list[SectionRow]:
    seen: dict[str, str | Skipped] = {
        "cluster": _or_reason(snapshot.cluster, lambda it: f"{it.cluster_id}, {pluralize(len(it.brokers), 'broker')}"),
        "connect": _or_reason(snapshot.connect, _connect),
        "transactions": _or_reason(snapshot.transactions, lambda it: _transactions(it, snapshot.unlisted)),
        "config-topic": _or_reason(
            snapshot.config_topic, lambda it: f"{it.topic}: {pluralize(len(list(it.records)), 'record')}"
        ),
        "offsets": _or_reason(snapshot.offsets, _offsets),
        "transaction-log": _or_reason(snapshot.transaction_log, _log),
        "producers": _or_reason(snapshot.producers, _producers),
        "evidence": _or_reason(snapshot.evidence, _evidence),
    }
    return [SectionRow(section=name, seen=value) for name, value in seen.items()]


def _connect(facts: ConnectFacts) -> str:
    return f"{pluralize(len(facts.workers), 'worker')}, {pluralize(len(facts.connectors), 'connector')}"


def _evidence(evidence: ClusterEvidence) -> str:
    asked = {"worker": evidence.workers, "broker": evidence.brokers}
    known = [pluralize(len(each), name) for name, each in asked.items() if not isinstance(each, Skipped)]
    return ", ".join((*known, pluralize(len(evidence.internal_topics), "internal topic")))


def _transactions(descriptions: Descriptions, unlisted: Sequence[str]) -> str:
    unknown = why_undescribed(descriptions)
    reasons = () if unknown is None else (unknown.reason,)
    return "; ".join((pluralize(len(descriptions), "transactional ID"), *reasons, *unlisted))


def _log(log: TransactionLogFacts) -> str:
    read = f"{pluralize(log.read, 'record')}, of which {len(log.records):,} are here"
    return f"{read}; {pluralize(len(log.unread), 'partition')} could not be read" if log.unread else read


def _producers(facts: ProducersFacts) -> str:
    count = sum(len(each.producers) for each in facts.partitions.values())
    lost = sum(1 for each in facts.partitions.values() if each.leader == NO_LEADER)
    known = f"{count:,} in {pluralize(len(facts.partitions), 'partition')}"
    return f"{known}; {lost} partitions had no leader that answered" if lost else known


def _offsets(facts: OffsetsFacts) -> str:
    keys = {
        place: sum(len(part.keys) for part in topic.partitions)
        for place, topic in facts.topics.items()
        if isinstance(topic, OffsetsTopic)
    }
    return ", ".join(f"{place}: {pluralize(count, 'key')}" for place, count in keys.items()) or "no topic"


def _or_reason(value: T | Skipped, describe: Callable[[T], str]) -> str | Skipped:
    return value if isinstance(value, Skipped) else describe(value)


# The files of a Spark bundle.


FILES = Table("files", columns(FileRow, "file", Column("BYTES", "bytes", "its size")))


def view_spark_bundle(bundle: SparkBundle) -> Document:
    data = SparkBundleData(files=[FileRow(file=name, bytes=size) for name, size in bundle.sizes.items()])
    return Document(kind="spark-bundle", data=data, blocks=(FILES,))


# The actions and observations of the demo.


STEPS = Table(
    "steps",
    columns(DemoStepRow, "step seen elapsed_s"),
)


def view_demo(report: DemoReport) -> Document:
    data = DemoData(
        kafka_version=report.kafka_version,
        steps=[
            DemoStepRow(step=each.step, seen=each.seen, elapsed_s=round(each.elapsed_s, 1)) for each in report.steps
        ],
    )
    return Document("demo", data, blocks=(STEPS,))


def view_act(answer: Planned | InspectedConfigTopic | PlannedFencing | Fenced) -> Document:
    """The display of an act while the demo runs."""
    match answer:
        case Planned():
            return view_plan(answer)
        case InspectedConfigTopic():
            return view_inspection(answer)
    return view_fencing_answer(answer)
