"""What a snapshot holds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from eosctl.model.counts import counted
from eosctl.model.evidence import ClusterEvidence
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.offsets_facts import OffsetsFacts
from eosctl.model.partition_producers import NO_LEADER, ProducersFacts
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import Snapshot, SnapshotFile
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import TransactionLogFacts
from eosctl.model.transactions import Descriptions, why_undescribed
from eosctl.model.workers import ConnectFacts
from eosctl.render.document import Column, Document, Table
from eosctl.render.documents.files import SectionRow, SnapshotData

T = TypeVar("T")

SECTIONS = Table(
    "sections",
    (
        Column("SECTION", "section", "what was read"),
        Column("SEEN", "seen", "how much of it, or why it was not read"),
    ),
)


def view_snapshot(answer: SnapshotFile) -> Document:
    """Each section with how much of it there is, or why it was not read."""
    snapshot = answer.snapshot
    data: SnapshotData = {
        "file": answer.file,
        "group_id": snapshot.group_id,
        "sections": _sections(snapshot),
    }
    return Document(
        kind="snapshot",
        as_of=rfc3339(snapshot.as_of),
        cluster_id=None if isinstance(snapshot.cluster, Skipped) else snapshot.cluster.cluster_id,
        data=data,
        blocks=(SECTIONS,),
    )


def _sections(snapshot: Snapshot) -> list[SectionRow]:
    seen: dict[str, str | Skipped] = {
        "cluster": _or_reason(snapshot.cluster, lambda it: f"{it.cluster_id}, {counted(len(it.brokers), 'broker')}"),
        "connect": _or_reason(snapshot.connect, _connect),
        "transactions": _or_reason(snapshot.transactions, lambda it: _transactions(it, snapshot.unlisted)),
        "config-topic": _or_reason(
            snapshot.config_topic, lambda it: f"{it.topic}: {counted(len(list(it.records)), 'record')}"
        ),
        "offsets": _or_reason(snapshot.offsets, _offsets),
        "transaction-log": _or_reason(snapshot.transaction_log, _log),
        "producers": _or_reason(snapshot.producers, _producers),
        "evidence": _or_reason(snapshot.evidence, _evidence),
    }
    return [{"section": name, "seen": value} for name, value in seen.items()]


def _connect(facts: ConnectFacts) -> str:
    return f"{counted(len(facts.workers), 'worker')}, {counted(len(facts.connectors), 'connector')}"


def _evidence(evidence: ClusterEvidence) -> str:
    asked = {"worker": evidence.workers, "broker": evidence.brokers}
    known = [counted(len(each), name) for name, each in asked.items() if not isinstance(each, Skipped)]
    return ", ".join((*known, counted(len(evidence.internal_topics), "internal topic")))


def _transactions(descriptions: Descriptions, unlisted: Sequence[str]) -> str:
    unknown = why_undescribed(descriptions)
    reasons = () if unknown is None else (unknown.reason,)
    return "; ".join((counted(len(descriptions), "transactional ID"), *reasons, *unlisted))


def _log(log: TransactionLogFacts) -> str:
    read = f"{counted(log.read, 'record')}, of which {len(log.records):,} are here"
    return f"{read}; {counted(len(log.unread), 'partition')} could not be read" if log.unread else read


def _producers(facts: ProducersFacts) -> str:
    count = sum(len(each.producers) for each in facts.partitions.values())
    lost = sum(1 for each in facts.partitions.values() if each.leader == NO_LEADER)
    known = f"{count:,} in {counted(len(facts.partitions), 'partition')}"
    return f"{known}; {lost} of them had no leader that answered" if lost else known


def _offsets(facts: OffsetsFacts) -> str:
    keys = {
        place: sum(len(part.keys) for part in topic.partitions)
        for place, topic in facts.topics.items()
        if isinstance(topic, OffsetsTopic)
    }
    return ", ".join(f"{place}: {counted(count, 'key')}" for place, count in keys.items()) or "no topic"


def _or_reason(value: T | Skipped, describe: Callable[[T], str]) -> str | Skipped:
    return value if isinstance(value, Skipped) else describe(value)
