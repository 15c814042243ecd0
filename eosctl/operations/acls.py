"""Planning the ACLs of a Connect cluster."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.acl_findings import WORKERS, find_hidden, find_missing, find_unchecked, kinds_looked_for
from eosctl.analysis.client_configs import CLIENT_PREFIXES, worker_client
from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.output_topics import bootstrap_addresses, named_or_configured, topics_of
from eosctl.analysis.phases import NO_WORKER, Workers, in_force
from eosctl.codecs.client_properties import SubjectOf
from eosctl.codecs.connector_files import decode_connectors, decode_worker_file, known_connector, worker_of
from eosctl.codecs.strimzi import merge_kafka_users
from eosctl.errors import ConfigError, UsageError
from eosctl.files import CONNECTOR_CONFIG, KAFKA_USERS, WORKER_CONFIG, read_text
from eosctl.late_pattern import late_pattern
from eosctl.model import plan as plans
from eosctl.model.acl_plan import (
    AclDifference,
    AclPlan,
    AclReport,
    AclRequest,
    no_kafka_user,
    planned_phases,
    same_cluster,
)
from eosctl.model.acls import SUPER_USERS, AclBinding, ClusterAcls, PatternType
from eosctl.model.client_properties import HIDDEN, REFERENCE, UNREAD, Property
from eosctl.model.client_roles import (
    CONNECTOR,
    OTHER,
    ClientRole,
    ConnectCluster,
    ConnectorConfig,
    StreamsApplication,
    WorkerConfig,
)
from eosctl.model.connectors import ConnectorState
from eosctl.model.names import Side, did_you_mean
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.text import pluralize
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import SourceSupport
from eosctl.operations import plan_files
from eosctl.operations.session import Session
from eosctl.operations.workers import require_workers_group
from eosctl.planning import acl_difference
from eosctl.planning import acls as acl_planning
from eosctl.sources import config_providers


def group_and_path(text: str, clusters: Sequence[ConnectCluster]) -> tuple[str | None, Path]:
    """`GROUP=FILE`, or a file alone if there is one group; None if the group must be named."""
    groups = [each.group_id for each in clusters]
    group, equals, rest = text.partition("=")
    if equals and group in groups:
        return group, Path(rest)
    if any(each.resource for each in clusters):
        return None, Path(text)
    if len(groups) == 1:
        return groups[0], Path(text)
    raise _unclear(text, groups)


def group_of(connector: ConnectorConfig, clusters: Sequence[ConnectCluster], text: str) -> str:
    """The group of the KafkaConnect that the label of a KafkaConnector names, otherwise the only group."""
    named, groups = connector.connect_cluster, [each.group_id for each in clusters]
    resources = {each.resource: each.group_id for each in clusters if each.resource is not None}
    if named is not None and named in resources:
        return resources[named]
    if named is not None and len(resources) == len(clusters):
        raise UsageError(
            f"--connector-config {text}: KafkaConnector {connector.name} is one of KafkaConnect {named}, and "
            f"--worker-config has {', '.join(resources)}",
            hint="give the KafkaConnect that its label strimzi.io/cluster names",
        )
    if len(groups) == 1:
        return groups[0]
    raise _unclear(text, groups)


def _unclear(text: str, groups: Sequence[str]) -> UsageError:
    return UsageError(
        f"--connector-config {text} fits {len(groups)} Connect clusters",
        hint=f"put the group.id before it: --connector-config {groups[0]}={text}",
    )


class AclInputs(Struct, frozen=True):
    """The options about the Connect clusters and the Kafka cluster at -b.

    internal_topics are for workers without a config; cluster: bootstrap servers that configs give the cluster at -b.
    """

    worker_configs: Sequence[Path] = ()
    connector_configs: Sequence[str] = ()
    connectors: Sequence[str] = ()
    topics: Sequence[str] = ()
    internal_topics: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None


TOPIC_ROLES: Final = {
    "config.storage.topic": "config",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "status",
}


def internal_topics(config: str, offsets: str, status: str) -> dict[str, str]:
    """The settings with which a worker names its three internal topics."""
    return {"config.storage.topic": config, "offset.storage.topic": offsets, "status.storage.topic": status}


def read_connect_clusters(session: Session, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The Connect clusters with their connectors; UsageError where the cluster of a connector is unclear."""
    clusters = _workers(session, inputs)
    known = _known_connectors(session, clusters, inputs)
    given = _given_connectors(inputs, clusters)
    found = tuple(
        replace(
            cluster,
            connectors=_merged_inputs(cluster, known.get(cluster.group_id, {}), given.get(cluster.group_id, ())),
            all_known=cluster.group_id in known or (cluster.all_known and bool(cluster.connectors)),
        )
        for cluster in clusters
    )
    return _with_topics(_selected(found, inputs.connectors), inputs.topics)


