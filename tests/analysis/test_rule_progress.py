"""RUNNING tasks that commit nothing: what is found, what is not, and what cannot be told."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.samples import connector_samples
from eosctl.analysis.rules.registry import diagnose
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from tests.analysis.evidence import HEALTHY, NOW, A, B, answer, but, commits, inspection, status, worker

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
def test_what_is_no_sign_of_a_fault_is_not_found(evidence):
    said = answer("EOS160", evidence)
    assert (said.findings, said.outcome) == ((), "fine")


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (commits(silent_ms=HOUR, intervals=29), "x task 0 (29 intervals in 8.0 d)"),
        (commits(silent_ms=HOUR, days=0.5), "x task 0 (1,000 intervals in 12 h)"),
    ],
)
def test_a_history_that_is_too_short_cannot_tell_and_is_no_gap(first, reason):
    said = answer("EOS160", with_commits(first))
    assert (said.findings, said.outcome, said.complete) == ((), "cannot tell", True)
    assert reason in said.cannot_tell[0]
    assert answer("EOS160", with_commits(replace(first, last_ms=NOW))).outcome == "fine", "it commits"


def test_a_task_of_which_no_commit_is_left_cannot_be_told():
    said = answer("EOS160", but(commits={"g-x-1": QUIET}))
    assert [each.subject for each in said.findings] == ["x"]
    assert "x task 0 (no commit of it is left in the transaction log)" in said.cannot_tell[0]


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
def test_what_was_not_read_of_a_task_cannot_be_told(evidence, reason):
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
