"""What an audit is planned from, resolved once from the brokers: partitions, topic IDs, bounds, producer IDs' holders.

Last stable offsets of all partitions are asked before the first high watermark is. What a transaction wrote that ended
below a last stable offset was there before that, so it lies below every high watermark asked later.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from eosctl.clients.wire import Wire
from eosctl.codecs.audit_states import read_offsets_key
from eosctl.errors import EosctlError, UsageError
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, TopicRole, TransactionalIdHolder
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_topics import topic_facts, topic_ids, topic_settings
from eosctl.sources.kafka_transactions import list_transactional_ids

CLEANUP_POLICY: Final = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class AuditWish:
    """What is to be audited: topics with their roles, and what is known of the Connect cluster beforehand."""

    topics: tuple[AuditedTopic, ...]
    group_id: str | None
    connectors: tuple[str, ...] | Skipped
    unread: Mapping[str, Skipped]


def read_bounds(wire: Wire, wish: AuditWish, as_of: int) -> AuditPlan:
    """A plan without ranges; as_of is the time, in ms, and audited_from the log start.

    Raises UsageError for a topic that does not exist, NotAuthorized where Describe is missing.
    """
    topics = tuple(_described(wire, wish.topics))
    places = list(_partitions(wire, topics))
    before = partition_offsets(wire, places)
    after = partition_offsets(wire, places)
    return AuditPlan(
        as_of=as_of,
        cluster_id=wire.cluster_id,
        group_id=wish.group_id,
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
        connectors=wish.connectors,
        holders=_holders(wire),
        unread=dict(wish.unread),
    )


def _described(wire: Wire, topics: Iterable[AuditedTopic]) -> Iterator[AuditedTopic]:
    known = topic_ids(wire, [topic.name for topic in topics])
    for topic in topics:
        settings = topic_settings(wire, topic.name, [CLEANUP_POLICY])
        policy = settings if isinstance(settings, Skipped) else settings.get(CLEANUP_POLICY, Skipped("not answered"))
        yield replace(topic, topic_id=known.get(topic.name), cleanup_policy=policy)


def _partitions(wire: Wire, topics: Iterable[AuditedTopic]) -> Iterator[TopicPartition]:
    names = [topic.name for topic in topics]
    facts = topic_facts(wire, names)
    for name in names:
        found = facts[name]
        if found is None:
            raise UsageError(f"topic {name} does not exist", hint="is this the right cluster?")
        yield from (TopicPartition(name, index) for index in range(found.partitions))


def _holders(wire: Wire) -> tuple[TransactionalIdHolder, ...] | Skipped:
    try:
        listings = list_transactional_ids(wire)
    except EosctlError as error:
        return Skipped(error.message)
    for unanswered in listings.unanswered.values():
        return Skipped(unanswered.message)
    return tuple(TransactionalIdHolder(each.producer_id, each.transactional_id) for each in listings.transactions)


def guess_role(keys: Iterable[bytes | None]) -> TopicRole:
    """What a topic with such keys is to an audit, for one that nobody named."""
    for key in keys:
        if key is not None and read_offsets_key(key).connector is not None:
            return TopicRole.OFFSETS
    return TopicRole.OUTPUT
