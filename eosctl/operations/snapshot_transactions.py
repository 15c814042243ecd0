"""Reading the transaction log and all partitions' producers for a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eosctl.analysis.transaction_log import last_records
from eosctl.errors import EosctlError
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import PendingCommit
from eosctl.model.joined_transactions import join_open_transactions
from eosctl.model.names import TopicPartition
from eosctl.model.partition_producers import NO_LEADER, PartitionProducers, ProducersFacts
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionLogFacts
from eosctl.operations.session import Session


@dataclass(frozen=True, slots=True)
class FirstLook:
    """Leaders of all partitions that answer, NO_LEADER for others, and the producers before coordinators were asked."""

    leaders: Mapping[TopicPartition, int]
    producers: tuple[ActiveProducer, ...]


def read_log_facts(session: Session) -> TransactionLogFacts:
    """The last records of each ID, of the partitions that somebody answers for.

    Raises NotAuthorized where Read on the transaction log is missing.
    """
    from eosctl.sources.kafka_topics import id_expiration_ms
    from eosctl.sources.transaction_log import (
        read_transaction_log,
        transaction_log_leaders,
        transaction_log_offsets,
    )

    wire = session.wire
    leaders = transaction_log_leaders(wire)
    offsets, unread = transaction_log_offsets(wire, leaders)
    count, records = last_records(read_transaction_log(wire, offsets))
    return TransactionLogFacts(dict(leaders), id_expiration_ms(wire), count, records, unread)


def look_at_producers(session: Session) -> FirstLook:
    """The first look, before transactional IDs are listed. Raises NotAuthorized where Read on a topic is missing."""
    from eosctl.sources.kafka_producers import cluster_partitions

    leaders = cluster_partitions(session.wire, None)
    led = {partition: leader for partition, leader in leaders.items() if leader != NO_LEADER}
    told = session.reader.producers(led)
    return FirstLook(dict(leaders) | dict.fromkeys(told.unanswered, NO_LEADER), told.producers)


def read_producers_facts(session: Session, first: FirstLook) -> ProducersFacts:
    """The second look, after the IDs were described: what was open at first and has ended is no longer open."""
    from eosctl.sources.first_batches import first_timestamps
    from eosctl.sources.kafka_offsets import offsets_or_skipped
    from eosctl.sources.transactional_id_access import transactional_id_access

    wire = session.wire
    now = _still_open(session, first)
    leaders, producers = now.leaders, now.producers
    led = [partition for partition, leader in leaders.items() if leader != NO_LEADER]
    told = offsets_or_skipped(wire, led) if led else {}
    offsets = {partition: each for partition, each in told.items() if not isinstance(each, Skipped)}
    held = {partition: each for partition, each in offsets.items() if each.held_back > 0}
    since = first_timestamps(wire, {each: held[each].last_stable_offset for each in held}, leaders)
    groups = _groups(session)
    waiting = session.reader.waiting_groups(held)
    commits = _commits(session, producers)
    by_partition: dict[TopicPartition, list[ActiveProducer]] = {}
    for each in producers:
        by_partition.setdefault(each.topic_partition, []).append(each)
    found = {
        partition: PartitionProducers(
            partition,
            leader if partition in offsets else NO_LEADER,
            offsets.get(partition),
            tuple(by_partition.get(partition, ())),
            since.get(partition),
            waiting if isinstance(waiting, Skipped) else waiting.get(partition, ()),
            commits if isinstance(commits, Skipped) else commits.get(partition, {}),
        )
        for partition, leader in leaders.items()
    }
    return ProducersFacts(found, transactional_id_access(wire), groups)


def _still_open(session: Session, first: FirstLook) -> FirstLook:
    """The same without what is no longer open, and without partitions that nobody answers for any more."""
    opened = {each.topic_partition for each in first.producers if each.transaction_start_offset is not None}
    if not opened:
        return first
    again = session.reader.producers({each: first.leaders[each] for each in sorted(opened)}, quiet=True)
    now = {(each.topic_partition, each.producer.producer_id, each.transaction_start_offset) for each in again.producers}
    producers = tuple(
        each
        if (each.topic_partition, each.producer.producer_id, each.transaction_start_offset) in now
        else replace(each, transaction_start_offset=None)
        for each in first.producers
        if each.topic_partition not in again.unanswered
    )
    return FirstLook(dict(first.leaders) | dict.fromkeys(again.unanswered, NO_LEADER), producers)


def _groups(session: Session) -> Mapping[str, ListedGroup] | Skipped:
    from eosctl.sources.kafka_groups import listed_groups

    try:
        return listed_groups(session.wire)
    except EosctlError as error:
        return Skipped.of(error)


def _commits(
    session: Session, producers: tuple[ActiveProducer, ...]
) -> dict[TopicPartition, dict[int, tuple[PendingCommit, ...]]] | Skipped:
    from eosctl.sources.pending_commits import pending_commits

    opened = join_open_transactions(producers, {}, {})
    found: dict[TopicPartition, dict[int, tuple[PendingCommit, ...]]] = {}
    try:
        for (partition, producer_id, _), told in pending_commits(session.wire, opened).items():
            if isinstance(told, Skipped):
                return told
            found.setdefault(partition, {})[producer_id] = told
    except EosctlError as error:
        return Skipped.of(error)
    return found
