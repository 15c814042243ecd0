"""What coordinators know of the transactional IDs of a Connect cluster, for the rules."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from eosctl.analysis.commit_histories import CommitHistories
from eosctl.analysis.transaction_log import fold_transaction_log, idle_since, last_values
from eosctl.errors import EosctlError
from eosctl.model.evidence import Evidence
from eosctl.model.names import (
    ConnectorTaskId,
    TopicPartition,
    leader_transactional_id,
    task_transactional_id,
)
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.transaction_log import LogReading
from eosctl.model.transactions import Descriptions, why_undescribed
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.sources.cluster_reader import ClusterReader

NO_GROUP = not_asked("no --group-id was given")


def with_transactions(reader: ClusterReader, known: Evidence, earlier: LogReading) -> Evidence:
    """The same with the descriptions of the leader's and the tasks' IDs, as far as their coordinators answer.

    earlier is what an earlier reading of the transaction log found; this one continues it.
    """
    ids = tuple(_connect_ids(known))
    if not ids:
        none = NO_GROUP
        return replace(known, transactions=none, leaderless=none, logged=none, idle_since=none, commits=none)
    transactions = or_skipped(lambda: descriptions(reader, ids))
    known = _with_log(reader, known, ids, earlier)
    if isinstance(transactions, Skipped):
        return replace(known, transactions=transactions, leaderless=transactions)
    why = why_undescribed(transactions)
    if why is not None:
        transactions = {name: why if isinstance(each, Skipped) else each for name, each in transactions.items()}
    return replace(known, transactions=transactions, leaderless=leaderless(reader, transactions))


def descriptions(reader: ClusterReader, transactional_ids: Iterable[str]) -> Descriptions:
    """Descriptions of the IDs that coordinators know; Skipped for an ID whose coordinator did not answer."""
    found = reader.describe(transactional_ids)
    return {
        name: Skipped.of(each) if isinstance(each, EosctlError) else each
        for name, each in found.items()
        if each is not None
    }


def leaderless(reader: ClusterReader, transactions: Descriptions) -> frozenset[TopicPartition] | Skipped:
    """Partitions of the open ones among these transactions that have no leader now."""
    opened = (each.partitions for each in transactions.values() if not isinstance(each, Skipped) and each.state.is_open)
    return reader.leaderless(partition for partitions in opened for partition in partitions)


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
        if max(counts) > MOST_TASKS:  # EOS074 names it
            continue
        yield from (task_transactional_id(known.group_id, ConnectorTaskId(name, task)) for task in range(max(counts)))


def _with_log(reader: ClusterReader, known: Evidence, ids: Sequence[str], earlier: LogReading) -> Evidence:
    """The same with what the transaction log holds of these IDs, which is read once."""
    cluster_id = None if isinstance(known.cluster_id, Skipped) else known.cluster_id
    if earlier.cluster_id not in {None, cluster_id}:
        earlier = LogReading()

    def read() -> Evidence:
        log = reader.transaction_log(ids, earlier.ends_for(ids))
        histories = CommitHistories(ids, earlier.commits, continues=log.continues)
        folded = fold_transaction_log(histories.following(log.records))
        before = earlier.values if log.continues else {}
        logged = last_values(folded, ids, len(log.leaders), log.unread, before)
        commits = histories.result()
        unread = {name: value for name, value in logged.items() if isinstance(value, Skipped)}
        values = {name: value for name, value in logged.items() if not isinstance(value, Skipped)}
        return replace(
            known,
            logged=logged,
            idle_since=idle_since(logged),
            commits={**commits, **unread},
            log_reading=LogReading(frozenset(ids), log.ends, values, commits, cluster_id),
        )

    found = or_skipped(read)
    return replace(known, logged=found, idle_since=found, commits=found) if isinstance(found, Skipped) else found
