"""Offsets that were changed by requests or by hand, and what the config topic says of the time before."""

from collections.abc import Mapping

import pytest

from eosctl.analysis.audit.history import config_event, summarize_config
from eosctl.codecs.config_topic import decode_config_records
from eosctl.model.audit import AuditedTopic, AuditReport, AuditVerdict, ConfigSummary, ConnectorVerdict, TopicRole
from eosctl.model.audit_states import ConfigEvent
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record, RecordState
from eosctl.model.report import Finding, Severity
from tests.analysis.audit.brokers import Brokers, ConnectCluster, Connector, key_of, value_of
from tests.analysis.audit.histories import audit, audit_by_runs, audited, everywhere, text_of, whole
from tests.analysis.audit.test_planted_faults import ALTERED, BROKEN, CANNOT_TELL, HELD, MINUTE, data_of


@pytest.fixture(params=[1, 2], ids=["transaction.version 1", "transaction.version 2"])
def orders(request: pytest.FixtureRequest) -> Connector:
    """One task, one source partition, three records in each of ten transactions."""
    cluster = ConnectCluster(Brokers(transaction_version=request.param))
    orders = cluster.connector("orders", 1)
    go_on(orders, range(1, 11))
    return orders


def go_on(orders: Connector, positions: range, records: int = 3) -> None:
    for position in positions:
        orders.write(0, {"a": position}, records)
    orders.brokers.tick(MINUTE)


def stop(orders: Connector) -> None:
    orders.configure(0)
    orders.brokers.tick(MINUTE)


def change(orders: Connector, offsets: Mapping[str, bytes | None]) -> None:
    """The records of a PATCH or DELETE of the connector's offsets: written by the first task's producer, without
    data."""
    altering = orders.brokers.init("group-orders-0")
    for source, value in offsets.items():
        orders.offset(altering, source, value)
    altering.commit()
    orders.brokers.tick(MINUTE)


def resume(orders: Connector) -> None:
    orders.configure(1)
    orders.brokers.tick(MINUTE)
    orders.fence()
    orders.start()


def alter(orders: Connector, value: bytes | None, source: str = "a") -> None:
    stop(orders)
    change(orders, {source: value})
    resume(orders)


def judged(report: AuditReport) -> ConnectorVerdict:
    [verdict] = [each for each in report.connectors if each.name == "orders"]
    return verdict


def judgement(report: AuditReport) -> tuple[AuditVerdict, tuple[int, int | None], tuple[int, int | None]]:
    verdict = judged(report)
    return verdict.verdict, tuple(verdict.repeated_by_change), tuple(verdict.left_out_by_change)


def the_change(report: AuditReport) -> Finding:
    [finding] = [each for each in report.findings if each.name == "offsets-altered"]
    return finding


def test_records_behind_an_offset_that_was_set_back_are_counted(orders):
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    report = audit(orders.brokers)
    assert judgement(report) == (ALTERED, (18, 18), (0, 0))
    assert judged(report).evidence == ("EOS206",)
    assert "18 records were written to its topics again" in judged(report).reasons[0]
    finding = the_change(report)
    assert finding.severity is Severity.WARNING
    assert "skipped" not in finding.cure
    [before], [after] = data_of(finding.evidence, "before"), data_of(finding.evidence, "after")
    assert before["records"] == after["records"] == 18
    assert before["last_offset"] < after["first_offset"]


@pytest.mark.parametrize("selected", [(), ("orders",)], ids=["by topic", "by connector"])
def test_without_its_output_topic_repeated_records_are_unknown(orders, selected):
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    brokers = orders.brokers
    brokers.topics["other"] = AuditedTopic("other", TopicRole.OUTPUT)
    report = audited(brokers, brokers.seen(), (), whole, selected=selected, named=("other",)).report
    if selected:
        assert judgement(report) == (CANNOT_TELL, (0, None), (0, None))
        assert the_change(report).severity is Severity.WARNING
    else:
        assert (report.connectors, [each for each in report.findings if each.name == "offsets-altered"]) == ((), [])


@pytest.mark.parametrize("value", [None, b'{"position":0}'], ids=["deleted", "set to the beginning"])
def test_a_reset_repeats_all_that_was_there(orders, value):
    alter(orders, value)
    go_on(orders, range(2, 14, 2), records=6)
    expected = (30, 30)
    assert judgement(audit(orders.brokers)) == (ALTERED, expected, (0, 0))


