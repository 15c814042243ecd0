"""A move that was cut short is found by the next one of its connector, which names the command that finishes it."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from eosctl.codecs.plan import JournalEvent, plan_digest
from eosctl.executors.apply import Journal, write_plan_file
from eosctl.model.plan import ClusterIs, ManualStep, Plan, PlannedStep, ResumeConnector, SetConnectorConfig, Side
from eosctl.operations.plan_files import unfinished_plan

SET = SetConnectorConfig(Side.SOURCE, "new", {}, {}, copied_from="old")
HERE = (ClusterIs(Side.SOURCE, "here"),)
STEPS = (
    PlannedStep(SET, HERE),
    PlannedStep(ResumeConnector(Side.SOURCE, "new"), HERE),
    PlannedStep(ManualStep("delete connector old")),
)


def begun(directory: Path, name: str, done: Iterable[int], as_of: int = 1, kind: str = "migrate-offsets") -> Path:
    plan, path = Plan(kind, as_of, STEPS), directory / name
    write_plan_file(path, plan)
    with Journal(path.with_name(f"{name}.journal"), plan_digest(plan)) as journal:
        for step in done:
            journal.write(step, JournalEvent.BEGUN)
            journal.write(step, JournalEvent.DONE)
    return path


@pytest.mark.parametrize(("done", "unfinished"), [([], False), ([1], True), ([1, 2], False)])
def test_a_plan_is_unfinished_from_its_first_step_to_its_last(tmp_path: Path, done: list[int], unfinished: bool):
    """What is left to do by hand is nothing that `apply` could finish."""
    path = begun(tmp_path, "a.plan", done)
    found = path if unfinished else None
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) == found
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["old"]) == found


def test_only_the_newest_plan_of_the_connector_in_this_cluster_counts(tmp_path: Path):
    begun(tmp_path, "1.plan", [1])
    assert unfinished_plan(tmp_path, "migrate-offsets", "elsewhere", ["new"]) is None
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["another"]) is None
    assert unfinished_plan(tmp_path, "undo", "here", ["new"]) is None
    begun(tmp_path, "2.plan", [1, 2], as_of=2)
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) is None


def test_what_is_no_plan_or_has_no_journal_is_passed_over(tmp_path: Path):
    path = begun(tmp_path, "1.plan", [1])
    (tmp_path / "2.plan").write_text("something else")
    write_plan_file(tmp_path / "3.plan", Plan("migrate-offsets", 3, STEPS))
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) == path
    assert unfinished_plan(tmp_path / "nothing", "migrate-offsets", "here", ["new"]) is None
