"""The audit's findings about faults planted in histories: in records, in logs, and across the beginning."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.codecs.record_batches import MarkerType
from eosctl.model.audit import AuditedTopic, AuditReport, AuditVerdict, OpenAtPlan, TopicRole
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from eosctl.model.transaction_log import TransactionalIdHolder
from tests.analysis.audit.brokers import CONFIGS, OFFSETS, Brokers, ConnectCluster, Connector, Writer, key_of, value_of
from tests.analysis.audit.histories import audit, audited

MINUTE = 60_000
HELD, BROKEN, CANNOT_TELL = AuditVerdict.HELD, AuditVerdict.BROKEN, AuditVerdict.CANNOT_TELL
ALTERED = AuditVerdict.ALTERED


@dataclass
class Planted:
    """A healthy history, up to the moment at which the fault is planted."""

    cluster: ConnectCluster
    orders: Connector

    @property
    def brokers(self) -> Brokers:
        return self.cluster.brokers

    def report(self) -> AuditReport:
        self.brokers.tick(MINUTE)
        work(self.cluster.connectors["bills"], range(20, 24))
        self.brokers.tick(MINUTE)
        report = audit(self.brokers)
        require_witnesses(report, self.brokers)
        return report


def require_witnesses(report: AuditReport, brokers: Brokers) -> None:
    """Each broken verdict has a witness of each of its findings, whose records are in the logs."""
    broken = {claim for each in report.connectors if each.verdict is BROKEN for claim in each.evidence}
    assert broken <= {each.finding_id for each in report.witnesses}
    for record in (each for witness in report.witnesses for each in witness.records):
        log = brokers.logs[TopicPartition(record.topic, record.partition)]
        assert 0 <= record.offset <= record.last_offset < log.next, record


def work(connector: Connector, positions: range) -> None:
    for position in positions:
        connector.write(0, {"a": position, "b": position}, outputs=(0, 1))
        connector.write(1, {"c": position}, outputs=(1,))


def only(report: AuditReport, kind: str, severity: Severity = Severity.ERROR) -> dict[str, Any]:
    """The evidence of the one finding that counts."""
    [finding] = [each for each in report.findings if each.counts]
    assert (finding.name, finding.severity) == (kind, severity)
    return dict(finding.evidence)


def place_of(evidence: dict[str, Any], offset: str = "offset") -> tuple[str, int, int]:
    first = evidence["places"][0] if "places" in evidence else evidence
    return first["topic"], first["partition"], first[offset]


def data_of(evidence: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in evidence["data"] if each["committed_with"] == name]


def verdicts(report: AuditReport) -> dict[str, AuditVerdict]:
    return {each.name: each.verdict for each in report.connectors}


def offsets_place(connector: Connector, source: str) -> TopicPartition:
    return connector.place(key_of(connector.name, source))


def place(at: TopicPartition, offset: int) -> tuple[str, int, int]:
    return at.topic, at.partition, offset


def test_nothing_planted(planted):
    report = planted.report()
    assert report.findings == ()
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


@pytest.mark.parametrize("meanwhile", [0, 5])
def test_a_zombie_writes_on_after_another_task_took_its_source_partition_over(planted, meanwhile):
    """It may write to other partitions meanwhile, which raises its epoch under transaction.version 2."""
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


def test_a_restarted_task_commits_the_same_offset_again_because_it_read_data_again_or_has_no_position(planted):
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
"""The common members of Debezium's offsets within a transaction."""


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


BINLOG = {"file": "binlog.000001", "pos": 1083, "gtids": "0-7-4", "server_id": 7}