def test_transactions_that_are_cut_otherwise_are_counted_by_those_before(orders):
    """Seven source records a transaction: one reaches across the last position, and the passes before are exact."""
    alter(orders, value_of(4))
    orders.write(0, {"a": 7}, 9)
    orders.write(0, {"a": 12}, 15)
    assert judgement(audit(orders.brokers)) == (ALTERED, (18, 18), (0, 0))


def test_positions_that_no_transaction_ended_with_leave_bounds(orders):
    """Between two commits: the first transaction that is read again was cut by it, and the last one by the end."""
    go_on(orders, range(14, 15), records=12)
    alter(orders, value_of(12))
    go_on(orders, range(15, 16), records=9)
    verdict, repeated, left_out = judgement(audit(orders.brokers))
    assert (verdict, repeated, left_out) == (ALTERED, (0, 9), (0, 0))


def test_records_that_were_not_read_again_yet_are_not_counted(orders):
    alter(orders, value_of(4))
    go_on(orders, range(5, 8))
    report = audit(orders.brokers)
    assert judgement(report) == (ALTERED, (9, 9), (0, 0))
    assert "has not reached its earlier position again" in judged(report).reasons[0]


def test_a_change_that_the_connector_has_not_continued_from_has_done_nothing_yet(orders):
    stop(orders)
    change(orders, {"a": value_of(4)})
    report = audit(orders.brokers)
    assert judgement(report) == (HELD, (0, 0), (0, 0))
    assert the_change(report).severity is Severity.INFO


def test_the_position_that_was_there_changes_nothing(orders):
    alter(orders, value_of(10))
    go_on(orders, range(11, 13))
    report = audit(orders.brokers)
    assert judgement(report) == (HELD, (0, 0), (0, 0))
    assert [each for each in report.findings if each.counts] == []


def test_a_change_that_was_reverted_before_the_connector_continued_changes_nothing(orders):
    stop(orders)
    change(orders, {"a": value_of(4)})
    change(orders, {"a": value_of(10)})
    resume(orders)
    go_on(orders, range(11, 13))
    report = audit(orders.brokers)
    assert judgement(report) == (HELD, (0, 0), (0, 0))
    assert the_change(report).severity is Severity.INFO


def test_a_jump_ahead_leaves_out_records_that_cannot_be_counted(orders):
    alter(orders, value_of(20))
    go_on(orders, range(21, 23))
    report = audit(orders.brokers)
    assert judgement(report) == (ALTERED, (0, 0), (0, None))
    assert "an unknown number of records may have been left out" in judged(report).reasons[0]


def test_offsets_of_a_kafka_topic_bound_what_a_jump_ahead_leaves_out(orders):
    key = b'["orders",{"cluster":"here","topic":"pay","partition":0}]'

    def write(offset: int) -> None:
        producer = orders.tasks[0]
        orders.data(producer, 1)
        producer.send(orders.place(key), [(key, b'{"offset":%d}' % offset)])
        producer.commit()

    write(41)
    stop(orders)
    altering = orders.brokers.init("group-orders-0")
    altering.send(orders.place(key), [(key, b'{"offset":99}')])
    altering.commit()
    resume(orders)
    write(100)
    report = audit(orders.brokers)
    assert judgement(report) == (ALTERED, (0, 0), (0, 58))
    assert "0 to 58 records were left out" in judged(report).reasons[0]


def test_who_goes_back_behind_a_jump_ahead_has_left_out_nothing(orders):
    alter(orders, value_of(20))
    go_on(orders, range(21, 23))
    alter(orders, value_of(10))
    go_on(orders, range(11, 25))
    assert judgement(audit(orders.brokers)) == (ALTERED, (6, 6), (0, 0))


def test_each_time_that_records_are_repeated_counts(orders):
    for _ in range(2):
        alter(orders, value_of(4))
        go_on(orders, range(5, 13))
    assert judgement(audit(orders.brokers)) == (ALTERED, (18 + 24, 18 + 24), (0, 0))


def test_a_transaction_of_several_source_partitions_may_be_repeated_for_one_of_them(orders):
    for position in range(11, 14):
        orders.write(0, {"a": position, "b": position}, 3)
    orders.brokers.tick(MINUTE)
    alter(orders, value_of(11))
    go_on(orders, range(12, 16))
    assert judgement(audit(orders.brokers)) == (ALTERED, (6, 6), (0, 0))
    stop(orders)
    change(orders, {"b": value_of(11)})
    resume(orders)
    orders.write(0, {"b": 13, "a": 16}, 4)
    verdict, (least, most), _ = judgement(audit(orders.brokers))
    assert (verdict, least, most) == (ALTERED, 6, 6 + 4)


