"""Waiting until brokers know what the controller has changed.

A controller answers a change of topics or ACLs when it is in the metadata log (KIP-500, KIP-801). Each broker replays
that log in its own time, and answers and decides by what it has replayed. The next request may go to any of them.
"""

from collections.abc import Callable
from typing import Final

from eosctl.clients.deadline import Deadline
from eosctl.clients.wire import Wire
from eosctl.errors import TimedOut, Unreachable

POLL_S: Final = 0.05
ANSWER_S: Final = 3.0
"""How long one broker may take to answer: one that is gone without a word is waited for no longer."""
BEHIND: Final = "the broker is behind its controller: once it has caught up, `eosctl apply` the same plan again"


def await_brokers(wire: Wire, lacking: Callable[[int], str | None], *, timeout_s: float) -> None:
    """Returns once no broker that answers lacks it; lacking(node ID) says what it does, in words. Raises TimedOut."""
    deadline = Deadline(timeout_s)
    for broker in wire.brokers():
        while (what := _asked(lacking, broker.node_id)) is not None:
            if not deadline.pause(POLL_S):
                raise TimedOut(f"{what}, after {timeout_s:g} s", hint=BEHIND)


def _asked(lacking: Callable[[int], str | None], node_id: int) -> str | None:
    """A broker that cannot be asked cannot mislead the next step either."""
    try:
        return lacking(node_id)
    except Unreachable:
        return None
