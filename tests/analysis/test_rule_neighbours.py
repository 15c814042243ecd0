"""What rules make of what surrounds a connector: plugins, policies, topics, boundaries, and other groups."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.client_configs import servers_elsewhere
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.evidence import FILE, A, B, answer, but, inspection, transaction_log, worker

POLICY = "connector.client.config.override.policy"
SIGNATURE, VERIFICATION = "inter.worker.signature.algorithm", "inter.worker.verification.algorithms"
OWN = {"offsets.storage.topic": "own"}
ELSEWHERE = {"producer.override.bootstrap.servers": "there:9092, there:9093"}
SAME = {"bootstrap.servers": "there:9093,there:9092"}


@pytest.mark.parametrize(("used", "severity"), [("org.example.Source", Severity.WARNING), ("other", Severity.INFO)])
def test_a_plugin_that_differs_counts_where_a_connector_uses_it(used: str, severity: Severity) -> None:
    other = {"org.example.Source": ("2",)}
    differing = but(
        workers={A: worker(A), B: worker(B, plugins=other)}, inspection=inspection(**{"connector.class": used})
    )
    [found] = answer("EOS019", differing).findings
    assert (found.severity, "has versions 1, 2" in found.message) == (severity, True)


def test_a_plugin_that_differs_counts_where_nobody_knows_which_are_used() -> None:
    differing = but(workers={A: worker(A), B: worker(B, plugins={})}, inspection=Skipped("denied"))
    assert [each.severity for each in answer("EOS019", differing).findings] == [Severity.WARNING]


def test_kafka_s_own_plugins_have_the_version_of_their_worker() -> None:
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    mixed = {A: worker(A, plugins={mirror: ("4.3.1",)}), B: worker(B, "3.9.2", plugins={mirror: ("3.9.2",)})}
    assert answer("EOS019", but(workers=mixed)).findings == ()


@pytest.mark.parametrize(
    ("asked", "first", "second", "told"),
    [
        ("", ("1", "2"), ("1", "2"), ""),
        ("", ("1", "2"), ("2",), ""),
        ("latest", ("1", "2"), ("1",), "the plugin has versions 1, 2"),
        ("1.0", ("1", "2"), ("1", "2"), ""),
        ("1", ("1", "2"), ("1",), ""),
        ("[1]", ("1", "2"), ("2",), "the plugin in version [1], which x asks for, is missing on http://b:8083"),
        ("3", ("1",), ("1",), "which x asks for, is missing on http://a:8083, http://b:8083"),
        ("[1,2)", ("1", "2"), ("1", "2"), ""),
        ("[1,2)", ("1", "2"), ("2",), "which x asks for, has versions 1 and 2, 2"),
    ],
)
def test_a_plugin_is_needed_in_the_version_that_a_connector_asks_for(asked, first, second, told) -> None:
    """KIP-891: a worker may load several versions of a plugin; the newest is the default."""
    name = "org.example.Source"
    workers = {A: worker(A, plugins={name: first}), B: worker(B, plugins={name: second})}
    config = {"connector.class": name} | ({"connector.plugin.version": asked} if asked else {})
    found = answer("EOS019", but(workers=workers, inspection=inspection(**config))).findings
    assert [told in each.message for each in found] == ([True] if told else [])


def test_workers_before_4_1_do_not_know_which_version_a_connector_asks_for() -> None:
    name, known = "org.example.Source", {"org.example.Source": ("1",)}
    old = {url: worker(url, "3.9.2", plugins=known) for url in (A, B)}
    config = {"connector.class": name, "connector.plugin.version": "2"}
    assert answer("EOS019", but(workers=old, inspection=inspection(**config))).findings == ()


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ({}, {POLICY: "All"}, "fine"),
        ({POLICY: "All"}, {POLICY: "org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy"},
         "fine"),
        ({POLICY: "Principal"}, {}, "found"),
        ({POLICY: "None"}, {POLICY: "None", f"{POLICY[:-6]}allowlist": "acks"}, "fine"),
        ({POLICY: "Allowlist", f"{POLICY[:-6]}allowlist": "acks"}, {POLICY: "Allowlist"}, "found"),
        ({POLICY: "Allowlist", f"{POLICY[:-6]}allowlist": "acks,retries"},
         {POLICY: "Allowlist", f"{POLICY[:-6]}allowlist": "retries, acks"}, "fine"),
    ],
)  # fmt: skip
def test_policies_are_compared_by_what_they_allow(first, second, outcome) -> None:
    assert answer("EOS026", but(worker_files={A: FILE | first, B: FILE | second})).outcome == outcome


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ({}, {VERIFICATION: "HmacSHA512,HmacSHA256"}, []),
        ({SIGNATURE: "HmacSHA512"}, {VERIFICATION: "HmacSHA512, HmacSHA256"}, [A]),
        ({SIGNATURE: "HmacSHA512", "connect.protocol": "compatible"}, {}, []),
    ],
)
def test_a_signature_is_held_against_what_each_worker_verifies(first, second, refused) -> None:
    said = answer("EOS027", but(worker_files={A: FILE | first, B: FILE | second}))
    assert [each.evidence["refused_by"] for each in said.findings] == ([refused] if refused else [])


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (TopicFacts("own", 5, 3, {"cleanup.policy": "delete", "min.insync.replicas": "1"}), "EOS052"),
        (TopicFacts("own", 5, 1, {"cleanup.policy": "compact", "min.insync.replicas": "2"}), "EOS053"),
        (TopicFacts("own", 5, 1, {"cleanup.policy": "compact", "min.insync.replicas": "1"}), "EOS054"),
    ],
)
def test_a_connector_s_own_offsets_topic_is_held_to_what_the_workers_is(facts: TopicFacts, found: str) -> None:
    evidence = but(inspection=inspection(**OWN), topics={"own": facts})
    assert [each.subject for each in answer(found, evidence).findings] == ["own"]
    elsewhere = but(inspection=inspection(**OWN, **ELSEWHERE), topics={"own": facts})
    assert answer(found, elsewhere).outcome == "fine"
    assert answer(found, replace(elsewhere, worker_files={A: FILE | SAME})).findings != ()


@pytest.mark.parametrize(
    ("config", "files", "outcome"),
    [
        ({}, {}, "found"),
        (ELSEWHERE, {}, "cannot tell"),
        (ELSEWHERE, SAME, "found"),
        ({}, {"bootstrap.servers": "here:9092", "producer.bootstrap.servers": "there:9092"}, "cannot tell"),
        ({"producer.override.bootstrap.servers": "${env:SERVERS}"}, SAME, "cannot tell"),
    ],
)
def test_ids_are_asked_for_here_unless_the_producers_have_other_servers(config, files, outcome) -> None:
    """Those of the workers, in any order and wherever they are given, are no other ones."""
    evidence = but(inspection=inspection(**config), worker_files={A: FILE | files}, transactions={})
    assert answer("EOS111", evidence).outcome == outcome


def test_an_own_offsets_topic_that_no_task_needed_yet_need_not_exist() -> None:
    stopped = {"x": ConnectorStatus("x", "source", "STOPPED", ())}
    never = but(inspection=inspection(**OWN), topics={"own": None}, statuses=stopped)
    assert answer("EOS055", never).outcome == "fine"
    workers = but(inspection=inspection(**{"offsets.storage.topic": "connect-offsets"}), topics={})
    assert answer("EOS055", workers).outcome == "fine", "that is the workers'"
    assert answer("EOS050", never).outcome == "fine"


def test_what_is_missing_is_restored_by_a_way_that_the_workers_know() -> None:
    for version, way in (("4.3.1", "--stop --resume"), ("3.4.1", "DELETE /connectors/x")):
        lost = but(inspection=inspection(**OWN), topics={"own": None}, workers={A: worker(A, version)})
        assert way in answer("EOS055", lost).findings[0].cure


@pytest.mark.parametrize(
    ("config", "files", "outcome"),
    [
        ({"transaction.boundary": "connector"}, {}, "found"),
        ({"transaction.boundary": "CONNECTOR", "producer.override.transaction.timeout.ms": "600000"}, {}, "fine"),
        ({"transaction.boundary": "connector"}, {"producer.transaction.timeout.ms": "600000"}, "fine"),
        ({"transaction.boundary": "interval"}, {}, "fine"),
    ],
)
def test_a_connector_that_ends_its_transactions_needs_a_timeout_that_somebody_chose(config, files, outcome) -> None:
    evidence = but(inspection=inspection(**config), worker_files={A: FILE | files})
    assert answer("EOS109", evidence).outcome == outcome


def test_a_timeout_that_only_one_worker_chose_is_chosen_on_that_worker_alone() -> None:
    chosen = {A: FILE | {"producer.transaction.timeout.ms": "600000"}, B: FILE}
    evidence = but(inspection=inspection(**{"transaction.boundary": "connector"}), worker_files=chosen)
    assert answer("EOS109", evidence).outcome == "found"
    unread = answer("EOS109", replace(evidence, worker_files=not_asked("no file was given")))
    assert (unread.outcome, unread.complete) == ("cannot tell", True)


def test_the_topics_of_a_connector_that_writes_elsewhere_are_asked_there() -> None:
    said = answer("EOS150", but(outputs={"x": not_asked("x writes to another Kafka cluster: ask there")}))
    assert (said.outcome, said.complete) == ("cannot tell", True)


def group(*tasks: ConnectorTaskId) -> ConnectGroup:
    return ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", "http://o", tasks),))


def test_a_group_whose_tasks_have_other_ids_shares_none() -> None:
    assert answer("EOS118", but(other_groups={"g-x": group(ConnectorTaskId("y", 0))})).outcome == "fine"
    shared = but(group_id="g-x", statuses={}, other_groups={"g": group(ConnectorTaskId("x-y", 0))})
    assert answer("EOS118", shared).outcome == "fine"


def test_the_id_of_another_group_s_leader_is_no_task_s() -> None:
    """That one is EOS113."""
    tasks = {"cluster-x": ConnectorStatus("cluster-x", "source", "RUNNING", (TaskStatus(3, "RUNNING", "a:8083"),))}
    leading = ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", "http://o", ()),), "http://o")
    evidence = but(group_id="connect", statuses=tasks, other_groups={"x-3": leading})
    assert answer("EOS118", evidence).outcome == "fine"


def test_a_group_elsewhere_that_has_no_members_or_no_workers_is_nobody() -> None:
    for there in (ConnectGroup("Dead", "", "", ()), ConnectGroup("Stable", "consumer", "range", group().members)):
        assert answer("EOS119", but(groups_elsewhere={"x": there})).outcome == "fine"


def test_brokers_that_disagree_with_the_transaction_log_are_one_finding() -> None:
    assert len(answer("EOS045", but(transaction_log=transaction_log(partitions=60))).findings) == 1
    assert answer("EOS045", but(transaction_log=None)).outcome == "fine"
    assert answer("EOS045", but(brokers={0: Skipped("denied")})).outcome == "cannot tell"


WORKERS_OWN = {"producer.override.bootstrap.servers": "b:9092, a:9092"}
HERE = {A: FILE | {"bootstrap.servers": "a:9092,b:9092"}}
ALL_ELSEWHERE = {A: FILE | {"bootstrap.servers": "a:9092", "producer.bootstrap.servers": "there:9092"}}


def test_a_connector_whose_override_names_the_workers_servers_writes_here() -> None:
    """What Connect compares is the set of addresses: Worker.offsetStoreForExactlyOnceSourceTask."""
    lost = but(worker_files=HERE, inspection=inspection(**WORKERS_OWN), transactions={})
    assert answer("EOS111", lost).outcome == "found"
    facts = TopicFacts("own", 5, 3, {"cleanup.policy": "delete", "min.insync.replicas": "2"})
    deleting = but(worker_files=HERE, inspection=inspection(**OWN, **WORKERS_OWN), topics={"own": facts})
    assert answer("EOS052", deleting).outcome == "found"
    assert servers_elsewhere(lost, "x") is None


def test_a_worker_that_sends_all_producers_to_another_kafka_cluster_takes_their_ids_and_topics_along() -> None:
    away = but(worker_files=ALL_ELSEWHERE, transactions={})
    assert answer("EOS111", away).outcome == "cannot tell"
    assert servers_elsewhere(away, "x") == frozenset({"there:9092"})
    assert answer("EOS055", replace(away, inspection=inspection(**OWN), topics={"own": None})).outcome == "fine"
