"""Source offsets: where connectors are, and where they will begin."""

from dataclasses import dataclass, field, replace
from typing import Final

from eosctl.analysis.offsets_report import (
    Connectors,
    OffsetsReading,
    Topics,
    as_what_if,
    places_to_read,
    producer_servers,
    report_offsets,
)
from eosctl.analysis.producing_elsewhere import Clusters
from eosctl.codecs.offsets_topic import canonical, decode_offsets_key, decode_offsets_value
from eosctl.errors import UsageError
from eosctl.model.merged_offsets import OffsetsReport
from eosctl.model.near_names import did_you_mean
from eosctl.model.offset_stores import WorkerSettings
from eosctl.model.offsets_facts import OffsetsFacts
from eosctl.model.skipped import or_skipped
from eosctl.operations.offset_stores import OffsetsRequest, source_connectors, worker_settings
from eosctl.operations.offsets_topics import read_offsets_topics
from eosctl.operations.owners import require_group
from eosctl.operations.session import Session
from eosctl.operations.worker_version import worker_version
from eosctl.sources.cluster_reader import ClusterReader

READING: Final = OffsetsReading(decode_offsets_key, decode_offsets_value, canonical)


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """What was read, at as_of (ms since the epoch), and what the user ought to know about it."""

    as_of: int
    clusters: Clusters
    worker: WorkerSettings
    connectors: Connectors
    topics: Topics
    notes: tuple[str, ...] = field(default=())


def show_offsets(session: Session, request: OffsetsRequest) -> OffsetsReport:
    """All offsets merged, with findings. Raises as read_offsets, report_of and require_group do."""
    reader = session.reader
    with reader.adding(), reader.sparing_workers():
        require_group(reader, or_skipped(reader.connect))
    return report_of(read_offsets(reader, request), request).covering(reader.coverage)


def read_offsets(reader: ClusterReader, request: OffsetsRequest) -> OffsetsRead:
    """Worker settings, connectors, and the offsets topics that they lead to.

    Raises UsageError where the workers' offsets topic does not exist, and the error of a topic that cannot be read if
    it is theirs or the request is about its connector; other topics are Skipped then.
    """
    version = worker_version(reader, request.worker_version)
    worker = worker_settings(reader, request, version.version)
    connectors = source_connectors(reader, request, worker.version)
    places = places_to_read(worker, connectors, request.connectors)
    servers = [place.bootstrap_servers for place in places]
    cluster_ids = reader.cluster_ids([*servers, *producer_servers(worker, connectors, request.connectors)])
    topics = read_offsets_topics(reader, places, cluster_ids, required=bool(request.connectors))
    if topics[places[0]] is None:
        raise UsageError(
            f"topic {places[0]} does not exist",
            hint="name the workers' offset.storage.topic: --worker-offsets-topic TOPIC",
        )
    clusters = Clusters(reader.cluster_id, cluster_ids)
    return OffsetsRead(reader.now(), clusters, worker, connectors, topics, version.notes)


def read_offsets_facts(reader: ClusterReader, request: OffsetsRequest) -> OffsetsFacts:
    """What a snapshot keeps about offsets."""
    read = read_offsets(reader, request)
    return OffsetsFacts(read.worker, read.topics)


def report_of(read: OffsetsRead, request: OffsetsRequest) -> OffsetsReport:
    """The report on what was read; UsageError for a connector that neither exists nor left offsets."""
    report = _report(read, request.connectors)
    if report.absent:
        names = [each.name for each in _report(read).connectors]
        raise UsageError(
            f"no connector {', '.join(report.absent)} exists, and none of that name left offsets",
            hint=did_you_mean(report.absent[0], names, "`eosctl offsets show` lists all"),
        )
    report = replace(report, notes=read.notes)
    return report if request.offsets_topic is None else as_what_if(report, request.offsets_topic)


def _report(read: OffsetsRead, selected: tuple[str, ...] = ()) -> OffsetsReport:
    return report_offsets(
        read.topics,
        read.worker,
        read.connectors,
        READING,
        as_of=read.as_of,
        selected=selected,
        clusters=read.clusters,
    )
