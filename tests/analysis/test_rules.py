"""Rules: their findings, and their silence about facts that were not read."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.samples import connector_samples
from eosctl.analysis.rules import topics
from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.analysis.rules.registry import RULES, commands_reporting, diagnose
from eosctl.analysis.rules.workers import FIXED_BUGS
from eosctl.model.acl_plan import AclDifference, OtherWriter
from eosctl.model.acls import AclBinding, Operation
from eosctl.model.acls import topic as topic_pattern
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence, Preflight
from eosctl.model.groups import ConnectGroup, GroupMember, ShareGroup
from eosctl.model.leftovers import Leftover, LeftoverKind, MissingMarker
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Finding, Severity, exit_code
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, SourceSupport, TaskStatus, host_port
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BEFORE_3_7,
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
from tests.analysis.test_rules_of_iceberg import PLACE as CONTROL
from tests.analysis.test_rules_of_iceberg import state as iceberg_state

LEADER = "connect-cluster-g"
NOT_SUPPORTED = "The connector does not support exactly-once"
UNCOMMITTED = ShareGroup("read_uncommitted", {OUT_1: 5})
LEADER_ID = {LEADER: described(LEADER)}


HELD = replace(described("sink-0", TransactionState.ONGOING), start_ms=NOW - 120_000, partitions=(OUT_1,))
PREPARED = Leftover(
    "pay-1",
    LeftoverKind.PREPARED,
    TransactionLogValue(
        version=0,
        producer=ProducerIdAndEpoch(7, 1),
        timeout_ms=60_000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=(OUT_1,),
        last_update_ms=NOW - 120_000,
        start_ms=NOW - 130_000,
    ),
    missing=(MissingMarker(OUT_1, None, "it has no leader"), MissingMarker(TopicPartition("out", 2), 3, "silent")),
)
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
HISTORY = {"schema.history.internal.kafka.topic": "h"}
MIRRORED = {"properties": {"task.assigned.partitions": "t-0"}}
MIRRORED_TWICE = (
    Log()
    .config("x", **{"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"})
    .put("task-x-0", MIRRORED)
    .put("task-x-1", MIRRORED)
    .commit("x", 2)
)
TWO = inspection(Log().healthy("x", 2).healthy("y", 1))
OFFSETS_TOPIC = topic_pattern("connect-offsets")
TENANTS = [(f"User:{name}", ClientRole.PRODUCER, name, OFFSETS_TOPIC) for name in ("x", "y")]


def other_writer(principal, topic, pattern=None, expected="User:worker"):
    """ACLs in force in which this principal may write a config topic that the worker's principal is to write."""
    binding = AclBinding(principal, Operation.WRITE, pattern or topic_pattern(topic))
    return AclDifference((), (), (), (OtherWriter(binding, topic_pattern(topic), frozenset({expected})),))


