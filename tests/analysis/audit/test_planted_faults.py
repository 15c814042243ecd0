"""One fault at a time in a healthy history of several connectors: it is found, in its place, and nothing else is."""

import json

import pytest

from eosctl.model.audit import AuditedTopic, TopicRole
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from tests.analysis.audit.brokers import Brokers
from tests.analysis.audit.connect_cluster import CONFIGS, OFFSETS, ConnectCluster, key_of, value_of
from tests.analysis.audit.planted import (
    ALTERED,
    BROKEN,
    CANNOT_TELL,
    HELD,
    MINUTE,
    data_of,
    offsets_place,
    only,
    place,
    place_of,
    verdicts,
    work,
)
from tests.analysis.audit.runs import audit


def test_nothing_planted(planted):
    report = planted.report()
    assert report.findings == ()
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


@pytest.mark.parametrize("meanwhile", [0, 5])
def test_a_zombie_writes_on_after_another_task_took_its_source_partition_over(planted, meanwhile):
    """Whatever it wrote meanwhile to other partitions, by which its epoch rises under transaction.version 2."""
    orders = planted.orders
    zombie = orders.tasks[0]
    orders.write(1, {"a": 12})
    for at in range(meanwhile):
        orders.data(zombie, 2)
        orders.offset(zombie, "b", value_of(12 + at))
        zombie.commit()
    orders.data(zombie, 2)
    offset = orders.offset(zombie, "a", value_of(13))
    zombie.commit()
    report = planted.report()
    evidence = only(report, "zombie-writer")
    assert place_of(evidence) == place(offsets_place(orders, "a"), offset)
    assert evidence["places"][0]["after"].startswith(f"producer ID {zombie.producer_id} at offset ")
    assert evidence["count"] == 1
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_a_plain_producer_writes_an_offset(planted):
    key = key_of("orders", "a")
    offset = planted.brokers.append(offsets_place(planted.orders, "a"), [(key, value_of(12))])
    report = planted.report()
    assert place_of(only(report, "plain-offsets-write")) == place(offsets_place(planted.orders, "a"), offset)
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


@pytest.mark.parametrize("again", [3, 11, 500])
def test_a_connector_reads_again_from_the_beginning_when_it_gets_its_own_offsets_topic(planted, again):
    """V1: its own topic is empty, and nulls shadow what the worker's topic has, however far its first commit comes."""
    orders = planted.orders
    planted.cluster.add_own_topic("orders", "orders-offsets")
    orders.own = "orders-offsets"
    orders.reconfigure(1)
    orders.write(0, {"a": again})
    orders.write(0, {"a": 501})
    report = planted.report()
    evidence = only(report, "offset-not-taken-over")
    assert place_of(evidence) == place(offsets_place(orders, "a"), 0)
    [again_at] = data_of(evidence, "after")
    assert (again_at["topic"], again_at["partition"], again_at["records"]) == ("orders", 0, 2)
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_a_restarted_task_that_commits_the_same_offset_again_with_data_read_again_or_tells_no_position(planted):
    orders = planted.orders
    planted.brokers.tick(MINUTE)
    orders.start(1)
    orders.write(1, {"c": 11}, outputs=(1,))
    report = planted.report()
    evidence = only(report, "offset-repeated", Severity.WARNING)
    log = planted.brokers.logs[offsets_place(orders, "c")]
    assert place_of(evidence) == place(offsets_place(orders, "c"), log.next - 2)
    before, after = data_of(evidence, "before"), data_of(evidence, "after")
    assert [(each["topic"], each["partition"], each["records"]) for each in (*before, *after)] == [("orders", 1, 2)] * 2
    assert before[0]["last_offset"] < after[0]["first_offset"]
    assert verdicts(report) == {"bills": HELD, "orders": CANNOT_TELL}


@pytest.mark.parametrize("repeats", [1, 2])
def test_heartbeats_that_repeat_the_offset_after_a_restart_go_to_another_topic_than_the_data(planted, repeats):
    orders, brokers = planted.orders, planted.brokers
    brokers.create(AuditedTopic("heartbeats", TopicRole.OUTPUT, cleanup_policy="delete", connectors=("orders",)), 1)
    brokers.tick(MINUTE)
    orders.start(1)
    for _ in range(repeats):
        orders.tasks[1].send(TopicPartition("heartbeats", 0), [(None, b"beat")])
        orders.offset(orders.tasks[1], "c", value_of(11))
        orders.tasks[1].commit()
    report = planted.report()
    assert report.findings == ()
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


