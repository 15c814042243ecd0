"""Tests that share a Kafka go to one process, and so do those of one file and one version."""

from types import SimpleNamespace

import pytest

from tests.side_by_side import group_of, scope_of


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
    assert group_of(SimpleNamespace(name=name, fixturenames=fixtures)) == group
