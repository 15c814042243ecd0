"""The audit itself: one scan, its reductions, one conclusion. Engines only run it.

The transaction log is read only if batches leave open which transaction they belong to, or with which offsets it
committed; then transactions are reduced again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, groupby
from typing import Final, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.audit.conclusion import conclude
from eosctl.analysis.audit.database_transactions import add_transactions, judge_transactions
from eosctl.analysis.audit.events import add_events, join_writers, judge_events
from eosctl.analysis.audit.findings import AuditSummaries, PartitionLog, all_beginnings
from eosctl.analysis.audit.history import summarize_config
from eosctl.analysis.audit.key_judgement import (
    Data,
    KeyJudgementInputs,
    PlacedWrite,
    add_key_summaries,
    summarize_keys,
)
from eosctl.analysis.audit.key_scan import by_session, merge_all
from eosctl.analysis.audit.offset_changes import (
    ChangeInputs,
    KeyWrite,
    add_earlier_changes,
    offset_changes,
    sessions_while_stopped,
)
from eosctl.analysis.audit.owners import AnomalyKind, Owners, Writers, find_writers
from eosctl.analysis.audit.scan import GapKind, LogScan, merge_logs
from eosctl.analysis.audit.sessions import Sessions, raised_epochs, without_raised
from eosctl.analysis.audit.transactions import JudgementInputs, Known, add_summaries, reduce_transactions
from eosctl.codecs.ledger import decode_audit_state, decode_json, encode_audit_state, read_offsets_key
from eosctl.codecs.record_batches import decode_entries
from eosctl.errors import Undecodable
from eosctl.model.audit import (
    AuditPlan,
    AuditReport,
    ClosedTransactions,
    ConfigSummary,
    ConnectorHistory,
    KeySummary,
    OffsetsChange,
    OffsetsWrite,
    RangeDigest,
    StateKind,
    StateRow,
    TopicRole,
    TransactionSummary,
)
from eosctl.model.audit_states import ConfigEvent, KeyState, LogState, ProducerItems, ReadKey, Write
from eosctl.model.events import (
    EventItem,
    EventSummary,
    EventWriter,
    PartitionWriters,
    TransactionCounts,
    TransactionItem,
)
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange
from eosctl.model.transaction_log import LoggedTransaction, TransactionLogHistory
from eosctl.sources.audit_log import DataBatch, OpenSource

# From the rows of one kind and bucket, in order, to their conclusions and the state for the next run.  Carried rows are
# the states of all settled ranges together: one for each partition, as if it had been one range.


SUMMARY_TOPIC = ""
"""Topic of the carried row that holds conclusions instead of states."""


class Reduced(NamedTuple):
    """Result of one bucket: the encoded conclusions, and the carried rows for the next run."""

    bucket: int
    result: bytes
    carried: tuple[StateRow, ...]


class LogReduction(Struct, frozen=True):
    """Gives tuple[PartitionLog, ...]."""

    kind = StateKind.LOG


class ConfigReduction(Struct, frozen=True):
    """Gives ConfigSummary."""

    kind = StateKind.CONFIG


class KeyReduction(Struct, frozen=True):
    """Returns a KeySummary. sessions: epochs with which producer IDs began; worker_topics: those of all connectors."""

    sessions: Mapping[int, tuple[int, ...]]
    worker_topics: frozenset[str]
    kind = StateKind.KEYS


class TransactionReduction(Struct, frozen=True):
    """Gives TransactionSummary. asked are source offsets whose transactions are looked for."""

    inputs: JudgementInputs
    offsets_topics: frozenset[str]
    asked: tuple[OffsetsWrite, ...]
    kind = StateKind.TRANSACTIONS


class EventReduction(Struct, frozen=True):
    """Gives EventSummary."""

    kind = StateKind.EVENTS


class DatabaseTransactionReduction(Struct, frozen=True):
    """Gives TransactionCounts."""

    kind = StateKind.DATABASE_TRANSACTIONS


class DigestReduction(Struct, frozen=True):
    """Gives tuple[RangeDigest, ...], of the ranges of this run."""

    kind = StateKind.DIGESTS


class EventWriterReduction(Struct, frozen=True):
    """Gives tuple[PartitionWriters, ...], of settled ranges."""

    kind = StateKind.EVENT_WRITERS


Reduction = (
    LogReduction
    | ConfigReduction
    | KeyReduction
    | TransactionReduction
    | EventReduction
    | EventWriterReduction
    | DatabaseTransactionReduction
    | DigestReduction
)


def reduce_bucket(reduction: Reduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    """All rows of one bucket, reduced; they come in any order, carried ones among them."""
    ordered = sorted(rows, key=lambda row: (row.topic, row.partition, not row.settled, row.start))
    match reduction:
        case LogReduction():
            reduced = _reduce_logs(bucket, ordered)
        case ConfigReduction():
            reduced = _reduce_config(bucket, ordered)
        case KeyReduction():
            reduced = _reduce_keys(reduction, bucket, ordered)
        case TransactionReduction():
            reduced = _reduce_transactions(reduction, bucket, ordered)
        case EventReduction():
            reduced = _reduce_events(bucket, ordered)
        case EventWriterReduction():
            reduced = _reduce_event_writers(bucket, ordered)
        case DatabaseTransactionReduction():
            reduced = _reduce_database_transactions(bucket, ordered)
        case DigestReduction():
            digests = [decode_audit_state(row.payload, RangeDigest) for row in ordered]
            reduced = Reduced(bucket, encode_audit_state(digests), ())
    return reduced


def _by_partition(rows: Iterable[StateRow]) -> Iterator[tuple[TopicPartition, list[StateRow]]]:
    for place, group in groupby(rows, key=lambda row: (row.topic, row.partition)):
        yield TopicPartition(*place), list(group)


def _carried(kind: StateKind, bucket: int, place: TopicPartition, start: int, state: object) -> StateRow:
    return StateRow(kind, bucket, place.topic, place.partition, start, True, encode_audit_state(state))


def _reduce_logs(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    found: list[PartitionLog] = []
    for place, group in _by_partition(rows):
        settled = [decode_audit_state(row.payload, LogState) for row in group if row.settled]
        tails = [decode_audit_state(row.payload, LogState) for row in group if not row.settled]
        found.append(PartitionLog(place.topic, place.partition, _merged(settled), _merged(tails)))
    found = list(_with_true_starts(found))
    carried = [
        _carried(StateKind.LOG, bucket, TopicPartition(log.topic, log.partition), log.settled.start, log.settled)
        for log in found
        if log.settled is not None
    ]
    return Reduced(bucket, encode_audit_state(found), tuple(carried))


def _merged(logs: Sequence[LogState]) -> LogState | None:
    """All of them merged, neighbours first: merging one after the other would copy everything for each range."""
    while len(logs) > 1:
        pairs = [merge_logs(left, right) for left, right in zip(logs[::2], logs[1::2], strict=False)]
        logs = [*pairs, *logs[2 * len(pairs) :]]
    return logs[0] if logs else None


def _with_true_starts(logs: Sequence[PartitionLog]) -> Iterator[PartitionLog]:
    """The logs without false beginnings of sessions; all logs are in one bucket."""
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
        mine = [event for row in group for event in decode_audit_state(row.payload, tuple[ConfigEvent, ...])]
        carried.append(_carried(StateKind.CONFIG, bucket, place, group[0].start, mine))
        events += mine
    return Reduced(bucket, encode_audit_state(summarize_config(events)), tuple(carried))


def _reduce_keys(reduction: KeyReduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    partitions: dict[TopicPartition, list[KeyState]] = {}
    carried = []
    sessions = Sessions(reduction.sessions)
    for place, group in _by_partition(rows):
        merged: dict[bytes | None, KeyState] = {}
        for row in group:
            states = {state.key: state for state in decode_audit_state(row.payload, tuple[KeyState, ...])}
            merge_all(merged, states, decode_json)
        partitions[place] = [
            state._replace(runs=by_session(state.runs, sessions)) if state.runs else state for state in merged.values()
        ]
        carried.append(_carried(StateKind.KEYS, bucket, place, group[0].start, partitions[place]))
    own_topics = {place.topic for place in partitions} - reduction.worker_topics
    inputs = KeyJudgementInputs(own_topics, sessions, read_offsets_key, decode_json)
    return Reduced(bucket, encode_audit_state(summarize_keys(partitions, inputs)), tuple(carried))


def _reduce_transactions(reduction: TransactionReduction, bucket: int, rows: Iterable[StateRow]) -> Reduced:
    known = Known({}, {}, ClosedTransactions())
    for place, group in _by_partition(rows):
        for row in group:
            if place.topic == SUMMARY_TOPIC:
                known = known._replace(closed=decode_audit_state(row.payload, ClosedTransactions))
                continue
            into = known.settled if row.settled else known.tails
            into.setdefault(place, []).append(decode_audit_state(row.payload, tuple[ProducerItems, ...]))
    summary, closed, left = reduce_transactions(known, reduction.inputs, reduction.offsets_topics, reduction.asked)
    kind = StateKind.TRANSACTIONS
    carried = [_carried(kind, bucket, TopicPartition(SUMMARY_TOPIC, 0), 0, closed)]
    carried += [_carried(kind, bucket, place, 0, items) for place, items in left.items() if items]
    return Reduced(bucket, encode_audit_state(summary), tuple(carried))


def _reduce_events(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    before = EventSummary()
    settled: dict[TopicPartition, list[EventItem]] = {}
    tails: dict[TopicPartition, list[EventItem]] = {}
    for place, group in _by_partition(rows):
        for row in group:
            if place.topic == SUMMARY_TOPIC:
                before = decode_audit_state(row.payload, EventSummary)
                continue
            into = settled if row.settled else tails
            into.setdefault(place, []).extend(decode_audit_state(row.payload, list[EventItem]))
    summary, left = judge_events(settled, tails, before)
    carried = [_carried(StateKind.EVENTS, bucket, TopicPartition(SUMMARY_TOPIC, 0), 0, summary._replace(events=()))]
    carried += [_carried(StateKind.EVENTS, bucket, place, 0, items) for place, items in left.items()]
    return Reduced(bucket, encode_audit_state(summary), tuple(carried))


def _reduce_database_transactions(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    before = TransactionCounts()
    settled: dict[TopicPartition, list[TransactionItem]] = {}
    tails: dict[TopicPartition, list[TransactionItem]] = {}
    for place, group in _by_partition(rows):
        for row in group:
            if place.topic == SUMMARY_TOPIC:
                before = decode_audit_state(row.payload, TransactionCounts)
                continue
            into = settled if row.settled else tails
            into.setdefault(place, []).extend(decode_audit_state(row.payload, list[TransactionItem]))
    counts, left = judge_transactions(settled, tails, before.whole)
    kind = StateKind.DATABASE_TRANSACTIONS
    carried = [_carried(kind, bucket, TopicPartition(SUMMARY_TOPIC, 0), 0, counts._replace(half=()))]
    carried += [_carried(kind, bucket, place, 0, items) for place, items in left.items()]
    return Reduced(bucket, encode_audit_state(counts), tuple(carried))


def _reduce_event_writers(bucket: int, rows: Iterable[StateRow]) -> Reduced:
    found: list[PartitionWriters] = []
    carried: list[StateRow] = []
    for place, group in _by_partition(rows):
        writers: tuple[EventWriter, ...] = ()
        for row in group:
            if row.settled:
                writers = join_writers(writers, decode_audit_state(row.payload, tuple[EventWriter, ...]))
        found.append(PartitionWriters(place.topic, place.partition, writers))
        carried.append(_carried(StateKind.EVENT_WRITERS, bucket, place, 0, writers))
    return Reduced(bucket, encode_audit_state(found), tuple(carried))


class Progress(NamedTuple):
    offsets: OffsetRange


Advance = Callable[[Progress], None]


class ScannedRows(Protocol):
    """The state rows of all ranges of a plan, wherever they are stored."""

    def reduce(self, reduction: Reduction, carried: Iterable[StateRow]) -> Sequence[Reduced]:
        """One Reduced for each bucket that has rows of the reduction's kind, or carried ones; by bucket."""

    def close(self) -> None:
        """Let go of the rows."""


