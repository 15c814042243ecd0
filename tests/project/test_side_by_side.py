"""Tests of one file and one Kafka go to one process."""

import pytest

from tests.side_by_side import scope_of


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[4.3.1]", "tests/a/test_b.py@4.3.1"),
        ("tests/a/test_b.py::TestD::test_c[rename-3.9.2-off]", "tests/a/test_b.py@3.9.2"),
        ("tests/a/test_b.py::test_c[1.2]", "tests/a/test_b.py"),
    ],
)
def test_a_test_stays_with_those_it_shares_a_kafka_with(nodeid, scope):
    assert scope_of(nodeid) == scope
