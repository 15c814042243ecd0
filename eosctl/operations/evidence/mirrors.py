"""Where MirrorSource connectors are in their source clusters, for the rules."""

from collections.abc import Iterator, Mapping
from functools import partial

from eosctl.model.client_properties import listed
from eosctl.model.counts import some
from eosctl.model.evidence import Evidence
from eosctl.model.merged_offsets import OffsetsReport, StoredOffset
from eosctl.model.mirrored_partitions import MirroredPartition
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.topics import TopicDescription
from eosctl.model.whole_numbers import whole_number
from eosctl.operations.audit.bounds import CLEANUP_POLICY, RETENTION_BYTES, RETENTION_MS, SETTINGS
from eosctl.operations.evidence.request import EvidenceRequest
from eosctl.operations.mirror.positions import is_mirror_source, source_partition
from eosctl.operations.mirror.source_cluster import source_session
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers
from eosctl.sources.cluster_reader import ClusterReader

Mirrored = tuple[MirroredPartition | Skipped, ...]
ALIAS = "source.cluster.alias"
SERVERS = "source.cluster.bootstrap.servers"
NO_TIME = Skipped("when records of a mirrored partition were written was not answered (Read on its topic is needed)")


def read_mirrors(
    session: Session, request: EvidenceRequest, known: Evidence, offsets: OffsetsReport | Skipped
) -> Mirrored | Skipped:
    """Each partition that a MirrorSource connector has an offset of; Skipped for a connector whose source is not read.

    The source is the one that the connector's config names, asked with the identity that the user gives for its alias.
    """
    if isinstance(known.inspection, Skipped):
        return known.inspection
    mirrors = [name for name in known.sources() if is_mirror_source(known.config(name))]
    if not mirrors:
        return ()
    if isinstance(offsets, Skipped):
        return offsets
    if session.options.snapshot is not None:
        return not_asked("a snapshot has nothing of the source clusters of mirrors")
    found: list[MirroredPartition | Skipped] = []
    for name in mirrors:
        stored = _stored(offsets, name)
        read = or_skipped(partial(_of_connector, session, request, name, known.config(name), stored))
        found += [read] if isinstance(read, Skipped) else [_named(each, name) for each in read]
        found += [each for each in stored.values() if isinstance(each, Skipped)]
    return tuple(found)


def _named(found: MirroredPartition | Skipped, connector: str) -> MirroredPartition | Skipped:
    return found if isinstance(found, Skipped) else found._replace(connector=connector)


def _stored(offsets: OffsetsReport, connector: str) -> Mapping[TopicPartition, StoredOffset | Skipped]:
    """The offset that a task of the connector starts from, of each source partition."""
    merged = (each for mine in offsets.connectors if mine.name == connector for each in mine.offsets)
    found = ((source_partition(each.key), each.kafka_effective) for each in merged)
    return {
        place: stored
        for place, stored in found
        if place is not None and (isinstance(stored, Skipped) or (stored is not None and _offset(stored) is not None))
    }


def _of_connector(
    session: Session,
    request: EvidenceRequest,
    name: str,
    config: Mapping[str, object],
    stored: Mapping[TopicPartition, StoredOffset | Skipped],
) -> Mirrored | Skipped:
    alias = str(config.get(ALIAS, "source"))
    file = request.mirror_sources.get(alias, request.mirror_sources.get(""))
    if file is None:
        return not_asked(f"the source cluster {alias} is asked with --source-command-config {alias}=FILE")
    offsets = {place: each for place, each in stored.items() if isinstance(each, StoredOffset)}
    planned = PlannedServers(tuple(listed(str(config.get(SERVERS, "")))), f"the config of connector {name}")
    with source_session(session, None, file, planned) as source:
        return tuple(_partitions(source.reader, offsets))


def _partitions(
    reader: ClusterReader, offsets: Mapping[TopicPartition, StoredOffset]
) -> Iterator[MirroredPartition | Skipped]:
    """Those that the source has now, and which topics it has no more, or does not show."""
    topics = reader.topics(sorted({place.topic for place in offsets}), SETTINGS)
    leaders = reader.partitions(dict.fromkeys(topics)) if topics else {}
    positions = {place: at for place, each in offsets.items() if place in leaders and (at := _offset(each)) is not None}
    bounds = reader.bounds(list(positions)) if positions else {}
    there = {
        place: at
        for place, at in positions.items()
        if bounds[place].log_start_offset <= at < bounds[place].high_watermark and not _may_compact(topics[place.topic])
    }
    behind = {
        place: max(at + 1, bounds[place].log_start_offset)
        for place, at in positions.items()
        if at + 1 < bounds[place].high_watermark
    }
    written, following = reader.first_timestamps(there, leaders), reader.first_timestamps(behind, leaders)
    if gone := sorted({place.topic for place in offsets} - topics.keys()):
        yield Skipped(f"mirrored topics do not exist in the source, or may not be described there: {some(gone)}")
    for place, position in positions.items():
        described = topics[place.topic]
        yield MirroredPartition(
            connector="",
            position=position,
            committed_ms=offsets[place].record.timestamp,
            bounds=bounds[place],
            written_ms=written.get(place, NO_TIME) if place in there else None,
            next_ms=following.get(place, NO_TIME) if place in behind else None,
            retention_ms=_retention(described, RETENTION_MS),
            retention_bytes=_retention(described, RETENTION_BYTES),
        )


def _offset(stored: StoredOffset) -> int | None:
    value = stored.value.get("offset") if isinstance(stored.value, Mapping) else None
    return value if isinstance(value, int) else None


def _may_compact(described: TopicDescription) -> bool:
    return isinstance(described.settings, Skipped) or "compact" in described.settings.get(CLEANUP_POLICY, "compact")


def _retention(described: TopicDescription, key: str) -> int | Skipped:
    settings = described.settings
    if isinstance(settings, Skipped):
        return settings
    if "delete" not in settings.get(CLEANUP_POLICY, "delete"):
        return -1
    value = settings.get(key)
    return Skipped(f"{key} of topic {described.name} is not known") if value is None else whole_number(value, key)