class Engine(Protocol):
    """Runs the audit's functions."""

    def scan(self, plan: AuditPlan, advance: Advance) -> ScannedRows:
        """Read every range of the plan once. Raises what reading raises."""


# Counts the effects of changed source offsets, by reading all writes of their connectors once more.
#
# The states of an audit hold of each key what its judgement needs, and not its history. Changes are rare, so the
# offsets topics' partitions of the connectors concerned are read again where there is one, in this process; and where
# earlier runs of a job read the data, its batch headers, too.


MOST_WRITES: Final = 200_000
"""Writes of one connector that are looked at: the last ones."""

Committed = Callable[[AuditPlan, Sequence[OffsetsWrite]], Mapping[OffsetsWrite, Data]]
"""Returns the data in the transactions of these source offsets, read by this plan if not all is at hand."""


class _Writes(NamedTuple):
    """Writes of one connector by key, in order; whole: none is missing, all are transactional."""

    of: Mapping[bytes | None, Sequence[KeyWrite]]
    whole: bool


def count_changes(evidence: AuditSummaries, open_source: OpenSource, committed: Committed) -> tuple[OffsetsChange, ...]:
    """Effects of each change of source offsets that the logs still show."""
    found: list[OffsetsChange] = []
    for history in evidence.config.connectors:
        sessions = [
            each
            for each in evidence.sessions
            if each.connector == history.connector and evidence.topics[each.topic].role is TopicRole.OFFSETS
        ]
        altering = sessions_while_stopped(sessions, history)
        if altering:
            found += _of_connector(evidence, history, altering, open_source, committed)
    return tuple(found)


