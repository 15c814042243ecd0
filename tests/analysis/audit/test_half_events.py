"""Changes that a connector wrote as several records: which of them are incomplete, for every kind of cut."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.model.audit import AuditReport, AuditVerdict
from eosctl.model.report import Severity
from tests.analysis.audit.changed_rows import ChangedRows, places
from tests.analysis.audit.histories import audit, audit_by_runs, everywhere, text_of

HALF = "half-event"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("move"), st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))),
        st.tuples(st.just("insert")),
        st.tuples(st.just("update"), st.integers(0, 9)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("poll"), st.integers(1, 6)),
        st.tuples(st.just("poll")),
        st.tuples(st.just("stop"), st.sampled_from(["behind", "rest", "again"])),
        st.tuples(st.just("look")),
    ),
    min_size=5,
    max_size=40,
)
SETTINGS = st.fixed_dictionaries(
    {
        "transaction_version": st.sampled_from([1, 2]),
        "tombstones": st.booleans(),
        "batch": st.integers(1, 3),
        "partitions": st.integers(1, 3),
        "schemas": st.booleans(),
    }
)


def half_changes(report: AuditReport) -> list[dict[str, Any]]:
    return [dict(each.evidence) for each in report.findings if each.name == HALF and each.severity is Severity.ERROR]


def verdict(report: AuditReport) -> AuditVerdict:
    [found] = report.connectors
    return found.verdict


@given(SETTINGS, STEPS)
@settings(max_examples=50, deadline=None)
def test_every_half_change_is_found_and_nothing_else_however_the_log_is_cut_and_read(how, steps):
    rows = ChangedRows(**how)
    moments = []
    for name, *what in steps:
        if name == "look":
            moments.append(rows.brokers.seen())
        else:
            getattr(rows, name)(*what)
    rows.poll()
    rows.work_on()
    moments.append(rows.brokers.seen())
    report = audit(rows.brokers, moments[-1])
    found = half_changes(report)
    assert sorted(change for each in found for change in places(each)) == sorted(rows.half)[:10]
    assert sum(each["count"] for each in found) == len(rows.half) + len(rows.bare)
    assert not [each for each in report.findings if each.name == HALF and each.severity is Severity.WARNING]
    assert verdict(report) is (AuditVerdict.BROKEN if rows.half or rows.bare else AuditVerdict.HELD)
    assert text_of(audit(rows.brokers, moments[-1], everywhere)) == text_of(report)
    by_runs = audit_by_runs(rows.brokers, moments)
    assert sorted(map(json.dumps, half_changes(by_runs))) == sorted(map(json.dumps, found))


def reported(rows: ChangedRows) -> list[tuple[str, str]]:
    rows.work_on()
    return [(each.severity, each.message) for each in audit(rows.brokers).findings if each.name == HALF]


def moved(rows: ChangedRows, *, records: int) -> None:
    """A change of a key of which so many records arrive before the worker is killed; it continues behind the change."""
    rows.move(0)
    rows.poll(records)
    rows.stop("behind")


def left_out(rows: ChangedRows) -> None:
    """A transformation drops the record of the new key."""
    rows.move(0)
    rows._queue.pop()
    rows.poll()


def bare(rows: ChangedRows) -> None:
    """A deletion without its tombstone, and another one that brings a record into the same partition."""
    rows.delete(0)
    rows.poll(1)
    rows.stop("behind")
    rows.delete(0)
    rows.poll()


CUT = "half there: the old key was deleted, and the connector continued without the record of the new key"
BARE = "1 deletion has no tombstone: the connector was stopped between both"
DROPPED = (
    "without the record of the new key, in the middle of a session: a transformation, a setting or a tolerated error "
    "dropped it"
)


def test_a_half_change_is_named_by_its_place_its_keys_and_the_records_that_are_missing():
    missing = {}
    for records in (1, 2):
        rows = ChangedRows()
        moved(rows, records=records)
        assert reported(rows) == [("error", f"1 change of a key is {CUT}")]
        [found] = half_changes(audit(rows.brokers))
        [place] = found["places"]
        assert (found["connectors"], found["topic"], place["topic"], place["partition"]) == (["rows"], *2 * ["rows"], 1)
        assert (place["offset"], place["old_key"], place["new_key"]) == (6, "[0]", "[100]")
        missing[place["last_offset"]] = place["missing"]
    assert missing == {6: ["tombstone", "create"], 8: ["create"]}


def test_a_connector_without_tombstones_lacks_none():
    rows = ChangedRows(tombstones=False)
    moved(rows, records=1)
    rows.work_on()
    [found] = half_changes(audit(rows.brokers))
    assert found["places"][0]["missing"] == ["create"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("cut cut", [("error", f"2 changes of a key are {CUT}")]),
        ("bare", [("error", BARE)]),
        ("cut bare", [("error", f"1 change of a key is {CUT}; {BARE}")]),
        ("dropped", [("warning", f"1 change of a key {DROPPED}")]),
        ("dropped dropped stop", [("warning", f"2 changes of a key {DROPPED}")]),
        (
            "dropped stop dropped",
            [("error", f"1 change of a key is {CUT}"), ("warning", f"1 change of a key {DROPPED}")],
        ),
        ("", []),
    ],
)
def test_one_incomplete_change_before_a_session_is_cut_by_its_end_and_others_were_left_out(events, expected):
    rows = ChangedRows()
    for each in events.split():
        if each == "cut":
            moved(rows, records=2)
        elif each == "stop":
            rows.stop("rest")
        else:
            {"bare": bare, "dropped": left_out}[each](rows)
    assert reported(rows) == expected


def last_of_its_partition(rows: ChangedRows) -> None:
    """A deletion that no record follows in its partition, after one with its tombstone."""
    rows.delete(0)
    rows.poll()
    rows.delete(0)
    rows.poll(1)


def bare_deletions(rows: ChangedRows) -> list[tuple[int, list[str]]]:
    return [
        (place["offset"], place["missing"]) for found in half_changes(audit(rows.brokers)) for place in found["places"]
    ]


def test_a_deletion_that_is_the_last_of_its_partition_lacks_its_tombstone_once_a_later_session_continued_elsewhere():
    rows = ChangedRows()
    last_of_its_partition(rows)
    rows.stop("behind")
    assert bare_deletions(rows) == [], "no later session has committed yet"
    rows.insert()
    rows.poll()
    assert bare_deletions(rows) == [], "the end of its partition may have been read before"
    rows.work_on()
    assert [missing for _, missing in bare_deletions(rows)] == [["tombstone"]]
    assert verdict(audit(rows.brokers)) is AuditVerdict.BROKEN


def test_a_tombstone_whose_transaction_is_open_is_awaited():
    rows = ChangedRows()
    last_of_its_partition(rows)
    rows._write(rows._queue[:1])
    rows.brokers.tick(60_000)
    assert bare_deletions(rows) == []
    assert verdict(audit(rows.brokers)) is AuditVerdict.HELD


def test_a_change_is_incomplete_only_once_its_producer_has_continued():
    rows = ChangedRows()
    moved(rows, records=2)
    assert verdict(audit(rows.brokers)) is AuditVerdict.HELD
    rows.brokers.tick(10_000)
    rows.insert()
    rows.poll()
    assert verdict(audit(rows.brokers)) is AuditVerdict.BROKEN


def test_without_any_tombstone_in_the_topic_no_deletion_lacks_one():
    rows = ChangedRows(tombstones=False)
    for _ in range(3):
        rows.delete(0)
        rows.poll()
        rows.stop("rest")
    rows.move(0)
    rows.poll()
    assert reported(rows) == []


def test_a_deletion_that_is_repeated_is_decided_by_the_record_behind_its_repetition():
    rows = ChangedRows()
    rows.delete(0)
    rows.poll(1)
    rows.stop("again")
    rows.poll()
    assert reported(rows) == []
