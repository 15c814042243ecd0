"""Reading offsets topics of several Kafka clusters, each topic once, by whatever names its brokers are given."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eosctl.analysis.offsets import OffsetsFold
from eosctl.errors import EosctlError
from eosctl.model.offset_stores import StorePlace
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.skipped import Skipped
from eosctl.operations.session import Session
from eosctl.sources.kafka_topics import topic_facts_or_skipped

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire

Servers = frozenset[str]
ClusterIds = Mapping[Servers, str | EosctlError]


@dataclass(slots=True)
class PlacesReader:
    """Reads places, and remembers what it read: two names of one cluster lead to one topic.

    cluster_ids are those behind bootstrap.servers other than the workers', or the error of one that did not tell: it is
    not asked again.
    """

    session: Session
    cluster_ids: ClusterIds
    _read: dict[tuple[str, str], OffsetsTopic | None] = field(default_factory=dict)

    def read(self, place: StorePlace, *, insist: bool) -> OffsetsTopic | Skipped | None:
        """The topic there; None where there is none, Skipped where it cannot be read and need not be."""
        try:
            if place.bootstrap_servers is None:
                return self._once(self.session.wire, self.session.wire.cluster_id, place.topic)
            cluster_id = self.cluster_ids[place.bootstrap_servers]
            if isinstance(cluster_id, EosctlError):
                raise cluster_id
            if (cluster_id, place.topic) in self._read:
                return self._read[cluster_id, place.topic]
            with _wire_to(self.session, place.bootstrap_servers) as wire:
                return self._once(wire, cluster_id, place.topic)
        except EosctlError as error:
            if insist:
                raise
            return Skipped.of(error)

    def _once(self, wire: "Wire", cluster_id: str, topic: str) -> OffsetsTopic | None:
        if (cluster_id, topic) not in self._read:
            self._read[cluster_id, topic] = read_offsets_topic(self.session, wire, topic)
        return self._read[cluster_id, topic]


def read_cluster_ids(session: Session, places: Iterable[Servers | None]) -> ClusterIds:
    """The cluster behind each of these bootstrap.servers, asked with the same identity; None is not asked."""
    found: dict[Servers, str | EosctlError] = {}
    for servers in dict.fromkeys(places):
        if servers is not None:
            try:
                with _wire_to(session, servers) as wire:
                    found[servers] = wire.cluster_id
            except EosctlError as error:
                found[servers] = error
    return found


def _wire_to(session: Session, servers: Servers) -> "Wire":
    from eosctl.clients.wire import Wire

    properties = replace(session.client_properties, bootstrap_servers=tuple(sorted(servers)))
    return Wire(properties, timeout_s=session.options.timeout_s)


def read_offsets_topic(session: Session, wire: "Wire", topic: str) -> OffsetsTopic | None:
    """The topic's partitions, each folded as it is read; None where there is no such topic."""
    from eosctl.sources.kafka_topics import topic_facts
    from eosctl.sources.offsets_topics import offsets_bounds, read_offsets_partitions

    facts = topic_facts(wire, [topic])[topic]
    if facts is None:
        return None
    bounds = offsets_bounds(wire, topic, facts.partitions)
    total = sum(each.high_watermark - each.log_start_offset for each in bounds.values())
    with session.options.console.progress(f"reading {topic}", total, unit="records") as advance:
        parts = read_offsets_partitions(wire, bounds, OffsetsFold, advance)
    return OffsetsTopic(topic, topic_facts_or_skipped(wire, topic), parts)
