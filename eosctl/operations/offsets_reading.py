"""Reading for the offsets commands: worker settings, connector configs and offsets topics, each from where it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.analysis.offsets_report import Configs, Connectors, Topics, places_to_read, producer_servers
from eosctl.analysis.source_stores import OFFSETS_TOPIC, SERVERS, server_set
from eosctl.codecs.properties import decode_properties
from eosctl.errors import EosctlError, UsageError
from eosctl.model.config_topic import ConfigRecord, ConnectorConfigRecord
from eosctl.model.connectors import Reader
from eosctl.model.offset_stores import SourceSupport, StorePlace, WorkerSettings
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.records import RecordState
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.snapshot import ConfigTopicLog, OffsetsFacts, Snapshot
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.operations.offsets_topics import PlacesReader, read_cluster_ids
from eosctl.operations.reading import read_config_topic
from eosctl.operations.session import Session

DEFAULT_OFFSETS_TOPIC: Final = "connect-offsets"
WORKER_OFFSETS_TOPIC: Final = "offset.storage.topic"
SOURCE_SUPPORT: Final = "exactly.once.source.support"
INHERITED: Final = frozenset({"producer.bootstrap.servers", "consumer.bootstrap.servers", "consumer.isolation.level"})


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """What was asked: which connectors, and what the user says about the workers; None is not said."""

    connectors: tuple[str, ...] = ()
    offsets_topic: str | None = None
    config_topic: str = "connect-configs"
    worker_offsets_topic: str | None = None
    exactly_once: SourceSupport | None = None
    worker_version: str | None = None
    worker_bootstrap_servers: str | None = None
    worker_config: Path | None = None


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """What was read, at as_of (ms since the epoch); cluster_ids are those behind other bootstrap.servers."""

    as_of: int
    cluster_id: str | None
    worker: WorkerSettings
    connectors: Connectors
    topics: Topics
    cluster_ids: Mapping[frozenset[str], str | Skipped] = field(default_factory=dict)


def read_offsets(session: Session, request: OffsetsRequest) -> OffsetsRead:
    """The cluster now, or the file given with --snapshot.

    Raises UsageError where the worker's offsets topic does not exist, and the error of a topic that cannot be read if
    the request is about it; other topics are Skipped then.
    """
    if session.options.snapshot is not None:
        from eosctl.sources.snapshot_file import read_snapshot_file

        return offsets_in(read_snapshot_file(session.options.snapshot), request)
    worker = worker_settings(session, request)
    connectors = source_connectors(session, request, worker.version)
    places = places_to_read(worker, connectors, request.connectors)
    sent = producer_servers(worker, connectors, request.connectors)
    cluster_ids = read_cluster_ids(session, [*(place.bootstrap_servers for place in places), *sent])
    reader = PlacesReader(session, cluster_ids)
    topics: dict[StorePlace, OffsetsTopic | Skipped | None] = {}
    for place in places:
        topics[place] = reader.read(place, insist=bool(request.connectors) or not topics)
    first = next(iter(topics))
    if topics[first] is None:
        raise UsageError(
            f"topic {first} does not exist",
            hint="name the workers' offset.storage.topic: --worker-offsets-topic TOPIC",
        )
    known = {
        servers: Skipped.of(each) if isinstance(each, EosctlError) else each for servers, each in cluster_ids.items()
    }
    return OffsetsRead(session.now(), session.wire.cluster_id, worker, connectors, topics, known)


def offsets_in(snapshot: Snapshot, request: OffsetsRequest) -> OffsetsRead:
    """What a snapshot holds; what the user says wins over the worker settings in it."""
    facts, log = snapshot.offsets, snapshot.config_topic
    if isinstance(facts, Skipped):
        raise UsageError(f"the snapshot holds no offsets: {facts.reason}")
    worker = _overridden(facts.worker, request)
    sinks = () if isinstance(snapshot.connect, Skipped) else _sinks(snapshot.connect)
    configs, former = (log, {}) if isinstance(log, Skipped) else configs_in(log, worker.version)
    if not isinstance(configs, Skipped):
        configs = {name: config for name, config in configs.items() if name not in sinks}
    connectors = _with_own_topic(configs, request, former)
    missing = Skipped("it is not in the snapshot", Cause.NOT_SAVED)
    topics = {
        place: facts.topics.get(place, missing) for place in places_to_read(worker, connectors, request.connectors)
    }
    cluster_id = None if isinstance(snapshot.cluster, Skipped) else snapshot.cluster.cluster_id
    return OffsetsRead(snapshot.as_of, cluster_id, worker, connectors, topics)


def _sinks(connect: ConnectFacts) -> frozenset[str]:
    return frozenset(name for name, kind in connect.types.items() if kind == "sink")


def _overridden(worker: WorkerSettings, request: OffsetsRequest) -> WorkerSettings:
    servers = request.worker_bootstrap_servers
    return replace(
        worker,
        offsets_topic=request.worker_offsets_topic or worker.offsets_topic,
        exactly_once=request.exactly_once or worker.exactly_once,
        bootstrap_servers=server_set(servers) if servers else worker.bootstrap_servers,
        version=_version(request.worker_version) or worker.version,
    )


def worker_settings(session: Session, request: OffsetsRequest) -> WorkerSettings:
    """The workers' settings: what the user says, else their properties file, else what they answer themselves."""
    told = _worker_properties(request)
    servers = request.worker_bootstrap_servers or told.get(SERVERS)
    return WorkerSettings(
        offsets_topic=request.worker_offsets_topic or told.get(WORKER_OFFSETS_TOPIC) or DEFAULT_OFFSETS_TOPIC,
        exactly_once=_source_support(session, request, told),
        bootstrap_servers=server_set(servers) if servers else not_asked("give --worker-bootstrap-servers"),
        version=_version(request.worker_version) or _oldest(session.read_connect()),
        clients={key: value for key, value in told.items() if key in INHERITED},
    )