CONDITIONS = [
    ("EOS173", but(iceberg={"x": iceberg_state(coordinators=2)}), "x", "2 coordinators"),
    ("EOS174", but(iceberg={"x": iceberg_state(offsets={CONTROL: PartitionOffsets(CONTROL, 132, 136, 136)})}), "x",
     "begins at 132"),
    ("EOS175", but(iceberg={"x": iceberg_state(committed={})}), "x", "passes over the events up to 136"),
    ("EOS001", but(workers={A: worker(A, "3.2.3"), B: worker(B)}), A, "3.2.3"),
    ("EOS002", but(workers={A: worker(A, "3.9.2"), B: worker(B)}), "workers", "3.9.2, 4.3.1"),
    ("EOS003", but(workers={A: worker(A, "4.1.1"), B: worker(B)}), "4.1.1", "KAFKA-19012"),
    ("EOS004", but(worker_files={A: FILE | {"metric.reporters": "a,"}}), A, "does not start with it"),
    ("EOS010", but(workers={A: Skipped("no answer in 3 s"), B: worker(B)}), A, "no answer in 3 s"),
    ("EOS011", but(workers={A: worker(A, cluster="L"), B: worker(B)}), A, "cluster L"),
    ("EOS011", but(workers={A: worker(A, cluster="L"), B: worker(B)}, cluster_id=UNREAD), "workers", "different"),
    ("EOS012", but(workers={A: worker(A), B: worker(B, enabled=False)}), "workers", f"enabled on {A} and not on {B}"),
    ("EOS013", but(workers={A: worker(A, enabled=False)}), "workers", "no worker has exactly-once enabled"),
    ("EOS014", but(workers={A: worker(A, enabled=False), B: worker(B)}), A, "answers that it is not"),
    ("EOS014", but(worker_files={A: FILE | {"exactly.once.source.support": "preparing"}}), A, "support=preparing"),
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
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": None}), "x", "topic own does not exist"),
    ("EOS046", but(finalized_features={"metadata.version": 25}), "brokers", "is finalized at 0"),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "connector"})), "x", "after 60000 ms"),
    ("EOS118", but(**OTHERS), "b-c", "a-b-c-0 is also the ID of task 0 of connector c in Connect cluster a-b"),
    ("EOS119", but(groups_elsewhere={"x": members("http://there")}), "x", "1 member"),
    ("EOS150", but(topics={"out": TopicFacts("out", 1, 1, {})}), "x", "out (replication factor 1)"),
    ("EOS151", but(topics={"out": TopicFacts("out", 2, 3, {}, leaderless=(1,))}), "x", "no leader of partition 1"),
    ("EOS020", but(group=members("http://c", kind="consumer")), "g", "consumer clients"),
    ("EOS020", but(group=members(state="Dead", kind="")), "g", "no member (state Dead)"),
    ("EOS020", but(group=members(kind="streams")), "g", "streams clients"),
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
    ("EOS307", but(decided=(PREPARED,)), "pay-1", "it is PrepareCommit for 120 s, and 2 partitions have no marker"),
    ("EOS121", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", ())}), "x", "reads uncommitted"),
    ("EOS108", but(statuses={"x": status(0, state="FAILED")}), "x", "1 of its 1 tasks"),
    ("EOS030", but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR), "x", "turn FAILED"),
    ("EOS030", but(inspection=inspection(tasks(40)), transaction_log=ONE_COORDINATOR), "x", "none of its tasks runs"),
    ("EOS030", but(inspection=inspection(tasks(6, **{"admin.override.retry.backoff.ms": "20000",
                                                     "admin.override.retry.backoff.max.ms": "20000"})),
                   transaction_log=ONE_COORDINATOR), "x", "about 100 s"),
    ("EOS031", but(brokers={0: BROKER | {"transaction.max.timeout.ms": "60000"}}), "broker 0", "is 60000"),
    ("EOS040", but(brokers={0: BROKER}, transaction_log=None), "broker 0", "1 brokers live"),
    ("EOS040", but(transaction_log=transaction_log(1), broker_releases=BEFORE_3_7), "__transaction_state",
     "replication factor 1"),
    ("EOS041", but(transaction_log=transaction_log(leaders={0: -1})), "__transaction_state", "50 of 50"),
    ("EOS042", but(transaction_log=transaction_log(2)), "__transaction_state", "replication factor 2 on 3"),
    ("EOS043", but(brokers={0: BROKER | {"transaction.partition.verification.enable": "false"}}), "broker 0", "false"),
    ("EOS044", but(brokers={0: BROKER | {"transactional.id.expiration.ms": "3600000"}}), "broker 0", "3600000"),
    ("EOS050", but(internal_topics=(replace(topic(), facts=None),)), "connect-config", "no topic connect-config"),
    ("EOS051", but(internal_topics=(topic(partitions=3),)), "connect-config", "3 partitions"),
    ("EOS052", but(internal_topics=(topic("offsets", cleanup_policy="delete"),)), "connect-offsets", "is delete"),
    ("EOS053", but(internal_topics=(topic(factor=1),), broker_releases=BEFORE_3_7), "connect-config",
     "nothing can be written"),
    ("EOS054", but(internal_topics=(topic(factor=2),)), "connect-config", "factor 2 on 3 brokers"),
    ("EOS056", but(internal_topics=(replace(topic("status"), is_another=True),)), "connect-status", "no"),
    ("EOS089", but(inspection=inspection(**{"offsets.storage.topic": "own"})), "x", "its offsets are in own"),
    ("EOS089", but(inspection=inspection(**{"producer.override.bootstrap.servers": "o:1"})), "x",
     "connect-offsets at o:1"),
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
    ("EOS029", but(worker_files={"w": {"offset.storage.file.filename": "f"}}), "w", "of a standalone worker"),
    ("EOS033", but(worker_files={A: FILE | {"worker.sync.timeout.ms": "100"}}), A, "fences no task"),
    ("EOS033", but(worker_files={A: FILE | {"task.shutdown.graceful.timeout.ms": "60000"}}), A,
     "is removed from the group"),
    ("EOS047", but(finalized_features={"metadata.version": 25}), "transaction.version", "was lowered to 0, and 3 IDs"),
    ("EOS048", but(brokers={0: BROKER | {"producer.id.expiration.ms": "899999"}}), "broker 0", "less than"),
    ("EOS102", but(worker_files={A: FILE | {"producer.transactional.id": "mine"}}), A, "dead letter queues take it"),
    ("EOS123", but(inspection=TWO, worker_files={A: FILE | {"producer.transaction.timeout.ms": "300001"}}), "x",
     "tasks of y"),
    ("EOS144", but(acl_in_force=other_writer("User:eve", "cfg")), "User:eve", "may write the config topic cfg"),
    ("EOS145", but(acl_in_force=acls(*TENANTS)[SourceSupport.ENABLED]), "connect-offsets",
     "connectors of 2 principals"),
    ("EOS152", but(topics={"out": TopicFacts("out", 1, 3, {"diskless.enable": "true"})}), "out",
     "connector x writes to it"),
    ("EOS170", but(inspection=inspection(**{"errors.tolerance": "all"})), "x", "are lost"),
    ("EOS171", but(inspection=inspection(MIRRORED_TWICE)), "x", "t-0 in two tasks"),
    ("EOS172", but(inspection=inspection(**HISTORY), topics={"h": TopicFacts("h", 1, 3, {"retention.ms": "9"})}), "x",
     "schema history topic h has retention.ms=9"),
    ("EOS303", but(workers={A: worker(A, "3.9.2"), B: worker(B)}), A, "the worker runs Kafka 3.9.2"),
    ("EOS303", but(logged=HEALTHY.logged | {"g-x-1": logged(client=0)}), "x", "the last transaction of g-x-1 was"),
    ("EOS303", but(logged=HEALTHY.logged | {LEADER: logged(client=0)}), LEADER, "of connect-cluster-g was"),
    ("EOS326", but(mirrors=(mirrored(4, log_start=9),)), "m", "orders-0 (mirrored up to 4, its log starts at 9)"),
    ("EOS327", but(mirrors=(mirrored(20),)), "m", "orders-0 (mirrored up to 20, it ends at 20)"),
    ("EOS327", but(mirrors=(mirrored(9, written_ms=NOW),)), "m", "(the record at 9 was written 2.0 h after the mirror"),
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
    assert subject != "x" or "<connector>" not in said.findings[0].cure, "the fix names the connector"
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