def _of_connector(
    evidence: AuditSummaries,
    history: ConnectorHistory,
    altering: Mapping[ProducerIdAndEpoch, bool],
    open_source: OpenSource,
    committed: Committed,
) -> Iterable[OffsetsChange]:
    name = history.connector
    plan = _plan_again(evidence, name, evidence.outputs(name))
    writes = _read_writes(evidence, name, plan, open_source)
    asked = sorted(each.at for mine in writes.of.values() for each in mine if each.at is not None)
    data = committed(plan, asked)
    inputs = ChangeInputs(
        history,
        altering,
        lambda write: None if write is None else data.get(write),
        decode_json,
        writes.whole,
    )
    return offset_changes(name, writes.of, inputs)


def _plan_again(evidence: AuditSummaries, connector: str, outputs: Sequence[str]) -> AuditPlan:
    """The rest of the connector's outputs, and of the partitions that have offsets of it.

    That is the tails, too: a transaction that was committed elsewhere may have its data there.
    """
    mine = {
        (log.topic, log.partition)
        for log in evidence.logs
        if evidence.topics[log.topic].role is TopicRole.OFFSETS
        for state in (log.settled, log.tail)
        if state is not None
        if any(connector in evidence.owners.get(each.producer_id, ()) for each in state.producers)
    }
    ranges: list[OffsetRange] = []
    for each in evidence.plan.bounds:
        if each.topic in outputs or (each.topic, each.partition) in mine:
            start = max(each.log_start_offset, each.audited_from)
            stable = max(start, each.last_stable_offset)
            ranges.append(OffsetRange(each.topic, each.partition, start, stable))
            ranges.append(OffsetRange(each.topic, each.partition, stable, each.high_watermark, settled=False))
    return replace(evidence.plan, ranges=tuple(each for each in ranges if each.start < each.end), expired=())


