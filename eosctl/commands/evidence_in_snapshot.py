"""The evidence that a snapshot holds."""

from collections.abc import Mapping
from dataclasses import replace

from eosctl.commands.evidence_reading import (
    NOT_SAVED,
    EvidenceQuestion,
    group_id_of,
    inspection_of,
    offsets_question,
    topics_of,
    without_brokers,
    worker_files_of,
)
from eosctl.commands.offsets_reading import offsets_in
from eosctl.commands.offsets_showing import report_of
from eosctl.model.evidence import Evidence, InternalTopic, WorkerEvidence
from eosctl.model.offset_stores import StorePlace
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import Snapshot
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.sources.kafka_evidence import or_skipped


def evidence_in(snapshot: Snapshot, question: EvidenceQuestion) -> Evidence:
    """What a snapshot holds of it: no validate probe, no broker settings but one, no groups."""
    cluster, connect, log = snapshot.cluster, snapshot.connect, snapshot.config_topic
    workers = (
        connect if isinstance(connect, Skipped) else {url: _of_fact(each) for url, each in connect.workers.items()}
    )
    files = worker_files_of(question, workers)
    known = replace(
        without_brokers(Evidence(as_of=snapshot.as_of), NOT_SAVED),
        group_id=group_id_of(snapshot.group_id, files),
        cluster_id=cluster if isinstance(cluster, Skipped) else cluster.cluster_id,
        workers=workers,
        worker_files=files,
        statuses=connect.connectors if isinstance(connect, ConnectFacts) else connect,
        preflight=NOT_SAVED,
        brokers=cluster
        if isinstance(cluster, Skipped)
        else {node: _limits(cluster.transaction_max_timeout_ms) for node in cluster.brokers},
        transactions=snapshot.transactions,
        transactional_ids=snapshot.transactions
        if isinstance(snapshot.transactions, Skipped)
        else tuple(snapshot.transactions),
    )
    known = replace(known, internal_topics=_saved_topics(snapshot, topics_of(question, known)))
    known = replace(known, inspection=log if isinstance(log, Skipped) else inspection_of(log, known))
    asked = offsets_question(question, known, topics_of(question, known))
    return replace(known, offset_findings=or_skipped(lambda: report_of(offsets_in(snapshot, asked), asked).findings))


def _saved_topics(snapshot: Snapshot, names: Mapping[str, str]) -> tuple[InternalTopic, ...]:
    log, offsets = snapshot.config_topic, snapshot.offsets
    status = InternalTopic("status", names["status"], NOT_SAVED)
    config = InternalTopic("config", names["config"], log if isinstance(log, Skipped) else log.facts)
    if isinstance(offsets, Skipped):
        return config, InternalTopic("offsets", names["offsets"], offsets), status
    name = offsets.worker.offsets_topic
    topic = offsets.topics.get(StorePlace(name), NOT_SAVED)
    facts = topic if topic is None or isinstance(topic, Skipped) else topic.facts
    return config, InternalTopic("offsets", name, facts), status


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