def test_consumers_isolation_levels_are_unknown_and_the_groups_are_named() -> None:
    said = answer("EOS120", but(groups={"g": "connect", "reports": "consumer"}))
    assert said.outcome == "cannot tell"
    assert "1 consumer group: reports" in said.cannot_tell[0]


@pytest.mark.parametrize(
    ("policy", "severity", "words"),
    [("delete", Severity.ERROR, "deleted with time"), ("compact,delete", Severity.ERROR, "deleted with time"),
     ("", Severity.WARNING, "neither cut nor compacted")],
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
    add = "kafka-acls.sh --bootstrap-server <broker> --add --allow-principal User"
    leader, task = (answer(rule, but(acl_differences=missing)).findings[0].cure for rule in ("EOS130", "EOS131"))
    assert leader == f"`{add}:w --operation Write --transactional-id connect-cluster-g`"
    assert task == f"`{add}:c --operation Write --resource-pattern-type prefixed --transactional-id g-x-`"
    [other] = answer("EOS132", but(acl_differences=missing)).findings
    assert other.cure == f"`{add}:c --operation Write --topic out`"


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


def test_a_rule_s_finding_is_reported_by_doctor_and_by_other_commands_that_find_it() -> None:
    [shadow] = [rule.kind for rule in RULES if rule.id == "EOS080"]
    assert commands_reporting(shadow) == ("doctor", "upgrade-check", "offsets show")


def test_the_worst_is_named_first() -> None:
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


def test_workers_that_left_a_group_that_had_a_leader_are_an_error_beside_all_others() -> None:
    """As after their sessions timed out: the group is the one that was named."""
    limit = {0: BROKER | {"transaction.max.timeout.ms": "60000"}}
    found = diagnose(but(group=members(state="Dead", kind=""), transactions=LEADER_ID, brokers=limit))
    assert {"EOS020", "EOS031"} <= {each.id for each in found.reported}
    assert found.misnaming is None
    assert exit_code(found) == 1


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("o.a.k.common.errors.ProducerFencedException: There is a newer producer", "eosctl explain ProducerFenced"),
        ("org.example.Odd: out of paper", "remove the cause that Odd names (`eosctl explain --connector x` reads"),
        ("org.apache.kafka.connect.errors.DataException: no Struct", "remove the cause that DataException names ("),
    ],
)
def test_a_failed_task_is_reported_with_its_cause_and_its_restart(cause: str, said: str) -> None:
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


