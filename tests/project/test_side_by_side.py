"""Tests that share a Kafka go to one process, and so do those of one file and one version."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.side_by_side import APART, LONGEST, begun, group_of, groups_of, scope_of

TESTS = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests.side_by_side import SideBySide

def pytest_configure(config):
    config.pluginmanager.register(SideBySide(2))
"""
ENDED = """
import os, signal, pytest

@pytest.fixture(scope="session", autouse=True)
def place():
    yield
    print("ended in", os.getpid(), file=open("ended", "a"))

@pytest.fixture
def broken():
    yield
    raise ValueError("too late")

def test_right(tmp_path):
    assert tmp_path.is_dir()

def test_wrong():
    print("said before")
    assert [1, 2] == [1, 3]

def test_killed():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after_it():
    assert os.getppid() == int(open("parent").read())

def test_left(broken):
    pass

def test_left_out():
    pytest.skip("no need")
"""
OTHER = """
import os

def test_elsewhere():
    print(os.getppid(), file=open("parent", "w"))
"""


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


def run(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    for name, text in {
        "conftest.py": CONFTEST,
        "test_a.py": OTHER,
        "test_b.py": ENDED,
        "pytest.ini": "[pytest]",
    }.items():
        (directory / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-rA", *options]
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_each_test_is_reported_and_one_that_ends_its_process_has_failed(tmp_path: Path):
    ran = run(tmp_path, f"--basetemp={tmp_path / 'files'}")
    said = sorted(line for line in ran.stdout.splitlines() if line.partition(" ")[0].isupper() and "test_" in line)
    assert said == [
        "ERROR test_b.py::test_left - ValueError: too late",
        "FAILED test_b.py::test_killed - the process that ran the test ended with -9",
        "FAILED test_b.py::test_wrong - assert [1, 2] == [1, 3]",
        "PASSED test_a.py::test_elsewhere",
        "PASSED test_b.py::test_after_it",
        "PASSED test_b.py::test_left",
        "PASSED test_b.py::test_right",
        "SKIPPED [1] test_b.py:31: no need",
    ]
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.splitlines()[-1].startswith("2 failed, 4 passed, 1 skipped, 1 error")
    # The killed one ended nothing; the one that took its place and the other did.
    assert len(set((tmp_path / "ended").read_text().splitlines())) in {1, 2}


def test_after_the_first_failure_no_other_test_is_begun(tmp_path: Path):
    ran = run(tmp_path, "-x", "test_b.py", "-k", "not killed")
    assert ran.stdout.splitlines()[-1].startswith("1 failed, 1 passed")
    assert len((tmp_path / "ended").read_text().splitlines()) == 1


def test_groups_are_in_the_order_of_their_first_test():
    first, second = some_test("test_c", ["sandbox"]), some_test("test_c", [], "tests/a/test_d.py")
    assert groups_of([first, second, some_test("test_e", ["broker"], "tests/f/test_g.py")]) == [[0, 2], [1]]
