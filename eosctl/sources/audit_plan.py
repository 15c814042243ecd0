"""What an audit is planned from, resolved once from the brokers: partitions, topic IDs, bounds, producer IDs' holders.

Last stable offsets of all partitions are asked before the first high watermark is. What a transaction wrote that ended
below a last stable offset was there before that, so it lies below every high watermark asked later.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.wire import Wire
from eosctl.codecs.audit_states import read_offsets_key
from eosctl.errors import EosctlError, UsageError
from eosctl.model.audit import AuditedTopic, AuditPlan, OpenAtPlan, PartitionBounds, TopicRole, TransactionalIdHolder
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_producers import active_producers
from eosctl.sources.kafka_topics import topic_facts, topic_ids, topic_settings
from eosctl.sources.kafka_transactions import list_transactional_ids
from eosctl.sources.open_transactions import join_with_coordinators
from eosctl.sources.transactional_id_access import transactional_id_access

CLEANUP_POLICY: Final = "cleanup.policy"
RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"


@dataclass(frozen=True, slots=True)
class AuditScope:
    """What is to be audited: topics with their roles, and what is known of the Connect cluster beforehand."""

    topics: tuple[AuditedTopic, ...]
    group_id: str | None
    connectors: tuple[str, ...] | Skipped
    unread: Mapping[str, Skipped]
    selected: tuple[str, ...] = ()


def read_bounds(wire: Wire, scope: AuditScope, as_of: int) -> AuditPlan:
    """A plan without ranges; as_of is the time, in ms, and audited_from the log start.

    Raises UsageError for a topic that does not exist, NotAuthorized where Describe is missing.
    """
    topics = tuple(_described(wire, scope.topics))
    places = list(_partitions(wire, topics))
    before = partition_offsets(wire, places)
    after = partition_offsets(wire, places)
    return AuditPlan(
        as_of=as_of,
        cluster_id=wire.cluster_id,
        group_id=scope.group_id,
        topics=topics,
        bounds=tuple(
            PartitionBounds(
                place.topic,
                place.partition,
                before[place].log_start_offset,
                before[place].last_stable_offset,
                after[place].high_watermark,
                before[place].log_start_offset,
            )
            for place in places
        ),
        ranges=(),
        connectors=scope.connectors,
        holders=_holders(wire),
        open=_open(wire, [each for each in places if before[each].last_stable_offset < after[each].high_watermark]),
        selected=scope.selected,
        unread=dict(scope.unread),
    )


def _described(wire: Wire, topics: Iterable[AuditedTopic]) -> Iterator[AuditedTopic]:
    known = topic_ids(wire, [topic.name for topic in topics])
    for topic in topics:
        settings = topic_settings(wire, topic.name, [CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES])
        policy = settings if isinstance(settings, Skipped) else settings.get(CLEANUP_POLICY, Skipped("not answered"))
        retention = None if isinstance(settings, Skipped) else _retention_ms(settings)
        yield replace(topic, topic_id=known.get(topic.name), cleanup_policy=policy, retention_ms=retention)


def _retention_ms(settings: Mapping[str, str]) -> int | None:
    if "delete" not in settings.get(CLEANUP_POLICY, "delete"):
        return -1
    kept = settings.get(RETENTION_MS)
    return int(kept) if kept is not None and settings.get(RETENTION_BYTES) == "-1" else None


def _partitions(wire: Wire, topics: Iterable[AuditedTopic]) -> Iterator[TopicPartition]:
    names = [topic.name for topic in topics]
    facts = topic_facts(wire, names)
    for name in names:
        found = facts[name]
        if found is None:
            raise UsageError(f"topic {name} does not exist", hint="is this the right cluster?")
        yield from (TopicPartition(name, index) for index in range(found.partitions))


def _open(wire: Wire, places: Collection[TopicPartition]) -> tuple[OpenAtPlan, ...] | Skipped:
    """Open transactions of these partitions, and which of them hang: KIP-664's rule without its age.

    The age keeps lookups from racing with the end of a transaction. Here the partitions are asked again afterwards.
    """
    try:
        return tuple(_judged(wire, places)) if places else ()
    except EosctlError as error:
        return Skipped.of(error)


def _judged(wire: Wire, places: Collection[TopicPartition]) -> Iterator[OpenAtPlan]:
    known = partition_leaders(wire, {place.topic for place in places})
    leaders = {place: known[place] for place in places}
    candidates = [each for each in active_producers(wire, leaders) if each.transaction_start_offset is not None]
    transactional_id_access(wire).require(wire.principal)
    found = join_with_coordinators(wire, candidates)
    again = {
        (each.topic_partition, each.producer.producer_id, each.transaction_start_offset)
        for each in active_producers(wire, leaders)
    }
    for each in found:
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


def _holders(wire: Wire) -> tuple[TransactionalIdHolder, ...] | Skipped:
    try:
        listings = list_transactional_ids(wire)
    except EosctlError as error:
        return Skipped.of(error)
    for unanswered in listings.unanswered.values():
        return Skipped.of(unanswered)
    return tuple(TransactionalIdHolder(each.producer_id, each.transactional_id) for each in listings.transactions)


def guess_role(keys: Iterable[bytes | None]) -> TopicRole:
    """What a topic with such keys is to an audit, for one that nobody named."""
    for key in keys:
        if key is not None and read_offsets_key(key).connector is not None:
            return TopicRole.OFFSETS
    return TopicRole.OUTPUT
