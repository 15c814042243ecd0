"""Where an audit reads: a live cluster, or log directories of brokers. Each gives a plan's bounds, and a source."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from eosctl.codecs.record_batches import decode_entries
from eosctl.engines.local import OpenSource
from eosctl.engines.scanning import COMPACT
from eosctl.model.audit import AuditedTopic, AuditPlan, OffsetRange, PartitionBounds, TopicRole
from eosctl.model.skipped import not_asked
from eosctl.operations.audit.topics import FoundTopics
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC, OffsetsRequest
from eosctl.operations.session import Session
from eosctl.sources.audit_log import DataBatch
from eosctl.sources.audit_plan import AuditScope, guess_role, read_bounds
from eosctl.sources.audit_segments import PartitionSegments, find_segments, read_segments, survey_segments
from eosctl.spark.starting import SparkOptions

NOT_ASKED = not_asked("segment files were read: no broker and no worker was asked")
PEEKED = 10


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What was asked: which topics (none: all that are known), on which engine, kept where, shown how.

    log_directories are read instead of a cluster, if any are given.
    """

    offsets: OffsetsRequest
    topics: tuple[str, ...] = ()
    engine: str = "local"
    processes: int | None = None
    store: str | None = None
    job: str = "audit"
    report: Path | None = None
    export: Path | None = None
    log_directories: tuple[Path, ...] = ()
    spark: SparkOptions = field(default_factory=SparkOptions)


class Site(Protocol):
    """Where an audit reads."""

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""
        ...

    def open_source(self) -> OpenSource:
        """What opens the source of ranges, in this process and in others."""
        ...


def site_of(session: Session, request: AuditRequest) -> Site:
    """The site that was asked for."""
    return SegmentSite(session, request) if request.log_directories else ClusterSite(session, request)


class ClusterSite:
    """A live cluster. Its topics are found once."""

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._question = session, request
        self._found = FoundTopics(session, request.offsets, request.topics)

    def bounds(self) -> AuditPlan:
        """As the partition leaders answer now."""
        request = AuditScope(
            topics=self._found.topics,
            group_id=self._session.options.group_id,
            connectors=self._found.connectors,
            unread=self._found.unread,
            selected=self._question.offsets.connectors,
        )
        return read_bounds(self._session.wire, request, self._session.now())

    def open_source(self) -> OpenSource:
        """Fetches with the identity of the command."""
        from eosctl.sources.audit_log import OpenCluster

        return OpenCluster(self._session.client_properties, self._session.options.timeout_s)


class SegmentSite:
    """Log directories. Which topics connectors write to is seen from their producers alone."""

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._question = session, request
        found = find_segments(request.log_directories, self._wanted())
        self._segments = tuple(survey_segments(place, paths) for place, paths in found.items())
        for each in self._segments:
            if each.cut_bytes:
                where = f"{each.cut_bytes} bytes at the end of {each.paths[-1]}, from offset {each.end_offset} on"
                session.options.console.warn(
                    f"{where}, are no whole batch: not read; a broker cuts them off when it starts"
                )

    def _wanted(self) -> tuple[str, ...]:
        """Named topics beside the internal ones; all if none is named."""
        asked, offsets = self._question, self._question.offsets
        internal = (offsets.config_topic, offsets.worker_offsets_topic or DEFAULT_OFFSETS_TOPIC, offsets.offsets_topic)
        return (*asked.topics, *(name for name in internal if name is not None)) if asked.topics else ()

    def bounds(self) -> AuditPlan:
        """As the files end."""
        topics = {each.topic_partition.topic: self._topic(each) for each in self._with_records()}
        return AuditPlan(
            as_of=self._session.now(),
            cluster_id=None,
            group_id=self._session.options.group_id,
            topics=tuple(topics[name] for name in sorted(topics)),
            bounds=tuple(
                PartitionBounds(
                    each.topic_partition.topic,
                    each.topic_partition.partition,
                    each.log_start_offset,
                    each.last_stable_offset,
                    each.end_offset,
                    each.log_start_offset,
                )
                for each in self._segments
                if each.topic_partition.topic in topics
            ),
            ranges=(),
            connectors=NOT_ASKED,
            holders=NOT_ASKED,
            open=NOT_ASKED,
            selected=self._question.offsets.connectors,
        )

    def _with_records(self) -> Iterable[PartitionSegments]:
        """Partitions by how much they hold, the emptiest first: the last one of a topic decides its role."""
        internal = ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state")
        named = (each for each in self._segments if each.topic_partition.topic not in internal)
        return sorted(named, key=lambda each: each.end_offset)

    def _topic(self, segments: PartitionSegments) -> AuditedTopic:
        name, offsets = segments.topic_partition.topic, self._question.offsets
        if name == offsets.config_topic:
            role = TopicRole.CONFIG
        elif name in {offsets.worker_offsets_topic or DEFAULT_OFFSETS_TOPIC, offsets.offsets_topic}:
            role = TopicRole.OFFSETS
        else:
            role = guess_role(islice(_keys(segments), PEEKED))
        own = offsets.connectors if name == offsets.offsets_topic else ()
        cleaned = any(each.cleaned for each in self._segments if each.topic_partition.topic == name)
        return AuditedTopic(name, role, segments.topic_id, COMPACT if cleaned else NOT_ASKED, own)

    def open_source(self) -> OpenSource:
        """Reads the same files."""
        from eosctl.sources.audit_segments import OpenSegments

        return OpenSegments(self._segments)


def _keys(segments: PartitionSegments) -> Iterable[bytes | None]:
    place = segments.topic_partition
    whole = OffsetRange(place.topic, place.partition, segments.log_start_offset, segments.end_offset)
    for item in read_segments(segments, whole):
        if isinstance(item, DataBatch):
            yield from (entry.key for entry in decode_entries(item.batch, check_crc=False))
