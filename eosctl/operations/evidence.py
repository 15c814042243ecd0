"""Reading the evidence that the rules ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.client_configs import connector_config, servers_elsewhere
from eosctl.analysis.config_topic import survey_config_topic
from eosctl.analysis.inspection import ReportedConnectors, inspect
from eosctl.analysis.output_topics import bootstrap_addresses, output_topics
from eosctl.analysis.output_topics import topics_of as output_topics_of
from eosctl.analysis.phases import Workers
from eosctl.analysis.rules.workers import probes
from eosctl.analysis.transaction_log import CommitHistories, fold_transaction_log, idle_since, last_values
from eosctl.clients.rest import SLOW_HINT
from eosctl.codecs.connector_files import advertised_address, decode_worker_properties
from eosctl.codecs.strimzi import connect_resource, decode_resources, is_resource
from eosctl.errors import ConfigError, EosctlError, Unreachable, UsageError
from eosctl.files import WORKER_CONFIG, read_text
from eosctl.model.acl_plan import AclDifference, AclPlan, AclRequest
from eosctl.model.acls import PatternType
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.model.config_topic import ConfigTopicLog, Inspection
from eosctl.model.connectors import OFFSETS_TOPIC, IcebergSink, Reader, iceberg_sink, schema_history
from eosctl.model.evidence import (
    UNKNOWN_PRINCIPAL,
    ClusterEvidence,
    Evidence,
    IcebergState,
    InternalTopic,
    Outputs,
    Preflight,
    WorkerEvidence,
)
from eosctl.model.groups import CONNECT_PROTOCOL, Groups, ListedGroup, ShareGroups
from eosctl.model.leftovers import Leftover
from eosctl.model.names import ConnectorTaskId, TopicPartition, leader_transactional_id, task_transactional_id
from eosctl.model.offsets import OffsetsReport, StoredOffset
from eosctl.model.skipped import Cause, Skipped, not_asked, read_or_skip
from eosctl.model.strimzi import StrimziResource
from eosctl.model.text import first_few, pluralize
from eosctl.model.topics import (
    CLEANUP_POLICY,
    RETENTION_BYTES,
    RETENTION_MS,
    RETENTION_SETTINGS,
    MirroredPartition,
    TopicDescription,
    TopicFacts,
)
from eosctl.model.transaction_log import LogReading
from eosctl.model.transactions import (
    Descriptions,
    ListedTransactions,
    TransactionDescription,
    TransactionState,
    why_undescribed,
)
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS, whole_number
from eosctl.model.workers import ConnectorStatus, KnownPhase, SourceSupport, host_port, possible_groups
from eosctl.operations.acls import (
    AclInputs,
    Principals,
    certificate_subject,
    clusters_in_force,
    internal_topics,
    named_principals,
    read_connect_clusters,
    require_known,
)
from eosctl.operations.leftovers import read_decided
from eosctl.operations.mirror_positions import is_mirror_source, source_partition, source_session
from eosctl.operations.offset_stores import DECIDING, OffsetsRequest
from eosctl.operations.offsets import read_offsets, report_of
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers
from eosctl.planning import acl_difference
from eosctl.planning import acls as acl_planning
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.group_belongings import SAMPLE_TOPICS

DECIDED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
NO_GROUP = not_asked("no --group-id was given")
NO_FILES = not_asked("no --worker-config was given")
NO_SOURCE = not_asked("only source connectors have source offsets")
NOT_KEPT = not_asked("eosctl does not keep the offsets of all connectors")


class EvidenceRequest(Struct, frozen=True):
    """The user's inputs to the rules.

    topics are names of internal topics by role (config, offsets, status). principals are texts as --principal takes
    them. preflight: have each source connector's config validated. log is an earlier reading of the transaction log.
    mirror_sources are the client properties files of mirrors' source clusters, by source.cluster.alias; "" is any
    alias. about are the connectors to query one by one (None: all).
    """

    topics: Mapping[str, str | None]
    worker_files: tuple[Path, ...] = ()
    preflight: bool = True
    principals: tuple[str, ...] = ()
    super_users: tuple[str, ...] = ()
    log: LogReading = field(default_factory=LogReading)
    mirror_sources: Mapping[str, Path] = field(default_factory=dict)
    about: frozenset[str] | None = None


WITHOUT_BROKERS: Final = frozenset(
    {"as_of", "group_id", "workers", "worker_files", "statuses", "log_reading", "preflight", "unlisted", "about"}
)
"""The facts of Evidence that come from no broker."""


def without_brokers(evidence: Evidence, reason: Skipped) -> Evidence:
    """The evidence with this reason in place of all facts from brokers."""
    return replace(evidence, **{name: reason for name in Evidence.__struct_fields__ if name not in WITHOUT_BROKERS})


def topics_of(request: EvidenceRequest, known: Evidence, offsets_topic: str | None) -> dict[str, str]:
    """Name of each internal topic: by the user, a worker's file, the reader, or Kafka's samples."""
    keys = {"config": "config.storage.topic", "offsets": "offset.storage.topic", "status": "status.storage.topic"}
    names = SAMPLE_TOPICS if offsets_topic is None else {**SAMPLE_TOPICS, "offsets": offsets_topic}
    return {
        role: request.topics.get(role) or next(iter(known.configured(keys[role]).values()), name)
        for role, name in names.items()
    }


def inspection_of(log: ConfigTopicLog, known: Evidence, version: KafkaVersion | Skipped) -> Inspection:
    """The inspection of the config topic as workers of this version read it, with the workers' connector statuses."""
    statuses, group_id = known.statuses, known.group_id
    return inspect(
        survey_config_topic(log.records, Reader(NEWEST if isinstance(version, Skipped) else version)),
        topic=log.topic,
        topic_facts=log.facts,
        offsets=log.offsets,
        reported=ReportedConnectors(statuses, statuses, known.as_of)
        if isinstance(statuses, Skipped)
        else ReportedConnectors(
            {name: each.type for name, each in statuses.items() if each.type is not None},
            {name: len(each.running_tasks) for name, each in statuses.items()},
            known.as_of,
        ),
        group_id=None if isinstance(group_id, Skipped) else group_id,
    )