def test_a_heartbeat_of_debezium_that_repeats_the_offset_of_the_heartbeat_before_a_restart_is_no_record(planted):
    orders, brokers = planted.orders, planted.brokers
    beats = "__debezium-heartbeat.shop"
    brokers.create(AuditedTopic(beats, TopicRole.OUTPUT, cleanup_policy="delete", connectors=("orders",)), 1)
    for number, offset in enumerate((12, 13, 13)):
        if number == 2:
            brokers.tick(MINUTE)
            orders.start(1)
        orders.tasks[1].send(TopicPartition(beats, 0), [(None, b"beat")])
        orders.offset(orders.tasks[1], "c", value_of(offset))
        orders.tasks[1].commit()
    report = planted.report()
    assert report.findings == ()
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


BEGUN = {"lsn_commit": 9, "lsn_proc": 19}
"""What Debezium's offsets have in common within a transaction."""


@pytest.mark.parametrize(
    ("topic", "offsets", "verdict"),
    [
        ("shop.transaction", ({**BEGUN, "lsn": 19}, {**BEGUN, "lsn": 12, "messageType": "BEGIN"}), HELD),
        ("shop.transaction", ({**BEGUN, "lsn": 19}, {**BEGUN, "lsn": 19}), HELD),
        ("orders", ({**BEGUN, "lsn": 19}, {**BEGUN, "lsn": 19}), CANNOT_TELL),
        ("shop.transaction", ({**BEGUN, "lsn": 19}, {**BEGUN, "lsn": 12, "lsn_proc": 12}), BROKEN),
    ],
)
def test_metadata_of_a_transaction_that_a_restart_interrupted_are_no_records_read_again(
    planted, topic, offsets, verdict
):
    orders, brokers = planted.orders, planted.brokers
    brokers.create(
        AuditedTopic("shop.transaction", TopicRole.OUTPUT, cleanup_policy="delete", connectors=("orders",)), 1
    )
    key = b'["orders",{"server":"shop"}]'
    for number, (written, offset) in enumerate(zip((("shop.transaction", "orders"), (topic,)), offsets, strict=True)):
        if number:
            brokers.tick(MINUTE)
            orders.start(1)
        for each in written:
            orders.tasks[1].send(TopicPartition(each, 0), [(None, b"event")])
        orders.tasks[1].send(orders.place(key), [(key, json.dumps(offset).encode())])
        orders.tasks[1].commit()
    assert verdicts(planted.report()) == {"bills": HELD, "orders": verdict}


@pytest.mark.parametrize(
    ("form", "kind", "verdict"),
    [
        ({"lsn": 700}, "snapshot-begun-again", HELD),
        ({"lsn": 900}, "snapshot-begun-again", HELD),
        ({"row": 2}, "snapshot-unclear", CANNOT_TELL),
    ],
)
def test_a_snapshot_that_is_interrupted_and_begun_again_is_reported_and_kafka_kept_its_promise(
    planted, form, kind, verdict
):
    orders = planted.orders
    first = dict.fromkeys(form, 700)
    for number, offset in enumerate([{**first, "ts_usec": 1}, {**first, "ts_usec": 2}, {**form, "ts_usec": 3}]):
        if number == 2:
            planted.brokers.tick(MINUTE)
            orders.start(0)
        orders.data(orders.tasks[0], 5)
        value = json.dumps({"snapshot_completed": False, "snapshot": "INITIAL", **offset}).encode()
        orders.offset(orders.tasks[0], "s", value)
        orders.tasks[0].commit()
    orders.offset(orders.tasks[0], "s", b'{"lsn":950}')
    orders.tasks[0].commit()
    report = planted.report()
    evidence = only(report, kind, Severity.WARNING)
    assert [each["records"] for each in data_of(evidence, "before")] == [5]
    assert verdicts(report) == {"bills": HELD, "orders": verdict}


def test_a_lower_offset_without_data_by_a_stopped_connectors_own_id_was_altered_by_somebody(planted):
    orders, brokers = planted.orders, planted.brokers
    orders.configure(0)
    brokers.tick(MINUTE)
    orders.fence()
    altering = brokers.init("group-orders-0")
    orders.offset(altering, "a", value_of(4))
    altering.commit()
    orders.configure(2)
    brokers.tick(MINUTE)
    orders.fence()
    orders.start()
    work(orders, range(12, 14))
    report = planted.report()
    assert [(each.name, each.counts) for each in report.findings if each.name != "offsets-without-data"] == [
        ("offsets-altered", True)
    ]
    assert verdicts(report) == {"bills": HELD, "orders": ALTERED}


