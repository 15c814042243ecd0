"""The ACLs of whole Connect clusters: needs of all clients, each binding once, and what was found on the way.

1. Every worker's own needs, then those of its connectors: sources, sinks, MirrorMaker 2's, Debezium's, then
   eosctl's own.
2. One binding for equal needs of one principal in one cluster; its reasons are kept. Clients whose bootstrap.servers
   share an address are clients of one cluster.
3. A need is dropped where the same principal has a binding on the same pattern that implies it (Write implies Describe)
   and that is at least as much required. Its reasons move there.
4. Names that are references to a config provider are findings: only a worker knows what they stand for. So are those
   that no topic can have.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from eosctl.analysis.acl_findings import find_in_acls
from eosctl.analysis.authorizer import allows
from eosctl.analysis.catalogue.acls import REFERENCE_UNRESOLVED
from eosctl.codecs.principals import SubjectOf
from eosctl.model.acl_plan import AclPlan, AclRequest, Need, PlannedBinding, Reason
from eosctl.model.acls import IMPLIED_BY, AclBinding, PatternType, ResourcePattern, ResourceType
from eosctl.model.client_properties import REFERENCE
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.model.names import is_topic_name
from eosctl.model.report import Finding
from eosctl.planning.acl_clients import Planner, PrincipalBook
from eosctl.planning.debezium_acls import plan_debezium
from eosctl.planning.eosctl_acls import plan_eosctl
from eosctl.planning.mirror_acls import plan_mirror
from eosctl.planning.sink_acls import plan_sink
from eosctl.planning.source_acls import plan_source
from eosctl.planning.worker_acls import plan_worker

_Place = tuple[frozenset[str], AclBinding]
_Reasons = tuple[Reason] | dict[Reason, None]
"""Different reasons in the order in which they came: nearly every binding has one, and some have thousands."""
_CAN_BE_IMPLIED: Final = frozenset(IMPLIED_BY)


def plan_acls(request: AclRequest, subject_of: SubjectOf) -> AclPlan:
    """The bindings that the clusters of `request` need; raises ConfigError where a principal is not known."""
    book = PrincipalBook(request, subject_of)
    needs = [need for cluster in request.clusters for need in _needs_of(request, book, cluster)]
    book.require()
    named = [each for each in needs if not _is_reference(each) and _is_possible(each)]
    findings = (*find_in_acls(request), *_references(each for each in needs if _is_reference(each)))
    return AclPlan(tuple(merge_needs(named, request.here or frozenset())), findings)


def _is_reference(need: Need) -> bool:
    """Rule 4; a connector may itself be called like a reference."""
    name = need.binding.pattern.name
    if "${" not in name:
        return False
    connector = need.reason.connector
    return REFERENCE.search(name if connector is None else name.replace(connector, "")) is not None


def _is_possible(need: Need) -> bool:
    """Whether there may be the topic that a connector needs (Topic.validate); findings name those that cannot run."""
    pattern = need.binding.pattern
    if pattern.resource_type is not ResourceType.TOPIC or pattern.is_wildcard or need.reason.connector is None:
        return True
    return is_topic_name(f"{pattern.name}-" if pattern.pattern_type is PatternType.PREFIXED else pattern.name)


def _references(needs: Iterable[Need]) -> Iterator[Finding]:
    places = dict.fromkeys((each.reason.connector or "a worker", each.binding.pattern) for each in needs)
    for connector, pattern in places:
        yield REFERENCE_UNRESOLVED.finding(
            connector,
            f"it names {pattern}, a reference that only a worker resolves: no ACL on it is planned",
            {"resource": str(pattern)},
        )


def _needs_of(request: AclRequest, book: PrincipalBook, cluster: ConnectCluster) -> Iterator[Need]:
    for worker in cluster.workers:
        phase = request.phase or worker.phase
        assert phase is not None, "AclRequest asks for workers whose phase is known"
        planner = Planner(request, worker, book, phase, cluster.connectors)
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
        yield from plan_debezium(planner, connector)


def merge_needs(needs: Sequence[Need], here: frozenset[str] = frozenset()) -> Iterator[PlannedBinding]:
    """Each needed binding once, by principal, resource and operation; `here` are addresses of one cluster."""
    reasons: dict[_Place, _Reasons] = {}
    clusters = united([here, *{cluster for _, cluster, _ in needs}])
    for binding, addresses, reason in needs:
        place = (clusters[addresses], binding)
        found = reasons.get(place)
        if found is None:
            reasons[place] = (reason,)
        elif isinstance(found, dict):
            found[reason] = None
        elif reason not in found:
            reasons[place] = dict.fromkeys((*found, reason))
    _drop_implied(reasons)
    for cluster in sorted({cluster for cluster, _ in reasons}, key=sorted):
        for place in sorted((each for each in reasons if each[0] == cluster), key=itemgetter(1)):
            yield _planned(place, reasons[place])


def united(clusters: Iterable[frozenset[str]]) -> dict[frozenset[str], frozenset[str]]:
    """For each set of bootstrap servers all addresses of its cluster, as far as the sets overlap."""
    given = tuple(clusters)
    known: dict[str, frozenset[str]] = {}
    for addresses in given:
        joined = addresses.union(*(known.get(each, addresses) for each in addresses))
        known |= dict.fromkeys(joined, joined)
    return {addresses: known[next(iter(addresses))] if addresses else addresses for addresses in given}


def _drop_implied(reasons: dict[_Place, _Reasons]) -> None:
    """Rule 3: needs that another binding of the same principal on the same pattern implies go, their reasons stay."""
    implied = [each for each in reasons if each[1].operation in _CAN_BE_IMPLIED]
    beside: dict[tuple[frozenset[str], str, ResourcePattern], list[_Place]] = {
        (cluster, binding.principal, binding.pattern): [] for cluster, binding in implied
    }
    for place in reasons if beside else ():
        cluster, binding = place
        there = beside.get((cluster, binding.principal, binding.pattern))
        if there is not None:
            there.append(place)
    for place in implied:
        cluster, binding = place
        for other in beside[cluster, binding.principal, binding.pattern]:
            if other is not place and other in reasons and _takes_over(reasons, other, place):
                reasons[other] = dict.fromkeys((*reasons[other], *reasons.pop(place)))
                break


def _takes_over(reasons: dict[_Place, _Reasons], implying: _Place, implied: _Place) -> bool:
    if not allows(implying[1].operation, implied[1].operation):
        return False
    return any(each.loss is None for each in reasons[implying]) or all(
        each.loss is not None for each in reasons[implied]
    )


def _planned(place: _Place, reasons: _Reasons) -> PlannedBinding:
    cluster, binding = place
    found = tuple(reasons)
    return PlannedBinding(binding, cluster, found if len(found) == 1 else tuple(sorted(found, key=_is_optional)))


def _is_optional(reason: Reason) -> bool:
    return reason.loss is not None
