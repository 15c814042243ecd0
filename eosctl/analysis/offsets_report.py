"""Derives the answer of `offsets show` from offsets topics, worker settings and connector configs."""

import base64
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.catalogue import internal_topics as kinds
from eosctl.analysis.catalogue.internal_topics import PRODUCES_ELSEWHERE, REWRITTEN_BEFORE_CREATION, UNCOMMITTED_OFFSET
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.inspection import cleanup_policy_finding, impossible_connector
from eosctl.analysis.offsets import LOST_NULL_PARTITION, ByKey, DecodeValue, Keys, Merger, by_key, similar_keys
from eosctl.analysis.source_stores import deciding_settings, stores_of
from eosctl.model.client_roles import ConnectorConfig, as_properties
from eosctl.model.offsets import (
    ByPhase,
    ConnectorOffsets,
    MalformedValue,
    MergedOffset,
    OffsetKey,
    OffsetsReport,
    OffsetsTopic,
    OffsetStores,
    StoredOffset,
    StorePlace,
    WorkerSettings,
    finite,
)
from eosctl.model.report import Details, Finding, Severity, worst_first
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.text import pluralize
from eosctl.model.versions import EXACTLY_ONCE_SOURCES, STOPPED_STATE, KafkaVersion
from eosctl.model.workers import KnownPhase

YOUNG_MS: Final = 60_000
EXAMPLES: Final = 10
LOSES_THE_REST: Final = (
    (KafkaVersion(3, 5), KafkaVersion(3, 5, 1)),
    (KafkaVersion(3, 6), KafkaVersion(3, 6)),
)
"""KAFKA-15800: workers of these versions drop the rest of a poll after a key that is not JSON."""


