"""Connect clusters with their connectors, from files, flags, workers and the config topic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eosctl.analysis.acl_findings import WORKERS
from eosctl.analysis.client_configs import CLIENT_PREFIXES, worker_client
from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.connect_clusters import place_of
from eosctl.analysis.output_topics import named_or_told
from eosctl.analysis.phases import NO_WORKER, Workers, in_force
from eosctl.codecs.connector_files import decode_connectors, known_connector
from eosctl.codecs.worker_files import decode_worker_file, worker_of
from eosctl.errors import UsageError
from eosctl.files import CONNECTOR_CONFIG, WORKER_CONFIG, read_text
from eosctl.model.acl_plan import same_cluster
from eosctl.model.client_properties import HIDDEN, Property
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.connectors import ConnectorState
from eosctl.model.near_names import did_you_mean
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.acl.connector_groups import group_and_path, group_of
from eosctl.operations.session import Session


@dataclass(frozen=True, slots=True)
class AclInputs:
    """The options about the Connect clusters and the Kafka cluster at -b.

    internal_topics are for workers without a config; cluster is how configs name the cluster at -b, None: as place_of.
    """

    worker_configs: Sequence[Path] = ()
    connector_configs: Sequence[str] = ()
    connectors: Sequence[str] = ()
    topics: Sequence[str] = ()
    internal_topics: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None


def internal_topics(config: str, offsets: str, status: str) -> dict[str, str]:
    """The settings with which a worker names its three internal topics."""
    return {"config.storage.topic": config, "offset.storage.topic": offsets, "status.storage.topic": status}


def read_connect_clusters(session: Session, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The Connect clusters with their connectors; UsageError where it is not clear whose a connector is."""
    clusters = _workers(session, inputs)
    known = _known_connectors(session, clusters, inputs)
    given = _given_connectors(inputs, clusters)
    found = tuple(
        replace(
            cluster,
            connectors=_merged(cluster, known.get(cluster.group_id, {}), given.get(cluster.group_id, ())),
            all_known=cluster.group_id in known or (cluster.all_known and bool(cluster.connectors)),
        )
        for cluster in clusters
    )
    return _with_topics(_selected(found, inputs.connectors), inputs.topics)


def clusters_in_force(
    session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs, workers: Workers
) -> tuple[ConnectCluster, ...] | Skipped:
    """The same with the phase that their workers are in, by these answers and their files; Skipped: not known."""
    asked = {id(each) for each in _reachable(session, clusters, inputs)}
    found = []
    for cluster in clusters:
        known = in_force(cluster, workers if id(cluster) in asked else NO_WORKER)
        if isinstance(known, Skipped):
            return known
        found.append(known)
    return tuple(found)


def _workers(session: Session, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """Workers of one group.id together; MirrorMaker 2's flows only where they have the same target, too."""
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
    """A worker of which only names are known; no config names its principals, so they have to be named."""
    group_id = session.need_group_id("give --worker-config FILE, or --group-id")
    settings = {"group.id": group_id, **inputs.internal_topics}
    worker = worker_of(settings, "the command line")
    unknown = Property("SASL_SSL", "no --worker-config was given, so")
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
    """Source connectors whose output topics nobody named and no config names, with those that Connect saw (KIP-558)."""
    named = {text.rpartition("=")[0] for text in inputs.topics}
    untold = [
        name
        for name, each in known.items()
        if not each.is_sink and name not in named and (not inputs.connectors or name in inputs.connectors)
        if not named_or_told(each)
    ]
    active = session.reader.active_topics(untold) if untold else {}
    found = {} if isinstance(active, Skipped) else active
    return {
        name: replace(known[name], active_topics=topics)
        for name, topics in found.items()
        if not isinstance(topics, Skipped)
    }


def _reachable(session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The cluster that --group-id names, or the only one; of several those whose workers use the cluster at -b."""
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
        raise UsageError(
            f"--connect-url does not say which of {len(clusters)} Connect clusters it is of", hint="name it: --group-id"
        )
    brokers = session.reader.cluster()
    if isinstance(brokers, Skipped):
        return ()
    addresses = frozenset((*session.client_properties.bootstrap_servers, *brokers.brokers.values()))
    here = place_of(clusters, addresses, inputs.cluster)
    return tuple(each for each in clusters if same_cluster(worker_client(each.workers[0]).bootstrap_servers, here))


def _from_config_topic(session: Session, cluster: ConnectCluster) -> dict[str, ConnectorConfig] | None:
    """None where no cluster was named to read it from; no connector where it does not exist: no worker has started."""
    reader, topic = session.reader, cluster.workers[0].config_topic
    if isinstance(reader.cluster(), Skipped):
        return None
    try:
        # A topic that does not exist is known, and any other error ends the command: neither leaves a gap.
        with reader.adding():
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


def _merged(
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
    """The file of each connector that has one, then that of the workers (of MirrorMaker 2: of both)."""
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
