"""Reading the evidence that the rules ask for: workers and brokers at the same time, or a snapshot."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from eosctl.analysis.config_census import survey_config_topic
from eosctl.analysis.inspection import inspect
from eosctl.analysis.rules.group import place_of
from eosctl.analysis.rules.workers import probes
from eosctl.codecs.worker_properties import advertised_address, decode_worker_properties
from eosctl.commands.context import Context
from eosctl.commands.evidence_acls import read_acl_differences
from eosctl.commands.offsets_reading import OffsetsQuestion, offsets_in, read_offsets
from eosctl.commands.offsets_showing import report_of
from eosctl.commands.reading import read_config_topic, read_descriptions, read_transactional_ids
from eosctl.errors import UsageError
from eosctl.model.connectors import Reader
from eosctl.model.evidence import Evidence, InternalTopic, WorkerEvidence
from eosctl.model.inspection import Inspection
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.offset_stores import SourceSupport, StorePlace
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ConfigTopicLog, Snapshot
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import ConnectFacts, ConnectorStatus, WorkerFacts
from eosctl.sources.kafka_evidence import or_skipped

NO_BROKERS = Skipped("no -b/--bootstrap-server was given")
NO_WORKERS = Skipped("no --connect-url was given")
NO_GROUP = Skipped("no --group-id was given")
NO_FILES = Skipped("no --worker-config was given")
NOT_SAVED = Skipped("snapshots do not hold it")
ROLES = {"config": "connect-configs", "offsets": "connect-offsets", "status": "connect-status"}


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """What the user says: topics and principals by role, workers' files, and whether to ask connectors."""

    topics: Mapping[str, str | None]
    worker_files: tuple[Path, ...] = ()
    preflight: bool = True
    principals: Mapping[str, str] = field(default_factory=dict)
    super_users: tuple[str, ...] = ()


class _Rest(NamedTuple):
    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
    statuses: Mapping[str, ConnectorStatus] | Skipped
    preflight: Mapping[str, tuple[str, ...] | Skipped] | Skipped


def read_evidence(context: Context, question: EvidenceQuestion) -> Evidence:
    """Everything that can be read now. Raises where no broker or no worker answers, of those that were named."""
    if context.options.snapshot is not None:
        from eosctl.sources.snapshot_file import read_snapshot_file

        return evidence_in(read_snapshot_file(context.options.snapshot), question)
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(_read_rest, context, question)
        if not _has_brokers(context):
            return _of_workers(context, question, asked.result())
        context.wire.brokers()  # an unreachable cluster is said at once
        return _of_brokers(context, question, asked.result())


def _has_brokers(context: Context) -> bool:
    has = bool(context.client_properties.bootstrap_servers)
    if not has and not context.options.connect_urls:
        context.options.need_bootstrap_servers()
    return has


def _read_rest(context: Context, question: EvidenceQuestion) -> _Rest:
    from eosctl.sources.connect_evidence import read_preflight, read_worker_evidence
    from eosctl.sources.connect_rest import read_connectors

    urls, timeout_s = context.options.connect_urls, context.options.timeout_s
    if not urls:
        return _Rest(NO_WORKERS, NO_WORKERS, NO_WORKERS)
    workers = read_worker_evidence(urls, timeout_s)
    alive = [url for url, each in workers.items() if isinstance(each, WorkerEvidence)]
    preflight = (
        or_skipped(lambda: read_preflight(alive, timeout_s)) if question.preflight else Skipped("--no-preflight")
    )
    return _Rest(workers, or_skipped(lambda: read_connectors(alive[0], timeout_s)), preflight)


def _of_workers(context: Context, question: EvidenceQuestion, rest: _Rest) -> Evidence:
    files = _worker_files(question, rest.workers)
    empty = Evidence(as_of=context.now())
    known = replace(
        _without_brokers(empty, NO_BROKERS),
        workers=rest.workers,
        statuses=rest.statuses,
        preflight=rest.preflight,
        worker_files=files,
    )
    return replace(known, group_id=_group_id(context.options.group_id, files))


def _without_brokers(evidence: Evidence, reason: Skipped) -> Evidence:
    return replace(
        evidence,
        cluster_id=reason,
        group=reason,
        inspection=reason,
        brokers=reason,
        internal_topics=reason,
        transaction_log=reason,
        transactions=reason,
        transactional_ids=reason,
        offset_findings=reason,
        groups=reason,
        acl_differences=reason,
    )


def _of_brokers(context: Context, question: EvidenceQuestion, rest: _Rest) -> Evidence:
    from eosctl.sources.connect_group import read_connect_group, read_groups
    from eosctl.sources.kafka_evidence import read_broker_settings, read_internal_topic, read_transaction_log

    wire, known = context.wire, _of_workers(context, question, rest)
    topics = _topics(question, known)
    group_id = known.group_id
    inspection = or_skipped(lambda: _inspection(read_config_topic(context, topics["config"]), known))
    known = replace(
        known,
        cluster_id=wire.cluster_id,
        group=group_id if isinstance(group_id, Skipped) else or_skipped(lambda: read_connect_group(wire, group_id)),
        inspection=inspection,
        brokers=read_broker_settings(wire),
        internal_topics=tuple(read_internal_topic(wire, role, name) for role, name in topics.items()),
        transaction_log=or_skipped(lambda: read_transaction_log(wire)),
        transactional_ids=or_skipped(lambda: read_transactional_ids(context)),
        offset_findings=or_skipped(lambda: _offset_findings(context, question, known, topics)),
        groups=or_skipped(lambda: read_groups(wire)),
        acl_differences=or_skipped(lambda: read_acl_differences(_quick(context, known), question, topics)),
    )
    ids = tuple(_connect_ids(known))
    transactions = NO_GROUP if not ids else or_skipped(lambda: read_descriptions(context, ids))
    return replace(known, transactions=transactions)


