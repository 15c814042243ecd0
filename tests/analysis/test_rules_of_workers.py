"""Rules about workers: their fleet, its neighbours, and what fencing takes."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from eosctl.analysis.client_configs import servers_elsewhere
from eosctl.analysis.rules.registry import diagnose
from eosctl.analysis.rules.transactions import silence_s
from eosctl.model.evidence import Evidence
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BEFORE_3_7,
    BROKER,
    FILE,
    HEALTHY,
    ONE_COORDINATOR,
    POLICY,
    A,
    B,
    answer,
    but,
    described,
    inspection,
    tasks,
    topic,
    transaction_log,
    worker,
)

NO_BROKERS = not_asked("no -b/--bootstrap-server was given")
NO_WORKERS = not_asked("no --connect-url was given")
NO_FILES = not_asked("no --worker-config was given")
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
COMMITTED = {"source.consumer.isolation.level": "read_committed", "exactly.once.support": "required"}
EARLIER = {"exactly.once.source.support": "disabled"}
LEADER = "connect-cluster-g"
NO_OUTPUT = {"outputs": {}, "topics": {}}
ONE_FILE = {key: value for key, value in FILE.items() if not key.startswith("exactly")}


def status(name: str, kind: str, *workers: str) -> dict[str, ConnectorStatus]:
    tasks = tuple(TaskStatus(number, "RUNNING", each) for number, each in enumerate(workers))
    return {name: ConnectorStatus(name, kind, "RUNNING", tasks)}


def sinks_only() -> Evidence:
    """Workers that nobody enabled, for they have sinks only, which read committed."""
    config = {"consumer.override.isolation.level": "read_committed", "topics": "in"}
    log = Log().config("s", **config).tasks("s", 0).commit("s", 1)
    return but(
        workers={url: worker(url, enabled=False, connectors=("s",)) for url in (A, B)},
        worker_files={A: FILE | EARLIER, B: FILE | EARLIER},
        statuses=status("s", "sink", "a:8083"),
        inspection=replace(inspection(log, running=0), findings=()),
        preflight={},
        transaction_log=None,
        transactions={},
        transactional_ids=(),
        open_transactions=(),
        idle_since={},
        groups={"g": "connect", "connect-s": "consumer"},
        **NO_OUTPUT,
    )


def empty(enabled: bool) -> Evidence:
    """Workers without connectors, of which the leader has claimed its ID where they are enabled."""
    return but(
        workers={url: worker(url, enabled=enabled, connectors=()) for url in (A, B)},
        worker_files=dict.fromkeys((A, B), FILE if enabled else FILE | EARLIER),
        statuses={},
        inspection=inspection(Log()),
        preflight={},
        transactions={LEADER: described(LEADER)} if enabled else {},
        transactional_ids=(LEADER,) if enabled else (),
        open_transactions=(),
        idle_since={},
        transaction_log=transaction_log() if enabled else None,
        **NO_OUTPUT,
    )


def mirror(*members: str, internal_rest: bool) -> Evidence:
    """A dedicated MirrorMaker: without REST for users, so nothing is known but what brokers and files tell."""
    file = {"clusters": "K, L", "K.exactly.once.source.support": "enabled", "group.id": "g"}
    file |= {"dedicated.mode.enable.internal.rest": "true", "listeners": "http://:0"} if internal_rest else {}
    group = ConnectGroup("Stable", "connect", "sessioned", tuple(GroupMember(each, each) for each in members))
    assigned = Log().writer(7).config("x", **{"connector.class": MIRROR}, **COMMITTED)
    for task in range(2):
        assigned.put(f"task-x-{task}", {"properties": {"task.assigned.partitions": f"t-{task}"}})
    return but(
        workers=NO_WORKERS,
        statuses=NO_WORKERS,
        preflight=NO_WORKERS,
        group=group,
        worker_files={f"mm2-{number}": file for number, _ in enumerate(members)},
        inspection=inspection(assigned.commit("x", 2).fencing("x", 2)),
    )


def standalone() -> Evidence:
    """One worker without group, internal topics and exactly-once: only what REST answers is known.

    It lets connectors require exactly-once, as enabled workers do: only DistributedHerder refuses that.
    """
    alone = worker(A, enabled=True, connectors=("s",))
    known = Evidence(as_of=HEALTHY.as_of, workers={A: alone}, statuses=status("s", "sink", "a:8083"), preflight={})
    return replace(known, worker_files={A: {"offset.storage.file.filename": "/offsets"}}, group=NO_BROKERS)


def https(files: Mapping[str, str]) -> Evidence:
    first, second = A.replace("http", "https"), B.replace("http", "https")
    members = tuple(GroupMember(each, f"{each}/") for each in (first, second))
    return but(
        workers={each: worker(each) for each in (first, second)},
        worker_files=dict.fromkeys((first, second), FILE | files),
        group=ConnectGroup("Stable", "connect", "sessioned", members, first),
    )


def secured() -> Evidence:
    """TLS to brokers and between workers."""
    return https({"security.protocol": "SSL", "ssl.truststore.location": "/t", "listeners": "https://:8083"})


def with_password() -> Evidence:
    """Basic auth: the same to every worker, which rules see nothing of."""
    extension = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
    return https({"rest.extension.classes": extension})


def with_providers() -> Evidence:
    """Settings that a config provider gives: they are not judged by their text."""
    given = {"config.providers": "env", "bootstrap.servers": "${env:BROKERS}", "producer.sasl.jaas.config": "${env:J}"}
    config = {"exactly.once.support": "required", "file": "${env:FILE}", "connector.client.password": "${env:P}"}
    return but(worker_files={A: FILE | given, B: FILE | given}, inspection=inspection(**config))


def unlike_versions(workers: str, brokers: Release) -> Evidence:
    """Workers of one version over brokers of another, both without a bug that a newer release fixes."""
    return but(workers={url: worker(url, workers) for url in (A, B)}, broker_releases=dict.fromkeys(range(3), brokers))


def elsewhere() -> Evidence:
    """A connector whose producer, consumer and admin have other brokers, where no other group has our group.id."""
    servers = {f"{role}.override.bootstrap.servers": "there:9092" for role in ("producer", "consumer", "admin")}
    return but(
        inspection=inspection(**{"exactly.once.support": "required", **servers}),
        transactions={LEADER: described(LEADER)},
        outputs={"x": not_asked("x writes to another Kafka cluster: ask there")},
        topics={},
        groups_elsewhere={"x": ConnectGroup("Dead", "", "", ())},
    )


def one_broker() -> Evidence:
    """A laptop: one broker, one worker, one replica of everything."""
    single = {**BROKER, "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    one = {"min.insync.replicas": "1"}
    return but(
        brokers={0: single},
        broker_releases={0: Release(KafkaVersion(4, 1), None)},
        workers={A: worker(A)},
        worker_files={A: FILE},
        group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", A),), A),
        statuses=status("x", "source", "a:8083", "a:8083"),
        internal_topics=tuple(
            topic(role, factor=1, min_insync_replicas="1") for role in ("config", "offsets", "status")
        ),
        transaction_log=transaction_log(1, min_insync_replicas="1"),
        topics={"out": TopicFacts("out", 1, 1, one, in_sync=1)},
    )


FLEETS = {
    "sinks only": sinks_only(),
    "empty": empty(enabled=False),
    "empty and enabled": empty(enabled=True),
    "one node of MirrorMaker": mirror("http://m1:8083", internal_rest=True),
    "three nodes of MirrorMaker": mirror(*(f"http://m{number}:8083" for number in (1, 2, 3)), internal_rest=True),
    "standalone": standalone(),
    "TLS": secured(),
    "basic auth": with_password(),
    "config providers": with_providers(),
    "older brokers": unlike_versions("4.3.1", Release(KafkaVersion(3, 8), KafkaVersion(4, 0))),
    "connectors on another cluster": elsewhere(),
    "one broker": one_broker(),
}


SAID = {"standalone": {"EOS029"}, "connectors on another cluster": {"EOS089"}}
"""Fleets with an info although nothing is wrong."""


@pytest.mark.parametrize("shape", FLEETS)
def test_nothing_is_wrong_in_a_healthy_fleet(shape: str) -> None:
    found = diagnose(FLEETS[shape]).reported
    assert {each.id for each in found} == SAID.get(shape, set()), _words(found)
    assert all(each.severity is Severity.INFO for each in found)


def test_of_older_workers_nothing_but_their_transaction_protocol_is_found() -> None:
    found = diagnose(unlike_versions("3.9.2", Release(KafkaVersion(4, 1), None))).reported
    assert {(each.id, each.severity) for each in found} == {("EOS303", Severity.INFO)}, _words(found)


def _words(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{each.id} {each.subject}: {each.message}" for each in findings]


@pytest.mark.parametrize("shape", [name for name in FLEETS if name not in {"standalone"}])
def test_a_fault_in_a_healthy_fleet_is_found_as_anywhere(shape: str) -> None:
    """Otherwise a shape might be healthy only because no rule looks at it."""
    broken = replace(FLEETS[shape], brokers={0: BROKER | {"transactional.id.expiration.ms": "60000"}})
    assert [each.id for each in diagnose(broken).reported].count("EOS044") == 1


def test_a_fact_that_a_resource_cannot_hold_is_for_want_of_input_and_no_gap() -> None:
    gaps = {
        shape: [answer.rule.id for answer in diagnose(evidence).answers if not answer.complete]
        for shape, evidence in FLEETS.items()
        if shape != "standalone" and not isinstance(evidence.brokers, Skipped)
    }
    assert {shape: rules for shape, rules in gaps.items() if rules} == {}


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


def test_a_plugin_that_differs_counts_where_the_used_plugins_are_unknown() -> None:
    differing = but(workers={A: worker(A), B: worker(B, plugins={})}, inspection=Skipped("denied"))
    assert [each.severity for each in answer("EOS019", differing).findings] == [Severity.WARNING]


def test_kafka_s_own_plugins_have_the_version_of_their_worker() -> None:
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    mixed = {A: worker(A, plugins={mirror: ("4.3.1",)}), B: worker(B, "3.9.2", plugins={mirror: ("3.9.2",)})}
    assert answer("EOS019", but(workers=mixed)).findings == ()


@pytest.mark.parametrize(
    ("asked", "first", "second", "message"),
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
def test_a_plugin_is_needed_in_the_version_that_a_connector_asks_for(asked, first, second, message) -> None:
    """KIP-891: a worker may load several versions of a plugin; the newest is the default."""
    name = "org.example.Source"
    workers = {A: worker(A, plugins={name: first}), B: worker(B, plugins={name: second})}
    config = {"connector.class": name} | ({"connector.plugin.version": asked} if asked else {})
    found = answer("EOS019", but(workers=workers, inspection=inspection(**config))).findings
    assert [message in each.message for each in found] == ([True] if message else [])


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
    evidence = but(inspection=inspection(**OWN), topics={"own": facts}, broker_releases=BEFORE_3_7)
    assert [each.subject for each in answer(found, evidence).findings] == ["own"]
    elsewhere = replace(evidence, inspection=inspection(**OWN, **ELSEWHERE))
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
    """The workers' own servers, in any order and from any origin, are no other ones."""
    evidence = but(inspection=inspection(**config), worker_files={A: FILE | files}, transactions={})
    assert answer("EOS111", evidence).outcome == outcome


