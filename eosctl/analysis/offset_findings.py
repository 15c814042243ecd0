"""Findings about offsets topics, each with what to do."""

import base64
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import offsets as kinds
from eosctl.analysis.cleanup_policy import cleanup_policy_finding
from eosctl.model.counts import counted
from eosctl.model.offset_stores import StorePlace
from eosctl.model.offsets import KeyRecords, MalformedKey, OffsetKey, OffsetsTopic
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion

YOUNG_MS: Final = 60_000
EXAMPLES: Final = 10
LOSES_THE_REST: Final = (
    (KafkaVersion(3, 5), KafkaVersion(3, 5, 1)),
    (KafkaVersion(3, 6), KafkaVersion(3, 6)),
)
"""KAFKA-15800: workers of these versions drop the rest of a poll after a key that is not JSON."""

Keys = Mapping[bytes | None, OffsetKey | MalformedKey]
ByKey = Mapping[bytes | None, tuple[KeyRecords, ...]]


def base64_of(raw: bytes | None) -> str | None:
    """A raw key as text."""
    return None if raw is None else base64.b64encode(raw).decode("ascii")


def topic_findings(
    place: StorePlace,
    topic: OffsetsTopic,
    records: ByKey,
    keys: Keys,
    *,
    canonical: Callable[[OffsetKey], str],
    as_of: int,
    version: KafkaVersion,
    committed: bool,
) -> Iterator[Finding]:
    """All that is found about one offsets topic; records and keys are its records and its keys by raw key.

    as_of (ms since the epoch) distinguishes a transaction in progress from one that stays open; committed is whether
    somebody reads the topic committed, and so waits for one.
    """
    subject = str(place)
    other = not_an_offsets_topic(subject, records, keys)
    if other is not None:
        yield other
        return
    yield from _cleanup_policy(subject, topic)
    yield from _open_transactions(subject, topic, as_of, committed)
    yield from _malformed_keys(subject, records, keys, version)
    yield from _in_two_partitions(subject, records, keys)
    yield from _logical_duplicates(subject, records, keys, canonical)


def not_an_offsets_topic(subject: str, records: ByKey, keys: Keys) -> Finding | None:
    """The finding that excludes all others: the topic holds records, and none of them is of an offsets topic."""
    if not keys or any(isinstance(key, OffsetKey) for key in keys.values()):
        return None
    count = sum(each.records for lies in records.values() for each in lies)
    return kinds.NOT_AN_OFFSETS_TOPIC.finding(
        subject,
        f"none of the {counted(count, 'record')} has a key of Kafka Connect's offsets topic: this is another topic",
        {"records": count, "keys": len(keys)},
    )


def _cleanup_policy(subject: str, topic: OffsetsTopic) -> Iterator[Finding]:
    policy = topic.facts if isinstance(topic.facts, Skipped) else topic.facts.setting("cleanup.policy")
    found = None if isinstance(policy, Skipped) else cleanup_policy_finding(subject, topic.topic, policy, "offsets")
    if found is not None:
        yield found


def _open_transactions(subject: str, topic: OffsetsTopic, as_of: int, committed: bool) -> Iterator[Finding]:
    for part in topic.partitions:
        if isinstance(part.offsets, Skipped) or not part.offsets.held_back:
            continue
        opened = [records.open for records in part.keys.values() if records.open is not None]
        since = min((record.timestamp for record in opened), default=None)
        age_ms = None if since is None else max(0, as_of - since)
        producers = sorted({str(record.producer) for record in opened})
        young = age_ms is not None and age_ms < YOUNG_MS
        age = "" if age_ms is None else f", open for {age_ms / 1000:.0f} s"
        waits = (
            "a worker or task that starts waits for it"
            if committed
            else "no worker and no task waits for it while none is enabled"
        )
        yield kinds.OPEN_TRANSACTION.finding(
            subject,
            f"partition {part.topic_partition.partition}: an open transaction at offset "
            f"{part.offsets.last_stable_offset}{age} (producer {', '.join(producers) or 'unknown'}) hides "
            f"{counted(part.offsets.held_back, 'offset')} from read_committed consumers: {waits}",
            {
                "partition": part.topic_partition.partition,
                "last_stable_offset": part.offsets.last_stable_offset,
                "high_watermark": part.offsets.high_watermark,
                "age_ms": age_ms,
                "producers": producers,
            },
            severity=Severity.INFO if young or not committed else None,
        )