def offsets_request(known: Evidence, topics: Mapping[str, str], version: KafkaVersion | Skipped) -> OffsetsRequest:
    enabled, others, unknown = probes(known)
    agreed = None if (enabled and others) or unknown else KnownPhase.ENABLED if enabled else KnownPhase.NOT_ENABLED
    servers = set(known.configured("bootstrap.servers").values())
    return OffsetsRequest(
        config_topic=topics["config"],
        worker_offsets_topic=topics["offsets"],
        exactly_once=agreed if enabled or others else None,
        worker_version=None if isinstance(version, Skipped) else str(version),
        worker_bootstrap_servers=next(iter(servers)) if len(servers) == 1 else None,
        worker_clients=_agreed(known, DECIDING),
    )


def _agreed(known: Evidence, keys: Iterable[str]) -> Mapping[str, str]:
    """Settings that the files of all workers share; empty if a worker's file is missing."""
    files = {} if isinstance(known.worker_files, Skipped) else known.worker_files
    if isinstance(known.workers, Skipped) or not known.workers.keys() <= files.keys():
        return {}
    said = {key: {each.get(key) for each in files.values()} for key in keys}
    return {key: value for key, values in said.items() if len(values) == 1 for value in values if value is not None}


def group_id_of(given: str | None, files: Mapping[str, Mapping[str, str]] | Skipped) -> str | Skipped:
    """The given group, otherwise the one in all files; Skipped without either."""
    named = {each["group.id"] for each in files.values() if "group.id" in each} if isinstance(files, Mapping) else set()
    if given is not None:
        return given
    return named.pop() if len(named) == 1 else NO_GROUP


def worker_files_of(
    request: EvidenceRequest, workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
) -> Mapping[str, Mapping[str, str]] | Skipped:
    """Each file's settings, by the address that its worker advertises, otherwise by its path.

    A resource of Strimzi describes all workers. Raises ConfigError if it describes fewer, and if the operator has not
    carried it out: then the workers' settings are unknown.
    """
    if not request.worker_files:
        return NO_FILES
    urls = {} if isinstance(workers, Skipped) else {host_port(url): url for url in workers}
    found: dict[str, Mapping[str, str]] = {}
    for path in request.worker_files:
        text = read_text(path, WORKER_CONFIG)
        properties = decode_worker_properties(text, str(path))
        if is_resource(text):
            _require_running(connect_resource(decode_resources(text, str(path)), str(path)), len(urls))
            found |= dict.fromkeys(urls.values() or (str(path),), properties)
            continue
        address = advertised_address(properties)
        name = str(path) if address is None else urls.get(host_port(address), str(path))
        if name in found:
            raise UsageError(f"two files are of the worker at {name}: {path} is the second")
        found[name] = properties
    return found