LOST_ONE = Skipped("1 transactional ID is unknown: __transaction_state-3 has no leader")


@pytest.mark.parametrize(
    ("rule_id", "evidence"),
    [
        ("EOS110", but(transactions=HEALTHY.transactions | {"connect-cluster-g": LOST_ONE})),
        ("EOS111", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS112", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS116", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS117", but(idle_since=HEALTHY.idle_since | {"g-x-0": LOST_ONE})),
        ("EOS115", but(unlisted=(LOST_ONE.reason,))),
        ("EOS303", but(logged=HEALTHY.logged | {"g-x-0": LOST_ONE})),
        ("EOS303", but(logged=LOST_ONE)),
        ("EOS303", but(workers={A: replace(worker(A), version=LOST_ONE), B: worker(B)})),
        ("EOS303", but(workers={A: LOST_ONE, B: worker(B)})),
        ("EOS304", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS307", but(decided=(replace(PREPARED, missing=LOST_ONE),))),
    ],
)
def test_a_rule_with_a_lost_coordinator_is_skipped_and_gives_the_reason_once(rule_id: str, evidence: Evidence) -> None:
    said = answer(rule_id, evidence)
    assert (said.findings, said.cannot_tell, said.outcome) == ((), (LOST_ONE.reason,), "cannot tell")


@pytest.mark.parametrize(
    ("rule_id", "evidence"),
    [
        ("EOS110", but(transactions={"g-x-0": LOST_ONE, "g-x-1": LOST_ONE})),
        ("EOS111", but(transactions={"connect-cluster-g": LOST_ONE, "g-x-1": LOST_ONE})),
        ("EOS112", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW - 200_000),
                                     "g-x-1": LOST_ONE})),
        ("EOS116", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW, (OUT_1,)),
                                     "g-x-1": LOST_ONE}, leaderless=frozenset({OUT_1}))),
        ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000, "g-x-0": LOST_ONE})),
        ("EOS115", but(transactional_ids=("g-gone-0",), unlisted=(LOST_ONE.reason,))),
    ],
)  # fmt: skip
def test_a_lost_coordinator_does_not_keep_a_rule_from_judging_the_ids_of_others(
    rule_id: str, evidence: Evidence
) -> None:
    said = answer(rule_id, evidence)
    assert len(said.findings) == 1


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.needs], ids=lambda rule: rule.id)
def test_a_rule_with_unread_facts_is_skipped(rule) -> None:
    for name in rule.needs:
        said = answer(rule.id, but(**{name: UNREAD}))
        assert said.outcome == "cannot tell"
        assert "denied" in said.cannot_tell[0]


NOT_ASKED = not_asked("not asked")


