"""A mirror's own position: its source offsets in the worker's offsets topics, and its consumer's isolation level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from eosctl.analysis.client_configs import connector_client
from eosctl.codecs.offsets_topic import decode_offsets_key, decode_offsets_value
from eosctl.errors import EosctlError
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import MalformedKey, MalformedValue, OffsetKey, OffsetsTopic, StorePlace
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers
from eosctl.sources.cluster_reader import ClusterReader

if TYPE_CHECKING:
    from eosctl.operations.audit_request import MirrorRequest

MIRROR_SOURCE = "MirrorSourceConnector"
ISOLATION_LEVEL = "isolation.level"
Positions = Mapping[TopicPartition, int | Skipped]


def read_positions(reader: ClusterReader, request: MirrorRequest) -> Positions | Skipped:
    """The last source offset that was committed for each source partition, by topic and partition of the source.

    Skipped if no offsets topic was named, or one cannot be read. A partition with offsets of several connectors is
    Skipped itself: --connector decides.
    """
    if not request.offsets_topics:
        return not_asked("no offsets topic was named (--offsets-topic)")
    found: dict[TopicPartition, dict[str, int]] = {}
    for topic in request.offsets_topics:
        try:
            folded = reader.offsets_topic(StorePlace(topic))
        except EosctlError as error:
            return Skipped.of(error)
        if folded is None or isinstance(folded, Skipped):
            return folded or Skipped(f"offsets topic {topic} does not exist")
        for key, offset in _offsets(folded, request):
            if (place := source_partition(key)) is not None:
                mine = found.setdefault(place, {})
                mine[key.connector] = max(offset, mine.get(key.connector, offset))
    return {place: _only(offsets) for place, offsets in found.items()}


def _offsets(topic: OffsetsTopic, request: MirrorRequest) -> Iterator[tuple[OffsetKey, int]]:
    for part in topic.partitions:
        for raw, records in part.keys.items():
            key = decode_offsets_key(raw)
            if isinstance(key, MalformedKey) or records.committed is None or not _is_meant(key, request):
                continue
            value = decode_offsets_value(records.committed.value)
            offset = None if value is None or isinstance(value, MalformedValue) else value.get("offset")
            if isinstance(offset, int) and not isinstance(offset, bool):
                yield key, offset


def _is_meant(key: OffsetKey, request: MirrorRequest) -> bool:
    named = not request.connectors or key.connector in request.connectors
    cluster = None if key.partition is None else key.partition.get("cluster")
    return named and (request.alias is None or cluster == request.alias)


def source_partition(key: OffsetKey) -> TopicPartition | None:
    """The source partition of a key as MirrorUtils.wrapPartition makes it: cluster, topic and partition."""
    match key.partition:
        case {"cluster": str(), "topic": str(topic), "partition": int(partition)}:
            return TopicPartition(topic, partition)
    return None


def _only(offsets: Mapping[str, int]) -> int | Skipped:
    if len(offsets) == 1:
        return next(iter(offsets.values()))
    return not_asked(f"connectors {', '.join(sorted(offsets))} have an offset of it: choose one with --connector")


def read_isolation(reader: ClusterReader, request: MirrorRequest) -> IsolationLevel | Skipped:
    """The isolation.level of the mirror's consumer, as given, otherwise as the configs of MirrorSource connectors say.

    Where none is set it is read_uncommitted, the default of Kafka's consumer. Skipped where it is not known.
    """
    if request.isolation is not None:
        return request.isolation
    configs = reader.connector_configs()
    if configs is None:
        return not_asked("no worker was named (--connect-url)")
    if isinstance(configs, Skipped):
        return configs
    levels = set(_levels(configs, request.connectors, request.alias))
    if len(levels) == 1:
        return IsolationLevel(next(iter(levels)))
    return not_asked("several MirrorSource connectors differ in it" if levels else "there is no MirrorSource connector")


def is_mirror_source(config: Mapping[str, object]) -> bool:
    """Whether this is the config of a MirrorSource connector."""
    return str(config.get("connector.class", "")).endswith(MIRROR_SOURCE)


def _levels(configs: Mapping[str, Mapping[str, object]], names: Sequence[str], alias: str | None) -> Iterable[str]:
    for name, config in configs.items():
        meant = not names or name in names
        same = alias is None or config.get("source.cluster.alias", "source") == alias
        if meant and same and is_mirror_source(config):
            connector = ConnectorConfig(name, as_properties(config))
            worker = WorkerConfig({}, unread=not_asked("no worker reports its settings"))
            client = connector_client(worker, connector, ClientRole.MIRROR_SOURCE_CONSUMER, exactly_once=False)
            level = client.get(ISOLATION_LEVEL)
            yield str(level or IsolationLevel.READ_UNCOMMITTED.value).lower()


@contextmanager
def source_session(
    session: Session, servers: str | None, config: Path | None, planned: PlannedServers | None = None
) -> Iterator[Session]:
    """The source cluster: nothing of the target's properties is used there.

    `planned` are its brokers where neither `servers` nor the file `config` names any. No credentials are shown to them.
    """
    options = replace(
        session.options,
        bootstrap_servers=servers,
        command_config=config,
        planned=planned,
        properties=MappingProxyType({}),
        connect_urls=(),
        group_id=None,
        profile=None,
    )
    session.has_other_cluster = True
    with Session(options) as source:
        source.has_other_cluster = True  # what the target refuses ends both sessions
        yield source