def _require_running(resource: StrimziResource, workers: int) -> None:
    if not resource.is_carried_out:
        raise ConfigError(
            f"the operator has not carried out generation {resource.generation} of {resource.place} yet, it has "
            f"{resource.observed_generation}: with which settings the workers run is not known",
            hint=f"kubectl wait --for=condition=Ready {resource.kind.lower()}/{resource.name}, then get it again",
        )
    if workers > resource.replicas:
        raise ConfigError(
            f"{resource.place} has {pluralize(resource.replicas, 'replica')}, and {workers} workers were asked: it "
            "does not describe all workers",
            hint="does a worker outside of Kubernetes have the same group.id? Name each worker once with --connect-url",
        )


def files_of(request: EvidenceRequest, evidence: Evidence) -> Mapping[str, str]:
    """The path of each worker's file by the evidence's name of the worker, in the request's order."""
    names = () if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    if len(request.worker_files) == 1:
        return dict.fromkeys(names, str(request.worker_files[0]))
    return dict(zip(names, map(str, request.worker_files), strict=False))


NO_PRINCIPALS: Final = not_asked("give --principal or --worker-config")


class AclDifferences(NamedTuple):
    """Needs in each phase, and in the present one of each worker, against the cluster's ACLs."""

    by_phase: Mapping[SourceSupport, AclDifference] | Skipped
    in_force: AclDifference | Skipped


def read_acl_differences(
    session: Session,
    evidence_request: EvidenceRequest,
    principals: Principals,
    topics: Mapping[str, str],
    workers: Workers,
) -> AclDifferences:
    """Every needed binding against the cluster's, as `acl-plan` plans them.

    workers are their answers. A principal that neither the user nor a worker's file names is UNKNOWN_PRINCIPAL. Raises
    UsageError for a principal of an unknown connector.
    """
    if not principals and not evidence_request.worker_files:
        return AclDifferences(NO_PRINCIPALS, NO_PRINCIPALS)
    inputs = AclInputs(
        evidence_request.worker_files,
        connectors=tuple(evidence_request.about or ()),
        internal_topics=internal_topics(**topics),
    )
    clusters = read_connect_clusters(session, inputs)
    # The rules name their missing evidence, and a rolling step needs none of it.
    with session.reader.optional_reads():
        acls = session.reader.acls(output_topics_of(clusters))
    require_known(principals, clusters)
    request = AclRequest(
        clusters,
        principals=principals,
        topics_known=acls.topics,
        here=bootstrap_addresses(clusters, acls.addresses),
        broker_version=acls.broker_version,
        mapping_rules=acls.mapping_rules,
    )

    def compared(request: AclRequest) -> AclDifference:
        request, plan = _planned(request)
        assert request.here is not None
        return acl_difference.compare_acls(request, plan, acls.bindings, request.here, evidence_request.super_users)

    known = clusters_in_force(session, clusters, inputs, workers)
    return AclDifferences(
        {phase: compared(replace(request, phase=phase)) for phase in SourceSupport},
        known if isinstance(known, Skipped) else compared(replace(request, clusters=known)),
    )


def _planned(request: AclRequest) -> tuple[AclRequest, AclPlan]:
    try:
        return request, acl_planning.plan_acls(request, certificate_subject(request.clusters))
    except ConfigError:  # neither flag nor file names some principal: unnamed ones are unknown
        unknown: Principals = {(role, None): UNKNOWN_PRINCIPAL for role in ClientRole}
        request = replace(request, principals={**unknown, **request.principals})
        return request, acl_planning.plan_acls(request, certificate_subject(request.clusters))