@pytest.mark.parametrize(
    ("rule_id", "evidence", "complete"),
    [
        ("EOS104", but(inspection=NOT_ASKED, brokers=NOT_ASKED), True),
        ("EOS104", but(inspection=NOT_ASKED, brokers=UNREAD), False),
        ("EOS104", but(inspection=UNREAD, brokers=UNREAD), False),
        ("EOS111", but(inspection=inspection(**{"producer.override.bootstrap.servers": "o:1"})), True),
        ("EOS119", but(groups_elsewhere={"x": NOT_ASKED}), True),
        ("EOS119", but(groups_elsewhere={"x": UNREAD, "y": NOT_ASKED}), False),
        ("EOS119", but(groups_elsewhere={"x": members("http://there"), "y": UNREAD}), False),
        ("EOS015", but(worker_files={A: {"exactly.once.source.support": "on"}}), True),
    ],
)
def test_an_answer_is_complete_where_every_fact_that_was_asked_for_was_read(rule_id, evidence, complete) -> None:
    assert answer(rule_id, evidence).complete is complete


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_check_gives_findings_and_reasons_and_finds_nothing_in_what_was_not_read(rule) -> None:
    for evidence in (HEALTHY, *(each for rule_id, each, *_ in CONDITIONS if rule_id == rule.id)):
        found = {each.subject for each in rule.check(evidence) if isinstance(each, Finding)}
        for name in rule.needs:
            unread = but(**{name: UNREAD}) if evidence is HEALTHY else replace(evidence, **{name: UNREAD})
            said = tuple(rule.check(unread))
            assert [each for each in said if not isinstance(each, Finding | Skipped)] == [], name
            assert {each.subject for each in said if isinstance(each, Finding)} <= found, name


