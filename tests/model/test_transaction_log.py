"""The transaction log as answers have it: holders of producer IDs, readings that go on, and how an answer ends."""

from typing import Any

import pytest

from eosctl.errors import Unreachable
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import (
    CommitDay,
    CommitHistory,
    FoldedLog,
    LogEnd,
    LoggedHolders,
    LogReading,
    NewerLogRecord,
    TransactionLogRecord,
    TransactionLogReport,
    TransactionLogValue,
)
from eosctl.model.transactions import TransactionState

VALUE = TransactionLogValue(
    1, ProducerIdAndEpoch(7, 0), 60_000, TransactionState.EMPTY, None, 5, 5, previous_producer_id=6
)
SILENT = Skipped("no leader")


@pytest.mark.parametrize(
    ("value", "wanted", "held"),
    [(VALUE, {7, 8}, [7]), (VALUE, {6}, [6]), (VALUE, {6, 7}, [6, 7]), (VALUE, {8}, []), (None, {6, 7}, [])],
)
def test_a_record_names_the_producer_that_holds_its_id_and_the_one_before(value, wanted, held):
    found = sorted(TransactionLogRecord(0, 0, 0, "x", value).holders(wanted))
    assert found == [(each, "x") for each in held]


@pytest.mark.parametrize(("wanted", "goes_on"), [((), True), ((7,), True), ((7, 8), True), ((7, 9), False)])
def test_a_reading_goes_on_where_it_looked_for_all_producers(wanted: tuple[int, ...], goes_on: bool):
    reading = LoggedHolders(frozenset({7, 8}), left=3)
    assert reading.continued(wanted) == (reading if goes_on else LoggedHolders(frozenset(wanted)))


@pytest.mark.parametrize(("wanted", "goes_on"), [((), True), (("a",), True), (("a", "b"), True), (("c",), False)])
def test_a_reading_begins_again_where_an_id_is_new(wanted: tuple[str, ...], goes_on: bool):
    ends = {0: LogEnd(1, 9)}
    assert LogReading(frozenset({"a", "b"}), ends).ends_for(wanted) == (ends if goes_on else {})


@pytest.mark.parametrize(("claimed", "since"), [(None, 9), (5, 9), (9, 9), (12, 12)])
def test_an_id_is_quiet_since_its_last_commit_or_the_later_start_of_a_producer(claimed: int | None, since: int):
    history = CommitHistory(2, 9, claimed, (CommitDay(0, 2, 5), CommitDay(1, 1, 4)))
    assert (history.quiet_since_ms, history.span_ms, history.intervals, history.longest_ms) == (since, 7, 3, 5)
    assert CommitHistory(2, 9).longest_ms == 0


@pytest.mark.parametrize(("name", "part"), [(None, "key"), ("x", "value")])
def test_a_newer_record_is_unknown_by_its_key_or_its_value(name: str | None, part: str):
    assert NewerLogRecord(0, 0, 9, name).part == part


KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "do this", "a class")
ERROR, INFO = KIND.finding("s", "wrong"), KIND.finding("s", "known", severity=Severity.INFO)


def report(*findings: Finding, absent: frozenset[str] = frozenset(), **unread: Any) -> TransactionLogReport:
    log = FoldedLog({}, 0, ())
    return TransactionLogReport(
        as_of=0, cluster_id="k", unread=unread, notes=("a note",), absent=absent, log=log, owners={}, leaders={},
        findings=findings,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "is_found", "notes", "fails"),
    [
        (report(), False, 1, False),
        (report(INFO), False, 1, False),
        (report(ERROR), True, 1, False),
        (report(absent=frozenset({"x"})), True, 1, False),
        (report(part=SILENT), False, 2, True),
        (report(INFO, part=SILENT), False, 2, True),
        (report(ERROR, part=SILENT), True, 2, False),
    ],
)
def test_a_log_that_was_read_in_part_and_shows_nothing_is_no_answer(found, is_found: bool, notes: int, fails: bool):
    assert found.found is is_found
    assert found.all_notes == ("a note", "not read: no leader")[:notes]
    error = found.failure
    assert isinstance(error, Unreachable) is fails
    assert fails or error is None
