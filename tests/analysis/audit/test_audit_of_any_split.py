"""The same ranges give the same report, however they are cut, and in however many runs they are read."""

import random
from difflib import unified_diff

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.model.audit import OffsetRange
from tests.analysis.audit.histories import History, spoils, steps
from tests.analysis.audit.runs import Cut, audit, audit_by_runs, everywhere, text_of

EXAMPLES, MANY = 25, 3000
versions = st.sampled_from([1, 2])
skews = st.sampled_from([0, 2, 40])


def cuts(seed: int) -> Cut:
    """Some offsets of each range, the same ones each time."""

    def cut(offsets: OffsetRange) -> list[int]:
        chosen = random.Random(f"{seed} {offsets}")
        return [offset for offset in range(offsets.start, offsets.end) if chosen.random() < 0.15]

    return cut


def check(version: int, skew: int, played: list, spoiled: list, seed: int) -> None:
    history = History(version, skew).play(played, spoiled)
    last = history.moments[-1]
    at_once = text_of(audit(history.brokers, last))
    for other in (
        audit(history.brokers, last, everywhere if seed == 0 else cuts(seed)),
        audit_by_runs(history.brokers, history.moments),
        audit_by_runs(history.brokers, history.moments, cuts(seed)),
    ):
        if text_of(other) != at_once:
            pytest.fail("\n".join([*unified_diff(at_once.split("\n"), text_of(other).split("\n"), lineterm="")][:60]))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000))
def test_any_split_and_any_runs_give_the_report_of_one_audit(version, skew, played, spoiled, seed):
    check(version, skew, played, spoiled, seed)


@pytest.mark.long
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000))
def test_any_split_and_any_runs_give_the_report_of_one_audit_in_thousands_of_histories(
    version, skew, played, spoiled, seed
):
    check(version, skew, played, spoiled, seed)
