"""What came of fencing: the proof for each ID, and how the command ends."""

import pytest

from eosctl.analysis.fencing import find_unproved, prove
from eosctl.errors import EosctlError, Interrupted, NotAuthorized, PartlyApplied, Refused, TimedOut
from eosctl.model.fencing import (
    Candidate,
    FenceError,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    Proof,
    failure_of,
)
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.transactions import TransactionDescription, TransactionState

OLD, NEW, NEWER = ProducerIdAndEpoch(7, 1), ProducerIdAndEpoch(7, 2), ProducerIdAndEpoch(7, 3)


def description(
    producer: ProducerIdAndEpoch, state: TransactionState = TransactionState.EMPTY
) -> TransactionDescription:
    return TransactionDescription("a-0", state, producer, 60_000, None, (), 1)


KNOWN = description(OLD)


def fenced(before: TransactionDescription | None = KNOWN) -> FencingOutcome:
    return FencingOutcome((result(FenceOutcome.FENCED, before=before),), 5.0)


def result(
    outcome: FenceOutcome, error: str | None = None, name: str = "a-0", before: TransactionDescription | None = None
) -> FenceResult:
    after = NEW if outcome is FenceOutcome.FENCED else None
    why = None if error is None else FenceError(error, "because")
    return FenceResult(FenceStep(Candidate(name, named=True), before), outcome, after, 1, 2.0, 1, why)


def only(proofs: tuple[Proof, ...]) -> Proof:
    assert len(proofs) == 1
    return proofs[0]


def test_a_raised_epoch_and_a_refused_old_producer_prove_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW)}, {"a-0": "PRODUCER_FENCED"}))
    assert proof == Proof("a-0", open=False, moved=True, refusal="PRODUCER_FENCED")
    assert proof.holds
    assert find_unproved([proof]) == ()


def test_a_new_producer_id_proves_it_although_its_epoch_is_lower() -> None:
    """After the last epoch, 32,767, comes another producer ID with epoch 0, and the old one is no longer known."""
    used_up, another = ProducerIdAndEpoch(7, 32_767), ProducerIdAndEpoch(8, 0)
    refused = {"a-0": "INVALID_PRODUCER_ID_MAPPING"}
    assert only(prove(fenced(description(used_up)), {"a-0": description(another)}, refused)).holds
    assert not only(prove(fenced(description(used_up)), {"a-0": description(used_up)}, refused)).holds


def test_a_transaction_still_under_way_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW, TransactionState.PREPARE_ABORT)}, {}))
    assert not proof.holds
    assert [each.message for each in find_unproved([proof])] == [
        "a transaction of the fenced producer is still in progress"
    ]


def test_a_transaction_of_a_newer_producer_does_not() -> None:
    assert only(prove(fenced(), {"a-0": description(NEWER, TransactionState.ONGOING)}, {})).holds


def test_an_unmoved_producer_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(OLD)}, {"a-0": "PRODUCER_FENCED"}))
    assert [each.message for each in find_unproved([proof])] == ["producer ID and epoch are the same as before fencing"]


def test_an_old_producer_that_is_not_refused_disproves_it() -> None:
    proof = only(prove(fenced(), {"a-0": description(NEW)}, {"a-0": ""}))
    assert [(each.id, each.name, each.message) for each in find_unproved([proof])] == [
        ("EOS032", "fencing-not-proved", "the coordinator did not refuse the old producer")
    ]


def test_a_created_id_has_no_old_producer_to_move_from() -> None:
    assert only(prove(fenced(before=None), {"a-0": description(NEW)}, {})).holds


def test_what_was_not_fenced_is_not_proved() -> None:
    assert prove(FencingOutcome((result(FenceOutcome.FAILED, "X"),), 1.0), {}, {}) == ()


def test_all_fenced_is_no_failure() -> None:
    assert failure_of(fenced(), "User:t") is None


def test_some_failed_is_partly_applied_and_names_the_first() -> None:
    outcome = FencingOutcome((result(FenceOutcome.FENCED), result(FenceOutcome.FAILED, "TIMED_OUT", "b-0")), 1.0)
    failure = failure_of(outcome, "User:t")
    assert isinstance(failure, PartlyApplied)
    assert failure.message == "1 of 2 IDs are fenced, 1 are not; first: b-0: TIMED_OUT: because"


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", NotAuthorized),
        ("TIMED_OUT", TimedOut),
        ("Unreachable", TimedOut),
        ("INVALID_TRANSACTION_TIMEOUT", Refused),
        ("UNKNOWN_SERVER_ERROR", PartlyApplied),
    ],
)
def test_none_fenced_ends_as_the_first_one_did(cause: str, kind: type[EosctlError]) -> None:
    assert type(failure_of(FencingOutcome((result(FenceOutcome.FAILED, cause),), 1.0), "User:t")) is kind


def test_a_missing_acl_names_principal_operation_and_resource() -> None:
    outcome = FencingOutcome((result(FenceOutcome.FAILED, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),), 1.0)
    failure = failure_of(outcome, "User:tool")
    assert failure is not None
    assert failure.message == "User:tool lacks Write on transactional ID a-0"


def test_an_interruption_says_how_far_it_came() -> None:
    results = (result(FenceOutcome.FENCED), result(FenceOutcome.SKIPPED, "INTERRUPTED", "b-0"))
    failure = failure_of(FencingOutcome(results, 1.0, interrupted=True), "User:t")
    assert isinstance(failure, Interrupted)
    assert failure.message.startswith("stopped: 1 of 2 IDs are fenced")
