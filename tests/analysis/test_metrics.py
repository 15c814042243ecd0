"""Answers of commands as metrics: counts, absent series, and the limits of series."""

from datetime import date
from string import ascii_lowercase

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.analysis.metrics.samples import (
    LONGEST_LABEL,
    audit_samples,
    connector_samples,
    cycle_samples,
    finding_samples,
    group_samples,
    hanging_samples,
    offset_samples,
    stability_samples,
    stale_samples,
    transaction_samples,
    within_bounds,
)
from eosctl.analysis.rules.registry import RULES, diagnose
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import (
    Advice,
    GroupLag,
    HangingReason,
    HangingTransactions,
    LastStableOffsets,
    OpenTransaction,
    PartitionStability,
    UnknownAge,
    Verdict,
)
from eosctl.model.ledger import JobSummary, RunSummary
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Severity, Triage, Waiver
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked
from eosctl.model.topics import PartitionOffsets, RecordCounts
from eosctl.model.transactions import (
    NO_OWNER,
    ActiveProducer,
    HiddenIds,
    LeaderOwner,
    ListedTransaction,
    Ownership,
    TaskOwner,
    TransactionalIdAccess,
    TransactionList,
    TransactionState,
)
from eosctl.model.watch import Answers, Cycle, Metric, Panel, PanelKind, PanelRow, Sample
from tests.analysis.config_records import Log
from tests.analysis.evidence import BROKER, HEALTHY, NOW, A, B, but, commits, described, inspection, worker
from tests.analysis.offset_records import AS_OF, record, report, topic

CYCLE = Cycle(NOW, 1_500, {"brokers": 40, "workers": 6}, NOW - 30_000)
SILENT = Skipped("b:9092 does not answer", Cause.UNREACHABLE)
NOTHING = Answers.none(not_asked("not asked"))
KEY = '["c",{"f":1}]'


def values(samples, metric):
    """The values of one metric by their labels."""
    return {each.labels: each.value for each in samples if each.metric == metric}


def value(samples, metric):
    """The value of a metric that has one series."""
    return values(samples, metric)[()]


def test_no_two_metrics_have_one_name_and_all_names_are_eosctl_s():
    names = [each.name for each in METRICS]
    assert len(set(names)) == len(names)
    assert all(set(name) <= {*ascii_lowercase, "_"} and name.startswith("eosctl_") for name in names)
    assert {value for value in vars(metrics).values() if isinstance(value, Metric)} == set(METRICS)


def test_the_bounds_of_what_rules_find_leave_room_for_all_rules():
    assert metrics.FINDINGS.bound >= 3 * len(RULES)
    assert min(metrics.FINDINGS_WAIVED.bound, metrics.RULE_UNKNOWN.bound) >= len(RULES)
    assert metrics.LEFT_OUT.bound >= len(METRICS)


def test_a_healthy_cluster_has_a_0_for_every_rule():
    found = values(finding_samples(diagnose(HEALTHY)), metrics.FINDINGS)
    assert {rule.id for rule in RULES} == {rule for rule, _ in found}
    assert set(found.values()) == {0}


def test_a_skipped_rule_has_no_0():
    samples = list(finding_samples(diagnose(but(brokers=SILENT))))
    assert ("EOS031", "error") not in values(samples, metrics.FINDINGS)
    assert values(samples, metrics.RULE_UNKNOWN)["EOS031",] == 1
    assert values(samples, metrics.FINDINGS)["EOS001", "error"] == 0


def test_ids_near_expiry_are_counted_by_task_and_absent_where_that_is_not_known():
    week = int(BROKER["transactional.id.expiration.ms"])
    idle = dict.fromkeys(("connect-cluster-g", "g-x-0", "g-x-1"), NOW - week + 3_600_000)
    assert value(connector_samples(diagnose(but(idle_since=idle))), metrics.IDS_NEAR_EXPIRY) == 2
    assert value(connector_samples(diagnose(HEALTHY)), metrics.IDS_NEAR_EXPIRY) == 0
    assert values(connector_samples(diagnose(but(idle_since=SILENT))), metrics.IDS_NEAR_EXPIRY) == {}