def _topics(question: EvidenceQuestion, known: Evidence) -> dict[str, str]:
    """Name of each internal topic: as the user says, else as a worker's file says, else as Kafka's samples have it."""
    keys = {"config": "config.storage.topic", "offsets": "offset.storage.topic", "status": "status.storage.topic"}
    return {
        role: question.topics.get(role) or next(iter(known.configured(keys[role]).values()), name)
        for role, name in ROLES.items()
    }


def _inspection(log: ConfigTopicLog, known: Evidence) -> Inspection:
    statuses = known.statuses
    version = min((each.version for each in known.answering), default=NEWEST)
    group_id = known.group_id
    return inspect(
        survey_config_topic(log.records, Reader(version)),
        topic=log.topic,
        topic_facts=log.facts,
        offsets=log.offsets,
        types=statuses
        if isinstance(statuses, Skipped)
        else {name: each.type for name, each in statuses.items() if each.type is not None},
        running_tasks=statuses
        if isinstance(statuses, Skipped)
        else {name: len(each.running_tasks) for name, each in statuses.items()},
        group_id=None if isinstance(group_id, Skipped) else group_id,
    )


def _connect_ids(known: Evidence) -> Iterator[str]:
    """The IDs of the leader and of every task that a source has, had, or may be fenced for."""
    if isinstance(known.group_id, Skipped):
        return
    yield leader_transactional_id(known.group_id)
    for name in known.sources():
        counts = [0]
        if not isinstance(known.inspection, Skipped):
            state = known.inspection.state.state(name)
            counts += [state.task_count or 0, state.task_count_record or 0]
        if not isinstance(known.statuses, Skipped) and name in known.statuses:
            counts += [task.task + 1 for task in known.statuses[name].tasks]
        yield from (task_transactional_id(known.group_id, ConnectorTaskId(name, task)) for task in range(max(counts)))


def _offset_findings(
    context: Context, question: EvidenceQuestion, known: Evidence, topics: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Those of `offsets show`."""
    asked = _offsets_question(question, known, topics)
    return report_of(read_offsets(_quick(context, known), asked), asked).findings


def _quick(context: Context, known: Evidence) -> Context:
    """The same cluster by the workers that answer: one that hangs is not waited for again."""
    group_id = None if isinstance(known.group_id, Skipped) else known.group_id
    urls = tuple(each.url for each in known.answering)
    quick = Context(replace(context.options, connect_urls=urls, group_id=group_id))
    quick.wire = context.wire
    return quick


def _offsets_question(question: EvidenceQuestion, known: Evidence, topics: Mapping[str, str]) -> OffsetsQuestion:
    enabled, others, unknown = probes(known)
    agreed = None if (enabled and others) or unknown else SourceSupport.ENABLED if enabled else SourceSupport.DISABLED
    servers = set(known.configured("bootstrap.servers").values())
    versions = [str(each.version) for each in known.answering]
    return OffsetsQuestion(
        config_topic=topics["config"],
        worker_offsets_topic=topics["offsets"],
        exactly_once=agreed if enabled or others else None,
        worker_version=min(versions, key=KafkaVersion.parse) if versions else None,
        worker_bootstrap_servers=next(iter(servers)) if len(servers) == 1 else None,
    )


def _group_id(told: str | None, files: Mapping[str, Mapping[str, str]] | Skipped) -> str | Skipped:
    named = {each["group.id"] for each in files.values() if "group.id" in each} if isinstance(files, Mapping) else set()
    if told is not None:
        return told
    return named.pop() if len(named) == 1 else NO_GROUP


def _worker_files(
    question: EvidenceQuestion, workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
) -> Mapping[str, Mapping[str, str]] | Skipped:
    """Each file's settings, by the address of the worker that advertises what the file says, else by its path."""
    from eosctl.sources.files import read_text

    if not question.worker_files:
        return NO_FILES
    urls = {} if isinstance(workers, Skipped) else {place_of(url): url for url in workers}
    found: dict[str, Mapping[str, str]] = {}
    for path in question.worker_files:
        properties = decode_worker_properties(read_text(path, "--worker-config"), str(path))
        address = advertised_address(properties)
        name = str(path) if address is None else urls.get(place_of(address), str(path))
        if name in found:
            raise UsageError(f"two files are of the worker at {name}: {path} is the second")
        found[name] = properties
    return found


def evidence_in(snapshot: Snapshot, question: EvidenceQuestion) -> Evidence:
    """What a snapshot holds of it: no validate probe, no broker settings but one, no groups."""
    cluster, connect, log = snapshot.cluster, snapshot.connect, snapshot.config_topic
    workers = (
        connect if isinstance(connect, Skipped) else {url: _of_fact(each) for url, each in connect.workers.items()}
    )
    files = _worker_files(question, workers)
    known = replace(
        _without_brokers(Evidence(as_of=snapshot.as_of), NOT_SAVED),
        group_id=_group_id(snapshot.group_id, files),
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
    known = replace(known, internal_topics=_saved_topics(snapshot, _topics(question, known)))
    known = replace(known, inspection=log if isinstance(log, Skipped) else _inspection(log, known))
    asked = _offsets_question(question, known, _topics(question, known))
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