@pytest.mark.parametrize(
    ("starts", "goes_on", "verdict"),
    [
        (1, {**BINLOG, "event": 121}, HELD),
        (1, {**BINLOG, "gtids": "0-7-5", "pos": 9966}, HELD),
        (1, {**BINLOG, "event": 119}, BROKEN),
        (1, None, CANNOT_TELL),
        (2, {**BINLOG, "event": 2}, BROKEN),
        (2, {**BINLOG, "gtids": "0-7-5", "pos": 9966}, BROKEN),
        (2, None, CANNOT_TELL),
    ],
)
def test_a_database_s_transaction_is_read_again_unless_the_session_that_wrote_its_start_goes_on_behind_it(
    planted, starts, goes_on, verdict
):
    orders, brokers = planted.orders, planted.brokers
    metadata = AuditedTopic("shop.transaction", TopicRole.OUTPUT, cleanup_policy="delete", connectors=("orders",))
    brokers.create(metadata, 1)
    key = b'["orders",{"server":"shop"}]'

    def commit(topic, offset):
        sent = orders.tasks[1].send(TopicPartition(topic, 0), [(None, b"event")])
        orders.tasks[1].send(orders.place(key), [(key, json.dumps(offset).encode())])
        orders.tasks[1].commit()
        return sent

    commit("orders", {**BINLOG, "event": 120, "row": 1})
    for _ in range(starts):
        brokers.tick(MINUTE)
        orders.start(1)
        commit("shop.transaction", BINLOG)
    again = None if goes_on is None else commit("orders", goes_on)
    report = planted.report()
    assert verdicts(report) == {"bills": HELD, "orders": verdict}
    if verdict is not HELD:
        severity = Severity.ERROR if verdict is BROKEN else Severity.WARNING
        evidence = only(report, "offset-set-back", severity)
        assert [each["first_offset"] for each in data_of(evidence, "next")] == ([] if again is None else [again])


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


def test_a_lower_offset_without_data_under_a_stopped_connector_s_own_id_was_altered(planted):
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


def test_a_key_of_no_source_partition_is_reported_and_does_not_count(planted):
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


def test_a_connector_with_missing_task_configs(planted):
    cluster = planted.cluster
    offset = cluster.write_config(("task-bills-0", {"properties": {}}), ("commit-bills", {"tasks": 5}))
    cluster.write_config(("tasks-fencing-bills", {"task-count": 5}))
    evidence = only(planted.report(), "inconsistent-connector")
    assert (place_of(evidence), evidence["connectors"]) == ((CONFIGS, 0, offset + 1), ["bills"])


def test_a_marker_that_never_came():
    """Under transaction.version 2 the epoch tells that the transaction has ended elsewhere."""
    cluster = ConnectCluster(Brokers(transaction_version=2))
    orders, bills = cluster.connector("orders", 2), cluster.connector("bills", 2)
    work(orders, range(1, 5))
    work(bills, range(1, 5))
    producer, lacking = orders.tasks[0], TopicPartition("orders", 2)
    offset = producer.send(lacking, [(None, b"x")] * 2)
    orders.offset(producer, "a", value_of(5))
    producer.commit(missing=[lacking])
    report = Planted(cluster, orders).report()
    assert place_of(only(report, "missing-marker"), "first_offset") == ("orders", 2, offset)
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_a_transaction_that_one_marker_commits_and_another_one_aborts():
    cluster = ConnectCluster(Brokers(transaction_version=2))
    orders, bills = cluster.connector("orders", 2), cluster.connector("bills", 2)
    work(orders, range(1, 5))
    work(bills, range(1, 5))
    producer, lacking = orders.tasks[0], TopicPartition("orders", 2)
    producer.send(lacking, [(None, b"x")] * 2)
    orders.offset(producer, "a", value_of(5))
    producer.commit(missing=[lacking])
    writer = Writer(producer.producer_id, producer.epoch, transactional=True)
    cluster.brokers.add_marker(lacking, MarkerType.ABORT, writer, cluster.brokers.tick())
    report = Planted(cluster, orders).report()
    assert only(report, "mixed-markers")["connectors"] == ["orders"]
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