def clusters_in_force(
    session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs, workers: Workers
) -> tuple[ConnectCluster, ...] | Skipped:
    """The clusters with the phase of their workers, by these answers and their files; Skipped if unknown."""
    asked = {id(each) for each in _reachable(session, clusters, inputs)}
    found = []
    for cluster in clusters:
        known = in_force(cluster, workers if id(cluster) in asked else NO_WORKER)
        if isinstance(known, Skipped):
            return known
        found.append(known)
    return tuple(found)


def _workers(session: Session, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """Workers of one group.id together; MirrorMaker 2's flows only if they have the same target, too."""
    clusters: dict[tuple[str, str], ConnectCluster] = {}
    for path in inputs.worker_configs:
        for cluster in decode_worker_file(read_text(path, WORKER_CONFIG), str(path)):
            target = cluster.workers[0].get("bootstrap.servers") if cluster.workers[0].dedicated else ""
            before = clusters.get((cluster.group_id, target))
            clusters[cluster.group_id, target] = cluster if before is None else _together(before, cluster)
    if clusters:
        return tuple(clusters.values())
    return (ConnectCluster((_worker_by_flags(session, inputs),), ()),)


def _together(one: ConnectCluster, other: ConnectCluster) -> ConnectCluster:
    return replace(
        one,
        workers=(*one.workers, *other.workers),
        connectors=(*other.connectors, *one.connectors),
        all_known=one.all_known and other.all_known,
        certificates={**one.certificates, **other.certificates},
        resource=one.resource or other.resource,
    )


def _worker_by_flags(session: Session, inputs: AclInputs) -> WorkerConfig:
    """A worker known by its names only; no config names its principals, so the user has to."""
    group_id = session.need_group_id("give --worker-config FILE, or --group-id")
    for key, topic in inputs.internal_topics.items():
        session.reader.require_topic(TOPIC_ROLES[key], topic)
    settings = {"group.id": group_id, **inputs.internal_topics}
    worker = worker_of(settings, "the command line")
    unknown = Property(UNREAD, "no --worker-config was given")
    clients = {f"{prefix}security.protocol": unknown for prefix in ("", *CLIENT_PREFIXES)}
    return WorkerConfig({**worker.properties, **clients}, unread=not_asked("no --worker-config was given"))


def _given_connectors(inputs: AclInputs, clusters: Sequence[ConnectCluster]) -> dict[str, list[ConnectorConfig]]:
    given: dict[str, list[ConnectorConfig]] = {}
    for text in inputs.connector_configs:
        group, path = group_and_path(text, clusters)
        for each in decode_connectors(read_text(path, CONNECTOR_CONFIG), str(path)):
            given.setdefault(group or group_of(each, clusters, text), []).append(each)
    return given


def _known_connectors(
    session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs
) -> dict[str, dict[str, ConnectorConfig]]:
    """Connectors of the Connect clusters that the reader and the workers lead to, by group and name.

    A group whose connectors are not known is not among them. Raises UsageError where it is not clear which is meant.
    """
    found = {}
    for cluster in _reachable(session, clusters, inputs):
        known = _from_config_topic(session, cluster)
        running = session.reader.client_configs()
        if running is not None:
            before = known or {}
            known = {name: _alike(each, before.get(name)) for name, each in running.items()}
            known |= _with_active_topics(session, known, inputs)
        if known is not None:
            found[cluster.group_id] = known
    return found


def _with_active_topics(
    session: Session, known: Mapping[str, ConnectorConfig], inputs: AclInputs
) -> dict[str, ConnectorConfig]:
    """Adds the topics that Connect saw (KIP-558) for source connectors without named output topics."""
    named = {text.rpartition("=")[0] for text in inputs.topics}
    untold = [
        name
        for name, each in known.items()
        if not each.is_sink and name not in named and (not inputs.connectors or name in inputs.connectors)
        if not named_or_configured(each)
    ]
    active = session.reader.active_topics(untold) if untold else {}
    found = {} if isinstance(active, Skipped) else active
    return {
        name: replace(known[name], active_topics=topics)
        for name, topics in found.items()
        if not isinstance(topics, Skipped)
    }


def _reachable(session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The cluster of --group-id, or the only one; of several those whose workers use the cluster at -b."""
    options = session.options
    # Without the flag options.group_id is that of the first --worker-config.
    is_a_file_s = options.sources.get("group_id") in {str(each) for each in inputs.worker_configs}
    wanted = None if is_a_file_s else options.group_id
    if wanted is not None:
        named = tuple(each for each in clusters if each.group_id == wanted)
        if not named:
            groups = ", ".join(sorted({each.group_id for each in clusters}))
            raise UsageError(f"--group-id {wanted} is the group.id of no --worker-config", hint=f"there are {groups}")
        return named[:1]
    if len(clusters) == 1:
        return clusters
    if options.connect_urls:
        raise UsageError(f"--connect-url fits {len(clusters)} Connect clusters", hint="name it: --group-id")
    brokers = session.reader.cluster()
    if isinstance(brokers, Skipped):
        return ()
    addresses = frozenset((*session.client_properties.bootstrap_servers, *brokers.brokers.values()))
    here = bootstrap_addresses(clusters, addresses, inputs.cluster)
    return tuple(each for each in clusters if same_cluster(worker_client(each.workers[0]).bootstrap_servers, here))


def _from_config_topic(session: Session, cluster: ConnectCluster) -> dict[str, ConnectorConfig] | None:
    """The connectors; None without a cluster to read from, empty if the topic does not exist."""
    reader, topic = session.reader, cluster.workers[0].config_topic
    if isinstance(reader.cluster(), Skipped):
        return None
    try:
        # A topic that does not exist is known, and any other error ends the command: neither leaves a gap.
        with reader.optional_reads():
            states = connector_states(reader.config_topic(topic, principals=True).records)
    except UsageError as error:
        if reader.internal_topic("config", topic).facts is not None:
            raise
        session.options.console.narrate(f"no connector is known from the config topic: {error.message}")
        return {}
    return {name: _from_state(state) for name, state in sorted(states.items()) if state.known}


def _from_state(state: ConnectorState) -> ConnectorConfig:
    config = {key: value for key, value in (state.config or {}).items() if value is not None}
    readable = {key: str(value) for key, value in config.items() if value != HIDDEN or "jaas" in key}
    connector = known_connector(readable, "the config topic", state.name)
    return replace(connector, task_count=state.task_count, task_count_record=state.task_count_record)


def _alike(given: ConnectorConfig, before: ConnectorConfig | None) -> ConnectorConfig:
    """The connector as REST or a file has it, with what the config topic knows of its tasks."""
    if before is None:
        return given
    return replace(
        given,
        type=given.type or before.type,
        task_count=before.task_count,
        task_count_record=before.task_count_record,
    )


def _merged_inputs(
    cluster: ConnectCluster, known: Mapping[str, ConnectorConfig], given: Iterable[ConnectorConfig]
) -> tuple[ConnectorConfig, ...]:
    found = {each.name: each for each in cluster.connectors} | dict(known)
    for connector in given:
        found[connector.name] = _alike(connector, found.get(connector.name))
    return tuple(found[name] for name in sorted(found))


def _selected(clusters: tuple[ConnectCluster, ...], names: Sequence[str]) -> tuple[ConnectCluster, ...]:
    if not names:
        return clusters
    known = {each.name for cluster in clusters for each in cluster.connectors}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"connector {', '.join(unknown)} is not known",
            hint=did_you_mean(
                unknown[0],
                known,
                "give its config with --connector-config, or --connect-url, or -b and the right config topic",
            ),
        )
    return tuple(_with_only(cluster, names) for cluster in clusters)


def _with_only(cluster: ConnectCluster, names: Iterable[str]) -> ConnectCluster:
    wanted = tuple(each for each in cluster.connectors if each.name in names)
    others = tuple(each.name for each in cluster.connectors if each not in wanted and not each.is_sink)
    return replace(cluster, connectors=wanted, others=others, all_known=len(wanted) == len(cluster.connectors))


def _with_topics(clusters: tuple[ConnectCluster, ...], topics: Sequence[str]) -> tuple[ConnectCluster, ...]:
    named: dict[str, list[str]] = {}
    known = {each.name for cluster in clusters for each in cluster.connectors}
    for text in topics:
        name, equals, topic = text.rpartition("=")
        if not equals or not topic or name not in known:
            raise UsageError(
                f"--topic {text} does not begin with a connector that is known, and =",
                hint=did_you_mean(name, known, "an example: --topic orders=orders.eu, or --topic orders='orders.*'"),
            )
        named.setdefault(name, []).append(topic)
    return tuple(
        replace(
            cluster,
            connectors=tuple(replace(each, topics=tuple(named.get(each.name, ()))) for each in cluster.connectors),
        )
        for cluster in clusters
    )


def files_of(inputs: AclInputs, clusters: Sequence[ConnectCluster]) -> Mapping[str, str]:
    """The file of each connector that has one, then the workers' file (of MirrorMaker 2: of both)."""
    # A GROUP before the path may be part of it.
    paths = [path for text in inputs.connector_configs for path in (text, text.partition("=")[2])]
    found = {
        connector.name: path
        for cluster in clusters
        for connector in cluster.connectors
        for path in (*paths, *map(str, inputs.worker_configs))
        if path and any(each.origin.startswith(f"{path} ") for each in connector.properties.values())
    }
    return found | dict(zip((WORKERS,), map(str, inputs.worker_configs), strict=False))


_NAMING: Final = rf"(?:(?P<connector>.+?)/)?(?P<role>{'|'.join((*ClientRole, CONNECTOR))})="
_PRINCIPAL: Final = late_pattern(rf"{_NAMING}(?P<principal>[A-Za-z]\w*:.+)", re.DOTALL)
_ROLE: Final = late_pattern(rf"{_NAMING}(?P<rest>.*)", re.DOTALL)
Principals = Mapping[tuple[ClientRole, str | None], str]
"""Principal by role and connector (None: every connector)."""


def principals_by_role(texts: Iterable[str], clusters: Iterable[ConnectCluster]) -> Principals:
    """The principals in these texts. Raises UsageError for malformed ones, and for an unknown connector."""
    found = named_principals(texts)
    require_known(found, clusters)
    return found


def named_principals(texts: Iterable[str]) -> Principals:
    """`ROLE=TYPE:NAME` and `CONNECTOR/ROLE=TYPE:NAME` as a look-up. Raises UsageError naming the fault.

    The role `connector` stands for every client of connectors; a principal given for one of their roles wins over it.
    """
    named = [_named(text) for text in texts]
    every = {
        (role, of): who for name, of, who in named if name == CONNECTOR for role in ClientRole if role not in OTHER
    }
    return every | {(ClientRole(name), of): who for name, of, who in named if name != CONNECTOR}


def require_known(principals: Principals, clusters: Iterable[ConnectCluster]) -> None:
    """Raises UsageError if a principal belongs to a connector of none of these clusters."""
    known = {each.name for cluster in clusters for each in cluster.connectors}
    for role, connector in principals:
        if connector is not None and connector not in known:
            raise UsageError(
                f"--principal {connector}/{role}=… names connector {connector}, which is not known",
                hint=f"known are {', '.join(sorted(known)[:10]) or 'none'}; without a connector it is {role}=User:NAME",
            )


def _named(text: str) -> tuple[str, str | None, str]:
    # A principal may hold `=` and `/` (CN=…), a connector's name too: the first role with a principal behind it counts.
    found = _PRINCIPAL.fullmatch(text)
    if found is not None:
        return found["role"], found["connector"], found["principal"]
    named = _ROLE.fullmatch(text)
    if named is not None:
        raise UsageError(f"--principal {text}: {named['rest']!r} is not TYPE:NAME", hint="for example User:connect")
    raise UsageError(
        f"--principal {text} names no role",
        hint=f"ROLE=User:NAME, where ROLE is one of {', '.join(ClientRole)}, or {CONNECTOR} for all of a connector",
    )


def certificate_subject(clusters: Iterable[ConnectCluster]) -> SubjectOf:
    """Finds the subject of the certificate in client properties, as Java writes it (RFC 2253)."""
    known = {chain: subject for each in clusters for chain, subject in each.certificates.items()}

    def subject(properties: Mapping[str, Property]) -> str:
        chain = properties.get("ssl.keystore.certificate.chain")
        if chain is not None and chain.value in known:
            return known[chain.value]
        if chain is not None and REFERENCE.fullmatch(chain.value) is not None:
            raise ConfigError(
                f"{chain.origin} is {chain.value}, which only the worker can read; add the KafkaUser of that "
                "Secret, which names the principal, to the same file"
            )
        return config_providers.read_subject(properties)

    return subject


NOT_READ: Final = frozenset({Cause.NOT_ASKED, Cause.NOT_SAVED})


class GivenBrokers(NamedTuple):
    """The brokers' version and ssl.principal.mapping.rules (None: as they report), and further super users."""

    version: str | None = None
    mapping_rules: str | None = None
    super_users: tuple[str, ...] = ()


class AclOptions(Struct, frozen=True):
    """The options. phase None: as the workers report. merge_with is a file of KafkaUsers, and the cluster of new ones.

    streams is an application to plan for instead of Connect clusters.
    """

    inputs: AclInputs
    phase: SourceSupport | None = None
    principals: tuple[str, ...] = ()
    pattern_type: PatternType = PatternType.LITERAL
    headroom: int = 0
    brokers: GivenBrokers = GivenBrokers()
    check: bool = False
    prune: bool = False
    explain: bool = False
    emit: bool = False
    plan_file: Path | None = None
    merge_with: tuple[Path, str] | None = None
    streams: StreamsApplication | None = None


def plan_cluster_acls(session: Session, options: AclOptions) -> AclReport:
    """Plans the ACLs by the options; keeps the changes in the plan file.

    Raises UsageError for flags that contradict each other, ConfigError where there are no ACLs to check or change.
    """
    _check_flags(options)
    if options.streams is not None:
        return _plan_streams_acls(session, options.streams, options)
    reader, as_of = session.reader, session.reader.now()
    require_workers_group(reader)
    clusters = _in_force(session, options, read_connect_clusters(session, options.inputs))
    principals = principals_by_role(options.principals, clusters)
    # A plan that is not compared is whole without the ACLs that there are.
    with nullcontext() if options.check else reader.optional_reads():
        acls = reader.acls(topics_of(clusters))
    _require_acls(options, acls)
    place = bootstrap_addresses(clusters, acls.addresses, options.inputs.cluster)
    request = AclRequest(
        clusters,
        options.phase,
        options.pattern_type,
        options.headroom,
        principals,
        acls.topics,
        place,
        _broker_version(options, acls),
        options.brokers.mapping_rules or acls.mapping_rules,
    )
    report = _compared(request, options, acls, as_of)
    _name_other_clusters(session, options, report.difference, place)
    report = replace(report, coverage=reader.coverage)
    if options.plan_file is not None:
        _keep(session, report, acls, options.plan_file, prune=options.prune)
    return _explained(report, request) if options.explain else report


def _plan_streams_acls(session: Session, application: StreamsApplication, options: AclOptions) -> AclReport:
    """The same for a Streams application. Raises UsageError without its principal."""
    inputs = options.inputs
    if inputs.worker_configs or inputs.connector_configs or inputs.connectors or inputs.topics or options.phase:
        raise UsageError(
            "--streams plans for an application, and other options for a Connect cluster",
            hint="plan for each in a command of its own",
        )
    if options.prune:
        raise UsageError("--streams cannot tell which ACLs are not needed", hint="leave out --prune")
    principals = named_principals(options.principals)
    if principals.keys() != {(ClientRole.STREAMS, None)}:
        raise UsageError("the application's principal is not named", hint="give --principal streams=User:NAME only")
    reader, as_of = session.reader, session.reader.now()
    with nullcontext() if options.check else reader.optional_reads():
        acls = reader.acls(frozenset())
    _require_acls(options, acls)
    here = frozenset(acls.addresses or session.client_properties.bootstrap_servers)
    request = AclRequest((), principals=principals, here=here, streams=application)
    report = replace(_compared(request, options, acls, as_of), streams=application, coverage=reader.coverage)
    if options.plan_file is not None:
        _keep(session, report, acls, options.plan_file, prune=options.prune)
    return replace(report, phases={}) if options.explain else report


def _compared(request: AclRequest, options: AclOptions, acls: ClusterAcls, as_of: int) -> AclReport:
    """The plan against the cluster's ACLs."""
    assert request.here is not None
    plan = acl_planning.plan_acls(request, certificate_subject(request.clusters))
    difference = _compare(request, options, plan, acls)
    return AclReport(
        group_ids=tuple(each.group_id for each in request.clusters),
        as_of=as_of,
        cluster_id=acls.cluster_id,
        cluster=request.here,
        plan=plan,
        difference=difference,
        planned_for=planned_phases(request),
        missing=tuple(find_missing(difference.missing_required)) if options.check else (),
        unchecked=tuple(find_unchecked(difference)) if options.check else (),
        is_for_tools=options.emit,
        kinds=kinds_looked_for(check=options.check),
        config_files=files_of(options.inputs, request.clusters),
        merged=_merged(plan, request.here, options),
    )


def _in_force(
    session: Session, options: AclOptions, clusters: tuple[ConnectCluster, ...]
) -> tuple[ConnectCluster, ...]:
    """The clusters with the phase of each worker, which workers report unless named; UsageError if unknown."""
    if options.phase is not None:
        return clusters
    reader = session.reader
    # A file says it; that a worker answers something else only adds to it.
    with reader.optional_reads() if options.inputs.worker_configs else nullcontext():
        workers = reader.worker_evidence()
    found = clusters_in_force(session, clusters, options.inputs, workers)
    if isinstance(found, Skipped):
        raise UsageError(
            found.reason,
            hint="choose the phase: --phase disabled, preparing or enabled (each includes the ACLs of the earlier "
            "phases). Or give the workers' files (--worker-config), or the addresses of all workers (--connect-url)",
        )
    return found


def _merged(plan: AclPlan, place: frozenset[str], options: AclOptions) -> str | None:
    """The KafkaUsers of --merge-with with the ACLs of the plan; None without the option."""
    if options.merge_with is None:
        return None
    file, cluster = options.merge_with
    wanted: dict[str, list[AclBinding]] = {}
    for each in plan.bindings:
        if same_cluster(each.cluster, place) and not no_kafka_user(each.binding.principal):
            wanted.setdefault(each.binding.principal, []).append(each.binding)
    return merge_kafka_users(read_text(file, KAFKA_USERS), str(file), wanted, cluster)


def _compare(request: AclRequest, options: AclOptions, plan: AclPlan, acls: ClusterAcls) -> AclDifference:
    assert request.here is not None
    difference = acl_difference.compare_acls(request, plan, acls.bindings, request.here, options.brokers.super_users)
    if difference.missing:
        hidden = acls.hidden - ({SUPER_USERS} if options.brokers.super_users else set())
        difference = replace(difference, findings=(*difference.findings, *find_hidden(hidden)))
    return difference if options.prune else replace(difference, extra=())


def _keep(session: Session, report: AclReport, acls: ClusterAcls, path: Path, *, prune: bool) -> None:
    assert not isinstance(acls.bindings, Skipped), "_require_acls refuses a plan file without ACLs"
    assert acls.cluster_id is not None
    changes = acl_difference.plan_acl_changes(
        report.difference, report.plan, acls.bindings, acls.cluster_id, report.as_of, prune=prune
    )
    here = plans.PlanTarget(Side.SOURCE, session.client_properties.bootstrap_servers)
    plan_files.keep_plan(replace(changes, places=(here,)), path)
    words = ["eosctl", "apply", str(path), *session.options.words]
    session.options.console.narrate(f"the plan is in {path}; `{shlex.join(words)}` carries it out")


def _explained(report: AclReport, request: AclRequest) -> AclReport:
    """With the phases that need each of its bindings, and how many more each phase needs."""
    phases: dict[AclBinding, list[SourceSupport]] = {}
    planned = {each.binding for each in report.plan.bindings}
    beyond = {}
    for phase in SourceSupport:
        needed = acl_planning.plan_acls(replace(request, phase=phase), certificate_subject(request.clusters)).bindings
        for each in needed:
            phases.setdefault(each.binding, []).append(phase)
        beyond[phase] = len({each.binding for each in needed} - planned)
    return replace(report, phases=phases, beyond=beyond)


def _name_other_clusters(
    session: Session, options: AclOptions, difference: AclDifference, place: frozenset[str]
) -> None:
    """Warns of unchecked bindings of other clusters; raises ConfigError where all are."""
    if not options.check:
        return
    elsewhere = [each.planned.cluster for each in difference.compared if isinstance(each.status, Skipped)]
    hint = (
        f"name their addresses with --cluster where they are this one, which is taken to be {', '.join(sorted(place))}"
    )
    if elsewhere and len(elsewhere) == len(difference.compared):
        raise ConfigError("every planned binding belongs to another cluster, so none can be checked", hint=hint)
    if elsewhere:
        there = "; ".join(sorted({", ".join(sorted(each)) for each in elsewhere}))
        session.options.console.warn(
            f"{pluralize(len(elsewhere), 'binding')} of other clusters not checked ({there}): {hint}"
        )


def _check_flags(options: AclOptions) -> None:
    if options.emit:
        for name, given, purpose in (
            ("--check", options.check, "one answers yes or no"),
            ("--explain", options.explain, "one is for people"),
            ("--prune", options.prune, "one plans removals"),
            ("--plan-file", options.plan_file, "one is for eosctl apply"),
        ):
            if given:
                raise UsageError(f"{name} and --emit exclude each other: {purpose}, the other is for another tool")
    if options.prune and options.inputs.connectors:
        raise UsageError(
            "--prune and --connector exclude each other: what other connectors need would be taken for extra",
            hint="leave out --connector, so that all connectors are planned for",
        )
    if options.headroom and options.pattern_type is PatternType.PREFIXED:
        raise UsageError("--headroom and --pattern prefixed exclude each other: a prefix holds the ID of every task")


def _require_acls(options: AclOptions, acls: ClusterAcls) -> None:
    """Raises UsageError for a flag that needs ACLs without a cluster, ConfigError where it has none."""
    if not isinstance(acls.bindings, Skipped):
        return
    for flag, verb, given in (
        ("--check", "check", options.check),
        ("--prune", None, options.prune),
        ("--plan-file", "change", options.plan_file),
    ):
        if given and acls.bindings.cause in NOT_READ:
            raise UsageError(f"{flag} needs the cluster's ACLs", hint="give -b HOST:PORT")
        if given and verb is not None:
            raise ConfigError(f"there are no ACLs to {verb}: {acls.bindings.reason}")


def _broker_version(options: AclOptions, acls: ClusterAcls) -> KafkaVersion:
    if options.brokers.version is None:
        return acls.broker_version
    try:
        return KafkaVersion.parse(options.brokers.version)
    except ValueError as error:
        raise UsageError(f"--broker-version {error}", hint="write it as 3.9.2 or 4.3") from error
