"""Offsets topics in a snapshot file: one line of facts, then one line for each key of each partition.

    {"offsets": {"worker": {…}, "topics": [{"topic": …, "bootstrap_servers": null, "facts": {…}, "partitions": […]}]}}
    {"offsets_key": {"topic": 0, "partition": 7, "key": base64, "records": 3, "tombstones": 0, "committed": {…}, …}}

`topic` of a key is its place in the list of topics. Of a record offset, timestamp, value (base64), state of its
transaction and producer are kept; of all but the last record of each state, the number.
"""

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from eosctl.codecs.json_fields import JsonFields
from eosctl.codecs.snapshot_facts import decode_offsets, decode_topic, encode_offsets, encode_topic
from eosctl.errors import Undecodable
from eosctl.model.names import TopicPartition
from eosctl.model.offset_stores import SourceSupport, StorePlace, WorkerSettings
from eosctl.model.offsets import KeyRecords, OffsetsPartition, OffsetsTopic
from eosctl.model.records import Record, RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import OffsetsFacts
from eosctl.model.versions import KafkaVersion


def encode_offsets_facts(facts: OffsetsFacts) -> dict[str, Any]:
    """All but the keys."""
    worker = facts.worker
    servers = worker.bootstrap_servers
    return {
        "worker": {
            "offsets_topic": worker.offsets_topic,
            "exactly_once": _or_skipped(worker.exactly_once),
            "bootstrap_servers": _or_skipped(servers if isinstance(servers, Skipped) else sorted(servers)),
            "version": str(worker.version),
            "clients": dict(worker.clients),
        },
        "topics": [_encode_topic(place, topic) for place, topic in facts.topics.items()],
    }


def _or_skipped(value: object) -> object:
    return {"skipped": value.reason} if isinstance(value, Skipped) else value


def _encode_topic(place: StorePlace, topic: OffsetsTopic | Skipped | None) -> dict[str, Any]:
    servers = place.bootstrap_servers
    row: dict[str, Any] = {"topic": place.topic, "bootstrap_servers": None if servers is None else sorted(servers)}
    if topic is None or isinstance(topic, Skipped):
        return {**row, "absent": True} if topic is None else {**row, "skipped": topic.reason}
    parts = [
        {"skipped": part.offsets.reason} if isinstance(part.offsets, Skipped) else encode_offsets(part.offsets)
        for part in topic.partitions
    ]
    facts = {"skipped": topic.facts.reason} if isinstance(topic.facts, Skipped) else encode_topic(topic.facts)
    return {**row, "facts": facts, "partitions": parts}


def encode_offsets_keys(facts: OffsetsFacts) -> Iterator[dict[str, Any]]:
    """One object for each key of each partition."""
    for number, topic in enumerate(facts.topics.values()):
        for part in topic.partitions if isinstance(topic, OffsetsTopic) else ():
            for raw, records in part.keys.items():
                yield {
                    "topic": number,
                    "partition": part.topic_partition.partition,
                    "key": _base64(raw),
                    "records": records.records,
                    "tombstones": records.tombstones,
                    "committed": _encode_record(records.committed),
                    "open": _encode_record(records.open),
                    "aborted": _encode_record(records.aborted),
                }


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode("ascii")


def _encode_record(record: Record | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "value": _base64(record.value),
        "transactional": record.transactional,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
    }


class OffsetsKeys:
    """Collects the lines of keys while a snapshot is read."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[int, int], dict[bytes | None, KeyRecords]] = defaultdict(dict)
        self._places: dict[tuple[int, int], TopicPartition] = {}

    def add(self, fields: JsonFields) -> None:
        """One key; Undecodable where the line is not one."""
        place = fields.whole("topic"), fields.whole("partition")
        raw = fields.optional("key", lambda name: _bytes(fields, name))
        # The topic's name comes from its own line, which was read before.
        self._found[place][raw] = KeyRecords(
            self._places.setdefault(place, TopicPartition("", place[1])),
            _decode_record(fields, raw, RecordState.COMMITTED),
            _decode_record(fields, raw, RecordState.OPEN),
            _decode_record(fields, raw, RecordState.ABORTED),
            fields.whole("records"),
            fields.whole("tombstones"),
        )

    def name_topics(self, topics: list[JsonFields]) -> None:
        """Say what the topics are called; call it before the first key."""
        for number, fields in enumerate(topics):
            for partition in range(len(fields.listed("partitions")) if fields.has("partitions") else 0):
                self._places[number, partition] = TopicPartition(fields.text("topic"), partition)

    def of(self, topic: int, partition: int) -> dict[bytes | None, KeyRecords]:
        """The keys of one partition."""
        return self._found.get((topic, partition), {})


def _bytes(fields: JsonFields, name: str) -> bytes:
    try:
        return base64.b64decode(fields.text(name), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Undecodable(f"{name} of a key in the snapshot is not base64") from error


def _decode_record(fields: JsonFields, raw: bytes | None, state: RecordState) -> Record | None:
    record = fields.optional(state.value, fields.inner)
    if record is None:
        return None
    return Record(
        record.whole("offset"),
        record.whole("timestamp"),
        raw,
        record.optional("value", lambda name: _bytes(record, name)),
        state,
        record.flag("transactional"),
        record.whole("producer_id"),
        record.whole("producer_epoch"),
    )


def decode_offsets_facts(fields: JsonFields, keys: OffsetsKeys) -> OffsetsFacts:
    """The inverse of the two encoders."""
    topics = {}
    for number, each in enumerate(fields.inners("topics")):
        servers = each.optional("bootstrap_servers", each.listed)
        place = StorePlace(each.text("topic"), None if servers is None else frozenset(map(str, servers)))
        topics[place] = _decode_topic(each, number, keys)
    return OffsetsFacts(_decode_worker(fields.inner("worker")), topics)


def _decode_topic(fields: JsonFields, number: int, keys: OffsetsKeys) -> OffsetsTopic | Skipped | None:
    if fields.has("absent"):
        return None
    if fields.has("skipped"):
        return Skipped(fields.text("skipped"))
    name, facts = fields.text("topic"), fields.inner("facts")
    parts = tuple(
        OffsetsPartition(
            TopicPartition(name, index),
            Skipped(each.text("skipped")) if each.has("skipped") else decode_offsets(each),
            keys.of(number, index),
        )
        for index, each in enumerate(fields.inners("partitions"))
    )
    return OffsetsTopic(name, Skipped(facts.text("skipped")) if facts.has("skipped") else decode_topic(facts), parts)


def _decode_worker(fields: JsonFields) -> WorkerSettings:
    members = fields.members()
    support, servers = members.get("exactly_once"), members.get("bootstrap_servers")
    unread = isinstance(support, dict), isinstance(servers, dict)
    try:
        return WorkerSettings(
            fields.text("offsets_topic"),
            Skipped(fields.inner("exactly_once").text("skipped")) if unread[0] else SourceSupport(str(support)),
            Skipped(fields.inner("bootstrap_servers").text("skipped"))
            if unread[1]
            else frozenset(map(str, fields.listed("bootstrap_servers"))),
            KafkaVersion.parse(fields.text("version")),
            fields.texts("clients"),
        )
    except ValueError as error:
        raise Undecodable(f"the worker settings in the snapshot are wrong: {error}") from error