def base64_of(raw: bytes | None) -> str | None:
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
    """All findings about one offsets topic; records and keys are its records and its keys by raw key.

    as_of (ms since the epoch) distinguishes a transaction in progress from one that stays open. committed: a client
    reads the topic with read_committed, and so waits for it.
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
    """The finding that excludes all others: the topic has records, and none belongs to an offsets topic."""
    if not keys or any(isinstance(key, OffsetKey) for key in keys.values()):
        return None
    count = sum(each.records or 0 for lies in records.values() for each in lies)
    return kinds.NOT_AN_OFFSETS_TOPIC.finding(
        subject,
        f"none of the {pluralize(count, 'record')} has a key of Kafka Connect's offsets topic: this is another topic",
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
        yield kinds.OFFSETS_OPEN_TRANSACTION.finding(
            subject,
            f"partition {part.topic_partition.partition}: an open transaction at offset "
            f"{part.offsets.last_stable_offset}{age} (producer {', '.join(producers) or 'unknown'}) hides "
            f"{pluralize(part.offsets.held_back, 'offset')} from read_committed consumers: {waits}",
            {
                "partition": part.topic_partition.partition,
                "last_stable_offset": part.offsets.last_stable_offset,
                "high_watermark": part.offsets.high_watermark,
                "age_ms": age_ms,
                "producers": producers,
            },
            cure=kinds.OFFSETS_OPEN_TRANSACTION.fix.replace("<topic>", part.topic_partition.topic),
            severity=Severity.INFO if young or not committed else None,
        )


SENTINEL: Final = '{"migrated":true}'
"""The value that KIP-618's draft wrote under `["connector"]` after copying a connector's offsets to its own topic."""


def _malformed_keys(subject: str, records: ByKey, keys: Keys, version: KafkaVersion) -> Iterator[Finding]:
    found = [(raw, key) for raw, key in keys.items() if not isinstance(key, OffsetKey)]
    if not found:
        return
    count = sum(each.records or 0 for raw, _ in found for each in records[raw])
    loses = any(first <= version <= last for first, last in LOSES_THE_REST)
    effect = (
        f"workers of {version} lose the later records of the same poll (KAFKA-15800)"
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
    drafts = sum(_is_sentinel(each.last.value) for raw, _ in found for each in records[raw])
    if drafts:
        of_them = pluralize(drafts, "of them has", "of them have")
        effect += f". {of_them} {SENTINEL}, the sentinel of KIP-618's draft, which no release of Kafka writes or reads"
    yield kinds.MALFORMED_OFFSETS_KEY.finding(
        subject,
        f"{pluralize(count, 'record')} under {pluralize(len(found), 'key')}: not offsets of a source connector (the "
        f"first: partition {places[0]['partition']} offset {places[0]['offset']}, {places[0]['reason']}): {effect}",
        {"records": count, "keys": len(found), "examples": places},
        severity=Severity.ERROR if loses else Severity.WARNING,
    )


def _is_sentinel(value: bytes | None) -> bool:
    return value is not None and b"".join(value.split()) == SENTINEL.encode()


def _in_two_partitions(subject: str, records: ByKey, keys: Keys) -> Iterator[Finding]:
    alike: list[bytes] = []
    differing: list[bytes] = []
    for raw in records.in_several:
        if raw is not None:
            values = {each.last.value for each in records[raw]}
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
        f"{pluralize(len(found), 'key lies', 'keys lie')} in more than one partition {effect} "
        f"(the first: {_text(first)}{owner} in {places})",
        {"keys": len(found), "examples": examples},
        severity=severity,
    )


def _logical_duplicates(
    subject: str, records: ByKey, keys: Keys, canonical: Callable[[OffsetKey], str]
) -> Iterator[Finding]:
    found = []
    for suspects in similar_keys(keys):
        alike: defaultdict[str, list[bytes]] = defaultdict(list)
        for key in suspects:
            if any(each.last.value is not None for each in records[key.raw]):
                alike[canonical(key)].append(key.raw)
        found += [same for same in alike.values() if len(same) > 1]
    if found:
        yield kinds.LOGICAL_DUPLICATES.finding(
            subject,
            f"{pluralize(len(found), 'key is', 'keys are')} there more than once, as the same JSON in "
            f"other bytes (the first: {' and '.join(map(_text, found[0]))}): a connector finds only the key "
            "that it writes; the REST interface may find the other key",
            {"keys": len(found), "examples": [[base64_of(raw) for raw in same] for same in found[:EXAMPLES]]},
        )


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def connector_findings(connector: ConnectorOffsets, version: KafkaVersion) -> Iterator[Finding]:
    """All findings about one connector, with the fixes for workers of this version."""
    stores = () if isinstance(connector.stores, Skipped) else connector.stores
    if connector.known is False:
        yield from _orphan(connector)
        return
    yield from _shadowed(connector, stores, version)
    yield from _disagreeing(connector, stores, version)
    yield from _malformed(connector, version)
    yield from _null_partition(connector)
    for each in stores[:1] if len(stores) == 1 else ():
        yield from _written_elsewhere(connector.name, each)


def _evidence(offsets: Iterable[MergedOffset], count: int) -> Details:
    return {"offsets": count, "keys_base64": [base64_of(each.key.raw) for each in islice(offsets, EXAMPLES)]}


def _shadowed(
    connector: ConnectorOffsets, stores: tuple[OffsetStores, ...], version: KafkaVersion
) -> Iterator[Finding]:
    found = [each for each in connector.others if each.shadowed]
    if not found:
        return
    kept = sum(isinstance(each.connector_specific, StoredOffset) for each in connector.others)
    if kept:
        fix = kinds.STORES_DISAGREE.fix_for(version).replace(kinds.SEE_WHICH, kinds.IF_STILL_READ)
        yield kinds.SHADOWED_OFFSET.finding(
            connector.name,
            f"{_have(found)} an offset only in the worker-global offsets topic. The connector-specific topic has "
            f"{kept} of its other offsets. A task that still reads such a source partition begins without an offset "
            "there. For a table or topic that it no longer reads this is harmless",
            _evidence(found, len(found)),
            cure=_with_topics(for_connector(fix.replace("keep-source", "keep-target"), connector.name), stores),
            severity=Severity.WARNING,
        )
    else:
        yield kinds.SHADOWED_OFFSET.finding(
            connector.name,
            f"{_have(found)} an offset in the worker-global offsets topic and none in the connector-specific one. "
            "At its next start the connector begins without an offset there and copies everything again",
            _evidence(found, len(found)),
            cure=_out_of_the_shadow(connector.name, stores, version),
        )


def _have(found: Sequence[MergedOffset]) -> str:
    return pluralize(len(found), "source partition has", "source partitions have")


def _out_of_the_shadow(name: str, stores: tuple[OffsetStores, ...], version: KafkaVersion) -> str:
    """The commands that copy the worker's offsets to the connector's own topic."""
    own = stores[0].connector_specific if stores else None
    cure = kinds.SHADOWED_OFFSET.fix_for(version)
    if own is not None and own.place.bootstrap_servers is not None:
        servers = ",".join(sorted(own.place.bootstrap_servers))
        stops = version >= STOPPED_STATE
        cure = (
            f"{'stop it (PUT /connectors/<connector>/stop)' if stops else kinds.DELETED}, then copy its offsets to the "
            "cluster that it produces to: "
            f"`eosctl migrate-offsets --connector <connector> --to-bootstrap-server {servers} --to-topic <topic>`, and "
            f"{'resume it' if stops else kinds.CREATED_AGAIN}"
        )
    return _with_topics(for_connector(cure, name), stores)


def _with_topics(cure: str, stores: tuple[OffsetStores, ...]) -> str:
    """The same with the names of the connector's two topics, as far as they are known."""
    own = stores[0].connector_specific if stores else None
    general = stores[0].worker_global if stores else None
    for placeholder in ("<topic>", "<connector-specific topic>"):
        cure = cure if own is None else cure.replace(placeholder, own.place.topic)
    return cure if general is None else cure.replace("<worker-global topic>", general.place.topic)