def test_an_offset_is_copied_backwards(planted):
    orders = planted.orders
    copier = planted.brokers.init("copier")
    offset = orders.offset(copier, "a", value_of(4))
    copier.commit()
    report = planted.report()
    evidence = only(report, "offset-set-back")
    assert place_of(evidence) == place(offsets_place(orders, "a"), offset)
    assert [evidence["places"][0][name].split(": ")[1] for name in ("before", "after")] == [
        '{"position":11}',
        '{"position":4}',
    ]
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


@pytest.mark.parametrize("wait", [5_000, 2 * MINUTE])
def test_a_transaction_without_offsets(planted, wait):
    orders, producer = planted.orders, planted.orders.tasks[0]
    planted.brokers.tick(wait)
    offset = producer.send(TopicPartition("orders", 1), [(None, b"x")] * 3)
    producer.commit()
    planted.brokers.tick(wait)
    work(orders, range(12, 14))
    report = planted.report()
    evidence = only(report, "data-without-offsets")
    [finding] = report.findings
    assert f"`eosctl transactions list --producer-id {producer.producer_id}`" in finding.cure
    assert place_of(evidence, "first_offset") == ("orders", 1, offset)
    assert (evidence["count"], evidence["records"], evidence["places"][0]["last_offset"]) == (1, 3, offset + 2)
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_records_outside_any_transaction(planted):
    offset = planted.brokers.append(TopicPartition("orders", 1), [(None, b"x")] * 2)
    report = planted.report()
    evidence = only(report, "data-outside-transaction")
    assert (evidence["topic"], evidence["partition"], evidence["last_offset"]) == ("orders", 1, offset + 1)
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_a_leader_with_exactly_once_off(planted):
    offset = planted.cluster.write_config(("connector-orders", {"properties": {}}), plain=True)
    report = planted.report()
    evidence = only(report, "plain-leader-write")
    assert place_of(evidence) == (CONFIGS, 0, offset)
    assert evidence["connectors"] == ["orders"]
    assert verdicts(report) == {"bills": HELD, "orders": CANNOT_TELL}


def test_a_key_with_a_value_in_two_partitions(planted):
    """V12: copied with a partitioner that is not Java's."""
    orders, key = planted.orders, key_of("orders", "a")
    at = TopicPartition(OFFSETS, (offsets_place(orders, "a").partition + 1) % 3)
    copier = planted.brokers.init("copier")
    offset = copier.send(at, [(key, value_of(11))])
    copier.commit()
    work(orders, range(12, 14))
    report = planted.report()
    assert place_of(only(report, "key-in-two-partitions", Severity.WARNING)) == place(at, offset)
    assert verdicts(report) == {"bills": HELD, "orders": CANNOT_TELL}


def test_one_source_partition_under_two_keys_that_differ_in_bytes(planted):
    at = TopicPartition(OFFSETS, 0)
    tool = planted.brokers.init("group-orders-0")
    for key in (b'["orders",{"x":1,"y":2}]', b'["orders",{"y":2,"x":1}]'):
        offset = tool.send(at, [(key, value_of(1))])
    tool.commit()
    evidence = only(planted.report(), "logical-duplicates", Severity.WARNING)
    assert place_of(evidence) == place(at, offset - 1) or place_of(evidence) == place(at, offset)


def test_a_key_of_no_source_partition_is_told_and_does_not_count(planted):
    offset = planted.brokers.append(TopicPartition(OFFSETS, 1), [(b"no json", b"{}")])
    report = planted.report()
    [finding] = report.findings
    assert (finding.name, finding.severity, place_of(dict(finding.evidence))) == (
        "malformed-offsets-key",
        Severity.INFO,
        (OFFSETS, 1, offset),
    )
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


def test_two_leaders_at_once():
    cluster = ConnectCluster(Brokers(transaction_version=1))
    other = cluster.brokers.init("connect-cluster-other")
    orders = cluster.connector("orders", 1)
    orders.write(0, {"a": 1})
    other.send(cluster.configs, [(b"session-key", b"{}")])
    other.commit()
    offset = cluster.write_config(("session-key", {"key": "x"}))
    report = audit(cluster.brokers)
    evidence = only(report, "interleaved-leaders")
    assert (place_of(evidence), evidence["connectors"]) == ((CONFIGS, 0, offset), ["orders"])
    assert verdicts(report) == {"orders": CANNOT_TELL}


def test_a_connector_that_lacks_task_configs(planted):
    cluster = planted.cluster
    offset = cluster.write_config(("task-bills-0", {"properties": {}}), ("commit-bills", {"tasks": 5}))
    cluster.write_config(("tasks-fencing-bills", {"task-count": 5}))
    evidence = only(planted.report(), "inconsistent-connector")
    assert (place_of(evidence), evidence["connectors"]) == ((CONFIGS, 0, offset + 1), ["bills"])
