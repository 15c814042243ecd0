"""`mirror audit` while topics are created again under it, and where clocks jump: nothing is called held by mistake."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eosctl.operations import mirror
from eosctl.operations.session import Session
from tests.integration.mirror_site import BEGUN_MS, Copied

pytestmark = [pytest.mark.kafka]
PLANNING, COMPARING = (mirror, "with_settings"), (mirror, "compare_pairs")
DAY_MS = 24 * 3_600_000


def once_before(
    monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], happens: Callable[[], None], call: int = 1
) -> None:
    """It happens just before this call of the step of the audit."""
    module, name = step
    real, calls = getattr(module, name), []

    def instead(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == call:
            happens()
        return real(*args, **options)

    monkeypatch.setattr(module, name, instead)


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("step", [COMPARING, PLANNING], ids=lambda step: step[1])
def test_a_topic_that_is_created_again_during_the_audit_is_not_held_although_it_has_the_same_records(
    copied: Copied, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], in_target: bool
):
    copied.write(range(60))
    copied.copy(range(60))

    def again() -> None:
        copied.recreate(in_target=in_target)
        (copied.copy if in_target else copied.write)(range(60))

    # The target is planned first.
    once_before(monkeypatch, step, again, 2 if step is PLANNING and not in_target else 1)
    found = copied.audit()
    assert (found.verdict, found.exit_code) == ("cannot-tell", 3)
    assert "the topic was deleted and created again (topic ID " in str(found.pair["reasons"])
    assert (copied.audit().verdict, copied.audit().counts) == ("held", {}), "the next one sees the new topic alone"


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
def test_a_topic_that_is_deleted_during_the_audit_is_named_and_not_compared(
    copied: Copied, monkeypatch: pytest.MonkeyPatch, in_target: bool
):
    copied.write(range(60))
    copied.copy(range(60))
    once_before(monkeypatch, COMPARING, lambda: copied.delete(in_target=in_target))
    found = copied.audit("--timeout", 5)
    assert (found.verdict, found.findings) == ("cannot-tell", {})
    assert "deleted" in str(found.pair["reasons"])


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
def test_between_two_runs_of_a_job_it_is_not_held_once_and_goes_on_then(
    copied: Copied, tmp_path: Path, in_target: bool
):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(60))
    copied.copy(range(60))
    assert copied.audit(*store).verdict == "held"
    copied.recreate(in_target=in_target)
    (copied.copy if in_target else copied.write)(range(60))
    found = copied.audit(*store)
    assert (found.verdict, found.exit_code, found.counts) == ("cannot-tell", 3, {})
    assert "compared by no run" in found.pair["reasons"][0]
    assert "was created again since the last run" in found.pair["reasons"][1]
    copied.write(range(60, 70))
    copied.copy(range(60, 70))
    assert (copied.audit(*store).verdict, copied.audit().verdict) == ("held", "held")


def test_a_target_that_was_cut_behind_the_last_run_is_not_held_by_the_next_one(copied: Copied, tmp_path: Path):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(100))
    copied.copy(range(50))
    assert copied.audit(*store).verdict == "held"
    copied.copy([*range(50, 60), *range(70, 100)])
    copied.delete_before(80, in_target=True)
    assert copied.audit().verdict == "held", "what a run without a ledger cannot know"
    found = copied.audit(*store)
    assert (found.verdict, found.exit_code) == ("cannot-tell", 3), "60 to 69 were never in the target"


def test_record_timestamps_that_jump_hide_neither_a_copy_nor_a_gap(copied: Copied):
    jumps = [0, 3_000_000, 1, 1 - BEGUN_MS, 2, -DAY_MS, 3, 2 - BEGUN_MS, 2_000_000, 4]
    copied.write(jumps)
    copied.copy(jumps)
    found = copied.audit()
    assert (found.verdict, found.counts, found.pair["matched"]) == ("held", {}, 10)
    copied.write([*jumps, 5])
    copied.copy([*jumps[:3], *jumps[4:], 5])
    found = copied.audit()
    assert (found.verdict, found.counts) == ("broken", {"gap": 1})


def test_a_clock_that_goes_back_between_two_runs_changes_no_verdict(
    copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, now = ("--store", f"sqlite:///{tmp_path}/ledger.db"), Session.now()
    verdicts = []
    copied.write(range(60))
    for number, at in enumerate((now + 400 * DAY_MS, now, 0, now - 400 * DAY_MS)):
        monkeypatch.setattr(Session, "now", staticmethod(lambda at=at: at))
        copied.copy(range(10 * number, 10 * number + 10))
        found = copied.audit(*store)
        verdicts.append((found.verdict, found.counts["lag"]))
    assert verdicts == [("held", 50), ("held", 40), ("held", 30), ("held", 20)]


def test_a_topic_is_not_compared_with_itself(copied: Copied):
    copied.write(range(3))
    copied.target = copied.source
    ran = copied.ask(naming=("--same-names",))
    assert ran.exit_code == 2
    assert f"source and target are both topic {copied.name} of Kafka cluster" in ran.stderr
