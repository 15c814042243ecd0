"""Reading for migrations: which Kafka cluster each connector's offsets are in."""

from collections.abc import Collection, Mapping

from eosctl.errors import EosctlError
from eosctl.model.migration import ConnectClusters, MigrationRequest
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.plan import Side
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.migration_request import Configs, MigrationOptions
from eosctl.operations.two_clusters import SourceAndTarget


def known_or_former_configs(
    sides: SourceAndTarget, wanted: Collection[str], configs: Mapping[str, Mapping[str, object]]
) -> Configs:
    """Configs of the connectors that exist, and of those wanted that were deleted the last one that is known."""
    from eosctl.sources.connect_clusters import read_former_configs

    gone = [name for name in wanted if name not in configs]
    return {**read_former_configs(sides.access(Side.SOURCE), gone), **configs}


def read_clusters(sides: SourceAndTarget, configs: Configs, group_id: str) -> ConnectClusters:
    """The clusters of the workers and of the producers that a config sends elsewhere, and the workers' group."""
    from eosctl.sources.connect_clusters import OVERRIDE, read_producer_cluster, read_worker_cluster

    access = sides.access(Side.SOURCE)
    producers = {
        name: cluster
        for name, config in configs.items()
        if (cluster := read_producer_cluster(access.properties, config, access.timeout_s)) is not None
    }
    workers = read_worker_cluster(access)
    return ConnectClusters(
        workers=workers,
        producers=producers,
        servers={name: str(configs[name][OVERRIDE]) for name in producers},
        exactly_once=_source_support(sides) if producers else not_asked("not asked"),
        group_state=_group_state(sides, group_id) if workers == access.wire.cluster_id else not_asked("not asked"),
    )


def _group_state(sides: SourceAndTarget, group_id: str) -> str | Skipped:
    from eosctl.sources.connect_group import read_connect_group

    try:
        return read_connect_group(sides.access(Side.SOURCE).wire, group_id).state
    except EosctlError as error:
        return Skipped.of(error)


def _source_support(sides: SourceAndTarget) -> SourceSupport | Skipped:
    from eosctl.sources.connect_offsets import probe_source_support

    access = sides.access(Side.SOURCE)
    if not access.connect_urls:
        return not_asked("no worker's address was given")
    return probe_source_support(access.connect_urls, access.timeout_s)


def stays_in_its_connect_cluster(
    sides: SourceAndTarget, options: MigrationOptions, request: MigrationRequest, clusters: ConnectClusters
) -> bool:
    """Whether the other Kafka cluster is where the connectors produce to, and no other Connect cluster was named."""
    named = options.to_group_id is not None or options.target.connect_urls or options.target.config_topic is not None
    if not options.target.other_cluster or named:
        return False
    target = sides.access(Side.TARGET).wire.cluster_id
    return all(clusters.producers.get(move.connector) == target for move in request.moves)