def test_a_batch_that_is_gone_from_the_middle_of_an_output_topic(planted):
    at = TopicPartition("orders", 0)
    index = next(i for i, each in enumerate(planted.brokers.logs[at].batches) if i > 4 and each.kind is None)
    gone = planted.brokers.lose(at, index)
    report = planted.report()
    evidence = only(report, "lost-range")
    assert (place_of(evidence, "start"), evidence["end"]) == (("orders", 0, gone.base), gone.last + 1)
    assert verdicts(report) == {"bills": HELD, "orders": CANNOT_TELL}


@pytest.mark.parametrize("topic", [OFFSETS, CONFIGS])
def test_records_deleted_from_the_beginning_of_a_topic_that_is_never_cut(planted, topic):
    at = TopicPartition(topic, 0) if topic == CONFIGS else offsets_place(planted.orders, "a")
    log = planted.brokers.logs[at]
    log.start = log.batches[2].base
    log.batches = log.batches[2:]
    evidence = only(planted.report(), "expired-range", Severity.WARNING)
    assert (place_of(evidence, "start"), evidence["end"]) == (place(at, 0), log.start)


@pytest.mark.parametrize("magic", [False, True])
def test_a_batch_of_an_offsets_topic_that_cannot_be_read(planted, magic):
    at = offsets_place(planted.orders, "c")
    index = next(i for i, each in enumerate(planted.brokers.logs[at].batches) if i > 4 and each.kind is None)
    planted.brokers.damage(at, index, magic=magic)
    stored = planted.brokers.logs[at].batches[index]
    report = planted.report()
    damages = [each for each in report.findings if each.name == "unreadable-range"]
    assert [(each.evidence["topic"], each.evidence["offset"], each.evidence["end"]) for each in damages] == [
        (OFFSETS, stored.base, stored.last + 1)
    ]
    assert set(verdicts(report).values()) == {CANNOT_TELL}


def test_ranges_that_expired_before_an_audit_read_them(planted):
    seen = planted.brokers.seen()
    bounds = tuple(each for each in seen.bounds if each.topic == "orders")
    assert bounds[0].log_start_offset == 0
    before = audited(planted.brokers, seen, (), lambda _: ())
    work(planted.orders, range(12, 20))
    at = TopicPartition("orders", 0)
    log = planted.brokers.logs[at]
    cursor, log.start = bounds[0].last_stable_offset, log.batches[-4].base
    log.batches = log.batches[-4:]
    report = audited(planted.brokers, planted.brokers.seen(), before.carried, lambda _: (), seen).report
    [finding] = [each for each in report.findings if each.counts]
    assert finding.name == "expired-range"
    assert (finding.evidence["start"], finding.evidence["end"]) == (cursor, log.start)
    assert [(each.start, each.end) for each in report.ranges if each.topic == "orders" and each.partition == 0] == [
        (0, log.next)
    ]


def test_an_open_transaction_is_reported_and_does_not_count(planted):
    planted.orders.data(planted.orders.tasks[0], 2)
    report = planted.report()
    [finding] = report.findings
    assert (finding.name, finding.severity, finding.subject) == ("open-transaction", Severity.INFO, "orders-0")


def test_without_offsets_topics_no_answer_is_possible(planted):
    for name in [name for name, topic in planted.brokers.topics.items() if topic.role is TopicRole.OFFSETS]:
        del planted.brokers.topics[name]
        planted.brokers.logs = {at: log for at, log in planted.brokers.logs.items() if at.topic != name}
    assert set(verdicts(audit(planted.brokers)).values()) == {CANNOT_TELL}


