"""The audit itself: one scan, four reductions, one conclusion. Engines only run it.

The transaction log is read only where batches leave open whose transaction one is, or with which offsets it committed;
transactions are then reduced once more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from eosctl.analysis.audit.conclusion import conclude
from eosctl.analysis.audit.evidence import Evidence, PartitionLog, all_beginnings
from eosctl.analysis.audit.key_resolution import Data
from eosctl.analysis.audit.key_summary import add_key_summaries
from eosctl.analysis.audit.log_scan import GapKind, LogScan
from eosctl.analysis.audit.offset_changes import add_earlier_changes
from eosctl.analysis.audit.transaction_judgement import JudgementInputs
from eosctl.analysis.audit.transaction_owners import AnomalyKind, Owners
from eosctl.analysis.audit.transaction_summary import add_summaries
from eosctl.analysis.audit.writers import Writers, find_writers
from eosctl.codecs.audit_states import decode_state, encode_state
from eosctl.engines.changed_offsets import count_changes
from eosctl.engines.engine import Advance, Engine, ScannedRows
from eosctl.engines.reducing import (
    ConfigReduction,
    KeyReduction,
    LogReduction,
    Reduced,
    Reduction,
    TransactionReduction,
)
from eosctl.model.audit import AuditPlan, StateKind, StateRow, TopicRole
from eosctl.model.audit_report import AuditReport
from eosctl.model.audit_summaries import ConfigSummary, KeySummary, OffsetsChange, OffsetsWrite, TransactionSummary
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log_history import LoggedTransaction, TransactionLogHistory
from eosctl.sources.audit_log import OpenSource

CarriedRows = Callable[[StateKind], Iterable[StateRow]]
ReadHistory = Callable[[AuditPlan, frozenset[int]], TransactionLogHistory | Skipped]
"""Reads the transaction log for what it says of some producer IDs."""
OPEN_QUESTIONS: Final = frozenset({AnomalyKind.UNCLEAR.value, AnomalyKind.UNKNOWN_WRITER.value})


class AuditResult(NamedTuple):
    """The report, and the rows that the next audit of the same job begins with."""

    report: AuditReport
    carried: tuple[StateRow, ...]


def nothing_carried(_: StateKind) -> Iterable[StateRow]:
    """What an audit without a ledger begins with."""
    return ()


def no_history(_: AuditPlan, __: frozenset[int]) -> TransactionLogHistory | Skipped:
    """What an audit knows that does not read the transaction log."""
    return Skipped("the transaction log was not read")


def run_audit(
    plan: AuditPlan,
    engine: Engine,
    carried: CarriedRows = nothing_carried,
    advance: Advance = lambda _: None,
    read_history: ReadHistory = no_history,
    read_again: OpenSource | None = None,
) -> AuditResult:
    """Run a plan: the report covers the carried ranges and those of the plan as if they were one.

    read_again opens the source of ranges in this process; without it records that were repeated, or left out, because
    somebody changed source offsets are not counted.
    """
    rows = engine.scan(plan, advance)
    try:
        return _Run(plan, engine, rows, Inputs(carried, read_history, read_again)).result()
    finally:
        rows.close()


class Inputs(NamedTuple):
    """What an audit reads beside the ranges of its plan."""

    carried: CarriedRows
    read_history: ReadHistory
    read_again: OpenSource | None


class _Run:
    """The reductions of one audit; each may use what those before it found."""

    def __init__(self, plan: AuditPlan, engine: Engine, rows: ScannedRows, inputs: Inputs) -> None:
        self._plan, self._engine, self._rows = plan, engine, rows
        self._carried, self._read_history, self._read_again = inputs
        self._left: dict[StateKind, list[StateRow]] = {}

    def result(self) -> AuditResult:
        """All reductions, and the conclusion."""
        logs = [log for each in self._reduce(LogReduction()) for log in decode_state(each.result, list[PartitionLog])]
        config = [decode_state(each.result, ConfigSummary) for each in self._reduce(ConfigReduction())]
        keys = add_key_summaries(
            decode_state(each.result, KeySummary) for each in self._reduce(self._key_reduction(logs))
        )
        found = config[0] if config else ConfigSummary()
        writers = find_writers(self._plan, keys, found)
        self._plan = _with_writers(self._plan, logs, writers.owners)
        whole_since = _whole_since(self._plan, logs)
        inputs = self._inputs(writers, whole_since)
        transactions = self._transactions(keys, inputs)
        if {each.kind for each in transactions.tallies} & OPEN_QUESTIONS:
            history = self._read_history(self._plan, _in_question(logs, writers))
            if isinstance(history, Skipped):
                history = TransactionLogHistory()
            writers = find_writers(self._plan, keys, found, history.holders)
            inputs = self._inputs(writers, whole_since)._replace(logged=_by_producer(history.transactions))
            transactions = self._transactions(keys, inputs)
        evidence = Evidence(self._plan, logs, found, keys, transactions, writers.owners, whole_since)
        evidence = replace(evidence, changes=self._changes(evidence, inputs))
        return AuditResult(conclude(evidence), tuple(chain.from_iterable(self._left.values())))

    def _changes(self, evidence: Evidence, inputs: JudgementInputs) -> tuple[OffsetsChange, ...]:
        """What came of changed source offsets, by what is left of them in the logs and by what earlier runs saw."""
        earlier = [
            each
            for row in self._carried(StateKind.CHANGES)
            for each in decode_state(row.payload, tuple[OffsetsChange, ...])
        ]

        def committed(plan: AuditPlan, asked: Sequence[OffsetsWrite]) -> Mapping[OffsetsWrite, Data]:
            return self._committed(plan, TransactionReduction(inputs, self._offsets_topics, tuple(asked)))

        now = () if self._read_again is None else count_changes(evidence, self._read_again, committed)
        changes = add_earlier_changes(now, earlier)
        self._left[StateKind.CHANGES] = [
            StateRow(StateKind.CHANGES, 0, "", 0, 0, True, encode_state(changes)) for _ in changes[:1]
        ]
        return changes

    def _committed(self, plan: AuditPlan, reduction: TransactionReduction) -> Mapping[OffsetsWrite, Data]:
        """Of the rows that were scanned; of rows of their own where earlier runs read some of the plan's ranges."""
        scanned = {(each.topic, each.partition, each.start) for each in self._plan.ranges}
        resumed = not all(each[:3] in scanned for each in plan.ranges)
        rows = self._engine.scan(plan, lambda _: None) if resumed else self._rows
        try:
            reduced = rows.reduce(reduction, ())
        finally:
            if resumed:
                rows.close()
        summary = add_summaries(decode_state(each.result, TransactionSummary) for each in reduced)
        return {each.write: each.data for each in summary.committed}

    def _reduce(self, reduction: Reduction) -> list[Reduced]:
        expired = _expired_rows(self._plan) if reduction.kind is StateKind.LOG else ()
        reduced = list(self._rows.reduce(reduction, chain(self._carried(reduction.kind), expired)))
        self._left[reduction.kind] = list(chain.from_iterable(each.carried for each in reduced))
        return reduced

    def _inputs(self, writers: Writers, whole_since: int | None) -> JudgementInputs:
        outputs = {topic.name: topic.connectors for topic in self._plan.topics if topic.role is TopicRole.OUTPUT}
        owners = Owners(writers.owners, outputs, writers.others)
        return JudgementInputs(self._plan.as_of, whole_since, owners, longest_ms=self._plan.longest_transaction_ms)

    def _transactions(self, keys: KeySummary, inputs: JudgementInputs) -> TransactionSummary:
        reduction = TransactionReduction(inputs, self._offsets_topics, _asked(keys))
        return add_summaries(decode_state(each.result, TransactionSummary) for each in self._reduce(reduction))

    @property
    def _offsets_topics(self) -> frozenset[str]:
        return frozenset(topic.name for topic in self._plan.topics if topic.role is TopicRole.OFFSETS)

    def _key_reduction(self, logs: Sequence[PartitionLog]) -> KeyReduction:
        sessions: dict[int, set[int]] = {}
        for _, _, producer, start in all_beginnings(logs):
            sessions.setdefault(producer.producer_id, set()).add(start.producer_epoch)
        worker = frozenset(each.name for each in self._plan.topics if each.role is TopicRole.OFFSETS and not each.own)
        return KeyReduction({each: tuple(sorted(epochs)) for each, epochs in sessions.items()}, worker)