def if_it_were(finding: Finding, topic: str) -> Finding:
    """The finding for a connector that would name this topic; its fix undoes nothing."""
    cure = finding.cure
    if finding.kind == kinds.SHADOWED_OFFSET:
        move = f"eosctl migrate-offsets --connector <connector> --to-topic {shlex.quote(topic)}"
        cure = "do not change its config; eosctl moves the offsets and changes it: "
        cure = for_connector(f"{cure}`{move} --stop --set-config --resume`", finding.subject)
    return replace(finding, message=f"if {topic} were its offsets topic: {finding.message}", cure=cure)


def _disagreeing(
    connector: ConnectorOffsets, stores: tuple[OffsetStores, ...], version: KafkaVersion
) -> Iterator[Finding]:
    both = [
        (each, each.worker_global, each.connector_specific)
        for each in connector.others
        if isinstance(each.worker_global, StoredOffset)
        and isinstance(each.connector_specific, StoredOffset)
        and each.worker_global.usable
        and each.connector_specific.usable
    ]
    differing = [(row, general, own) for row, general, own in both if general.value != own.value]
    stale = [row for row, general, own in differing if general.record.timestamp > own.record.timestamp]
    behind = [row for row, general, own in differing if general.record.timestamp <= own.record.timestamp]
    if stale:
        yield kinds.STORES_DISAGREE.finding(
            connector.name,
            f"{_have(stale)} a newer and different offset in the worker-global offsets topic than in the "
            "connector-specific one, which the connector uses. Either the connector ran for a time without its own "
            "topic, or a transaction was aborted after the worker's copy was written",
            _evidence(stale, len(stale)),
            cure=_with_topics(for_connector(kinds.STORES_DISAGREE.fix_for(version), connector.name), stores),
        )
    if behind:
        yield kinds.STORES_DISAGREE.finding(
            connector.name,
            f"{_have(behind)} an older offset in the worker-global offsets topic than in the connector-specific "
            "one. The worker writes the copy later and may miss it",
            _evidence(behind, len(behind)),
            cure="nothing while the connector keeps its own topic; going back to the worker's topic needs a copy first",
            severity=Severity.INFO,
        )


def _malformed(connector: ConnectorOffsets, version: KafkaVersion) -> Iterator[Finding]:
    found = [
        (each, store, store.value)
        for each in connector.others
        for store in (each.worker_global, each.connector_specific)
        if isinstance(store, StoredOffset) and type(store.value) is MalformedValue
    ]
    if found:
        _, store, value = found[0]
        yield kinds.MALFORMED_OFFSET.finding(
            connector.name,
            f"{pluralize(len(found), 'offset')} cannot be used (the first: {store.topic_partition} offset "
            f"{store.record.offset}, {value.reason}): the connector is answered as if there were none",
            _evidence((each for each, _, _ in found), len(found)),
            cure=for_connector(kinds.MALFORMED_OFFSET.fix_for(version), connector.name),
        )


def _null_partition(connector: ConnectorOffsets) -> Iterator[Finding]:
    found = [each for each in connector.others if each.provenance == LOST_NULL_PARTITION and each.live]
    if found:
        yield kinds.NULL_PARTITION_LOST.finding(
            connector.name,
            "its null source partition has an offset. Workers from 4.2 on write it and cannot look it up. Every "
            "start of its task begins without an offset there",
            _evidence(found, len(found)),
        )


