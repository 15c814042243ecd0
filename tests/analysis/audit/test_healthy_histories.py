"""Histories without a fault, also split anywhere, get no finding."""

import json
import random
from difflib import unified_diff

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.codecs.record_batches import Codec
from eosctl.model.audit import AuditVerdict
from eosctl.model.names import TopicPartition
from eosctl.model.topics import OffsetRange
from tests.analysis.audit.brokers import (
    CONFIGS,
    OFFSETS,
    Brokers,
    ConnectCluster,
    Connector,
    Producer,
    key_of,
    value_of,
)
from tests.analysis.audit.histories import (
    MINUTE,
    Cut,
    History,
    audit,
    audit_by_runs,
    everywhere,
    found,
    spoils,
    steps,
    text_of,
)

SECOND = 1_000
DAY = 24 * 60 * MINUTE


@pytest.fixture(params=[1, 2], ids=["transaction.version 1", "transaction.version 2"])
def cluster(request: pytest.FixtureRequest) -> ConnectCluster:
    return ConnectCluster(Brokers(transaction_version=request.param))


@pytest.fixture
def orders(cluster: ConnectCluster) -> Connector:
    connector = cluster.connector("orders", 2)
    work(connector, range(1, 6))
    return connector


def work(connector: Connector, positions: range) -> None:
    """Both tasks write; the first one has two source partitions, whose offsets lie in different partitions."""
    for position in positions:
        connector.write(0, {"a": position}, outputs=(0, 1))
        connector.write(0, {"b": position}, outputs=(1,))
        connector.write(1, {"c": position, "d": position}, outputs=(1, 2))


def is_held(cluster: ConnectCluster) -> bool:
    cluster.brokers.tick(MINUTE)
    report = audit(cluster.brokers)
    assert found(report) == [], report.findings
    return {each.verdict for each in report.connectors} == {AuditVerdict.HELD}


@pytest.mark.parametrize("codec", Codec)
def test_connectors_that_just_work(cluster, codec):
    connector = cluster.connector("orders", 1)
    connector.write(0, {"a": 1}, codec=codec)
    connector.write(0, {"a": 2}, codec=codec)
    assert is_held(cluster)


def test_a_rolling_restart_of_all_tasks(cluster, orders):
    for task in (0, 1):
        orders.start(task)
        cluster.elect()
        cluster.write_config(("session-key", {"key": "x"}))
    work(orders, range(6, 10))
    assert is_held(cluster)


def test_markers_that_a_restarted_coordinator_writes_again(cluster, orders):
    """Their epoch is the one that the partition knows, and no transaction is open there (KIP-1228, KAFKA-19999)."""
    for place, log in cluster.brokers.logs.items():
        marker = next((each for each in reversed(log.batches) if each.kind is not None), None)
        if marker is not None:
            cluster.brokers.tick(10 * SECOND)
            cluster.brokers.add_marker(place, marker.kind, marker.writer, cluster.brokers.tick())
    assert is_held(cluster)
    work(orders, range(6, 10))
    assert is_held(cluster)


def test_a_task_that_died_in_the_middle_of_a_transaction(cluster, orders):
    orders.data(orders.tasks[0], 3, outputs=(0, 1))
    orders.offset(orders.tasks[0], "a", value_of(6))
    cluster.brokers.tick(10 * SECOND)
    orders.start(0)
    work(orders, range(6, 10))
    assert is_held(cluster)


def test_a_source_partition_that_moves_to_another_task_and_back_again_and_again(cluster, orders):
    for round_ in range(12):
        orders.reconfigure(2)
        orders.write(round_ % 2, {"a": 10 + round_})
        orders.write(1 - round_ % 2, {"c": 10 + round_, "d": 10 + round_})
    assert is_held(cluster)


def test_tasks_that_write_on_between_new_task_configs_and_a_late_fencing_round(cluster, orders):
    orders.configure(3)
    for position in range(6, 26):
        cluster.brokers.tick(2 * SECOND)
        work(orders, range(position, position + 1))
        orders.write(0, {f"new-{position}": 1})
    cluster.brokers.tick(20 * SECOND)
    orders.fence()
    orders.start()
    work(orders, range(30, 33))
    assert is_held(cluster)


def test_a_restart_without_news_that_commits_the_same_offset_without_data(cluster, orders):
    orders.start()
    orders.write(0, {"a": 5, "b": 5}, outputs=())
    assert is_held(cluster)


