"""`eosctl apply` killed at every named point: the offsets are the old ones or the new ones, and a rerun finishes."""

import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.executors.crashes import FAILPOINTS, MovedOffsets
from tests.faulty_sandbox import Sandbox

pytestmark = pytest.mark.kafka

EVENTS = ("point", "point", "time", "beside")
INSIDE = {"checked", "2:performed", "3:begun", "initialised", "first-written", "written", "committed", "3:performed"}
"""Around and inside of the transaction; only the journal distinguishes points between other steps."""

FreshName = Callable[[str], str]
Move = Callable[[], MovedOffsets]


@pytest.fixture
def move(sandbox: Sandbox, fresh_name: FreshName, tmp_path: Path) -> Iterator[Move]:
    """Makes a connector's offsets and the plan to move them."""
    made = []

    def make() -> MovedOffsets:
        made.append(MovedOffsets(sandbox.bootstrap_servers, fresh_name("crash"), tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(
    "failpoint",
    [each if each in INSIDE else pytest.param(each, marks=pytest.mark.variation) for each in FAILPOINTS],
)
def test_a_run_killed_anywhere_leaves_old_or_new_offsets_and_is_finished_by_the_next(move: Move, failpoint: str):
    offsets = move()
    assert offsets.apply(failpoint).returncode == -9
    assert offsets.is_old_or_new()
    finished = offsets.apply()
    assert finished.returncode == 0, finished.stderr
    assert offsets.live() == offsets.moved
    again = offsets.apply()
    assert again.returncode == 0
    assert again.stdout.count("done-before") == 4


def test_one_transaction_for_each_record_is_caught(move: Move):
    """The harness sees a mixture where there is one."""
    offsets = move()
    assert offsets.apply("first-written", "--one-transaction-per-record").returncode == -9
    assert not offsets.is_old_or_new()


def test_the_same_plan_file_is_applied_by_one_at_a_time(move: Move):
    offsets = move()
    first = offsets.start("pause:written")
    assert first.stdout.readline() == "paused\n"
    second = offsets.apply()
    assert second.returncode == 8
    assert "another eosctl is applying this plan now" in second.stderr
    first.communicate("go on\n", timeout=60)
    assert first.returncode == 0
    assert offsets.live() == offsets.moved


@pytest.mark.parametrize("failpoint", [pytest.param("first-written", marks=pytest.mark.variation), "written"])
def test_of_two_that_apply_copies_of_a_plan_one_commits(move: Move, failpoint: str):
    """The second takes the transactional ID: the first is refused when it continues, and its records are aborted."""
    offsets = move()
    first = offsets.start(f"pause:{failpoint}")
    assert first.stdout.readline() == "paused\n"
    second = offsets.apply(file=offsets.copy_of_plan("copy.plan"))
    assert second.returncode == 0, second.stderr
    _, message = first.communicate("go on\n", timeout=60)
    assert first.returncode == 9, message
    assert "another producer took transactional ID" in message
    assert offsets.live() == offsets.moved
    assert offsets.apply().returncode == 0


def test_a_run_that_finds_its_work_done_by_another_writes_nothing(move: Move):
    offsets = move()
    first = offsets.start("pause:initialised")
    assert first.stdout.readline() == "paused\n"
    assert offsets.apply(file=offsets.copy_of_plan("copy.plan")).returncode == 0
    written = offsets.records_written()
    out, _ = first.communicate("go on\n", timeout=60)
    assert first.returncode == 0
    assert "were in topic" in out
    assert offsets.records_written() == written


@pytest.mark.parametrize(
    ("failpoint", "message", "moved"),
    [
        ("written", "the open transaction was aborted, no offset was changed; 2 of 6 steps are done", False),
        ("committed", "the transaction was committed before", True),
        ("1:begun", "interrupted between two steps", False),
    ],
)
def test_ctrl_c_aborts_the_open_transaction_and_reports_it(move: Move, failpoint: str, message: str, moved: bool):
    offsets = move()
    process = offsets.start(f"pause:{failpoint}")
    assert process.stdout.readline() == "paused\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert message in error
    assert offsets.live() == (offsets.moved if moved else offsets.old)
    assert offsets.apply().returncode == 0
    assert offsets.live() == offsets.moved


def test_a_broker_that_is_killed_in_mid_transaction(move: Move, sandbox: Sandbox):
    """The run continues with the restarted broker, or fails; in both cases nothing is half written."""
    offsets = move()
    paused = offsets.start("pause:first-written")
    assert paused.stdout.readline() == "paused\n"
    sandbox.kill_broker(1)
    sandbox.start_broker(1)
    paused.communicate("go on\n", timeout=120)
    assert offsets.is_old_or_new()
    finished = offsets.apply()
    assert finished.returncode == 0, finished.stderr
    assert offsets.live() == offsets.moved


def test_an_undo_restores_and_can_be_undone(move: Move):
    offsets = move()
    undo = offsets.undo_file()
    assert offsets.apply().returncode == 0
    assert offsets.apply("committed", file=undo).returncode == -9
    assert offsets.is_old_or_new()
    assert offsets.apply(file=undo).returncode == 0
    assert offsets.live() == {}


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_two_hundred_schedules(move: Move, sandbox: Sandbox):
    """Killed at points and at times, several times over, beside a second run, with the broker restarted in between."""
    for seed in range(200):
        chance = random.Random(seed)
        offsets = move()
        for _ in range(chance.randint(1, 3)):
            match chance.choice(EVENTS if seed % 10 else (*EVENTS, "broker")):
                case "point":
                    offsets.apply(chance.choice(FAILPOINTS))
                case "time":
                    offsets.kill_after(chance.uniform(0.2, 1.5))
                case "beside":
                    beside = offsets.start(file=offsets.copy_of_plan(f"{offsets.name}-copy.plan"))
                    offsets.apply(chance.choice(FAILPOINTS))
                    beside.communicate(timeout=120)
                case "broker":
                    paused = offsets.start("pause:first-written")
                    paused.stdout.readline()
                    sandbox.kill_broker(1)
                    sandbox.start_broker(1)
                    paused.communicate("go on\n", timeout=120)
            assert offsets.is_old_or_new(), f"seed {seed}"
        finished = offsets.apply()
        assert finished.returncode == 0, f"seed {seed}: {finished.stderr}"
        assert offsets.live() == offsets.moved, f"seed {seed}"
