"""Every rule with its condition and without."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules import topics
from eosctl.analysis.rules.registry import RULES, commands_reporting, diagnose
from eosctl.model.acls import Operation
from eosctl.model.acls import topic as topic_pattern
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import Evidence, Preflight
from eosctl.model.groups import ConnectGroup, GroupMember, ShareGroup
from eosctl.model.names import ConnectorTaskId
from eosctl.model.offsets import SourceSupport
from eosctl.model.report import Severity, exit_code
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import ConnectorStatus, TaskStatus, host_port
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BROKER,
    FILE,
    HEALTHY,
    NOW,
    ONE_COORDINATOR,
    OUT_1,
    OWN,
    POLICY,
    UNREAD,
    A,
    B,
    acls,
    answer,
    but,
    commits,
    described,
    inspection,
    logged,
    members,
    mirror,
    mirrored,
    status,
    tasks,
    topic,
    transaction_log,
    transactional_id,
    worker,
)

LEADER = "connect-cluster-g"
NOT_SUPPORTED = "The connector does not support exactly-once"
UNCOMMITTED = ShareGroup("read_uncommitted", {OUT_1: 5})
LEADER_ID = {LEADER: described(LEADER)}


HELD = replace(described("sink-0", TransactionState.ONGOING), start_ms=NOW - 120_000, partitions=(OUT_1,))
OTHERS = {
    "group_id": "a",
    "statuses": {"b-c": status(0, name="b-c")},
    "inspection": UNREAD,
    "other_groups": {
        "a-b": ConnectGroup(
            "Stable", "connect", "sessioned", (GroupMember("1", "http://o", (ConnectorTaskId("c", 0),)),)
        )
    },
}
CONDITIONS = [
    ("EOS001", but(workers={A: worker(A, "3.2.3"), B: worker(B)}), A, "3.2.3"),
    ("EOS002", but(workers={A: worker(A, "3.9.2"), B: worker(B)}), "workers", "3.9.2, 4.3.1"),
    ("EOS003", but(workers={A: worker(A, "3.7.0"), B: worker(B)}), "3.7.0", "KAFKA-16047"),
    ("EOS010", but(workers={A: Skipped("no answer in 3 s"), B: worker(B)}), A, "no answer in 3 s"),
    ("EOS011", but(workers={A: worker(A, cluster="L"), B: worker(B)}), A, "cluster L"),
    ("EOS011", but(workers={A: worker(A, cluster="L"), B: worker(B)}, cluster_id=UNREAD), "workers", "different"),
    ("EOS012", but(workers={A: worker(A), B: worker(B, enabled=False)}), "workers", f"enabled on {A} and not on {B}"),
    ("EOS013", but(workers={A: worker(A, enabled=False)}), "workers", "no worker has exactly-once enabled"),
    ("EOS014", but(workers={A: worker(A, enabled=False), B: worker(B)}), A, "answers that it is not"),
    ("EOS014", but(worker_files={A: FILE | {"exactly.once.source.support": "preparing"}}), A, "says preparing"),
    ("EOS015", but(worker_files={A: {"exactly.once.source.support": "on"}}), A, "'on'"),
    ("EOS016", but(worker_files={A: {"exactly.once.source.enabled": "true"}}), A, "no effect"),
    ("EOS016", but(inspection=inspection(Log().healthy("x", 1).put("tasks-count-x", {"tasks": 1}))), "connect-configs",
     "tasks-fencing"),
    ("EOS017", but(worker_files={A: FILE, B: FILE | {"group.id": "h"}}), "group.id", "different values"),
    ("EOS019", but(workers={A: worker(A), B: worker(B, plugins={})}), "org.example.Source", f"is missing on {B}"),
    ("EOS026", but(worker_files={A: FILE, B: FILE | {POLICY: "None"}}), POLICY, "different values"),
    ("EOS027", but(worker_files={A: FILE, B: FILE | {"inter.worker.signature.algorithm": "HmacSHA512"}}), B,
     f"signs with HmacSHA512, which inter.worker.verification.algorithms of {A}, {B}"),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: (NOT_SUPPORTED,)})}), "x", f"{A} accepts it, {B} would refuse"),
    ("EOS045", but(transaction_log=transaction_log(partitions=60)), "__transaction_state", "has 60 partitions"),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": None}), "x", "no topic own"),
    ("EOS046", but(finalized_features={"metadata.version": 25}), "brokers", "is finalized at 0"),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "connector"})), "x", "after 60000 ms"),
    ("EOS118", but(**OTHERS), "b-c", "a-b-c-0 is also the ID of task 0 of connector c in Connect cluster a-b"),
    ("EOS119", but(groups_elsewhere={"x": members("http://there")}), "x", "1 member"),
    ("EOS150", but(topics={"out": TopicFacts("out", 1, 1, {})}), "x", "out (replication factor 1)"),
    ("EOS151", but(topics={"out": TopicFacts("out", 2, 3, {}, leaderless=(1,))}), "x", "no leader of partition 1"),
    ("EOS020", but(group=members("http://c", kind="consumer")), "g", "consumer clients"),
    ("EOS020", but(group=members(state="Dead")), "g", "no member (state Dead)"),
    ("EOS021", but(group=members(A, B, "http://c:8083/")), "http://c:8083/", "not among the given workers"),
    ("EOS022", but(workers={A: worker(A), B: worker(B, connectors=("y",))}), B, "1 more and 1 fewer"),
    ("EOS023", but(group=members(A, B, protocol="compatible")), "g", "connect.protocol=compatible"),
    ("EOS023", but(group=members(A, B, protocol="default")), "g", "connect.protocol=eager"),
    ("EOS024", but(group=members(A, B, state="PreparingRebalance")), "g", "PreparingRebalance"),
    ("EOS024", but(statuses={"x": status(0, state="UNASSIGNED")}), "tasks", "run on no worker"),
    ("EOS024", but(statuses={"x": status(0, worker="gone:8083")}), "tasks", "run on no worker"),
    ("EOS025", but(group=members("http://h:8083", "http://h:8083/")), "h:8083", "2 members of the group advertise"),
    ("EOS025", but(group=members("http://h:8083", "http://localhost:8083")), "localhost:8083", "every other host"),
    ("EOS120", but(groups={"q": "share"}, share_groups={"q": UNCOMMITTED}), "q", "share group q reads out uncommitted"),
    ("EOS122", but(open_transactions=(HELD,)), "sink-0", "1 partition is held back"),
    ("EOS121", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", ())}), "x", "reads uncommitted"),
    ("EOS108", but(statuses={"x": status(0, state="FAILED")}), "x", "1 of its 1 tasks"),
    ("EOS030", but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR), "x", "turn FAILED"),
    ("EOS030", but(inspection=inspection(tasks(40)), transaction_log=ONE_COORDINATOR), "x", "none of its tasks runs"),
    ("EOS030", but(inspection=inspection(tasks(6, **{"admin.override.retry.backoff.ms": "20000",
                                                     "admin.override.retry.backoff.max.ms": "20000"})),
                   transaction_log=ONE_COORDINATOR), "x", "about 95 s"),
    ("EOS031", but(brokers={0: BROKER | {"transaction.max.timeout.ms": "60000"}}), "broker 0", "is 60000"),
    ("EOS040", but(brokers={0: BROKER}, transaction_log=None), "broker 0", "1 brokers live"),
    ("EOS040", but(transaction_log=transaction_log(1)), "__transaction_state", "replication factor 1"),
    ("EOS041", but(transaction_log=transaction_log(leaders={0: -1})), "__transaction_state", "50 of 50"),
    ("EOS042", but(transaction_log=transaction_log(2)), "__transaction_state", "replication factor 2 on 3"),
    ("EOS043", but(brokers={0: BROKER | {"transaction.partition.verification.enable": "false"}}), "broker 0", "false"),
    ("EOS044", but(brokers={0: BROKER | {"transactional.id.expiration.ms": "3600000"}}), "broker 0", "3600000"),
    ("EOS050", but(internal_topics=(replace(topic(), facts=None),)), "connect-config", "no topic connect-config"),
    ("EOS051", but(internal_topics=(topic(partitions=3),)), "connect-config", "3 partitions"),
    ("EOS052", but(internal_topics=(topic("offsets", cleanup_policy="delete"),)), "connect-offsets", "is delete"),
    ("EOS053", but(internal_topics=(topic(factor=1),)), "connect-config", "nothing can be written"),
    ("EOS054", but(internal_topics=(topic(factor=2),)), "connect-config", "factor 2 on 3 brokers"),
    ("EOS056", but(internal_topics=(replace(topic("status"), is_another=True),)), "connect-status", "no"),
    ("EOS089", but(inspection=inspection(**{"offsets.storage.topic": "own"})), "x", "its offsets are in own"),
    ("EOS100", but(preflight={"x": Preflight({A: (NOT_SUPPORTED,)})}), "x", "does not support"),
    ("EOS101", but(inspection=inspection(file="f")), "x", "not `required`"),
    ("EOS102", but(inspection=inspection(**{"producer.override.transactional.id": "mine"})), "x", "transactional.id"),
    ("EOS102", but(inspection=inspection(**{"producer.override.enable.idempotence": "false"})), "x", "idempotence"),
    ("EOS103", but(inspection=inspection(**{"producer.override.acks": "1"})), "x", "acks=1"),
    ("EOS103", but(inspection=inspection(**{"producer.override.max.in.flight.requests.per.connection": "6"})), "x",
     "connection=6"),
    ("EOS103", but(inspection=inspection(**{"producer.override.retries": "0"})), "x", "retries=0"),
    ("EOS104", but(inspection=inspection(**{"producer.override.transaction.timeout.ms": "900001"})), "x", "900001"),
    ("EOS104", but(brokers={0: BROKER | {"transaction.max.timeout.ms": "30000"}}), "x", "allow 30000"),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval",
                                            "transaction.boundary.interval.ms": "60000"})), "x", "aborts them"),
    ("EOS106", but(inspection=mirror()), "x", "reads uncommitted"),
    ("EOS107", but(worker_files={"mm2": {"clusters": "A, B", "B.exactly.once.source.support": "enabled"}}), "mm2",
     "cannot ask it to fence"),
    ("EOS110", but(transactions={}), "connect-cluster-g", "no leader of group g ever prepared"),
    ("EOS111", but(transactions=LEADER_ID), "x", "g-x-0"),
    ("EOS112", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW - 200_000)}), "g-x-0",
     "140 s after its timeout"),
    ("EOS113", but(group_id="connect", groups={"connect": "connect", "o-0": "connect"},
                   statuses={"cluster-o": status(0, name="cluster-o")}, inspection=UNREAD), "cluster-o", "group o-0"),
    ("EOS114", but(statuses={"x": status(0), "x-1": status(0, name="x-1")}), "x", "x-1"),
    ("EOS130", but(acl_differences=acls(("User:w", ClientRole.WORKER, None, transactional_id("connect-cluster-g")))),
     "connect-cluster-g", "User:w has no Write on TransactionalId connect-cluster-g "),
    ("EOS131", but(acl_differences=acls(*(("User:c", ClientRole.ADMIN, "x", transactional_id(f"g-x-{task}"))
                                          for task in range(2)), phases=(SourceSupport.ENABLED,))),
     "x", "User:c has no Write on TransactionalId g-x-0 "),
    ("EOS132", but(acl_differences=acls(("User:c", ClientRole.CONSUMER, "x", topic_pattern("offsets"), Operation.READ),
                                        phases=(SourceSupport.ENABLED,))),
     "Topic offsets", "User:c has no Read on Topic offsets "),
    ("EOS116", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW, (OUT_1,))},
                   leaderless=frozenset({OUT_1})), "g-x-0", "out-1 has no leader"),
    ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000 + 86_400_000}), "x", "(g-x-1) expire in 24.0 h"),
    ("EOS115", but(transactional_ids=("g-x-0", "g-gone-0")), "g", "g-gone-0"),
    ("EOS160", but(commits={"g-x-0": commits(), "g-x-1": commits(silent_ms=3_600_000)}), "x", "task 1 is RUNNING and "),
    ("EOS303", but(workers={A: worker(A, "3.9.2"), B: worker(B)}), A, "the worker runs Kafka 3.9.2"),
    ("EOS303", but(logged=HEALTHY.logged | {"g-x-1": logged(client=0)}), "x", "the last transaction of g-x-1 was"),
    ("EOS303", but(logged=HEALTHY.logged | {LEADER: logged(client=0)}), LEADER, "of connect-cluster-g was"),
    ("EOS326", but(mirrors=(mirrored(4, log_start=9),)), "m", "orders-0 (mirrored up to 4, its log starts at 9)"),
    ("EOS327", but(mirrors=(mirrored(20),)), "m", "orders-0 (mirrored up to 20, it ends at 20)"),
    ("EOS327", but(mirrors=(mirrored(9, written_ms=NOW),)), "m", "(what lies at 9 was written 2.0 h after the mirror"),
    ("EOS328", but(mirrors=(mirrored(9, next_ms=NOW - 1_800_000),)), "m", "is 30 min old, and deleted after 60 min)"),
    ("EOS328", but(mirrors=(mirrored(9, log_start=8, retention_ms=-1, retention_bytes=5),)), "m", "10 of 12 offsets"),
    ("EOS304", but(transactions={"g-x-0": replace(described("g-x-0"), timeout_ms=2**31 - 1)}), "g-x-0", "no timeout"),
]  # fmt: skip


@pytest.mark.parametrize(("rule_id", "evidence", "subject", "text"), CONDITIONS)
def test_a_rule_finds_its_condition_and_only_that(rule_id: str, evidence: Evidence, subject: str, text: str) -> None:
    said = answer(rule_id, evidence)
    assert [finding.subject for finding in said.findings][:1] == [subject]
    assert text in said.findings[0].message
    assert said.findings[0].id == rule_id
    assert said.findings[0].cure
    assert answer(rule_id, HEALTHY).findings == ()


def test_nothing_is_found_on_a_healthy_cluster() -> None:
    diagnosis = diagnose(HEALTHY)
    assert diagnosis.reported == ()
    assert {each.rule.id: each.cannot_tell for each in diagnosis.answers if each.cannot_tell} == {}
    assert diagnosis.verdict == "fine"


OF_CONFIG_TOPIC = [rule for rule in topics.DELEGATED_RULES if rule.needs == (topics.CONFIG_TOPIC,)]
OF_OFFSETS = [rule for rule in topics.DELEGATED_RULES if rule.needs == (topics.OFFSETS,)]


def test_every_rule_has_a_condition_here() -> None:
    tested = {rule_id for rule_id, *_ in CONDITIONS}
    assert {rule.id for rule in RULES} == tested | {rule.id for rule in (*OF_CONFIG_TOPIC, *OF_OFFSETS)}


@pytest.mark.parametrize("rule", OF_OFFSETS, ids=lambda rule: rule.id)
def test_findings_of_offsets_show_are_passed_on_as_they_are(rule) -> None:
    others = tuple(each.kind.finding("x", "another") for each in OF_OFFSETS if each is not rule)
    finding = rule.kind.finding("x", "message", {"offsets": 3}, cure="cure", severity=Severity.INFO)
    assert answer(rule.id, but(offset_findings=(finding, *others))).findings == (finding,)
    assert answer(rule.id, HEALTHY).outcome == "fine"


@pytest.mark.parametrize("rule", OF_CONFIG_TOPIC, ids=lambda rule: rule.id)
def test_findings_of_inspect_config_are_passed_on_as_they_are(rule) -> None:
    others = tuple(each.kind.finding("x", "another") for each in OF_CONFIG_TOPIC if each is not rule)
    finding = rule.kind.finding("x", "message", {"offsets": 3}, cure="cure", severity=Severity.INFO)
    assert answer(rule.id, but(inspection=replace(inspection(), findings=(finding, *others)))).findings == (finding,)
    assert answer(rule.id, HEALTHY).outcome == "fine"


def test_inspect_config_and_doctor_report_the_same_findings_of_the_config_topic() -> None:
    plain_once = Log().writer(7).healthy("x", 1).writer().config("y").writer(7, 1).config("y")
    inspected = inspection(plain_once.put("connector-z", b"{"))
    found = [each for each in diagnose(but(inspection=inspected)).reported if each in inspected.findings]
    assert {(each.id, each.severity) for each in found} == {("EOS061", Severity.INFO), ("EOS066", Severity.WARNING)}
    assert sorted(map(repr, found)) == sorted(map(repr, inspected.findings))


def test_consumers_isolation_levels_cannot_be_told_and_the_groups_are_named() -> None:
    said = answer("EOS120", but(groups={"g": "connect", "reports": "consumer"}))
    assert said.outcome == "cannot tell"
    assert "1 consumer group: reports" in said.cannot_tell[0]


@pytest.mark.parametrize(
    ("policy", "severity", "words"),
    [("delete", Severity.ERROR, "deleted with time"), ("compact,delete", Severity.ERROR, "deleted with time"),
     ("", Severity.WARNING, "nothing is deleted")],
)  # fmt: skip
def test_an_empty_cleanup_policy_deletes_nothing(policy: str, severity: Severity, words: str) -> None:
    [found] = answer("EOS052", but(internal_topics=(topic("offsets", cleanup_policy=policy),))).findings
    assert (found.severity, words in found.message) == (severity, True)


def test_the_cures_of_missing_acls_name_the_principal_and_the_prefix_with_its_dash() -> None:
    missing = acls(
        ("User:w", ClientRole.WORKER, None, transactional_id("connect-cluster-g")),
        ("User:c", ClientRole.ADMIN, "x", transactional_id("g-x-0")),
        ("User:c", ClientRole.PRODUCER, "x", topic_pattern("out")),
    )
    add = "kafka-acls.sh --add --allow-principal User"
    leader, task = (answer(rule, but(acl_differences=missing)).findings[0].cure for rule in ("EOS130", "EOS131"))
    assert leader == f"{add}:w --operation Write --transactional-id connect-cluster-g"
    assert task == f"{add}:c --operation Write --resource-pattern-type prefixed --transactional-id g-x-"
    [other] = answer("EOS132", but(acl_differences=missing)).findings
    assert other.cure == f"{add}:c --operation Write --topic out"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://A:8083/", "a:8083"),
        ("https://a", "a:443"),
        ("http://a", "a:80"),
        ("a:1", "a:1"),
        ("http://u:p@a:1", "a:1"),
    ],
)
def test_spellings_of_one_address_are_the_same_place(url: str, place: str) -> None:
    assert host_port(url) == place


def test_each_id_has_one_rule() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))


def test_every_rule_is_a_question() -> None:
    assert [rule.id for rule in RULES if not rule.question.endswith("?")] == []


def test_what_a_rule_finds_is_reported_by_doctor_and_by_those_who_find_it_too() -> None:
    [shadow] = [rule.kind for rule in RULES if rule.id == "EOS080"]
    assert commands_reporting(shadow) == ("doctor", "upgrade-check", "offsets show")


def test_the_worst_is_told_first() -> None:
    diagnosis = diagnose(but(inspection=inspection(file="f"), transactions={}))
    assert diagnosis.reported[0].severity is Severity.ERROR
    assert diagnosis.reported[-1].severity is Severity.INFO
    assert diagnosis.verdict == "found"


def test_something_misnamed_is_the_only_finding_and_ends_as_a_wrong_command_line() -> None:
    others = {"brokers": {0: BROKER | {"transaction.max.timeout.ms": "60000"}}, "transactions": {}}
    assert {"EOS031", "EOS110"} <= {each.id for each in diagnose(but(**others)).reported}
    found = diagnose(but(**others, group=members(state="Dead")))
    assert [each.id for each in found.reported] == ["EOS020"]
    assert exit_code(found) == 2


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("o.a.k.common.errors.ProducerFencedException: There is a newer producer", "eosctl explain ProducerFenced"),
        ("org.example.Odd: out of paper", "remove its cause, org.example.Odd; "),
    ],
)
def test_a_failed_task_says_why_and_how_to_restart_it(cause: str, said: str) -> None:
    tasks_failed = tuple(TaskStatus(task, "FAILED", "a:8083", cause) for task in (0, 1))
    [finding] = answer("EOS108", but(statuses={"x": ConnectorStatus("x", "source", "RUNNING", tasks_failed)})).findings
    assert finding.message == f"2 of its 2 tasks are FAILED: {cause}"
    assert said in finding.cure
    assert "POST /connectors/x/tasks/0/restart" in finding.cure


def test_workers_whose_files_alone_say_enabled_may_not_have_been_restarted() -> None:
    files = {A: FILE | {"exactly.once.source.support": "enabled"}}
    workers = {A: worker(A, enabled=False), B: worker(B, enabled=False)}
    [finding] = answer("EOS110", but(transactions={}, workers=workers, worker_files=files)).findings
    assert finding.message.endswith("or the worker was not restarted since its file was changed")
    [running] = answer("EOS110", but(transactions={})).findings
    assert "was not restarted" not in running.message
