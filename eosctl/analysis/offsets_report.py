"""From offsets topics, worker settings and connector configs to the answer of `offsets show`."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from eosctl.analysis.connector_offset_findings import connector_findings, if_it_were
from eosctl.analysis.impossible_connectors import impossible_connector
from eosctl.analysis.merged_offsets import DecodeValue, Merger, by_key
from eosctl.analysis.offset_findings import ByKey, Keys, not_an_offsets_topic, topic_findings
from eosctl.analysis.offset_phases import by_phase, in_phase, uncommitted_keys, uncommitted_offsets
from eosctl.analysis.positions.index import explain_position
from eosctl.analysis.producing_elsewhere import NO_CLUSTERS, Clusters, producing_elsewhere
from eosctl.analysis.source_stores import deciding_settings, stores_of
from eosctl.model.client_configs import as_properties
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, OffsetsReport, StoredOffset
from eosctl.model.offset_stores import OffsetStores, SourceSupport, StorePlace, WorkerSettings
from eosctl.model.offsets import MalformedKey, OffsetKey, OffsetsTopic
from eosctl.model.report import Finding, worst_first
from eosctl.model.skipped import Skipped
from eosctl.model.versions import EXACTLY_ONCE_SOURCES

PHASES: Final = (SourceSupport.ENABLED, SourceSupport.PREPARING)
"""Preparing and disabled workers read offsets alike."""
Configs = Mapping[str, Mapping[str, object]]
Topics = Mapping[StorePlace, OffsetsTopic | Skipped | None]
Stores = tuple[OffsetStores, ...] | Skipped


@dataclass(frozen=True, slots=True)
class OffsetsReading:
    """How bytes of offsets topics become keys and values: the functions of the codec."""

    key: Callable[[bytes | None], OffsetKey | MalformedKey]
    value: DecodeValue
    canonical: Callable[[OffsetKey], str]


@dataclass(frozen=True, slots=True)
class Connectors:
    """The connectors of a Connect cluster: configs by name of those that exist (Skipped: not known), sinks left out.

    former are the last configs of those that were deleted, as far as they are known: there their offsets are.
    unconfigured is the config to assume for any other that does not exist, or whose config is not known: usually empty,
    Skipped where that would be a guess. named are all offsets topics that the configs of a connector ever named, for
    every connector that the config topic mentions; empty where it was not read.
    """

    configs: Configs | Skipped
    unconfigured: Mapping[str, object] | Skipped
    former: Configs = field(default_factory=dict)
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def stores(self, worker: WorkerSettings) -> Callable[[str], Stores]:
        """Where these workers keep the offsets of each connector, by its name.

        Of all its settings few decide, and are mostly unset: what they say together is decided once.
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
        """Whether there is such a connector."""
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
    keys = {place: {raw: reading.key(raw) for raw in found} for place, found in keyed.items()}
    merged = tuple(_merged(topics, records, keys, worker, connectors, reading, selected))
    found = [finding for connector in merged for finding in connector_findings(connector, worker.version)]
    found += [finding for connector in merged for finding in producing_elsewhere(connector, clusters)]
    found += [finding for connector in merged for finding in uncommitted_offsets(connector, worker)]
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
    first = StorePlace(worker.offsets_topic)
    other = not_an_offsets_topic(str(first), keyed[first], keys[first]) if first in keyed else None
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


def _impossible(connectors: Connectors, selected: Collection[str]) -> Iterator[Finding]:
    configs = {} if isinstance(connectors.configs, Skipped) else connectors.configs
    for name, config in sorted(configs.items()):
        if not selected or name in selected:
            yield from impossible_connector(ConnectorConfig(name, as_properties(config)))


def as_what_if(report: OffsetsReport, topic: str) -> OffsetsReport:
    """The same as what would be if the connectors named this topic: nothing in its fixes undoes what was not done."""
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
    # A value is asked for once for each store and view.
    merger = Merger(StorePlace(worker.offsets_topic), records, cache(reading.value), worker.version)
    by_connector: dict[str, dict[StorePlace, list[OffsetKey]]] = {}
    for place, found in keys.items():
        for key in found.values():
            if isinstance(key, OffsetKey):
                by_connector.setdefault(key.connector, {}).setdefault(place, []).append(key)
    worker_records = records.get(merger.worker_place)
    uncommitted = uncommitted_keys(worker_records if isinstance(worker_records, Mapping) else {})
    known = set() if isinstance(connectors.configs, Skipped) else set(connectors.configs)
    stores_of_all, in_phases = connectors.stores(worker), [connectors.stores(in_phase(worker, each)) for each in PHASES]
    for name in sorted(known | by_connector.keys()):
        if selected and name not in selected:
            continue
        stores = stores_of_all(name)
        places = {merger.worker_place, *(place for each in _usable(stores) for place in each.places)}
        own = {key.raw: key for place in topics if place in places for key in by_connector.get(name, {}).get(place, ())}
        offsets = tuple(merger.merge(sorted(own.values(), key=_raw), stores))
        if worker.version >= EXACTLY_ONCE_SOURCES:
            enabled, other = (stores_in(name) for stores_in in in_phases)
            offsets = by_phase(merger, offsets, enabled, other, uncommitted)
        if name in known or offsets:
            yield ConnectorOffsets(name, connectors.exists(name), stores, tuple(map(_explained, offsets)))


def _is_read_committed(place: StorePlace, worker: WorkerSettings, connectors: Connectors) -> bool:
    """Whether a worker that starts, or a task, reads this topic committed; so they do where that is not known."""
    off = worker.exactly_once in {SourceSupport.DISABLED, SourceSupport.PREPARING}
    if not off or place != StorePlace(worker.offsets_topic) or isinstance(connectors.configs, Skipped):
        return True
    stores = map(connectors.stores(worker), connectors.configs)
    return any(
        isinstance(found, Skipped)
        or any(each.connector_specific and each.connector_specific.place == place for each in found)
        for found in stores
    )


def _explained(merged: MergedOffset) -> MergedOffset:
    """With what the offset that a task starts from says, as far as its kind of source is known."""
    used = merged.kafka_effective
    if not isinstance(used, StoredOffset) or not isinstance(used.value, dict):
        return merged
    words = explain_position(merged.key.partition, used.value)
    return merged if words is None else merged._replace(position=words)


def _usable(stores: Stores) -> tuple[OffsetStores, ...]:
    return () if isinstance(stores, Skipped) else stores


def _raw(key: OffsetKey) -> bytes:
    return key.raw


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
    if isinstance(connectors.configs, Skipped):
        yield "connectors", connectors.configs
