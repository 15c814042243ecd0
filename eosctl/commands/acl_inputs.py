"""What acl-plan is told about Connect clusters: files, workers' REST interfaces, config topic or snapshot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.connector_files import connector_of, decode_connectors
from eosctl.codecs.principals import mask_all_but_principals
from eosctl.codecs.secrets import HIDDEN, mask_properties
from eosctl.codecs.worker_files import decode_worker_file, worker_of
from eosctl.commands.context import Context
from eosctl.errors import UsageError
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.connectors import ConnectorState, Reader
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST
from eosctl.sources.files import read_text

UNKNOWN_CLASS: Final = {"connector.class": "unknown"}


@dataclass(frozen=True, slots=True)
class AclInputs:
    """What was said about the Connect clusters; topics name internal topics where no worker config was given."""

    worker_configs: tuple[Path, ...] = ()
    connector_configs: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    internal_topics: Mapping[str, str] = field(default_factory=dict)


def read_connect_clusters(context: Context, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    """The Connect clusters with their connectors; UsageError where it is not clear whose a connector is."""
    clusters = _workers(context, inputs)
    known = _known_connectors(context, clusters)
    given = _given_connectors(inputs, [each.group_id for each in clusters])
    found = tuple(
        replace(cluster, connectors=_merged(cluster, known.get(cluster.group_id, {}), given.get(cluster.group_id, ())))
        for cluster in clusters
    )
    return _with_topics(_selected(found, inputs.connectors), inputs.topics)


def _workers(context: Context, inputs: AclInputs) -> tuple[ConnectCluster, ...]:
    clusters: dict[str, ConnectCluster] = {}
    for path in inputs.worker_configs:
        for cluster in decode_worker_file(read_text(path, "--worker-config"), str(path)):
            before = clusters.get(cluster.group_id)
            workers = (*before.workers, *cluster.workers) if before else cluster.workers
            clusters[cluster.group_id] = replace(before or cluster, workers=workers)
    if clusters:
        return tuple(clusters.values())
    return (ConnectCluster((_worker_by_flags(context, inputs),), ()),)


def _worker_by_flags(context: Context, inputs: AclInputs) -> WorkerConfig:
    """A worker of which only names are known; nothing tells its principals, so they have to be named."""
    if context.options.group_id is None:
        raise UsageError("no Connect cluster was named", hint="give --worker-config FILE, or --group-id")
    settings = {"group.id": context.options.group_id, **inputs.internal_topics}
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


def _known_connectors(context: Context, clusters: tuple[ConnectCluster, ...]) -> dict[str, dict[str, ConnectorConfig]]:
    """Connectors of the Connect cluster that -b, --connect-url or --snapshot leads to, by group and name."""
    wanted = context.options.group_id or (clusters[0].group_id if len(clusters) == 1 else None)
    cluster = next((each for each in clusters if each.group_id == wanted), None)
    if cluster is None:
        return {}
    found = _from_config_topic(context, cluster)
    if context.options.connect_urls:
        found = {name: _alike(each, found.get(name)) for name, each in _from_rest(context).items()}
    return {cluster.group_id: found}


def _from_rest(context: Context) -> dict[str, ConnectorConfig]:
    from eosctl.clients.rest import RestClient

    url = context.options.connect_urls[0]
    with RestClient(url, context.options.timeout_s) as rest:
        body = rest.get("/connectors?expand=info")
    found = {}
    for name, entry in sorted(body.items()) if isinstance(body, dict) else ():
        info = entry["info"]
        connector = connector_of({**UNKNOWN_CLASS, **info["config"]}, url, name=name)
        found[name] = replace(connector, type=info.get("type"))
    return found


def _from_config_topic(context: Context, cluster: ConnectCluster) -> dict[str, ConnectorConfig]:
    states = _states(context, cluster.workers[0].config_topic)
    return {name: _from_state(state) for name, state in sorted(states.items()) if state.known}


def _from_state(state: ConnectorState) -> ConnectorConfig:
    config = {key: value for key, value in (state.config or {}).items() if value is not None}
    readable = {key: str(value) for key, value in config.items() if value != HIDDEN or "jaas" in key}
    connector = connector_of({**UNKNOWN_CLASS, **readable}, "the config topic", name=state.name)
    return replace(connector, task_count=state.task_count, task_count_record=state.task_count_record)


def _states(context: Context, topic: str) -> Mapping[str, ConnectorState]:
    if context.options.snapshot is not None:
        from eosctl.sources.snapshot_file import read_snapshot_file

        log = read_snapshot_file(context.options.snapshot).config_topic
        if isinstance(log, Skipped):
            raise UsageError(f"the snapshot holds no config topic: {log.reason}")
        return fold_config_topic(log.records, Reader(NEWEST)).states
    if context.options.bootstrap_servers is None and context.options.command_config is None:
        return {}
    from eosctl.sources.kafka_log import read_log

    try:
        records = read_log(context.wire, TopicPartition(topic, 0))
        masked = decode_config_records(records, mask_all_but_principals(mask_properties))
        return fold_config_topic(masked, Reader(NEWEST)).states
    except UsageError as error:  # the topic does not exist: no worker has started yet
        context.options.console.narrate(f"no connector is known from the config topic: {error.message}")
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


def _selected(clusters: tuple[ConnectCluster, ...], names: tuple[str, ...]) -> tuple[ConnectCluster, ...]:
    if not names:
        return clusters
    known = {each.name for cluster in clusters for each in cluster.connectors}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"connector {', '.join(unknown)} is not known",
            hint="give its config with --connector-config, or --connect-url, or -b and the right config topic",
        )
    return tuple(
        replace(cluster, connectors=tuple(each for each in cluster.connectors if each.name in names))
        for cluster in clusters
    )


def _with_topics(clusters: tuple[ConnectCluster, ...], topics: tuple[str, ...]) -> tuple[ConnectCluster, ...]:
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


def principals_by_role(texts: Iterable[str]) -> dict[tuple[ClientRole, str | None], str]:
    """`ROLE=User:x` and `CONNECTOR/ROLE=User:x` as a lookup. Raises UsageError naming what is wrong."""
    return dict(_named(text) for text in texts)


def _named(text: str) -> tuple[tuple[ClientRole, str | None], str]:
    # A principal may hold `=` (CN=…), a connector's name too: the role is what stands before `=User:`.
    for role in sorted(ClientRole, key=len, reverse=True):
        place = text.find(f"{role}=")
        if place == 0 or (place > 0 and text[place - 1] == "/"):
            principal = text[place + len(role) + 1 :]
            kind, colon, name = principal.partition(":")
            if not (kind and colon and name):
                raise UsageError(f"--principal {text}: {principal!r} is not TYPE:NAME", hint="for example User:connect")
            return (role, text[: place - 1] if place else None), principal
    raise UsageError(
        f"--principal {text} names no role", hint=f"ROLE=User:NAME, where ROLE is one of {', '.join(ClientRole)}"
    )


def certificate_subject(properties: Mapping[str, Property]) -> str:
    """The subject of the certificate in these client properties, as Java writes it (RFC 2253)."""
    from eosctl.sources.certificates import read_subject

    return read_subject(properties)
