"""The ACLs of whole Connect clusters: needs of all clients, each binding once, and what was found on the way.

1. Every worker's own needs, then those of its connectors: sources, sinks, MirrorMaker 2's, then eosctl's own.
2. One binding for equal needs of one principal in one cluster; its reasons are kept.
3. A need is dropped where the same principal has a binding on the same pattern that implies it (Write implies Describe)
   and that is at least as much required. Its reasons move there.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.acl_findings import find_in_acls
from eosctl.analysis.authorizer import allows
from eosctl.codecs.principals import SubjectOf
from eosctl.model.acl_plan import AclPlan, AclWish, Need, PlannedBinding, Reason
from eosctl.model.acls import IMPLIED_BY, AclBinding, ResourcePattern
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.planning.acl_clients import Planner, PrincipalBook
from eosctl.planning.eosctl_acls import plan_eosctl
from eosctl.planning.mirror_acls import plan_mirror
from eosctl.planning.sink_acls import plan_sink
from eosctl.planning.source_acls import plan_source
from eosctl.planning.worker_acls import plan_worker

_Place = tuple[frozenset[str], AclBinding]
_CAN_BE_IMPLIED: Final = frozenset(IMPLIED_BY)


def plan_acls(wish: AclWish, subject_of: SubjectOf) -> AclPlan:
    """The bindings that the clusters of `wish` need; raises ConfigError where a principal cannot be told."""
    book = PrincipalBook(wish, subject_of)
    needs = [need for cluster in wish.clusters for need in _needs_of(wish, book, cluster)]
    book.require()
    return AclPlan(tuple(merge_needs(needs)), tuple(find_in_acls(wish)))


def _needs_of(wish: AclWish, book: PrincipalBook, cluster: ConnectCluster) -> Iterator[Need]:
    for worker in cluster.workers:
        planner = Planner(wish, worker, book, wish.phase or worker.phase, cluster.connectors)
        yield from plan_worker(planner)
        for connector in cluster.connectors:
            yield from _connector_needs(planner, connector)
        yield from plan_eosctl(planner)


def _connector_needs(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    if connector.is_sink:
        yield from plan_sink(planner, connector)
    else:
        yield from plan_source(planner, connector)
        yield from plan_mirror(planner, connector)


def merge_needs(needs: Iterable[Need]) -> Iterator[PlannedBinding]:
    """Each needed binding once, by principal, resource and operation."""
    reasons: dict[_Place, dict[Reason, None]] = {}
    for need in needs:
        reasons.setdefault((need.cluster, need.binding), {})[need.reason] = None
    by_pattern: dict[tuple[frozenset[str], str, ResourcePattern], list[AclBinding]] = {}
    for cluster, binding in reasons:
        by_pattern.setdefault((cluster, binding.principal, binding.pattern), []).append(binding)
    for place in [each for each in reasons if each[1].operation in _CAN_BE_IMPLIED]:
        cluster, binding = place
        for other in by_pattern[cluster, binding.principal, binding.pattern]:
            implying = (cluster, other)
            if other is not binding and implying in reasons and _takes_over(reasons, implying, place):
                reasons[implying] |= reasons.pop(place)
                break
    yield from sorted((_planned(place, found) for place, found in reasons.items()), key=_order)


def _takes_over(reasons: dict[_Place, dict[Reason, None]], implying: _Place, implied: _Place) -> bool:
    if not allows(implying[1].operation, implied[1].operation):
        return False
    return any(each.loss is None for each in reasons[implying]) or all(
        each.loss is not None for each in reasons[implied]
    )


def _planned(place: _Place, reasons: dict[Reason, None]) -> PlannedBinding:
    cluster, binding = place
    return PlannedBinding(binding, cluster, tuple(sorted(reasons, key=lambda each: each.loss is not None)))


def _order(planned: PlannedBinding) -> tuple[tuple[str, ...], AclBinding]:
    return tuple(sorted(planned.cluster)), planned.binding
