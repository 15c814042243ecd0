"""The ACL plan for workers and connectors that name several Kafka clusters, or one of them in several ways."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.model.acl_plan import AclRequest
from eosctl.model.acls import AclBinding, Operation, transactional_id
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.offsets import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls, united
from tests.planning.test_acls import SOURCE, WORKER, _no_certificate, line, with_settings

HERE = frozenset({"broker:9092"})
ELSEWHERE = with_settings(
    SOURCE,
    **{f"{client}_override_bootstrap_servers": "other:9092" for client in ("producer", "consumer", "admin")},
)


def at(servers: str) -> WorkerConfig:
    """The worker of these bootstrap.servers."""
    told = {key: each.value for key, each in WORKER.properties.items()}
    return worker_of({**told, "bootstrap.servers": servers}, "worker.properties")


def request(*workers: WorkerConfig, connector: ConnectorConfig = SOURCE, **more: object) -> AclRequest:
    cluster = ConnectCluster(workers or (WORKER,), (connector,))
    return AclRequest((cluster,), SourceSupport.ENABLED, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "clusters"),
    [
        (["ab", "bc", "d"], {"ab": "abc", "bc": "abc", "d": "d"}),
        (["ab", "cd", "bc"], {"ab": "abcd", "cd": "abcd", "bc": "abcd"}),
        (["", "a"], {"": "", "a": "a"}),
    ],
)
def test_bootstrap_servers_that_share_an_address_lead_to_one_cluster(given, clusters):
    assert united(map(frozenset, given)) == {frozenset(one): frozenset(whole) for one, whole in clusters.items()}


def test_workers_that_name_some_brokers_alike_need_each_binding_once():
    asked = request(at("k1:9092, k2:9092"), at("k2:9092,k3:9092"))
    needed = [each.binding for each in plan_acls(asked, _no_certificate).bindings]
    assert len(needed) == len(set(needed))
    compared = compare_acls(asked, plan_acls(asked, _no_certificate), frozenset(needed), frozenset({"k1:9092"}))
    assert {str(each.status) for each in compared.compared} == {"present"}


def test_workers_that_name_no_broker_alike_are_one_where_somebody_says_so():
    apart = request(at("k1:9092"), at("k2:9092"))
    together = replace(apart, here=frozenset({"k1:9092", "k2:9092"}))
    sizes = [len(plan_acls(each, _no_certificate).bindings) for each in (apart, together)]
    assert sizes[0] > sizes[1]


def test_what_is_known_of_a_topic_counts_in_its_own_cluster_only():
    known = {"out": True, "offsets": True, "configs": True, "status": True}
    found = plan_acls(request(connector=ELSEWHERE, topics_known=known, here=HERE), _no_certificate)
    creating = {(line(each), each.is_optional) for each in found.bindings if each.binding.operation is Operation.CREATE}
    assert creating == {("admin Create Topic offsets", True)}, "the other cluster may have no such topic"


def test_an_offsets_topic_in_the_workers_cluster_is_created_by_the_worker():
    found = plan_acls(request(topics_known={"offsets": False}, here=HERE), _no_certificate)
    creating = {line(each) for each in found.bindings if each.binding.pattern.name == "offsets"}
    assert "worker Create Topic offsets" in creating
    assert "admin Create Topic offsets" not in creating


def test_bindings_of_the_other_cluster_are_not_known():
    asked = request(connector=ELSEWHERE, here=HERE)
    compared = compare_acls(asked, plan_acls(asked, _no_certificate), frozenset(), HERE).compared
    unknown = {line(each.planned) for each in compared if isinstance(each.status, Skipped)}
    assert "producer Write TransactionalId g-c-0" in unknown
    assert not any(each.startswith("worker") for each in unknown)


def ids_of(extra) -> set[str]:
    return {each.binding.pattern.name for each in extra}


def test_what_other_connectors_may_need_is_not_extra():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    whole = request()
    [cluster] = whole.clusters
    for other, extra in (
        (cluster, {"g-gone-0"}),
        (replace(cluster, others=("gone",)), set()),
        (replace(cluster, all_known=False), set()),
    ):
        asked = replace(whole, clusters=(other,))
        found = compare_acls(asked, plan_acls(asked, _no_certificate), frozenset({gone}), HERE)
        assert ids_of(found.extra) == extra


def test_a_connector_that_nobody_asked_for_is_a_neighbour_all_the_same():
    [cluster] = request().clusters
    asked = AclRequest((replace(cluster, others=("c-eu", "unlike")),), SourceSupport.ENABLED)
    [finding] = plan_acls(asked, _no_certificate).findings
    assert (finding.name, finding.subject) == ("transactional-id-prefix", "g-c-")
    assert "connector c-eu of group g" in finding.message


def test_two_clusters_of_one_group_are_both_looked_at_for_collisions():
    first = ConnectCluster((at("a:9092"),), (SOURCE,))
    second = ConnectCluster((at("b:9092"),), (connector_of({"name": "c-x", "connector.class": "X"}, "x"),))
    found = plan_acls(AclRequest((first, second), SourceSupport.ENABLED), _no_certificate).findings
    assert "transactional-id-prefix" in {each.name for each in found}


def test_eosctl_looks_after_a_connector_where_it_writes():
    named = {(ClientRole.EOSCTL, None): "User:tool"}
    found = plan_acls(request(connector=ELSEWHERE, here=HERE, principals=named), _no_certificate).bindings
    there = {line(each) for each in found if each.cluster == frozenset({"other:9092"})}
    here = {line(each) for each in found if each.cluster == HERE}
    looked_after = {"tool Read Topic out", "tool Read Topic offsets", "tool Write TransactionalId g-c-0"}
    assert looked_after <= there
    assert looked_after & here == {"tool Read Topic offsets"}, "the worker-global one is read as well"
    assert "tool Describe TransactionalId connect-cluster-g" in here