def test_an_own_offsets_topic_that_no_task_needed_yet_need_not_exist() -> None:
    stopped = {"x": ConnectorStatus("x", "source", "STOPPED", ())}
    never = but(inspection=inspection(**OWN), topics={"own": None}, statuses=stopped)
    assert answer("EOS055", never).outcome == "fine"
    workers = but(inspection=inspection(**{"offsets.storage.topic": "connect-offsets"}), topics={})
    assert answer("EOS055", workers).outcome == "fine", "that is the workers'"
    assert answer("EOS050", never).outcome == "fine"


def test_a_missing_part_is_restored_by_a_way_that_the_workers_know() -> None:
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
def test_a_connector_that_ends_its_transactions_needs_a_chosen_timeout(config, files, outcome) -> None:
    evidence = but(inspection=inspection(**config), worker_files={A: FILE | files})
    assert answer("EOS109", evidence).outcome == outcome


@pytest.mark.parametrize(
    ("allowed", "in_connector"), [("transaction.timeout.ms", True), ("retry.backoff.ms", False), ("", False)]
)
def test_a_timeout_is_chosen_where_the_allowlist_lets_a_connector_set_it(allowed: str, in_connector: bool) -> None:
    listed = {POLICY: "Allowlist", "connector.client.config.override.allowlist": allowed}
    config = inspection(**{"transaction.boundary": "connector"})
    [found] = answer("EOS109", but(inspection=config, worker_files={A: FILE | listed})).findings
    assert ("PUT /connectors/x/config" in found.cure) is in_connector
    assert (f"{POLICY}=Allowlist refuses transaction.timeout.ms" in found.cure) is not in_connector


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


