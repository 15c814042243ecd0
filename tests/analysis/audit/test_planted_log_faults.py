"""One fault at a time in the logs of a healthy history: what is gone, open, decided twice or cannot be read."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.record_batches import MarkerType
from eosctl.model.audit import TopicRole
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from tests.analysis.audit.batch_bytes import Writer
from tests.analysis.audit.brokers import Brokers
from tests.analysis.audit.connect_cluster import CONFIGS, OFFSETS, ConnectCluster, value_of
from tests.analysis.audit.planted import (
    BROKEN,
    CANNOT_TELL,
    HELD,
    MINUTE,
    Planted,
    offsets_place,
    only,
    place,
    place_of,
    verdicts,
    work,
)
from tests.analysis.audit.runs import audit, audited


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


def test_what_is_open_is_told_and_does_not_count(planted):
    planted.orders.data(planted.orders.tasks[0], 2)
    report = planted.report()
    [finding] = report.findings
    assert (finding.name, finding.severity, finding.subject) == ("open-transaction", Severity.INFO, "orders-0")


def test_without_offsets_topics_nothing_can_be_told(planted):
    for name in [name for name, topic in planted.brokers.topics.items() if topic.role is TopicRole.OFFSETS]:
        del planted.brokers.topics[name]
        planted.brokers.logs = {at: log for at, log in planted.brokers.logs.items() if at.topic != name}
    assert set(verdicts(audit(planted.brokers)).values()) == {CANNOT_TELL}


@pytest.mark.parametrize(
    ("retention_ms", "verdict"), [(-1, CANNOT_TELL), (7 * 24 * 60 * MINUTE, CANNOT_TELL), (1, HELD), (None, HELD)]
)
def test_data_that_was_deleted_from_an_output_before_its_time(planted, retention_ms, verdict):
    """The offsets of its transactions are still there. What retention deletes is past judging, and no fault."""
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
