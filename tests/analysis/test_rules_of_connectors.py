"""Rules about connectors and their settings."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.acl_findings import Collision, IdOwner, find_collisions
from eosctl.analysis.inspection import connector_findings, why_impossible
from eosctl.analysis.rules.connectors import SAYS_NOTHING, task_commits
from eosctl.analysis.transactions import KnownNames, ownership, shapes_of, streams_applications
from eosctl.codecs.connector_files import known_connector
from eosctl.model.evidence import Preflight
from eosctl.model.groups import ConsumerMember, GroupMember, ListedGroup
from eosctl.model.names import ConnectorTaskId, TopicPartition, leader_transactional_id, task_transactional_id
from eosctl.model.report import Severity
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import NEWEST
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BROKER,
    FILE,
    HEALTHY,
    NOW,
    A,
    B,
    answer,
    but,
    described,
    inspection,
    mirrored,
    worker,
)

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
TIMEOUT = "transaction.timeout.ms"
INTERVAL = {"transaction.boundary": "interval"}


def files(**settings: str):
    return {A: FILE | {key.replace("_", "."): value for key, value in settings.items()}}


@pytest.mark.parametrize("settings", [{"producer_acks": "1"}, {"producer_retries": "0"},
                                      {"producer_max_in_flight_requests_per_connection": "6"}])  # fmt: skip
def test_a_worker_s_producer_setting_that_contradicts_idempotence_is_that_of_its_connectors(settings) -> None:
    [found] = answer("EOS103", but(worker_files=files(**settings))).findings
    assert (found.subject, found.evidence["key"].endswith(f"of {A}")) == ("x", True)
    assert found.cure.endswith("restart the workers one by one")
    own = {f"producer.override.{next(iter(settings)).removeprefix('producer_').replace('_', '.')}": "5"}
    own = {key: "all" if key.endswith("acks") else value for key, value in own.items()}
    assert answer("EOS103", but(worker_files=files(**settings), inspection=inspection(**own))).findings == ()


def test_a_worker_s_transaction_timeout_is_that_of_connectors_without_their_own() -> None:
    long = but(worker_files=files(producer_transaction_timeout_ms="900001"))
    assert answer("EOS104", long).findings[0].evidence["transaction_timeout_ms"] == 900_001
    own = inspection(**{f"producer.override.{TIMEOUT}": "60000"})
    assert answer("EOS104", replace(long, inspection=own)).outcome == "fine"


def test_the_limit_of_these_brokers_does_not_apply_to_a_connector_that_writes_elsewhere() -> None:
    elsewhere = inspection(**{f"producer.override.{TIMEOUT}": "900001", "producer.override.bootstrap.servers": "o:1"})
    assert answer("EOS104", but(inspection=elsewhere)).outcome == "cannot tell"


def test_nor_of_connectors_whose_worker_sends_all_producers_elsewhere() -> None:
    elsewhere = files(producer_transaction_timeout_ms="900001", producer_bootstrap_servers="o:1")
    assert answer("EOS104", but(worker_files=elsewhere)).outcome == "cannot tell"


@pytest.mark.parametrize("value", ["ALL", "2", "yes"])
def test_a_value_that_no_producer_takes_is_found(value) -> None:
    assert answer("EOS103", but(inspection=inspection(**{"producer.override.acks": value}))).outcome == "found"


@pytest.mark.parametrize("rule", ["EOS103", "EOS104"])
def test_producer_settings_of_workers_are_unknown_without_their_files(rule) -> None:
    said = answer(rule, but(worker_files=Skipped("not given")))
    assert (said.outcome, said.complete) == ("cannot tell", True)
    own = inspection(**{f"producer.override.{key}": "1" for key in (TIMEOUT, "acks", "retries")})
    assert bool(answer(rule, but(worker_files=Skipped("not given"), inspection=own)).findings) is (rule == "EOS103")


@pytest.mark.parametrize(
    ("config", "settings", "outcome"),
    [
        (INTERVAL, {}, "found"),
        (INTERVAL, {"offset_flush_interval_ms": "29999"}, "fine"),
        (INTERVAL, {"offset_flush_interval_ms": "30000"}, "found"),
        (INTERVAL, {"producer_transaction_timeout_ms": "600000"}, "fine"),
        (
            INTERVAL | {"transaction.boundary.interval.ms": "60000"},
            {"producer_transaction_timeout_ms": "600000"},
            "fine",
        ),
        (
            INTERVAL | {"transaction.boundary.interval.ms": "30000"},
            {"producer_transaction_timeout_ms": "20000"},
            "found",
        ),
    ],
)
def test_an_interval_is_held_against_the_timeout_that_is_in_force_and_both_have_the_same_default(
    config, settings, outcome
) -> None:
    assert answer("EOS105", but(inspection=inspection(**config), worker_files=files(**settings))).outcome == outcome


@pytest.mark.parametrize(("interval_ms", "severity"), [(30_000, Severity.WARNING), (60_000, Severity.ERROR)])
def test_an_interval_of_half_the_timeout_is_a_warning_because_a_poll_and_a_batch_come_on_top(interval_ms, severity):
    evidence = but(inspection=inspection(**INTERVAL), worker_files=files(offset_flush_interval_ms=str(interval_ms)))
    assert [each.severity for each in answer("EOS105", evidence).findings] == [severity]


@pytest.mark.parametrize(
    ("config", "settings", "why"),
    [
        ({"transaction.boundary.interval.ms": "${env:T}"}, {}, "transaction.boundary.interval.ms of x is ${env:T}, a"),
        ({"transaction.boundary.interval.ms": "often"}, {}, "interval.ms of x is 'often', not a whole number"),
        ({}, {"offset_flush_interval_ms": "often"}, f"offset.flush.interval.ms of {A} is 'often', not a whole number"),
    ],
)
def test_an_interval_that_is_not_a_number_is_reported_with_its_place(config, settings, why) -> None:
    said = answer("EOS105", but(inspection=inspection(**INTERVAL | config), worker_files=files(**settings)))
    assert (said.outcome, said.complete, why in said.cannot_tell[0]) == ("cannot tell", False, True)


@pytest.mark.parametrize(
    ("rule", "key", "outcome"),
    [
        ("EOS103", "producer.override.retries", "found"),
        ("EOS104", f"producer.override.{TIMEOUT}", "cannot tell"),
        ("EOS030", "admin.override.retry.backoff.ms", "cannot tell"),
    ],
)
def test_a_number_of_thousands_of_digits_is_none(rule, key, outcome) -> None:
    assert answer(rule, but(inspection=inspection(**{key: "9" * 5_000}))).outcome == outcome


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"source.consumer.isolation.level": "read_committed"}, False),
        ({"consumer.isolation.level": "read_committed"}, False),
        ({"source.isolation.level": "read_committed"}, True),
        ({"source.cluster.isolation.level": "read_committed"}, True),
        ({"source.cluster.consumer.isolation.level": "read_committed"}, True),
        ({"source.consumer.isolation.level": "read_uncommitted", "consumer.isolation.level": "read_committed"}, True),
    ],
)
def test_a_mirror_takes_its_isolation_level_from_two_places_the_nearer_first(settings, found) -> None:
    mirror = inspection(**{"connector.class": MIRROR, **settings})
    assert (answer("EOS106", but(inspection=mirror)).outcome == "found") is found


def test_overrides_take_effect_where_workers_are_not_enabled() -> None:
    idempotence = inspection(**{"producer.override.enable.idempotence": "false"})
    plain = but(inspection=idempotence, workers={A: worker(A, enabled=False)})
    assert (answer("EOS102", plain).outcome, answer("EOS102", but(inspection=idempotence)).outcome) == ("fine", "found")


def test_required_is_advised_where_it_would_be_accepted() -> None:
    asked = inspection(file="f")
    [found] = answer("EOS101", but(inspection=asked)).findings
    assert found.cure == "set exactly.once.support=required: PUT /connectors/x/config"
    [later] = answer("EOS101", but(inspection=asked, workers={A: worker(A, enabled=False)})).findings
    assert later.cure.startswith("when every worker is enabled, for it is refused (400) until then")
    silent = {"x": Preflight({"http://a": (f"The connector {SAYS_NOTHING}",)})}
    assert answer("EOS101", but(inspection=asked, preflight=silent)).findings == ()


def test_brokers_of_one_cluster_in_another_order_are_no_difference() -> None:
    one = {A: FILE | {"bootstrap.servers": "a:1,b:2"}, B: FILE | {"bootstrap.servers": "b:2, a:1"}}
    assert answer("EOS017", but(worker_files=one)).outcome == "fine"
    other = one | {B: FILE | {"bootstrap.servers": "c:3"}}
    assert answer("EOS017", but(worker_files=other)).outcome == "cannot tell"


def test_a_file_without_a_protocol_has_the_default() -> None:
    assert answer("EOS017", but(worker_files={A: FILE, B: FILE | {"connect.protocol": "sessioned"}})).outcome == "fine"
    eager = {A: FILE, B: FILE | {"connect.protocol": "eager"}}
    [found] = answer("EOS017", but(worker_files=eager)).findings
    assert (found.subject, found.severity) == ("connect.protocol", Severity.WARNING)
    topics = {A: FILE, B: FILE | {"config.storage.topic": "others"}}
    assert answer("EOS017", but(worker_files=topics)).findings[0].severity is Severity.ERROR


def test_a_reference_to_a_config_provider_is_not_known_to_be_refused() -> None:
    assert answer("EOS015", but(worker_files={A: {"exactly.once.source.support": "${env:X}"}})).outcome == "cannot tell"


def test_workers_without_source_connectors_need_no_exactly_once() -> None:
    sinks = {"s": ConnectorStatus("s", "sink", "RUNNING", ())}
    off = but(workers={A: worker(A, enabled=False)}, statuses=sinks, inspection=Skipped("denied"))
    assert answer("EOS013", off).outcome == "fine"
    assert answer("EOS013", replace(off, statuses=HEALTHY.statuses)).outcome == "found"


def paused() -> dict[str, ConnectorStatus]:
    return {"x": ConnectorStatus("x", "source", "PAUSED", (TaskStatus(0, "PAUSED", "a:8083"),))}


def test_a_paused_task_keeps_its_producer_and_its_id_may_expire() -> None:
    leader = {"connect-cluster-g": described("connect-cluster-g")}
    assert answer("EOS111", but(statuses=paused(), transactions=leader)).findings[0].evidence["tasks"] == [0]
    near = but(statuses=paused(), idle_since={"g-x-0": NOW - 604_800_000 + 3_600_000})
    assert answer("EOS117", near).findings[0].evidence["tasks"] == [0]


@pytest.mark.parametrize("rule", ["EOS111", "EOS117"])
def test_a_restarted_paused_task_initializes_its_id_only_when_it_is_resumed(rule: str) -> None:
    lost = but(transactions={"connect-cluster-g": described("connect-cluster-g")}, idle_since={"g-x-0": 0, "g-x-1": 0})
    [runs], [waits] = answer(rule, lost).findings, answer(rule, replace(lost, statuses=paused())).findings
    assert runs.cure == "POST /connectors/x/tasks/0/restart; POST /connectors/x/tasks/1/restart"
    assert (
        waits.cure.partition("; ")[2]
        == "a PAUSED task initializes its ID when it is resumed, and is reported until then"
    )


DISABLED = FILE | {"exactly.once.source.support": "disabled"}


@pytest.mark.parametrize(
    ("given", "last", "outcome"),
    [
        ({"worker.properties": DISABLED}, Skipped("denied"), "cannot tell"),
        ({B: DISABLED}, Skipped("denied"), "cannot tell"),
        ({B: DISABLED}, worker(B, enabled=Skipped("denied")), "cannot tell"),
        ({"worker.properties": FILE}, Skipped("denied"), "fine"),
        ({"worker.properties": DISABLED}, worker(B), "found"),
        ({A: DISABLED}, Skipped("denied"), "found"),
    ],
)
def test_the_file_of_a_worker_with_an_unknown_answer_is_no_contradiction(given, last, outcome) -> None:
    assert answer("EOS014", but(workers={A: worker(A), B: last}, worker_files=given)).outcome == outcome


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_transaction_that_is_decided_is_not_fenced_but_its_markers_are_made_possible(state) -> None:
    place = TopicPartition("out", 0)
    [found] = answer("EOS112", but(transactions={"g-x-0": described("g-x-0", state, NOW - 200_000, (place,))})).findings
    assert "fence" not in found.cure
    assert found.cure.endswith("restart the broker that coordinates the ID: broker 1")


@pytest.mark.parametrize("ahead_ms", [7_200_000, -7_200_000])
def test_by_a_clock_that_is_hours_off_no_transaction_and_no_id_is_old(ahead_ms) -> None:
    far = but(
        clock=ClusterClock(1, ahead_ms, 5),
        transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW - 200_000)},
    )
    for rule in ("EOS112", "EOS117"):
        said = answer(rule, far)
        assert (said.outcome, "of this machine's" in said.cannot_tell[0] or "machine's" in said.cannot_tell[0]) == (
            "cannot tell",
            True,
        )
    assert answer("EOS112", replace(far, clock=ClusterClock(1, 1000, 5))).outcome == "found"


def test_a_dedicated_node_without_internal_rest_is_a_warning_and_stops_no_roll() -> None:
    mm2 = {"mm2": {"clusters": "A, B", "B.exactly.once.source.support": "enabled"}}
    said = answer("EOS107", but(worker_files=mm2, brokers={0: BROKER}))
    assert (said.outcome, said.rule.blocks, said.findings[0].severity.value) == ("found", frozenset(), "warning")
    assert answer("EOS107", but(worker_files=mm2, workers={A: worker(A, "3.4.1")})).outcome == "fine"


SINK = {"x": ConnectorStatus("x", "sink", "RUNNING", ())}
LEVEL = "isolation.level"


@pytest.mark.parametrize(
    ("config", "given", "outcome"),
    [
        ({f"consumer.override.{LEVEL}": "read_committed"}, {A: FILE}, "fine"),
        ({}, {A: FILE | {f"consumer.{LEVEL}": "read_committed"}}, "fine"),
        (
            {f"consumer.override.{LEVEL}": "read_uncommitted"},
            {A: FILE | {f"consumer.{LEVEL}": "read_committed"}},
            "found",
        ),
        ({"file": "f"}, {A: FILE | {f"consumer.{LEVEL}": "read_committed"}, B: FILE}, "found"),
        ({f"consumer.override.{LEVEL}": "read_committed"}, Skipped("not given"), "fine"),
        ({}, Skipped("not given"), "cannot tell"),
    ],
)
def test_a_sink_reads_with_its_override_or_with_the_setting_of_all_workers(config, given, outcome) -> None:
    said = answer("EOS121", but(statuses=SINK, inspection=inspection(**config), worker_files=given))
    assert ("found" if said.findings else said.outcome) == outcome


def test_a_sink_whose_config_is_not_known_may_read_committed() -> None:
    statuses = {"y": ConnectorStatus("y", "sink", "RUNNING", ())}
    said = answer("EOS121", but(statuses=statuses, worker_files={A: FILE}))
    assert said.cannot_tell == ("the config of y, which may set isolation.level, is not known",)


def test_workers_of_one_machine_may_use_its_loopback_address() -> None:
    group = replace(
        HEALTHY.group, members=(GroupMember("1", "http://localhost:1"), GroupMember("2", "http://127.0.0.1:2"))
    )
    assert answer("EOS025", but(group=group)).outcome == "fine"


SOURCE = {"connector.class": "FileStreamSource", "topic": "out"}


def reasons(name: str = "c", **config: object) -> list[str]:
    named = {key.replace("_", "."): value for key, value in config.items()}
    return list(why_impossible(known_connector(SOURCE | named, "the test", name)))


def test_nothing_speaks_against_a_connector_that_may_run() -> None:
    accepted = {"exactly_once_support": "REQUIRED", "transaction_boundary": "Interval", "tasks_max": " +3 "}
    assert reasons(**accepted, transaction_boundary_interval_ms="1000", offsets_storage_topic="o" * 249) == []
    assert reasons(tasks_max="${env:TASKS}", offsets_storage_topic="${env:TOPIC}", topic="${file:/x:topic}") == []
    assert reasons(connector_class="FileStreamSink", topics="a, b", tasks_max=2) == []
    assert reasons(producer_override_bootstrap_servers="SASL_SSL://a:9092, [::1]:9093") == []


@pytest.mark.parametrize(
    ("name", "config", "reason"),
    [
        ("", {}, "its name is empty"),
        ("a\nb", {}, "its name has control characters"),
        ("ä" * 20_000, {}, "its name has 40000 bytes, and no worker of the group survives one of more than 32767"),
        ("c", {"topic": "a topic"}, "topic 'a topic' is not a topic's name"),
        ("c", {"topic": ".."}, "topic '..' is not a topic's name"),
        ("c", {"offsets_storage_topic": "ö"}, "offsets.storage.topic 'ö' is not a topic's name"),
        ("c", {"offsets_storage_topic": ""}, "offsets.storage.topic '' is not a topic's name"),
        ("c", {"offsets_storage_topic": "o" * 250}, "offsets.storage.topic 'ooo"),
        ("c", {"connector_class": "FileStreamSink", "topics": "a,b c"}, "topics 'b c' is not a topic's name"),
        ("c", {"tasks_max": "0"}, "tasks.max is '0', not a whole number from 1 on"),
        ("c", {"tasks_max": "2147483648"}, "tasks.max is '2147483648', not a whole number from 1 on"),
        ("c", {"exactly_once_support": "maybe"}, "exactly.once.support is 'maybe', not requested or required"),
        ("c", {"transaction_boundary": "often"}, "transaction.boundary is 'often', not poll, interval or connector"),
        ("c", {"transaction_boundary_interval_ms": "1s"}, "transaction.boundary.interval.ms is '1s', not a whole"),
        (
            "c",
            {"producer_override_bootstrap_servers": "::::"},
            "producer.override.bootstrap.servers '::::' is not HOST",
        ),
    ],
)
def test_a_plugin_that_no_worker_can_run_is_reported(name: str, config: dict[str, str], reason: str) -> None:
    [said] = reasons(name, **config)
    assert said.startswith(reason)


def test_a_setting_that_is_no_text_counts_as_not_set_where_it_is_known_from_a_worker() -> None:
    assert reasons(tasks_max={"a": 1}, offsets_storage_topic=["x"], topic=None) == []


def test_the_config_topic_shows_it_beside_the_other_connectors() -> None:
    log = Log().writer(7).config("x").tasks("x", 0).commit("x", 1).fencing("x", 1)
    log = log.put("connector-odd", {"properties": {"connector.class": ["X"], "tasks.max": [1]}}).fencing("odd", 200_000)
    found = inspection(log)
    [odd] = [each for each in found.findings if each.id == "EOS074"]
    assert odd.subject == "odd"
    assert "its connector.class is no text, and workers answer 500" in odd.message
    assert "tasks.max is no text, not a whole number from 1 on" in odd.message
    assert "claims 200000 tasks" in odd.message
    [healthy] = [each for each in found.connectors if each.state.name == "x"]
    assert [each.id for each in connector_findings(healthy, True, NEWEST)] == []


def test_settings_of_unknown_connector_classes_are_not_judged() -> None:
    for kind in ("org.example.JdbcSource", "io.debezium.connector.mysql.MySqlConnector", "MirrorSource"):
        odd = {"topic": "rows of %{table}", "topics": "[a b]", "topic.prefix": "a b"}
        assert list(why_impossible(known_connector({"connector.class": kind, **odd}, "the test", "c"))) == []


UUID = "7b9f0a44-0b7f-4c1e-8a52-0a1b2c3d4e5f"


def test_a_streams_application_is_named_with_its_group() -> None:
    groups = [ListedGroup("word-count", "streams", "Stable"), ListedGroup("word-count-0", "consumer", "Empty")]
    names = KnownNames.of({}, groups)
    reported = str(ownership(f"word-count-{UUID}-1", names))
    assert reported == "unknown, shape of Streams application word-count (streams group, Stable), thread 1"
    assert str(ownership(f"other-{UUID}-1", names)) == "unknown, shape of Streams application other, thread 1"
    nameless = KnownNames.of({}, [ListedGroup("word-count", "", "Empty")])
    assert str(ownership(f"word-count-{UUID}-1", nameless)).endswith("Streams application word-count, thread 1")


def test_a_streams_thread_is_the_member_with_its_process_and_number() -> None:
    places = tuple(TopicPartition("orders", each) for each in range(5))
    members = (
        ConsumerMember(f"pay-{UUID}-StreamThread-1-consumer", "h1", UUID, places[:1]),
        ConsumerMember(f"pay-{UUID}-StreamThread-2-consumer", "h1", None, places[1:]),
        ConsumerMember("named-StreamThread-3-consumer", "h2", UUID, ()),
        ConsumerMember(f"pay-{UUID}-StreamThread-4-consumer", "h2", UUID, None),
        ConsumerMember("named-StreamThread-5-consumer", "h2", UUID.replace("7", "8"), places),
        ConsumerMember(f"pay-{UUID}-StreamThread-15-consumer", "h3", UUID, places),
    )

    def said(thread: int) -> str:
        (words,) = shapes_of(f"pay-{UUID}-{thread}", {}, {"pay": members})
        return words.removeprefix("Streams application pay, ")

    assert [said(thread) for thread in range(1, 6)] == [
        "thread 1 at h1, reads orders-0",
        "thread 2 at h1, reads orders-1, orders-2, orders-3 and 1 more",
        "thread 3 at h2, reads no partition",
        "thread 4 at h2",
        "thread 5, not in the group now",
    ]
    unread = {"pay": Skipped("denied", Cause.DENIED)}
    assert shapes_of(f"pay-{UUID}-1", {}, unread) == ("Streams application pay, thread 1",)


def test_only_groups_of_consumers_and_of_streams_are_asked_for_the_members_of_threads() -> None:
    kinds_ = {"a": "consumer", "b": "streams", "d": "connect", "worker-txn": "connect"}
    groups = {name: ListedGroup(name, kind, "Stable") for name, kind in kinds_.items()}
    ids = [f"{name}-{UUID}-1" for name in "abcd"] + ["a-0_1", f"worker-txn-{UUID}-1"]
    assert streams_applications(ids, groups) == {"a", "b"}


@pytest.mark.parametrize(
    ("transactional_id", "shapes"),
    [
        ("A-mm2-MirrorSourceConnector-0", ("MirrorMaker 2 MirrorSourceConnector task 0, from A",)),
        ("us-east-mm2-MirrorHeartbeatConnector-2", ("MirrorMaker 2 MirrorHeartbeatConnector task 2, from us-east",)),
        ("connect-cluster-A-mm2", ("MirrorMaker 2 leader, from A",)),
        (f"word-count-{UUID}-1", ("Streams application word-count, thread 1",)),
        ("word-count-0_12", ("Streams application word-count, task 0_12 (partition 12)",)),
        ("Sink: out-cbc357ccb763df2852fee8c4fc7d55f2-3", ("Flink producer Sink: out",)),
        ("orders-sink-0-17", ("Connect task 17 of orders-sink-0", "Flink sink orders-sink")),
        ("connect-cluster-x-3", ("Connect leader of x-3", "Connect task 3 of connect-cluster-x")),
        ("connect-cluster-reporting", ("Connect leader of reporting",)),
        ("g-c-0", ("Connect task 0 of g-c",)),
        (f"worker-txn-{UUID}-1", ("Iceberg sink worker, task 1",)),
        (f"eu-coordinator-txn-{UUID}-0", ("Iceberg sink coordinator, task 0",)),
        ("payments", ()),
        ("g-0", ("pool g-*, as of Spring",)),
        ("tx-billing.orders.3", ("Spring listener of orders-3",)),
        ("", ()),
        ("7", ()),
    ],
)
def test_the_owner_of_an_id_is_known_by_its_shape(transactional_id: str, shapes: tuple[str, ...]):
    assert shapes_of(transactional_id) == shapes


def test_an_id_of_an_iceberg_sinks_last_start_names_its_connector():
    names = KnownNames.of({"g": ("ice",)}, starts={f"-txn-{UUID}-0": "ice"})
    assert ownership(f"eu-worker-txn-{UUID}-0", names).shapes == ("Iceberg sink worker, task 0 of connector ice",)
    assert ownership(f"eu-worker-txn-{UUID}-1", names).shapes == ("Iceberg sink worker, task 1",)


NAMES = st.text(alphabet="ab-01", min_size=1, max_size=4)
GROUPS = st.dictionaries(NAMES | st.just("connect-cluster"), st.lists(NAMES, max_size=4, unique=True), max_size=4)


def ids(owner: IdOwner) -> set[str]:
    if owner.connector is None:
        return {leader_transactional_id(owner.group_id)}
    return {task_transactional_id(owner.group_id, ConnectorTaskId(owner.connector, task)) for task in range(12)}


def owners(groups: dict[str, list[str]]) -> list[IdOwner]:
    return [IdOwner(group, name) for group, names in groups.items() for name in (*names, None)]


@settings(max_examples=300)
@given(GROUPS)
def test_owners_that_share_an_id_are_found_and_no_others(groups):
    found = [each for each in find_collisions(groups) if each.equal]
    shared = {frozenset((a, b)) for a, b in combinations(owners(groups), 2) if ids(a) & ids(b)}
    reported = {frozenset((each.first, each.second)) for each in found}
    assert reported <= shared
    # The first of three owners of one ID is named with each of the others.
    assert {owner for pair in reported for owner in pair} == {owner for pair in shared for owner in pair}


@settings(max_examples=300)
@given(GROUPS)
def test_every_owner_with_ids_under_another_owner_s_prefix_is_named(groups):
    reported = {each.second.text for each in find_collisions(groups) if not each.equal}
    known = owners(groups)
    covered = {
        one.text
        for one in known
        if any(
            other.connector is not None
            and one.text.startswith(other.text)
            and (one.connector is None or one.text != other.text)
            for other in known
        )
    }
    assert reported == covered


def test_the_same_text_from_another_split_is_the_same_ids():
    [found] = [each for each in find_collisions({"a": ["b-c"], "a-b": ["c"]}) if each.equal]
    assert found == Collision("a-b-c-", IdOwner("a", "b-c"), IdOwner("a-b", "c"), equal=True)


def test_the_leader_of_one_group_may_be_a_task_of_another():
    found = [each for each in find_collisions({"connect-cluster": ["x"], "x-3": []}) if each.equal]
    assert [(each.shared, str(each.second)) for each in found] == [("connect-cluster-x-3", "the leader of group x-3")]


def test_a_prefix_with_its_dash_spares_the_connector_that_is_called_alike():
    assert list(find_collisions({"g": ["orders", "orders2"]})) == []


def test_a_connector_named_like_another_with_a_dash_is_reported():
    [found] = find_collisions({"g": ["orders", "orders-eu"]})
    assert (found.shared, str(found.second)) == ("g-orders-", "connector orders-eu of group g")


def test_a_transaction_is_overdue_when_the_coordinators_sweep_has_passed() -> None:
    """The coordinator looks each 10 s, and then writes markers."""
    just, over = (
        but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW - 60_000 - late)})
        for late in (30_000, 30_001)
    )
    assert (answer("EOS112", just).outcome, answer("EOS112", over).outcome) == ("fine", "found")


def test_an_id_expires_by_the_least_patient_broker() -> None:
    """Any broker may become its coordinator."""
    week, day = 604_800_000, 86_400_000
    brokers = {at: BROKER | {"transactional.id.expiration.ms": str(limit)} for at, limit in enumerate((week, day))}
    [found] = answer("EOS117", but(brokers=brokers, idle_since={"g-x-1": NOW - day + 3_600_000})).findings
    assert found.evidence["transactional_id_expiration_ms"] == day
    assert "expire in 1.0 h" in found.message


def test_the_name_of_a_consumer_group_is_no_leaders() -> None:
    """Only the leader of a Connect group has a transactional ID of the form connect-cluster-GROUP."""
    running = {"o": ConnectorStatus("o", "source", "RUNNING", (TaskStatus(0, "RUNNING", "a:8083"),))}
    for kind, outcome in (("connect", "found"), ("consumer", "fine")):
        evidence = but(group_id="connect-cluster", groups={"o-0": kind}, statuses=running, inspection=Skipped("denied"))
        assert answer("EOS113", evidence).outcome == outcome


@pytest.mark.parametrize(("maximum", "outcome"), [("60000", "fine"), ("59999", "found")])
def test_a_timeout_that_is_the_brokers_maximum_is_allowed(maximum: str, outcome: str) -> None:
    """TransactionCoordinator refuses what is larger."""
    assert answer("EOS104", but(brokers={0: BROKER | {"transaction.max.timeout.ms": maximum}})).outcome == outcome


def test_no_setting_is_reported_as_ignored_while_the_phase_of_workers_is_unknown() -> None:
    """Workers that are not enabled use the override."""
    overridden = inspection(**{"producer.override.enable.idempotence": "false"})
    unknown = but(workers={A: worker(A, enabled=Skipped("500"))}, inspection=overridden)
    assert (answer("EOS102", unknown).outcome, answer("EOS102", unknown).findings) == ("cannot tell", ())
    assert answer("EOS102", but(workers={A: worker(A, enabled=False)}, inspection=overridden)).outcome == "fine"


@pytest.mark.parametrize(("value", "outcome"), [("all", "found"), ("ALL", "found"), ("none", "fine"),
                                                ("${env:E}", "cannot tell")])  # fmt: skip
def test_a_source_that_tolerates_errors_is_warned_of(value, outcome) -> None:
    assert answer("EOS170", but(inspection=inspection(**{"errors.tolerance": value}))).outcome == outcome
    assert answer("EOS170", but(inspection=Skipped("denied"))).outcome == "cannot tell"
    assert answer("EOS170", HEALTHY).outcome == "fine"


def mirroring(*assigned: str | None):
    log = Log().writer(7).config("x", **{"connector.class": MIRROR})
    for task, places in enumerate(assigned):
        log.put(f"task-x-{task}", {"properties": {"task.assigned.partitions": places} if places else {}})
    return but(inspection=inspection(log.commit("x", len(assigned)).fencing("x", len(assigned))))


@pytest.mark.parametrize(
    ("assigned", "words"),
    [
        (("a-b-0,t-0", "a-b-1"), None),
        (("t-0,t-1", "t-1"), "t-1 in two tasks"),
        (("t-0", "t-2"), "t-1 in none"),
        (("t-0,t-2", "t-2"), "t-2 in two tasks and t-1 in none"),
    ],
)
def test_each_source_partition_of_a_mirror_is_in_one_task(assigned, words) -> None:
    said = answer("EOS171", mirroring(*assigned))
    assert [each.message.removeprefix("its task configs have source partitions ") for each in said.findings] == (
        [words] if words else []
    )


@pytest.mark.parametrize("assigned", [None, "", "${env:P}", "nonsense", "-0", "t-", "t-a", "t-²", "t-0,t"])
def test_a_mirror_s_task_without_partitions_that_can_be_read_is_not_fine(assigned) -> None:
    assert answer("EOS171", mirroring("t-0", assigned)).outcome == "cannot tell"


def test_a_partition_that_the_source_has_and_no_task_is_found_with_its_offset() -> None:
    place = TopicPartition("orders", 1)
    there = mirrored(3)._replace(connector="x")
    there = there._replace(bounds=replace(there.bounds, topic_partition=place))
    evidence = replace(mirroring("orders-0"), mirrors=(there,))
    assert answer("EOS171", evidence).findings[0].evidence["nowhere"] == ["orders-1"]
    assert answer("EOS171", replace(mirroring("other-0"), mirrors=(there,))).outcome == "fine"
    another = there._replace(connector="y")
    assert answer("EOS171", replace(mirroring("orders-0"), mirrors=(Skipped("unread"), another))).outcome == "fine"


@pytest.mark.parametrize("fact", ["group_id", "commits", "statuses"])
def test_no_task_s_commits_are_known_without_their_ids_and_the_log(fact) -> None:
    assert [each.task for each in task_commits(HEALTHY)] == [0, 1]
    assert list(task_commits(but(**{fact: Skipped("denied")}))) == []


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("rule", "partition", "outcome"),
    [
        ("EOS326", mirrored(8, log_start=9), "fine"),
        ("EOS326", mirrored(7, log_start=9), "(mirrored up to 7, its log starts at 9)"),
        ("EOS327", mirrored(19), "fine"),
        ("EOS327", mirrored(20), "(mirrored up to 20, it ends at 20)"),
        ("EOS327", mirrored(9, written_ms=NOW - 2 * HOUR + 60_000), "fine"),
        ("EOS327", mirrored(9, written_ms=NOW - 2 * HOUR + 60_001), "(the record at 9 was written 60 s after"),
        ("EOS328", mirrored(9, next_ms=NOW - HOUR // 2), "is 30 min old, and deleted after 60 min)"),
        ("EOS328", mirrored(9, next_ms=NOW - HOUR // 2 + 1), "fine"),
        ("EOS328", mirrored(9, next_ms=None), "fine"),
        ("EOS328", mirrored(9, next_ms=NOW - 9 * HOUR, retention_ms=-1), "fine"),
        ("EOS328", mirrored(19, next_ms=NOW - 9 * HOUR), "fine"),
        ("EOS328", mirrored(9, log_start=2, retention_bytes=5), "10 of 18 offsets that retention.bytes=5 keeps"),
        ("EOS328", mirrored(10, log_start=2, retention_bytes=5), "9 of 18 offsets that retention.bytes=5 keeps"),
        ("EOS328", mirrored(11, log_start=2, retention_bytes=5), "fine"),
        ("EOS328", mirrored(10, log_start=2, retention_bytes=-1), "fine"),
        ("EOS328", mirrored(10, log_start=2, retention_bytes=0), "9 of 18 offsets that retention.bytes=0 keeps"),
    ],
)
def test_a_mirror_s_partition_is_in_danger_from_half_of_its_retention_on_and_at_odds_behind_its_logs_ends(
    rule, partition, outcome
) -> None:
    said = answer(rule, but(mirrors=(partition,)))
    if outcome == "fine":
        assert said.outcome == "fine"
    else:
        assert [outcome in each.message for each in said.findings] == [True]


KEPT = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@pytest.mark.parametrize(
    ("settings", "partitions", "severity"),
    [
        ({}, 1, None),
        ({"retention.ms": str(2**63 - 1)}, 1, None),
        ({"retention.ms": "604800000"}, 1, Severity.ERROR),
        ({"retention.bytes": "1000"}, 1, Severity.ERROR),
        ({"cleanup.policy": "compact"}, 1, Severity.ERROR),
        ({}, 3, Severity.WARNING),
        ({"retention.ms": "0"}, 3, Severity.ERROR),
    ],
)
def test_a_schema_history_topic_keeps_every_record_in_one_partition(settings, partitions, severity) -> None:
    topic = TopicFacts("history", partitions, 3, KEPT | settings)
    evidence = but(inspection=inspection(**{"schema.history.internal.kafka.topic": "history"}))
    found = answer("EOS172", replace(evidence, topics={"history": topic})).findings
    assert [each.severity for each in found] == ([] if severity is None else [severity])


def test_a_schema_history_that_was_not_read_or_is_in_another_cluster_is_not_fine() -> None:
    config = {"schema.history.internal.kafka.topic": "history"}
    here = inspection(**config)
    for topics in ({}, {"history": None}, {"history": Skipped("denied")}, Skipped("denied"),
                   {"history": TopicFacts("history", 1, 3)}):  # fmt: skip
        assert answer("EOS172", but(inspection=here, topics=topics)).outcome == "cannot tell"
    elsewhere = inspection(**config, **{"schema.history.internal.kafka.bootstrap.servers": "other:1"})
    expiring = {"history": TopicFacts("history", 1, 3, KEPT | {"retention.ms": "1"})}
    asked = but(inspection=elsewhere, topics=expiring, worker_files=files(bootstrap_servers="here:1"))
    assert answer("EOS172", asked).outcome == "cannot tell"
