"""Conclusions about transactions, added up. Adding is associative: parts may come in any grouping."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from eosctl.analysis.audit.transaction_judgement import JudgementInputs, duration_ms, stalls_of
from eosctl.analysis.audit.transaction_parts import Transaction
from eosctl.model.audit_report import Stall
from eosctl.model.audit_states import KEPT_PLACES, Part
from eosctl.model.audit_summaries import (
    Anomaly,
    CommittedData,
    OffsetsWrite,
    OutputPart,
    OwnerFigures,
    Tally,
    TransactionSummary,
)

KEPT_STALLS: Final = 100
Place = tuple[str, tuple[str, ...], str]


class AskedWrites:
    """Source offsets, found by the transaction that they were committed in."""

    def __init__(self, asked: Iterable[OffsetsWrite]) -> None:
        self._all = frozenset(asked)
        self._of: dict[tuple[int, str, int], list[OffsetsWrite]] = {}
        for each in sorted(self._all):
            self._of.setdefault((each.producer_id, each.topic, each.partition), []).append(each)

    def committed_in(self, transaction: Transaction) -> tuple[CommittedData, ...]:
        """Those whose record is of this transaction, with the data that it carried."""
        mine = [each for part in transaction if part.offsets and self._of for each in self._inside(part)]
        if not mine:
            return ()
        data = tuple(
            OutputPart(part.topic, part.partition, part.first, part.last, part.records)
            for part in transaction
            if part.records and not part.offsets
        )
        return tuple(CommittedData(each, data) for each in mine)

    def still(self, committed: Iterable[CommittedData]) -> tuple[CommittedData, ...]:
        """Those of earlier audits that this one asks for, too."""
        return tuple(each for each in committed if each.write in self._all)

    def _inside(self, part: Part) -> Sequence[OffsetsWrite]:
        mine = self._of.get((part.producer_id, part.topic, part.partition), ())
        return mine[bisect_left(mine, part.first, key=_offset) : bisect_right(mine, part.last, key=_offset)]


def _offset(write: OffsetsWrite) -> int:
    return write.offset


class Totals:
    """A sum that grows: of summaries, and of single transactions."""

    def __init__(self) -> None:
        self._figures: dict[str | None, _Figures] = {}
        self._tallies: Counter[Place] = Counter()
        self._records: Counter[Place] = Counter()
        self._anomalies: dict[Place, set[Anomaly]] = {}
        self._stalls: set[Stall] = set()
        self._committed: set[CommittedData] = set()

    def add(self, summary: TransactionSummary) -> None:
        """Take in a sum."""
        for each in summary.figures:
            self._of(each.connector).add(each)
        for tally in summary.tallies:
            self._tallies[tally[:3]] += tally.transactions
            self._records[tally[:3]] += tally.records
        self._add_places(summary.anomalies)
        self._add_stalls(summary.stalls)
        self._committed.update(summary.committed)

    def add_transaction(
        self,
        transaction: Transaction,
        anomalies: Sequence[Anomaly],
        committed: Iterable[CommittedData],
        inputs: JudgementInputs,
    ) -> None:
        """Take in a transaction, which counts once for each kind of anomaly and topic; it names nobody."""
        self._of(None).add_transaction(transaction, inputs.longest_ms)
        for anomaly in anomalies:
            self._records[anomaly[:3]] += anomaly.records
        for place in {anomaly[:3] for anomaly in anomalies}:
            self._tallies[place] += 1
        self._add_places(anomalies)
        self._add_stalls(stalls_of(transaction, inputs))
        self._committed.update(committed)

    def _of(self, connector: str | None) -> "_Figures":
        figures = self._figures.get(connector)
        if figures is None:
            figures = self._figures[connector] = _Figures()
        return figures

    def _add_places(self, anomalies: Iterable[Anomaly]) -> None:
        for anomaly in anomalies:
            known = self._anomalies.setdefault(anomaly[:3], set())
            known.add(anomaly)
            if len(known) > 10 * KEPT_PLACES:
                self._anomalies[anomaly[:3]] = set(first_troubles(known))

    def _add_stalls(self, stalls: Iterable[Stall]) -> None:
        self._stalls.update(stalls)
        if len(self._stalls) > 10 * KEPT_STALLS:
            self._stalls = set(_longest_stalls(self._stalls))

    def result(self) -> TransactionSummary:
        """The sum: of anomalies the first places of each kind, connectors and topic, of stalls the longest."""
        names = sorted(self._figures, key=lambda each: (each is None, each or ""))
        return TransactionSummary(
            tuple(self._figures[name].result(name) for name in names),
            tuple(Tally(*place, self._tallies[place], self._records[place]) for place in sorted(self._tallies)),
            first_troubles(anomaly for place in sorted(self._anomalies) for anomaly in self._anomalies[place]),
            _longest_stalls(self._stalls),
            tuple(sorted(self._committed)),
        )


class _Figures:
    """Figures of one connector that grow."""

    def __init__(self) -> None:
        self._sums = (0, 0, 0, 0, 0, 0)
        self._sizes: Counter[int] = Counter()
        self._durations: Counter[int] = Counter()

    def add(self, figures: OwnerFigures) -> None:
        self._add(*figures[1:7])
        self._sizes.update(dict(figures.sizes))
        self._durations.update(dict(figures.durations))

    def add_transaction(self, transaction: Transaction, longest_ms: int) -> None:
        ended = [part for part in transaction if part.marker_offset is not None]
        if not ended:
            return
        data = [part for part in ended if not part.offsets]
        records, size = sum(part.records for part in data), sum(part.size_bytes for part in data)
        committed = any(part.committed for part in ended)
        added = (1, 0, records, size, 0, 0) if committed else (0, 1, 0, 0, records, size)
        self._add(*added)
        duration = duration_ms(transaction, longest_ms) if committed else None
        if committed:
            self._sizes[records.bit_length()] += 1
        if duration is not None:
            self._durations[duration.bit_length()] += 1

    def _add(self, *added: int) -> None:
        one, two, three, four, five, six = (had + more for had, more in zip(self._sums, added, strict=True))
        self._sums = one, two, three, four, five, six

    def result(self, connector: str | None) -> OwnerFigures:
        histograms = tuple(sorted(self._sizes.items())), tuple(sorted(self._durations.items()))
        return OwnerFigures(connector, *self._sums, *histograms)


def add_summaries(summaries: Iterable[TransactionSummary]) -> TransactionSummary:
    """All of them as one."""
    totals = Totals()
    for summary in summaries:
        totals.add(summary)
    return totals.result()


def first_troubles(anomalies: Iterable[Anomaly]) -> tuple[Anomaly, ...]:
    """The earliest KEPT_PLACES of each kind, connectors and topic."""
    kept: dict[tuple[str, tuple[str, ...], str], list[Anomaly]] = {}
    for anomaly in sorted(anomalies, key=lambda each: (each[:3], each.timestamp, each[3:])):
        places = kept.setdefault(anomaly[:3], [])
        if len(places) < KEPT_PLACES:
            places.append(anomaly)
    return tuple(anomaly for places in kept.values() for anomaly in places)


def _longest_stalls(stalls: Iterable[Stall]) -> tuple[Stall, ...]:
    return tuple(sorted(stalls, key=_longest)[:KEPT_STALLS])


def _longest(stall: Stall) -> tuple[float, Stall]:
    length = float("inf") if stall.until_ms is None else stall.until_ms - stall.from_ms
    return -length, stall._replace(until_ms=stall.until_ms or 0, connector=stall.connector or "")