def test_positions_without_an_order_leave_the_number_open(orders):
    alter(orders, b'{"file":"x.log"}')
    orders.data(orders.tasks[0], 3)
    orders.offset(orders.tasks[0], "a", b'{"file":"y.log"}')
    orders.tasks[0].commit()
    assert judgement(audit(orders.brokers)) == (ALTERED, (0, None), (0, None))


def test_compaction_leaves_what_lies_behind_it_to_be_counted(orders):
    place = orders.place(key_of("orders", "a"))
    log = orders.brokers.logs[place]
    orders.brokers.compact(place, log.batches[8].base)
    alter(orders, value_of(7))
    go_on(orders, range(8, 13))
    assert judgement(audit(orders.brokers)) == (ALTERED, (9, 9), (0, 0))
    alter(orders, value_of(1))
    go_on(orders, range(2, 14))
    verdict, (least, most), _ = judgement(audit(orders.brokers))
    assert verdict is ALTERED
    assert least <= 9 + 33 <= most


def test_records_that_a_broken_connector_repeats_are_counted_separately(orders):
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    orders.brokers.append(TopicPartition("orders", 1), [(None, b"x")] * 2)
    report = audit(orders.brokers)
    assert judgement(report) == (BROKEN, (18, 18), (0, 0))
    assert any("18 records" in each for each in judged(report).reasons)


def test_cannot_tell_comes_before_altered_and_keeps_the_repeated_records(orders):
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    orders.brokers.damage(TopicPartition("orders", 0), 30, magic=True)
    report = audit(orders.brokers)
    assert report.verdict is CANNOT_TELL
    assert any("written to its topics again" in each for each in judged(report).reasons)


def test_a_move_to_a_topic_of_its_own_with_its_offsets_is_no_change(orders):
    orders.cluster.add_own_topic("orders", "orders-offsets")
    stop(orders)
    orders.own = "orders-offsets"
    change(orders, {"a": value_of(10)})
    resume(orders)
    go_on(orders, range(11, 14))
    assert judgement(audit(orders.brokers)) == (HELD, (0, 0), (0, 0))
    alter(orders, value_of(8))
    go_on(orders, range(9, 16))
    assert judgement(audit(orders.brokers)) == (ALTERED, (15, 15), (0, 0))
    stop(orders)
    orders.own = None
    change(orders, {"a": value_of(15)})
    resume(orders)
    go_on(orders, range(16, 18))
    assert judgement(audit(orders.brokers)) == (ALTERED, (15, 15), (0, 0))


def test_an_audit_in_several_runs_equals_one_audit_of_everything(orders):
    moments = [orders.brokers.seen()]
    stop(orders)
    moments.append(orders.brokers.seen())
    change(orders, {"a": value_of(4)})
    moments.append(orders.brokers.seen())
    resume(orders)
    go_on(orders, range(5, 8))
    orders.brokers.tick(100 * MINUTE)
    moments.append(orders.brokers.seen())
    go_on(orders, range(8, 13))
    orders.brokers.tick(100 * MINUTE)
    moments.append(orders.brokers.seen())
    by_runs = audit_by_runs(orders.brokers, moments)
    assert judgement(by_runs) == (ALTERED, (18, 18), (0, 0))
    assert text_of(by_runs) == text_of(audit(orders.brokers, moments[-1], everywhere))


def test_a_later_run_knows_what_compaction_has_removed_since(orders):
    """Compaction may run between the runs of a job: the number stays the previous run's."""
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    first = orders.brokers.seen()
    carried = audited(orders.brokers, first, (), whole).carried
    place = orders.place(key_of("orders", "a"))
    orders.brokers.compact(place, orders.brokers.logs[place].next - 2)
    go_on(orders, range(13, 15))
    report = audited(orders.brokers, orders.brokers.seen(), carried, whole, first).report
    assert judgement(report) == (ALTERED, (18, 18), (0, 0))


def test_data_that_is_gone_is_no_upper_bound(orders):
    """As after the output topic was deleted and created again: its offsets say that there was data."""
    alter(orders, value_of(4))
    go_on(orders, range(5, 13))
    orders.brokers.logs[TopicPartition("orders", 0)].batches[:20] = []
    orders.brokers.logs[TopicPartition("orders", 0)].start = 40
    assert judgement(audit(orders.brokers)) == (ALTERED, (18, 18), (0, 0))


