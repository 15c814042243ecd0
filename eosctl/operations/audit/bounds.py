"""What an audit is planned from, read once: partitions, topic IDs, bounds, producer IDs' holders, open transactions."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from eosctl.codecs.audit_states import read_offsets_key
from eosctl.errors import EosctlError, Unreachable
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    OpenAtPlan,
    PartitionBounds,
    TopicRole,
    TransactionalIdHolder,
    longest_transaction_ms,
)
from eosctl.model.names import TopicPartition
from eosctl.model.near_names import no_such_topic
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets, TopicDescription
from eosctl.model.whole_numbers import whole_number
from eosctl.operations.hanging import join_with_coordinators
from eosctl.sources.cluster_reader import ClusterReader

CLEANUP_POLICY: Final = "cleanup.policy"
RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"
SETTINGS: Final = (CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES)
"""What is asked of a topic under audit."""


@dataclass(frozen=True, slots=True)
class AuditScope:
    """What is to be audited: topics with their roles, and what is known of the Connect cluster beforehand."""

    topics: tuple[AuditedTopic, ...]
    connectors: tuple[str, ...] | Skipped
    unread: Mapping[str, Skipped] = field(default_factory=dict)
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_bounds(reader: ClusterReader, scope: AuditScope) -> AuditPlan:
    """A plan without ranges; audited_from is the log start.

    Without record batches there is nothing to read, so there are no bounds either, and the topics are unread; of the
    config topic the reader has the records. Raises UsageError for a topic that does not exist, NotAuthorized where
    Describe is missing.
    """
    described = reader.topics([each.name for each in scope.topics], SETTINGS)
    missing = next((each.name for each in scope.topics if each.name not in described), None)
    if missing is not None:
        raise no_such_topic(missing, reader.topic_names())
    places = list(_partitions(scope.topics, described))
    found = reader.bounds(places)
    offsets = [found[place] for place in places if place in found]
    batches = reader.record_batches()
    unread = dict(scope.unread)
    if isinstance(batches, Skipped):
        unread |= {f"topic {each.name}": batches for each in scope.topics if each.role is not TopicRole.CONFIG}
    return AuditPlan(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        group_id=reader.group_id,
        topics=tuple(with_settings(each, described[each.name]) for each in scope.topics),
        bounds=() if isinstance(batches, Skipped) else tuple(map(log_bounds, offsets)),
        ranges=(),
        connectors=scope.connectors,
        holders=_holders(reader),
        open=_open(reader, [each.topic_partition for each in offsets if each.held_back]),
        selected=scope.selected,
        named=scope.named,
        left_out=dict(scope.left_out),
        unread=unread,
        users=dict(scope.users),
        longest_transaction_ms=_longest_transaction_ms(reader),
    )


def _longest_transaction_ms(reader: ClusterReader) -> int:
    """By the brokers' settings; the default where they may not be read, which decides only which stalls are shown."""
    with reader.adding():
        brokers = reader.broker_settings()
    known = () if isinstance(brokers, Skipped) else brokers.values()
    return longest_transaction_ms(each for each in known if not isinstance(each, Skipped))


def _partitions(topics: Iterable[AuditedTopic], described: Mapping[str, TopicDescription]) -> Iterator[TopicPartition]:
    for topic in topics:
        yield from (TopicPartition(topic.name, index) for index in range(described[topic.name].partitions))


def with_settings(topic: AuditedTopic, described: TopicDescription) -> AuditedTopic:
    """The topic with its ID, cleanup policy and retention as they were described."""
    settings = described.settings
    policy = settings if isinstance(settings, Skipped) else settings.get(CLEANUP_POLICY, Skipped("not answered"))
    retention = None if isinstance(settings, Skipped) else _retention_ms(settings)
    return replace(topic, topic_id=described.topic_id, cleanup_policy=policy, retention_ms=retention)


def _retention_ms(settings: Mapping[str, str]) -> int | None:
    if "delete" not in settings.get(CLEANUP_POLICY, "delete"):
        return -1
    kept = settings.get(RETENTION_MS)
    return whole_number(kept, RETENTION_MS) if kept is not None and settings.get(RETENTION_BYTES) == "-1" else None


def log_bounds(offsets: PartitionOffsets) -> PartitionBounds:
    """Bounds of an audit that begins at the log start."""
    place, start = offsets.topic_partition, offsets.log_start_offset
    return PartitionBounds(
        place.topic, place.partition, start, offsets.last_stable_offset, offsets.high_watermark, start
    )


def _holders(reader: ClusterReader) -> tuple[TransactionalIdHolder, ...] | Skipped:
    try:
        listed = reader.transactional_ids()
    except EosctlError as error:
        return Skipped.of(error)
    for reason in listed.unanswered.values():
        return Skipped(reason, Cause.UNREACHABLE)
    return tuple(TransactionalIdHolder(each.producer_id, each.transactional_id) for each in listed.transactions)


def _open(reader: ClusterReader, places: Collection[TopicPartition]) -> tuple[OpenAtPlan, ...] | Skipped:
    """Open transactions of these partitions, and which of them hang: KIP-664's rule without its age.

    The age keeps lookups from racing with the end of a transaction. Here the partitions are read again afterwards.
    """
    try:
        return tuple(_judged(reader, places)) if places else ()
    except EosctlError as error:
        return Skipped.of(error)


def _judged(reader: ClusterReader, places: Collection[TopicPartition]) -> Iterator[OpenAtPlan]:
    known = reader.partitions({place.topic: None for place in places})
    leaders = {place: known[place] for place in places}
    candidates = _open_producers(reader, leaders)
    access = reader.access()
    if isinstance(access, Skipped):
        raise Unreachable(access.reason)
    access.require(reader.principal)
    joined = join_with_coordinators(reader, candidates)
    joined.require()
    again = {
        (each.topic_partition, each.producer.producer_id, each.transaction_start_offset)
        for each in _open_producers(reader, leaders)
    }
    for each in joined.transactions:
        reason = each.reason if each.place in again else None
        yield OpenAtPlan(
            each.topic_partition.topic,
            each.topic_partition.partition,
            each.start_offset,
            each.producer.producer_id,
            each.producer.producer_epoch,
            each.transactional_id,
            reason is not None,
            None if reason is None else reason.value,
        )


def _open_producers(reader: ClusterReader, leaders: Mapping[TopicPartition, int]) -> list[ActiveProducer]:
    seen = reader.producers(leaders, quiet=True)
    if seen.unanswered:
        raise Unreachable(f"no leader answered for {', '.join(map(str, seen.unanswered))}")
    return [each for each in seen.producers if each.transaction_start_offset is not None]


def guess_role(keys: Iterable[bytes | None]) -> TopicRole:
    """What a topic with such keys is to an audit, for one that nobody named."""
    for key in keys:
        if key is not None and read_offsets_key(key).connector is not None:
            return TopicRole.OFFSETS
    return TopicRole.OUTPUT
