"""What coordinators know of the transactional IDs of a Connect cluster, for the rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from eosctl.analysis.transaction_log import fold_transaction_log, idle_since, last_values
from eosctl.errors import EosctlError
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, TopicPartition, leader_transactional_id, task_transactional_id
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import Descriptions, why_undescribed
from eosctl.model.whole_numbers import task_numbers
from eosctl.sources.cluster_reader import ClusterReader

NO_GROUP = not_asked("no --group-id was given")


def with_transactions(reader: ClusterReader, known: Evidence) -> Evidence:
    """The same with the descriptions of the leader's and the tasks' IDs, as far as their coordinators answer."""
    ids = or_skipped(lambda: tuple(_connect_ids(known)))
    if isinstance(ids, Skipped):
        return replace(known, transactions=ids, leaderless=ids, logged=ids, idle_since=ids)
    if not ids:
        return replace(known, transactions=NO_GROUP, leaderless=NO_GROUP, logged=NO_GROUP, idle_since=NO_GROUP)
    transactions = or_skipped(lambda: descriptions(reader, ids))
    logged = or_skipped(lambda: _logged(reader, ids))
    known = replace(known, logged=logged, idle_since=logged if isinstance(logged, Skipped) else idle_since(logged))
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
        numbers = task_numbers(max(counts), name)
        yield from (task_transactional_id(known.group_id, ConnectorTaskId(name, task)) for task in numbers)


def _logged(reader: ClusterReader, ids: Sequence[str]) -> Mapping[str, TransactionLogValue | Skipped]:
    log = reader.transaction_log(ids)
    return last_values(fold_transaction_log(log.records), ids, len(log.leaders), log.unread)
