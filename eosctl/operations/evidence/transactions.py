"""Reading what coordinators know of the transactional IDs of a Connect cluster, for the rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from eosctl.analysis.transaction_log import fold_transaction_log, idle_since
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, coordinator_partition, leader_transactional_id, task_transactional_id
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.operations.reading import read_leaderless, read_transactions
from eosctl.operations.session import Session

NO_GROUP = not_asked("no --group-id was given")


def with_transactions(session: Session, known: Evidence) -> Evidence:
    """The same with the descriptions of the leader's and the tasks' IDs, as far as their coordinators answer."""
    ids = tuple(_connect_ids(known))
    transactions = NO_GROUP if not ids else or_skipped(lambda: read_transactions(session, ids))
    known = replace(known, idle_since=NO_GROUP if not ids else or_skipped(lambda: _idle_since(session, ids)))
    if isinstance(transactions, Skipped):
        return replace(known, transactions=transactions, leaderless=transactions)
    leaderless = or_skipped(lambda: read_leaderless(session, transactions.values()))
    return replace(known, transactions=transactions, leaderless=leaderless)


def _connect_ids(known: Evidence) -> Iterator[str]:
    """The IDs of the leader and of every task that a source has, had, or may be fenced for."""
    if isinstance(known.group_id, Skipped):
        return
    yield leader_transactional_id(known.group_id)
    for name in known.sources():
        counts = [0]
        if not isinstance(known.inspection, Skipped):
            state = known.inspection.state.state(name)
            counts += [state.task_count or 0, state.task_count_record or 0]
        if not isinstance(known.statuses, Skipped) and name in known.statuses:
            counts += [task.task + 1 for task in known.statuses[name].tasks]
        yield from (task_transactional_id(known.group_id, ConnectorTaskId(name, task)) for task in range(max(counts)))


def _idle_since(session: Session, ids: Sequence[str]) -> Mapping[str, int | Skipped]:
    """By the partitions of the transaction log that these IDs belong into."""
    from eosctl.sources.transaction_log import (
        read_transaction_log,
        transaction_log_leaders,
        transaction_log_offsets,
    )

    leaders = transaction_log_leaders(session.wire)
    partitions = {coordinator_partition(name, len(leaders)) for name in ids} if leaders else set()
    offsets, unread = transaction_log_offsets(session.wire, sorted(partitions))
    return idle_since(fold_transaction_log(read_transaction_log(session.wire, offsets)), ids, len(leaders), unread)
