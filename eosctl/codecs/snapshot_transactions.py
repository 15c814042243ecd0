"""The transaction log and the producers of partitions in a snapshot file, a line for each record and partition.

    {"transaction_log": {"leaders": {"0": 1, …}, "expiration_ms": 604800000, "read": 120, "unread": {"3": reason}}}
    {"log_record": {"partition": 9, "offset": 4, "timestamp": …, "transactional_id": …, "value": null | {…}}}
    {"log_record": {"partition": 9, "offset": 5, "key_version": 1}}       a record of a newer Kafka
    {"producers": {"denied": [], "unknown": null, "groups": {group ID: {"protocol_type": …, "state": …}}}}
    {"partition": {"topic": …, "partition": 0, "leader": 1, "offsets": {…}, "since_ms": null, "producers": […], …}}

Where a fact was not read, {"skipped": reason} stands in its place.
"""

from collections.abc import Iterator
from typing import Any

from eosctl.codecs.json_fields import JsonFields
from eosctl.codecs.snapshot_facts import decode_offsets, encode_offsets
from eosctl.errors import Undecodable
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import PendingCommit, TransactionalIdAccess, WaitingGroup
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.partition_producers import PartitionProducers, ProducersFacts
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import (
    LogRecord,
    NewerLogRecord,
    TransactionLogFacts,
    TransactionLogRecord,
    TransactionLogValue,
)
from eosctl.model.transactions import TransactionState


def encode_log_facts(facts: TransactionLogFacts) -> dict[str, Any]:
    """leaders, expiration_ms, read, unread; the records follow line by line."""
    limit = facts.expiration_ms
    return {
        "leaders": {str(partition): node for partition, node in facts.leaders.items()},
        "expiration_ms": {"skipped": limit.reason} if isinstance(limit, Skipped) else limit,
        "read": facts.read,
        "unread": {str(partition): each.reason for partition, each in facts.unread.items()},
    }


def encode_log_record(record: LogRecord) -> dict[str, Any]:
    """One record of the transaction log with its place."""
    if isinstance(record, NewerLogRecord):
        return {"partition": record.partition, "offset": record.offset, "key_version": record.key_version}
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "transactional_id": record.transactional_id,
        "value": None if record.value is None else _encode_value(record.value),
    }


def _encode_value(value: TransactionLogValue) -> dict[str, Any]:
    partitions = value.partitions
    return {
        "version": value.version,
        **_encode_producer(value.producer),
        "timeout_ms": value.timeout_ms,
        "state": value.state.value,
        "partitions": None if partitions is None else [_encode_partition(each) for each in partitions],
        "last_update_ms": value.last_update_ms,
        "start_ms": value.start_ms,
        "previous_producer_id": value.previous_producer_id,
        "next_producer_id": value.next_producer_id,
        "client_transaction_version": value.client_transaction_version,
        "next_producer_epoch": value.next_producer_epoch,
    }


def _encode_producer(producer: ProducerIdAndEpoch) -> dict[str, int]:
    return {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}


def _encode_partition(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def decode_log_facts(fields: JsonFields, records: tuple[LogRecord, ...]) -> TransactionLogFacts:
    """The inverse of encode_log_facts, with the records of the lines after it."""
    inner = fields.inner("leaders")
    try:
        leaders = {int(partition): inner.whole(partition) for partition in inner.members()}
    except ValueError as error:
        raise Undecodable(f"{inner.place} has a member that is no whole number") from error
    unread = isinstance(fields.members().get("expiration_ms"), dict)
    limit = Skipped(fields.inner("expiration_ms").text("skipped")) if unread else fields.whole("expiration_ms")
    # Saved before version 5 it was read as a whole or not at all.
    reasons = fields.numbered_texts("unread") if fields.has("unread") else {}
    lost = {partition: Skipped(reason) for partition, reason in reasons.items()}
    return TransactionLogFacts(leaders, limit, fields.whole("read"), records, lost)


def decode_log_record(fields: JsonFields) -> LogRecord:
    """The inverse of encode_log_record."""
    partition, offset = fields.whole("partition"), fields.whole("offset")
    if fields.has("key_version"):
        return NewerLogRecord(partition, offset, fields.whole("key_version"))
    value = fields.optional("value", lambda name: _decode_value(fields.inner(name)))
    name, timestamp = fields.text("transactional_id"), fields.whole("timestamp")
    return TransactionLogRecord(partition, offset, timestamp, name, value)


def _decode_value(fields: JsonFields) -> TransactionLogValue:
    known = {state.value: state for state in TransactionState}
    return TransactionLogValue(
        version=fields.whole("version"),
        producer=_decode_producer(fields),
        timeout_ms=fields.whole("timeout_ms"),
        state=known.get(fields.text("state"), TransactionState.UNKNOWN),
        partitions=fields.optional("partitions", lambda name: tuple(map(_decode_partition, fields.inners(name)))),
        last_update_ms=fields.whole("last_update_ms"),
        start_ms=fields.whole("start_ms"),
        previous_producer_id=fields.whole("previous_producer_id"),
        next_producer_id=fields.whole("next_producer_id"),
        client_transaction_version=fields.whole("client_transaction_version"),
        next_producer_epoch=fields.whole("next_producer_epoch"),
    )


def encode_producers(facts: ProducersFacts) -> dict[str, Any]:
    """denied and unknown of the access to transactional IDs, groups; the partitions follow line by line."""
    groups = facts.groups
    return {
        "denied": list(facts.access.denied),
        "unknown": facts.access.unknown,
        "groups": {"skipped": groups.reason}
        if isinstance(groups, Skipped)
        else {each.group_id: {"protocol_type": each.protocol_type, "state": each.state} for each in groups.values()},
    }


def encode_partitions(facts: ProducersFacts) -> Iterator[dict[str, Any]]:
    """Each partition with its producers, in order."""
    for each in facts.partitions.values():
        waiting, commits = each.waiting, each.commits
        yield {
            **_encode_partition(each.topic_partition),
            "leader": each.leader,
            "offsets": None if each.offsets is None else encode_offsets(each.offsets),
            "since_ms": each.since_ms,
            "producers": [_encode_active(active) for active in each.producers],
            "waiting": _skipped(waiting)
            if isinstance(waiting, Skipped)
            else [_encode_waiting(group) for group in waiting],
            "commits": _skipped(commits)
            if isinstance(commits, Skipped)
            else [_encode_commit(number, commit) for number, found in commits.items() for commit in found],
        }


def _skipped(value: Skipped) -> dict[str, str]:
    return {"skipped": value.reason}


def _encode_active(active: ActiveProducer) -> dict[str, Any]:
    return {
        **_encode_producer(active.producer),
        "last_sequence": active.last_sequence,
        "last_timestamp": active.last_timestamp,
        "coordinator_epoch": active.coordinator_epoch,
        "transaction_start_offset": active.transaction_start_offset,
    }


def _encode_waiting(group: WaitingGroup) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "state": group.state,
        "committed_offset": group.committed_offset,
        "lag": group.lag,
    }