def test_a_group_elsewhere_without_members_or_workers_owns_no_ids() -> None:
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
    """Connect compares the set of addresses: Worker.offsetStoreForExactlyOnceSourceTask."""
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


@pytest.mark.parametrize(
    ("settings", "in_connector"),
    [({}, True), ({POLICY: "All"}, True), ({POLICY: "Principal"}, False), ({POLICY: "None"}, False),
     ({POLICY: "Allowlist"}, False),
     ({POLICY: "Allowlist", "connector.client.config.override.allowlist": "retry.backoff.ms,retry.backoff.max.ms"},
      True)],
)  # fmt: skip
def test_a_slow_round_is_fixed_where_the_override_policy_allows_it(settings: dict[str, str], in_connector: bool):
    slow = but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR, worker_files={A: FILE | settings})
    [found] = answer("EOS030", slow).findings
    assert ("PUT /connectors/x/config" in found.cure) is in_connector
    assert "admin.retry.backoff.ms=5 and admin.retry.backoff.max.ms=5 on all workers" in found.cure


def test_a_bug_is_as_severe_as_the_workers_that_have_it() -> None:
    both = {A: worker(A, "4.1.1", enabled=False), B: worker(B)}
    assert [each.severity for each in answer("EOS003", but(workers=both)).findings] == [Severity.WARNING]
    assert answer("EOS003", but(broker_releases={0: Skipped("denied")})).findings == ()
    assert answer("EOS029", but(worker_files={"w": {"bootstrap.servers": "a:1"}})).findings == ()


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        ("org.x.A", "org.x.B", "found"),
        ("org.x.A", "org.x.A", "fine"),
        ("org.x.A", "All", "found"),
        ("All", None, "fine"),
    ],
)
def test_override_policies_of_unknown_classes_are_compared_by_their_names(one, other, outcome) -> None:
    files = {A: FILE | {POLICY: one}, B: FILE | ({} if other is None else {POLICY: other})}
    assert answer("EOS026", but(worker_files=files)).outcome == outcome


