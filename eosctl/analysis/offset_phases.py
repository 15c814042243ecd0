"""What the phase of the workers changes about where a connector begins.

The worker-global store is read committed by workers that are enabled, and uncommitted by all others whose file does not
say isolation.level=read_committed (KafkaOffsetBackingStore.configure). So an offset whose transaction was aborted, or
is open, counts for the latter: the records up to it were never committed, and are skipped.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from eosctl.analysis.catalogue.offsets import REWRITTEN_BEFORE_CREATION, UNCOMMITTED_OFFSET
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.merged_offsets import ByKey, Merger
from eosctl.model.counts import counted
from eosctl.model.merged_offsets import ByPhase, ConnectorOffsets, MergedOffset, StoredOffset
from eosctl.model.offset_stores import OffsetStores, SourceSupport, WorkerSettings
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped

Stores = tuple[OffsetStores, ...]
SHOWN: Final = 10


def in_phase(worker: WorkerSettings, support: SourceSupport) -> WorkerSettings:
    """The same workers with this exactly.once.source.support."""
    return replace(worker, exactly_once=support)


def uncommitted_keys(records: ByKey) -> frozenset[bytes | None]:
    """The raw keys of which a partition holds a later record than the last one that was committed."""
    return frozenset(
        raw
        for raw, lies in records.items()
        if any((each.open or each.aborted) is not None and each.last is not each.committed for each in lies)
    )


def by_phase(
    merger: Merger,
    offsets: Sequence[MergedOffset],
    enabled: Stores | Skipped,
    not_enabled: Stores | Skipped,
    uncommitted: Collection[bytes | None],
) -> tuple[MergedOffset, ...]:
    """The same offsets of one connector with what each phase begins from, where that differs."""
    if isinstance(enabled, Skipped) or isinstance(not_enabled, Skipped):
        return tuple(offsets)
    moved = [each.places for each in enabled] != [each.places for each in not_enabled]
    asked = [each.key for each in offsets if moved or each.key.raw in uncommitted]
    pairs = zip(merger.merge(asked, enabled), merger.merge(asked, not_enabled), strict=True)
    found = {
        first.key.raw: ByPhase(first.kafka_effective, second.kafka_effective, first.key.raw in uncommitted)
        for first, second in pairs
        if _value(first.kafka_effective) != _value(second.kafka_effective)
    }
    return tuple(each._replace(by_phase=found.get(each.key.raw)) if found else each for each in offsets)


def _value(answer: StoredOffset | Skipped | None) -> object:
    return answer.value if isinstance(answer, StoredOffset) else answer


def uncommitted_offsets(connector: ConnectorOffsets, worker: WorkerSettings) -> Iterator[Finding]:
    """The offsets that only workers that are not enabled begin from: harmless while all are enabled.

    Connect keeps the offsets of a connector that is deleted, and a new one of its name begins there: a warning at most.
    """
    found = [(each, each.by_phase) for each in connector.offsets if each.by_phase and each.by_phase.uncommitted]
    if not found:
        return
    severity = Severity.INFO if worker.exactly_once is SourceSupport.ENABLED else None
    severity = Severity.WARNING if isinstance(worker.exactly_once, Skipped) else severity
    gone, cure = "", UNCOMMITTED_OFFSET.fix_for(worker.version)
    if connector.known is False:
        severity, cure = severity or Severity.WARNING, REWRITTEN_BEFORE_CREATION
        gone = ". The connector does not exist, and one of its name would begin there"
    first = found[0][1]
    yield UNCOMMITTED_OFFSET.finding(
        connector.name,
        f"{counted(len(found), 'source partition')}: the last offset is of a transaction that was aborted or is open. "
        f"Workers that are not enabled begin from it, in the first {_shown(first.not_enabled)} instead of "
        f"{_shown(first.enabled)}, and skip what lies between{gone}",
        {"offsets": len(found), "examples": [_example(row, phases) for row, phases in found[:SHOWN]]},
        cure=for_connector(cure, connector.name),
        severity=severity,
    )


def _shown(answer: StoredOffset | Skipped | None) -> str:
    if isinstance(answer, StoredOffset):
        return f"{answer.value} ({answer.topic_partition}@{answer.record.offset})"
    return "nothing" if answer is None else f"what is not known ({answer.reason})"


def _example(row: MergedOffset, phases: ByPhase) -> Mapping[str, object]:
    enabled, other = _value(phases.enabled), _value(phases.not_enabled)
    return {
        "partition": None if row.key.partition is None else dict(row.key.partition),
        "enabled": enabled.reason if isinstance(enabled, Skipped) else enabled,
        "not_enabled": other.reason if isinstance(other, Skipped) else other,
    }
