"""Where the last stable offset did not move: transactions that were open for long."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from eosctl.model.audit_report import AuditReport, Stall
from eosctl.model.counts import counted
from eosctl.model.times import rfc3339
from eosctl.render.audit_page.figure import Figure, category_axis, is_time, layout, time_axis, without_time
from eosctl.render.audit_page.names import duration_words, in_plot, label, shown

MOST_STALLS: Final = 200
MOST_LINES: Final = 30
KINDS: Final = {False: ("ended", "#947313"), True: ("still open", "#cf3f57")}


def stalls_figure(report: AuditReport) -> Figure:
    """A bar for each long transaction, from its first batch to its marker, one line a partition."""
    as_of = report.plan.as_of
    timed = [
        each for each in report.stalls if is_time(each.from_ms) and (each.until_ms is None or is_time(each.until_ms))
    ]
    order = sorted(timed, key=lambda each: (-_length(each, as_of), each.topic, each.partition, each.start_offset))
    lines = list(dict.fromkeys((each.topic, each.partition) for each in order))[:MOST_LINES]
    drawn = [each for each in order if (each.topic, each.partition) in lines][:MOST_STALLS]
    notes = [f"The {len(drawn)} longest of {len(order):,} are drawn."] if len(drawn) < len(order) else []
    notes += [f"The table has the longest {MOST_STALLS} of {len(order):,}."] if len(order) > MOST_STALLS else []
    still_open = sum(each.until_ms is None for each in order)
    names = [label(f"{topic}-{partition}") for topic, partition in lines]
    return Figure(
        key="stalls",
        short="Stalls",
        title="Where the last stable offset did not move",
        caption=(
            "Behind the first record of an open transaction, read_committed consumers get nothing. "
            "Beginnings are the records' times, which MirrorSource takes from the source."
        ),
        summary=f"{counted(len(order), 'transaction')} open for long, {still_open:,} of them still open.",
        headers=("Partition", "Offset", "From", "For", "Whose"),
        rows=tuple(_row(each, report) for each in order[:MOST_STALLS]),
        traces=tuple(_traces(drawn, lines, report)),
        layout=layout(
            110 + 30 * len(lines),
            xaxis=time_axis(),
            yaxis=category_axis(names, range=[len(lines) - 0.5, -0.5]),
            barmode="overlay",
            hovermode="closest",
        ),
        notes=(*notes, *without_time(len(report.stalls) - len(timed))),
    )


def _length(stall: Stall, as_of: int) -> int:
    return max(0, (as_of if stall.until_ms is None else stall.until_ms) - stall.from_ms)


def _traces(stalls: Sequence[Stall], lines: Sequence[tuple[str, int]], report: AuditReport) -> list[dict[str, Any]]:
    traces, as_of = [], report.plan.as_of
    for still_open, (title, colour) in KINDS.items():
        found = [each for each in stalls if (each.until_ms is None) is still_open]
        if found:
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": title,
                    "y": [lines.index((each.topic, each.partition)) for each in found],
                    "base": [each.from_ms for each in found],
                    "x": [_length(each, as_of) for each in found],
                    "text": [_words(each, report) for each in found],
                    "textposition": "none",
                    "width": 0.5,
                    "marker": {"color": colour, "line": {"color": colour, "width": 3}, "pattern": _pattern(still_open)},
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    return traces


def _pattern(still_open: bool) -> dict[str, Any]:
    return {"shape": "/", "size": 6, "solidity": 0.4} if still_open else {}


def _words(stall: Stall, report: AuditReport) -> str:
    length = duration_words(_length(stall, report.plan.as_of))
    return (
        f"{in_plot(stall.topic)}-{stall.partition}, offset {stall.start_offset}<br>{_owner(stall, report, in_plot)}<br>"
        f"from {rfc3339(stall.from_ms)} for {length}"
    )


def _owner(stall: Stall, report: AuditReport, text: Callable[[str], str]) -> str:
    owner, producer = report.owner_of(stall), f"producer {stall.producer_id}"
    return producer if owner == producer else f"{text(owner)}, {producer}"


def _row(stall: Stall, report: AuditReport) -> tuple[object, ...]:
    length = duration_words(_length(stall, report.plan.as_of)) + (", still open" if stall.until_ms is None else "")
    return (
        shown(f"{stall.topic}-{stall.partition}"),
        stall.start_offset,
        rfc3339(stall.from_ms),
        length,
        _owner(stall, report, shown),
    )