def test_ids_are_counted_by_prefix_the_most_first():
    names = ("pay-7", "pay-8", "pay-1f0e3dad-99b2-4c1c-9f2d-0123456789ab-1", "billing-0", "orders")
    listed = TransactionList(
        as_of=NOW,
        cluster_id=None,
        transactions=tuple(
            ListedTransaction(each, TransactionState.EMPTY, number, 1, None, NO_OWNER, None)
            for number, each in enumerate(names)
        ),
        hidden=HiddenIds(may_see_all=True, count=0, uncertain=None),
        unanswered={},
        missing=(),
        notes=(),
    )
    found = values(transaction_samples(listed), metrics.IDS_OF_PREFIX)
    assert list(found.items()) == [(("pay",), 3), (("billing",), 1), (("orders",), 1)]


def test_a_round_of_fencing_is_pending_from_the_commit_of_tasks_to_the_task_count_record():
    log = Log().writer(7).config("x").tasks("x", 0, 1).commit("x", 2)
    due = list(connector_samples(diagnose(but(inspection=inspection(log)))))
    assert values(due, metrics.FENCING_PENDING) == {("x",): 1}
    assert values(connector_samples(diagnose(HEALTHY)), metrics.FENCING_PENDING) == {("x",): 0}


def test_no_round_of_fencing_is_pending_of_workers_that_do_not_fence_and_of_what_is_stopped():
    due = inspection(Log().writer(7).config("x").tasks("x", 0, 1).commit("x", 2))
    disabled = {A: worker(A, enabled=False), B: worker(B, enabled=False)}
    assert values(connector_samples(diagnose(but(inspection=due, workers=disabled))), metrics.FENCING_PENDING) == {}
    stopped = inspection(Log().writer(7).config("x").commit("x", 0))
    assert values(connector_samples(diagnose(but(inspection=stopped))), metrics.FENCING_PENDING) == {("x",): 0}


def test_how_long_fencing_will_take_is_that_of_its_rule():
    log = Log().writer(7).config("x").tasks("x", *range(60)).commit("x", 60).fencing("x", 60)
    [seconds] = values(
        connector_samples(diagnose(but(inspection=inspection(log, running=60)))), metrics.FENCING_EXPECTED
    ).values()
    assert 1 < seconds < 90


def test_null_shadows_and_the_age_of_offsets_are_those_of_each_connector():
    old = record(0, KEY, '{"p":1}', timestamp=AS_OF - 60_000)
    shadowed = list(
        offset_samples(report(topic("global", [old]), topic("own"), configs={"c": {"offsets.storage.topic": "own"}}))
    )
    assert values(shadowed, metrics.NULL_SHADOWS) == {("c",): 1}
    assert values(shadowed, metrics.OFFSET_AGE) == {}
    fine = list(offset_samples(report(topic("global", [old]), configs={"c": {}})))
    assert values(fine, metrics.NULL_SHADOWS) == {("c",): 0}
    assert values(fine, metrics.OFFSET_AGE) == {("c",): 60}


def test_the_last_run_of_a_job_has_one_verdict():
    run = RunSummary("nightly", 3, "r", NOW, NOW, "broken", 2, "0.1.0", 10, 10, 0)
    samples = list(audit_samples([JobSummary("nightly", "K", 1, run)]))
    verdicts = values(samples, metrics.AUDIT_VERDICT)
    assert verdicts == {
        ("nightly", each): int(each == "broken") for each in ("held", "altered", "broken", "cannot-tell")
    }
    assert values(samples, metrics.AUDIT_FINDINGS) == {("nightly",): 2}
    assert values(samples, metrics.AUDIT_AS_OF) == {("nightly",): NOW / 1000}


def test_a_command_that_could_not_answer_has_no_metric_but_that_it_was_not_read():
    samples = cycle_samples(replace(NOTHING, hanging=SILENT), CYCLE)
    assert {each.metric for each in samples} == {
        *(metrics.UNREAD_FACTS, metrics.UNREAD, metrics.LAST_SUCCESS),
        *(metrics.CYCLE_AS_OF, metrics.CYCLE_DURATION, metrics.CYCLE_REQUESTS),
    }
    assert value(samples, metrics.UNREAD_FACTS) == 1
    assert values(samples, metrics.UNREAD) == {("transactions hanging", "the whole answer", "unreachable"): 1}


