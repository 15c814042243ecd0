"""Small nouns at their boundaries: one below, at and above, and what is unknown."""

from datetime import date

import pytest

from eosctl.model.names import ConnectorTaskId, stem_and_task, task_transactional_id
from eosctl.model.report import Waiver
from eosctl.model.skipped import Cause, Unread
from eosctl.model.text import first_few
from eosctl.model.workers import host_port, is_loopback


@pytest.mark.parametrize(
    ("transactional_id", "found"),
    [
        ("g-c-0", ("g-c", 0)),
        ("g-c-10", ("g-c", 10)),
        ("-0", ("", 0)),
        ("0", None),
        ("g-c-", None),
        ("g-c-00", None),
        ("g-c-01", None),
        ("g-c-1x", None),
        ("g-c--1", ("g-c-", 1)),
        ("g-c-9999999999", ("g-c", 9_999_999_999)),
        ("g-c-10000000000", None),
        ("g-c-\u0663", ("g-c", 3)),
        ("g-c-\u0660\u0663", None),
    ],
)
def test_an_id_may_be_a_tasks_if_it_ends_with_a_number_as_java_writes_one(transactional_id: str, found):
    """An ID that is wrongly taken for no task's is fenced beside a live task; one wrongly taken for a task's is
    refused."""
    assert stem_and_task(transactional_id) == found


def test_the_id_of_a_task_is_read_back():
    assert stem_and_task(task_transactional_id("g", ConnectorTaskId("a-1", 7))) == ("g-a-1", 7)


@pytest.mark.parametrize(
    ("words", "subject", "covered"),
    [
        (("EOS080", "shadowed-offset"), "orders", True),
        (("eos080",), "orders", True),
        (("EOS081",), "orders", False),
        (("EOS080",), "bills", False),
        (("EOS080",), "Orders", False),
        ((), "orders", False),
    ],
)
def test_a_waiver_covers_its_finding_of_its_subject_and_nothing_else(words, subject: str, covered: bool):
    """An accepted finding is one that nobody looks at any more."""
    waiver = Waiver("EOS080", "ord*", "me", "known", date(2026, 1, 1))
    assert waiver.covers(words, subject) is covered


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("needed", [True, False])
def test_a_required_fact_that_should_be_readable_is_a_gap(cause: Cause, needed: bool):
    """Unknown is not fine: only facts that were not requested, are not in use, or differ, are no gap."""
    fine = cause in {Cause.NOT_ASKED, Cause.NOT_IN_USE, Cause.MIXED}
    assert cause.is_gap is not fine
    assert Unread("a fact", "why", cause, needed).is_gap is (needed and not fine)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://w:8083", "w:8083"),
        ("http://W:8083/", "w:8083"),
        ("https://user:secret@w:8443/connectors", "w:8443"),
        ("http://w", "w:80"),
        ("https://w", "w:443"),
        ("w", "w:80"),
        ("w:8083", "w:8083"),
        ("http://w:", "w::80"),
        ("http://8083", "8083:80"),
        ("http://[::1]:8083", "[::1]:8083"),
    ],
)
def test_two_spellings_of_a_workers_address_are_one_place(url: str, place: str):
    assert host_port(url) == place


@pytest.mark.parametrize(
    ("place", "loops"),
    [("localhost:1", True), ("[::1]:1", True), ("127.0.0.1:1", True), ("127.9:1", True), ("128.0.0.1:1", False),
     ("localhost.example:1", False), ("[::2]:1", False)],
)  # fmt: skip
def test_an_address_of_this_host_is_known_by_its_name(place: str, loops: bool):
    assert is_loopback(place) is loops


@pytest.mark.parametrize(("count", "more"), [(0, False), (1, False), (3, False), (40, True)])
def test_the_first_few_are_named_and_the_others_counted(count: int, more: bool):
    told = first_few([f"n{number}" for number in range(count)])
    assert ("more" in told) is more
    assert count == 0 or told.startswith("n0")