@pytest.mark.parametrize("moved", [6, 500, None])
def test_offsets_altered_or_reset_over_rest(cluster, orders, moved):
    orders.configure(0)
    cluster.brokers.tick(SECOND)
    orders.fence()
    producer = cluster.brokers.init("group-orders-0")
    for source in "abcd":
        orders.offset(producer, source, None if moved is None else value_of(moved))
    producer.commit()
    orders.configure(2)
    cluster.brokers.tick(10 * SECOND)
    orders.fence()
    orders.start()
    work(orders, range((moved or 0) + 1, (moved or 0) + 4))
    assert [each.verdict for each in audit(cluster.brokers).connectors if each.name == "orders"] == ["altered"]
    assert found(audit(cluster.brokers)) == ["offsets-altered"]
    counts = [each.evidence["tombstones"] for each in audit(cluster.brokers).findings if each.name == "offsets-removed"]
    assert counts == ([4] if moved is None else [])


def test_offsets_that_a_tool_copies_to_an_own_topic_in_one_transaction(cluster, orders):
    orders.configure(0)
    cluster.add_own_topic("orders", "orders-offsets")
    tool = cluster.brokers.init("move-of-orders")
    for source in "abcd":
        key = key_of("orders", source)
        tool.send(orders.place(key, "orders-offsets"), [(key, value_of(5))])
    tool.commit()
    orders.own = "orders-offsets"
    orders.reconfigure(2)
    for position in range(6, 9):
        work(orders, range(position, position + 1))
        mirror(orders, position)
    assert is_held(cluster)


def mirror(connector: Connector, position: int) -> None:
    """The copies that a worker writes to its own offsets topic, outside any transaction."""
    for source in "abcd":
        key = key_of(connector.name, source)
        connector.brokers.append(connector.place(key, OFFSETS), [(key, value_of(position))])


def test_a_mirror_maker_whose_records_have_the_timestamps_of_the_source(cluster):
    connector = cluster.connector("MirrorSourceConnector", 1)
    for position in range(1, 8):
        connector.write(0, {"t-0": position, "t-1": position}, timestamp=cluster.brokers.now - 30 * DAY + position)
    connector.write(0, {"t-0": 9}, timestamp=-1)
    connector.reconfigure(1)
    connector.write(0, {"t-0": 10}, timestamp=cluster.brokers.now + DAY)
    assert is_held(cluster)


def test_heartbeats_whose_offset_is_always_the_same(cluster):
    connector = cluster.connector("MirrorHeartbeatConnector", 1)
    for _ in range(3):
        for _ in range(4):
            cluster.brokers.tick(SECOND)
            connector.write(0, {"h": 0}, 1)
        connector.start()
        connector.write(0, {"h": 0}, 1)
    assert is_held(cluster)


def test_many_records_with_one_offset_in_several_transactions_of_one_task(cluster, orders):
    orders.write(0, {"b": 6})
    orders.write(0, {"a": 6})
    orders.write(0, {"b": 7})
    orders.write(0, {"a": 6})
    assert is_held(cluster)


def test_records_that_a_transformation_filters(cluster, orders):
    orders.write(0, {"a": 6}, 0)
    orders.write(1, {"c": 6}, 0)
    assert is_held(cluster)


def test_transactions_that_the_connector_aborts(cluster, orders):
    orders.data(orders.tasks[0], 3)
    orders.tasks[0].abort()
    orders.offset(orders.tasks[0], "a", value_of(6))
    orders.tasks[0].commit()
    work(orders, range(7, 9))
    assert is_held(cluster)


def test_a_transaction_that_is_under_way(cluster, orders):
    orders.data(orders.tasks[0], 3)
    orders.offset(orders.tasks[0], "a", value_of(6))
    assert is_held(cluster)


def test_an_upgrade_from_plain_writes_worker_by_worker(cluster):
    connector = upgraded(cluster)
    work(connector, range(4, 8))
    assert is_held(cluster)


