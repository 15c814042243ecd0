"""The transaction log folded, read as a history, and judged: each decision at its limit."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.transaction_log import (
    AFTER,
    ENOUGH,
    FACTOR,
    KEPT,
    LEAST_MS,
    SHORTEST_MS,
    WHOLE_MS,
    CommitHistories,
    fold_transaction_log,
    history,
    last_records,
    last_values,
    log_findings,
    quietness,
)
from eosctl.analysis.transactions import ownership
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import (
    DAY_MS,
    KEPT_DAYS,
    CommitDay,
    CommitHistory,
    LogRecord,
    NewerLogRecord,
    TransactionLogRecord,
    TransactionLogValue,
)
from eosctl.model.transactions import NO_TIMEOUT_MS, Ownership, TransactionState
from tests.analysis.test_transactions import HOME, HOUR, MEMBER_ID, NAME, NAMES, NOW, WEEK, State, log, marked, value

UNREAD = Skipped("denied")
NEWER = NewerLogRecord(HOME, 9, 2, NAME)
NEWER_KEY = NewerLogRecord(HOME, 9, 2)


def at(partition: int, timestamp: int, state: TransactionState | None = State.EMPTY) -> TransactionLogRecord:
    return TransactionLogRecord(partition, 5, timestamp, NAME, None if state is None else value(state))


@pytest.mark.parametrize(
    ("records", "last", "count"),
    [
        ([at(1, NOW), at(1, NOW - 1)], 1, 2),  # in one partition the order of offsets counts
        ([at(1, NOW), at(2, NOW - 1)], 0, 2),
        ([at(1, NOW - 1), at(2, NOW)], 1, 2),
        ([at(1, NOW), at(2, NOW)], 0, 2),
        ([at(1, NOW)], 0, 1),
        ([at(1, NOW), at(1, NOW, None)], 1, 2),
    ],
)
def test_of_two_partitions_with_one_id_the_younger_record_is_its_state(records, last, count) -> None:
    folded = fold_transaction_log(records)
    assert (folded.ids[NAME].last, folded.ids[NAME].records) == (records[last], count)
    assert (folded.records, folded.broken) == (len(records), {})


@pytest.mark.parametrize(
    ("records", "known", "unknown"),
    [
        ([*log(value()), NEWER], False, True),
        ([*log(value()), NEWER_KEY], True, False),
        ([NEWER], False, True),
        ([NEWER, *log(value())], True, False),
    ],
)
def test_a_newer_value_hides_the_state_of_its_id_and_a_newer_key_hides_none(records, known, unknown) -> None:
    folded = fold_transaction_log(records)
    assert (NAME in folded.ids, NAME in folded.unknown) == (known, unknown)
    assert (len(folded.newer), folded.records) == (1, len(records))


def broken(*records: LogRecord) -> list[Finding]:
    found = log_findings(fold_transaction_log(records), {}, NOW, UNREAD, UNREAD)
    return [each for each in found if each.name == "transaction-log-broken"]


BEFORE = {
    State.EMPTY: {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.ONGOING: {State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.PREPARE_COMMIT: {State.PREPARE_COMMIT, State.ONGOING},
    State.PREPARE_ABORT: {State.PREPARE_ABORT, State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.COMPLETE_COMMIT: {State.COMPLETE_COMMIT, State.PREPARE_COMMIT},
    State.COMPLETE_ABORT: {State.COMPLETE_ABORT, State.PREPARE_ABORT},
}


@pytest.mark.parametrize("new", State)
@pytest.mark.parametrize("old", State)
def test_a_state_follows_those_that_kafka_lets_it_follow_and_a_state_of_no_rule_follows_each(old, new) -> None:
    """TransactionState.validPreviousStates; a record that is written again is a retry."""
    follows = old in BEFORE.get(new, set(State))
    assert [each.severity for each in broken(*log(value(old), value(new)))] == [Severity.WARNING] * (not follows)
    assert BEFORE.keys() == AFTER.keys()


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ((value(epoch=4), value(epoch=4)), None),
        ((value(epoch=4), value(epoch=3)), "epoch 3 follows 4 of the same producer ID"),
        ((value(epoch=4), value(epoch=3, producer_id=8)), None),
        ((value(epoch=4), None, value(epoch=3)), None),
        ((value(State.ONGOING), value()), "Empty follows Ongoing"),
        ((value(State.ONGOING, epoch=4), value(epoch=3)), "epoch 3 follows 4 of the same producer ID"),
    ],
)
def test_a_record_that_no_coordinator_writes_is_named_with_the_place_of_both(values, what) -> None:
    found = broken(*log(*values))
    at_offset = f"at offset {len(values) - 1} of partition {HOME} {what}, which no coordinator writes"
    assert [each.message for each in found] == ([at_offset] if what else [])
    assert [each.evidence for each in found] == [{"partition": HOME, "offset": 1, "before": 0}] * bool(what)
    assert all((each.severity is Severity.ERROR) == ("epoch" in str(what)) for each in found)
    other = [replace(each, partition=number) for number, each in enumerate(log(*values))]
    assert broken(*other) == [], "two partitions say nothing about each other"


@pytest.mark.parametrize(
    ("records", "before", "unread", "expected"),
    [
        ((), {}, {}, {}),
        ((), None, {}, {}),
        (log(value(epoch=1)), None, {}, {NAME: value(epoch=1)}),
        (log(value(epoch=1)), {NAME: value()}, {}, {NAME: value(epoch=1)}),
        ((), {NAME: value()}, {}, {NAME: value()}),
        (log(None), {NAME: value()}, {}, {}),
        (log(value()), None, {HOME: UNREAD}, {NAME: UNREAD}),
        ((), None, {HOME: UNREAD}, {NAME: UNREAD}),
        (log(value()), None, {HOME + 1: UNREAD}, {NAME: value()}),
        (log(value(), name="other"), {"more": value()}, {}, {}),
    ],
)  # fmt: skip
def test_the_state_of_an_id_is_its_last_record_s_or_the_earlier_reading_s_and_unknown_where_its_partition_is_unread(
    records, before, unread, expected
) -> None:
    assert last_values(fold_transaction_log(records), [NAME], 50, unread, before) == expected


def test_of_each_id_ten_records_are_kept_where_no_other_number_is_given() -> None:
    records = log(*[value()] * 12)
    assert (KEPT, last_records(records)) == (10, (12, tuple(records[2:])))
    assert last_records([]) == (0, ())


OURS, ALIEN, NONE = ownership(NAME, NAMES), ownership("somebody", NAMES), Ownership((), ())
SEVENTH = WEEK // 7


def judged(
    *values: TransactionLogValue | None,
    left: int = WEEK,
    owned: Ownership | None = OURS,
    expiration_ms: int | Skipped = WEEK,
    partitions: int | Skipped = 50,
    partition: int = HOME,
) -> list[Finding]:
    """The findings about an ID that its coordinator forgets in `left` ms."""
    owners = {} if owned is None else {NAME: owned}
    folded = fold_transaction_log(log(*values, partition=partition))
    return list(log_findings(folded, owners, NOW + WEEK - left, expiration_ms, partitions))


@pytest.mark.parametrize(
    ("left", "when"),
    [
        (SEVENTH + 1, None),
        (SEVENTH, "idle for 144.0 h, it will be forgotten in 24.0 h;"),
        (HOUR, "idle for 167.0 h, it will be forgotten in 1.0 h;"),
        (1, "it will be forgotten in 0.0 h;"),
        (0, "idle for 168.0 h, it is due to be forgotten;"),
        (-1, "it is due to be forgotten;"),
    ],
)
def test_an_id_is_near_expiry_from_the_last_seventh_on_and_due_at_its_end(left: int, when: str | None) -> None:
    found = judged(value(), left=left)
    assert [(each.id, each.evidence["left_ms"]) for each in found] == ([("EOS117", left)] if when else [])
    assert all(str(when) in each.message for each in found)


@pytest.mark.parametrize(
    ("owned", "severity", "who"),
    [
        (OURS, Severity.WARNING, f"if {OURS} must continue"),
        (ALIEN, Severity.INFO, "if its producer must continue"),
        (NONE, Severity.INFO, "if its producer must continue"),
        (None, Severity.INFO, "if its producer must continue"),
    ],
)
def test_an_id_near_expiry_counts_where_a_known_connector_has_it(owned, severity, who) -> None:
    [found] = judged(value(), left=0, owned=owned)
    assert (found.severity, found.cure.startswith(who)) == (severity, True)


@pytest.mark.parametrize("state", State)
def test_an_id_expires_where_no_transaction_is_open_or_undecided(state: TransactionState) -> None:
    idle = {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
    assert [each.id for each in judged(value(state), left=0)] == ["EOS117"] * (state in idle)


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({}, ["EOS300", "EOS117"]),
        ({"expiration_ms": UNREAD}, ["EOS300"]),
        ({"partitions": UNREAD}, ["EOS117"]),
        ({"expiration_ms": UNREAD, "partitions": UNREAD}, []),
    ],
)
def test_what_was_not_read_is_not_judged_and_the_rest_is(changes, ids) -> None:
    assert [each.id for each in judged(value(), left=0, partition=HOME + 1, **changes)] == ids
    assert judged(None, left=0, partition=HOME + 1, **changes) == [], "a forgotten ID has no problem"


def test_a_misplaced_id_is_named_with_the_partition_of_its_coordinator() -> None:
    [found] = judged(value(), partition=HOME + 1)
    assert found.evidence == {"partition": HOME + 1, "coordinator_partition": HOME}
    assert f"in partition {HOME + 1}, but with 50 partitions it belongs to {HOME}." in found.message
    assert judged(value(), partition=HOME) == []


@pytest.mark.parametrize(
    ("epoch", "left"), [(31_766, None), (31_767, 999), (32_765, 1), (32_766, 0), (32_767, 0)]
)  # fmt: skip
def test_epochs_come_to_an_end_where_fewer_than_a_thousand_are_left(epoch: int, left: int | None) -> None:
    found = judged(value(epoch=epoch))
    assert [each.evidence for each in found] == ([] if left is None else [{"producer_epoch": epoch, "left": left}])
    assert all(f"producer ID 7 has {left} epochs left" in each.message for each in found)


@pytest.mark.parametrize(
    ("state", "timeout_ms", "severity", "start"),
    [
        (State.ONGOING, NO_TIMEOUT_MS, Severity.WARNING, NOW - 5),
        (State.PREPARE_COMMIT, NO_TIMEOUT_MS, Severity.INFO, None),
        (State.EMPTY, NO_TIMEOUT_MS, Severity.INFO, None),
        (State.ONGOING, NO_TIMEOUT_MS - 1, None, None),
    ],
)
def test_two_phase_commit_is_reported_and_warns_where_a_transaction_is_open(state, timeout_ms, severity, start) -> None:
    found = judged(replace(value(state, start=NOW - 5), timeout_ms=timeout_ms))
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    assert all(each.evidence == {"state": state.value, "start_ms": start} for each in found)
    assert all(("it has an open transaction of two" in each.message) == (start is not None) for each in found)


@pytest.mark.parametrize(
    ("record", "message", "part"),
    [
        (NEWER, f"a record of {NAME} at offset 9 has value version 2", "value"),
        (NEWER_KEY, "a record at offset 9 has key version 2", "key"),
    ],
)
def test_a_record_of_a_newer_kafka_is_named_with_the_part_that_is_newer(record, message, part) -> None:
    [found] = log_findings(fold_transaction_log([record]), {}, NOW, WEEK, 50)
    assert (found.subject, found.message) == (f"__transaction_state-{HOME}@9", f"{message}, which a newer Kafka wrote")
    assert found.evidence == {f"{part}_version": 2, "transactional_id": record.transactional_id}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([None, value(), value(epoch=1)], "initialised, epoch 0 to 1: the producer before it is fenced"),
        ([value(), None], "forgotten: idle for transactional.id.expiration.ms"),
        ([value(), None, value(epoch=3)], "initialised again, after it was forgotten, epoch 3"),
        ([value(State.ONGOING, partitions=1)], "transaction in progress in 1 partition"),
        ([None, value(State.ONGOING, partitions=1)], "transaction in progress in 1 partition"),
        ([value(State.ONGOING)], "transaction in progress in 0 partitions"),
        ([value(State.COMPLETE_COMMIT, partitions=3), value(State.ONGOING, partitions=1)],
         "transaction in progress in 1 partition"),
        ([value(State.ONGOING), value(State.ONGOING, partitions=2)], "2 partitions added"),
        ([value(State.PREPARE_ABORT, epoch=1)], "abort decided; markers are being written"),
        ([value(State.ONGOING, epoch=1), value(State.PREPARE_ABORT, epoch=0)],
         "abort decided; markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1, client=1)],
         "abort decided by its coordinator (timeout or fencing); markers are being written"),
        ([value(State.COMPLETE_COMMIT, start=-1)], "committed"),
        ([value(State.COMPLETE_COMMIT, start=0)], f"committed after {NOW} ms"),
        ([value(State.COMPLETE_ABORT, start=NOW)], "aborted after 0 ms"),
        ([value(State.COMPLETE_ABORT, start=NOW + 1)], "aborted"),
        ([value(State.DEAD)], "Dead"),
        ([value(State.PREPARE_EPOCH_FENCE)], "PrepareEpochFence"),
    ],
)  # fmt: skip
def test_a_record_means_what_it_changes(values, words) -> None:
    assert [each.words for each in history([NEWER, *log(*values)])][-1] == words
    assert len(list(history([NEWER, *log(*values)]))) == len(values)


def kept(*, intervals: int = ENOUGH, span: int = SHORTEST_MS, longest: int = HOUR) -> CommitHistory:
    return CommitHistory(NOW - span, NOW, None, (CommitDay(NOW // DAY_MS, intervals, longest),))


@pytest.mark.parametrize(
    ("history_", "silent", "ratio", "quiet", "whole"),
    [
        (kept(intervals=ENOUGH - 1), 4 * HOUR, None, False, False),
        (kept(span=SHORTEST_MS - 1), 4 * HOUR, None, False, False),
        (kept(), 4 * HOUR, 4.0, True, False),
        (kept(), FACTOR * HOUR, 3.0, False, False),
        (kept(), FACTOR * HOUR + 1, 3 + 1 / HOUR, True, False),
        (kept(span=WHOLE_MS - 1), 0, 0.0, False, False),
        (kept(span=WHOLE_MS), 0, 0.0, False, True),
        (kept(), -1, 0.0, False, False),
        (kept(longest=0), 7, 7.0, False, False),
        (kept(longest=1), LEAST_MS, float(LEAST_MS), False, False),
        (kept(longest=1), LEAST_MS + 1, LEAST_MS + 1.0, True, False),
        (kept(longest=LEAST_MS // FACTOR), LEAST_MS + 1, 3.00005, True, False),
    ],
)
def test_an_id_is_quiet_beyond_what_a_long_enough_history_allows(history_, silent, ratio, quiet, whole) -> None:
    found = quietness(history_, NOW + silent)
    assert found == (max(0, silent), None if ratio is None else pytest.approx(ratio), quiet, whole)


DAY = NOW // DAY_MS
MORNING = DAY * DAY_MS


def continued(*records: LogRecord, earlier: CommitHistory | None, continues: bool = False) -> CommitHistory | None:
    histories = CommitHistories([MEMBER_ID], {} if earlier is None else {MEMBER_ID: earlier}, continues=continues)
    assert list(histories.following(records)) == list(records)
    found = histories.result()
    assert None not in found.values()
    return found.get(MEMBER_ID)


EARLIER = CommitHistory(MORNING, MORNING + 100)


@pytest.mark.parametrize(
    ("records", "earlier", "continues", "days"),
    [
        ([marked(MORNING + 130)], EARLIER, True, [(DAY, 1, 30)]),
        ([marked(MORNING + 130)], EARLIER, False, []),
        ([marked(MORNING + 100), marked(MORNING + 130)], EARLIER, False, [(DAY, 1, 30)]),
        ([marked(MORNING + 99), marked(MORNING + 130)], EARLIER, False, [(DAY, 1, 30)]),
        ([marked(MORNING + 101), marked(MORNING + 130)], EARLIER, False, [(DAY, 1, 29)]),
        ([marked(MORNING + 100)], None, False, []),
        ([marked(MORNING + 100), marked(MORNING + 130)], None, False, [(DAY, 1, 30)]),
        ([marked(MORNING + 1), marked(MORNING + 31), marked(MORNING + 41)], None, False, [(DAY, 2, 30)]),
        ([marked(MORNING + 1), marked(MORNING + 11), marked(MORNING + 41)], None, False, [(DAY, 2, 30)]),
        ([marked(MORNING - 1), marked(MORNING)], None, False, [(DAY, 1, 1)]),
        ([marked(MORNING - 9), marked(MORNING - 1), marked(MORNING)], None, False, [(DAY - 1, 1, 8), (DAY, 1, 1)]),
        # An initialization between two commits is the start of a task: its interval does not count.
        ([marked(MORNING + 110, State.EMPTY), marked(MORNING + 130)], EARLIER, True, []),
        ([marked(MORNING + 101, State.EMPTY), marked(MORNING + 130)], EARLIER, True, []),
        ([marked(MORNING + 100, State.EMPTY), marked(MORNING + 130)], EARLIER, True, [(DAY, 1, 30)]),
        ([marked(MORNING + 130)], replace(EARLIER, claimed_ms=MORNING + 101), True, []),
        ([marked(MORNING + 130)], replace(EARLIER, claimed_ms=MORNING + 100), True, [(DAY, 1, 30)]),
        ([marked(MORNING + 130, State.ONGOING), marked(MORNING + 140, State.COMPLETE_ABORT)], EARLIER, True, []),
        ([marked(MORNING + 130)], replace(EARLIER, days=(CommitDay(DAY, 4, 50),)), True, [(DAY, 5, 50)]),
        ([marked(MORNING + 130)], replace(EARLIER, days=(CommitDay(DAY - 1, 4, 50),)), True,
         [(DAY - 1, 4, 50), (DAY, 1, 30)]),
    ],
)  # fmt: skip
def test_an_interval_counts_on_its_day_where_both_its_commits_are_one_after_the_other(
    records, earlier, continues, days
) -> None:
    found = continued(*records, earlier=earlier, continues=continues)
    assert found is not None
    assert [tuple(each) for each in found.days] == days


@pytest.mark.parametrize(
    ("records", "earlier", "expected"),
    [
        ([], None, None),
        ([marked(MORNING, State.EMPTY)], None, None),
        ([], EARLIER, (MORNING, MORNING + 100, None)),
        ([marked(MORNING + 130)], EARLIER, (MORNING, MORNING + 130, None)),
        ([marked(MORNING + 7)], None, (MORNING + 7, MORNING + 7, None)),
        ([marked(MORNING + 7, State.EMPTY)], EARLIER, (MORNING, MORNING + 100, MORNING + 7)),
        ([marked(MORNING + 7, State.EMPTY)], replace(EARLIER, claimed_ms=MORNING + 8),
         (MORNING, MORNING + 100, MORNING + 8)),
        ([marked(MORNING + 7, name="g-x-1"), at(1, NOW, None), NEWER], EARLIER, (MORNING, MORNING + 100, None)),
    ],
)  # fmt: skip
def test_a_history_has_its_first_and_last_commit_and_the_last_claim(records, earlier, expected) -> None:
    found = continued(*records, earlier=earlier)
    assert (None if found is None else (found.first_ms, found.last_ms, found.claimed_ms)) == expected


@pytest.mark.parametrize(("after_midnight", "days"), [(-1, 2), (0, 1)])
def test_a_day_is_forgotten_once_all_of_it_is_older_than_those_kept(after_midnight: int, days: int) -> None:
    first = CommitDay(DAY - KEPT_DAYS - 1, 1, 5)
    earlier = CommitHistory(MORNING - 30 * DAY_MS, MORNING - 9, None, (first,))
    found = continued(marked(MORNING + after_midnight), earlier=earlier, continues=True)
    assert found is not None
    assert (len(found.days), found.first_ms) == (days, MORNING + after_midnight - KEPT_DAYS * DAY_MS)
