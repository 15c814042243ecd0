"""`--dry-run` of a plan: each precondition is checked as `--yes` would check it, and both end alike."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.integration.migrate_ground import Ground

pytestmark = pytest.mark.kafka

KEY = b'["stopped",{"f":1}]'
RUNS = "connector stopped is STARTED with 1 task, not STOPPED with none"
MOVED = "changed since the plan was made"


@pytest.fixture
def plan(ground: Ground, tmp_path: Path) -> Path:
    """A plan of the stopped connector."""
    path = tmp_path / "stopped.plan"
    assert ground.migrate("stopped", "--plan-file", path).exit_code == 0
    return path


@pytest.fixture
def tried(ground: Ground, eosctl: Eosctl) -> Callable[..., Ran]:
    """`tried("apply", PLAN)` without doing it."""
    return lambda verb, file, *more: eosctl(
        verb, file, "-b", ground.servers, "--config-topic", ground.configs, "--dry-run", *more
    )


def now(ran: Ran) -> dict[str, tuple[str, str | None]]:
    """The checked preconditions, whether each holds, and why not."""
    rows = json.loads(ran.stdout)["data"]["preconditions"]
    return {row["what"]: (row["now"], row["reason"]) for row in rows}


def test_preconditions_that_hold_and_those_that_an_earlier_step_brings_about(
    ground: Ground, plan: Path, tried: Callable[..., Ran]
):
    for ran in (tried("apply", plan, "-o", "json"), ground.migrate("stopped", "--dry-run", "-o", "json")):
        assert ran.exit_code == 0, ran.stderr
        found = now(ran)
        compact = f"topic {ground.target} (target) is compact, with 3 partitions, and is still the same topic"
        assert found.pop(compact) == ("later", "step 1 brings it about")
        later = [each for each in found.values() if each[0] == "later"]
        assert {each[0] for each in found.values()} == {"ok", "later"}
        assert {reason for _, reason in later} <= {"step 1 brings it about", "step 2 brings it about"}
    shown = tried("apply", plan).stdout
    assert "Checked now, and again before each step" in shown
    assert ground.held() == {}


def test_a_failed_precondition_is_reported_once_and_ends_a_dry_run_as_it_ends_apply(
    ground: Ground, plan: Path, tried: Callable[..., Ran]
):
    ground.put(ground.offsets, KEY, b'{"p":2}')
    ground.connector("stopped", "STARTED", 1)
    ran, applied = tried("apply", plan), ground.apply(plan)
    assert (ran.exit_code, applied.exit_code) == (8, 8)
    for state in (RUNS, MOVED):
        assert state in ran.stderr
        assert state in applied.stderr
    assert (ran.stdout + ran.stderr).count("Plan migrate-offsets:") == 1, "it is shown once"
    assert "speaks against" not in ran.stdout + ran.stderr
    data = json.loads(tried("apply", plan, "-o", "json").stdout)["data"]
    assert [each["reason"] for each in data["preconditions"] if each["now"] == "fails"] == data["objections"]
    assert len(data["objections"]) == 2
    assert ground.held() == {}


def test_an_undo_of_a_connector_that_continued_is_refused_by_a_dry_run_too(
    ground: Ground, plan: Path, tried: Callable[..., Ran]
):
    undo = Path(f"{plan}.undo")
    assert ground.apply(plan).exit_code == 0
    assert tried("undo", undo).exit_code == 0
    assert tried("apply", plan, "-o", "json").exit_code == 0, "what is done is not checked again"
    ground.put(ground.target, KEY, b'{"p":2}')
    ran = tried("undo", undo)
    assert ran.exit_code == 8
    assert MOVED in ran.stderr


def test_a_dry_run_that_stops_first_checks_offsets_after_the_stop(ground: Ground):
    ran = ground.migrate("running", "--stop", "--dry-run", "-o", "json")
    assert ran.exit_code == 8, "no worker was named"
    offsets = {what: state for what, state in now(ran).items() if what.startswith("the offsets of connector running")}
    assert set(offsets.values()) == {("later", "planned again after the stop")}


def test_unauthorized_facts_are_unknown_and_the_plan_is_shown(ground: Ground, plan: Path, eosctl: Eosctl):
    ran = eosctl("apply", plan, "-b", ground.servers, "--connect-url", "http://127.0.0.1:1", "--dry-run", "-o", "json")
    assert ran.exit_code == 4
    assert {state for state, _ in now(ran).values()} == {"unknown", "later"}