def _encode_commit(producer_id: int, commit: PendingCommit) -> dict[str, Any]:
    partitions = [_encode_partition(each) for each in commit.partitions]
    return {"producer_id": producer_id, "group_id": commit.group_id, "partitions": partitions}


def decode_producers(fields: JsonFields, partitions: tuple[PartitionProducers, ...]) -> ProducersFacts:
    """The inverse of encode_producers, with the partitions of the lines after it."""
    inner = fields.inner("groups")
    groups: dict[str, ListedGroup] | Skipped
    if set(inner.members()) == {"skipped"} and not isinstance(inner.members()["skipped"], dict):
        groups = Skipped(inner.text("skipped"))
    else:
        groups = {
            name: ListedGroup(name, each.text("protocol_type"), each.text("state"))
            for name, each in fields.entries("groups").items()
        }
    denied = tuple(str(each) for each in fields.listed("denied"))
    access = TransactionalIdAccess(denied, fields.optional("unknown", fields.text))
    return ProducersFacts({each.topic_partition: each for each in partitions}, access, groups)


def decode_partition_producers(fields: JsonFields) -> PartitionProducers:
    """One line of encode_partitions."""
    place = _decode_partition(fields)
    return PartitionProducers(
        topic_partition=place,
        leader=fields.whole("leader"),
        offsets=fields.optional("offsets", lambda name: decode_offsets(fields.inner(name))),
        since_ms=fields.optional("since_ms", fields.whole),
        producers=tuple(_decode_active(place, each) for each in fields.inners("producers")),
        waiting=_unread(fields, "waiting") or tuple(map(_decode_waiting, fields.inners("waiting"))),
        commits=_unread(fields, "commits") or _decode_commits(fields.inners("commits")),
    )


def _unread(fields: JsonFields, name: str) -> Skipped | None:
    return Skipped(fields.inner(name).text("skipped")) if isinstance(fields.members().get(name), dict) else None


def _decode_active(place: TopicPartition, fields: JsonFields) -> ActiveProducer:
    return ActiveProducer(
        place,
        _decode_producer(fields),
        fields.whole("last_sequence"),
        fields.optional("last_timestamp", fields.whole),
        fields.optional("coordinator_epoch", fields.whole),
        fields.optional("transaction_start_offset", fields.whole),
    )


def _decode_producer(fields: JsonFields) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(fields.whole("producer_id"), fields.whole("producer_epoch"))


def _decode_partition(fields: JsonFields) -> TopicPartition:
    return TopicPartition(fields.text("topic"), fields.whole("partition"))


def _decode_waiting(fields: JsonFields) -> WaitingGroup:
    return WaitingGroup(
        fields.text("group_id"), fields.text("state"), fields.whole("committed_offset"), fields.whole("lag")
    )


def _decode_commits(found: list[JsonFields]) -> dict[int, tuple[PendingCommit, ...]]:
    commits: dict[int, tuple[PendingCommit, ...]] = {}
    for each in found:
        commit = PendingCommit(each.text("group_id"), tuple(map(_decode_partition, each.inners("partitions"))))
        number = each.whole("producer_id")
        commits[number] = (*commits.get(number, ()), commit)
    return commits