def test_a_rule_that_could_not_read_a_record_is_a_part_of_the_answer_that_is_unread():
    [first, *others] = diagnose(HEALTHY).answers
    half = replace(diagnose(HEALTHY), answers=(replace(first, cannot_tell=("no JSON",), complete=False), *others))
    samples = cycle_samples(replace(NOTHING, diagnosis=half), CYCLE)
    assert values(samples, metrics.UNREAD) == {("doctor", "a part of the answer", "unknown"): 1}
    assert value(cycle_samples(replace(NOTHING, diagnosis=diagnose(HEALTHY)), CYCLE), metrics.UNREAD_FACTS) == 0


def test_a_fact_that_no_question_needs_is_not_unread():
    samples = cycle_samples(NOTHING, CYCLE)
    assert value(samples, metrics.UNREAD_FACTS) == 0
    assert values(samples, metrics.UNREAD) == {}


def test_how_the_cycle_went():
    samples = cycle_samples(NOTHING, CYCLE)
    assert value(samples, metrics.CYCLE_AS_OF) == NOW / 1000
    assert value(samples, metrics.CYCLE_DURATION) == 1.5
    assert values(samples, metrics.CYCLE_REQUESTS) == {("brokers",): 40, ("workers",): 6}
    assert value(samples, metrics.LAST_SUCCESS) == NOW / 1000 - 30
    assert values(cycle_samples(NOTHING, replace(CYCLE, last_success=None)), metrics.LAST_SUCCESS) == {}


def test_of_a_cycle_that_is_too_old_only_its_age_stays():
    samples = stale_samples(CYCLE)
    assert value(samples, metrics.UNREAD_FACTS) == 1
    assert value(samples, metrics.CYCLE_AS_OF) == NOW / 1000
    assert values(samples, metrics.FINDINGS) == {}


def test_a_metric_has_no_more_series_than_its_bound_and_the_rest_is_counted():
    metric = Metric("eosctl_test", "help", ("name",), 3)
    samples = within_bounds(Sample(metric, (str(number),), number) for number in range(10))
    assert values(samples, metric) == {("0",): 0, ("1",): 1, ("2",): 2}
    assert values(samples, metrics.LEFT_OUT) == {("eosctl_test",): 7}


def test_long_labels_are_cut_and_two_that_are_then_one_are_one_series():
    metric = Metric("eosctl_test", "help", ("name",), 3)
    samples = within_bounds([Sample(metric, ("a" * 32_767,), 1), Sample(metric, ("a" * 32_766,), 2)])
    assert values(samples, metric) == {("a" * (LONGEST_LABEL - 1) + "…",): 1}
    assert values(samples, metrics.LEFT_OUT) == {("eosctl_test",): 1}


UNCOVERED = Coverage(("owners",), (Unread("owners", "denied", Cause.DENIED, needed=True),))
LEADER_OF = Ownership((LeaderOwner("g"),), ())
TASK_OF = Ownership((TaskOwner("g", ConnectorTaskId("x", 3)),), ())
PLACE = TopicPartition("out", 1)


def listed(*transactions, missing=()):
    """Transactional IDs, of which coordinators did not list all for these reasons."""
    hidden = HiddenIds(may_see_all=True, count=0, uncertain=None)
    return TransactionList(
        as_of=NOW, cluster_id=None, transactions=transactions, hidden=hidden, unanswered={}, missing=missing, notes=()
    )


def one(name="p", state=TransactionState.EMPTY, *, epoch=0, running_ms=None, owned=NO_OWNER):
    """One transactional ID; epoch None: it was not described."""
    about = None if epoch is None else replace(described(name), producer=ProducerIdAndEpoch(1, epoch))
    return ListedTransaction(name, state, 1, 1, about, owned, running_ms)


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        (listed(), {"Empty": 0, "Ongoing": 0}),
        (listed(one()), {"Empty": 1, "Ongoing": 0}),
        (listed(one(), missing=("a broker is silent",)), {"Empty": 1}),
        (listed(missing=("a broker is silent",)), {}),
        (replace(listed(), coverage=UNCOVERED), {}),
        (replace(listed(one()), coverage=UNCOVERED), {"Empty": 1}),
    ],
)
def test_a_state_is_counted_as_0_only_where_every_coordinator_answered(asked, counts):
    found = {state: count for (state,), count in values(transaction_samples(asked), metrics.TRANSACTIONAL_IDS).items()}
    assert {state: count for state, count in found.items() if state in {"Empty", "Ongoing"}} == counts


