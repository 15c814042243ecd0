"""Answers of commands as metrics: counts, absent series, and the limits of series."""

from string import ascii_lowercase

from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.analysis.metrics.samples import (
    LONGEST_LABEL,
    audit_samples,
    connector_samples,
    cycle_samples,
    finding_samples,
    offset_samples,
    stale_samples,
    transaction_samples,
    within_bounds,
)
from eosctl.analysis.rules.registry import RULES, diagnose
from eosctl.model.ledger import JobSummary, RunSummary
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.transactions import NO_OWNER, HiddenIds, ListedTransaction, TransactionList, TransactionState
from eosctl.model.watch import Answers, Cycle, Metric, Sample
from tests.analysis.config_records import Log
from tests.analysis.evidence import BROKER, HEALTHY, NOW, A, B, but, inspection, worker
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