def upgraded(cluster: ConnectCluster) -> Connector:
    """Task 0 begins to write in transactions while task 1 still writes plainly on a worker that comes later."""
    brokers = cluster.brokers
    connector = cluster.connector("orders", 2)
    connector.write_plainly({"a": 1, "b": 1, "c": 1, "d": 1})
    brokers.tick(MINUTE)
    connector.write(0, {"a": 2, "b": 2})
    brokers.tick(MINUTE)
    connector.write_plainly({"c": 2, "d": 2})
    brokers.tick(MINUTE)
    connector.write(1, {"c": 3, "d": 3})
    return connector


def test_a_first_roll_to_preparing_in_which_leaders_of_both_kinds_take_turns(cluster):
    for plain in (True, False, True, False):
        cluster.elect()
        cluster.write_config(("session-key", {"key": "x"}), plain=plain)
    work(cluster.connector("orders", 2), range(1, 4))
    assert is_held(cluster)


@pytest.mark.parametrize("markers_too", [False, True])
def test_offsets_topics_compacted_at_any_time(cluster, orders, markers_too):
    for place in list(cluster.brokers.logs):
        if place.topic in {OFFSETS, CONFIGS}:
            cluster.brokers.compact(place, cluster.brokers.logs[place].next - 4, drop_markers=markers_too)
    work(orders, range(6, 10))
    orders.reconfigure(2)
    work(orders, range(10, 12))
    assert is_held(cluster)


def test_a_transactional_id_that_expired_and_got_another_producer_id(cluster, orders):
    del cluster.brokers.ids["group-orders-0"]
    orders.start(0)
    work(orders, range(6, 10))
    assert is_held(cluster)


def test_a_producer_id_whose_epochs_are_used_up(cluster, orders):
    producer = orders.tasks[0]
    orders.tasks[0] = Producer(cluster.brokers, producer.producer_id + 1000, 0)
    work(orders, range(6, 10))
    assert is_held(cluster)


def test_source_offsets_with_several_numbers_and_file_names(cluster):
    connector = cluster.connector("orders", 1)
    for offset in (
        {"file": "log.000001", "pos": 900},
        {"file": "log.000002", "pos": 4},
        {"file": "log.000002", "pos": 8},
    ):
        producer = connector.tasks[0]
        connector.data(producer, 1)
        connector.offset(producer, "a", json.dumps(offset).encode())
        producer.commit()
    assert is_held(cluster)


def test_a_connector_that_is_deleted_leaves_offsets_that_are_reported_and_do_not_count(cluster, orders):
    gone = cluster.connector("gone", 1)
    gone.write(0, {"a": 1})
    cluster.brokers.connectors.remove("gone")
    report = audit(cluster.brokers)
    assert found(report) == []
    assert [(each.name, each.subject) for each in report.findings] == [("orphan-offsets", "gone")]


@pytest.mark.parametrize(("version", "skew"), [(2, 40), (2, 30_000), (1, 4)])
def test_brokers_whose_clocks_differ(version, skew):
    cluster = ConnectCluster(Brokers(transaction_version=version, clock_skew_ms=skew))
    connector = cluster.connector("orders", 2)
    for position in range(1, 6):
        cluster.brokers.tick(SECOND)
        work(connector, range(position, position + 1))
    assert is_held(cluster)


def test_clocks_that_differ_by_more_than_transactions_lie_apart_leave_it_open_under_transaction_version_1():
    cluster = ConnectCluster(Brokers(transaction_version=1, clock_skew_ms=40))
    connector = cluster.connector("orders", 1)
    for position in range(1, 6):
        cluster.brokers.tick(SECOND)
        for source in "abc":
            connector.write(0, {source: position}, outputs=(0, 1))
    cluster.brokers.tick(2 * MINUTE)
    report = audit(cluster.brokers)
    assert found(report) == ["unclear"]
    assert {each.verdict for each in report.connectors} == {AuditVerdict.CANNOT_TELL}


def test_connectors_of_another_group_in_the_same_offsets_topic_get_no_verdict_unless_one_is_asked_for(cluster, orders):
    theirs = cluster.connector("theirs", 1)
    theirs.write(0, {"a": 1})
    cluster.brokers.connectors.remove("theirs")
    del cluster.brokers.topics["theirs"]
    cluster.brokers.logs = {at: log for at, log in cluster.brokers.logs.items() if at.topic != "theirs"}
    report = audit(cluster.brokers)
    assert [(each.name, each.verdict) for each in report.connectors] == [("orders", AuditVerdict.HELD)]
    asked = audit(cluster.brokers, selected=("theirs",))
    assert [(each.name, each.verdict) for each in asked.connectors] == [("theirs", AuditVerdict.CANNOT_TELL)]


