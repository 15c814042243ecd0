"""What the user gives for the evidence that the rules need, and what follows from it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.config_topic import survey_config_topic
from eosctl.analysis.inspection import inspect
from eosctl.analysis.rules.workers import probes
from eosctl.codecs.connector_files import advertised_address, decode_worker_properties
from eosctl.codecs.strimzi import connect_resource, decode_resources, is_resource
from eosctl.errors import ConfigError, UsageError
from eosctl.files import WORKER_CONFIG, read_text
from eosctl.model.config_topic import ConfigTopicLog, Inspection
from eosctl.model.connectors import Reader
from eosctl.model.evidence import Evidence, WorkerEvidence
from eosctl.model.offsets import SourceSupport
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.strimzi import StrimziResource
from eosctl.model.text import pluralize
from eosctl.model.transaction_log import LogReading
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import host_port
from eosctl.operations.offset_stores import DECIDING, OffsetsRequest

NO_GROUP = not_asked("no --group-id was given")
NO_FILES = not_asked("no --worker-config was given")
ROLES = {"config": "connect-configs", "offsets": "connect-offsets", "status": "connect-status"}


class EvidenceRequest(Struct, frozen=True):
    """The user's inputs to the rules.

    topics are names of internal topics by role (config, offsets, status); principals are texts as --principal takes
    them; preflight: have each source connector's config validated. log is an earlier reading of the transaction log.
    mirror_sources are the client properties files of the source clusters of mirrors, by source.cluster.alias; that of
    any alias is "".
    """

    topics: Mapping[str, str | None]
    worker_files: tuple[Path, ...] = ()
    preflight: bool = True
    principals: tuple[str, ...] = ()
    super_users: tuple[str, ...] = ()
    log: LogReading = field(default_factory=LogReading)
    mirror_sources: Mapping[str, Path] = field(default_factory=dict)


def without_brokers(evidence: Evidence, reason: Skipped) -> Evidence:
    """The evidence with this reason in place of all facts from brokers."""
    return replace(
        evidence,
        clock=reason,
        cluster_id=reason,
        group=reason,
        inspection=reason,
        brokers=reason,
        broker_releases=reason,
        finalized_features=reason,
        internal_topics=reason,
        transaction_log=reason,
        transactions=reason,
        leaderless=reason,
        transactional_ids=reason,
        open_transactions=reason,
        logged=reason,
        idle_since=reason,
        commits=reason,
        offset_findings=reason,
        groups=reason,
        share_groups=reason,
        acl_differences=reason,
        acl_in_force=reason,
        outputs=reason,
        topics=reason,
        other_groups=reason,
        groups_elsewhere=reason,
        mirrors=reason,
    )


def topics_of(request: EvidenceRequest, known: Evidence, offsets_topic: str | None) -> dict[str, str]:
    """Name of each internal topic: by the user, a worker's file, the reader, or Kafka's samples."""
    keys = {"config": "config.storage.topic", "offsets": "offset.storage.topic", "status": "status.storage.topic"}
    names = ROLES if offsets_topic is None else {**ROLES, "offsets": offsets_topic}
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
        types=statuses
        if isinstance(statuses, Skipped)
        else {name: each.type for name, each in statuses.items() if each.type is not None},
        running_tasks=statuses
        if isinstance(statuses, Skipped)
        else {name: len(each.running_tasks) for name, each in statuses.items()},
        group_id=None if isinstance(group_id, Skipped) else group_id,
    )


def offsets_request(known: Evidence, topics: Mapping[str, str], version: KafkaVersion | Skipped) -> OffsetsRequest:
    enabled, others, unknown = probes(known)
    agreed = None if (enabled and others) or unknown else SourceSupport.ENABLED if enabled else SourceSupport.DISABLED
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
    """Each file's settings, by the address of the worker that advertises what the file says, otherwise by its path.

    A resource of Strimzi describes all workers. Raises ConfigError where it describes fewer, and where the operator has
    not carried it out: what the workers run with is not known then.
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
            "does not describe all of them",
            hint="does a worker outside of Kubernetes have the same group.id? Name each worker once with --connect-url",
        )


def files_of(request: EvidenceRequest, evidence: Evidence) -> Mapping[str, str]:
    """The path of each worker's file by the evidence's name of the worker, in the request's order."""
    names = () if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    if len(request.worker_files) == 1:
        return dict.fromkeys(names, str(request.worker_files[0]))
    return dict(zip(names, map(str, request.worker_files), strict=False))