def test_a_topic_that_was_created_again_after_the_pass_leaves_no_upper_bound_though_another_one_has_its_data(orders):
    """A connector's own heartbeats stay in their topic, while the rows that were read again are gone with theirs."""
    beats = TopicPartition("orders", 1)
    alter(orders, value_of(4))
    for position in range(5, 13):
        orders.write(0, {"a": position}, 3, outputs=(0, 1))
    rows = TopicPartition("orders-rows", 0)
    orders.brokers.create(AuditedTopic(rows.topic, TopicRole.OUTPUT, connectors=("orders",)), 1)
    assert beats in orders.brokers.logs
    orders.tasks[0].send(rows, [(None, b"x")])
    orders.write(0, {"a": 13})
    verdict, repeated, left_out = judgement(audit(orders.brokers))
    assert (verdict, repeated, left_out) == (ALTERED, (36, None), (0, 0))


def test_a_topic_that_was_created_again_during_the_pass_leaves_no_upper_bound(orders):
    """The rows of its first transactions are gone; those of its last one, and heartbeats beside them, are left."""
    alter(orders, value_of(4))
    for position in range(5, 9):
        orders.write(0, {"a": position}, 0)
        orders.write(0, {"a": position}, 1, outputs=(1,))
    orders.brokers.tick(MINUTE)
    rows = TopicPartition("orders-rows", 0)
    orders.brokers.create(AuditedTopic(rows.topic, TopicRole.OUTPUT, connectors=("orders",)), 1)
    orders.tasks[0].send(rows, [(None, b"x")])
    orders.write(0, {"a": 9})
    verdict, repeated, _ = judgement(audit(orders.brokers))
    assert (verdict, repeated[1]) == (ALTERED, None)


def lose_outputs(orders: Connector) -> None:
    """The topic that it writes to is deleted and created again."""
    brokers = orders.brokers
    brokers.create(brokers.topics["orders"], sum(place.topic == "orders" for place in brokers.logs))


def commit_behind_a_stop(orders: Connector, position: int) -> None:
    """A task that was starting when its connector was stopped: its first commit is behind that in the config topic."""
    resume(orders)
    orders.configure(0)
    orders.brokers.tick(200)
    orders.write(0, {"a": position}, 3)
    orders.brokers.tick(MINUTE)


def test_the_first_commit_of_a_task_that_was_starting_is_no_change_though_its_data_is_gone(orders):
    stop(orders)
    commit_behind_a_stop(orders, 11)
    lose_outputs(orders)
    resume(orders)
    go_on(orders, range(12, 14))
    report = audit(orders.brokers)
    assert judgement(report) == (HELD, (0, 0), (0, 0))
    assert [each.severity for each in report.findings if each.name == "offsets-without-data"] == [Severity.INFO]


@pytest.mark.parametrize(
    ("value", "positions"), [(None, range(2, 13)), (value_of(4), range(5, 13))], ids=["deleted", "set back"]
)
def test_an_offset_that_goes_back_was_changed_though_data_is_gone(orders, value, positions):
    stop(orders)
    commit_behind_a_stop(orders, 11)
    change(orders, {"a": value})
    lose_outputs(orders)
    resume(orders)
    go_on(orders, positions)
    assert judged(audit(orders.brokers)).verdict is ALTERED


def test_an_offset_that_was_set_ahead_was_changed_where_its_task_had_committed_since_it_started(orders):
    stop(orders)
    commit_behind_a_stop(orders, 11)
    change(orders, {"a": value_of(20)})
    lose_outputs(orders)
    resume(orders)
    go_on(orders, range(21, 23))
    assert judged(audit(orders.brokers)).verdict is ALTERED


def test_an_offset_that_was_set_ahead_was_changed_where_no_data_is_gone(orders):
    stop(orders)
    resume(orders)
    stop(orders)
    change(orders, {"a": value_of(20)})
    resume(orders)
    go_on(orders, range(21, 23))
    assert judged(audit(orders.brokers)).verdict is ALTERED