def _read_writes(evidence: AuditSummaries, connector: str, plan: AuditPlan, open_source: OpenSource) -> _Writes:
    keys: dict[bytes | None, ReadKey] = {}
    kept: deque[tuple[bytes | None, PlacedWrite]] = deque(maxlen=MOST_WRITES)
    count = 0
    settled = [each for each in plan.ranges if each.settled and evidence.topics[each.topic].role is TopicRole.OFFSETS]
    with open_source() as source:
        for offsets in settled:
            for item in source.read(plan, offsets):
                for raw, write in _entries(item, offsets.start) if isinstance(item, DataBatch) else ():
                    key = keys[raw] if raw in keys else keys.setdefault(raw, read_offsets_key(raw))
                    if key.connector == connector:
                        kept.append((raw, PlacedWrite(offsets.topic_partition, write)))
                        count += 1
    of, plain = _by_key(kept, keys)
    known = next((each.records for each in evidence.keys.connectors if each.connector == connector), count)
    begun = all(each.start == 0 for each in settled)
    compacted = evidence.whole_since is None or evidence.whole_since >= 0
    whole = begun and not compacted and not plain and count == known and len(kept) == count
    return _Writes(of, whole)


def _entries(item: DataBatch, start: int) -> Iterator[tuple[bytes | None, Write]]:
    """The committed records of a batch; none of a damaged one, which the audit reports."""
    header = item.batch.header
    if item.aborted:
        return
    try:
        entries = decode_entries(item.batch)
    except Undecodable:
        return
    writer = header.producer_id, header.producer_epoch, header.is_transactional
    for entry in entries:
        if entry.offset >= start:
            yield entry.key, Write(entry.offset, entry.timestamp, entry.value, *writer)


