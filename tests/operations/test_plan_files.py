"""Plan files: their list, the outcome of each, and the one that `undo --last` takes."""

from pathlib import Path

import pytest

from eosctl.codecs.plan import JournalEvent, plan_digest
from eosctl.errors import UsageError
from eosctl.executors.apply import Journal, leave_undo_file, write_plan_file
from eosctl.model.names import Side
from eosctl.model.plan import ManualStep, Plan, PlannedStep, ResumeConnector, StopConnector
from eosctl.operations.plan_files import PlanFile, known_path, last_undo_file, own_plans, read_plan
from eosctl.planning.undo import undo_plan

STOP, RESUME = (PlannedStep(step(Side.SOURCE, "orders")) for step in (StopConnector, ResumeConnector))
STEPS = (STOP, RESUME, PlannedStep(ManualStep("look at it")))


@pytest.fixture(autouse=True)
def _own_state(eosctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def kept(as_of: int, *done: int, undone: int = 0, steps: tuple[PlannedStep, ...] = STEPS) -> Path:
    """A plan that eosctl has kept, with these steps done, and so many of its undo."""
    plan = Plan("migrate-offsets", as_of, steps)
    file = PlanFile(plan, own_plans() / f"{as_of}.plan")
    write_plan_file(file.path, plan)
    if done:
        journal(file, done)
        undo = undo_plan(plan)
        leave_undo_file(file.undo, undo)
        journal(PlanFile(undo, file.undo), range(1, undone + 1))
    return file.path


def journal(file: PlanFile, done) -> None:
    with Journal(file.journal, plan_digest(file.plan)) as written:
        for step in done:
            written.write(step, JournalEvent.DONE)


def listed(eosctl, *more: object) -> list[list[str]]:
    """CONNECTORS, STATE, NEXT and REASON of each row, the file's part of the reason left out."""
    rows = eosctl("plans", "list", *more, "-o", "csv").stdout.splitlines()[1:]
    return [[*row.split(",")[2:5], row.rpartition(": ")[2] if "unreadable" in row else ""] for row in rows]


def test_each_plan_is_listed_with_its_state_and_the_next_command_the_newest_first(eosctl):
    kept(1)
    kept(2, 1)
    kept(3, 1, 2)
    kept(4, 1, 2, undone=1)
    kept(5, 1, 2, undone=2)
    kept(6, 1, steps=(STOP,))
    (own_plans() / "7.plan").write_text("mine")
    assert listed(eosctl) == [
        ["orders", "undone", "", ""],
        ["orders", "undo-begun", "eosctl undo 4.plan.undo", ""],
        ["orders", "done", "eosctl undo 3.plan.undo", ""],
        ["orders", "begun", "eosctl apply 2.plan", ""],
        ["orders", "planned", "eosctl apply 1.plan", ""],
        ["-", "unreadable", "", "Expecting value"],
    ]
    names = eosctl("plans", "list", "-o", "name").stdout.splitlines()
    assert names == [str(own_plans() / f"{number}.plan") for number in (5, 4, 3, 2, 1, 7)]
    assert listed(eosctl, own_plans())[4] == ["orders", "planned", f"eosctl apply {own_plans()}/1.plan", ""]


def test_a_kept_plan_is_found_by_its_name_alone_unless_there_is_one_here(tmp_path, monkeypatch):
    path = kept(1)
    monkeypatch.chdir(tmp_path)
    assert read_plan(Path("1.plan")).path == path
    Path("1.plan").touch()
    assert known_path(Path("1.plan")) == Path("1.plan")
    assert known_path(Path("other/1.plan")) == Path("other/1.plan")


def test_the_last_undo_file_is_that_of_the_newest_plan_that_was_carried_out_and_not_undone():
    with pytest.raises(UsageError, match="has no applied plan that is not undone"):
        last_undo_file()
    wanted = kept(1, 1, 2)
    kept(2, 1, 2, undone=2)
    kept(3)
    assert last_undo_file() == Path(f"{wanted}.undo")


def test_undo_needs_a_file_or_last_and_names_the_file_it_takes(eosctl):
    for given in ((), ("a.plan.undo", "--last")):
        ran = eosctl("undo", *given, "-b", "127.0.0.1:1")
        assert (ran.exit_code, "name the undo file, or give --last" in ran.stderr) == (2, True)
    path = kept(1, 1, 2)
    ran = eosctl("undo", "--last", "--yes", "-b", "127.0.0.1:1", "--timeout", "1")
    assert f"the undo file is {path}.undo" in ran.stderr
