"""Ask coordinators, in the name of fenced producers, to abort: proof that they are refused.

1. EndTxn with the old producer ID and epoch is what a zombie would send. A coordinator that refuses it would refuse
   its commit as well: the check of producer ID and epoch comes before anything else.
2. It cannot do harm. Abort, not commit, is asked for; and where the producer should not be fenced after all, its
   transaction is either not there (INVALID_TXN_STATE) or was meant to be aborted anyway.
3. Version 4 at most: from version 5 (KIP-890) a coordinator may take an epoch one too low for a repeated request.
"""

from collections.abc import Mapping
from typing import Final

from eosctl.clients import codes
from eosctl.clients.codes import code_name
from eosctl.clients.transaction_messages import end_transaction
from eosctl.clients.wire import Wire
from eosctl.model.fencing import FenceOutcome, FencingOutcome
from eosctl.model.names import ProducerIdAndEpoch

REFUSED: Final = frozenset({codes.INVALID_PRODUCER_EPOCH, codes.INVALID_PRODUCER_ID_MAPPING, codes.PRODUCER_FENCED})
TRY_AGAIN: Final = frozenset({codes.COORDINATOR_LOAD_IN_PROGRESS, codes.CONCURRENT_TRANSACTIONS})
PAUSE_S: Final = 0.05
IN_FLIGHT: Final = 200


def challenge_old_producers(wire: Wire, outcome: FencingOutcome, timeout_s: float) -> Mapping[str, str | None]:
    """For each fenced ID the error that its old producer got; "" if it was not refused, None if nobody could say."""
    old = {name: (producer, node_id) for name, producer, node_id in _old_producers(outcome)}
    window = wire.window(in_flight=IN_FLIGHT, timeout_s=timeout_s)
    for name, (producer, node_id) in old.items():
        window.put(name, node_id, end_transaction(name, producer, commit=False))
    refusals: dict[str, str | None] = {}
    for answer in window:
        code = None if answer.response is None else answer.response.error_code
        if code in TRY_AGAIN:
            again = end_transaction(answer.item, old[answer.item][0], commit=False)
            window.put(answer.item, answer.node_id, again, delay_s=PAUSE_S)
        else:
            refusals[answer.item] = _refusal(code)
            if code is not None:
                window.extend()
    return refusals


def _old_producers(outcome: FencingOutcome) -> list[tuple[str, ProducerIdAndEpoch, int]]:
    return [
        (result.step.transactional_id, result.step.before.producer, result.coordinator)
        for result in outcome.results
        if result.outcome is FenceOutcome.FENCED and result.step.before is not None and result.coordinator is not None
    ]


def _refusal(code: int | None) -> str | None:
    """NOT_COORDINATOR and the like say nothing about the producer."""
    match code:
        case (
            None | codes.NOT_COORDINATOR | codes.COORDINATOR_NOT_AVAILABLE | codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return None
        case code if code in REFUSED:
            return code_name(code)
        case _:
            return ""