def _by_key(
    writes: Iterable[tuple[bytes | None, PlacedWrite]], keys: Mapping[bytes | None, ReadKey]
) -> tuple[Mapping[bytes | None, Sequence[KeyWrite]], bool]:
    """Transactional writes, in the order of their time between topics; and whether there are others.

    A worker's non-transactional copies beside a connector's own topic are not counted as others.
    """
    transactional: dict[bytes | None, dict[TopicPartition, list[KeyWrite]]] = {}
    plain: set[tuple[bytes | None, bytes | None]] = set()
    for raw, placed in writes:
        if placed.write.transactional:
            mine = transactional.setdefault(raw, {}).setdefault(placed.place, [])
            mine.append(KeyWrite(raw, keys[raw], placed))
        else:
            plain.add((raw, placed.write.value))
    found = {raw: list(merge(*(_timed(each) for each in places.values()))) for raw, places in transactional.items()}
    of = {raw: [write for *_, write in mine] for raw, mine in found.items()}
    known = {(raw, each.position) for raw, mine in of.items() for each in mine}
    return of, bool(plain - known)


def _timed(writes: Iterable[KeyWrite]) -> Iterator[tuple[int, TopicPartition, int, KeyWrite]]:
    """Items with times that do not go back within the partition, whatever the clocks did."""
    latest = 0
    for each in writes:
        latest = max(latest, each.placed.write.timestamp)
        yield latest, each.placed.place, each.placed.write.offset, each


CarriedRows = Callable[[StateKind], Iterable[StateRow]]
ReadHistory = Callable[[AuditPlan, frozenset[int]], TransactionLogHistory | Skipped]
"""Reads the transaction log for what it says of some producer IDs."""
OPEN_QUESTIONS: Final = frozenset({AnomalyKind.UNCLEAR.value, AnomalyKind.UNKNOWN_WRITER.value})


class AuditResult(NamedTuple):
    """The report, and the carried rows for the next audit of the same job."""

    report: AuditReport
    carried: tuple[StateRow, ...]


def no_prior_state(_: StateKind) -> Iterable[StateRow]:
    """The carried rows of an audit without a ledger."""
    return ()


def no_history(_: AuditPlan, __: frozenset[int]) -> TransactionLogHistory | Skipped:
    """The history of an audit that does not read the transaction log."""
    return Skipped("the transaction log was not read")


def run_audit(
    plan: AuditPlan,
    engine: Engine,
    carried: CarriedRows = no_prior_state,
    advance: Advance = lambda _: None,
    read_history: ReadHistory = no_history,
    read_again: OpenSource | None = None,
) -> AuditResult:
    """Run a plan: the report covers the carried ranges and those of the plan as if they were one.

    read_again opens the source of ranges in this process; without it records that were repeated or left out by changed
    source offsets are not counted.
    """
    rows = engine.scan(plan, advance)
    try:
        return _Run(plan, engine, rows, Inputs(carried, read_history, read_again)).result()
    finally:
        rows.close()


class Inputs(NamedTuple):
    """Inputs of an audit beside the ranges of its plan."""

    carried: CarriedRows
    read_history: ReadHistory
    read_again: OpenSource | None


