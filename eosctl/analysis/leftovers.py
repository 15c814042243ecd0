"""What is open under a prefix of transactional IDs, and which of it was superseded by a later transaction.

1. A Flink job has one ID for each transaction or a pool of IDs, a sink of Iceberg a new UUID for each start: the ID
   without its last number or UUID is the writer's.
2. A writer commits its transactions in the order in which they began. So one that is open while a later one of its
   writer is committed was left behind: by a restart from a later state, or by a client that is gone. Numbers alone do
   not say this, because a pool uses low numbers again.
"""

import re
from collections.abc import Mapping
from typing import Final

from eosctl.model.leftovers import Leftover, LeftoverKind
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState

_LAST_PART: Final = re.compile(
    r"[-_.]?(?:\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.IGNORECASE
)
_COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})


def writer_of(transactional_id: str) -> str | None:
    """The ID without its last number or UUID; None where it has neither."""
    found = _LAST_PART.search(transactional_id)
    return transactional_id[: found.start()] if found and found.start() else None


def find_leftovers(values: Mapping[str, TransactionLogValue]) -> tuple[Leftover, ...]:
    """Those of these IDs that have a transaction in progress, by their last records; the oldest first."""
    committed: dict[str, tuple[int, str]] = {}
    for name, value in values.items():
        writer = writer_of(name)
        if writer is not None and value.state in _COMMITTED:
            committed[writer] = max(committed.get(writer, (-1, "")), (value.start_ms, name))
    found = [_leftover(name, value, committed) for name, value in values.items() if value.state.is_open]
    return tuple(sorted(found, key=lambda each: (each.value.start_ms, each.transactional_id)))


def _leftover(name: str, value: TransactionLogValue, committed: Mapping[str, tuple[int, str]]) -> Leftover:
    if value.state is not TransactionState.ONGOING:
        return Leftover(name, LeftoverKind.PREPARED, value)
    later, by = committed.get(writer_of(name) or "", (-1, ""))
    if later > value.start_ms:
        return Leftover(name, LeftoverKind.SUPERSEDED, value, by)
    return Leftover(name, LeftoverKind.OPEN, value)