def _worker_properties(request: OffsetsRequest) -> Mapping[str, str]:
    from eosctl.sources.files import read_text

    path = request.worker_config
    return {} if path is None else decode_properties(read_text(path, "--worker-config"), origin=str(path))


def _source_support(session: Session, request: OffsetsRequest, told: Mapping[str, str]) -> SourceSupport | Skipped:
    from eosctl.sources.connect_offsets import probe_source_support

    if request.exactly_once is not None:
        return request.exactly_once
    if request.worker_config is not None:
        text = told.get(SOURCE_SUPPORT, SourceSupport.DISABLED.value).lower()
        if text not in set(SourceSupport):
            raise UsageError(f"{request.worker_config}: {SOURCE_SUPPORT} is {text!r}, which no worker accepts")
        return SourceSupport(text)
    urls = session.options.connect_urls
    if not urls:
        return not_asked("give --exactly-once, --worker-config or --connect-url")
    return probe_source_support(urls, session.options.timeout_s)


def _version(told: str | None) -> KafkaVersion | None:
    try:
        return None if told is None else KafkaVersion.parse(told)
    except ValueError as error:
        raise UsageError(f"--worker-version {error}") from error


def _oldest(connect: ConnectFacts | Skipped) -> KafkaVersion:
    """The oldest version among the workers that answered."""
    workers = () if isinstance(connect, Skipped) else connect.workers.values()
    found = [KafkaVersion.parse(worker.version) for worker in workers if isinstance(worker, WorkerFacts)]
    return min(found, default=NEWEST)


def source_connectors(session: Session, request: OffsetsRequest, version: KafkaVersion) -> Connectors:
    """Connectors and configs as Connect REST has them, else as the config topic has them; --offsets-topic wins."""
    configs, former = _configs(session, request, version)
    return _with_own_topic(configs, request, former)


def _with_own_topic(configs: Configs | Skipped, request: OffsetsRequest, former: Configs) -> Connectors:
    own = {} if request.offsets_topic is None else {OFFSETS_TOPIC: request.offsets_topic}
    if isinstance(configs, Skipped):
        unknown = Skipped(f"where its offsets are kept is not known: {configs.reason}")
        return Connectors(configs, own or unknown)
    gone = {name: {**config, **own} for name, config in former.items() if name not in configs}
    return Connectors({name: {**config, **own} for name, config in configs.items()}, own, gone)


def _configs(session: Session, request: OffsetsRequest, version: KafkaVersion) -> tuple[Configs | Skipped, Configs]:
    """Configs of the connectors that exist, from Connect REST, else the config topic; and those of deleted ones."""
    from eosctl.sources.connect_offsets import read_connector_configs

    options = session.options
    told = read_connector_configs(options.connect_urls, options.timeout_s) if options.connect_urls else None
    try:
        configs, last = configs_in(read_config_topic(session, request.config_topic), version)
    except EosctlError as error:
        return Skipped.of(error) if told is None else told, {}
    return configs if told is None else told, last


def configs_in(log: ConfigTopicLog, version: KafkaVersion) -> tuple[Configs, Configs]:
    """Configs of the connectors that exist by this config topic, and the last one of every connector, all masked.

    Sinks are among them; a last one is the last that was committed, whatever became of the connector.
    """
    last: dict[str, Mapping[str, object]] = {}

    def remembered() -> Iterator[ConfigRecord]:
        for record in log.records:
            if isinstance(record, ConnectorConfigRecord) and record.origin.state is RecordState.COMMITTED:
                last.update({} if record.properties is None else {record.connector: record.properties})
            yield record

    states = fold_config_topic(remembered(), Reader(version)).states
    return {name: state.config for name, state in states.items() if state.config is not None}, last


def read_offsets_facts(session: Session, request: OffsetsRequest) -> OffsetsFacts:
    """What a snapshot keeps about offsets."""
    read = read_offsets(session, request)
    return OffsetsFacts(read.worker, read.topics)
