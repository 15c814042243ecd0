"""ACLs that are needed: of connectors, of clusters, of mirrors and of Debezium."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.client_properties import resolve_principal
from eosctl.codecs.connector_files import connector_of, decode_worker_file, worker_of
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclPlan, AclRequest, PlannedBinding
from eosctl.model.acls import AclBinding, Operation, PatternType, transactional_id
from eosctl.model.client_properties import UNREAD, Property
from eosctl.model.client_roles import (
    ClientRole,
    ConnectCluster,
    ConnectorConfig,
    StreamsApplication,
    WorkerConfig,
)
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.model.workers import SourceSupport
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import merge_overlapping, plan_acls

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


CREATION = {"topic_creation_default_partitions": "1"}


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
    set_before = {key: each.value for key, each in connector.properties.items()}
    return connector_of(set_before | {key.replace("_", "."): value for key, value in settings.items()}, "c.json")


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


def test_creating_is_planned_where_the_topic_is_missing_and_optional_where_its_existence_is_unknown():
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


def test_a_sink_needs_its_topics_and_its_group_in_every_phase():
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


def test_the_reasons_of_every_client_are_kept_where_a_binding_is_shared():
    worker = worker_of(NAMES | sasl("", "all") | sasl("producer.", "all") | sasl("consumer.", "all"), "w")
    request = AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED)
    [written] = [
        each for each in plan_acls(request, _no_certificate).bindings if "all Write Topic offsets" in line(each)
    ]
    assert {each.role for each in written.reasons} == {ClientRole.WORKER, ClientRole.PRODUCER}
    assert [each.loss is None for each in written.reasons] == [True, False], "those without which something fails first"
    assert not written.is_optional


def test_producers_and_consumers_do_not_inherit_the_workers_credentials_but_admin_clients_do():
    worker = worker_of(NAMES | sasl("", "worker"), "w")
    request = AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED)
    found = lines(plan_acls(request, _no_certificate))
    assert "ANONYMOUS Write TransactionalId g-c-0" in found
    assert "worker Write TransactionalId g-c-0" in found


def test_an_override_that_the_policy_refuses_is_reported_and_not_followed():
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
    set_before = {key: each.value for key, each in WORKER.properties.items()}
    worker = worker_of(set_before | {"connector.client.config.override.policy": policy}, "w")
    found = plan_acls(AclRequest((ConnectCluster((worker,), (overriding,)),), SourceSupport.ENABLED), _no_certificate)
    assert "other Write Topic out" in lines(found)


def test_a_named_principal_wins_and_one_of_a_connector_over_one_of_a_role():
    principals = {(ClientRole.PRODUCER, None): "User:x", (ClientRole.PRODUCER, "c"): "User:y"}
    assert "y Write Topic out" in lines(plan(SOURCE, principals=principals))


def test_an_unresolved_principal_names_its_role_its_property_and_the_fix():
    worker = worker_of(NAMES | {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "worker.properties")
    with pytest.raises(ConfigError) as caught:
        plan_acls(AclRequest((ConnectCluster((worker,), ()),)), _no_certificate)
    assert "worker (sasl.jaas.config:" in caught.value.message
    assert caught.value.hint == "name it: --principal worker=User:NAME"


def test_without_a_worker_file_only_configured_mechanisms_are_named():
    nobody = {f"{prefix}security.protocol": Property(UNREAD, "no file was given") for prefix in ("", "producer.")}
    named = Property("org.apache.kafka.common.security.plain.PlainLoginModule required username=x;", "c.json")
    worker = WorkerConfig({**worker_of(NAMES, "w").properties, **nobody})
    with pytest.raises(ConfigError) as caught:
        plan_acls(AclRequest((ConnectCluster((worker,), (SOURCE,)),), SourceSupport.ENABLED), _no_certificate)
    assert "worker (security.protocol: no file was given); " in caught.value.message
    assert "--principal worker=User:NAME --principal connector=User:NAME (connector: all" in caught.value.hint
    properties = {**nobody, "sasl.mechanism": Property("PLAIN", "c.json"), "sasl.jaas.config": named}
    assert resolve_principal(properties, _no_certificate) == "User:x"


def test_topics_that_the_config_does_not_name_are_asked_for():
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


@pytest.mark.parametrize(
    ("settings", "why", "loss"),
    [
        ({}, "if a topic does not exist, a broker creates it", "another principal has to create the topic beforehand"),
        (CREATION, "a broker that does not know the new topic yet", "now and then a task is FAILED when Connect has"),
    ],
)
def test_a_producer_creates_the_topic_that_the_broker_takes_for_a_new_one(settings, why: str, loss: str):
    found = plan(with_settings(SOURCE, **settings), phase=SourceSupport.DISABLED, topics_known={"out": False})
    [created] = [each for each in found.bindings if line(each) == "producer Create Topic out"]
    [reason] = created.reasons
    assert (reason.why.startswith(why), str(reason.loss).startswith(loss)) == (True, True)


@pytest.mark.parametrize(("exists", "creates"), [(True, False), (False, True)])
def test_eosctl_creates_an_offsets_topic_that_does_not_exist(exists: bool, creates: bool):
    named = {(ClientRole.EOSCTL, None): "User:tool"}
    found = lines(plan(SOURCE, principals=named, topics_known={"offsets": exists}), "tool", optional=True)
    assert ("tool Create Topic offsets" in found) is creates


def test_what_eosctl_cannot_do_without_an_acl_on_the_cluster_is_said_of_each():
    found = plan(SOURCE, principals={(ClientRole.EOSCTL, None): "User:tool"}, broker_version=KafkaVersion(3, 7))
    losses = {line(each): each.loss for each in found.bindings}
    assert losses["tool Alter Cluster kafka-cluster"] == "applying ACL plans"
    assert losses["tool ClusterAction Cluster kafka-cluster"] == "aborting hanging transactions"


def test_the_topics_that_a_user_names_for_a_sink_win_over_its_config():
    found = lines(plan(replace(SINK, topics=("named",))), "consumer")
    assert found == {"consumer Read Topic named", "consumer Read Group connect-s"}


def test_topics_below_a_prefix_are_created_whichever_topic_has_its_name():
    found = plan(debezium(**CREATED), phase=SourceSupport.DISABLED, topics_known={"shop.": True})
    assert "admin Create Topic prefixed shop." in lines(found, optional=True)


@pytest.mark.parametrize(("version", "action"), [((3, 7), True), ((3, 8), False)])
def test_aborting_needs_cluster_action_on_brokers_before_3_8(version, action):
    principals = {(ClientRole.EOSCTL, None): "User:tool"}
    found = lines(plan(SOURCE, principals=principals, broker_version=KafkaVersion(*version)), "tool", optional=True)
    assert "tool Alter Cluster kafka-cluster" in found
    assert ("tool ClusterAction Cluster kafka-cluster" in found) is action


def test_every_binding_has_a_reason_and_its_source():
    everything = plan(with_settings(SOURCE, offsets_storage_topic="own"), SINK)
    for each in everything.bindings:
        for reason in each.reasons:
            assert reason.why
            assert reason.source
            assert reason.symptom


def test_the_principal_that_creates_a_dead_letter_queue_need_not_describe_it():
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


def test_topic_creation_settings_count_where_the_worker_creates_topics():
    creating = with_settings(SOURCE, topic_creation_default_partitions="1")
    given = {key: each.value for key, each in WORKER.properties.items()}
    for enabled, needed in (("true", True), ("false", False)):
        worker = worker_of(given | {"topic.creation.enable": enabled}, "w")
        asked = AclRequest((ConnectCluster((worker,), (creating,)),), SourceSupport.DISABLED)
        found = lines(plan_acls(asked, _no_certificate), "admin")
        assert ("admin Describe Topic out" in found) is needed


@pytest.mark.parametrize(
    ("setting", "phase", "version", "needed"),
    [
        ("false", SourceSupport.DISABLED, (2, 7), None),
        ("true", SourceSupport.DISABLED, (2, 7), False),
        ("false", SourceSupport.ENABLED, (2, 7), True),
        ("true", SourceSupport.DISABLED, (2, 8), None),
        ("true", SourceSupport.ENABLED, (2, 8), None),
    ],
)
def test_idempotence_is_granted_to_brokers_before_2_8_for_a_producer_that_has_it(setting, phase, version, needed):
    given = with_settings(SOURCE, producer_override_enable_idempotence=setting)
    found = plan(given, phase=phase, broker_version=KafkaVersion(*version))
    wanted = "producer IdempotentWrite Cluster kafka-cluster"
    assert [each.is_optional for each in found.bindings if line(each) == wanted] == ([] if needed is None else [needed])


@pytest.mark.parametrize(("tasks", "prefixed"), [(MOST_TASKS, False), (MOST_TASKS + 1, True)])
def test_ids_are_named_one_by_one_up_to_the_most_tasks_of_any_cluster(tasks: int, prefixed: bool, monkeypatch):
    monkeypatch.setattr("eosctl.planning.client_acls.MOST_TASKS", 3)
    claimed = replace(SOURCE, task_count_record=tasks - MOST_TASKS + 3)
    found = lines(plan(claimed), "admin")
    assert ("admin Write TransactionalId prefixed g-c-" in found) is prefixed
    assert ("admin Write TransactionalId g-c-2" in found) is not prefixed


def test_a_connector_that_claims_more_tasks_than_any_cluster_runs_has_a_prefix():
    claimed = replace(SOURCE, task_count_record=200_000)
    assert "admin Write TransactionalId prefixed g-c-" in lines(plan(claimed, SINK))


HERE = frozenset({"broker:9092"})
ELSEWHERE = with_settings(
    SOURCE,
    **{f"{client}_override_bootstrap_servers": "other:9092" for client in ("producer", "consumer", "admin")},
)


def at(servers: str) -> WorkerConfig:
    """The worker of these bootstrap.servers."""
    set_before = {key: each.value for key, each in WORKER.properties.items()}
    return worker_of({**set_before, "bootstrap.servers": servers}, "worker.properties")


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
    assert merge_overlapping(map(frozenset, given)) == {
        frozenset(one): frozenset(whole) for one, whole in clusters.items()
    }


def test_workers_that_name_some_brokers_alike_need_each_binding_once():
    asked = request(at("k1:9092, k2:9092"), at("k2:9092,k3:9092"))
    needed = [each.binding for each in plan_acls(asked, _no_certificate).bindings]
    assert len(needed) == len(set(needed))
    compared = compare_acls(asked, plan_acls(asked, _no_certificate), frozenset(needed), frozenset({"k1:9092"}))
    assert {str(each.status) for each in compared.compared} == {"present"}


def test_workers_with_different_brokers_are_one_cluster_if_the_user_says_so():
    apart = request(at("k1:9092"), at("k2:9092"))
    together = replace(apart, here=frozenset({"k1:9092", "k2:9092"}))
    sizes = [len(plan_acls(each, _no_certificate).bindings) for each in (apart, together)]
    assert sizes[0] > sizes[1]


def test_each_cluster_has_its_own_bindings():
    found = plan_acls(request(connector=ELSEWHERE, here=HERE), _no_certificate).bindings
    assert len(found) == len({(each.binding, each.cluster) for each in found})
    assert {each.cluster for each in found} == {HERE, frozenset({"other:9092"})}


def test_a_topic_may_have_a_name_of_249_characters_and_a_prefix_one_less():
    assert f"producer Write Topic {'t' * 249}" in lines(plan(with_settings(SOURCE, topic="t" * 249)))
    assert f"producer Write Topic {'t' * 250}" not in lines(plan(with_settings(SOURCE, topic="t" * 250)))
    for length, planned in ((247, True), (248, False)):
        name = "p" * length
        found = lines(plan(debezium(**{"topic.prefix": name})), "producer")
        assert (f"producer Write Topic prefixed {name}." in found) is planned


@pytest.mark.parametrize(
    ("connector", "loss"),
    [
        (SOURCE, "the way back to exactly-once off"),
        (with_settings(SOURCE, offsets_storage_topic="own"), "the copy of the offsets of c that tasks"),
        (SINK, "the way back to exactly-once off"),
    ],
)
def test_the_worker_writes_a_copy_of_the_offsets_that_have_their_own_topic(connector: ConnectorConfig, loss: str):
    [written] = [each for each in plan(connector).bindings if line(each) == "worker Write Topic offsets"]
    assert str(written.loss).startswith(loss)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"status": False}, "the internal topic does not exist yet"),
        ({}, "the internal topic is created if it does not exist"),
    ],
)
def test_a_topic_is_created_because_it_does_not_exist_or_may_not(known: dict[str, bool], why: str):
    [created] = [each for each in plan(topics_known=known).bindings if line(each) == "worker Create Topic status"]
    assert [each.why for each in created.reasons] == [why]


def test_eosctl_takes_no_transactional_id_of_a_sink():
    named = {(ClientRole.EOSCTL, None): "User:tool"}
    found = plan(SOURCE, SINK, principals=named)
    ids = {each for each in lines(found, "tool") | lines(found, "tool", optional=True) if "TransactionalId" in each}
    assert {each.rpartition(" ")[2] for each in ids} == {"connect-cluster-g", "g-c-0"}


def test_the_existence_of_a_topic_counts_in_its_own_cluster_only():
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


def test_bindings_that_other_connectors_may_need_are_not_extra():
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


def test_a_connector_outside_the_request_is_a_neighbour_nevertheless():
    [cluster] = request().clusters
    asked = AclRequest((replace(cluster, others=("c-eu", "unlike")),), SourceSupport.ENABLED)
    [finding] = plan_acls(asked, _no_certificate).findings
    assert (finding.name, finding.subject) == ("transactional-id-prefix", "g-c-")
    assert "connector c-eu of group g" in finding.message


def test_an_acl_that_is_not_planned_covers_no_client():
    """The shorter connector name's ACL covers the longer one's IDs; here only the longer one is planned."""
    longer = connector_of({"name": "c-eu", "connector.class": "FileStreamSource", "topic": "out"}, "c-eu.json")
    [cluster] = request(connector=longer).clusters
    asked = AclRequest((replace(cluster, others=("c",)),), SourceSupport.ENABLED)
    assert plan_acls(asked, _no_certificate).findings == ()


@pytest.mark.parametrize(
    ("pattern", "severity", "cure"),
    [
        (PatternType.PREFIXED, "warning", "use --pattern literal"),
        (PatternType.LITERAL, "info", "keep its ACLs literal"),
    ],
)
def test_a_prefix_that_covers_a_neighbour_is_a_trouble_only_where_prefixed_acls_are_planned(pattern, severity, cure):
    [cluster] = request().clusters
    asked = AclRequest((replace(cluster, others=("c-eu",)),), SourceSupport.ENABLED, pattern_type=pattern)
    [finding] = plan_acls(asked, _no_certificate).findings
    assert (finding.severity, finding.cure.startswith(cure)) == (severity, True)


def test_both_clusters_of_one_group_are_searched_for_collisions():
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


def test_an_iceberg_sink_needs_its_control_topic_its_groups_and_its_ids_by_prefix() -> None:
    settings = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": "orders",
        "iceberg.coordinator.transactional.prefix": "eu-",
        **sasl("iceberg.kafka.", "iceberg"),
    }
    found = plan(connector_of({"name": "ice", **settings}, "ice.json"), topics_known={"control-iceberg": False})
    assert lines(found, "iceberg") == {
        "iceberg Write TransactionalId prefixed eu-worker-txn-",
        "iceberg Write TransactionalId prefixed eu-coordinator-txn-",
        "iceberg Read Topic control-iceberg",
        "iceberg Write Topic control-iceberg",
        "iceberg Create Topic control-iceberg",
        "iceberg Read Topic orders",
        "iceberg Read Group connect-ice",
        "iceberg Read Group connect-ice-coord",
        "iceberg Read Group prefixed cg-control-",
    }
    without = connector_of(
        {"name": "ice", "connector.class": settings["connector.class"], "topics": "orders"}, "i.json"
    )
    assert "worker Read Group connect-ice-coord" in lines(plan(without)), "they are the worker's own principal"


POSTGRESQL = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
CREATED = {"topic.creation.default.partitions": "1"}
HEARTBEATS = {"heartbeat.interval.ms": "500"}
NOTICES = {"notification.enabled.channels": "log,sink", "notification.sink.topic.name": "notices"}
SIGNALS = {
    "signal.enabled.channels": "source,kafka",
    "signal.kafka.bootstrap.servers": "broker:9092",
    **sasl("signal.consumer.", "signals"),
}


def debezium(kind: str = POSTGRESQL, **settings: str) -> ConnectorConfig:
    set_before = {"name": "c", "connector.class": kind, "topic.prefix": "shop"}
    return connector_of(set_before | settings, "c.json")


def topics(connector: ConnectorConfig, *, optional: bool = False) -> set[str]:
    """The operations of its producer and admin client on its output topics."""
    found = plan(connector, topics_known=dict.fromkeys(("__debezium-heartbeat.shop", "notices", "shop"), False))
    own = [each for each in lines(found, "producer", "admin", optional=optional) if " Topic offsets" not in each]
    return {each for each in own if " Topic " in each}


def test_change_events_are_written_to_topics_that_begin_with_the_prefix_and_a_dot():
    """Not to topics of a connector whose prefix only begins so; a broker may create them."""
    assert topics(debezium()) == {"producer Write Topic prefixed shop."}
    assert topics(debezium(), optional=True) == {"producer Create Topic prefixed shop."}
    assert topics(debezium(**{"topic.delimiter": "-"})) == {"producer Write Topic prefixed shop-"}


def test_with_topic_creation_settings_connect_creates_them():
    found = topics(debezium(**CREATED)) | topics(debezium(**CREATED), optional=True)
    assert found == {
        "producer Write Topic prefixed shop.",
        "producer Create Topic prefixed shop.",
        "admin Describe Topic prefixed shop.",
        "admin Create Topic prefixed shop.",
    }


def test_heartbeats_have_a_topic_of_their_own():
    named = {**HEARTBEATS, "topic.heartbeat.prefix": "beat"}
    assert "producer Write Topic __debezium-heartbeat.shop" in topics(debezium(**HEARTBEATS))
    assert "producer Create Topic __debezium-heartbeat.shop" in topics(debezium(**HEARTBEATS), optional=True)
    assert "producer Write Topic beat.shop" in topics(debezium(**named))
    assert topics(debezium(**{"heartbeat.interval.ms": "0"})) == topics(debezium())


def test_notifications_have_the_topic_that_is_named_for_the_sink():
    assert "producer Write Topic notices" in topics(debezium(**NOTICES))
    assert topics(debezium(**{**NOTICES, "notification.enabled.channels": "log"})) == topics(debezium())


def test_schema_changes_go_to_the_topic_that_is_called_like_the_prefix():
    assert "producer Write Topic shop" in topics(debezium(MYSQL))
    assert "producer Write Topic shop" not in topics(debezium(MYSQL, **{"include.schema.changes": "false"}))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"signals Read Topic shop-signal", "signals Read Group kafka-signal"}),
        (
            {"signal.kafka.topic": "orders", "signal.kafka.groupId": "g"},
            {"signals Read Topic orders", "signals Read Group g"},
        ),
    ],
)
def test_signals_are_read_by_a_consumer_of_its_own(settings: dict[str, str], expected: set[str]):
    found = plan(debezium(**SIGNALS, **settings))
    assert lines(found, "signals") == expected
    assert found.findings == ()


def test_a_schema_history_has_clients_that_are_not_planned_and_named():
    history = {"schema.history.internal.kafka.bootstrap.servers": "broker:9092"}
    assert [each.name for each in plan(debezium(MYSQL, **history)).findings] == ["own-kafka-client"]


ROUTER = {"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}


@pytest.mark.parametrize("settings", [ROUTER, {"topic.naming.strategy": "com.example.Names"}])
def test_where_the_config_names_no_topics_those_that_connect_saw_are_planned_and_reported(
    settings: dict[str, str],
):
    untold = debezium(**settings)
    assert topics(untold) == set()
    seen = replace(untold, active_topics=("eu.orders", "eu.items"))
    assert topics(seen) == {"producer Write Topic eu.orders", "producer Write Topic eu.items"}
    (finding,) = plan(seen).findings
    assert (finding.name, "only on those that it used: eu.orders, eu.items" in finding.message) == (
        "topics-unknown",
        True,
    )


def test_topics_named_in_the_config_count_more_than_topics_that_connect_saw():
    assert topics(replace(SOURCE, active_topics=("once",))) == {"producer Write Topic out"}


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
def test_heartbeats_of_the_source_cluster_are_mirrored_regardless_of_topics(settings: str, planned: bool):
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
    """Heartbeats from the target cluster are not sent back; a plan for all topics has them anyway."""
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


def mirrored(settings: str, **request: object) -> set[str]:
    """Lines of the flow from A to B with these settings."""
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b"))
    clusters = decode_worker_file(text + settings, "mm2.properties")
    return {line(each) for each in plan_acls(AclRequest(clusters, **request), _no_certificate).bindings}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "needed"),
    [
        ("emit.offset-syncs.enabled", {"at-a Write Topic mm2-offset-syncs.B.internal"}),
        ("sync.topic.acls.enabled", {"at-a Describe Cluster kafka-cluster", "at-b Alter Cluster kafka-cluster"}),
        ("sync.topic.configs.enabled", {"at-b AlterConfigs Topic A.orders"}),
    ],
)
def test_a_mirror_needs_nothing_for_what_is_switched_off(setting: str, needed: set[str]):
    assert needed <= mirrored("")
    assert needed.isdisjoint(mirrored(f"{setting} = false"))


@pytest.mark.parametrize(("exists", "creates"), [(True, False), (False, True)])
def test_a_mirrored_topic_that_exists_is_not_created_and_a_prefix_never_exists(exists: bool, creates: bool):
    found = mirrored("", topics_known={"A.orders": exists, "A.logs-": exists}, here=frozenset({"b:9092"}))
    assert ("at-b Create Topic A.orders" in found) is creates
    assert "at-b Create Topic prefixed A.logs-" in found


def test_heartbeats_come_with_a_flow_that_mirrors_topics_and_not_with_its_checkpoints():
    [cluster, *others] = (
        replace(each, connectors=tuple(one for one in each.connectors if not _is_source(one, "C")))
        for each in decode_worker_file(RING, "mm2.properties")
    )
    assert any(one.get("source.cluster.alias") == "C" for each in (cluster, *others) for one in each.connectors)
    users = {(role, None): f"User:{role}" for role in ClientRole}
    found = plan_acls(AclRequest((cluster, *others), principals=users), _no_certificate).bindings
    read = names({line(each) for each in found if "a:9092" in each.cluster}, "mirror-source-consumer Read Topic ")
    assert {each for each in read if each.endswith("heartbeats")} == {"heartbeats"}


def _is_source(connector: ConnectorConfig, alias: str) -> bool:
    return connector.class_name == "MirrorSource" and connector.get("source.cluster.alias") == alias


def test_group_offsets_are_committed_in_any_topic_where_the_policy_names_them_in_its_own_way():
    own = "replication.policy.class = org.example.Own\n"
    assert "at-b Read Topic *" not in mirrored(own)
    assert "at-b Read Topic *" in mirrored(f"{own}sync.group.offsets.enabled = true")


@pytest.mark.parametrize("here", [HERE, None])
def test_a_streams_application_needs_its_acls_in_the_cluster_that_was_asked(here: frozenset[str] | None):
    application = StreamsApplication("clicks", ("in",), ("out",))
    named = {(ClientRole.STREAMS, None): "User:app"}
    found = plan_acls(AclRequest((), streams=application, here=here, principals=named), _no_certificate).bindings
    assert {(line(each), each.cluster) for each in found} == {
        (f"app {each}", here or frozenset())
        for each in (
            "Read Group clicks",
            "Write TransactionalId prefixed clicks-",
            "Read Topic in",
            "Write Topic out",
            "Create Topic prefixed clicks-",
            "Read Topic prefixed clicks-",
            "Write Topic prefixed clicks-",
            "Delete Topic prefixed clicks-",
        )
    }


def test_a_cluster_is_one_with_the_workers_whose_brokers_it_shares():
    one, both = frozenset({"k1:9092"}), frozenset({"k1:9092", "k2:9092"})
    asked = request(at("k1:9092"), here=both)
    assert {each.cluster for each in plan_acls(asked, _no_certificate).bindings} == {both}
    assert {each.cluster for each in plan_acls(replace(asked, here=None), _no_certificate).bindings} == {one}


@pytest.mark.parametrize(
    ("worker", "connector", "subject"),
    [
        ({"status.storage.topic": Property("${env:STATUS}", "w")}, SOURCE, "a worker"),
        ({}, with_settings(SOURCE, topic="${a:b}"), "c"),
    ],
)
def test_a_reference_is_reported_of_the_worker_or_connector_that_has_it(worker, connector, subject: str):
    given = WorkerConfig({**WORKER.properties, **worker})
    asked = AclRequest((ConnectCluster((given,), (connector,)),), SourceSupport.ENABLED)
    found = plan_acls(asked, _no_certificate).findings
    assert [each.subject for each in found if each.name == "reference-unresolved"] == [subject]


def names(lines: set[str], beginning: str) -> set[str]:
    return {each.removeprefix(beginning) for each in lines if each.startswith(beginning)}
