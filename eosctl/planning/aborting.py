"""Which open transactions of a partition to abort, and whether that may be done.

1. Without a start offset or producer ID all that hang in the partition are aborted; these narrow it down.
2. Only what hangs by KIP-664's rule is aborted, and only when it is older than the longest transaction timeout.
3. Where the producer has another transaction in progress, or its coordinator is ending one, it may write to the
   partition again: that is refused. So is a transaction that does not hang, and one that is younger.
4. With force 2 and 3 do not refuse. The marker passes the coordinator by: a client may commit all the same, and then a
   part of its transaction is committed and this part is lost.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from eosctl.model.aborting import AbortRequest
from eosctl.model.hanging import Advice, OpenTransaction, Verdict
from eosctl.model.plan import ClusterIs, Plan, PlannedStep
from eosctl.model.planned import Planned
from eosctl.model.sides import Side
from eosctl.model.times import rfc3339
from eosctl.model.transaction_steps import AbortTransaction, TransactionHangs

KIND: Final = "transactions.abort"


def plan_abort(request: AbortRequest, verdicts: Sequence[Verdict], as_of: int, cluster_id: str) -> Planned:
    """The plan by the rules above. verdicts are on everything open in the partition, whatever its age."""
    named = request.start_offset is not None or request.producer_id is not None
    chosen = [each for each in verdicts if _is_named(request, each.transaction)]
    if not (named or request.force) and any(each.hangs for each in chosen):
        chosen = [each for each in chosen if each.hangs]
    objections = [(why, each) for each in chosen if (why := _objection(request, each, as_of)) is not None]
    steps = tuple(_step(each.transaction, cluster_id, forced=request.force) for each in chosen)
    if not chosen:
        where = request.topic_partition if not named else f"{request.topic_partition} of that producer or offset"
        nothing = f"no transaction is open in {where}, so there is nothing to abort"
        hint = "`eosctl transactions hanging` finds what hangs"
        return Planned(plan=Plan(KIND, as_of, ()), cluster_id=cluster_id, objections=(nothing,), hint=hint)
    planned = Planned(plan=Plan(KIND, as_of, steps), cluster_id=cluster_id)
    if request.force:
        return replace(planned, warnings=tuple(_danger(why) for why, _ in objections))
    if not objections:
        return planned
    return replace(planned, objections=tuple(why for why, _ in objections), hint=_hint(objections[0][1]))


def _is_named(request: AbortRequest, transaction: OpenTransaction) -> bool:
    by_offset = request.start_offset is None or transaction.start_offset == request.start_offset
    by_producer = request.producer_id is None or transaction.producer.producer_id == request.producer_id
    return transaction.topic_partition == request.topic_partition and by_offset and by_producer


def _objection(request: AbortRequest, verdict: Verdict, as_of: int) -> str | None:
    transaction = verdict.transaction
    what = f"the transaction of producer {transaction.producer} from offset {transaction.start_offset}"
    described, last = transaction.description, transaction.active.last_timestamp
    if not verdict.hangs and described is not None:
        return f"{what} does not hang: its coordinator has it as {described.state.value} under {_name(transaction)}"
    if verdict.advice is not Advice.ABORT:
        return f"{what} hangs, but its producer has another transaction in progress as {_name(transaction)}"
    if last is not None and last > as_of:
        return f"{what} has a timestamp {(last - as_of) / 1000:.1f} s in the future, so its age is not known"
    if last is not None and as_of - last <= request.max_timeout_ms:
        return f"{what} is {max(0, as_of - last) / 60_000:.1f} min old, younger than transactions may become"
    return None


def _name(transaction: OpenTransaction) -> str:
    return transaction.transactional_id or "no transactional ID"


def _hint(verdict: Verdict) -> str:
    name, until = verdict.transaction.transactional_id, verdict.transaction.timeout_at_ms
    fence = f"eosctl fence --transactional-id {shlex.quote(str(name))}"
    if verdict.advice is Advice.FENCE:
        return f"fence it, which ends its transaction properly: {fence}"
    if verdict.advice is Advice.COMPLETE:
        return (
            f"have the application of {name} commit or abort its two-phase transaction first: no timeout ends it "
            "(KIP-939)"
        )
    if verdict.advice is Advice.WAIT and until is not None:
        return (
            f"wait: its coordinator aborts it after its timeout, at {rfc3339(until)}; or fence its producer, which "
            f"aborts it in all its partitions: {fence}"
        )
    if verdict.advice is Advice.WAIT:
        return "wait until its coordinator ends it; --force aborts it here, which may break the transaction in two"
    return "wait, or give --max-transaction-timeout; --force aborts it all the same"


def _danger(objection: str) -> str:
    return (
        f"{objection}; forced, its records here are aborted although its client may still commit the others: the "
        "transaction is then broken in two, and readers see a part of it"
    )


def _step(transaction: OpenTransaction, cluster_id: str, *, forced: bool) -> PlannedStep:
    place, producer = transaction.topic_partition, transaction.producer
    epoch = transaction.active.coordinator_epoch
    return PlannedStep(
        AbortTransaction(
            Side.SOURCE,
            place.topic,
            place.partition,
            producer.producer_id,
            producer.producer_epoch,
            0 if epoch is None else epoch,
            transaction.start_offset,
            forced,
        ),
        (
            ClusterIs(Side.SOURCE, cluster_id),
            TransactionHangs(
                Side.SOURCE, place.topic, place.partition, producer.producer_id, transaction.start_offset, forced
            ),
        ),
    )