EXAMPLES, MANY = 15, 3000
versions = st.sampled_from([1, 2])
skews = st.sampled_from([0, 2, 40])
strangers = st.integers(0, 4)


def cuts(seed: int) -> Cut:
    """Some offsets of each range, the same ones each time."""

    def cut(offsets: OffsetRange) -> list[int]:
        chosen = random.Random(f"{seed} {offsets}")
        return [offset for offset in range(offsets.start, offsets.end) if chosen.random() < 0.15]

    return cut


def check(version: int, skew: int, played: list, spoiled: list, seed: int, strangers: int = 0) -> None:
    """strangers: the number of first looks at which no connectors are known."""
    history = History(version, skew).play(played, spoiled)
    last = history.moments[-1]
    for number in range(min(strangers, len(history.moments) - 1)):
        history.moments[number] = history.moments[number]._replace(known=False)
    at_once = text_of(audit(history.brokers, last))
    for other in (
        audit(history.brokers, last, everywhere if seed == 0 else cuts(seed)),
        audit_by_runs(history.brokers, history.moments),
        audit_by_runs(history.brokers, history.moments, cuts(seed)),
    ):
        require_same(text_of(other), at_once)


def require_same(text: str, expected: str) -> None:
    if text != expected:
        pytest.fail("\n".join([*unified_diff(expected.split("\n"), text.split("\n"), lineterm="")][:60]))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000), strangers)
def test_any_split_and_any_runs_give_the_report_of_one_audit(version, skew, played, spoiled, seed, strangers):
    check(version, skew, played, spoiled, seed, strangers)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=MANY, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000), strangers)
def test_any_split_and_any_runs_give_the_report_of_one_audit_in_thousands_of_histories(
    version, skew, played, spoiled, seed, strangers
):
    check(version, skew, played, spoiled, seed, strangers)


def test_offsets_of_a_transaction_wait_for_its_data_that_another_ones_open_transaction_keeps_unsettled():
    """By the clock of another broker, the two are put side by side; both have to be there when that is judged."""
    history = History(1, clock_skew_ms=40)
    brokers, orders = history.brokers, history.connectors[0]
    kept = TopicPartition("orders", 1)
    other = brokers.init("other")
    other.send(kept, [(None, b"x")])
    even = next(source for source in "abc" if orders.place(key_of("orders", source)).partition % 2 == 0)
    orders.write(0, {even: 1}, outputs=(1,))
    brokers.tick(16 * MINUTE)
    first = brokers.seen()
    other.abort()
    brokers.tick(16 * MINUTE)
    last = brokers.seen()
    require_same(text_of(audit_by_runs(brokers, [first, last])), text_of(audit(brokers, last)))


def test_data_behind_the_last_stable_offset_counts_for_a_change_of_offsets_in_every_run():
    """Of the connector's next transaction after the change, a marker is missing beside its data."""
    stopped = ("reconfigure", 1, 0, False)
    steps = [("move", False, 0), ("zombie", 1, "b", 1), stopped, ("move", True, 0), ("look",), ("missing", 1, "b")]
    history = History(2).play(steps)
    at_once = audit(history.brokers, history.moments[-1])
    assert [tuple(each.repeated_by_change) for each in at_once.connectors if each.name == "bills"] == [(0, 2)]
    require_same(text_of(audit_by_runs(history.brokers, history.moments)), text_of(at_once))


def test_a_connector_that_becomes_known_later_answers_for_what_it_did_before():
    history = History(1)
    orders = history.connectors[0]
    other_task = orders.tasks[1]
    orders.data(other_task, 3, outputs=(1,))
    other_task.commit()
    orders.write(0, {"a": 1}, outputs=(1,))
    history.brokers.tick(100 * MINUTE)
    stranger = history.brokers.seen()._replace(known=False)
    orders.write(0, {"a": 2}, outputs=(1,))
    history.brokers.tick(100 * MINUTE)
    last = history.brokers.seen()
    report = audit_by_runs(history.brokers, [stranger, last])
    assert [(each.name, each.subject) for each in report.findings if each.counts] == [
        ("data-without-offsets", "orders")
    ]
    require_same(text_of(report), text_of(audit(history.brokers, last)))