LATER = {
    "acl_differences": acls(
        ("User:w", ClientRole.WORKER, None, transactional_id("connect-cluster-g")),
        ("User:c", ClientRole.ADMIN, "x", transactional_id("g-x-0")),
        ("User:c", ClientRole.PRODUCER, "x", topic_pattern("offsets")),
        phases=(SourceSupport.ENABLED,),
    )
}
UNTOLD = [
    ("EOS173", but(iceberg={"x": iceberg_state(coordinators=UNREAD)}), "denied"),
    ("EOS174", but(iceberg={"x": iceberg_state(committed=UNREAD)}), "denied"),
    ("EOS175", but(iceberg={"x": iceberg_state(offsets=UNREAD)}), "denied"),
    ("EOS012", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS013", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS016", but(worker_files=UNREAD), "denied"),
    ("EOS021", but(group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", None),))), "its address"),
    ("EOS022", but(workers={A: replace(worker(A), connectors=UNREAD)}), "denied"),
    ("EOS023", but(group=members(A, protocol="", state="PreparingRebalance")), "PreparingRebalance"),
    (
        "EOS030",
        but(inspection=inspection(tasks(2, **{"admin.override.retry.backoff.ms": "${file:x:y}"}))),
        "only the worker resolves",
    ),
    ("EOS031", but(brokers={0: UNREAD}), "denied"),
    ("EOS031", but(brokers={0: {}}), "transaction.max.timeout.ms"),
    ("EOS040", but(brokers={0: {}}, transaction_log=None), "transaction.state.log.replication.factor"),
    ("EOS043", but(brokers={0: {}}), "verification"),
    ("EOS044", but(brokers={0: {}}), "expiration"),
    ("EOS050", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS051", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS054", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS100", but(preflight={"x": Preflight({A: UNREAD})}), "denied"),
    ("EOS100", but(preflight={"x": Preflight({A: (f"The connector {SAYS_NOTHING} of it",)})}), "does not declare"),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: UNREAD})}), "denied"),
    ("EOS019", but(workers={A: replace(worker(A), plugins=UNREAD), B: worker(B)}), "denied"),
    ("EOS045", but(brokers={0: {}}), "num.partitions"),
    ("EOS052", but(inspection=inspection(**OWN), topics=UNREAD), "denied"),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": UNREAD}), "denied"),
    ("EOS118", but(other_groups={"g-x": UNREAD}), "denied"),
    ("EOS119", but(groups_elsewhere={"x": UNREAD}), "denied"),
    ("EOS150", but(outputs={"x": UNREAD}), "denied"),
    ("EOS151", but(topics={"out": UNREAD}), "denied"),
    ("EOS326", but(mirrors=(UNREAD,)), "denied"),
    ("EOS327", but(mirrors=(UNREAD,)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, retention_ms=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, retention_bytes=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, next_ms=UNREAD),)), "denied"),
    ("EOS327", but(mirrors=(mirrored(9, written_ms=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(2, retention_bytes=5),)), "its size is not read"),
    (
        "EOS104",
        but(inspection=inspection(**{"producer.override.transaction.timeout.ms": "${env:T:x}"})),
        "only the worker resolves",
    ),
    (
        "EOS105",
        but(inspection=inspection(**{"transaction.boundary": "interval"}), worker_files=UNREAD),
        "offset.flush.interval.ms",
    ),
    (
        "EOS130",
        but(acl_differences=acls((UNKNOWN_PRINCIPAL, ClientRole.WORKER, None, transactional_id("x")))),
        "--principal worker=User:NAME",
    ),
    (
        "EOS131",
        but(acl_differences=acls((UNKNOWN_PRINCIPAL, ClientRole.ADMIN, "x", transactional_id("x")))),
        "--principal connector=User:NAME",
    ),
    (
        "EOS132",
        but(acl_differences=acls(("User:ANONYMOUS", ClientRole.ADMIN, "x", topic_pattern("x")))),
        "--super-user User:ANONYMOUS",
    ),
    ("EOS130", but(**LATER, acl_in_force=UNREAD), "whether 1 binding that is missing is needed"),
    ("EOS131", but(**LATER, acl_in_force=UNREAD), "g-x-0): denied"),
    ("EOS132", but(**LATER, acl_in_force=UNREAD), "Topic offsets): denied"),
    ("EOS110", but(workers={A: replace(worker(A), enabled=UNREAD)}, worker_files=UNREAD), "denied"),
    ("EOS111", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS110", but(workers=UNREAD, worker_files=UNREAD), "denied"),
    ("EOS102", but(workers=UNREAD), "denied"),
]


@pytest.mark.parametrize(("rule_id", "evidence", "reason"), UNTOLD)
def test_an_unread_fact_of_a_rule_is_not_fine(rule_id: str, evidence: Evidence, reason: str) -> None:
    said = answer(rule_id, evidence)
    assert said.outcome == "cannot tell"
    assert reason in " ".join(said.cannot_tell)


HOUR, DAY = 3_600_000, 86_400_000
QUIET = commits(silent_ms=3 * HOUR + 1, longest_ms=HOUR)


def with_commits(first, second=None):
    return but(commits={"g-x-0": first} | ({"g-x-1": commits()} if second is None else {"g-x-1": second}))


def test_a_task_that_is_quieter_than_ever_is_found_with_its_figures():
    said = answer("EOS160", with_commits(QUIET))
    [found] = said.findings
    assert (found.subject, found.severity) == ("x", Severity.WARNING)
    assert found.message == (
        "task 0 is RUNNING and commits nothing since 3.0 h: of the 1,000 intervals between two commits in 8.0 d "
        "before, the longest was 60 min. Its source may be idle"
    )
    assert "task-thread-x-0), then POST /connectors/x/tasks/0/restart" in found.cure
    [task] = found.evidence["tasks"]
    assert (task["silent_ms"], task["longest_interval_ms"], task["intervals"]) == (3 * HOUR + 1, HOUR, 1000)
    assert said.cannot_tell == ()


def test_of_several_quiet_tasks_the_quietest_is_described():
    quieter = commits(silent_ms=5 * HOUR, longest_ms=HOUR)
    [found] = answer("EOS160", with_commits(QUIET, quieter)).findings
    assert found.message.startswith("task 1 is RUNNING and commits nothing since 5.0 h (so do 1 other tasks): ")
    assert [task["task"] for task in found.evidence["tasks"]] == [0, 1]


def test_it_is_information_where_no_week_is_known():
    [found] = answer("EOS160", with_commits(replace(QUIET, first_ms=QUIET.last_ms - 7 * DAY + 1))).findings
    assert found.severity is Severity.INFO


@pytest.mark.parametrize(
    "evidence",
    [
        with_commits(commits(silent_ms=3 * HOUR, longest_ms=HOUR)),
        with_commits(replace(QUIET, claimed_ms=NOW - HOUR)),
        replace(with_commits(QUIET), statuses={"x": status(1)}),
        replace(with_commits(QUIET), statuses={"x": status(0, state="PAUSED")}),
        replace(with_commits(QUIET), workers={url: worker(url, enabled=False) for url in (A, B)}),
    ],
    ids=["an interval as before", "started since", "another task runs", "paused", "no exactly-once"],
)
def test_signs_of_a_healthy_task_are_not_reported(evidence):
    said = answer("EOS160", evidence)
    assert (said.findings, said.outcome) == ((), "fine")


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (commits(silent_ms=HOUR, intervals=29), "x task 0 (29 intervals in 8.0 d)"),
        (commits(silent_ms=HOUR, days=0.5), "x task 0 (1,000 intervals in 12 h)"),
    ],
)
def test_a_history_that_is_too_short_gives_no_answer_and_is_no_gap(first, reason):
    said = answer("EOS160", with_commits(first))
    assert (said.findings, said.outcome, said.complete) == ((), "cannot tell", True)
    assert reason in said.cannot_tell[0]
    assert answer("EOS160", with_commits(replace(first, last_ms=NOW))).outcome == "fine", "it commits"