@pytest.mark.parametrize(
    ("retention_ms", "verdict"), [(-1, CANNOT_TELL), (7 * 24 * 60 * MINUTE, CANNOT_TELL), (1, HELD), (None, HELD)]
)
def test_data_that_was_deleted_from_an_output_before_its_time(planted, retention_ms, verdict):
    """The offsets of its transactions are still there.

    Records that retention deleted cannot be judged, and are no fault.
    """
    at = TopicPartition("bills", 1)
    planted.brokers.topics["bills"] = replace(planted.brokers.topics["bills"], retention_ms=retention_ms)
    log = planted.brokers.logs[at]
    log.start, log.batches = log.batches[8].base, log.batches[8:]
    report = planted.report()
    [finding] = [each for each in report.findings if each.name == "expired-range"]
    assert (finding.subject, finding.evidence["start"], finding.evidence["end"]) == ("bills-1", 0, log.start)
    assert (finding.severity, verdicts(report)) == (
        Severity.WARNING if verdict is CANNOT_TELL else Severity.INFO,
        {"bills": verdict, "orders": HELD},
    )
    shorter = "DeleteRecords, or by a shorter retention than the topic has now" in finding.message
    assert shorter is (verdict is CANNOT_TELL)


def test_a_log_that_begins_inside_a_batch_was_cut_by_delete_records(planted):
    at = TopicPartition("bills", 1)
    log = planted.brokers.logs[at]
    [cut] = [each for each in log.batches if each.kind is None and each.last > each.base][:1]
    log.start, log.batches = cut.last, [each for each in log.batches if each.last >= cut.last]
    report = planted.report()
    evidence = only(report, "expired-range", Severity.WARNING)
    assert (place_of(evidence, "end"), evidence["connectors"]) == (("bills", 1, cut.last), ["bills"])
    assert verdicts(report) == {"bills": CANNOT_TELL, "orders": HELD}


def test_tasks_that_start_without_a_fencing_round(planted):
    orders = planted.orders
    commit = orders.configure(2)
    planted.brokers.tick(MINUTE)
    orders.start()
    work(orders, range(12, 14))
    report = planted.report()
    evidence = only(report, "start-without-fencing")
    assert {each["producer_id"] for each in evidence["places"]} == {each.producer_id for each in orders.tasks}
    assert {each["commit_offset"] for each in evidence["places"]} == {commit}
    assert evidence["count"] == 2
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


@pytest.mark.parametrize("round_takes", [MINUTE, 10 * MINUTE])
def test_tasks_that_had_not_written_yet_may_write_until_the_fencing_round_is_over(planted, round_takes):
    """A round takes minutes if many IDs are fenced one after the other; the tasks' records of that time are theirs."""
    orders = planted.orders
    orders.reconfigure(2)
    planted.brokers.tick(MINUTE)
    orders.configure(2)
    planted.brokers.tick(MINUTE)
    work(orders, range(12, 14))
    planted.brokers.tick(round_takes)
    orders.fence()
    orders.start()
    work(orders, range(14, 16))
    report = planted.report()
    assert [each for each in report.findings if each.counts] == []
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


@pytest.mark.parametrize("round_takes", [200, MINUTE])
def test_tasks_that_start_with_a_fencing_round_and_continue_for_long(planted, round_takes):
    orders = planted.orders
    orders.configure(2)
    planted.brokers.tick(round_takes)
    orders.fence()
    orders.start()
    work(orders, range(12, 14))
    planted.brokers.tick(10 * MINUTE)
    work(orders, range(14, 16))
    report = planted.report()
    assert [each for each in report.findings if each.counts] == []
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


def test_tasks_that_continue_behind_a_fencing_round_that_came_late(planted):
    orders = planted.orders
    commit = orders.configure(2)
    planted.brokers.tick(MINUTE)
    orders.start()
    work(orders, range(12, 14))
    planted.brokers.tick(MINUTE)
    orders.fenced = 0  # the round leaves their IDs out
    orders.fence()
    planted.brokers.tick(MINUTE)
    work(orders, range(14, 16))
    report = planted.report()
    evidence = only(report, "start-without-fencing")
    assert {each["producer_id"] for each in evidence["places"]} == {each.producer_id for each in orders.tasks}
    assert {each["commit_offset"] for each in evidence["places"]} == {commit}
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


# Transactions that are open when the audit is planned