@pytest.mark.parametrize(
    ("epochs", "missing", "near"),
    [
        ((), (), {(): 0}),
        ((31_999,), (), {(): 0}),
        ((32_000,), (), {(): 1}),
        ((32_000, 32_001, 0), (), {(): 2}),
        ((0, None), (), {}),
        ((32_000, None), (), {(): 1}),
        ((0,), ("a broker is silent",), {}),
        ((32_000,), ("a broker is silent",), {(): 1}),
    ],
)
def test_epochs_near_their_end_are_none_only_where_every_id_was_described(epochs, missing, near):
    asked = listed(*(one(f"p{number}", epoch=each) for number, each in enumerate(epochs)), missing=missing)
    assert values(transaction_samples(asked), metrics.EPOCHS_NEAR_END) == near


@pytest.mark.parametrize(
    ("transaction", "opened", "ages"),
    [
        (one(), 0, {}),
        (one(state=TransactionState.ONGOING, running_ms=1_500, owned=TASK_OF), 1, {("p", "x", "3", "Ongoing"): 1.5}),
        (one(state=TransactionState.ONGOING, running_ms=0, owned=LEADER_OF), 1, {("p", "", "", "Ongoing"): 0}),
        (one(state=TransactionState.ONGOING), 1, {}),
        (one(state=TransactionState.PREPARE_COMMIT, running_ms=5), 1, {("p", "", "", "PrepareCommit"): 0.005}),
        (one(state=TransactionState.COMPLETE_COMMIT, running_ms=5), 0, {}),
        (
            one(state=TransactionState.ONGOING, running_ms=5, owned=Ownership(TASK_OF.owners * 2, ())),
            1,
            {("p", "", "", "Ongoing"): 0.005},
        ),
    ],
)
def test_an_open_transaction_has_an_age_where_its_begin_is_known(transaction, opened, ages):
    found = list(transaction_samples(listed(transaction)))
    assert value(found, metrics.OPEN_TRANSACTIONS) == opened
    assert values(found, metrics.OPEN_AGE) == ages


def opened(name=None, last_ms=NOW - 5_000):
    active = ActiveProducer(PLACE, ProducerIdAndEpoch(7, 0), 0, last_ms, None, 10)
    return OpenTransaction(active, 10, name, None)


def stability(*partitions, not_searched=(), lags=()):
    return LastStableOffsets(
        as_of=NOW,
        cluster_id=None,
        partitions=partitions,
        free=0,
        owners={"g-x-3": TASK_OF},
        not_searched=not_searched,
        notes=(),
        lags=lags,
    )


def held(by=(), since_ms=NOW - 2_000, stable=10):
    return PartitionStability(PartitionOffsets(PLACE, 0, stable, 11), by, since_ms)


@pytest.mark.parametrize(
    ("found", "partitions", "lag", "since"),
    [
        (stability(), {(): 0}, {}, {}),
        (stability(not_searched=(PLACE,)), {}, {}, {}),
        (stability(held(stable=11)), {(): 0}, {}, {}),
        (stability(held()), {(): 1}, {("out", "1"): 1}, {("out", "1", "", "", ""): 2}),
        (stability(held(since_ms=None)), {(): 1}, {("out", "1"): 1}, {}),
        (stability(held(since_ms=NOW + 1)), {(): 1}, {("out", "1"): 1}, {("out", "1", "", "", ""): 0}),
        (stability(held((opened(),))), {(): 1}, {("out", "1"): 1}, {("out", "1", "", "", ""): 2}),
        (stability(held((opened("g-x-3"),))), {(): 1}, {("out", "1"): 1}, {("out", "1", "g-x-3", "x", "3"): 2}),
        (stability(held((opened("p"),))), {(): 1}, {("out", "1"): 1}, {("out", "1", "p", "", ""): 2}),
    ],
)
def test_a_partition_that_is_held_back_names_whose_transaction_holds_it(found, partitions, lag, since):
    samples = list(stability_samples(found))
    assert values(samples, metrics.LSO_HELD_PARTITIONS) == partitions
    assert values(samples, metrics.LSO_LAG) == lag
    assert values(samples, metrics.LSO_HELD) == since