def test_before_3_7_1_a_low_transaction_maximum_does_not_disturb_fencing() -> None:
    low = but(brokers={0: BROKER | {"transaction.max.timeout.ms": "60000"}}, workers={A: worker(A, "3.7.0")})
    assert answer("EOS031", low).findings == ()


@pytest.mark.parametrize(("ids", "measured_s"), [(1, 0.003), (2, 0.12), (10, 6.6), (30, 25.7), (100, 92.5)])
def test_the_seconds_of_silence_are_those_that_were_measured(ids: int, measured_s: float) -> None:
    assert silence_s(ids, 100, 1000) == pytest.approx(measured_s, rel=0.06, abs=0.05)


def test_the_cure_takes_the_silence_away() -> None:
    assert silence_s(105, 5, 5) == pytest.approx(0.5, abs=0.05)
    cured = tasks(105, **{f"admin.override.retry.backoff.{key}": "5" for key in ("ms", "max.ms")})
    assert answer("EOS030", but(inspection=inspection(cured), transaction_log=ONE_COORDINATOR)).outcome == "fine"


def test_ids_are_spread_over_their_coordinators() -> None:
    [found] = answer("EOS030", but(inspection=inspection(tasks(105)))).findings
    assert found.evidence["at_one_coordinator"] < 50
    assert found.severity is Severity.WARNING


def test_older_clients_wait_the_same_time_between_all_ids() -> None:
    assert silence_s(101, 100, 1000, exponential=False) == 10.0


def test_workers_back_off_counts_where_the_connector_has_none_of_its_own() -> None:
    files = {A: FILE | {"admin.retry.backoff.ms": "5", "admin.retry.backoff.max.ms": "5"}}
    evidence = but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR)
    assert answer("EOS030", replace(evidence, worker_files=files)).outcome == "fine"
    assert answer("EOS030", replace(evidence, worker_files=files | {B: FILE})).outcome == "found"


@pytest.mark.parametrize(
    ("ids", "severity"),
    [(24, Severity.INFO), (25, Severity.WARNING), (88, Severity.WARNING), (89, Severity.ERROR), (99, Severity.ERROR)],
)
def test_a_round_that_nearly_takes_the_90_seconds_is_an_error(ids: int, severity: Severity) -> None:
    """81 to 90 s: a coordinator that is a little slower makes all tasks of the connector FAILED."""
    slow = but(inspection=inspection(tasks(ids)), transaction_log=ONE_COORDINATOR)
    assert [each.severity for each in answer("EOS030", slow).findings] == [severity]


def test_a_connector_that_was_deleted_is_not_fenced_again() -> None:
    gone = but(inspection=inspection(tasks(105).put("connector-x", None)), transaction_log=ONE_COORDINATOR)
    assert answer("EOS030", gone).findings == ()


def test_workers_that_are_not_enabled_are_found_though_their_tasks_are_unknown() -> None:
    """Without statuses and config topic no source connector is known: that is no sign that there is none."""
    disabled = but(workers={A: worker(A, enabled=False)}, statuses=Skipped("denied"), inspection=Skipped("denied"))
    assert answer("EOS013", disabled).outcome == "found"
    nothing = but(workers={A: worker(A, enabled=False, connectors=())}, statuses={}, inspection=inspection(Log()))
    assert answer("EOS013", nothing).outcome == "fine"