def open_report(planted: Planted, monkeypatch: pytest.MonkeyPatch, *opened: OpenAtPlan, **more: object) -> AuditReport:
    plan = planted.brokers.plan
    monkeypatch.setattr(planted.brokers, "plan", lambda seen: replace(plan(seen), open=opened, **more))
    return audit(planted.brokers)


def left_open(planted: Planted) -> OpenAtPlan:
    """A task's transaction with data, of which nobody says yet whether it hangs."""
    task = planted.orders.tasks[0]
    at = planted.brokers.logs[TopicPartition("orders", 0)].next
    planted.orders.data(task, 1)
    planted.brokers.tick(MINUTE)
    return OpenAtPlan("orders", 0, at, task.producer_id, task.epoch, None, hangs=False, reason=None)


def told(report: AuditReport) -> list[tuple[str, str, str]]:
    """Transactions that are open or hang: what, where, and of whom."""
    kinds = {"hanging-transaction", "open-transaction"}
    return [(each.name, each.subject, each.message) for each in report.findings if each.name in kinds]


def test_an_open_transaction_holds_back_offsets_and_names_its_producer_and_transactional_id(planted, monkeypatch):
    at = left_open(planted)
    report = open_report(planted, monkeypatch, at, holders=(TransactionalIdHolder(at.producer_id, "group-orders-0"),))
    [(name, subject, message)] = told(report)
    assert (name, subject) == ("open-transaction", "orders-0")
    assert message == f"a transaction is open from offset {at.start_offset}: 1 offset waits for it"
    [found] = [each for each in report.findings if each.name == "open-transaction"]
    assert (found.evidence["producers"], found.evidence["transactional_ids"]) == ([at.producer_id], ["group-orders-0"])
    again = open_report(planted, monkeypatch, at, holders=())
    [found] = [each for each in again.findings if each.name == "open-transaction"]
    assert found.evidence["transactional_ids"] == []


@pytest.mark.parametrize(
    ("more", "whose"),
    [
        ({}, "no transactional ID, connector orders"),
        ({"transactional_id": "group-orders-0"}, "transactional ID group-orders-0, connector orders"),
        ({"producer_id": 999_999}, "no transactional ID"),
        ({"producer_id": 999_999, "transactional_id": "x"}, "transactional ID x, of no task of group group"),
    ],
)
def test_a_hanging_transaction_is_reported_with_its_owner_or_without_one(planted, monkeypatch, more, whose):
    at = left_open(planted)._replace(hangs=True, reason="no coordinator knows it", **more)
    [(name, subject, message)] = told(open_report(planted, monkeypatch, at))
    assert (name, subject) == ("hanging-transaction", "orders-0")
    words = f"the transaction of producer ID {at.producer_id} ({whose}) that is open from offset {at.start_offset} "
    assert message == f"{words}will never end (no coordinator knows it): read_committed consumers are stalled there"


def test_the_connectors_of_a_transaction_that_hangs_are_its_owner_s_or_else_the_topic_s(planted, monkeypatch):
    at = left_open(planted)._replace(hangs=True, reason="r", transactional_id="a-b-0", producer_id=999_999)
    report = open_report(planted, monkeypatch, at, group_id=None)
    [found] = [each for each in report.findings if each.name == "hanging-transaction"]
    assert (found.evidence["connectors"], found.evidence["owners"]) == (["orders"], [])
    assert "of no group that is known; it looks like a " in found.message


def test_a_hanging_transaction_is_also_reported_in_a_partition_without_records_to_read(planted, monkeypatch):
    at = left_open(planted)._replace(hangs=True, reason="r", partition=77)
    found = told(open_report(planted, monkeypatch, at))
    assert {(name, subject) for name, subject, _ in found} == {
        ("hanging-transaction", "orders-77"),
        ("open-transaction", "orders-0"),
    }
    living = told(open_report(planted, monkeypatch, at._replace(hangs=False)))
    assert [(name, subject) for name, subject, _ in living] == [("open-transaction", "orders-0")]