def with_connectors(reader: ClusterReader, known: Evidence, active: Outputs | Skipped) -> Evidence:
    """The same with the connectors' topics, and with other groups that may have their transactional IDs.

    active are the topics that Connect saw each connector use.
    """
    if isinstance(known.inspection, Skipped):
        why = known.inspection
        return replace(known, outputs=why, topics=why, other_groups=why, groups_elsewhere=why)
    outputs = _outputs(known, active)
    names = {name for each in outputs.values() if not isinstance(each, Skipped) for name in each}
    configs = [known.config(each) for each in known.sources()]
    names |= {str(each[OFFSETS_TOPIC]) for each in configs if each.get(OFFSETS_TOPIC) is not None}
    names |= {history.topic for each in configs if (history := schema_history(each)) is not None}
    return replace(
        known,
        outputs=outputs,
        topics=reader.topic_facts(sorted(names)) if names else {},
        other_groups=_other_groups(reader, known),
        groups_elsewhere=_groups_elsewhere(reader, known),
    )


def read_active_topics(reader: ClusterReader, known: Evidence) -> Outputs | Skipped:
    """The topics that Connect saw each source connector use (KIP-558); configs name the others."""
    with reader.optional_reads():
        return reader.active_topics(known.sources()) if known.sources() else {}


def _outputs(known: Evidence, active: Outputs | Skipped) -> Outputs:
    found: dict[str, tuple[str, ...] | Skipped] = {}
    for name in known.sources():
        seen = active if isinstance(active, Skipped) else active.get(name, ())
        configured = set(_configured(connector_config(known, name)))
        if servers_elsewhere(known, name) is not None:
            found[name] = not_asked(f"{name} writes to another Kafka cluster: ask there")
        elif isinstance(seen, Skipped):
            found[name] = tuple(sorted(configured)) or seen
        else:
            found[name] = tuple(sorted(configured.union(seen)))
    return found


def _configured(connector: ConnectorConfig) -> Iterator[str]:
    """The output topics that the config names one by one."""
    for pattern in output_topics(connector):
        if pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard:
            yield pattern.name


def _other_groups(reader: ClusterReader, known: Evidence) -> Groups | Skipped:
    """Other groups of Connect workers that may own an ID of our tasks."""
    group_id, groups, statuses = known.group_id, known.groups, known.statuses
    if isinstance(group_id, Skipped):
        return group_id
    if isinstance(groups, Skipped):
        return groups
    if isinstance(statuses, Skipped):
        return statuses
    ids = (
        task_transactional_id(group_id, ConnectorTaskId(name, task.task))
        for name in known.sources()
        if name in statuses
        for task in statuses[name].tasks
    )
    workers = {name for name, kind in groups.items() if kind == CONNECT_PROTOCOL}
    asked = sorted((possible_groups(ids) & workers) - {group_id})
    return reader.connect_groups(asked) if asked else {}


def _groups_elsewhere(reader: ClusterReader, known: Evidence) -> Groups | Skipped:
    if isinstance(known.group_id, Skipped):
        return known.group_id
    places = {name: servers_elsewhere(known, name) for name in known.sources()}
    servers = {name: each for name, each in places.items() if isinstance(each, frozenset)}
    found = reader.groups_elsewhere(known.group_id, servers) if servers else {}
    unknown = {name: each for name, each in places.items() if isinstance(each, Skipped)}
    return found if isinstance(found, Skipped) else {**found, **unknown}


NO_GROUP = not_asked("no --group-id was given")


def with_transactions(reader: ClusterReader, known: Evidence, earlier: LogReading) -> Evidence:
    """The same with the descriptions of the leader's and the tasks' IDs, as far as their coordinators answer.

    earlier is the result of an earlier reading of the transaction log, which this one continues.
    """
    ids = tuple(_connect_ids(known))
    if not ids:
        none = NO_GROUP
        return replace(known, transactions=none, leaderless=none, logged=none, idle_since=none, commits=none)
    transactions = read_or_skip(lambda: descriptions(reader, ids))
    known = _with_log(reader, known, ids, earlier)
    if isinstance(transactions, Skipped):
        return replace(known, transactions=transactions, leaderless=transactions)
    why = why_undescribed(transactions)
    if why is not None:
        transactions = {name: why if isinstance(each, Skipped) else each for name, each in transactions.items()}
    return replace(known, transactions=transactions, leaderless=leaderless(reader, transactions))


def descriptions(reader: ClusterReader, transactional_ids: Iterable[str]) -> Descriptions:
    """Descriptions of the IDs that coordinators know; Skipped for an ID whose coordinator did not answer."""
    found = reader.describe(transactional_ids)
    return {
        name: Skipped.of(each) if isinstance(each, EosctlError) else each
        for name, each in found.items()
        if each is not None
    }


