"""What the rules need beside everything else, in a snapshot file: workers, their group, brokers and topics.

Where a fact was not read, {"skipped": reason} stands in its place; null where there is no such topic.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from eosctl.codecs.json_fields import JsonFields
from eosctl.codecs.snapshot_facts import decode_topic, encode_topic
from eosctl.errors import Undecodable
from eosctl.model.evidence import (
    ClusterEvidence,
    ConnectGroup,
    GroupMember,
    InternalTopic,
    TransactionLog,
    WorkerEvidence,
)
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion

T = TypeVar("T")


def encode_evidence(evidence: ClusterEvidence) -> dict[str, Any]:
    """workers by URL, group, brokers by node ID, internal_topics, transaction_log, leaderless."""
    return {
        "workers": _or_skipped(evidence.workers, _encode_workers),
        "group": _or_skipped(evidence.group, _encode_group),
        "brokers": _or_skipped(evidence.brokers, _encode_brokers),
        "internal_topics": [
            {"role": each.role, "name": each.name, "facts": _encode_facts(each.facts)}
            for each in evidence.internal_topics
        ],
        "transaction_log": _encode_log(evidence.transaction_log),
        "leaderless": _or_skipped(
            evidence.leaderless,
            lambda places: {"partitions": [{"topic": each.topic, "partition": each.partition} for each in places]},
        ),
    }


def _or_skipped(value: T | Skipped, encode: Callable[[T], dict[str, Any]]) -> dict[str, Any]:
    return {"skipped": value.reason} if isinstance(value, Skipped) else encode(value)


def _encode_workers(workers: Mapping[str, WorkerEvidence | Skipped]) -> dict[str, Any]:
    return {str(url): _or_skipped(each, _encode_worker) for url, each in workers.items()}


def _encode_worker(worker: WorkerEvidence) -> dict[str, Any]:
    return {
        "version": str(worker.version),
        "kafka_cluster_id": worker.kafka_cluster_id,
        "enabled": _or_skipped(worker.enabled, lambda enabled: {"is": enabled}),
        "connectors": _or_skipped(worker.connectors, lambda names: {"names": sorted(names)}),
    }


def _encode_group(group: ConnectGroup) -> dict[str, Any]:
    members = [{"member_id": each.member_id, "url": each.url} for each in group.members]
    return {
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "members": members,
        "leader_url": group.leader_url,
    }


def _encode_brokers(brokers: Mapping[int, Mapping[str, str] | Skipped]) -> dict[str, Any]:
    return {
        str(node): _or_skipped(each, lambda settings: {"settings": dict(settings)}) for node, each in brokers.items()
    }


def _encode_facts(facts: TopicFacts | Skipped | None) -> dict[str, Any] | None:
    return None if facts is None else _or_skipped(facts, encode_topic)


def _encode_log(log: TransactionLog | Skipped | None) -> dict[str, Any] | None:
    return None if log is None else _or_skipped(log, _encode_known_log)


def _encode_known_log(log: TransactionLog) -> dict[str, Any]:
    leaders = {str(partition): node for partition, node in log.leaders.items()}
    return {"facts": encode_topic(log.facts), "leaders": leaders}


def decode_evidence(fields: JsonFields) -> ClusterEvidence:
    """The inverse of encode_evidence."""
    return ClusterEvidence(
        workers=_read(fields.inner("workers"), _decode_workers),
        group=_read(fields.inner("group"), _decode_group),
        brokers=_read(fields.inner("brokers"), _decode_brokers),
        internal_topics=tuple(map(_decode_internal, fields.inners("internal_topics"))),
        transaction_log=_read_optional(fields, "transaction_log", _decode_log),
        leaderless=_read(fields.inner("leaderless"), _decode_places),
    )


def _read(fields: JsonFields, decode: Callable[[JsonFields], T]) -> T | Skipped:
    return Skipped(fields.text("skipped")) if set(fields.members()) == {"skipped"} else decode(fields)


def _read_optional(fields: JsonFields, name: str, decode: Callable[[JsonFields], T]) -> T | Skipped | None:
    inner = fields.optional(name, fields.inner)
    return None if inner is None else _read(inner, decode)


def _decode_workers(fields: JsonFields) -> Mapping[str, WorkerEvidence | Skipped]:
    return {url: _read(fields.inner(url), partial(_decode_worker, url)) for url in fields.members()}


def _decode_worker(url: str, fields: JsonFields) -> WorkerEvidence:
    text = fields.text("version")
    try:
        version = KafkaVersion.parse(text)
    except ValueError as error:
        raise Undecodable(f"{fields.place}: {text!r} is no Kafka version") from error
    return WorkerEvidence(
        url,
        version,
        fields.text("kafka_cluster_id"),
        _read(fields.inner("enabled"), lambda it: it.flag("is")),
        _read(fields.inner("connectors"), lambda it: frozenset(map(str, it.listed("names")))),
    )


def _decode_group(fields: JsonFields) -> ConnectGroup:
    return ConnectGroup(
        fields.text("state"),
        fields.text("protocol_type"),
        fields.text("protocol"),
        tuple(
            GroupMember(each.text("member_id"), each.optional("url", each.text)) for each in fields.inners("members")
        ),
        fields.optional("leader_url", fields.text),
    )


def _decode_brokers(fields: JsonFields) -> Mapping[int, Mapping[str, str] | Skipped]:
    found = {node: _read(fields.inner(node), lambda it: it.texts("settings")) for node in fields.members()}
    return {_number(fields, node): each for node, each in found.items()}


def _number(fields: JsonFields, text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise Undecodable(f"{fields.place}: {text!r} is not a number")
    return int(text)


def _decode_internal(fields: JsonFields) -> InternalTopic:
    return InternalTopic(fields.text("role"), fields.text("name"), _read_optional(fields, "facts", decode_topic))


def _decode_log(fields: JsonFields) -> TransactionLog:
    leaders = fields.inner("leaders")
    nodes = {_number(leaders, partition): leaders.whole(partition) for partition in leaders.members()}
    return TransactionLog(decode_topic(fields.inner("facts")), nodes)


def _decode_places(fields: JsonFields) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(each.text("topic"), each.whole("partition")) for each in fields.inners("partitions")
    )