def _written_elsewhere(name: str, stores: OffsetStores) -> Iterator[Finding]:
    store = stores.connector_specific
    if store is None or store.place == stores.written_to:
        return
    yield kinds.OFFSETS_WRITTEN_ELSEWHERE.finding(
        name,
        f"its producer writes offsets to {stores.written_to} and its consumer reads them from {store.place}: "
        "written offsets are never read again",
        {"written_to": str(stores.written_to), "read_from": str(store.place)},
    )


def _orphan(connector: ConnectorOffsets) -> Iterator[Finding]:
    live = connector.live
    if live:
        yield kinds.ORPHAN_OFFSETS.finding(
            connector.name,
            f"{pluralize(live, 'offset remains', 'offsets remain')} of a connector that does not "
            "exist: one of this name would begin there",
            {"offsets": live, "keys_base64": [base64_of(key.raw) for key in connector.first_live_keys(EXAMPLES)]},
            cure=for_connector(kinds.ORPHAN_OFFSETS.fix, connector.name),
        )


# The effect of the workers' phase on a connector's starting offsets.
#
# The worker-global store is read committed by workers that are enabled, and uncommitted by all others whose file does
# not say isolation.level=read_committed (KafkaOffsetBackingStore.configure). So an offset whose transaction was
# aborted, or is open, counts for the latter: the records up to it were never committed, and are skipped.


PhaseStores = tuple[OffsetStores, ...]
SHOWN: Final = 10


def in_phase(worker: WorkerSettings, support: KnownPhase) -> WorkerSettings:
    """The same workers with this exactly.once.source.support."""
    return replace(worker, exactly_once=support)


def uncommitted_keys(records: ByKey) -> frozenset[bytes | None]:
    """The raw keys with a later record than the last committed one."""
    return frozenset(raw for raw, each in records.uncommitted() if each.last is not each.committed)


def by_phase(
    merger: Merger,
    keys: Sequence[OffsetKey],
    enabled: PhaseStores | Skipped,
    not_enabled: PhaseStores | Skipped,
    uncommitted: Collection[bytes | None],
) -> Mapping[bytes, ByPhase]:
    """The starting points of each phase by raw key, for those of one connector's keys where they differ."""
    if isinstance(enabled, Skipped) or isinstance(not_enabled, Skipped):
        return {}
    moved = [each.places for each in enabled] != [each.places for each in not_enabled]
    asked = [key for key in keys if moved or key.raw in uncommitted] if moved or uncommitted else ()
    pairs = zip(merger.merge(asked, enabled), merger.merge(asked, not_enabled), strict=True)
    return {
        first.key.raw: ByPhase(first.kafka_effective, second.kafka_effective, first.key.raw in uncommitted)
        for first, second in pairs
        if _value(first.kafka_effective) != _value(second.kafka_effective)
    }


def _value(answer: StoredOffset | Skipped | None) -> object:
    return answer.value if isinstance(answer, StoredOffset) else answer


def uncommitted_offsets(connector: ConnectorOffsets, worker: WorkerSettings) -> Iterator[Finding]:
    """The offsets that only workers that are not enabled begin from: harmless while all are enabled.

    Connect keeps the offsets of a connector that is deleted, and a new one of its name begins there: a warning at most.
    """
    phases = [(each, each.by_phase) for each in connector.others]
    found = [(each, differs) for each, differs in phases if differs and differs.uncommitted]
    if not found:
        return
    severity = Severity.INFO if worker.exactly_once is KnownPhase.ENABLED else None
    severity = Severity.WARNING if isinstance(worker.exactly_once, Skipped) else severity
    gone, cure = "", UNCOMMITTED_OFFSET.fix_for(worker.version)
    if connector.known is False:
        severity, cure = severity or Severity.WARNING, REWRITTEN_BEFORE_CREATION
        gone = ". The connector does not exist; a new connector of this name would begin there"
    first = found[0][1]
    yield UNCOMMITTED_OFFSET.finding(
        connector.name,
        f"{pluralize(len(found), 'source partition')}: the last offset is of a transaction that was aborted or is "
        "open. Workers that are not enabled begin from it and skip the records in between. The first begins at "
        f"{_shown(first.not_enabled)} instead of {_shown(first.enabled)}{gone}",
        {"offsets": len(found), "examples": [_example(row, phases) for row, phases in found[:SHOWN]]},
        cure=for_connector(cure, connector.name),
        severity=severity,
    )