def test_a_task_without_a_remaining_commit_is_unknown():
    said = answer("EOS160", but(commits={"g-x-1": QUIET}))
    assert [each.subject for each in said.findings] == ["x"]
    assert "x task 0 (the transaction log has no commit of it)" in said.cannot_tell[0]


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (with_commits(Skipped("__transaction_state-3 has no leader")), "__transaction_state-3 has no leader"),
        (but(workers={A: worker(A), B: Skipped("B is silent")}), "B is silent"),
        (but(workers={A: worker(A), B: worker(B, enabled=Skipped("denied"))}), "denied"),
        (but(clock=ClusterClock(1, 120_000, 5)), "how long tasks committed nothing"),
        (
            but(inspection=inspection(**{"producer.override.bootstrap.servers": "there:9092"})),
            "x writes to another Kafka cluster",
        ),
    ],
)
def test_a_task_with_unread_facts_is_unknown(evidence, reason):
    said = answer("EOS160", evidence)
    assert said.outcome == "cannot tell"
    assert reason in " ".join(said.cannot_tell)


def test_a_difference_of_the_clocks_is_no_silence():
    busy = with_commits(commits(silent_ms=40_000, longest_ms=1000))
    for ahead_ms, outcome in ((0, "fine"), (-30_000, "fine"), (30_000, "found")):
        assert answer("EOS160", replace(busy, clock=ClusterClock(1, ahead_ms, 5))).outcome == outcome


def test_the_metrics_are_those_of_each_task_and_the_ratio_takes_a_week():
    young = commits(silent_ms=HOUR, days=6, longest_ms=HOUR)
    samples = list(connector_samples(diagnose(with_commits(QUIET, young))))
    since = {each.labels: each.value for each in samples if each.metric == metrics.SINCE_COMMIT}
    assert since == {("x", "0"): 10_800.001, ("x", "1"): 3600}
    ratio = {each.labels: round(each.value, 3) for each in samples if each.metric == metrics.QUIET_RATIO}
    assert ratio == {("x", "0"): 3.0}
    unread = connector_samples(diagnose(replace(HEALTHY, commits=Skipped("denied"))))
    assert not any(each.metric in {metrics.SINCE_COMMIT, metrics.QUIET_RATIO} for each in unread)


OFF = but(brokers={0: BROKER | {"transaction.partition.verification.enable": "false"}})


@pytest.mark.parametrize("worker_version", ["3.3.2", "4.3.1"])
def test_a_rule_about_brokers_is_judged_for_every_version_of_workers(worker_version: str) -> None:
    old = replace(OFF, workers={A: worker(A, worker_version)}, broker_releases={0: Release(KafkaVersion(3, 8), None)})
    assert answer("EOS043", old).outcome == "found"


def test_a_broker_older_than_the_setting_is_not_asked_for_it() -> None:
    unknowing = {key: value for key, value in BROKER.items() if "verification" not in key}
    before = {0: Release(KafkaVersion(3, 0), KafkaVersion(3, 6))}
    assert answer("EOS043", replace(OFF, broker_releases=before)).outcome == "fine"
    assert answer("EOS043", but(brokers={0: unknowing})).outcome == "fine"


