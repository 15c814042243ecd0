"""A worker's answers while its group rebalances."""

import httpx

from eosctl.clients.rest import REBALANCE_EXPECTED


def is_for_now(answer: httpx.Response) -> bool:
    """True if the request should be repeated: writes are answered 409 meanwhile, reads of the worker's own 500."""
    return answer.status_code == 409 or (answer.status_code == 500 and REBALANCE_EXPECTED in answer.text)