def _shown(answer: StoredOffset | Skipped | None) -> str:
    if isinstance(answer, StoredOffset):
        return f"{answer.value} ({answer.topic_partition}@{answer.record.offset})"
    return "nothing" if answer is None else f"what is not known ({answer.reason})"


def _example(row: MergedOffset, phases: ByPhase) -> Mapping[str, object]:
    return {
        "partition": None if row.key.partition is None else finite(row.key.partition),
        "enabled": _evident(phases.enabled),
        "not_enabled": _evident(phases.not_enabled),
    }


def _evident(answer: StoredOffset | Skipped | None) -> object:
    found = _value(answer)
    if isinstance(found, Skipped):
        return found.reason
    return finite(found) if isinstance(found, Mapping) else found


SETTING: Final = "producer.override.bootstrap.servers"


class Clusters(Struct, frozen=True):
    """IDs of Kafka clusters: the workers', and those behind other bootstrap.servers as far as they could be asked."""

    workers: str | None = None
    others: Mapping[frozenset[str], str | Skipped] = field(default_factory=dict)


NO_CLUSTERS: Final = Clusters()


def producing_elsewhere(connector: ConnectorOffsets, clusters: Clusters) -> Iterator[Finding]:
    """The cluster of its records, with the effect on its offsets and its transactional IDs."""
    stores = () if isinstance(connector.stores, Skipped) else connector.stores
    for each in stores[:1] if connector.known is not False else ():
        if isinstance(each.sent_to, frozenset):
            yield _finding(connector.name, each, each.sent_to, clusters)
        elif isinstance(each.sent_to, Skipped):
            yield PRODUCES_ELSEWHERE.finding(
                connector.name,
                f"where its producer is sent to is not known: {each.sent_to.reason}",
                cure=f"see {SETTING} of its config",
                severity=Severity.INFO,
            )


def _finding(name: str, stores: OffsetStores, servers: frozenset[str], clusters: Clusters) -> Finding:
    written, named = stores.written_to, ",".join(sorted(servers))
    other = clusters.others.get(servers, not_asked("it was not read"))
    if isinstance(other, Skipped):
        where = f"whether that is another Kafka cluster is not known ({other.reason})"
    elif other == clusters.workers:
        where = "that is the workers' own Kafka cluster, which Connect takes for another one"
    else:
        where = f"that is another Kafka cluster, {other}"
    if written.bootstrap_servers is None:
        kept = f"its offsets stay in the workers' topic {written.topic}"
        cure = (
            "nothing while exactly-once is not enabled; once it is, they will be looked for over there: move them first"
        )
    else:
        kept = f"its offsets (in topic {written.topic}) and its transactional IDs, if it has any, are in that cluster"
        cure = f"give those brokers to migrate-offsets and fence: -b {named} --connect-url …"
    return PRODUCES_ELSEWHERE.finding(
        name,
        f"its producer has {SETTING}={named}: {where}; {kept}",
        {"servers": sorted(servers), "cluster_id": other, "written_to": str(written)},
        cure=cure,
        severity=Severity.INFO,
    )


PHASES: Final = (KnownPhase.ENABLED, KnownPhase.NOT_ENABLED)
"""Preparing and disabled workers read offsets alike."""
Configs = Mapping[str, Mapping[str, object]]
Topics = Mapping[StorePlace, OffsetsTopic | Skipped | None]
Stores = tuple[OffsetStores, ...] | Skipped


class OffsetsReading(Struct, frozen=True):
    """How values and keys of offsets topics are read: the functions of the codec."""

    value: DecodeValue
    canonical: Callable[[OffsetKey], str]


