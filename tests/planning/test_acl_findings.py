"""What the ACL plan cannot know it says: references, policies of other people's classes, topics that nobody names."""

import pytest

from eosctl.analysis.acl_findings import find_hidden
from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclPlan, AclRequest
from eosctl.model.acls import PatternType
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.model.offsets import SourceSupport
from eosctl.planning.acls import plan_acls
from tests.planning.test_acls import NAMES, SINK, SOURCE, WORKER, _no_certificate, lines, plan, sasl, with_settings

MIRROR = connector_of(
    {
        "name": "m",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "up",
        "target.cluster.alias": "down",
        "topics": "orders",
        "source.cluster.bootstrap.servers": "up:9092",
        "target.cluster.bootstrap.servers": "broker:9092",
        "heartbeats.replication.enabled": "false",
        "sync.topic.acls.enabled": "false",
    },
    "m.json",
)


@pytest.mark.parametrize(
    ("connector", "resource"),
    [
        (with_settings(SOURCE, topic="${file:/etc/x:topic}"), "Topic ${file:/etc/x:topic}"),
        (with_settings(SOURCE, offsets_storage_topic="${env:OFFSETS}"), "Topic ${env:OFFSETS}"),
        (with_settings(SINK, topics="${file:/etc/x:in}"), "Topic ${file:/etc/x:in}"),
        (with_settings(SINK, consumer_override_group_id="eu-${env:G}"), "Group eu-${env:G}"),
        (with_settings(SINK, errors_deadletterqueue_topic_name="${dir:/x:dlq}"), "Topic ${dir:/x:dlq}"),
    ],
)
def test_no_acl_is_planned_on_a_reference_that_only_a_worker_resolves(connector: ConnectorConfig, resource: str):
    found = plan(connector)
    assert not [each for each in found.bindings if "${" in each.binding.pattern.name]
    assert [each.evidence["resource"] for each in found.findings if each.name == "reference-unresolved"] == [resource]


def test_a_connectors_own_name_is_no_reference():
    odd = connector_of({"name": "${a:b}", "connector.class": "FileStreamSource", "topic": "out"}, "c.json")
    found = plan(odd)
    assert found.findings == ()
    assert "producer Write TransactionalId g-${a:b}-0" in lines(found)


def test_a_workers_names_must_be_told():
    with pytest.raises(ConfigError, match=r"group\.id is \$\{env:GROUP\}, a reference"):
        worker_of(NAMES | {"group.id": "${env:GROUP}"}, "worker.properties")


def test_a_number_of_tasks_that_is_a_reference_is_planned_as_far_as_it_is_known():
    unknown = with_settings(SOURCE, tasks_max="${env:TASKS}")
    found = plan(unknown, headroom=2)
    assert [(each.name, each.subject) for each in found.findings] == [("tasks-unknown", "c")]
    assert "producer Write TransactionalId g-c-2" in lines(found)
    assert plan(unknown, pattern_type=PatternType.PREFIXED).findings == ()


def with_policy(policy: str, connector: ConnectorConfig) -> AclPlan:
    told = {key: each.value for key, each in WORKER.properties.items()}
    worker = worker_of(told | {"connector.client.config.override.policy": policy}, "w")
    return plan_acls(AclRequest((ConnectCluster((worker,), (connector,)),), SourceSupport.ENABLED), _no_certificate)


@pytest.mark.parametrize("policy", ["org.example.Own", "org.example.PrincipalConnectorClientConfigOverridePolicy"])
def test_a_policy_of_somebody_elses_class_is_followed_and_told(policy: str):
    overriding = with_settings(SOURCE, **{key.replace(".", "_"): text for key, text in _overrides().items()})
    found = with_policy(policy, overriding)
    assert "other Write Topic out" in lines(found)
    assert [each.name for each in found.findings] == ["override-policy-unknown"]
    assert policy in found.findings[0].message
    assert with_policy(policy, SOURCE).findings == (), "nothing is overridden"


@pytest.mark.parametrize(
    "policy", ["All", "org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy"]
)
def test_kafkas_own_policies_are_known(policy: str):
    overriding = with_settings(SOURCE, **{key.replace(".", "_"): text for key, text in _overrides().items()})
    assert with_policy(policy, overriding).findings == ()


def _overrides() -> dict[str, str]:
    return sasl("producer.override.", "other")


def test_a_replication_policy_of_somebody_elses_class_has_its_topics_asked_for():
    own = with_settings(MIRROR, replication_policy_class="org.example.Own")
    found = plan(own)
    assert [(each.name, each.subject) for each in found.findings] == [("topics-unknown", "m")]
    assert "org.example.Own names them" in found.findings[0].message
    assert not any("up.orders" in each for each in lines(found) | lines(found, optional=True))


@pytest.mark.parametrize(
    ("policy", "mirrored"),
    [
        ("org.apache.kafka.connect.mirror.DefaultReplicationPolicy", "up.orders"),
        ("org.apache.kafka.connect.mirror.IdentityReplicationPolicy", "orders"),
    ],
)
def test_kafkas_replication_policies_name_the_mirrored_topics(policy: str, mirrored: str):
    assert f"producer Write Topic {mirrored}" in lines(plan(with_settings(MIRROR, replication_policy_class=policy)))


@pytest.mark.parametrize(
    ("kept", "syncs"), [("true", "mm2-offset-syncs_down_internal"), ("false", "mm2-offset-syncs.down.internal")]
)
def test_internal_topics_may_keep_their_dots(kept: str, syncs: str):
    separated = with_settings(
        MIRROR, replication_policy_separator="_", replication_policy_internal_topic_separator_enabled=kept
    )
    found = lines(plan(separated)) | lines(plan(separated), optional=True)
    assert f"ANONYMOUS Write Topic {syncs}" in found
    assert "producer Write Topic up_orders" in found


@pytest.mark.parametrize("regex", ["^orders", "orders$", "^orders$"])
def test_anchors_of_a_regular_expression_say_nothing(regex: str):
    mirror = with_settings(MIRROR, topics=regex)
    assert "producer Write Topic up.orders" in lines(plan(mirror))


@pytest.mark.parametrize(
    ("regex", "read"),
    [
        ("orders|payments-.*", {"orders", "prefixed payments-"}),
        (r"orders\.eu|c", {"orders.eu", "c"}),
        (r"orders\|eu", {"*"}),
        ("(a|b)c", {"*"}),
        ("orders|.*", {"orders", "*"}),
        ("ab?c", {"prefixed a"}),
    ],
)
def test_a_regular_expression_is_planned_by_what_its_branches_begin_with(regex: str, read: set[str]):
    sink = with_settings(SINK, topics_regex=regex, topics="")
    found = {each.removeprefix("consumer Read Topic ") for each in lines(plan(sink)) if "consumer Read Topic" in each}
    assert found == read


def test_settings_that_brokers_hide_are_told_with_what_they_may_mean():
    found = list(find_hidden({"super.users", "allow.everyone.if.no.acl.found"}))
    assert [(each.subject, each.counts) for each in found] == [
        ("super.users", False),
        ("allow.everyone.if.no.acl.found", False),
    ]
    assert "takes the resource from everybody else" in found[1].message
    assert list(find_hidden(set())) == []


def test_a_name_that_no_topic_can_have_is_told_where_only_the_connector_knows_what_it_makes_of_it():
    template = connector_of({"name": "c", "connector.class": "org.example.Jdbc", "topic": "rows of %t"}, "c.json")
    [told] = [each for each in plan(template).findings if each.id == "EOS136"]
    assert "'rows of %t' is not a topic's name" in told.message
    assert not any("rows" in each for each in lines(plan(template)))
