"""Tasks that start, or go on, where no fencing round kept out the ones before them."""

import pytest

from tests.analysis.audit.planted import BROKEN, HELD, MINUTE, only, verdicts, work


def test_tasks_that_start_without_a_fencing_round(planted):
    orders = planted.orders
    commit = orders.configure(2)
    planted.brokers.tick(MINUTE)
    orders.start()
    work(orders, range(12, 14))
    report = planted.report()
    evidence = only(report, "start-without-fencing")
    assert {each["producer_id"] for each in evidence["places"]} == {each.producer_id for each in orders.tasks}
    assert {each["commit_offset"] for each in evidence["places"]} == {commit}
    assert evidence["count"] == 2
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}


@pytest.mark.parametrize("round_takes", [MINUTE, 10 * MINUTE])
def test_tasks_that_had_not_written_yet_may_write_until_the_fencing_round_is_over(planted, round_takes):
    """A round takes minutes where many IDs are fenced one after the other; what they wrote meanwhile is theirs."""
    orders = planted.orders
    orders.reconfigure(2)
    planted.brokers.tick(MINUTE)
    orders.configure(2)
    planted.brokers.tick(MINUTE)
    work(orders, range(12, 14))
    planted.brokers.tick(round_takes)
    orders.fence()
    orders.start()
    work(orders, range(14, 16))
    report = planted.report()
    assert [each for each in report.findings if each.counts] == []
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


@pytest.mark.parametrize("round_takes", [200, MINUTE])
def test_tasks_that_start_with_a_fencing_round_and_go_on_for_long(planted, round_takes):
    orders = planted.orders
    orders.configure(2)
    planted.brokers.tick(round_takes)
    orders.fence()
    orders.start()
    work(orders, range(12, 14))
    planted.brokers.tick(10 * MINUTE)
    work(orders, range(14, 16))
    report = planted.report()
    assert [each for each in report.findings if each.counts] == []
    assert verdicts(report) == {"bills": HELD, "orders": HELD}


def test_tasks_that_go_on_behind_a_fencing_round_that_came_late(planted):
    orders = planted.orders
    commit = orders.configure(2)
    planted.brokers.tick(MINUTE)
    orders.start()
    work(orders, range(12, 14))
    planted.brokers.tick(MINUTE)
    orders.fenced = 0  # the round leaves their IDs out
    orders.fence()
    planted.brokers.tick(MINUTE)
    work(orders, range(14, 16))
    report = planted.report()
    evidence = only(report, "start-without-fencing")
    assert {each["producer_id"] for each in evidence["places"]} == {each.producer_id for each in orders.tasks}
    assert {each["commit_offset"] for each in evidence["places"]} == {commit}
    assert verdicts(report) == {"bills": HELD, "orders": BROKEN}