def leaderless(reader: ClusterReader, transactions: Descriptions) -> frozenset[TopicPartition] | Skipped:
    """Partitions of open transactions among these that have no leader now."""
    opened = (each.partitions for each in transactions.values() if not isinstance(each, Skipped) and each.state.is_open)
    return reader.leaderless(partition for partitions in opened for partition in partitions)


def _connect_ids(known: Evidence) -> Iterator[str]:
    """Transactional IDs of the leader and of every task that a source has, had, or may be fenced for."""
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
        if max(counts) > MOST_TASKS:  # EOS074 names it
            continue
        yield from (task_transactional_id(known.group_id, ConnectorTaskId(name, task)) for task in range(max(counts)))


def _with_log(reader: ClusterReader, known: Evidence, ids: Sequence[str], earlier: LogReading) -> Evidence:
    """The same with the transaction log's records of these IDs, which is read once."""
    cluster_id = None if isinstance(known.cluster_id, Skipped) else known.cluster_id
    if earlier.cluster_id not in {None, cluster_id}:
        earlier = LogReading()

    def read() -> Evidence:
        log = reader.transaction_log(ids, earlier.ends_for(ids))
        histories = CommitHistories(ids, earlier.commits, continues=log.continues)
        folded = fold_transaction_log(histories.following(log.records))
        before = earlier.values if log.continues else {}
        logged = last_values(folded, ids, len(log.leaders), log.unread, before)
        commits = histories.result()
        unread = {name: value for name, value in logged.items() if isinstance(value, Skipped)}
        values = {name: value for name, value in logged.items() if not isinstance(value, Skipped)}
        return replace(
            known,
            logged=logged,
            idle_since=idle_since(logged),
            commits={**commits, **unread},
            log_reading=LogReading(frozenset(ids), log.ends, values, commits, cluster_id),
        )

    found = read_or_skip(read)
    return replace(known, logged=found, idle_since=found, commits=found) if isinstance(found, Skipped) else found


Mirrored = tuple[MirroredPartition | Skipped, ...]
ALIAS = "source.cluster.alias"
SERVERS = "source.cluster.bootstrap.servers"
NO_TIME = Skipped("when records of a mirrored partition were written was not answered (Read on its topic is needed)")


def read_mirrors(
    session: Session, request: EvidenceRequest, known: Evidence, offsets: OffsetsReport | Skipped
) -> Mirrored | Skipped:
    """Each partition that a MirrorSource connector has an offset of; Skipped for a connector whose source is not read.

    The source is the one that the connector's config names, asked with the identity that the user gives for its alias.
    """
    if isinstance(known.inspection, Skipped):
        return known.inspection
    mirrors = [name for name in known.sources() if is_mirror_source(known.config(name))]
    if not mirrors:
        return ()
    if isinstance(offsets, Skipped):
        return offsets
    if session.options.snapshot is not None:
        return not_asked("a snapshot has nothing of the source clusters of mirrors")
    found: list[MirroredPartition | Skipped] = []
    for name in mirrors:
        stored = _stored(offsets, name)
        read = read_or_skip(partial(_of_connector, session, request, name, known.config(name), stored))
        found += [read] if isinstance(read, Skipped) else [_named(each, name) for each in read]
        found += [each for each in stored.values() if isinstance(each, Skipped)]
    return tuple(found)


def _named(found: MirroredPartition | Skipped, connector: str) -> MirroredPartition | Skipped:
    return found if isinstance(found, Skipped) else found._replace(connector=connector)


def _stored(offsets: OffsetsReport, connector: str) -> Mapping[TopicPartition, StoredOffset | Skipped]:
    """The offset that a task of the connector starts from, by source partition."""
    merged = (each for mine in offsets.connectors if mine.name == connector for each in mine.offsets)
    found = ((source_partition(each.key), each.kafka_effective) for each in merged)
    return {
        place: stored
        for place, stored in found
        if place is not None and (isinstance(stored, Skipped) or (stored is not None and _offset(stored) is not None))
    }


def _of_connector(
    session: Session,
    request: EvidenceRequest,
    name: str,
    config: Mapping[str, object],
    stored: Mapping[TopicPartition, StoredOffset | Skipped],
) -> Mirrored | Skipped:
    alias = str(config.get(ALIAS, "source"))
    file = request.mirror_sources.get(alias, request.mirror_sources.get(""))
    if file is None:
        return not_asked(f"give --source-command-config {alias}=FILE for source cluster {alias}")
    offsets = {place: each for place, each in stored.items() if isinstance(each, StoredOffset)}
    planned = PlannedServers(tuple(split_list(str(config.get(SERVERS, "")))), f"the config of connector {name}")
    with source_session(session, None, file, planned) as source:
        return tuple(_partitions(source.reader, offsets))


