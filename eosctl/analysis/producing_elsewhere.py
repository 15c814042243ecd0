"""Findings about a connector whose producer is sent to other bootstrap.servers than the worker's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from eosctl.analysis.catalogue.offsets import PRODUCES_ELSEWHERE
from eosctl.model.merged_offsets import ConnectorOffsets
from eosctl.model.offset_stores import OffsetStores
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped, not_asked

SETTING: Final = "producer.override.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Clusters:
    """IDs of Kafka clusters: the workers', and those behind other bootstrap.servers as far as they could be asked."""

    workers: str | None = None
    others: Mapping[frozenset[str], str | Skipped] = field(default_factory=dict)


NO_CLUSTERS: Final = Clusters()


def producing_elsewhere(connector: ConnectorOffsets, clusters: Clusters) -> Iterator[Finding]:
    """Where its records go, and what that means for its offsets and its transactional IDs."""
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
    other = clusters.others.get(servers, not_asked("it was not asked"))
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
        kept = f"its offsets are kept over there, in topic {written.topic}, and its transactional IDs, if it has any"
        cure = f"give those brokers to migrate-offsets and fence: -b {named} --connect-url …"
    return PRODUCES_ELSEWHERE.finding(
        name,
        f"its producer has {SETTING}={named}: {where}; {kept}",
        {"servers": sorted(servers), "cluster_id": other, "written_to": str(written)},
        cure=cure,
        severity=Severity.INFO,
    )
