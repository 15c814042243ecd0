"""Conclusions about transactions, added up. Adding is associative: parts may come in any grouping."""

from collections import Counter
from collections.abc import Iterable

from eosctl.analysis.audit.transaction_judgement import Bench, carries_data, duration_ms, stalls_of
from eosctl.analysis.audit.transaction_parts import Transaction
from eosctl.model.audit_report import Stall
from eosctl.model.audit_states import KEPT_PLACES
from eosctl.model.audit_summaries import OwnerFigures, Suspicion, Tally, TransactionSummary, Trouble

KEPT_STALLS = 100


def summarize(
    transaction: Transaction, troubles: tuple[Trouble, ...], suspicions: Iterable[Suspicion], bench: Bench
) -> TransactionSummary:
    """What one transaction adds."""
    return TransactionSummary(
        (_figures(transaction, bench),),
        tuple(Tally(each.kind, each.connectors, each.topic, 1, each.records) for each in troubles),
        troubles,
        tuple(stalls_of(transaction, bench)),
        tuple(each for each in suspicions if carries_data(transaction, each)),
    )


def _figures(transaction: Transaction, bench: Bench) -> OwnerFigures:
    owners = sorted({owner for part in transaction for owner in bench.owners.producers.get(part.producer_id, ())})
    ended = [part for part in transaction if part.marker_offset is not None]
    committed = any(part.committed for part in ended)
    data = [part for part in ended if not part.offsets]
    records, size = sum(part.records for part in data), sum(part.size_bytes for part in data)
    aborted = bool(ended) and not committed
    duration = duration_ms(transaction)
    return OwnerFigures(
        owners[0] if len(owners) == 1 else None,
        int(committed),
        int(aborted),
        0 if aborted else records,
        0 if aborted else size,
        records if aborted else 0,
        size if aborted else 0,
        ((records.bit_length(), 1),) if committed else (),
        ((duration.bit_length(), 1),) if committed and duration is not None else (),
    )


def add_summaries(summaries: Iterable[TransactionSummary]) -> TransactionSummary:
    """All of them as one; of troubles the first places of each kind, connector and topic are kept."""
    figures: dict[str | None, list[OwnerFigures]] = {}
    tallies: Counter[tuple[str, tuple[str, ...], str]] = Counter()
    records: Counter[tuple[str, tuple[str, ...], str]] = Counter()
    troubles: set[Trouble] = set()
    stalls: set[Stall] = set()
    confirmed: set[Suspicion] = set()
    for summary in summaries:
        for each in summary.figures:
            figures.setdefault(each.connector, []).append(each)
        for tally in summary.tallies:
            tallies[tally[:3]] += tally.transactions
            records[tally[:3]] += tally.records
        troubles.update(summary.troubles)
        stalls.update(summary.stalls)
        confirmed.update(summary.confirmed)
    return TransactionSummary(
        tuple(
            _add_figures(name, figures[name]) for name in sorted(figures, key=lambda each: (each is None, each or ""))
        ),
        tuple(Tally(*place, tallies[place], records[place]) for place in sorted(tallies)),
        first_troubles(troubles),
        tuple(sorted(stalls, key=_longest)[:KEPT_STALLS]),
        tuple(sorted(confirmed)),
    )


def first_troubles(troubles: Iterable[Trouble]) -> tuple[Trouble, ...]:
    """The earliest KEPT_PLACES of each kind, connectors and topic."""
    kept: dict[tuple[str, tuple[str, ...], str], list[Trouble]] = {}
    for trouble in sorted(troubles, key=lambda each: (each[:3], each.timestamp, each[3:])):
        places = kept.setdefault(trouble[:3], [])
        if len(places) < KEPT_PLACES:
            places.append(trouble)
    return tuple(trouble for places in kept.values() for trouble in places)


def _longest(stall: Stall) -> tuple[float, Stall]:
    length = float("inf") if stall.until_ms is None else stall.until_ms - stall.from_ms
    return -length, stall._replace(until_ms=stall.until_ms or 0, connector=stall.connector or "")


def _add_figures(connector: str | None, each: list[OwnerFigures]) -> OwnerFigures:
    return OwnerFigures(
        connector,
        sum(one.committed for one in each),
        sum(one.aborted for one in each),
        sum(one.records for one in each),
        sum(one.size_bytes for one in each),
        sum(one.aborted_records for one in each),
        sum(one.aborted_bytes for one in each),
        _add_histograms(one.sizes for one in each),
        _add_histograms(one.durations for one in each),
    )


def _add_histograms(each: Iterable[tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    counts: Counter[int] = Counter()
    for histogram in each:
        for place, count in histogram:
            counts[place] += count
    return tuple(sorted(counts.items()))