def _partitions(
    reader: ClusterReader, offsets: Mapping[TopicPartition, StoredOffset]
) -> Iterator[MirroredPartition | Skipped]:
    """The source's present partitions, and its topics that are gone or hidden."""
    topics = reader.topics(sorted({place.topic for place in offsets}), RETENTION_SETTINGS)
    leaders = reader.partitions(dict.fromkeys(topics)) if topics else {}
    positions = {place: at for place, each in offsets.items() if place in leaders and (at := _offset(each)) is not None}
    bounds = reader.bounds(list(positions)) if positions else {}
    there = {
        place: at
        for place, at in positions.items()
        if bounds[place].log_start_offset <= at < bounds[place].high_watermark and not _may_compact(topics[place.topic])
    }
    behind = {
        place: max(at + 1, bounds[place].log_start_offset)
        for place, at in positions.items()
        if at + 1 < bounds[place].high_watermark
    }
    written, following = reader.first_timestamps(there, leaders), reader.first_timestamps(behind, leaders)
    if gone := sorted({place.topic for place in offsets} - topics.keys()):
        yield Skipped(f"mirrored topics do not exist in the source, or may not be described there: {first_few(gone)}")
    for place, position in positions.items():
        described = topics[place.topic]
        yield MirroredPartition(
            connector="",
            position=position,
            committed_ms=offsets[place].record.timestamp,
            bounds=bounds[place],
            written_ms=written.get(place, NO_TIME) if place in there else None,
            next_ms=following.get(place, NO_TIME) if place in behind else None,
            retention_ms=_retention(described, RETENTION_MS),
            retention_bytes=_retention(described, RETENTION_BYTES),
        )


def _offset(stored: StoredOffset) -> int | None:
    value = stored.value.get("offset") if isinstance(stored.value, Mapping) else None
    return value if isinstance(value, int) else None


def _may_compact(described: TopicDescription) -> bool:
    return isinstance(described.settings, Skipped) or "compact" in described.settings.get(CLEANUP_POLICY, "compact")


def _retention(described: TopicDescription, key: str) -> int | Skipped:
    settings = described.settings
    if isinstance(settings, Skipped):
        return settings
    if "delete" not in settings.get(CLEANUP_POLICY, "delete"):
        return -1
    value = settings.get(key)
    return Skipped(f"{key} of topic {described.name} is not known") if value is None else whole_number(value, key)


class _Workers(NamedTuple):
    """The workers' answers."""

    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
    statuses: Mapping[str, ConnectorStatus] | Skipped
    preflight: Mapping[str, Preflight] | Skipped
    version: KafkaVersion | Skipped


def read_evidence(session: Session, request: EvidenceRequest) -> Evidence:
    """All readable evidence. Raises where no broker or no worker answers, of those that were named."""
    reader, principals = session.reader, named_principals(request.principals)
    cluster = reader.cluster()  # an unreachable cluster ends the command at once
    answered = _read_workers(reader, request)  # the brokers name some of the workers
    files = worker_files_of(request, answered.workers)
    if reader.group_id is None and isinstance(group_id_of(None, files), Skipped):
        session.require_no_choice()
    known = Evidence(
        as_of=reader.now(),
        group_id=group_id_of(reader.group_id, files),
        workers=answered.workers,
        worker_files=files,
        statuses=answered.statuses,
        preflight=answered.preflight,
        about=request.about,
    )
    if isinstance(cluster, Skipped) and cluster.cause is Cause.NOT_ASKED:
        if isinstance(answered.workers, Skipped):
            if answered.workers.cause is Cause.UNREACHABLE:
                raise Unreachable(answered.workers.reason, hint=SLOW_HINT)
            session.options.need_bootstrap_servers()
        return without_brokers(known, cluster)
    cluster_id = cluster if isinstance(cluster, Skipped) else cluster.cluster_id
    known = replace(known, cluster_id=cluster_id, clock=reader.clock())
    topics = topics_of(request, known, reader.worker_offsets_topic())
    known = _with_brokers(reader, known, topics, answered.version)
    offsets = read_or_skip(lambda: _offsets(reader, known, topics, answered.version))
    acls = read_or_skip(lambda: read_acl_differences(session, request, principals, topics, answered.workers))
    known = replace(
        known,
        internal_topics=_taken_rightly(known, offsets),
        offset_findings=offsets if isinstance(offsets, Skipped) else offsets.findings,
        offsets=NOT_KEPT if request.about is None else offsets,
        mirrors=read_mirrors(session, request, known, offsets),
        iceberg=_iceberg_sinks(reader, known),
        acl_differences=acls if isinstance(acls, Skipped) else acls.by_phase,
        acl_in_force=acls if isinstance(acls, Skipped) else acls.in_force,
    )
    known = with_connectors(reader, known, read_active_topics(reader, known))
    return with_transactions(reader, known, request.log)


