"""What fencing will do, did and proved, in a sentence."""

import pytest

from eosctl.model.fencing import (
    Candidate,
    Fenced,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    FencingPlan,
    PlannedFencing,
    Proof,
    SkippedCandidate,
)
from eosctl.model.transactions import TransactionState
from eosctl.render.answers.fencing import view_fenced, view_fencing_plan
from tests.planning.test_fencing import described

ONGOING, EMPTY = TransactionState.ONGOING, TransactionState.EMPTY
SKIPPED = SkippedCandidate(Candidate("s", named=False), "its coordinator does not know it")


def step(state: TransactionState | None) -> FenceStep:
    return FenceStep(Candidate("g", named=True), None if state is None else described("g", state=state)["g"])


def planned(*states: TransactionState | None, skipped: int = 0) -> PlannedFencing:
    plan = FencingPlan(tuple(map(step, states)), (SKIPPED,) * skipped, (), (), 60_000)
    return PlannedFencing(plan=plan, cluster_id="k", as_of=0)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (planned(), "0 to fence."),
        (planned(EMPTY), "1 to fence."),
        (planned(ONGOING, EMPTY), "2 to fence, 1 with an open transaction that would be aborted."),
        (planned(TransactionState.PREPARE_COMMIT, None), "2 to fence, 1 that would be created."),
        (planned(EMPTY, skipped=2), "1 to fence, 2 skipped (no coordinator knows them)."),
        (
            planned(ONGOING, None, None, skipped=1),
            "3 to fence, 1 with an open transaction that would be aborted, 2 that would be created, "
            "1 skipped (no coordinator knows them).",
        ),
    ],
)
def test_a_plan_counts_what_is_aborted_created_and_skipped(plan: PlannedFencing, words: str) -> None:
    assert view_fencing_plan(plan).prose == (f"Transactional IDs: {words}",)


def fenced(*outcomes: FenceOutcome, skipped: int = 0, interrupted: bool = False, proofs: tuple[Proof, ...] = ()):
    results = tuple(FenceResult(step(EMPTY), each, None, 1, 1.0, 2, None) for each in outcomes)
    outcome = FencingOutcome(results, 1234.5, interrupted)
    return view_fenced(
        Fenced(planned=planned(skipped=skipped), outcome=outcome, proofs=proofs, findings=(), principal="User:a")
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (fenced(), "nothing to fence in 1.234 s."),
        (fenced(FenceOutcome.FENCED, FenceOutcome.FENCED), "2 fenced in 1.234 s."),
        (fenced(FenceOutcome.FENCED, FenceOutcome.FAILED, skipped=1), "1 fenced, 1 failed, 1 skipped in 1.234 s."),
        (fenced(FenceOutcome.FENCED, interrupted=True), "1 fenced in 1.234 s; interrupted."),
        (
            fenced(
                FenceOutcome.FENCED,
                proofs=(Proof("g", False, True, "PRODUCER_FENCED"), Proof("h", True, True, None)),
            ),
            "1 fenced in 1.234 s; proof holds for 1 of 2.",
        ),
    ],
)
def test_what_was_fenced_is_counted_with_its_proofs(given, words: str) -> None:
    [said] = given.prose
    assert sorted(said.partition(" in ")[0].split(", ")) == sorted(words.partition(" in ")[0].split(", "))
    assert said.partition(" in ")[2] == words.partition(" in ")[2]


@pytest.mark.parametrize(
    ("refusal", "old_producer", "verdict"),
    [(None, "not asked", "proved"), ("", "not refused", "not proved"), ("FENCED", "FENCED", "proved")],
)
def test_a_proof_says_what_the_old_producer_was_answered(refusal, old_producer: str, verdict: str) -> None:
    document = fenced(FenceOutcome.FENCED, proofs=(Proof("g", False, True, refusal),))
    [row] = document.data["results"]
    assert (row["proof"]["old_producer"], row["proof"]["verdict"]) == (old_producer, verdict)
