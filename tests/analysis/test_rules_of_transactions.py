"""Rules about transactional IDs and rounds of fencing: their figures, and the words that depend on them."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.transactions import silence_s
from eosctl.analysis.rules.workers import FixedBug
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion
from tests.analysis.evidence import (
    FILE,
    NOW,
    ONE_COORDINATOR,
    OUT_1,
    A,
    B,
    answer,
    but,
    described,
    inspection,
    tasks,
    worker,
)

LEADER = {"connect-cluster-g": described("connect-cluster-g")}


@pytest.mark.parametrize(
    ("ids", "backoff_ms", "longest_ms", "seconds"),
    [
        (0, 100, 1000, 0),
        (1, 100, 1000, 0),
        (2, 100, 1000, 0.1),
        (5, 100, 1000, 1.5),
        (6, 100, 1000, 2.45),
        (4, 100, 400, 0.68),
        (6, 20_000, 20_000, 100),
        (6, 30_000, 20_000, 100),
        (3, 1000, 1001, 1.95095),
        (101, 0, 1000, 0),
        (101, 0, 0, 0),
    ],
)
def test_a_round_waits_longer_between_two_ids_up_to_the_maximum(ids, backoff_ms, longest_ms, seconds) -> None:
    """ExponentialBackoff: at the maximum with a factor that is cut, and without one where it begins there."""
    assert silence_s(ids, backoff_ms, longest_ms) == pytest.approx(seconds)


@pytest.mark.parametrize(("ids", "seconds"), [(0, 0), (1, 0), (2, 2), (11, 20)])
def test_a_round_of_older_clients_waits_as_long_between_any_two_ids(ids, seconds) -> None:
    assert silence_s(ids, 2000, 1000, exponential=False) == seconds


def backing_off(ids: int, ms: int, **changes: object):
    config = {f"admin.override.retry.backoff.{key}": str(ms) for key in ("ms", "max.ms")}
    return but(inspection=inspection(tasks(ids, **config)), transaction_log=ONE_COORDINATOR, **changes)


@pytest.mark.parametrize(
    ("ids", "ms", "severity", "end"),
    [
        (2, 999, None, ""),
        (2, 1000, Severity.INFO, "none of its tasks runs until then"),
        (5, 4999, Severity.INFO, "none of its tasks runs until then"),
        (5, 5000, Severity.WARNING, "none of its tasks runs until then"),
        (4, 26_999, Severity.WARNING, "none of its tasks runs until then"),
        (4, 27_000, Severity.ERROR, "Connect gives up after 90 s and all its tasks turn FAILED"),
    ],
)
def test_a_round_is_as_severe_as_it_is_long(ids, ms, severity, end) -> None:
    found = answer("EOS030", backing_off(ids, ms)).findings
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    assert all(each.message.endswith(f"={ms} and retry.backoff.max.ms={ms}: {end}") for each in found)


@pytest.mark.parametrize(
    ("workers", "silence"),
    [
        ({A: worker(A, "3.6.2")}, 2.0),
        ({A: worker(A, "3.7.0")}, 16.7),
        ({A: worker(A, "3.6.2"), B: worker(B, "3.7.0")}, 16.7),
        (Skipped("denied"), 16.7),
    ],
)
def test_a_round_takes_as_long_as_with_the_newest_of_the_workers_clients(workers, silence) -> None:
    long = but(inspection=inspection(tasks(21)), transaction_log=ONE_COORDINATOR, workers=workers)
    assert [each.evidence["silence_s"] for each in answer("EOS030", long).findings] == [silence]


@pytest.mark.parametrize(("files", "doubtful"), [(Skipped("denied"), True), ({A: FILE}, False)])
def test_a_round_by_default_settings_may_be_shorter_where_the_workers_files_were_not_read(files, doubtful) -> None:
    long = but(inspection=inspection(tasks(21)), transaction_log=ONE_COORDINATOR, worker_files=files)
    [found] = answer("EOS030", long).findings
    assert ("(unless the workers set admin.retry.backoff.*)" in found.message) is doubtful


def test_a_record_of_more_tasks_than_a_connector_may_have_is_not_counted() -> None:
    odd = but(inspection=inspection(tasks(1).fencing("x", 2**31 - 1)), transaction_log=ONE_COORDINATOR)
    said = answer("EOS030", odd)
    assert (said.findings, said.cannot_tell) == (
        (),
        ("the fencing of connector x, which has 2147483647 tasks in its record",),
    )


@pytest.mark.parametrize("key", ["ms", "max.ms"])
def test_a_back_off_that_only_a_worker_knows_is_not_fine(key: str) -> None:
    config = {f"admin.override.retry.backoff.{key}": "${file:x:y}"}
    said = answer("EOS030", but(inspection=inspection(tasks(2, **config)), transaction_log=ONE_COORDINATOR))
    assert (said.findings, "only the worker resolves" in said.cannot_tell[0]) == ((), True)


def test_a_connector_s_own_back_off_counts_although_the_workers_files_were_not_read() -> None:
    assert answer("EOS030", backing_off(105, 5, worker_files=Skipped("denied"))).outcome == "fine"


@pytest.mark.parametrize(
    "workers",
    [
        {},
        {A: worker(A), B: worker(B, enabled=Skipped("denied"))},
        {A: worker(A), B: Skipped("denied")},
        {A: worker(A), B: worker(B, enabled=False)},
    ],
)
def test_tasks_need_ids_where_every_worker_is_known_to_be_enabled(workers) -> None:
    assert answer("EOS111", but(transactions=LEADER, workers=workers)).findings == ()


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (LEADER, "2 tasks have a producer on workers that are enabled, but no coordinator knows their IDs (g-x-0)"),
        (
            LEADER | {"g-x-0": described("g-x-0")},
            "1 task has a producer on workers that are enabled, but no coordinator knows its ID (g-x-1)",
        ),
    ],
)
def test_tasks_without_an_id_are_counted(known, words) -> None:
    [found] = answer("EOS111", but(transactions=known)).findings
    assert found.message.startswith(words)


@pytest.mark.parametrize(
    ("timeout_ms", "ends"),
    [(60_000, "in progress for 120 s; it times out 60 s after it began"), (2**31 - 1, "in progress for 120 s")],
)
def test_a_transaction_in_progress_says_when_it_times_out_unless_it_never_does(timeout_ms, ends) -> None:
    held = replace(described("sink-0", TransactionState.ONGOING, NOW - 120_000, (OUT_1,)), timeout_ms=timeout_ms)
    [found] = answer("EOS122", but(open_transactions=(held,))).findings
    assert found.message == f"1 partition is held back by a transaction {ends}"


def test_an_id_near_its_end_is_found_by_a_clock_that_agrees() -> None:
    near = but(idle_since={"g-x-1": NOW - 604_800_000}, clock=ClusterClock(1, 1000, 5))
    assert [each.subject for each in answer("EOS117", near).findings] == ["x"]


@pytest.mark.parametrize(("owned", "more"), [((0,), ""), ((0, 1), " (and 1 more)")])
def test_ids_that_another_group_has_too_are_one_finding(owned, more) -> None:
    there = tuple(ConnectorTaskId("x", task) for task in owned)
    group = ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", "http://o", there),))
    [found] = answer("EOS118", but(other_groups={"g": group})).findings
    assert found.message.startswith(f"g-x-0{more} is also the ID of ")
    assert found.evidence["transactional_ids"] == [f"g-x-{task}" for task in owned]


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (20, 20), (21, 20)])
def test_ids_of_no_connector_are_counted_and_twenty_are_named(count, shown) -> None:
    strangers = tuple(f"g-gone{number:02}-0" for number in range(count))
    [found] = answer("EOS115", but(transactional_ids=strangers)).findings
    assert (found.evidence["count"], found.evidence["transactional_ids"]) == (count, list(strangers[:shown]))


@pytest.mark.parametrize(
    ("version", "needed"), [("3.6.2", "3.7.1"), ("3.7.0", "3.7.1"), ("3.7.1", "3.8.0"), ("3.7.2", "3.8.0")]
)
def test_a_fix_comes_with_the_next_release_that_has_it(version: str, needed: str) -> None:
    bug = FixedBug("KAFKA-0", "it fails", ("3.7.1", "3.8.0"))
    assert bug.fixed_for(KafkaVersion.parse(version)) == KafkaVersion.parse(needed)
