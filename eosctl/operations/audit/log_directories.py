"""Log directories of brokers as what an audit reads, without a cluster."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Final

from eosctl.analysis.audit.transaction_log_history import fold_transaction_log_history
from eosctl.codecs.batch_limits import most_batch_bytes
from eosctl.codecs.record_batches import decode_entries
from eosctl.engines.scanning import COMPACT
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditedTopic, AuditPlan, OffsetRange, PartitionBounds, StateKind, StateRow, TopicRole
from eosctl.model.coverage import Coverage
from eosctl.model.names import TRANSACTION_LOG
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.audit.bounds import guess_role
from eosctl.operations.audit.request import AuditRequest
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC
from eosctl.operations.session import Session
from eosctl.sources.audit_log import DataBatch, OpenSource
from eosctl.sources.audit_segments import (
    OpenSegments,
    PartitionSegments,
    find_segments,
    read_segments,
    read_transaction_log_segments,
    survey_segments,
)

NOT_ASKED: Final = not_asked("segment files were read: no broker and no worker was asked")
PEEKED: Final = 10
INTERNAL: Final = frozenset({"__consumer_offsets", TRANSACTION_LOG, "__cluster_metadata", "__share_group_state"})


class LogDirectoryInput:
    """Log directories. Which topics connectors write to is seen from their producers alone."""

    coverage = Coverage()

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._request = session, request
        found = find_segments(request.log_directories, self._wanted())
        most = most_batch_bytes(session.client_properties)
        surveyed = (survey_segments(place, paths) for place, paths in found.items())
        self._segments = tuple(replace(each, most_batch_bytes=most) for each in surveyed)
        for each in self._segments:
            if each.cut_bytes:
                where = f"{each.cut_bytes} bytes at the end of {each.paths[-1]}, from offset {each.end_offset} on"
                session.options.console.warn(
                    f"{where}, are no whole batch: not read; a broker cuts them off when it starts"
                )

    def _wanted(self) -> tuple[str, ...]:
        """Named topics beside the internal ones; all if none is named."""
        topics, offsets = self._request.topics, self._request.offsets
        internal = (offsets.config_topic, self._worker_topic(), *self._request.offsets_topics)
        return (*topics, *internal) if topics else ()

    def _worker_topic(self) -> str:
        return self._request.offsets.worker_offsets_topic or DEFAULT_OFFSETS_TOPIC

    def bounds(self) -> AuditPlan:
        """As the files end."""
        topics = {each.topic_partition.topic: self._topic(each) for each in self._with_records()}
        return AuditPlan(
            as_of=self._session.now(),
            cluster_id=None,
            group_id=self._session.options.group_id,
            topics=tuple(topics[name] for name in sorted(topics)),
            bounds=tuple(_bounds(each) for each in self._segments if each.topic_partition.topic in topics),
            ranges=(),
            connectors=NOT_ASKED,
            holders=NOT_ASKED,
            open=NOT_ASKED,
            selected=self._request.offsets.connectors,
        )

    def _with_records(self) -> Iterable[PartitionSegments]:
        """Partitions by how much they hold, the emptiest first: the last one of a topic decides its role."""
        named = (each for each in self._segments if each.topic_partition.topic not in INTERNAL)
        return sorted(named, key=lambda each: each.end_offset)

    def _topic(self, segments: PartitionSegments) -> AuditedTopic:
        name, offsets = segments.topic_partition.topic, self._request.offsets
        if name == offsets.config_topic:
            role = TopicRole.CONFIG
        elif name in {self._worker_topic(), *self._request.offsets_topics}:
            role = TopicRole.OFFSETS
        else:
            role = guess_role(islice(_keys(segments), PEEKED))
        users = offsets.connectors if name in self._request.offsets_topics else ()
        own = role is TopicRole.OFFSETS and name != self._worker_topic()
        cleaned = any(each.cleaned for each in self._segments if each.topic_partition.topic == name)
        return AuditedTopic(name, role, segments.topic_id, COMPACT if cleaned else NOT_ASKED, users, own=own)

    def open_source(self) -> OpenSource:
        """Reads the same files."""
        return OpenSegments(self._segments)

    def decoded(self, kind: StateKind) -> Iterable[StateRow]:  # the protocol's
        """Nothing: all lies in ranges."""
        return ()

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        """From the same directories."""
        try:
            found = find_segments(self._request.log_directories, [TRANSACTION_LOG])
            segments = [survey_segments(place, paths) for place, paths in found.items()]
            return fold_transaction_log_history(read_transaction_log_segments(segments), producer_ids)
        except EosctlError as error:
            return Skipped.of(error)


def _bounds(segments: PartitionSegments) -> PartitionBounds:
    place, start = segments.topic_partition, segments.log_start_offset
    return PartitionBounds(place.topic, place.partition, start, segments.last_stable_offset, segments.end_offset, start)


def _keys(segments: PartitionSegments) -> Iterable[bytes | None]:
    place = segments.topic_partition
    whole = OffsetRange(place.topic, place.partition, segments.log_start_offset, segments.end_offset)
    for item in read_segments(segments, whole):
        if isinstance(item, DataBatch):
            yield from (entry.key for entry in decode_entries(item.batch, check_crc=False))