class Connectors(Struct, frozen=True):
    """The connectors of a Connect cluster: configs by name of the existing ones (Skipped: unknown), without sinks.

    former are the last known configs of deleted ones, which name the topic of their offsets. unconfigured is the config
    to assume for any other that does not exist, or whose config is unknown: usually empty, Skipped if that would be a
    guess. named are all offsets topics that a connector's configs ever named, for every connector in the config topic;
    empty if it was not read.
    """

    configs: Configs | Skipped
    unconfigured: Mapping[str, object] | Skipped
    former: Configs = field(default_factory=dict)
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def stores(self, worker: WorkerSettings) -> Callable[[str], Stores]:
        """The stores of each connector with these workers, by its name.

        Few settings decide, and most are unset: each combination is decided once.
        """
        decided: dict[str, Stores] = {}

        def stores(name: str) -> Stores:
            known = None if isinstance(self.configs, Skipped) else self.configs.get(name)
            config = self.former.get(name, self.unconfigured) if known is None else known
            if isinstance(config, Skipped):
                return config
            deciding = deciding_settings(config)
            said = repr(deciding)
            if said not in decided:
                decided[said] = stores_of(worker, deciding)
            return decided[said]

        return stores

    def exists(self, name: str) -> bool | Skipped:
        return self.configs if isinstance(self.configs, Skipped) else name in self.configs


def places_to_read(worker: WorkerSettings, connectors: Connectors, selected: Collection[str]) -> tuple[StorePlace, ...]:
    """The worker's topic, then every topic that a connector (or one of those selected) reads offsets from."""
    known = () if isinstance(connectors.configs, Skipped) else connectors.configs
    found, stores = [StorePlace(worker.offsets_topic)], connectors.stores(worker)
    for name in sorted({*known, *connectors.former, *selected}):
        if not selected or name in selected:
            found += [place for each in _usable(stores(name)) for place in each.places]
    if not isinstance(connectors.unconfigured, Skipped):
        assumed = stores_of(worker, connectors.unconfigured)
        found += [] if isinstance(assumed, Skipped) else [place for each in assumed for place in each.places]
    return tuple(dict.fromkeys(found))


def producer_servers(
    worker: WorkerSettings, connectors: Connectors, selected: Collection[str]
) -> tuple[frozenset[str], ...]:
    """The bootstrap.servers that producers of connectors (or of those selected) have instead of the worker's."""
    known, stores = () if isinstance(connectors.configs, Skipped) else connectors.configs, connectors.stores(worker)
    found = [
        each.sent_to for name in sorted(known) if not selected or name in selected for each in _usable(stores(name))
    ]
    return tuple(dict.fromkeys(servers for servers in found if isinstance(servers, frozenset)))


def report_offsets(
    topics: Topics,
    worker: WorkerSettings,
    connectors: Connectors,
    reading: OffsetsReading,
    *,
    as_of: int,
    selected: Collection[str] = (),
    clusters: Clusters = NO_CLUSTERS,
) -> OffsetsReport:
    """Every connector that exists or has left offsets, or those selected, with their offsets merged; and findings."""
    records = {place: by_key(topic) if isinstance(topic, OffsetsTopic) else topic for place, topic in topics.items()}
    keyed = {place: found for place, found in records.items() if found is not None and not isinstance(found, Skipped)}
    keys = {place: found.decoded for place, found in keyed.items()}
    merged = tuple(_merged(topics, records, keys, worker, connectors, reading, selected))
    others = {place: not_an_offsets_topic(str(place), keyed[place], keys[place]) for place in keyed}
    judged = [each for each in merged if not any(others.get(place) for place in _places(each))]
    found = [finding for connector in judged for finding in connector_findings(connector, worker.version)]
    found += [finding for connector in judged for finding in producing_elsewhere(connector, clusters)]
    found += [finding for connector in judged for finding in uncommitted_offsets(connector, worker)]
    found += _impossible(connectors, selected)
    for place, topic in topics.items():
        held = records[place]
        if isinstance(topic, OffsetsTopic) and held is not None and not isinstance(held, Skipped):
            found += topic_findings(
                place,
                topic,
                held,
                keys[place],
                canonical=reading.canonical,
                as_of=as_of,
                version=worker.version,
                committed=_is_read_committed(place, worker, connectors),
            )
    other = others.get(StorePlace(worker.offsets_topic))
    names = {each.name for each in merged if each.known is True or each.offsets}
    return OffsetsReport(
        connectors=merged,
        topics=topics,
        findings=worst_first(found) if other is None else (other,),
        is_offsets_topic=other is None,
        absent=tuple(sorted(set(selected) - names)),
        skipped=dict(_skipped(topics, worker, connectors)),
        worker=worker,
        as_of=as_of,
        cluster_id=clusters.workers,
    )


def _places(connector: ConnectorOffsets) -> Iterator[StorePlace]:
    for stores in () if isinstance(connector.stores, Skipped) else connector.stores:
        yield from stores.places


