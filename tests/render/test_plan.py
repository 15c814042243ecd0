"""Plans in words: what is counted, which tables there are, and which command follows."""

from typing import Any

import pytest

from eosctl.errors import Unreachable
from eosctl.model.names import Side
from eosctl.model.plan import (
    AbortTransaction,
    CommitTransaction,
    FenceTransaction,
    ManualStep,
    OffsetsWrite,
    Plan,
    PlannedStep,
    PlanTarget,
    Step,
    StopConnector,
    WriteOffsets,
)
from eosctl.model.planned import (
    Applied,
    ApplyOutcome,
    KeptPlan,
    KeptPlans,
    Planned,
    PlanState,
    StepOutcome,
    StepResult,
)
from eosctl.model.skipped import Skipped
from eosctl.render.answers.plan import _can_be_undone, view_applied, view_plan, view_plan_answer, view_plans

STOP = StopConnector(Side.SOURCE, "c")
BY_HAND = ManualStep("look")
NEW, OVER = OffsetsWrite(1, b"k", b"v", None), OffsetsWrite(2, b"l", b"w", b"o")
GONE = OffsetsWrite(3, b"m", None, b"p")


def writing(*records: OffsetsWrite) -> WriteOffsets:
    return WriteOffsets(Side.SOURCE, "offsets", "c", "g-c-0", 60_000, records, "", "", "")


def plan(*steps: Step, kind: str = "offsets.restore", places: tuple[PlanTarget, ...] = ()) -> Plan:
    return Plan(kind, 0, tuple(map(PlannedStep, steps)), places=places)


def planned(*steps: Step, kind: str = "offsets.restore", **more: Any) -> Planned:
    return Planned(plan=plan(*steps, kind=kind), cluster_id="k", **more)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (planned(), "Plan offsets.restore: no step can be planned."),
        (planned(STOP), "Plan offsets.restore: 1 step, no offset to write: those of the file are the present ones."),
        (planned(STOP, kind="migrate"), "Plan migrate: 1 step."),
        (planned(kind="migrate"), "Plan migrate: no step can be planned."),
        (planned(writing(NEW)), "Plan offsets.restore: 1 step, 1 offset to write."),
        (planned(writing(GONE)), "Plan offsets.restore: 1 step, 1 offset to delete."),
        (
            planned(writing(NEW, OVER), writing(GONE)),
            "Plan offsets.restore: 2 steps, 2 offsets to write, 1 offset to delete.",
        ),
        (
            planned(writing()),
            "Plan offsets.restore: 1 step, no offset to write: those of the file are the present ones.",
        ),
    ],
)
def test_a_plan_counts_its_steps_and_the_offsets_that_they_write_and_delete(found, words):
    assert view_plan(found).prose == (words,)


def tables(document: Any) -> list[str]:
    return [getattr(each, "title", "") or getattr(each, "rows", "") for each in document.blocks]


def test_a_plan_has_only_the_tables_that_have_rows():
    assert view_plan(planned()).blocks == ()
    assert tables(view_plan(planned(STOP, kind="p"))) == ["steps"]
    assert tables(view_plan(planned(writing(NEW))))[-1] == "Offsets to write"
    assert view_plan(planned(checks=())).blocks == ()


def test_a_digest_and_warnings_are_told_where_there_are_any():
    document = view_plan(planned(digest="sha256:1", warnings=("w",)))
    assert document.prose[-1] == "Its digest: sha256:1."
    assert document.notes == ("warning: w",)
    assert view_plan(planned()).notes == ()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (PlanTarget(Side.SOURCE, ("a:1", "b:1")), "Its source: brokers a:1, b:1."),
        (
            PlanTarget(Side.TARGET, ("a:1",), ("http://w:1",), "configs"),
            "Its target: brokers a:1; workers http://w:1; config topic configs.",
        ),
        (PlanTarget(Side.SOURCE, (), ("http://w:1",)), "Its source: workers http://w:1."),
    ],
)
def test_the_places_of_a_plan_are_those_that_were_named(place, words):
    found = Planned(plan=plan(places=(place,)), cluster_id="k")
    assert view_plan(found).prose[1] == words


def test_an_offset_has_what_was_there_before_and_deleted_after_a_tombstone():
    rows = view_plan(planned(writing(NEW, OVER, GONE))).data["offsets"]
    assert [(each["key"], each["before"], each["after"]) for each in rows] == [
        ("k", None, "v"),
        ("l", "o", "w"),
        ("m", "p", "deleted"),
    ]
    [row] = view_plan(planned(writing(OffsetsWrite(1, b"\xff", b"\xff", b"\xff")))).data["offsets"]
    assert (row["key"], row["key_base64"], row["before"], row["after"]) == ("\ufffd", "/w==", "\ufffd", "\ufffd")


