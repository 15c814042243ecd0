"""The whole history of a config topic: who led, which connectors began without a fencing round, what compaction broke.

1. Only a leader writes privileged records (connector and task configs, commits, task-count records, session keys): in
   transactions if its exactly-once support is preparing or enabled, otherwise without transactions. The first
   task-count record proves that a worker has it enabled, and it may only where every worker is at least preparing. A
   plain one after that is by a leader with exactly-once off: it records no fencing rounds. Before, in the roll to
   preparing, leaders take turns.
2. The leader's transactional ID has one producer. One that writes again after another one, within a session, means two
   leaders at once: two Connect clusters share the topic or the group ID.
3. A connector whose last commit lacks task configs is inconsistent for every worker that reads the topic again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from eosctl.analysis.config_topic import fold_config_topic
from eosctl.model.audit import (
    ConfigAnomaly,
    ConfigSummary,
    ConnectorHistory,
)
from eosctl.model.audit_states import ConfigEvent
from eosctl.model.config_topic import (
    PRIVILEGED_KINDS,
    ConfigRecord,
    ConnectorConfigRecord,
    Origin,
    RecordKind,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.connectors import Reader
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.text import pluralize
from eosctl.model.transaction_log import (
    LoggedTransaction,
    LogRecord,
    TransactionalIdHolder,
    TransactionLogHistory,
    TransactionLogRecord,
)
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion

NEWEST: Final = KafkaVersion(4, 3, 1)
_KINDS: Final = {
    RecordKind.CONNECTOR_CONFIG,
    RecordKind.TASK_CONFIG,
    RecordKind.TASK_COMMIT,
    RecordKind.TASK_COUNT,
}


class ConfigAnomalyKind(StrEnum):
    PLAIN_LEADER = "plain-leader-write"
    INTERLEAVED_LEADERS = "interleaved-leaders"
    INCONSISTENT = "inconsistent-connector"


def config_event(record: ConfigRecord) -> ConfigEvent:
    """The record without its properties, as its history needs it."""
    origin, kind = record.origin, record.kind
    connector: str | None = getattr(record, "connector", None)
    number: int | None = None
    match record:
        case TaskConfigRecord():
            number = record.task
        case TaskCommitRecord():
            number = record.tasks
        case TaskCountRecord():
            number = record.task_count
    removed = isinstance(record, ConnectorConfigRecord) and record.properties is None
    understood = kind not in _KINDS or isinstance(
        record, ConnectorConfigRecord | TaskConfigRecord | TaskCommitRecord | TaskCountRecord
    )
    return ConfigEvent(
        origin.offset,
        origin.timestamp,
        origin.state.value,
        origin.transactional,
        origin.producer_id,
        origin.producer_epoch,
        kind.value,
        connector,
        number,
        removed,
        not understood,
    )


def summarize_config(events: Sequence[ConfigEvent]) -> ConfigSummary:
    """The history in committed events, in offset order."""
    states = fold_config_topic(_records(events), Reader(NEWEST)).states
    anomalies = [*_leaders(events)]
    last = {event.connector: event for event in events if event.kind == RecordKind.TASK_COMMIT}
    for name, state in sorted(states.items()):
        if state.known and state.inconsistent and name in last:
            missing = ", ".join(map(str, state.missing_tasks[:10]))
            tasks = pluralize(state.task_count or 0, "task")
            words = f"the last commit counts {tasks}, but the configs of tasks {missing} are missing"
            commit = last[name]
            anomalies.append(
                ConfigAnomaly(ConfigAnomalyKind.INCONSISTENT, name, commit.offset, commit.timestamp, words)
            )
    return ConfigSummary(tuple(_histories(events, {n for n, s in states.items() if s.known})), tuple(anomalies))


def _records(events: Iterable[ConfigEvent]) -> Iterator[ConfigRecord]:
    for event in events:
        origin = Origin(event.offset, event.timestamp, RecordState.COMMITTED, event.transactional)
        if event.connector is None or event.malformed:
            continue
        match event.kind:
            case RecordKind.CONNECTOR_CONFIG:
                yield ConnectorConfigRecord(origin, event.connector, None if event.removed else {})
            case RecordKind.TASK_CONFIG:
                yield TaskConfigRecord(origin, event.connector, event.number or 0, {})
            case RecordKind.TASK_COMMIT:
                yield TaskCommitRecord(origin, event.connector, event.number or 0)
            case RecordKind.TASK_COUNT:
                yield TaskCountRecord(origin, event.connector, event.number or 0)


def _leaders(events: Iterable[ConfigEvent]) -> Iterator[ConfigAnomaly]:
    enabled: ConfigEvent | None = None
    current: ConfigEvent | None = None
    seen: dict[int, ConfigEvent] = {}
    for event in events:
        if RecordKind(event.kind) not in PRIVILEGED_KINDS:
            continue
        if not event.transactional:
            if enabled is not None:
                yield _plain(event, enabled)
            continue
        if event.kind == RecordKind.TASK_COUNT:
            enabled = enabled or event
        if current is not None and current.producer_id != event.producer_id:
            before = seen.get(event.producer_id)
            # Under transaction.version 2 the epoch rises by one a transaction within one session.
            if before is not None and event.producer_epoch <= before.producer_epoch + 1:
                yield _interleaved(event, before, current)
        seen[event.producer_id] = current = event


def _plain(event: ConfigEvent, enabled: ConfigEvent) -> ConfigAnomaly:
    whose = "" if event.connector is None else f" of connector {event.connector}"
    words = f"a {event.kind}{whose} was written outside any transaction, after a task-count record at {enabled.offset}"
    return ConfigAnomaly(ConfigAnomalyKind.PLAIN_LEADER, event.connector, event.offset, event.timestamp, words)


def _interleaved(event: ConfigEvent, before: ConfigEvent, other: ConfigEvent) -> ConfigAnomaly:
    words = (
        f"producer ID {event.producer_id} wrote at offset {before.offset} and again at {event.offset}, "
        f"producer ID {other.producer_id} at offset {other.offset} in between: two leaders at once"
    )
    return ConfigAnomaly(ConfigAnomalyKind.INTERLEAVED_LEADERS, None, event.offset, event.timestamp, words)


def _histories(events: Iterable[ConfigEvent], known: set[str]) -> Iterator[ConnectorHistory]:
    starts: dict[str, list[tuple[int, int, str, int]]] = {}
    kinds = {RecordKind.TASK_COMMIT.value: "commit", RecordKind.TASK_COUNT.value: "fencing"}
    for event in events:
        if event.connector is None or event.malformed:
            continue
        found = starts.setdefault(event.connector, [])
        if event.kind in kinds and event.number is not None:
            found.append((event.timestamp, event.offset, kinds[event.kind], event.number))
    for name in sorted(starts):
        fenced = any(kind == "fencing" for _, _, kind, _ in starts[name])
        yield ConnectorHistory(name, name in known, fenced, tuple(starts[name]))


# The past of some producer IDs, folded from the records of `__transaction_state`, in offset order.
#
# 1. Every record of a transactional ID names the producer ID that held it then; tombstones name none.
# 2. InitProducerId logs Empty with the epoch of the session that begins. Later records of the same producer ID, up to
#    the next Empty, belong to that session, including a last transaction that was aborted with a higher epoch.
# 3. PrepareCommit and PrepareAbort name all partitions of the transaction. Earlier records of the transaction are
#    skipped.
# 4. CompleteCommit and CompleteAbort are appended once all markers are written, which takes as long as a partition has
#    no leader. Their last update is of the decision; the timestamp of their record is later than the markers.
# 5. The cleaner keeps the last record of an ID in the cleaned part of the log, and every record in the rest. So if a
#    session's Empty is there, all of its later records are.


PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


def fold_transaction_log_history(records: Iterable[LogRecord], producer_ids: Collection[int]) -> TransactionLogHistory:
    """The history of these producer IDs in the records."""
    sessions: dict[str, ProducerIdAndEpoch] = {}
    holders: set[tuple[int, str]] = set()
    transactions: list[LoggedTransaction] = []
    known: dict[frozenset[TopicPartition], frozenset[TopicPartition]] = {}
    incomplete: dict[str, int] = {}
    for record in records:
        if not isinstance(record, TransactionLogRecord) or record.value is None:
            continue
        value, name = record.value, record.transactional_id
        if value.producer.producer_id not in producer_ids:
            continue
        holders.add((value.producer.producer_id, name))
        if value.state is TransactionState.EMPTY:
            sessions[name] = value.producer
        session = sessions.get(name)
        last = incomplete.pop(name, None)
        if last is not None and value.state in COMPLETE:
            transactions[last] = transactions[last]._replace(completed_ms=record.timestamp)
        if value.state in PREPARED and session is not None and session.producer_id == value.producer.producer_id:
            places = frozenset(value.partitions or ())
            incomplete[name] = len(transactions)
            transactions.append(
                LoggedTransaction(
                    session.producer_id,
                    session.producer_epoch,
                    record.offset,
                    value.last_update_ms,
                    value.state is TransactionState.PREPARE_COMMIT,
                    known.setdefault(places, places),
                )
            )
    return TransactionLogHistory(tuple(TransactionalIdHolder(*each) for each in sorted(holders)), tuple(transactions))