def _asked(keys: KeySummary) -> tuple[OffsetsWrite, ...]:
    """Source offsets whose transactions decide a suspicion, or are shown with it, or may be by a later audit."""
    suspicious = {write for each in keys.suspicions for write in (each.was, each.now) if write is not None}
    return tuple(sorted({*suspicious, *keys.latest}))


def _in_question(logs: Iterable[PartitionLog], writers: Writers) -> frozenset[int]:
    """Producer IDs whose history may decide what is open: those of connectors, and those of nobody known."""
    transactional = {
        producer.producer_id
        for log in logs
        for producer in (() if log.settled is None else log.settled.producers)
        if producer.records > producer.plain_records and producer.producer_id >= 0
    }
    return frozenset(transactional - writers.others)


def _by_producer(transactions: Iterable[LoggedTransaction]) -> Mapping[int, Sequence[LoggedTransaction]]:
    found: dict[int, list[LoggedTransaction]] = {}
    for each in transactions:
        found.setdefault(each.producer_id, []).append(each)
    return found


def _with_writers(plan: AuditPlan, logs: Iterable[PartitionLog], owners: Mapping[int, tuple[str, ...]]) -> AuditPlan:
    """The plan with its output topics' connectors: those that are known to write there, and those seen to."""
    seen: dict[str, set[str]] = {topic.name: set(topic.connectors) for topic in plan.topics}
    for log in logs:
        for producer in () if log.settled is None else log.settled.producers:
            if producer.records > producer.plain_records:
                seen[log.topic].update(owners.get(producer.producer_id, ()))
    topics = (
        replace(topic, connectors=tuple(sorted(seen[topic.name]))) if topic.role is TopicRole.OUTPUT else topic
        for topic in plan.topics
    )
    return replace(plan, topics=tuple(topics))


def _expired_rows(plan: AuditPlan) -> Iterator[StateRow]:
    """Ranges that nobody read, as states of their own."""
    for each in plan.expired:
        scan = LogScan(each.start, each.end, GapKind.EXPIRED)
        payload = encode_state(scan.state(()))
        yield StateRow(StateKind.LOG, 0, each.topic, each.partition, each.start, True, payload)


def _whole_since(plan: AuditPlan, logs: Iterable[PartitionLog]) -> int | None:
    """From when on the offsets topics are complete, in ms since the epoch: -1 always, None if none was read."""
    offsets = {topic.name for topic in plan.topics if topic.role is TopicRole.OFFSETS}
    cut = {(each.topic, each.partition) for each in plan.bounds if each.audited_from > 0}
    since: list[int] = []
    for log in logs:
        if log.topic in offsets and log.settled is not None:
            cleaned = -1 if log.settled.cleaned_until is None else log.settled.cleaned_until
            begun = log.settled.first_batch if (log.topic, log.partition) in cut else None
            since.append(max(cleaned, -1 if begun is None else begun))
    return max(since) if since else (-1 if offsets else None)
