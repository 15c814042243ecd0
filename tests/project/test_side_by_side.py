"""Tests that share a Kafka go to one process, and so do those of one file and one version."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.side_by_side import APART, LONGEST, begun, group_of, scope_of

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[4.3.1]", "tests/a/test_b.py@4.3.1"),
        ("tests/a/test_b.py::TestD::test_c[rename-3.9.2-off]", "tests/a/test_b.py@3.9.2"),
        ("tests/a/test_b.py::test_c[1.2]", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[me@home]", "tests/a/test_b.py"),
    ],
)
def test_a_test_stays_with_those_it_shares_a_kafka_with(nodeid, scope):
    assert scope_of(nodeid) == scope


@pytest.mark.parametrize(
    ("name", "fixtures", "group"),
    [
        ("test_c", ["sandbox", "tmp_path"], "broker"),
        ("test_c", ["tmp_path"], None),
        ("test_c", ["sandbox", "connect_sandbox"], "worker"),
        ("test_c[4.3.1]", ["broker"], "broker"),
        ("test_c[3.9.2]", ["broker"], "broker-3.9.2"),
    ],
)
def test_a_test_belongs_to_the_costliest_kafka_that_it_takes(name, fixtures, group):
    assert group_of(some_test(name, fixtures)) == group


def some_test(name: str, fixtures: list[str], file: str = "tests/a/test_b.py", *marks: str) -> SimpleNamespace:
    return SimpleNamespace(
        name=name, fixturenames=fixtures, nodeid=f"{file}::{name}", get_closest_marker=lambda mark: mark in marks
    )


def test_a_group_that_takes_longest_is_two():
    examples = "tests/integration/test_examples.py"
    assert group_of(some_test("test_c", ["sandbox"], examples)) == "broker-apart"
    assert group_of(some_test("test_c[3.9.2]", ["broker"], examples)) == "broker-apart-3.9.2"


def test_the_longest_tests_begin_first_and_those_without_kafka_last():
    pure, some = some_test("pure", []), some_test("some", [], "tests/a/test_b.py", "kafka")
    longest = some_test("worker", ["connect_sandbox"], "tests/a/test_b.py", "kafka")
    campaign = some_test("campaign", [], "tests/campaign/test_campaign.py", "long")
    assert sorted([pure, some, campaign, longest], key=begun) == [longest, campaign, some, pure]


def test_every_file_that_is_set_apart_or_begun_first_is_there():
    apart = [name for names in APART.values() for name in names]
    assert [name for name in apart if not list(TESTS.rglob(f"test_{name}.py"))] == []
    assert [place for place in LONGEST if "/" in place and not (TESTS.parent / place).exists()] == []