@pytest.mark.parametrize("value", [4, 20], ids=["set back", "set ahead"])
@pytest.mark.parametrize(
    ("before", "behind"),
    [(-5 * MINUTE, 0), (60 * 24 * MINUTE, -60 * 24 * MINUTE), (0, -5 * MINUTE), (10**12, 0), (-(10**12), 10**12)],
)
def test_no_clock_that_jumps_while_offsets_are_changed_makes_the_verdict_held(orders, value, before, behind):
    stop(orders)
    orders.brokers.tick(before)
    change(orders, {"a": value_of(value)})
    orders.brokers.tick(behind)
    resume(orders)
    go_on(orders, range(value + 1, value + 9))
    assert judged(audit(orders.brokers)).verdict is not HELD


def test_a_clock_that_goes_back_leaves_the_verdict_on_a_connector_open_that_was_stopped_only(orders):
    bills = orders.cluster.connector("bills", 1)
    stop(orders)
    orders.brokers.tick(-10 * MINUTE)
    resume(orders)
    bills.reconfigure(1)
    bills.write(0, {"a": 1})
    go_on(orders, range(11, 13))
    report = audit(orders.brokers)
    assert {each.name: each.verdict for each in report.connectors} == {"bills": HELD, "orders": CANNOT_TELL}
    assert "clocks went back by" in judged(report).reasons[0]


COMMIT_2 = ("commit-orders", b'{"tasks":2}')
TASKS = [("task-orders-0", b'{"properties":{}}'), ("task-orders-1", b'{"properties":{}}')]
CONNECTOR = ("connector-orders", b'{"properties":{}}')
COUNT_2 = ("tasks-fencing-orders", b'{"task-count":2}')
KEY = ("session-key", b'{"key":"a","algorithm":"HmacSHA256","creation-timestamp":1}')


def events(*written: tuple[str, tuple[str, bytes | None]]) -> list[ConfigEvent]:
    """1.0: producer 1 with epoch 0, in a transaction; plain: outside any."""
    found = []
    for offset, (who, (key, value)) in enumerate(written):
        pid, epoch = (-1, -1) if who == "plain" else map(int, who.split("."))
        state = RecordState.COMMITTED
        found.append(Record(offset, 1000 + offset, key.encode(), value, state, who != "plain", pid, epoch))
    return list(map(config_event, decode_config_records(found)))


def anomalies(summary: ConfigSummary) -> list[tuple[str, str | None, int]]:
    return [(each.kind, each.connector, each.offset) for each in summary.anomalies]


def test_commits_and_task_count_records_are_the_starts_of_a_connector():
    written = [("1.0", each) for each in (CONNECTOR, *TASKS, COMMIT_2, COUNT_2)]
    [orders] = summarize_config(events(*written)).connectors
    assert (orders.connector, orders.known, orders.fenced_ever) == ("orders", True, True)
    assert orders.starts == ((1003, 3, "commit", 2), (1004, 4, "fencing", 2))


@pytest.mark.parametrize("removed", [("connector-orders", None)])
def test_a_deleted_connector_is_not_known(removed):
    [orders] = summarize_config(events(("1.0", CONNECTOR), ("1.0", removed))).connectors
    assert (orders.known, orders.fenced_ever) == (False, False)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([("plain", KEY), ("1.0", KEY), ("plain", KEY)], []),
        ([("1.0", COUNT_2), ("plain", KEY)], [("plain-leader-write", None, 1)]),
        ([("1.0", COUNT_2), ("plain", CONNECTOR)], [("plain-leader-write", "orders", 1)]),
        ([("1.0", COUNT_2), ("plain", ("target-state-orders", b'{"state":"PAUSED"}'))], []),
        ([("1.0", KEY), ("2.0", KEY), ("2.0", KEY)], []),
        ([("1.0", KEY), ("2.0", KEY), ("1.0", KEY)], [("interleaved-leaders", None, 2)]),
        ([("1.0", KEY), ("2.0", KEY), ("1.1", KEY), ("1.2", KEY)], [("interleaved-leaders", None, 2)]),
        ([("1.0", KEY), ("2.0", KEY), ("1.3", KEY)], []),
        ([("1.0", CONNECTOR), ("1.0", TASKS[0]), ("1.0", COMMIT_2)], [("inconsistent-connector", "orders", 2)]),
        ([("1.0", TASKS[0]), ("1.0", COMMIT_2)], []),
        ([("1.0", ("commit-orders", b"broken")), ("1.0", ("strange", b"1"))], []),
    ],
)
def test_each_anomaly_of_a_history_is_found(written, expected):
    assert anomalies(summarize_config(events(*written))) == expected