def _read_workers(reader: ClusterReader, request: EvidenceRequest) -> _Workers:
    workers = reader.worker_evidence()
    preflight = reader.preflight(request.about) if request.preflight else not_asked("--no-preflight")
    return _Workers(workers, reader.connector_statuses(), preflight, read_or_skip(reader.connect_version))


def _with_brokers(
    reader: ClusterReader, known: Evidence, topics: dict[str, str], version: KafkaVersion | Skipped
) -> Evidence:
    inspection = read_or_skip(lambda: inspection_of(reader.config_topic(topics["config"]), known, version))
    if not isinstance(inspection, Skipped):
        topics = {**topics, "config": inspection.topic}
    listed, groups = read_or_skip(reader.transactional_ids), reader.groups()
    group_id = known.group_id
    return replace(
        known,
        group=group_id if isinstance(group_id, Skipped) else reader.connect_group(group_id),
        inspection=inspection,
        brokers=reader.broker_settings(),
        broker_releases=reader.broker_releases(),
        finalized_features=reader.finalized_features(),
        share_groups=_share_groups(reader, groups),
        internal_topics=tuple(reader.internal_topic(role, name) for role, name in topics.items()),
        transaction_log=reader.transaction_log_topic(),
        transactional_ids=listed
        if isinstance(listed, Skipped)
        else tuple(each.transactional_id for each in listed.transactions),
        unlisted=() if isinstance(listed, Skipped) else listed.unlisted,
        open_transactions=listed if isinstance(listed, Skipped) else read_or_skip(lambda: _ongoing(reader, listed)),
        decided=listed if isinstance(listed, Skipped) else read_or_skip(lambda: _decided(reader, listed)),
        groups=_protocols(groups),
    )


def _iceberg_sinks(reader: ClusterReader, known: Evidence) -> Mapping[str, IcebergState] | Skipped:
    """The state of each Iceberg sink that the config topic has."""
    if isinstance(known.inspection, Skipped):
        return known.inspection
    names = [each.state.name for each in known.inspection.connectors if each.state.known]
    about = names if known.about is None else [name for name in names if name in known.about]
    sinks = {name: sink for name in about if (sink := iceberg_sink(name, known.config(name))) is not None}
    return {name: _iceberg_state(reader, sink) for name, sink in sinks.items()}


def _iceberg_state(reader: ClusterReader, sink: IcebergSink) -> IcebergState:
    name, group_id = sink.control_topic, sink.coordinator_group
    topics = read_or_skip(lambda: reader.topic_facts([name]))
    topic = topics if isinstance(topics, Skipped) else topics.get(name)
    committed = read_or_skip(lambda: reader.committed_offsets(group_id))
    positions = (
        {} if isinstance(committed, Skipped) else {each: at for each, at in committed.items() if each.topic == name}
    )
    leaders = read_or_skip(lambda: reader.partitions({name: None})) if isinstance(topic, TopicFacts) else {}
    return IcebergState(
        sink,
        read_or_skip(lambda: _coordinators(reader, group_id)),
        committed if isinstance(committed, Skipped) else positions,
        topic,
        leaders if isinstance(leaders, Skipped) else read_or_skip(lambda: reader.offsets(sorted(leaders))),
        leaders if isinstance(leaders, Skipped) else read_or_skip(lambda: reader.first_timestamps(positions, leaders)),
    )