@pytest.mark.parametrize(
    ("counts", "uncounted", "held_back", "records", "offsets"),
    [
        (RecordCounts(0, 0, 0, 0), 0, 0, {("q",): 0}, {}),
        (RecordCounts(5, 1, 2, 3), 0, 4, {("q",): 5}, {"aborted": 1, "marker": 2, "removed": 3, "held_back": 4}),
        (RecordCounts(5, 0, 0, 0), 6, 0, {}, {"uncounted": 6}),
    ],
)
def test_the_records_before_a_group_are_known_where_all_were_counted(counts, uncounted, held_back, records, offsets):
    samples = list(group_samples([GroupLag(ListedGroup("q", "consumer", "Stable"), 1, counts, uncounted, held_back)]))
    assert values(samples, metrics.GROUP_RECORDS) == records
    assert values(samples, metrics.GROUP_OFFSETS) == {("q", kind): count for kind, count in offsets.items()}


@pytest.mark.parametrize("changed", [{"workers": {A: worker(A), B: SILENT}},
                                     {"workers": {A: worker(A), B: worker(B, enabled=SILENT)}},
                                     {"workers": {A: worker(A), B: worker(B, enabled=False)}},
                                     {"workers": {}}])  # fmt: skip
def test_fencing_is_pending_only_where_all_workers_are_known_to_be_enabled(changed):
    due = inspection(Log().writer(7).config("x").tasks("x", 0, 1).commit("x", 2))
    assert values(connector_samples(diagnose(but(inspection=due, **changed))), metrics.FENCING_PENDING) == {}


def test_what_counts_most_comes_first_where_series_are_left_out():
    log = Log().writer(7).healthy("a", 1).config("b").tasks("b", 0).commit("b", 2).config("c").put("connector-c", None)
    found = list(connector_samples(diagnose(but(inspection=inspection(log)))))
    assert list(values(found, metrics.INCONSISTENT).items()) == [(("b",), 1), (("a",), 0)]
    assert values(connector_samples(diagnose(but(inspection=SILENT))), metrics.INCONSISTENT) == {}


@pytest.mark.parametrize(("length", "shown"), [(LONGEST_LABEL, LONGEST_LABEL), (LONGEST_LABEL + 1, LONGEST_LABEL)])
def test_a_label_of_the_greatest_length_is_not_cut(length, shown):
    metric = Metric("eosctl_test", "help", ("name",), 3)
    [sample] = within_bounds([Sample(metric, ("a" * length,), 1)])
    assert len(sample.labels[0]) == shown
    assert sample.labels[0].endswith("…") is (length > LONGEST_LABEL)


NOTICED = RULES[0].kind


def triaged(*waived, severities=(Severity.ERROR, Severity.ERROR, Severity.INFO), unread=()):
    """The first rule found so much, of which the operator accepts these subjects."""
    found = tuple(NOTICED.finding(f"w{number}", "m", severity=each) for number, each in enumerate(severities))
    whole = diagnose(HEALTHY)
    first, *others = whole.answers
    waivers = tuple(Waiver(NOTICED.id, each, "me", "known", date(2030, 1, 1)) for each in waived)
    answers = (replace(first, findings=found, cannot_tell=unread), *others)
    return replace(whole, answers=answers, triage=Triage(waivers=waivers, today=date(2026, 1, 1)))


@pytest.mark.parametrize(
    ("diagnosis", "counts", "accepted"),
    [
        (triaged(), {"error": 2, "info": 1}, {}),
        (triaged("w0"), {"error": 1, "info": 1}, {1}),
        (triaged("w*"), {"error": 0, "info": 0}, {3}),
        (triaged(severities=()), {"error": 0}, {}),
        (triaged(severities=(Severity.INFO,)), {"error": 0, "info": 1}, {}),
        (triaged(severities=(Severity.INFO,), unread=("denied",)), {"info": 1}, {}),
        (triaged(unread=("denied",)), {"error": 2, "info": 1}, {}),
    ],
)
def test_findings_are_counted_by_severity_without_those_that_are_accepted(diagnosis, counts, accepted):
    samples = list(finding_samples(diagnosis))
    found = values(samples, metrics.FINDINGS)
    assert {severity: count for (rule, severity), count in found.items() if rule == NOTICED.id} == counts
    assert set(values(samples, metrics.FINDINGS_WAIVED).values()) == set(accepted)
    assert values(samples, metrics.RULE_UNKNOWN)[NOTICED.id,] == int(bool(diagnosis.answers[0].cannot_tell))


