"""The rows of one kind and bucket, in order, to what was concluded from them and what the next run has to know.

Carried rows are the states of all settled ranges together: one for each partition, as if it had been one range.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from eosctl.analysis.audit.config_history import summarize_config
from eosctl.analysis.audit.evidence import PartitionLog
from eosctl.analysis.audit.key_judgement import KeyJudgementInputs
from eosctl.analysis.audit.key_merge import merge_all
from eosctl.analysis.audit.key_runs import by_session
from eosctl.analysis.audit.key_summary import summarize_keys
from eosctl.analysis.audit.log_scan import merge_logs
from eosctl.analysis.audit.sessions import Sessions, raised_epochs, without_raised
from eosctl.analysis.audit.transaction_judgement import JudgementInputs
from eosctl.analysis.audit.transaction_reduction import Known, reduce_transactions
from eosctl.codecs.audit_states import decode_json, decode_state, encode_state, read_offsets_key
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.audit_states import ConfigEvent, KeyState, LogState, ProducerItems
from eosctl.model.audit_summaries import ClosedTransactions, OffsetsWrite
from eosctl.model.names import TopicPartition

SUMMARY_TOPIC = ""
"""Topic of the carried row that holds conclusions instead of states."""


class Reduced(NamedTuple):
    """What one bucket gave: the encoded conclusions, and the rows that the next run begins with."""

    bucket: int
    result: bytes
    carried: tuple[StateRow, ...]


@dataclass(frozen=True)
class LogReduction:
    """Gives tuple[PartitionLog, ...]."""

    kind = StateKind.LOG


@dataclass(frozen=True)
class ConfigReduction:
    """Gives ConfigSummary."""

    kind = StateKind.CONFIG


@dataclass(frozen=True)
class KeyReduction:
    """Gives KeySummary. sessions: epochs with which producer IDs began; worker_topics: those of all connectors."""

    sessions: Mapping[int, tuple[int, ...]]
    worker_topics: frozenset[str]
    kind = StateKind.KEYS


@dataclass(frozen=True)
class TransactionReduction:
    """Gives TransactionSummary. asked are source offsets whose transactions are looked for."""

    inputs: JudgementInputs
    offsets_topics: frozenset[str]
    asked: tuple[OffsetsWrite, ...]
    kind = StateKind.TRANSACTIONS


Reduction = LogReduction | ConfigReduction | KeyReduction | TransactionReduction


def reduce_bucket(reduction: Reduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    """All rows of one bucket, reduced; they come in any order, carried ones among them."""
    ordered = sorted(rows, key=lambda row: (row.topic, row.partition, not row.settled, row.start))
    match reduction:
        case LogReduction():
            return _reduce_logs(bucket, ordered)
        case ConfigReduction():
            return _reduce_config(bucket, ordered)
        case KeyReduction():
            return _reduce_keys(reduction, bucket, ordered)
        case TransactionReduction():
            return _reduce_transactions(reduction, bucket, ordered)


def _by_partition(rows: Iterable[StateRow]) -> Iterator[tuple[TopicPartition, list[StateRow]]]:
    for place, group in groupby(rows, key=lambda row: (row.topic, row.partition)):
        yield TopicPartition(*place), list(group)


def _carried(kind: StateKind, bucket: int, place: TopicPartition, start: int, state: object) -> StateRow:
    return StateRow(kind, bucket, place.topic, place.partition, start, True, encode_state(state))


def _reduce_logs(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    found: list[PartitionLog] = []
    for place, group in _by_partition(rows):
        settled = [decode_state(row.payload, LogState) for row in group if row.settled]
        tails = [decode_state(row.payload, LogState) for row in group if not row.settled]
        found.append(PartitionLog(place.topic, place.partition, _merged(settled), _merged(tails)))
    found = list(_with_true_starts(found))
    carried = [
        _carried(StateKind.LOG, bucket, TopicPartition(log.topic, log.partition), log.settled.start, log.settled)
        for log in found
        if log.settled is not None
    ]
    return Reduced(bucket, encode_state(found), tuple(carried))


def _merged(logs: Sequence[LogState]) -> LogState | None:
    """All of them together, neighbours first: one after the other would copy all that was merged for each range."""
    while len(logs) > 1:
        pairs = [merge_logs(left, right) for left, right in zip(logs[::2], logs[1::2], strict=False)]
        logs = [*pairs, *logs[2 * len(pairs) :]]
    return logs[0] if logs else None


def _with_true_starts(logs: Sequence[PartitionLog]) -> Iterator[PartitionLog]:
    """The logs without beginnings of sessions that are none; there is but one bucket of logs."""
    raised = raised_epochs(producer for log in logs if log.settled is not None for producer in log.settled.producers)
    for log in logs:
        settled = log.settled
        if settled is not None:
            producers = tuple(without_raised(producer, raised) for producer in settled.producers)
            settled = settled._replace(producers=producers)
        yield log._replace(settled=settled)


def _reduce_config(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    carried = []
    events: list[ConfigEvent] = []
    for place, group in _by_partition(rows):
        mine = [event for row in group for event in decode_state(row.payload, tuple[ConfigEvent, ...])]
        carried.append(_carried(StateKind.CONFIG, bucket, place, group[0].start, mine))
        events += mine
    return Reduced(bucket, encode_state(summarize_config(events)), tuple(carried))


def _reduce_keys(reduction: KeyReduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    partitions: dict[TopicPartition, list[KeyState]] = {}
    carried = []
    sessions = Sessions(reduction.sessions)
    for place, group in _by_partition(rows):
        merged: dict[bytes | None, KeyState] = {}
        for row in group:
            states = {state.key: state for state in decode_state(row.payload, tuple[KeyState, ...])}
            merge_all(merged, states, decode_json)
        partitions[place] = [
            state._replace(runs=by_session(state.runs, sessions)) if state.runs else state for state in merged.values()
        ]
        carried.append(_carried(StateKind.KEYS, bucket, place, group[0].start, partitions[place]))
    own_topics = {place.topic for place in partitions} - reduction.worker_topics
    inputs = KeyJudgementInputs(own_topics, sessions, read_offsets_key, decode_json)
    return Reduced(bucket, encode_state(summarize_keys(partitions, inputs)), tuple(carried))


def _reduce_transactions(reduction: TransactionReduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    known = Known({}, {}, ClosedTransactions())
    for place, group in _by_partition(rows):
        for row in group:
            if place.topic == SUMMARY_TOPIC:
                known = known._replace(closed=decode_state(row.payload, ClosedTransactions))
                continue
            into = known.settled if row.settled else known.tails
            into.setdefault(place, []).append(decode_state(row.payload, tuple[ProducerItems, ...]))
    summary, closed, left = reduce_transactions(known, reduction.inputs, reduction.offsets_topics, reduction.asked)
    kind = StateKind.TRANSACTIONS
    carried = [_carried(kind, bucket, TopicPartition(SUMMARY_TOPIC, 0), 0, closed)]
    carried += [_carried(kind, bucket, place, 0, items) for place, items in left.items() if items]
    return Reduced(bucket, encode_state(summary), tuple(carried))
