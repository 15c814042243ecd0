"""Snapshot files: JSON lines, so that a cut file is noticed and a long config topic is written as it is read.

    {"kind": "eosctl.snapshot", "version": 5, "as_of": 1790000000000, "group_id": "connect-cluster"}
    {"cluster": {"cluster_id": …, "brokers": {"1": "host:9092"}, "transaction_max_timeout_ms": 900000}}
    {"connect": {"workers": {url: {…}}, "connectors": {name: {…}}}}
    {"transactions": {transactional ID: {"state": …, "producer_id": …, …}}}
    {"unlisted": {"reasons": […]}}    since version 5: why other IDs may be missing there
    {"config_topic": {"topic": …, "facts": {…}, "offsets": {…}}}
    {"config_record": {…}}            one line for each record, as codecs.config_record_lines writes it
    {"offsets": {…}}                  since version 2; and {"offsets_key": {…}} as codecs.snapshot_offsets writes them
    {"transaction_log": {…}}          since version 3; and {"log_record": {…}} by codecs.snapshot_transactions
    {"producers": {…}}                since version 3; and {"partition": {…}} from the same
    {"evidence": {…}}                 since version 4, as codecs.snapshot_evidence writes it
    {"end": 7}                        the number of lines before this one

Where a fact was not read, {"skipped": reason} stands in its place. Secrets are never in a snapshot: they end where the
topic's bytes are decoded. A new version is written when an old eosctl could misread the file.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from eosctl.codecs.config_record_lines import decode_config_record, encode_config_record
from eosctl.codecs.json_fields import JsonFields
from eosctl.codecs.snapshot_evidence import decode_evidence, encode_evidence
from eosctl.codecs.snapshot_facts import (
    decode_cluster,
    decode_connect,
    decode_offsets,
    decode_topic,
    decode_transaction,
    encode_cluster,
    encode_connect,
    encode_offsets,
    encode_topic,
    encode_transaction,
)
from eosctl.codecs.snapshot_offsets import (
    OffsetsKeys,
    decode_offsets_facts,
    encode_offsets_facts,
    encode_offsets_keys,
)
from eosctl.codecs.snapshot_transactions import (
    decode_log_facts,
    decode_log_record,
    decode_partition_producers,
    decode_producers,
    encode_log_facts,
    encode_log_record,
    encode_partitions,
    encode_producers,
)
from eosctl.errors import Undecodable, Unsupported
from eosctl.model.config_topic import ConfigRecord
from eosctl.model.partition_producers import PartitionProducers
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ConfigTopicLog, Snapshot
from eosctl.model.transaction_log import LogRecord

KIND: Final = "eosctl.snapshot"
VERSION: Final = 5
OLDEST: Final = 1
ADDED: Final = {"offsets": 2, "transaction_log": 3, "producers": 3, "evidence": 4, "unlisted": 5}
"""Sections that the first version did not have, and the version that brought them."""
NOUNS: Final = {
    "offsets": "offsets topics",
    "transaction_log": "the transaction log",
    "producers": "producers of partitions",
    "evidence": "the settings of workers, brokers and topics",
    "unlisted": "which coordinators did not answer",
}
SECTIONS: Final = frozenset({"cluster", "connect", "transactions", "config_topic", *ADDED})

T = TypeVar("T")


def encode_snapshot(snapshot: Snapshot) -> Iterator[str]:
    """The lines of the file, without line ends."""
    count = 0
    for count, value in enumerate(_values(snapshot), 1):  # noqa: B007  # counted for the last line
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    yield json.dumps({"end": count})


def _values(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    yield {"kind": KIND, "version": VERSION, "as_of": snapshot.as_of, "group_id": snapshot.group_id}
    yield {"cluster": _or_skipped(snapshot.cluster, encode_cluster)}
    yield {"connect": _or_skipped(snapshot.connect, encode_connect)}
    yield {
        "transactions": _or_skipped(
            snapshot.transactions,
            lambda all_: {name: _or_skipped(each, encode_transaction) for name, each in all_.items()},
        )
    }
    yield {"unlisted": {"reasons": list(snapshot.unlisted)}}
    yield {"config_topic": _or_skipped(snapshot.config_topic, _encode_log)}
    if not isinstance(snapshot.config_topic, Skipped):
        for record in snapshot.config_topic.records:
            yield {"config_record": encode_config_record(record)}
    yield {"offsets": _or_skipped(snapshot.offsets, encode_offsets_facts)}
    if not isinstance(snapshot.offsets, Skipped):
        for key in encode_offsets_keys(snapshot.offsets):
            yield {"offsets_key": key}
    yield {"transaction_log": _or_skipped(snapshot.transaction_log, encode_log_facts)}
    if not isinstance(snapshot.transaction_log, Skipped):
        for logged in snapshot.transaction_log.records:
            yield {"log_record": encode_log_record(logged)}
    yield {"producers": _or_skipped(snapshot.producers, encode_producers)}
    if not isinstance(snapshot.producers, Skipped):
        for partition in encode_partitions(snapshot.producers):
            yield {"partition": partition}
    yield {"evidence": _or_skipped(snapshot.evidence, encode_evidence)}


def _encode_log(log: ConfigTopicLog) -> dict[str, Any]:
    return {
        "topic": log.topic,
        "facts": _or_skipped(log.facts, encode_topic),
        "offsets": _or_skipped(log.offsets, encode_offsets),
    }


def _or_skipped(value: T | Skipped, encode: Callable[[T], dict[str, Any]]) -> dict[str, Any]:
    return {"skipped": value.reason} if isinstance(value, Skipped) else encode(value)


def decode_snapshot(lines: Iterable[str]) -> Snapshot:
    """The snapshot in the lines of a file.

    Raises Undecodable (naming the line) where the file is cut or is not a snapshot, Unsupported where its version is
    newer than this eosctl.
    """
    values = _numbered(lines)
    _, head = next(values, (1, None))
    header = _header(head)
    sections: dict[str, JsonFields] = {}
    records = []
    logged: list[LogRecord] = []
    partitions: list[PartitionProducers] = []
    keys = OffsetsKeys()
    for number, value in values:
        place = f"line {number} of the snapshot"
        match value:
            case {"end": int(count)} if count == number - 1:
                break
            case {"config_record": record}:
                records.append(decode_config_record(JsonFields(record, place)))
            case {"offsets_key": key}:
                keys.add(JsonFields(key, place))
            case {"log_record": record}:
                logged.append(decode_log_record(JsonFields(record, place)))
            case {"partition": partition}:
                partitions.append(decode_partition_producers(JsonFields(partition, place)))
            case dict() if len(value) == 1 and value.keys() <= SECTIONS:
                section = sections[next(iter(value))] = JsonFields(value, place)
                if section.has("offsets") and section.inner("offsets").has("topics"):
                    keys.name_topics(section.inner("offsets").inners("topics"))
            case _:
                raise Undecodable(f"{place} is no part of a snapshot")
    else:
        raise Undecodable("the snapshot is cut: its last line is missing", hint="save it again, or copy it whole")
    return _snapshot(header, sections, _Lines(tuple(records), tuple(logged), tuple(partitions), keys))


class _Lines(NamedTuple):
    """What lines of their own hold."""

    config: tuple[ConfigRecord, ...]
    log: tuple[LogRecord, ...]
    partitions: tuple[PartitionProducers, ...]
    keys: OffsetsKeys


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(lines, 1):
        try:
            yield number, json.loads(line)
        except ValueError as error:
            cut = "" if line.endswith("\n") else ", perhaps because the file is cut"
            raise Undecodable(f"line {number} of the snapshot is not JSON{cut}") from error


def _header(value: object) -> JsonFields:
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise Undecodable("this is not a snapshot", hint="`eosctl snapshot save FILE` writes one")
    header = JsonFields(value, "line 1 of the snapshot")
    version = header.whole("version")
    if not OLDEST <= version <= VERSION:
        raise Unsupported(
            f"the snapshot has version {version}, this eosctl reads versions {OLDEST} to {VERSION}",
            hint="use the eosctl that wrote it, or a newer one",
        )
    return header


def _snapshot(header: JsonFields, sections: dict[str, JsonFields], lines: _Lines) -> Snapshot:
    def section(name: str, decode: Callable[[JsonFields], T]) -> T | Skipped:
        if name not in sections:
            if header.whole("version") < ADDED.get(name, OLDEST):
                return Skipped(f"the snapshot was saved by an eosctl that did not read {NOUNS[name]}")
            raise Undecodable(f"the snapshot lacks its {name} line")
        return _read(sections[name], name, decode)

    unlisted = section("unlisted", lambda fields: fields.every_text("reasons"))
    return Snapshot(
        as_of=header.whole("as_of"),
        group_id=header.optional("group_id", header.text),
        cluster=section("cluster", decode_cluster),
        connect=section("connect", decode_connect),
        transactions=section(
            "transactions",
            lambda all_: {name: _read(all_, name, partial(decode_transaction, name)) for name in all_.members()},
        ),
        unlisted=() if isinstance(unlisted, Skipped) else unlisted,
        config_topic=section(
            "config_topic",
            lambda log: ConfigTopicLog(
                log.text("topic"),
                _read(log, "facts", decode_topic),
                _read(log, "offsets", decode_offsets),
                lines.config,
            ),
        ),
        offsets=section("offsets", lambda fields: decode_offsets_facts(fields, lines.keys)),
        transaction_log=section("transaction_log", lambda fields: decode_log_facts(fields, lines.log)),
        producers=section("producers", lambda fields: decode_producers(fields, lines.partitions)),
        evidence=section("evidence", decode_evidence),
    )


def _read(fields: JsonFields, name: str, decode: Callable[[JsonFields], T]) -> T | Skipped:
    inner = fields.inner(name)
    # A transactional ID may be named `skipped` too: its value is no text.
    match inner.members():
        case {"skipped": str(reason), **more} if not more:
            return Skipped(reason)
    return decode(inner)
