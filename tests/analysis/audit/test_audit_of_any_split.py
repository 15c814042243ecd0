"""The same ranges give the same report, however they are cut, and in however many runs they are read."""

import random
from difflib import unified_diff

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.model.audit import OffsetRange
from eosctl.model.names import TopicPartition
from tests.analysis.audit.connect_cluster import key_of
from tests.analysis.audit.histories import MINUTE, History, spoils, steps
from tests.analysis.audit.runs import Cut, audit, audit_by_runs, everywhere, text_of

EXAMPLES, MANY = 15, 3000
versions = st.sampled_from([1, 2])
skews = st.sampled_from([0, 2, 40])
strangers = st.integers(0, 4)


def cuts(seed: int) -> Cut:
    """Some offsets of each range, the same ones each time."""

    def cut(offsets: OffsetRange) -> list[int]:
        chosen = random.Random(f"{seed} {offsets}")
        return [offset for offset in range(offsets.start, offsets.end) if chosen.random() < 0.15]

    return cut


def check(version: int, skew: int, played: list, spoiled: list, seed: int, strangers: int = 0) -> None:
    """strangers: at so many of the first looks nothing is known of connectors."""
    history = History(version, skew).play(played, spoiled)
    last = history.moments[-1]
    for number in range(min(strangers, len(history.moments) - 1)):
        history.moments[number] = history.moments[number]._replace(known=False)
    at_once = text_of(audit(history.brokers, last))
    for other in (
        audit(history.brokers, last, everywhere if seed == 0 else cuts(seed)),
        audit_by_runs(history.brokers, history.moments),
        audit_by_runs(history.brokers, history.moments, cuts(seed)),
    ):
        require_same(text_of(other), at_once)


def require_same(text: str, expected: str) -> None:
    if text != expected:
        pytest.fail("\n".join([*unified_diff(expected.split("\n"), text.split("\n"), lineterm="")][:60]))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000), strangers)
def test_any_split_and_any_runs_give_the_report_of_one_audit(version, skew, played, spoiled, seed, strangers):
    check(version, skew, played, spoiled, seed, strangers)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=MANY, suppress_health_check=list(HealthCheck))
@given(versions, skews, steps, spoils, st.integers(0, 1000), strangers)
def test_any_split_and_any_runs_give_the_report_of_one_audit_in_thousands_of_histories(
    version, skew, played, spoiled, seed, strangers
):
    check(version, skew, played, spoiled, seed, strangers)


def test_offsets_of_a_transaction_wait_for_its_data_that_another_ones_open_transaction_keeps_unsettled():
    """By the clock of another broker, the two are put side by side; both have to be there when that is judged."""
    history = History(1, clock_skew_ms=40)
    brokers, orders = history.brokers, history.connectors[0]
    kept = TopicPartition("orders", 1)
    other = brokers.init("other")
    other.send(kept, [(None, b"x")])
    even = next(source for source in "abc" if orders.place(key_of("orders", source)).partition % 2 == 0)
    orders.write(0, {even: 1}, outputs=(1,))
    brokers.tick(16 * MINUTE)
    first = brokers.seen()
    other.abort()
    brokers.tick(16 * MINUTE)
    last = brokers.seen()
    require_same(text_of(audit_by_runs(brokers, [first, last])), text_of(audit(brokers, last)))


def test_data_behind_the_last_stable_offset_counts_for_a_change_of_offsets_in_every_run():
    """Of the connector's next transaction after the change, a marker is missing beside its data."""
    stopped = ("reconfigure", 1, 0, False)
    steps = [("move", False, 0), ("zombie", 1, "b", 1), stopped, ("move", True, 0), ("look",), ("missing", 1, "b")]
    history = History(2).play(steps)
    at_once = audit(history.brokers, history.moments[-1])
    assert [tuple(each.repeated_by_change) for each in at_once.connectors if each.name == "bills"] == [(0, 2)]
    require_same(text_of(audit_by_runs(history.brokers, history.moments)), text_of(at_once))


def test_a_connector_that_becomes_known_later_answers_for_what_it_did_before():
    history = History(1)
    orders = history.connectors[0]
    other_task = orders.tasks[1]
    orders.data(other_task, 3, outputs=(1,))
    other_task.commit()
    orders.write(0, {"a": 1}, outputs=(1,))
    history.brokers.tick(100 * MINUTE)
    stranger = history.brokers.seen()._replace(known=False)
    orders.write(0, {"a": 2}, outputs=(1,))
    history.brokers.tick(100 * MINUTE)
    last = history.brokers.seen()
    report = audit_by_runs(history.brokers, [stranger, last])
    assert [(each.name, each.subject) for each in report.findings if each.counts] == [
        ("data-without-offsets", "orders")
    ]
    require_same(text_of(report), text_of(audit(history.brokers, last)))
