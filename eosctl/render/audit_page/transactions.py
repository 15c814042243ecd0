"""How large transactions are and how long they take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from eosctl.model.audit_report import AuditReport, TransactionStatistics
from eosctl.model.counts import counted
from eosctl.model.histograms import bucket_bounds
from eosctl.render.audit_page.figure import OTHERS, PALETTE, Figure, category_axis, layout
from eosctl.render.audit_page.names import NONE, duration_words, in_plot, label

MOST_CONNECTORS: Final = 8
WIDEST: Final = 64


def transaction_figures(report: AuditReport) -> tuple[Figure, Figure]:
    """Two histograms, of records in a transaction and of its duration, stacked by connector."""
    order = sorted(report.transactions, key=lambda each: -sum(each.sizes.values()))
    return (
        _histogram(
            ("sizes", "Sizes"),
            "Records in a transaction",
            "How many records lie between a transaction's begin and its marker; each bar covers twice the last.",
            [(each, each.sizes) for each in order],
            "{:,}".format,
        ),
        _histogram(
            ("durations", "Durations"),
            "Duration of a transaction",
            "From a transaction's first batch to its marker: as long as that, read_committed consumers wait.",
            [(each, each.durations) for each in order],
            duration_words,
        ),
    )


def _histogram(
    names: tuple[str, str],
    title: str,
    caption: str,
    found: Sequence[tuple[TransactionStatistics, Mapping[int, int]]],
    words: Callable[[int], str],
) -> Figure:
    key, short = names
    found = [(each, histogram) for each, histogram in found if histogram]
    used = [bucket for _, histogram in found for bucket in histogram]
    buckets = range(min(used, default=0), min(max(used, default=0), WIDEST) + 1)
    titles = [_bucket_words(bucket, words) for bucket in buckets]
    drawn, rest = found[:MOST_CONNECTORS], found[MOST_CONNECTORS:]
    total = _sum(histogram for _, histogram in found)
    parts = [(_name(each.connector), PALETTE[number], dict(counts)) for number, (each, counts) in enumerate(drawn)]
    parts += [(f"{len(rest):,} others", OTHERS, _sum(counts for _, counts in rest))] if rest else []
    return Figure(
        key=key,
        short=short,
        title=title,
        caption=caption,
        summary=_summary([each for each, _ in found], sum(total.values())),
        headers=("From, to", "Transactions"),
        rows=tuple((name, total.get(bucket, 0)) for bucket, name in zip(buckets, titles, strict=True)),
        traces=tuple(
            {
                "type": "bar",
                "name": label(name),
                "x": list(range(len(buckets))),
                "y": [counts.get(bucket, 0) for bucket in buckets],
                "text": [f"{in_plot(name)}<br>{each}" for each in titles],
                "textposition": "none",
                "marker": {"color": colour},
                "hovertemplate": "%{text}<br>%{y:,} transactions<extra></extra>",
            }
            for name, colour, counts in parts
        ),
        layout=layout(
            360,
            xaxis=category_axis(titles),
            yaxis={"title": {"text": "transactions"}, "rangemode": "tozero"},
            barmode="stack",
            bargap=0.06,
        ),
        notes=(f"The {MOST_CONNECTORS} connectors with most transactions are distinguished.",) if rest else (),
    )


def _summary(found: Sequence[TransactionStatistics], transactions: int) -> str:
    """Whose transactions are drawn; what no known task wrote is no connector."""
    named = sum(each.connector is not None for each in found)
    whose = [counted(named, "connector")] if named or len(found) == named else []
    whose += ["producers of no known task"] if len(found) > named else []
    return f"{counted(transactions, 'committed transaction')} of {' and of '.join(whose)}."


def _bucket_words(bucket: int, words: Callable[[int], str]) -> str:
    low, high = map(words, bucket_bounds(bucket))
    return low if low == high else f"{low} to {high}"


def _name(connector: str | None) -> str:
    return NONE if connector is None else connector


def _sum(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            total[bucket] = total.get(bucket, 0) + count
    return total
