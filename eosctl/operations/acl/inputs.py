"""What acl-plan is told about Connect clusters: files, workers' REST interfaces, config topic or snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.analysis.source_stores import server_set
from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.connector_files import connector_of, decode_connectors
from eosctl.codecs.principals import mask_all_but_principals
from eosctl.codecs.secrets import HIDDEN, mask_properties
from eosctl.codecs.worker_files import decode_worker_file, worker_of
from eosctl.errors import UsageError
from eosctl.model.acl_plan import same_cluster
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.connectors import ConnectorState, Reader
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST
from eosctl.operations.acl.cluster_acls import addresses_of, place_of
from eosctl.operations.session import Session
from eosctl.sources.files import read_text

UNKNOWN_CLASS: Final = {"connector.class": "unknown"}


@dataclass(frozen=True, slots=True)
class AclInputs:
    """What was said about the Connect clusters and the Kafka cluster at -b.

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
    given = _given_connectors(inputs, [each.group_id for each in clusters])
    found = tuple(
        replace(
            cluster,
            connectors=_merged(cluster, known.get(cluster.group_id, {}), given.get(cluster.group_id, ())),
            all_known=cluster.group_id in known or bool(cluster.connectors),
        )
        for cluster in clusters
    )
    return _with_topics(_selected(found, inputs.connectors), inputs.topics)