def hanging(*verdicts, **more):
    found = {"as_of": NOW, "cluster_id": None, "verdicts": verdicts, "held_back": {}, "owners": {"g-x-3": TASK_OF}}
    found |= dict.fromkeys(("undecided", "undecided_reasons", "undated", "not_searched", "notes"), ())
    return HangingTransactions(
        **{**found, "clock": None, "access": TransactionalIdAccess((), None), "searched": 1, **more}
    )


def verdict(name=None, last_ms=NOW - 5_000, *, hangs=True):
    reason = HangingReason.NO_TRANSACTIONAL_ID if hangs else None
    return Verdict(opened(name, last_ms), reason, Advice.ABORT if hangs else Advice.WAIT)


AGE_LABELS = ("out", "1", "7", "", "", "", "abort")


@pytest.mark.parametrize(
    ("found", "count", "undecided", "ages"),
    [
        (hanging(), {(): 0}, {(): 0}, []),
        (hanging(verdict(hangs=False)), {(): 0}, {(): 0}, []),
        (hanging(verdict(), verdict(hangs=False)), {(): 1}, {(): 0}, [(AGE_LABELS, 5)]),
        (hanging(verdict(last_ms=None)), {(): 1}, {(): 0}, []),
        (hanging(verdict(last_ms=NOW + 1)), {(): 1}, {(): 0}, [(AGE_LABELS, 0)]),
        (
            hanging(verdict(last_ms=NOW - 1_000), verdict("g-x-3", NOW - 9_000), verdict(last_ms=None)),
            {(): 3},
            {(): 0},
            [(("out", "1", "7", "g-x-3", "x", "3", "abort"), 9), (AGE_LABELS, 1)],
        ),
        (hanging(undecided=(opened(), opened())), {}, {(): 2}, []),
        (hanging(undecided=(opened(),), undated=(UnknownAge(opened(), "no clock"),)), {}, {(): 2}, []),
        (hanging(not_searched=(PLACE,)), {}, {}, []),
    ],
)
def test_hanging_transactions_have_an_age_each_the_oldest_first(found, count, undecided, ages):
    samples = list(hanging_samples(found))
    assert values(samples, metrics.HANGING) == count
    assert values(samples, metrics.HANGING_UNDECIDED) == undecided
    assert list(values(samples, metrics.HANGING_AGE).items()) == ages


@pytest.mark.parametrize(
    ("found", "states"),
    [
        (hanging(producers={1: 5, 2: 0, 3: 9}), {("3",): 9, ("1",): 5, ("2",): 0}),
        (hanging(producers={1: 5, 2: 0}, not_searched=(PLACE,)), {("1",): 5}),
        (hanging(), {}),
    ],
)
def test_producers_in_memory_are_counted_by_broker_and_0_only_if_all_were_read(found, states):
    assert list(values(list(hanging_samples(found)), metrics.PRODUCER_STATES).items()) == list(states.items())


LAG = GroupLag(ListedGroup("q", "consumer", "Stable"), 1, RecordCounts(5, 0, 0, 0), 0, 0)


@pytest.mark.parametrize(("lags", "groups"), [((LAG,), {("q",): 5}), ((), {}), (SILENT, {})])
def test_the_lags_of_groups_are_those_that_were_read(lags, groups):
    samples = cycle_samples(replace(NOTHING, last_stable=stability(held(), lags=lags)), CYCLE)
    assert values(samples, metrics.GROUP_RECORDS) == groups
    assert values(samples, metrics.LSO_LAG) == {("out", "1"): 1}


EARLIER = record(0, KEY, '{"p":1}', timestamp=AS_OF - 60_000)
FINE = report(topic("global", [EARLIER]), configs={"c": {}})
SHADOWED = report(topic("global", [EARLIER]), topic("own"), configs={"c": {"offsets.storage.topic": "own"}})


def changed(known, *, stores=None, **offset):
    """The report with the stores of its connector, or its one offset, changed."""
    [connector] = known.connectors
    [only] = connector.offsets
    stores = connector.stores if stores is None else stores
    return replace(known, connectors=(replace(connector, stores=stores, offsets=(only._replace(**offset),)),))


