"""Findings about the ACLs of a request: owners that share IDs, and what a check lacks."""

import pytest

from eosctl.analysis.acl_findings import find_colliding, find_missing, kinds_looked_for
from eosctl.analysis.catalogue import plans as kinds
from eosctl.model.acl_plan import AclRequest, PlannedBinding, Reason
from eosctl.model.acls import AclBinding, Operation, PatternType, topic
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.offsets import SourceSupport

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def cluster(group_id: str, *asked: str, others: tuple[str, ...] = (), sinks: tuple[str, ...] = ()) -> ConnectCluster:
    worker = WorkerConfig(as_properties({"group.id": group_id}))
    sources = [ConnectorConfig(each, {}, type="source") for each in asked]
    return ConnectCluster(
        (worker,), (*sources, *(ConnectorConfig(each, {}, type="sink") for each in sinks)), others=others
    )


def colliding(*clusters: ConnectCluster, pattern_type: PatternType = LITERAL) -> list[tuple[str, str, str]]:
    request = AclRequest(clusters, SourceSupport.ENABLED, pattern_type=pattern_type)
    return [(each.name, each.subject, each.severity) for each in find_colliding(request)]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (cluster("a", "b-c"), cluster("a-b", "c"), True),
        (cluster("a", "b-c"), cluster("a-b", others=("c",)), True),
        (cluster("a", others=("b-c",)), cluster("a-b", "c"), True),
        (cluster("a", others=("b-c",)), cluster("a-b", others=("c",)), False),
        (cluster("a", "b-c"), cluster("a-b", sinks=("c",)), False),
        (cluster("a", "b-c"), cluster("a-b", "d"), False),
    ],
)
def test_two_owners_of_the_same_ids_collide_where_one_of_them_is_planned(first, second, found) -> None:
    equal = [each for each in colliding(first, second) if each[0] == kinds.COLLISION.name]
    assert [each[1] for each in equal] == (["a-b-c-"] if found else [])


@pytest.mark.parametrize(
    ("cluster", "pattern_type", "severity"),
    [
        (cluster("a", "b", "b-c"), PREFIXED, "warning"),
        (cluster("a", "b", "b-c"), LITERAL, "info"),
        (cluster("a", "b", others=("b-c",)), PREFIXED, "warning"),
        (cluster("a", "b-c", others=("b",)), PREFIXED, None),
        (cluster("a", "b", "c"), PREFIXED, None),
    ],
)
def test_a_prefix_of_a_planned_connector_that_covers_another_one_is_worse_where_acls_are_prefixed(
    cluster, pattern_type, severity
) -> None:
    found = colliding(cluster, pattern_type=pattern_type)
    assert [each[2] for each in found] == ([] if severity is None else [severity])
    assert all(each[0] != kinds.COLLISION.name for each in found)


def test_missing_bindings_are_looked_for_by_a_check_only() -> None:
    assert set(kinds_looked_for(check=True)) - set(kinds_looked_for(check=False)) == {kinds.REQUIRED_MISSING}
    assert kinds_looked_for(check=False)


def planned(number: int, *connectors: str | None) -> PlannedBinding:
    reasons = tuple(Reason(ClientRole.PRODUCER, each, "why", "source", "symptom", None) for each in connectors)
    return PlannedBinding(AclBinding("User:p", Operation.WRITE, topic(f"t{number}")), frozenset(), reasons)


@pytest.mark.parametrize(("count", "more"), [(1, ""), (3, ""), (4, "; and 1 more"), (21, "; and 18 more")])
def test_a_connector_lacks_its_bindings_by_number_and_three_of_them_by_name(count, more) -> None:
    [found] = find_missing([planned(number, "c") for number in range(count)])
    assert found.subject == "c"
    assert found.message.startswith(f"{count} required ")
    assert found.message.endswith(more)
    assert ("more" in found.message) == bool(more)
    assert "t3" not in found.message
    assert (found.evidence["count"], len(found.evidence["bindings"])) == (count, min(count, 20))


def test_a_binding_that_several_need_is_missing_for_each_of_them_once() -> None:
    found = find_missing([planned(0, "c", None, "c"), planned(1, None)])
    assert [(each.subject, each.evidence["count"]) for each in found] == [("c", 1), ("workers", 2)]
