"""What healthy connectors do, and nothing of it is held against them."""

import json

import pytest

from eosctl.codecs.record_batches import Codec
from eosctl.model.audit import AuditVerdict
from tests.analysis.audit.brokers import Brokers, Producer
from tests.analysis.audit.connect_cluster import CONFIGS, OFFSETS, ConnectCluster, Connector, key_of, value_of
from tests.analysis.audit.runs import audit, found

SECOND, MINUTE = 1_000, 60_000
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
    told = [each.evidence["tombstones"] for each in audit(cluster.brokers).findings if each.name == "offsets-removed"]
    assert told == ([4] if moved is None else [])


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


def test_a_connector_that_is_deleted_leaves_offsets_that_are_told_and_do_not_count(cluster, orders):
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