@pytest.mark.parametrize(
    ("found", "shadows", "ages"),
    [
        (FINE, {("c",): 0}, {("c",): 60}),
        (replace(FINE, as_of=AS_OF - 90_000), {("c",): 0}, {("c",): 0}),
        (SHADOWED, {("c",): 1}, {}),
        (changed(FINE, stores=SILENT), {}, {}),
        (changed(FINE, kafka_effective=SILENT), {}, {}),
        (changed(FINE, kafka_effective=None), {("c",): 0}, {}),
        (changed(SHADOWED, stores=SILENT), {("c",): 1}, {}),
        (changed(SHADOWED, kafka_effective=SILENT), {("c",): 1}, {}),
    ],
)
def test_offsets_whose_stores_or_values_are_unknown_have_no_age_and_no_count_of_0(found, shadows, ages):
    samples = list(offset_samples(found))
    assert values(samples, metrics.NULL_SHADOWS) == shadows
    assert values(samples, metrics.OFFSET_AGE) == ages


def test_a_connector_s_newest_offset_has_its_age_and_most_shadowed_offsets_come_first():
    newer = record(1, '["c",{"f":2}]', '{"p":1}', timestamp=AS_OF - 5_000)
    both = report(topic("global", [EARLIER, newer]), configs={"c": {}})
    assert values(offset_samples(both), metrics.OFFSET_AGE) == {("c",): 5}
    [one], [two] = FINE.connectors, SHADOWED.connectors
    found = values(offset_samples(replace(FINE, connectors=(replace(one, name="a"), two))), metrics.NULL_SHADOWS)
    assert list(found.items()) == [(("c",), 1), (("a",), 0)]


def test_metrics_that_no_panel_shows_have_a_last_row_of_their_own():
    shown, new = metrics.METRICS[0], Metric("eosctl_new", "New")
    row = PanelRow("One", (Panel("P", PanelKind.STAT, (shown,)),))
    assert list(metrics.with_all([row], [shown])) == [row]
    first, more = metrics.with_all([row], [shown, new])
    assert (first, more.title, [each.metrics for each in more.panels]) == (row, "More", [(new,)])


def pending(log):
    return list(values(connector_samples(diagnose(but(inspection=inspection(log)))), metrics.FENCING_PENDING).items())


def test_rounds_of_fencing_are_pending_of_sources_that_exist_the_due_ones_first():
    due = Log().writer(7).healthy("a", 1).healthy("b", 1).tasks("b", 0).commit("b", 1)
    assert pending(due) == [(("b",), 1), (("a",), 0)]
    assert pending(Log().writer(7).healthy("a", 1).config("s").tasks("s", 0).commit("s", 1)) == [(("a",), 0)]
    assert pending(Log().writer(7).healthy("a", 1).tasks("z", 0).commit("z", 1).fencing("z", 1)) == [(("a",), 0)]


def test_ids_near_expiry_are_counted_although_not_all_are_known():
    week = int(BROKER["transactional.id.expiration.ms"])
    known = {"g-x-0": NOW - week + 3_600_000}
    for more, count in (({}, 1), ({"g-x-1": SILENT}, 1)):
        found = connector_samples(diagnose(but(idle_since=known | more)))
        assert values(found, metrics.IDS_NEAR_EXPIRY) == {(): count}


@pytest.mark.parametrize(
    ("first", "second", "since", "ratios"),
    [
        (commits(silent_ms=9_000, longest_ms=9_000), None, {"0": 9}, {"0": 1}),
        (
            commits(silent_ms=9_000, longest_ms=9_000),
            commits(silent_ms=18_000, longest_ms=9_000),
            {"1": 18, "0": 9},
            {"1": 2, "0": 1},
        ),
        (
            commits(silent_ms=9_000, intervals=1),
            commits(silent_ms=18_000, longest_ms=9_000),
            {"1": 18, "0": 9},
            {"1": 2},
        ),
        (
            commits(silent_ms=9_000, longest_ms=9_000, days=6),
            commits(silent_ms=18_000, intervals=1),
            {"0": 9, "1": 18},
            {},
        ),
    ],
)
def test_a_task_is_as_quiet_as_its_own_history_says_the_quietest_first(first, second, since, ratios):
    known = {"g-x-0": first} | ({} if second is None else {"g-x-1": second})
    samples = list(connector_samples(diagnose(but(commits=known))))
    found = [values(samples, each) for each in (metrics.SINCE_COMMIT, metrics.QUIET_RATIO)]
    assert [list(each.items()) for each in found] == [
        [(("x", task), value) for task, value in each.items()] for each in (since, ratios)
    ]
