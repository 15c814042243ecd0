"""Did fencing work? What came back, and what the coordinators say afterwards, held against what was meant.

1. No fenced ID may have a transaction under way (Ongoing, PrepareCommit, PrepareAbort), unless its producer ID or
   epoch moved on again: then a new producer has initialised since, and the open transaction is its own.
2. The producer ID or the epoch must differ from before.
3. Where the old producer was asked to end its transaction, the coordinator must have refused.
"""

from collections.abc import Mapping, Sequence

from eosctl.analysis.catalogue.fencing import NOT_PROVED
from eosctl.errors import EosctlError, Interrupted, NotAuthorized, PartlyApplied, Refused, TimedOut
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
        return "a transaction of the fenced producer is still under way"
    return "the coordinator did not refuse the old producer"


def failure_of(outcome: FencingOutcome, principal: str) -> EosctlError | None:
    """How a command ends whose fencing had this outcome; None if every ID was fenced or left alone on purpose.

    1. Interrupted, if the user stopped it.
    2. PartlyApplied, if some were fenced and some were not.
    3. If none was fenced: NotAuthorized, TimedOut or Refused, by what happened to the first one; PartlyApplied where a
       coordinator failed within and nobody knows how far it came.
    """
    failed = [result for result in outcome.results if result.outcome is FenceOutcome.FAILED]
    fenced, total = outcome.count(FenceOutcome.FENCED), len(outcome.results)
    if outcome.interrupted:
        return Interrupted(
            f"stopped: {fenced} of {total} IDs are fenced, {len(failed)} were under way; the result lists them"
        )
    if not failed:
        return None
    if fenced:
        return PartlyApplied(
            f"{fenced} of {total} IDs are fenced, {len(failed)} are not; first: {_told(failed[0])}",
            hint="the result lists them all; run the same command again, fencing twice does no harm",
        )
    return _failure_of_first(failed[0], principal)


def _failure_of_first(result: FenceResult, principal: str) -> EosctlError:
    name, cause = result.step.transactional_id, result.error.name if result.error is not None else ""
    match cause:
        case "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            return NotAuthorized(principal=principal, operation="Write", resource=f"TransactionalId {name}")
        case "UNKNOWN_SERVER_ERROR":
            look = f"eosctl transactions describe {name}"
            told = f"`{look}` tells its state and epoch; the log of {_coordinator(result)} says why"
            return PartlyApplied(f"no ID was fenced for certain; first: {_told(result)}", hint=told)
        case "TIMED_OUT" | "Unreachable":
            return TimedOut(f"no ID was fenced in time; first: {_told(result)}")
        case _:
            return Refused(f"no ID was fenced; first: {_told(result)}")


def _coordinator(result: FenceResult) -> str:
    return "its coordinator" if result.coordinator is None else f"broker {result.coordinator}"


def _told(result: FenceResult) -> str:
    error = result.error
    return result.step.transactional_id + ("" if error is None else f": {error.name}: {error.message}")
