"""The evidence that a snapshot holds."""

from collections.abc import Mapping
from dataclasses import replace

from eosctl.analysis.transaction_log import fold_transaction_log, idle_since
from eosctl.model.evidence import Evidence, InternalTopic, WorkerEvidence
from eosctl.model.offset_stores import StorePlace
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.snapshot import Snapshot
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.operations.evidence.request import (
    NOT_SAVED,
    EvidenceRequest,
    group_id_of,
    inspection_of,
    offsets_request,
    topics_of,
    without_brokers,
    worker_files_of,
)
from eosctl.operations.offsets import read_offsets, report_of
from eosctl.sources.saved_cluster import SavedCluster


def evidence_in(snapshot: Snapshot, request: EvidenceRequest) -> Evidence:
    """What a snapshot holds of it: neither what connectors say when they are validated, nor ACLs."""
    cluster, connect, log, saved = snapshot.cluster, snapshot.connect, snapshot.config_topic, snapshot.evidence
    workers = _workers(snapshot)
    files = worker_files_of(request, workers)
    ids = snapshot.transactions
    known = replace(
        without_brokers(Evidence(as_of=snapshot.as_of), NOT_SAVED),
        group_id=group_id_of(snapshot.group_id, files),
        cluster_id=cluster if isinstance(cluster, Skipped) else cluster.cluster_id,
        workers=workers,
        worker_files=files,
        statuses=connect.connectors if isinstance(connect, ConnectFacts) else connect,
        preflight=NOT_SAVED,
        brokers=_brokers(snapshot),
        transactions=ids,
        transactional_ids=ids if isinstance(ids, Skipped) else tuple(ids),
        unlisted=snapshot.unlisted,
        idle_since=_idle_since(snapshot),
        groups=_groups(snapshot),
    )
    names = topics_of(request, known)
    known = replace(known, internal_topics=_saved_topics(snapshot, names))
    if not isinstance(saved, Skipped):
        known = replace(known, group=saved.group, transaction_log=saved.transaction_log, leaderless=saved.leaderless)
    known = replace(known, inspection=log if isinstance(log, Skipped) else inspection_of(log, known))
    asked = offsets_request(request, known, names)
    reader = SavedCluster(snapshot)
    return replace(known, offset_findings=or_skipped(lambda: report_of(read_offsets(reader, asked), asked).findings))


def _workers(snapshot: Snapshot) -> Mapping[str, WorkerEvidence | Skipped] | Skipped:
    connect, saved = snapshot.connect, snapshot.evidence
    if not isinstance(saved, Skipped):
        return saved.workers
    return connect if isinstance(connect, Skipped) else {url: _of_fact(each) for url, each in connect.workers.items()}


def _brokers(snapshot: Snapshot) -> Mapping[int, Mapping[str, str] | Skipped] | Skipped:
    cluster, saved = snapshot.cluster, snapshot.evidence
    if not isinstance(saved, Skipped):
        return saved.brokers
    if isinstance(cluster, Skipped):
        return cluster
    return {node: _limits(cluster.transaction_max_timeout_ms) for node in cluster.brokers}


def _idle_since(snapshot: Snapshot) -> Mapping[str, int | Skipped] | Skipped:
    log, ids = snapshot.transaction_log, snapshot.transactions
    if isinstance(log, Skipped):
        return log
    if isinstance(ids, Skipped):
        return ids
    return idle_since(fold_transaction_log(log.records), ids, len(log.leaders), log.unread)


def _groups(snapshot: Snapshot) -> Mapping[str, str] | Skipped:
    producers = snapshot.producers
    if isinstance(producers, Skipped):
        return producers
    if isinstance(producers.groups, Skipped):
        return producers.groups
    return {name: group.protocol_type for name, group in producers.groups.items()}


def _saved_topics(snapshot: Snapshot, names: Mapping[str, str]) -> tuple[InternalTopic, ...]:
    """Those of the evidence where they have the names that are asked for, else what other sections know."""
    log, offsets, saved = snapshot.config_topic, snapshot.offsets, snapshot.evidence
    kept = {} if isinstance(saved, Skipped) else {(each.role, each.name): each for each in saved.internal_topics}
    offsets_name = names["offsets"] if isinstance(offsets, Skipped) else offsets.worker.offsets_topic
    facts: dict[tuple[str, str], TopicFacts | Skipped | None] = {
        ("config", names["config"]): log if isinstance(log, Skipped) else log.facts,
        ("offsets", offsets_name): _offsets_facts(snapshot, offsets_name),
        ("status", names["status"]): NOT_SAVED,
    }
    return tuple(kept.get(place) or InternalTopic(*place, found) for place, found in facts.items())


def _offsets_facts(snapshot: Snapshot, name: str) -> TopicFacts | Skipped | None:
    if isinstance(snapshot.offsets, Skipped):
        return snapshot.offsets
    topic = snapshot.offsets.topics.get(StorePlace(name), NOT_SAVED)
    return topic if topic is None or isinstance(topic, Skipped) else topic.facts


def _limits(limit: int | Skipped) -> Mapping[str, str] | Skipped:
    return limit if isinstance(limit, Skipped) else {"transaction.max.timeout.ms": str(limit)}


def _of_fact(worker: WorkerFacts | Skipped) -> WorkerEvidence | Skipped:
    if isinstance(worker, Skipped):
        return worker
    try:
        version = KafkaVersion.parse(worker.version)
    except ValueError as error:
        return Skipped(str(error))
    return WorkerEvidence(worker.url, version, worker.kafka_cluster_id, NOT_SAVED, NOT_SAVED)
