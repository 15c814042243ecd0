"""Counts what came of source offsets that somebody changed: their writes are read once more, all of them.

The states of an audit hold of each key what its judgement needs, and not its history. Changes are rare, so the offsets
topics' partitions of the connectors concerned are read again where there is one, in this process; and where earlier
runs of a job read the data, its batch headers, too.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from heapq import merge
from typing import Final, NamedTuple

from eosctl.analysis.audit.evidence import Evidence
from eosctl.analysis.audit.key_anomalies import PlacedWrite
from eosctl.analysis.audit.key_resolution import Data, is_stopped
from eosctl.analysis.audit.offset_changes import ChangeInputs, KeyWrite, offset_changes
from eosctl.codecs.audit_states import decode_json, read_offsets_key
from eosctl.codecs.record_batches import decode_entries
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan, OffsetRange, TopicRole
from eosctl.model.audit_states import ReadKey, Write
from eosctl.model.audit_summaries import ConnectorHistory, OffsetsChange, OffsetsWrite
from eosctl.model.names import TopicPartition
from eosctl.sources.audit_log import DataBatch, OpenSource

MOST_WRITES: Final = 200_000
"""Writes of one connector that are looked at: the last ones."""

Committed = Callable[[AuditPlan, Sequence[OffsetsWrite]], Mapping[OffsetsWrite, Data]]
"""Gives what the transactions of these source offsets wrote beside them, read by this plan where not all is at hand."""


class _Writes(NamedTuple):
    """Those of one connector by key and in their order; whole: none is missing, none was outside transactions."""

    of: Mapping[bytes | None, Sequence[KeyWrite]]
    whole: bool


def count_changes(evidence: Evidence, open_source: OpenSource, committed: Committed) -> tuple[OffsetsChange, ...]:
    """What came of each change of source offsets, as far as the logs show it now."""
    found: list[OffsetsChange] = []
    for history in evidence.config.connectors:
        altering = _altering(evidence, history)
        if altering:
            found += _of_connector(evidence, history, altering, open_source, committed)
    return tuple(found)


def _altering(evidence: Evidence, history: ConnectorHistory) -> frozenset[tuple[int, int]]:
    """Sessions of the connector's producers that began, in an offsets topic, while it was stopped."""
    return frozenset(
        (each.producer_id, each.producer_epoch)
        for each in evidence.sessions
        if each.connector == history.connector
        and evidence.topics[each.topic].role is TopicRole.OFFSETS
        and is_stopped(history, each.timestamp)
    )


def _of_connector(
    evidence: Evidence,
    history: ConnectorHistory,
    altering: AbstractSet[tuple[int, int]],
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


def _plan_again(evidence: Evidence, connector: str, outputs: Sequence[str]) -> AuditPlan:
    """All that is left of the connector's outputs, and of the partitions that have offsets of it."""
    mine = {
        (log.topic, log.partition)
        for log in evidence.logs
        if log.settled is not None and evidence.topics[log.topic].role is TopicRole.OFFSETS
        if any(connector in evidence.owners.get(each.producer_id, ()) for each in log.settled.producers)
    }
    ranges = tuple(
        OffsetRange(each.topic, each.partition, start, each.last_stable_offset)
        for each in evidence.plan.bounds
        if each.topic in outputs or (each.topic, each.partition) in mine
        if (start := max(each.log_start_offset, each.audited_from)) < each.last_stable_offset
    )
    return replace(evidence.plan, ranges=ranges, expired=())


def _read_writes(evidence: Evidence, connector: str, plan: AuditPlan, open_source: OpenSource) -> _Writes:
    keys: dict[bytes | None, ReadKey] = {}
    kept: deque[tuple[bytes | None, PlacedWrite]] = deque(maxlen=MOST_WRITES)
    count = 0
    with open_source() as source:
        for offsets in plan.ranges:
            if evidence.topics[offsets.topic].role is not TopicRole.OFFSETS:
                continue
            for item in source.read(plan, offsets):
                for raw, write in _entries(item, offsets.start) if isinstance(item, DataBatch) else ():
                    key = keys[raw] if raw in keys else keys.setdefault(raw, read_offsets_key(raw))
                    if key.connector == connector:
                        kept.append((raw, PlacedWrite(offsets.topic_partition, write)))
                        count += 1
    of, plain = _by_key(kept, keys)
    known = next((each.records for each in evidence.keys.connectors if each.connector == connector), count)
    begun = all(each.start == 0 for each in plan.ranges if evidence.topics[each.topic].role is TopicRole.OFFSETS)
    compacted = evidence.whole_since is None or evidence.whole_since >= 0
    whole = begun and not compacted and not plain and count == known and len(kept) == count
    return _Writes(of, whole)


def _entries(item: DataBatch, start: int) -> Iterator[tuple[bytes | None, Write]]:
    """The committed records of a batch; none of one that is damaged, which the audit reports."""
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
    """Those in transactions, in the order of their time between topics; and whether there are others.

    Beside a connector's own topic its worker writes plain copies to the worker's: they are no others.
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
    """Each with a time that does not go back within the partition, whatever clocks did."""
    latest = 0
    for each in writes:
        latest = max(latest, each.placed.write.timestamp)
        yield latest, each.placed.place, each.placed.write.offset, each
