"""Did fencing work? What came back, and what the coordinators say afterwards, held against what was meant.

1. No fenced ID may have a transaction in progress (Ongoing, PrepareCommit, PrepareAbort), unless its producer ID or
   epoch moved on again: then a new producer has initialised since, and the open transaction is its own.
2. The producer ID or the epoch must differ from before.
3. Where the old producer was asked to end its transaction, the coordinator must have refused.
"""

from collections.abc import Mapping, Sequence

from eosctl.analysis.catalogue.transactions import NOT_PROVED
from eosctl.model.fencing import FenceOutcome, FenceResult, FencingOutcome, Proof
from eosctl.model.report import Finding
from eosctl.model.transactions import TransactionDescription


def prove(
    outcome: FencingOutcome, descriptions: Mapping[str, TransactionDescription], refusals: Mapping[str, str | None]
) -> tuple[Proof, ...]:
    """One proof for each fenced ID, from a description made after fencing and the answers to the old producers."""
    return tuple(
        _prove_one(result, descriptions.get(result.step.transactional_id), refusals)
        for result in outcome.results
        if result.outcome is FenceOutcome.FENCED
    )


def _prove_one(result: FenceResult, now: TransactionDescription | None, refusals: Mapping[str, str | None]) -> Proof:
    before, name = result.step.before, result.step.transactional_id
    newer_producer = now is not None and now.producer != result.after
    return Proof(
        transactional_id=name,
        open=now is not None and now.state.is_open and not newer_producer,
        moved=before is None or (now.producer if now is not None else result.after) != before.producer,
        refusal=refusals.get(name),
    )


def find_unproved(proofs: Sequence[Proof]) -> tuple[Finding, ...]:
    """A finding for each ID whose proof does not hold."""
    return tuple(
        NOT_PROVED.finding(
            proof.transactional_id,
            _doubt(proof),
            {"open": proof.open, "moved": proof.moved, "refusal": proof.refusal},
            cure=NOT_PROVED.fix.replace("<id>", proof.transactional_id),
        )
        for proof in proofs
        if not proof.holds
    )


def _doubt(proof: Proof) -> str:
    if not proof.moved:
        return "producer ID and epoch are the same as before fencing"
    if proof.open:
        return "a transaction of the fenced producer is still in progress"
    return "the coordinator did not refuse the old producer"
