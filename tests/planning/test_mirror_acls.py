"""The rules of the ACL plan for MirrorMaker 2; tests/integration shows that a real one agrees."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import decode_worker_file
from eosctl.model.acl_plan import AclRequest
from eosctl.model.client_roles import ClientRole
from eosctl.planning.acls import plan_acls
from tests.planning.test_acls import JAAS, line


def _no_certificate(_: object) -> str:
    raise AssertionError("no client shows a certificate")


MIRROR_MAKER = """
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A.security.protocol = SASL_SSL
A.sasl.mechanism = PLAIN
A.sasl.jaas.config = {a}
B.security.protocol = SASL_SSL
B.sasl.mechanism = PLAIN
B.sasl.jaas.config = {b}
B.exactly.once.source.support = enabled
A->B.enabled = true
A->B.topics = orders, logs-.*
A->B.tasks.max = 2
emit.heartbeats.enabled = false
"""


def test_mirror_maker_is_a_connect_cluster_on_the_target_with_clients_on_both_sides():
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b"))
    [flow] = decode_worker_file(text, "mm2.properties")
    assert flow.group_id == "A-mm2"
    found = plan_acls(AclRequest((flow,)), _no_certificate)
    by_cluster = {server: set() for server in ("a:9092", "b:9092")}
    for each in found.bindings:
        [server] = each.cluster
        by_cluster[server].add(line(each))
    assert {
        "at-a Read Topic orders",
        "at-a Read Topic prefixed logs-",
        "at-a DescribeConfigs Topic orders",
        "at-a Write Topic mm2-offset-syncs.B.internal",
    } <= by_cluster["a:9092"]
    assert {
        "at-b Read Topic mm2-configs.A.internal",
        "at-b Write TransactionalId connect-cluster-A-mm2",
        "at-b Write TransactionalId A-mm2-MirrorSourceConnector-1",
        "at-b Write Topic A.orders",
        "at-b Write Topic prefixed A.logs-",
        "at-b Write Topic A.checkpoints.internal",
        "at-b Create Topic A.orders",
    } <= by_cluster["b:9092"]
    assert not any(each.startswith("at-b") for each in by_cluster["a:9092"])


def test_flows_that_only_carry_heartbeats_have_no_source_connector():
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b")).replace(
        "emit.heartbeats.enabled = false", ""
    )
    flows = {each.group_id: [connector.name for connector in each.connectors] for each in decode_worker_file(text, "m")}
    assert flows["B-mm2"] == ["MirrorHeartbeatConnector"]
    assert len(flows["A-mm2"]) == 3


@pytest.mark.parametrize(
    ("settings", "planned"),
    [
        ("", True),
        ("heartbeats.replication.enabled = false", False),
        ("A->B.topics = .*", False),
    ],
    ids=["by name", "switched off", "all topics are mirrored"],
)
def test_heartbeats_of_the_source_cluster_are_mirrored_whatever_topics_says(settings: str, planned: bool):
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b")) + settings
    found = plan_acls(AclRequest(decode_worker_file(text, "mm2.properties")), _no_certificate)
    optional = {line(each) for each in found.bindings if each.is_optional}
    heartbeats = {
        "at-a DescribeConfigs Topic heartbeats",
        "at-a Read Topic heartbeats",
        "at-b Write Topic A.heartbeats",
        "at-b Create Topic A.heartbeats",
    }
    assert (heartbeats <= optional) is planned
    assert bool(heartbeats & optional) is planned


IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
RING = """
clusters = A, B, C
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
C.bootstrap.servers = c:9092
A->B.enabled = true
B->A.enabled = true
C->A.enabled = true
topics = orders
emit.heartbeats.enabled = false
"""


@pytest.mark.parametrize(
    ("settings", "carried"),
    [
        ("", {"heartbeats", "C.heartbeats"}),
        ("C->A.heartbeats.replication.enabled = false", {"heartbeats"}),
        ("A->B.heartbeats.replication.enabled = false", set()),
        ("A->B.topics = C.heartbeats\nA->B.heartbeats.replication.enabled = false", {"C.heartbeats"}),
        ("B->C.enabled = true", {"heartbeats", "C.heartbeats"}),
        (f"replication.policy.class = {IDENTITY}\nA->B.topics = .*", set()),
    ],
    ids=["another flow brings them", "not brought", "switched off", "by name", "no cycle", "all topics, same names"],
)
def test_heartbeats_that_another_flow_brings_into_the_source_cluster_are_mirrored_on(settings: str, carried: set[str]):
    """Those that came from the target cluster are not sent back; a plan for all topics has them anyway."""
    clusters = decode_worker_file(RING + settings, "mm2.properties")
    users = {(role, None): f"User:{role}" for role in ClientRole}
    found = plan_acls(AclRequest(clusters, principals=users), _no_certificate).bindings
    read = names({line(each) for each in found if "a:9092" in each.cluster}, "mirror-source-consumer Read Topic ")
    written = names({line(each) for each in found if "b:9092" in each.cluster}, "producer Write Topic ")
    assert {each for each in read if each.endswith("heartbeats")} == carried
    assert {each for each in written if each.endswith(".heartbeats")} == {f"A.{each}" for each in carried}


@pytest.mark.parametrize(
    ("topics", "described", "committed"),
    [
        ("orders, logs-.*", {"orders", "prefixed logs-"}, {"A.orders", "prefixed A.logs-"}),
        (".*", {"*"}, {"prefixed A."}),
    ],
)
def test_checkpoints_are_of_the_mirrored_topics_only(topics: str, described: set[str], committed: set[str]):
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b")).replace("orders, logs-.*", topics)
    [flow] = decode_worker_file(text + "sync.group.offsets.enabled = true\n", "mm2.properties")
    [checkpoint] = [each for each in flow.connectors if each.class_name == "MirrorCheckpoint"]
    found = plan_acls(AclRequest((replace(flow, connectors=(checkpoint,)),)), _no_certificate)
    lines = {line(each) for each in found.bindings}
    syncs = "mm2-offset-syncs.B.internal"
    assert names(lines, "at-a Describe Topic ") - {syncs} == described
    own = {"A.checkpoints.internal", "mm2-configs.A.internal", "mm2-offsets.A.internal", "mm2-status.A.internal"}
    assert names(lines, "at-b Read Topic ") - own == committed


def names(lines: set[str], beginning: str) -> set[str]:
    return {each.removeprefix(beginning) for each in lines if each.startswith(beginning)}
