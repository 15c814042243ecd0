"""Histories of commits: what the transaction log leaves of them, and when an ID is quieter than in its history."""

import random
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.transaction_log import ENOUGH, FACTOR, LEAST_MS, WHOLE_MS, CommitHistories, quietness
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.transaction_log import DAY_MS, KEPT_DAYS, NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState as State

NOW, HOUR, NAME = 1_790_000_000_000, 3_600_000, "g-x-0"


def record(at, state=State.COMPLETE_COMMIT, name=NAME):
    value = TransactionLogValue(1, ProducerIdAndEpoch(1, 0), 60_000, state, None, at, at)
    return TransactionLogRecord(0, 0, at, name, value)


def followed(*records, earlier=None):
    """The history of the ID when these records have passed by."""
    histories = CommitHistories([NAME], {} if earlier is None else {NAME: earlier})
    assert list(histories.following(records)) == list(records)
    return histories.result().get(NAME)


def committed(*times, earlier=None):
    return followed(*map(record, times), earlier=earlier)


def random_times(rng, count, mean_ms, begin=NOW):
    """Times of commits that come at random at a constant rate (Poisson)."""
    times = [begin]
    for _ in range(count):
        times.append(times[-1] + rng.expovariate(1 / mean_ms))
    return [int(each) for each in times]


def test_a_history_has_the_intervals_between_commits_and_nothing_else_counts():
    found = followed(
        *(record(NOW + 1, State.EMPTY), record(NOW + 5, State.ONGOING), record(NOW + 8, State.PREPARE_COMMIT)),
        *(record(NOW + 10), record(NOW + 11, name="g-x-1"), record(NOW + 12, State.COMPLETE_ABORT)),
        *(NewerLogRecord(0, 1, 9), TransactionLogRecord(0, 0, NOW, NAME, None), record(NOW + 40), record(NOW + 45)),
    )
    assert (found.first_ms, found.last_ms, found.claimed_ms) == (NOW + 10, NOW + 45, NOW + 1)
    assert (found.intervals, found.longest_ms) == (2, 30)


def test_an_id_that_never_committed_has_no_history():
    assert followed(record(NOW, State.EMPTY), record(NOW + 1, State.COMPLETE_ABORT)) is None


def test_the_interval_in_which_a_task_was_started_is_not_counted():
    found = followed(record(NOW), record(NOW + 10), record(NOW + DAY_MS, State.EMPTY), record(NOW + DAY_MS + 5))
    assert (found.intervals, found.longest_ms) == (1, 10)
    assert followed(record(NOW), record(NOW + DAY_MS, State.EMPTY)).quiet_since_ms == NOW + DAY_MS


@given(st.lists(st.integers(0, 400 * HOUR), min_size=1, max_size=40, unique=True).map(sorted), st.data())
def test_a_reading_that_has_a_commit_in_common_with_an_earlier_one_continues_it_as_if_it_had_read_all(offsets, data):
    times = [NOW + each for each in offsets]
    cut = data.draw(st.integers(0, len(times) - 1))
    again = data.draw(st.integers(0, cut))
    assert committed(*times[again:], earlier=committed(*times[: cut + 1])) == committed(*times)


def test_an_interval_in_which_commits_may_have_been_compacted_is_not_counted():
    earlier = committed(NOW, NOW + 10)
    found = committed(NOW + HOUR, NOW + HOUR + 20, earlier=earlier)
    assert (found.intervals, found.longest_ms, found.first_ms, found.last_ms) == (2, 20, NOW, NOW + HOUR + 20)


@given(st.lists(st.integers(0, 60 * 24), min_size=2, max_size=60, unique=True).map(sorted))
def test_a_history_forgets_what_is_older_than_its_days_and_no_younger_interval(hours):
    times = [NOW + each * HOUR for each in hours]
    found = committed(*times)
    young = [b - a for a, b in pairwise(times) if b >= times[-1] - KEPT_DAYS * DAY_MS]
    assert len(found.days) <= KEPT_DAYS + 1
    assert found.longest_ms >= max(young)
    assert found.intervals >= len(young)
    assert found.span_ms <= KEPT_DAYS * DAY_MS


def test_a_long_interval_is_forgotten_after_the_days_that_are_kept():
    outage = committed(NOW - 6 * DAY_MS, *(NOW + n * HOUR for n in range(24 * (KEPT_DAYS + 2))))
    assert (outage.longest_ms, outage.span_ms) == (HOUR, KEPT_DAYS * DAY_MS)
    assert committed(NOW - 6 * DAY_MS, *(NOW + n * HOUR for n in range(24 * 20))).longest_ms == 6 * DAY_MS


def test_random_commits_are_found_quiet_no_more_often_than_is_said():
    """By the formula once in 5,456 intervals; and without the factor 176 times as often, so that this can fail."""
    assert comb(ENOUGH + FACTOR, FACTOR) == 5456
    rng, mean, found = random.Random(618), 4 * HOUR, 0
    rounds = 6000
    for _ in range(rounds):
        *history, end = random_times(rng, ENOUGH + 1, mean)
        found += quietness(committed(*history), end).quiet
    assert found <= 6, "that many of 6,000 have a probability of 0.2 % where 1.1 are expected"


@given(st.integers(0, 2**32), st.integers(60_000, 6 * HOUR))
def test_a_source_that_stops_is_found_by_three_of_its_longest_intervals_later_and_stays_found(seed, mean_ms):
    history = committed(*random_times(random.Random(seed), 500, mean_ms))
    if history.span_ms < WHOLE_MS:
        history = replace(history, first_ms=history.last_ms - WHOLE_MS)
    allowed = max(LEAST_MS, FACTOR * history.longest_ms)
    assert not quietness(history, history.last_ms + allowed).quiet
    found = quietness(history, history.last_ms + allowed + 1)
    assert (found.quiet, found.whole) == (True, True)
    assert quietness(history, history.last_ms + 1000 * DAY_MS).quiet


@pytest.mark.parametrize("at", range(0, 7 * 24, 5))
def test_nights_and_weekends_are_no_fault_where_a_week_of_them_is_known(at):
    """A source that has changes each ten minutes of office hours."""
    office = [
        NOW + day * DAY_MS + minute * 60_000 for day in range(22) if day % 7 < 5 for minute in range(0, 8 * 60, 10)
    ]
    now = NOW + 14 * DAY_MS + at * HOUR
    found = quietness(committed(*(each for each in office if each <= now)), now)
    assert (found.quiet, found.whole) == (False, True)


def test_a_history_that_is_too_short_says_nothing_but_how_long_it_was_quiet():
    few = committed(*(NOW + n * HOUR for n in range(ENOUGH)))
    hour = committed(*(NOW + n * 60_000 for n in range(200)))
    for each in (few, hour):
        assert quietness(each, each.last_ms + DAY_MS * 100) == (DAY_MS * 100, None, False, False)
    day = committed(*(NOW + n * HOUR for n in range(ENOUGH + 1)))
    assert quietness(day, day.last_ms + 4 * HOUR) == (4 * HOUR, 4.0, True, False)


def test_nothing_is_quiet_for_less_than_a_minute():
    busy = committed(*(NOW + n * 1000 for n in range(DAY_MS // 1000 + 1)))
    assert not quietness(busy, busy.last_ms + LEAST_MS).quiet
    assert quietness(busy, busy.last_ms + LEAST_MS + 1).quiet
    assert quietness(busy, busy.last_ms - 5).silent_ms == 0
