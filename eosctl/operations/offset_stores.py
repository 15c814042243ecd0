"""The workers' settings and connectors' configs that decide where offsets of source connectors are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from eosctl.analysis.config_topic import connector_of, fold_config_topic
from eosctl.analysis.offsets_report import Configs, Connectors
from eosctl.analysis.source_stores import ISOLATION_LEVEL
from eosctl.errors import EosctlError, UsageError
from eosctl.files import WORKER_CONFIG, read_text
from eosctl.model.client_roles import SERVERS, server_set
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog, ConnectorConfigRecord
from eosctl.model.connectors import OFFSETS_TOPIC, Reader
from eosctl.model.offsets import WorkerSettings
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import SOURCE_SUPPORT, KnownPhase, SourceSupport
from eosctl.sources.cluster_reader import ClusterReader

DEFAULT_OFFSETS_TOPIC: Final = "connect-offsets"
WORKER_OFFSETS_TOPIC: Final = "offset.storage.topic"
DECIDING: Final = frozenset(
    {"producer.bootstrap.servers", "consumer.bootstrap.servers", "consumer.isolation.level", ISOLATION_LEVEL}
)
"""The settings in a worker's file that decide where connectors' clients read and write, and how the worker reads its
own topic."""


class OffsetsRequest(Struct, frozen=True):
    """The connectors (none: all), and the given settings of the workers; None: not given.

    worker_config is a worker's properties file; the other members win over it, except worker_clients, which are
    WorkerSettings.clients without such a file.
    """

    connectors: tuple[str, ...] = ()
    offsets_topic: str | None = None
    config_topic: str = "connect-configs"
    worker_offsets_topic: str | None = None
    exactly_once: KnownPhase | None = None
    worker_version: str | None = None
    worker_bootstrap_servers: str | None = None
    worker_config: Path | None = None
    worker_clients: Mapping[str, str] = field(default_factory=dict)


def worker_settings(reader: ClusterReader, request: OffsetsRequest, version: KafkaVersion) -> WorkerSettings:
    """The workers' settings: as given, otherwise from their properties file, then from the reader.

    The reader is asked only for what neither gives. UsageError for a value in the file that no worker accepts, and
    where the offsets topic is another group's.
    """
    file = _properties_in(request.worker_config)
    servers = request.worker_bootstrap_servers or file.get(SERVERS)
    given_topic = request.worker_offsets_topic or file.get(WORKER_OFFSETS_TOPIC)
    offsets_topic = given_topic or reader.worker_offsets_topic() or DEFAULT_OFFSETS_TOPIC
    if not servers:
        reader.require_topic("offsets", offsets_topic)
    return WorkerSettings(
        offsets_topic=offsets_topic,
        exactly_once=_given_phase(request, file) or reader.source_support(),
        bootstrap_servers=server_set(servers) if servers else reader.worker_servers(),
        version=version,
        clients={key: value for key, value in file.items() if key in DECIDING}
        if file
        else request.worker_clients or reader.worker_clients(),
    )


def _properties_in(file: Path | None) -> Mapping[str, str]:
    if file is None:
        return {}
    from eosctl.codecs.connector_files import decode_worker_settings

    return decode_worker_settings(read_text(file, WORKER_CONFIG), str(file))


def _given_phase(request: OffsetsRequest, properties: Mapping[str, str]) -> KnownPhase | None:
    """As given, otherwise the file's value; disabled, the default, if the file does not set it; None without a file."""
    file = request.worker_config
    if request.exactly_once is not None or file is None:
        return request.exactly_once
    text = properties.get(SOURCE_SUPPORT, SourceSupport.DISABLED.value).lower()
    if text not in set(SourceSupport):
        raise UsageError(f"{file}: {SOURCE_SUPPORT} is {text!r}, which no worker accepts")
    return KnownPhase(text)


def source_connectors(reader: ClusterReader, request: OffsetsRequest, version: KafkaVersion) -> Connectors:
    """Connectors and configs as Connect REST has them, otherwise as the config topic has them; --offsets-topic wins."""
    configs, history = _configs(reader, request, version)
    own = {} if request.offsets_topic is None else {OFFSETS_TOPIC: request.offsets_topic}
    if isinstance(configs, Skipped):
        unknown = Skipped(f"its offsets topic is not known: {configs.reason}", configs.cause)
        return Connectors(configs, own or unknown, named=history.named)
    gone = {name: {**config, **own} for name, config in history.last.items() if name not in configs}
    return Connectors({name: {**config, **own} for name, config in configs.items()}, own, gone, history.named)


class _History(Struct, frozen=True):
    """The last config of every connector that ever was, and all offsets topics in its configs, perhaps none."""

    last: Configs = MappingProxyType({})
    named: Mapping[str, frozenset[str]] = MappingProxyType({})


def _configs(
    reader: ClusterReader, request: OffsetsRequest, version: KafkaVersion
) -> tuple[Configs | Skipped, _History]:
    """Configs of the present source connectors, and of earlier ones."""
    running = reader.connector_configs()
    try:
        configured, history = _configs_in(reader.config_topic(request.config_topic), version)
    except EosctlError as error:
        return Skipped.of(error) if running is None else running, _History()
    if running is not None:
        return running, history
    connect = reader.connect()
    types = {} if isinstance(connect, Skipped) else connect.types
    return {name: config for name, config in configured.items() if types.get(name) != "sink"}, history


def _configs_in(log: ConfigTopicLog, version: KafkaVersion) -> tuple[Configs, _History]:
    """Configs of the connectors that exist by this config topic, and what was committed before, all masked.

    Sinks are among them.
    """
    last: dict[str, Mapping[str, object]] = {}
    named: dict[str, frozenset[str]] = {}

    def remembered() -> Iterator[ConfigRecord]:
        for record in log.records:
            if (name := connector_of(record)) is not None:
                named.setdefault(name, frozenset())
            if isinstance(record, ConnectorConfigRecord) and record.origin.state is RecordState.COMMITTED:
                properties = record.properties or {}
                last.update({} if record.properties is None else {record.connector: properties})
                topic = properties.get(OFFSETS_TOPIC)
                if isinstance(topic, str) and topic and "${" not in topic:
                    named[record.connector] = named.get(record.connector, frozenset()) | {topic}
            yield record

    states = fold_config_topic(remembered(), Reader(version)).states
    return {name: state.config for name, state in states.items() if state.config is not None}, _History(last, named)