class _Run:
    """The reductions of one audit, which may use the results before them."""

    def __init__(self, plan: AuditPlan, engine: Engine, rows: ScannedRows, inputs: Inputs) -> None:
        self._plan, self._engine, self._rows = plan, engine, rows
        self._carried, self._read_history, self._read_again = inputs
        self._left: dict[StateKind, list[StateRow]] = {}

    def result(self) -> AuditResult:
        """All reductions, and the conclusion."""
        logs = [
            log for each in self._reduce(LogReduction()) for log in decode_audit_state(each.result, list[PartitionLog])
        ]
        config = [decode_audit_state(each.result, ConfigSummary) for each in self._reduce(ConfigReduction())]
        keys = add_key_summaries(
            decode_audit_state(each.result, KeySummary) for each in self._reduce(self._key_reduction(logs))
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
        events, event_writers = self._events()
        evidence = AuditSummaries(
            self._plan,
            logs,
            found,
            keys,
            transactions,
            writers.owners,
            whole_since,
            events=events,
            event_writers=event_writers,
            database_transactions=add_transactions(
                decode_audit_state(each.result, TransactionCounts)
                for each in self._reduce(DatabaseTransactionReduction())
            ),
        )
        evidence = replace(evidence, changes=self._changes(evidence, inputs))
        report = replace(conclude(evidence), digests=self._digests())
        return AuditResult(report, tuple(chain.from_iterable(self._left.values())))

    def _digests(self) -> tuple[RangeDigest, ...]:
        found = self._rows.reduce(DigestReduction(), ()) if self._plan.digested else ()
        digests = (digest for each in found for digest in decode_audit_state(each.result, list[RangeDigest]))
        return tuple(sorted(digests))

    def _events(self) -> tuple[EventSummary, tuple[PartitionWriters, ...]]:
        events = add_events(decode_audit_state(each.result, EventSummary) for each in self._reduce(EventReduction()))
        writers = [
            found
            for each in self._reduce(EventWriterReduction())
            for found in decode_audit_state(each.result, list[PartitionWriters])
        ]
        return events, tuple(writers)

    def _changes(self, evidence: AuditSummaries, inputs: JudgementInputs) -> tuple[OffsetsChange, ...]:
        """Effects of changed source offsets, by the remaining logs and by earlier runs."""
        earlier = [
            each
            for row in self._carried(StateKind.CHANGES)
            for each in decode_audit_state(row.payload, tuple[OffsetsChange, ...])
        ]

        def committed(plan: AuditPlan, asked: Sequence[OffsetsWrite]) -> Mapping[OffsetsWrite, Data]:
            return self._committed(plan, TransactionReduction(inputs, self._offsets_topics, tuple(asked)))

        now = () if self._read_again is None else count_changes(evidence, self._read_again, committed)
        changes = add_earlier_changes(now, earlier)
        self._left[StateKind.CHANGES] = [
            StateRow(StateKind.CHANGES, 0, "", 0, 0, True, encode_audit_state(changes)) for _ in changes[:1]
        ]
        return changes

    def _committed(self, plan: AuditPlan, reduction: TransactionReduction) -> Mapping[OffsetsWrite, Data]:
        """Writes in the scanned rows, with rows of their own for ranges of earlier runs."""
        scanned = {(each.topic, each.partition, each.start) for each in self._plan.ranges}
        resumed = not all(each[:3] in scanned for each in plan.ranges)
        rows = self._engine.scan(plan, lambda _: None) if resumed else self._rows
        try:
            reduced = rows.reduce(reduction, ())
        finally:
            if resumed:
                rows.close()
        summary = add_summaries(decode_audit_state(each.result, TransactionSummary) for each in reduced)
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
        return add_summaries(decode_audit_state(each.result, TransactionSummary) for each in self._reduce(reduction))

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
    """Source offsets whose transactions decide a suspicion, are shown with it, or may be by a later audit."""
    suspicious = {write for each in keys.suspicions for write in (each.was, each.now, each.then) if write}
    return tuple(sorted({*suspicious, *keys.latest}))


def _in_question(logs: Iterable[PartitionLog], writers: Writers) -> frozenset[int]:
    """Producer IDs of connectors or unknown owners, whose history decides open transactions."""
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
    """The plan with the connectors of its output topics, known writers and seen ones."""
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
    """Ranges that no run read, as states of their own."""
    for each in plan.expired:
        scan = LogScan(each.start, each.end, GapKind.EXPIRED)
        payload = encode_audit_state(scan.state(()))
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