def _coordinators(reader: ClusterReader, group_id: str) -> int | Skipped:
    """The members of the group. DescribeGroups shows none of a group with the newer protocol (KIP-848)."""
    groups, listed = reader.connect_groups([group_id]), reader.groups()
    found = groups if isinstance(groups, Skipped) else groups[group_id]
    if isinstance(found, Skipped) or isinstance(listed, Skipped):
        return found if isinstance(found, Skipped) else Skipped("the groups could not be listed")
    at_work = group_id in listed and listed[group_id].state not in {"Empty", "Dead"}
    if at_work and not found.members:
        return Skipped(f"group {group_id} has members that its coordinator does not show")
    return len(found.members)


def _decided(reader: ClusterReader, listed: ListedTransactions) -> tuple[Leftover, ...]:
    return read_decided(reader, {each.transactional_id for each in listed.transactions if each.state in DECIDED})


def _ongoing(reader: ClusterReader, listed: ListedTransactions) -> tuple[TransactionDescription, ...]:
    """The transactions that were ongoing in the list; skips those whose coordinator does not answer."""
    names = [each.transactional_id for each in listed.transactions if each.state is TransactionState.ONGOING]
    found = reader.describe(names).values() if names else ()
    return tuple(each for each in found if isinstance(each, TransactionDescription) and each.start_ms is not None)


def _taken_rightly(known: Evidence, offsets: OffsetsReport | Skipped) -> tuple[InternalTopic, ...] | Skipped:
    """The internal topics without those whose records show another topic, which is their only finding."""
    if isinstance(known.internal_topics, Skipped):
        return known.internal_topics
    wrong = set()
    if not isinstance(known.inspection, Skipped) and not known.inspection.census.is_config_topic:
        wrong.add("config")
    if not isinstance(offsets, Skipped) and not offsets.is_offsets_topic:
        wrong.add("offsets")
    return tuple(each for each in known.internal_topics if each.role not in wrong)


def _share_groups(reader: ClusterReader, groups: Mapping[str, ListedGroup] | Skipped) -> ShareGroups | Skipped:
    if isinstance(groups, Skipped):
        return groups
    names = [name for name, each in groups.items() if each.is_share]
    return reader.share_groups(names) if names else {}


def _protocols(groups: Mapping[str, ListedGroup] | Skipped) -> Mapping[str, str] | Skipped:
    return groups if isinstance(groups, Skipped) else {name: each.protocol_type for name, each in groups.items()}


def read_cluster_evidence(
    reader: ClusterReader, request: EvidenceRequest, transactions: Descriptions | Skipped
) -> ClusterEvidence:
    """The evidence that a snapshot keeps for the rules; `transactions` are those of the same snapshot."""
    workers = read_or_skip(reader.worker_evidence)
    files = worker_files_of(request, workers)
    group_id = group_id_of(reader.group_id, files)
    known = Evidence(as_of=reader.now(), worker_files=files, group_id=group_id, statuses=reader.connector_statuses())
    topics = topics_of(request, known, None)
    version, groups = read_or_skip(reader.connect_version), reader.groups()
    inspection = read_or_skip(lambda: inspection_of(reader.config_topic(topics["config"]), known, version))
    known = replace(known, inspection=inspection, groups=_protocols(groups))
    active = read_active_topics(reader, known)
    known = with_connectors(reader, known, active)
    return ClusterEvidence(
        workers=workers,
        group=group_id if isinstance(group_id, Skipped) else reader.connect_group(group_id),
        brokers=reader.broker_settings(),
        broker_releases=reader.broker_releases(),
        finalized_features=reader.finalized_features(),
        share_groups=_share_groups(reader, groups),
        internal_topics=tuple(reader.internal_topic(role, name) for role, name in topics.items()),
        transaction_log=reader.transaction_log_topic(),
        leaderless=transactions if isinstance(transactions, Skipped) else leaderless(reader, transactions),
        active_topics=active,
        topics=known.topics,
        other_groups=known.other_groups,
        groups_elsewhere=known.groups_elsewhere,
    )


def _offsets(
    reader: ClusterReader, known: Evidence, topics: Mapping[str, str], version: KafkaVersion | Skipped
) -> OffsetsReport | Skipped:
    """The answer of `offsets show`."""
    if known.about is not None and not known.sources():
        return NO_SOURCE
    request = replace(offsets_request(known, topics, version), connectors=known.sources() if known.about else ())
    return report_of(read_offsets(reader, request), request)