def _malformed_keys(subject: str, records: ByKey, keys: Keys, version: KafkaVersion) -> Iterator[Finding]:
    found = [(raw, key) for raw, key in keys.items() if isinstance(key, MalformedKey)]
    if not found:
        return
    count = sum(each.records for raw, _ in found for each in records[raw])
    loses = any(first <= version <= last for first, last in LOSES_THE_REST)
    effect = (
        f"workers of {version} lose the rest of what they read in the same poll (KAFKA-15800)"
        if loses
        else "workers log and ignore them"
    )
    places = [
        {
            "key_base64": base64_of(raw),
            "partition": each.topic_partition.partition,
            "offset": each.last.offset,
            "reason": key.reason,
        }
        for raw, key in found[:EXAMPLES]
        for each in records[raw]
    ]
    yield kinds.MALFORMED_OFFSETS_KEY.finding(
        subject,
        f"{counted(count, 'record')} under {counted(len(found), 'key')}: not offsets of a source connector (the first: "
        f"partition {places[0]['partition']} offset {places[0]['offset']}, {places[0]['reason']}): {effect}",
        {"records": count, "keys": len(found), "examples": places},
        severity=Severity.ERROR if loses else Severity.WARNING,
    )


def _in_two_partitions(subject: str, records: ByKey, keys: Keys) -> Iterator[Finding]:
    alike: list[bytes] = []
    differing: list[bytes] = []
    for raw, lies in records.items():
        if len(lies) > 1 and raw is not None:
            values = {each.last.value for each in lies}
            if values != {None}:
                (differing if len(values) > 1 else alike).append(raw)
    for found, severity, effect in (
        (differing, Severity.ERROR, "with different values, and the order in which a worker reads them decides"),
        (alike, Severity.WARNING, "with the same value"),
    ):
        if found:
            yield _in_two(subject, records, keys, found, severity, effect)


def _in_two(subject: str, records: ByKey, keys: Keys, found: list[bytes], severity: Severity, effect: str) -> Finding:
    first = found[0]
    places = " and ".join(f"{each.topic_partition.partition} (offset {each.last.offset})" for each in records[first])
    key = keys[first]
    owner = f" of connector {key.connector}" if isinstance(key, OffsetKey) else ""
    examples = [
        {"key_base64": base64_of(raw), "partitions": [each.topic_partition.partition for each in records[raw]]}
        for raw in found[:EXAMPLES]
    ]
    return kinds.KEY_IN_TWO_PARTITIONS.finding(
        subject,
        f"{counted(len(found), 'key lies', 'keys lie')} in more than one partition {effect} "
        f"(the first: {_text(first)}{owner} in {places})",
        {"keys": len(found), "examples": examples},
        severity=severity,
    )


def _logical_duplicates(
    subject: str, records: ByKey, keys: Keys, canonical: Callable[[OffsetKey], str]
) -> Iterator[Finding]:
    found = []
    for suspects in _similar(keys).values():
        alike: defaultdict[str, list[bytes]] = defaultdict(list)
        for key in suspects if len(suspects) > 1 else ():
            if any(each.last.value is not None for each in records[key.raw]):
                alike[canonical(key)].append(key.raw)
        found += [same for same in alike.values() if len(same) > 1]
    if found:
        yield kinds.LOGICAL_DUPLICATES.finding(
            subject,
            f"{counted(len(found), 'key stands', 'keys stand')} there more than once, as the same JSON in other bytes "
            f"(the first: {' and '.join(map(_text, found[0]))}): a connector finds only the one that it "
            "writes itself, the REST interface perhaps the other",
            {"keys": len(found), "examples": [[base64_of(raw) for raw in same] for same in found[:EXAMPLES]]},
        )


def _similar(keys: Keys) -> Mapping[object, list[OffsetKey]]:
    """Keys that may be the same JSON: Python finds 1, 1.0 and true equal, and hashes faster than it writes JSON."""
    similar: defaultdict[object, list[OffsetKey]] = defaultdict(list)
    for key in keys.values():
        if isinstance(key, OffsetKey):
            try:
                members = frozenset((key.partition or {}).items())
            except TypeError:  # nested, which no worker writes
                members = frozenset()
            similar[key.connector, members].append(key)
    return similar


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
