"""Reading for migrations: which Kafka cluster each connector's offsets are in."""

from collections.abc import Callable, Collection, Mapping

from eosctl.analysis.client_configs import connector_client
from eosctl.model.client_configs import SERVERS, ClientConfig, as_properties, server_set
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig
from eosctl.model.migration import ConnectClusters, MigrationRequest
from eosctl.model.near_names import did_you_mean
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.migration_request import Configs, MigrationOptions
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.sources.connect_clusters import (
    read_former_configs,
    read_producer_cluster,
    read_worker_cluster,
)


def known_or_former_configs(
    clusters: SourceAndTarget, wanted: Collection[str], configs: Configs, warn: Callable[[str], None]
) -> Configs:
    """Configs of the connectors that exist, and of those wanted that were deleted the last one that is known."""
    gone = [name for name in wanted if name not in configs]
    former = read_former_configs(clusters.access(Side.SOURCE), gone)
    if isinstance(former, Skipped):
        warn(f"the last configs of {', '.join(gone)} are unknown: {former.reason}")
        return configs
    for name in gone:
        if name not in former and (meant := did_you_mean(name, configs)) is not None:
            warn(f"connector {name} does not exist; {meant}")
    return {**former, **configs}


def read_clusters(session: Session, clusters: SourceAndTarget, configs: Configs, group_id: str) -> ConnectClusters:
    """The clusters of the workers and of the producers that a config sends elsewhere, and the workers' group."""
    access = clusters.access(Side.SOURCE)
    clients = {name: _producer(name, config) for name, config in configs.items()}
    elsewhere = {name: client.setting(SERVERS) for name, client in clients.items() if client.servers_of_its_own}
    producers = {
        name: servers
        if isinstance(servers, Skipped)
        else read_producer_cluster(map(clusters.access, Side), sorted(server_set(servers)), name)
        for name, servers in elsewhere.items()
    }
    workers = read_worker_cluster(access)
    return ConnectClusters(
        workers=workers,
        producers=producers,
        servers={name: str(clients[name].get(SERVERS)) for name in producers},
        exactly_once=_source_support(session) if producers else not_asked("not asked"),
        group_state=_group_state(session, group_id) if workers == access.wire.cluster_id else not_asked("not asked"),
    )


def _producer(name: str, config: Mapping[str, object]) -> ClientConfig:
    """The connector's producer as far as its own config decides: no worker reports what it sets."""
    worker = WorkerConfig({}, unread=not_asked("no worker reports its settings"))
    connector = ConnectorConfig(name, as_properties(config))
    return connector_client(worker, connector, ClientRole.PRODUCER, exactly_once=False)


def _group_state(session: Session, group_id: str) -> str | Skipped:
    group = session.reader.connect_group(group_id)
    return group if isinstance(group, Skipped) else group.state


def _source_support(session: Session) -> SourceSupport | Skipped:
    return session.reader.source_support() if session.connect_urls else not_asked("no worker's address was given")


def stays_in_its_connect_cluster(
    clusters: SourceAndTarget, options: MigrationOptions, request: MigrationRequest, places: ConnectClusters
) -> bool:
    """Whether the other Kafka cluster is where the connectors produce to, and no other Connect cluster was named."""
    named = options.to_group_id is not None or options.target.connect_urls or options.target.config_topic is not None
    if not options.target.other_cluster or named:
        return False
    target = clusters.access(Side.TARGET).wire.cluster_id
    return all(places.producers.get(move.connector) == target for move in request.moves)