def _workers(session: Session, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """Workers of one group.id together; MirrorMaker 2's flows only where they have the same target, too."""
    clusters: dict[tuple[str, str], ConnectCluster] = {}
    for path in inputs.worker_configs:
        for cluster in decode_worker_file(read_text(path, "--worker-config"), str(path)):
            target = cluster.workers[0].get("bootstrap.servers") if cluster.connectors else ""
            before = clusters.get((cluster.group_id, target))
            workers = (*before.workers, *cluster.workers) if before else cluster.workers
            clusters[cluster.group_id, target] = replace(before or cluster, workers=workers)
    if clusters:
        return tuple(clusters.values())
    return (ConnectCluster((_worker_by_flags(session, inputs),), ()),)


def _worker_by_flags(session: Session, inputs: AclInputs) -> WorkerConfig:
    """A worker of which only names are known; nothing tells its principals, so they have to be named."""
    if session.options.group_id is None:
        raise UsageError("no Connect cluster was named", hint="give --worker-config FILE, or --group-id")
    settings = {"group.id": session.options.group_id, **inputs.internal_topics}
    worker = worker_of(settings, "the command line")
    unknown = Property("SASL_SSL", "no --worker-config was given, so")
    clients = {f"{prefix}security.protocol": unknown for prefix in ("", "producer.", "consumer.", "admin.")}
    return WorkerConfig({**worker.properties, **clients})


def _given_connectors(inputs: AclInputs, groups: list[str]) -> dict[str, list[ConnectorConfig]]:
    given: dict[str, list[ConnectorConfig]] = {}
    for text in inputs.connector_configs:
        group, path = _group_and_path(text, groups)
        given.setdefault(group, []).extend(decode_connectors(read_text(path, "--connector-config"), str(path)))
    return given


def _group_and_path(text: str, groups: list[str]) -> tuple[str, Path]:
    """`GROUP=FILE`, or a file alone where there is one group."""
    group, equals, rest = text.partition("=")
    if equals and group in groups:
        return group, Path(rest)
    if len(groups) == 1:
        return groups[0], Path(text)
    raise UsageError(
        f"--connector-config {text} does not say which of {len(groups)} Connect clusters it is for",
        hint=f"put the group.id before it: --connector-config {groups[0]}={text}",
    )


def _known_connectors(
    session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs
) -> dict[str, dict[str, ConnectorConfig]]:
    """Connectors of the Connect clusters that -b, --connect-url or --snapshot leads to, by group and name.

    A group whose connectors nothing tells is not among them. Raises UsageError where it is not clear which is meant.
    """
    found = {}
    for cluster in _reachable(session, clusters, inputs):
        known = _from_config_topic(session, cluster)
        if session.options.connect_urls:
            before = known or {}
            known = {name: _alike(each, before.get(name)) for name, each in _from_rest(session).items()}
        if known is not None:
            found[cluster.group_id] = known
    return found


def _reachable(session: Session, clusters: tuple[ConnectCluster, ...], inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The cluster that --group-id names, or the only one; of several those whose workers use the cluster at -b."""
    options = session.options
    # Without the flag options.group_id is that of the first --worker-config.
    told_by_file = options.sources.get("group_id") in {str(each) for each in inputs.worker_configs}
    wanted = None if told_by_file else options.group_id
    if wanted is not None:
        named = tuple(each for each in clusters if each.group_id == wanted)
        if not named:
            groups = ", ".join(sorted({each.group_id for each in clusters}))
            raise UsageError(f"--group-id {wanted} is the group.id of no --worker-config", hint=f"there are {groups}")
        return named[:1]
    if len(clusters) == 1:
        return clusters
    for flag, given in (("--connect-url", options.connect_urls), ("--snapshot", options.snapshot)):
        if given:
            raise UsageError(
                f"{flag} does not say which of {len(clusters)} Connect clusters it is of", hint="name it: --group-id"
            )
    if not session.client_properties.bootstrap_servers:
        return ()
    here = place_of(clusters, addresses_of(session), inputs.cluster)
    return tuple(each for each in clusters if same_cluster(server_set(each.workers[0].get("bootstrap.servers")), here))


def _from_rest(session: Session) -> dict[str, ConnectorConfig]:
    from eosctl.clients.rest import RestClient

    url = session.options.connect_urls[0]
    with RestClient(url, session.options.timeout_s) as rest:
        body = rest.get("/connectors?expand=info")
    found = {}
    for name, entry in sorted(body.items()) if isinstance(body, dict) else ():
        info = entry["info"]
        connector = connector_of({**UNKNOWN_CLASS, **info["config"]}, url, name=name)
        # A worker that lacks the connector's plugin calls the type unknown; then its settings tell.
        found[name] = replace(connector, type=info["type"] if info.get("type") in {"source", "sink"} else None)
    return found


def _from_config_topic(session: Session, cluster: ConnectCluster) -> dict[str, ConnectorConfig] | None:
    """None where no config topic could be asked for; no connector where it does not exist."""
    states = _states(session, cluster.workers[0].config_topic)
    if states is None:
        return None
    return {name: _from_state(state) for name, state in sorted(states.items()) if state.known}


def _from_state(state: ConnectorState) -> ConnectorConfig:
    config = {key: value for key, value in (state.config or {}).items() if value is not None}
    readable = {key: str(value) for key, value in config.items() if value != HIDDEN or "jaas" in key}
    connector = connector_of({**UNKNOWN_CLASS, **readable}, "the config topic", name=state.name)
    return replace(connector, task_count=state.task_count, task_count_record=state.task_count_record)


def _states(session: Session, topic: str) -> Mapping[str, ConnectorState] | None:
    if session.options.snapshot is not None:
        from eosctl.sources.snapshot_file import read_snapshot_file

        log = read_snapshot_file(session.options.snapshot).config_topic
        if isinstance(log, Skipped):
            raise UsageError(f"the snapshot holds no config topic: {log.reason}")
        return fold_config_topic(log.records, Reader(NEWEST)).states
    if session.options.bootstrap_servers is None and session.options.command_config is None:
        return None
    from eosctl.sources.kafka_log import read_log

    try:
        records = read_log(session.wire, TopicPartition(topic, 0))
        masked = decode_config_records(records, mask_all_but_principals(mask_properties))
        return fold_config_topic(masked, Reader(NEWEST)).states
    except UsageError as error:  # the topic does not exist: no worker has started yet
        session.options.console.narrate(f"no connector is known from the config topic: {error.message}")
        return {}


def _alike(told: ConnectorConfig, before: ConnectorConfig | None) -> ConnectorConfig:
    """The connector as REST or a file tells it, with what the config topic knows of its tasks."""
    if before is None:
        return told
    return replace(
        told,
        type=told.type or before.type,
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
            hint="give its config with --connector-config, or --connect-url, or -b and the right config topic",
        )
    return tuple(_with_only(cluster, names) for cluster in clusters)


def _with_only(cluster: ConnectCluster, names: Iterable[str]) -> ConnectCluster:
    asked = tuple(each for each in cluster.connectors if each.name in names)
    others = tuple(each.name for each in cluster.connectors if each not in asked and not each.is_sink)
    return replace(cluster, connectors=asked, others=others, all_known=len(asked) == len(cluster.connectors))


def _with_topics(clusters: tuple[ConnectCluster, ...], topics: Sequence[str]) -> tuple[ConnectCluster, ...]:
    named: dict[str, list[str]] = {}
    known = {each.name for cluster in clusters for each in cluster.connectors}
    for text in topics:
        name, equals, topic = text.rpartition("=")
        if not equals or not topic or name not in known:
            raise UsageError(
                f"--topic {text} does not begin with a connector that is known, and =",
                hint="for example --topic orders=orders.eu, or --topic orders='orders.*' for a prefix",
            )
        named.setdefault(name, []).append(topic)
    return tuple(
        replace(
            cluster,
            connectors=tuple(replace(each, topics=tuple(named.get(each.name, ()))) for each in cluster.connectors),
        )
        for cluster in clusters
    )