ABORT = AbortTransaction(Side.SOURCE, "t", 0, 7, 1, 0, 40)
COMMIT = CommitTransaction(Side.SOURCE, "g-c-0", 7, 1, 0, 2, ())
FENCE = FenceTransaction(Side.SOURCE, "g-c-0", 7, 1, 0, (), 45_000)


@pytest.mark.parametrize(
    ("steps", "undone"),
    [
        ((), True),
        ((STOP,), True),
        ((ABORT,), False),
        ((COMMIT, STOP), True),
        ((FENCE, ABORT), False),
        ((COMMIT,), False),
    ],
)
def test_a_transaction_that_has_ended_stays_ended(steps, undone):
    assert _can_be_undone(plan(*steps)) is undone


def applied(*outcomes: StepOutcome, changed: bool = False, step: Step = STOP, **more: Any) -> Applied:
    results = tuple(StepResult(at, step, each, "look") for at, each in enumerate(outcomes, 1))
    return Applied(
        plan=plan(*[step] * len(outcomes)),
        cluster_id="k",
        outcome=ApplyOutcome(results, changed),
        plan_file="p.json",
        undo_file="p.json.undo",
        finished_by="finish",
        undone_by="undo",
        **more,
    )


DONE, FAILED, HAND, LATER = StepOutcome.DONE, StepOutcome.FAILED, StepOutcome.BY_HAND, StepOutcome.NOT_BEGUN
LATE = Unreachable("late")
FINISH, UNDO = "to finish it: finish", "to roll it back: undo"


@pytest.mark.parametrize(
    ("found", "words", "notes"),
    [
        (applied(DONE, DONE), "2 of 2 steps are done.", ()),
        (applied(DONE, StepOutcome.DONE_BEFORE, LATER), "2 of 3 steps are done.", ()),
        (applied(DONE, HAND), "1 of 1 steps are done, 1 more is to do by hand.", ("to do by hand: look",)),
        (applied(HAND, HAND), "0 of 0 steps are done, 2 more are to do by hand.", ("to do by hand: look",) * 2),
        (applied(DONE, changed=True), "1 of 1 steps are done.", (UNDO,)),
        (applied(DONE, FAILED, error=LATE), "1 of 2 steps are done.", (FINISH,)),
        (applied(DONE, LATER, error=LATE), "1 of 2 steps are done.", ()),
        (applied(DONE, LATER, changed=True, error=LATE), "1 of 2 steps are done.", (FINISH, UNDO)),
        (applied(DONE, moved_back_by="back"), "1 of 1 steps are done.", ()),
        (
            applied(DONE, changed=True, moved_back_by="back"),
            "1 of 1 steps are done.",
            (UNDO, "to go back after that: back"),
        ),
        (
            applied(DONE, changed=True, step=writing(NEW)),
            "1 of 1 steps are done.",
            ("to roll it back, until connector c writes newer offsets: undo",),
        ),
    ],
)
def test_what_was_done_leads_to_what_may_follow(found, words, notes):
    document = view_applied(found)
    assert document.prose == (words,)
    assert document.notes == notes
    assert len(document.blocks) == 1


def test_an_answer_is_shown_as_a_plan_until_it_is_applied():
    assert view_plan_answer(planned()).kind == "offsets.restore.plan"
    assert not view_plan_answer(applied(DONE)).kind.endswith(".plan")


@pytest.mark.parametrize(
    ("state", "bare", "following"),
    [
        (PlanState.PLANNED, True, "eosctl apply p.json"),
        (PlanState.PLANNED, False, "eosctl apply '/a b/p.json'"),
        (PlanState.BEGUN, True, "eosctl apply p.json"),
        (PlanState.DONE, True, "eosctl undo p.json.undo"),
        (PlanState.UNDO_BEGUN, False, "eosctl undo '/a b/p.json.undo'"),
        (PlanState.UNDONE, True, None),
        (PlanState.UNREADABLE, True, None),
    ],
)
def test_a_kept_plan_has_the_command_that_may_follow(state, bare, following):
    kept = KeptPlans(directory="/a b", plans=(KeptPlan("/a b/p.json", plan(STOP), state),))
    [row] = view_plans(kept, bare=bare).data["plans"]
    assert (row["next"], row["kind"], row["made"]) == (following, "offsets.restore", "1970-01-01T00:00:00.000Z")
    assert (row["connectors"], row["reason"]) == (["c"], None)


def test_of_a_plan_that_is_not_read_there_is_the_reason():
    kept = KeptPlans(directory="/", plans=(KeptPlan("/p.json", Skipped("newer"), PlanState.UNREADABLE),))
    [row] = view_plans(kept, bare=True).data["plans"]
    assert (row["kind"], row["made"], row["connectors"], row["reason"]) == (None, None, [], "newer")