def test_a_bug_of_brokers_is_judged_by_their_release_and_its_fix_upgrades_them() -> None:
    releases = {0: Release(KafkaVersion(3, 0), KafkaVersion(3, 8)), 1: Release(KafkaVersion(3, 8), None)}
    [found] = answer("EOS003", but(broker_releases=releases)).findings
    assert (found.subject, found.evidence["brokers"]) == ("brokers", [0])
    assert found.cure == "upgrade the brokers to Kafka 3.8.0 or newer"
    assert answer("EOS003", but(broker_releases={0: Release(KafkaVersion(4, 3), None)})).findings == ()


@pytest.mark.parametrize(
    ("minor", "issues"),
    [((4, 0), ["KAFKA-19367", "KAFKA-20090"]), ((4, 1), ["KAFKA-20090"]),
     ((4, 2), ["KAFKA-20090", "KAFKA-20322"]), ((4, 3), [])],
)  # fmt: skip
def test_a_bug_of_brokers_concerns_each_minor_release_that_may_not_have_its_fix(minor, issues) -> None:
    release = Release(KafkaVersion(*minor), KafkaVersion(minor[0], minor[1] + 1))
    found = answer("EOS003", but(broker_releases={0: release})).findings
    assert [issue for each in found for issue in each.evidence["issues"]] == issues
    assert {each.severity for each in found} <= {Severity.INFO}


@pytest.mark.parametrize(
    ("version", "enabled", "severity"),
    [("3.9.1", True, "error"), ("4.0.1", True, "error"), ("4.1.1", True, "error"), ("4.1.1", False, "warning")],
)
def test_records_on_a_wrong_topic_are_an_error_of_exactly_once_workers(version, enabled, severity) -> None:
    """KAFKA-19012: ProducerBatch knows when its buffer may be reused from 3.9.2, 4.0.2, 4.1.2 and 4.2.0 on."""
    [found] = answer("EOS003", but(workers={A: worker(A, version, enabled=enabled)})).findings
    assert (found.evidence["issues"], found.severity.value) == (["KAFKA-19012"], severity)


@pytest.mark.parametrize("version", ["3.9.2", "4.0.2", "4.1.2", "4.2.0", "4.3.1"])
def test_a_worker_with_every_fix_has_no_known_bug(version: str) -> None:
    assert answer("EOS003", but(workers={A: worker(A, version)})).findings == ()


@pytest.mark.parametrize(
    ("version", "needed"),
    [("3.3.2", "3.9.0"), ("3.6.2", "3.9.0"), ("3.7.0", "3.9.0"), ("3.7.2", "3.9.0"), ("3.8.1", "3.9.0")],
)
def test_the_fix_of_workers_bugs_is_a_release_that_exists_and_has_all_fixes(version: str, needed: str) -> None:
    severe, others = answer("EOS003", but(workers={A: worker(A, version)})).findings
    assert severe.evidence["issues"] == ["KAFKA-19012"]
    assert severe.cure.startswith("upgrade the workers to Kafka 3.9.2 or newer")
    assert others.cure.startswith(f"upgrade the workers to Kafka {needed} or newer")


@pytest.mark.parametrize(
    ("version", "issue", "has_it"),
    [("3.7.0", "KAFKA-16047", True), ("3.7.1", "KAFKA-16047", False), ("3.6.9", "KAFKA-16047", True),
     ("4.3.1", "KAFKA-16047", False), ("3.6.0", "KAFKA-15800", True), ("3.6.1", "KAFKA-15800", False),
     ("3.5.2", "KAFKA-15800", False), ("3.4.1", "KAFKA-14727", False), ("3.4.0", "KAFKA-14727", True)],
)  # fmt: skip
def test_a_bug_concerns_the_versions_of_each_branch_before_its_fix(version: str, issue: str, has_it: bool) -> None:
    [bug] = [bug for bug in FIXED_BUGS if bug.issue == issue]
    assert bug.concerns(KafkaVersion.parse(version)) is has_it