def _impossible(connectors: Connectors, selected: Collection[str]) -> Iterator[Finding]:
    configs = {} if isinstance(connectors.configs, Skipped) else connectors.configs
    for name, config in sorted(configs.items()):
        if not selected or name in selected:
            yield from impossible_connector(ConnectorConfig(name, as_properties(config)))


def as_what_if(report: OffsetsReport, topic: str) -> OffsetsReport:
    """The report as it would be if the connectors named this topic; of another kind of topic it says that alone."""
    other = [each for each in report.findings if each.kind == kinds.NOT_AN_OFFSETS_TOPIC and each.subject == topic]
    if other:
        return replace(report, what_if=topic, findings=tuple(other), is_offsets_topic=False)
    return replace(report, what_if=topic, findings=tuple(if_it_were(each, topic) for each in report.findings))


def _merged(
    topics: Topics,
    records: Mapping[StorePlace, ByKey | Skipped | None],
    keys: Mapping[StorePlace, Keys],
    worker: WorkerSettings,
    connectors: Connectors,
    reading: OffsetsReading,
    selected: Collection[str],
) -> Iterator[ConnectorOffsets]:
    merger = Merger(StorePlace(worker.offsets_topic), records, reading.value, worker.version)
    by_connector = {place: _by_connector(found) for place, found in keys.items()}
    left = {name for found in by_connector.values() for name in found}
    worker_records = records.get(merger.worker_place)
    uncommitted = uncommitted_keys(worker_records if isinstance(worker_records, ByKey) else ByKey())
    known = set() if isinstance(connectors.configs, Skipped) else set(connectors.configs)
    stores_of_all, in_phases = connectors.stores(worker), [connectors.stores(in_phase(worker, each)) for each in PHASES]
    for name in sorted(known | left):
        if selected and name not in selected:
            continue
        stores = stores_of_all(name)
        places = {merger.worker_place, *(place for each in _usable(stores) for place in each.places)}
        found = [by_connector[place].get(name, ()) for place in topics if place in places and place in by_connector]
        own = found[0] if len(found) == 1 else tuple({key.raw: key for each in found for key in each}.values())
        offsets = merger.merge(own, stores)
        if worker.version >= EXACTLY_ONCE_SOURCES:
            enabled, other = (stores_in(name) for stores_in in in_phases)
            if phases := by_phase(merger, own, enabled, other, uncommitted):
                offsets = [each._replace(by_phase=phases.get(each.key.raw)) for each in offsets]
        if name in known or offsets:
            yield ConnectorOffsets(name, connectors.exists(name), stores, offsets)


def _by_connector(keys: Keys) -> Mapping[str, Sequence[OffsetKey]]:
    found: defaultdict[str, list[OffsetKey]] = defaultdict(list)
    for key in keys.values():
        if isinstance(key, OffsetKey):
            found[key.connector].append(key)
    return found


def _is_read_committed(place: StorePlace, worker: WorkerSettings, connectors: Connectors) -> bool:
    """True if a starting worker or task reads this topic with read_committed, or if that is unknown."""
    off = worker.exactly_once in {KnownPhase.DISABLED, KnownPhase.PREPARING, KnownPhase.NOT_ENABLED}
    if not off or place != StorePlace(worker.offsets_topic) or isinstance(connectors.configs, Skipped):
        return True
    stores = map(connectors.stores(worker), connectors.configs)
    return any(
        isinstance(found, Skipped)
        or any(each.connector_specific and each.connector_specific.place == place for each in found)
        for found in stores
    )


def _usable(stores: Stores) -> tuple[OffsetStores, ...]:
    return () if isinstance(stores, Skipped) else stores


def _skipped(topics: Topics, worker: WorkerSettings, connectors: Connectors) -> Iterator[tuple[str, Skipped]]:
    for place, topic in topics.items():
        if isinstance(topic, Skipped):
            yield str(place), topic
        elif topic is not None:
            facts = topic.facts
            policy = facts if isinstance(facts, Skipped) else facts.setting("cleanup.policy")
            if isinstance(policy, Skipped):
                yield f"cleanup.policy of {place}", policy
    if isinstance(worker.exactly_once, Skipped):
        yield "exactly.once.source.support", worker.exactly_once
    if isinstance(worker.clients, Skipped):
        yield "the workers' settings of producers and consumers", worker.clients
    if isinstance(connectors.configs, Skipped):
        yield "connectors", connectors.configs
