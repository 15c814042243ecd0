"""The rules of the ACL plan; tests/integration shows that a real worker agrees."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclPlan, AclRequest, PlannedBinding
from eosctl.model.acls import PatternType
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig
from eosctl.model.offsets import SourceSupport
from eosctl.model.versions import KafkaVersion
from eosctl.planning.acls import plan_acls

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="x";'
NAMES = {
    "bootstrap.servers": "broker:9092",
    "group.id": "g",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "status",
}


def sasl(prefix: str, user: str) -> dict[str, str]:
    return {
        f"{prefix}security.protocol": "SASL_SSL",
        f"{prefix}sasl.mechanism": "PLAIN",
        f"{prefix}sasl.jaas.config": JAAS.format(user),
    }


CLIENTS = sasl("producer.", "producer") | sasl("consumer.", "consumer") | sasl("admin.", "admin")
WORKER = worker_of(NAMES | sasl("", "worker") | CLIENTS, "worker.properties")
SOURCE = connector_of({"name": "c", "connector.class": "FileStreamSource", "topic": "out"}, "c.json")
SINK = connector_of({"name": "s", "connector.class": "FileStreamSink", "topics": "in, more"}, "s.json")


def plan(*connectors: ConnectorConfig, phase: SourceSupport = SourceSupport.ENABLED, **request: object) -> AclPlan:
    cluster = ConnectCluster((WORKER,), connectors)
    return plan_acls(AclRequest((cluster,), phase, **request), _no_certificate)  # type: ignore[arg-type]


def _no_certificate(_: object) -> str:
    raise AssertionError("no client shows a certificate")


def lines(found: AclPlan, *principals: str, optional: bool = False) -> set[str]:
    return {
        line(each)
        for each in found.bindings
        if each.is_optional is optional and (not principals or each.binding.principal[5:] in principals)
    }


def line(planned: PlannedBinding) -> str:
    binding = planned.binding
    return f"{binding.principal[5:]} {binding.operation} {binding.pattern}"


def with_settings(connector: ConnectorConfig, **settings: str) -> ConnectorConfig:
    told = {key: each.value for key, each in connector.properties.items()}
    return connector_of(told | {key.replace("_", "."): value for key, value in settings.items()}, "c.json")


def test_without_exactly_once_a_source_needs_its_topic_only():
    found = plan(SOURCE, phase=SourceSupport.DISABLED)
    assert lines(found, "producer", "consumer", "admin") == {"producer Write Topic out"}
    assert "worker Write Topic offsets" in lines(found)
    assert not any("TransactionalId" in each for each in lines(found))


def test_preparing_adds_the_leaders_transactional_id_and_nothing_else():
    before, after = (lines(plan(SOURCE, phase=phase)) for phase in (SourceSupport.DISABLED, SourceSupport.PREPARING))
    assert after - before == {"worker Write TransactionalId connect-cluster-g"}
    assert before <= after


def test_with_exactly_once_each_client_of_a_source_needs_its_own():
    assert lines(plan(SOURCE), "producer", "consumer", "admin") == {
        "producer Write Topic out",
        "producer Write Topic offsets",
        "producer Write TransactionalId g-c-0",
        "consumer Read Topic offsets",
        "admin Describe Topic offsets",
        "admin Write TransactionalId g-c-0",
    }


def test_ids_go_up_to_the_last_task_count_record_and_the_headroom():
    shrunk = replace(with_settings(SOURCE, tasks_max="2"), task_count=2, task_count_record=4)
    ids = {each for each in lines(plan(shrunk, headroom=1), "admin") if "TransactionalId" in each}
    assert ids == {f"admin Write TransactionalId g-c-{task}" for task in range(5)}


def test_a_connector_without_tasks_still_needs_the_id_of_task_0_to_reset_its_offsets():
    stopped = replace(with_settings(SOURCE, tasks_max="0"), task_count=0, task_count_record=0)
    assert "producer Write TransactionalId g-c-0" in lines(plan(stopped))


def test_a_prefix_ends_with_the_dash():
    found = lines(plan(SOURCE, pattern_type=PatternType.PREFIXED), "producer")
    assert "producer Write TransactionalId prefixed g-c-" in found


def test_an_offsets_topic_of_its_own_is_used_in_every_phase_and_created_by_the_admin_client():
    own = with_settings(SOURCE, offsets_storage_topic="own")
    found = plan(own, phase=SourceSupport.DISABLED, topics_known={"own": False})
    assert lines(found, "producer", "consumer", "admin") == {
        "producer Write Topic out",
        "producer Write Topic own",
        "consumer Read Topic own",
        "admin Describe Topic own",
        "admin Create Topic own",
    }


def test_creating_is_planned_where_the_topic_is_missing_and_optional_where_nobody_knows():
    known = {"configs": True, "offsets": False}
    found = plan(SOURCE, topics_known=known)
    created = {each for each in lines(found, "worker") | lines(found, "worker", optional=True) if "Create" in each}
    assert created == {"worker Create Topic offsets", "worker Create Topic status"}
    assert "worker Create Topic status" in lines(found, optional=True)


def test_topic_creation_settings_make_the_admin_client_describe_and_create():
    creating = with_settings(SOURCE, topic_creation_default_partitions="1")
    found = plan(creating, phase=SourceSupport.DISABLED, topics_known={"out": False})
    assert lines(found, "admin") == {"admin Describe Topic out", "admin Create Topic out"}


def test_transactional_producers_need_no_idempotent_write_but_old_manuals_are_heard():
    assert not any("Idempotent" in each for each in lines(plan(SOURCE)) | lines(plan(SOURCE), optional=True))
    old = plan(SOURCE, broker_version=KafkaVersion(2, 7))
    assert "producer IdempotentWrite Cluster kafka-cluster" in lines(old, optional=True)


def test_an_idempotent_producer_without_exactly_once_needs_it_before_2_8():
    idempotent = with_settings(SOURCE, producer_override_enable_idempotence="true")
    needed = "producer IdempotentWrite Cluster kafka-cluster"
    for version, expected in ((KafkaVersion(2, 7), True), (KafkaVersion(2, 8), False)):
        found = plan(idempotent, phase=SourceSupport.DISABLED, broker_version=version)
        assert (needed in lines(found)) is expected


def test_a_sink_needs_its_topics_and_its_group_whatever_the_phase():
    plans = [lines(plan(SINK, phase=phase), "consumer", "producer", "admin") for phase in SourceSupport]
    assert plans == [{"consumer Read Topic in", "consumer Read Topic more", "consumer Read Group connect-s"}] * 3


def test_offsets_of_a_sink_over_rest_are_the_admin_clients_and_optional():
    assert lines(plan(SINK), "admin", optional=True) == {
        "admin Read Group connect-s",
        "admin Delete Group connect-s",
        "admin Read Topic in",
        "admin Read Topic more",
    }


def test_a_dead_letter_queue_is_written_by_the_producer_and_looked_for_by_the_admin_client():
    failing = with_settings(SINK, errors_deadletterqueue_topic_name="dead")
    found = plan(failing, topics_known={"dead": True})
    assert lines(found, "producer", "admin") == {"producer Write Topic dead", "admin Describe Topic dead"}


def test_an_overridden_group_is_the_one_that_is_read():
    found = plan(with_settings(SINK, consumer_override_group_id="mine"))
    assert "consumer Read Group mine" in lines(found)


def test_one_principal_for_all_needs_describe_only_where_nothing_implies_it():
    worker = worker_of(NAMES | sasl("", "all") | sasl("producer.", "all") | sasl("consumer.", "all"), "w")
    request = AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED)
    assert not any(" Describe " in each for each in lines(plan_acls(request, _no_certificate)))


def test_reasons_of_everybody_are_kept_where_a_binding_is_shared():
    worker = worker_of(NAMES | sasl("", "all") | sasl("producer.", "all") | sasl("consumer.", "all"), "w")
    request = AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED)
    [written] = [
        each for each in plan_acls(request, _no_certificate).bindings if "all Write Topic offsets" in line(each)
    ]
    assert {each.role for each in written.reasons} == {ClientRole.WORKER, ClientRole.PRODUCER}
    assert not written.is_optional


def test_producers_and_consumers_do_not_inherit_the_workers_credentials_but_admin_clients_do():
    worker = worker_of(NAMES | sasl("", "worker"), "w")
    request = AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED)
    found = lines(plan_acls(request, _no_certificate))
    assert "ANONYMOUS Write TransactionalId g-c-0" in found
    assert "worker Write TransactionalId g-c-0" in found


def test_an_override_that_the_policy_refuses_is_told_and_not_followed():
    overriding = connector_of(
        {key: each.value for key, each in SOURCE.properties.items()} | sasl("producer.override.", "other"), "c.json"
    )
    worker = worker_of(
        {key: each.value for key, each in WORKER.properties.items()}
        | {"connector.client.config.override.policy": "None"},
        "w",
    )
    found = plan_acls(AclRequest((ConnectCluster((worker,), (overriding,)),), SourceSupport.ENABLED), _no_certificate)
    assert "producer Write Topic out" in lines(found)
    assert [each.name for each in found.findings] == ["override-refused"]


@pytest.mark.parametrize("policy", ["All", "Principal", "org.example.AllConnectorClientConfigOverridePolicy"])
def test_an_override_of_credentials_is_followed_where_the_policy_allows_it(policy):
    overriding = connector_of(
        {key: each.value for key, each in SOURCE.properties.items()} | sasl("producer.override.", "other"), "c.json"
    )
    told = {key: each.value for key, each in WORKER.properties.items()}
    worker = worker_of(told | {"connector.client.config.override.policy": policy}, "w")
    found = plan_acls(AclRequest((ConnectCluster((worker,), (overriding,)),), SourceSupport.ENABLED), _no_certificate)
    assert "other Write Topic out" in lines(found)


def test_a_named_principal_wins_and_one_of_a_connector_over_one_of_a_role():
    principals = {(ClientRole.PRODUCER, None): "User:x", (ClientRole.PRODUCER, "c"): "User:y"}
    assert "y Write Topic out" in lines(plan(SOURCE, principals=principals))


def test_a_principal_that_cannot_be_told_names_role_property_and_cure():
    worker = worker_of(NAMES | {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "worker.properties")
    with pytest.raises(ConfigError) as caught:
        plan_acls(AclRequest((ConnectCluster((worker,), ()),)), _no_certificate)
    assert "worker (sasl.jaas.config:" in caught.value.message
    assert caught.value.hint == "name it: --principal worker=User:NAME"


def test_topics_that_the_config_does_not_tell_are_asked_for():
    unknown = connector_of({"name": "c", "connector.class": "org.example.Source"}, "c.json")
    [finding] = plan(unknown).findings
    assert (finding.name, finding.subject) == ("topics-unknown", "c")
    named = replace(unknown, topics=("out", "more.*"))
    found = plan(named)
    assert found.findings == ()
    assert {"producer Write Topic out", "producer Write Topic prefixed more."} <= lines(found)


def test_topics_that_a_transformation_renames_are_asked_for():
    routed = with_settings(SOURCE, transforms="r", transforms_r_type="org.apache.kafka.connect.transforms.RegexRouter")
    assert [each.name for each in plan(routed).findings] == ["topics-unknown"]


def test_eosctls_own_principal_is_planned_where_it_is_named():
    found = plan(SOURCE, principals={(ClientRole.EOSCTL, None): "User:tool"})
    assert {
        "tool Read Topic configs",
        "tool Describe Group g",
        "tool Describe Cluster kafka-cluster",
        "tool Describe TransactionalId g-c-0",
    } <= lines(found, "tool")
    assert {"tool Alter Cluster kafka-cluster", "tool Write TransactionalId g-c-0", "tool Read Topic out"} <= lines(
        found, "tool", optional=True
    )


@pytest.mark.parametrize(("version", "action"), [((3, 7), True), ((3, 8), False)])
def test_aborting_needs_cluster_action_on_brokers_before_3_8(version, action):
    principals = {(ClientRole.EOSCTL, None): "User:tool"}
    found = lines(plan(SOURCE, principals=principals, broker_version=KafkaVersion(*version)), "tool", optional=True)
    assert "tool Alter Cluster kafka-cluster" in found
    assert ("tool ClusterAction Cluster kafka-cluster" in found) is action


def test_every_binding_says_why_and_where_that_follows_from():
    everything = plan(with_settings(SOURCE, offsets_storage_topic="own"), SINK)
    for each in everything.bindings:
        for reason in each.reasons:
            assert reason.why
            assert reason.source
            assert reason.symptom


def test_a_dead_letter_queue_need_not_be_seen_by_whoever_creates_it():
    sink = with_settings(SINK, errors_deadletterqueue_topic_name="letters")
    seen = "admin Describe Topic letters"
    by_existence = {
        known: {line(each): each.is_optional for each in plan(sink, topics_known={"letters": known}).bindings}
        for known in (True, False)
    }
    assert by_existence[True].get(seen) is False
    assert by_existence[False].get(seen) is True


def test_nothing_is_planned_on_what_is_not_a_topics_name_and_the_rest_is():
    odd = with_settings(SOURCE, offsets_storage_topic="no topic!", topic="a b, out")
    found = plan(odd)
    assert {each for each in lines(found, "producer", "consumer", "admin") if "Topic" in each} == {
        "producer Write Topic out"
    }
    assert {each.id for each in found.findings} == {"EOS074"}
    assert "admin Write TransactionalId g-c-0" in lines(found)


def test_a_connector_that_claims_more_tasks_than_any_cluster_runs_has_a_prefix():
    claimed = replace(SOURCE, task_count_record=200_000)
    assert "admin Write TransactionalId prefixed g-c-" in lines(plan(claimed, SINK))
