"""Starts and rounds of fencing, a line for each connector."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from eosctl.model.audit_report import AuditReport, TimelineEvent
from eosctl.model.counts import counted
from eosctl.model.times import rfc3339
from eosctl.render.audit_page.figure import Figure, Row, category_axis, is_time, layout, time_axis, without_time
from eosctl.render.audit_page.names import in_plot, label, shown
from eosctl.render.views.audit import connector_rows

MOST_LINES: Final = 40
MOST_POINTS: Final = 4000
LISTED: Final = 500
KINDS: Final = {
    "commit": ("task commits", "circle", "#2f7ed8", 10),
    "fencing": ("rounds of fencing", "diamond", "#d9541e", 10),
    "session": ("producers began", "line-ns-open", "#1a936f", 10),
    "stop": ("stopped (0 tasks)", "square", "#b5489f", 9),
    "deleted": ("deleted", "x", "#6b7785", 10),
}
"""What each kind of event is called, its symbol, colour and size; each kind has its own height within the line."""
HEIGHTS: Final = {"commit": 0.29, "fencing": 0.0, "session": -0.3, "stop": 0.29, "deleted": 0.0}


def timeline_figure(report: AuditReport) -> Figure:
    """Task commits, rounds of fencing and first batches of producers; connectors with the worst verdict on top."""
    events: defaultdict[str, list[TimelineEvent]] = defaultdict(list)
    untimed = 0
    for event in report.timeline:
        if is_time(event.timestamp):
            events[event.connector].append(event)
        else:
            untimed += 1
    order = [row["name"] for row in connector_rows(report)]
    sinks = frozenset(report.sinks)
    names = [*(name for name in dict.fromkeys(order) if name in events), *sorted(events.keys() - set(order))]
    lines = names[:MOST_LINES]
    titles = [f"{label(name)} (sink)" if name in sinks else label(name) for name in lines]
    width = _width([event for name in lines for event in events[name]])
    return Figure(
        key="timeline",
        short="Starts",
        title="Starts and rounds of fencing",
        caption="Every start should be preceded by a round of fencing: a blue circle (tasks committed), then an orange "
        "diamond (fenced), then green strokes (its producers begin). A square is a stop: a commit of no tasks, which "
        "needs none. Sinks are never fenced; they are marked so.",
        summary=_summary(report, len(names)),
        headers=("Connector", "Kind", "Task commits", "Rounds of fencing", "Producers began", "Stops", "First", "Last"),
        rows=tuple(_row(name, events[name], name in sinks) for name in names[:LISTED]),
        traces=tuple(_traces(lines, events, width)),
        layout=layout(
            100 + 34 * len(lines),
            xaxis=time_axis(),
            yaxis=category_axis(titles, range=[len(lines) - 0.5, -0.5], zeroline=False),
            hovermode="closest",
        ),
        notes=(*_notes(len(names), len(lines), width), *without_time(untimed)),
    )


def _width(events: Sequence[TimelineEvent]) -> int:
    """How many ms are drawn as one point, so that there are not too many of them; 1 where each is drawn."""
    if len(events) <= MOST_POINTS:
        return 1
    times = [event.timestamp for event in events]
    lines = len({(event.connector, event.kind) for event in events})
    return max(1, (max(times) - min(times)) * lines // MOST_POINTS)


def _traces(lines: Sequence[str], events: Mapping[str, Sequence[TimelineEvent]], width: int) -> list[dict[str, Any]]:
    traces = []
    for kind, (title, symbol, colour, size) in KINDS.items():
        points: list[tuple[int, float, str]] = []
        for number, name in enumerate(lines):
            found = [event for event in events[name] if kind_of(event) == kind]
            groups: defaultdict[int, list[TimelineEvent]] = defaultdict(list)
            for event in found:
                groups[event.timestamp // width].append(event)
            points += [(each[0].timestamp, number - HEIGHTS[kind], _words(each)) for each in groups.values()]
        if points:
            xs, ys, texts = zip(*points, strict=True)
            marker = {"symbol": symbol, "color": colour, "size": size, "line": {"width": 2, "color": colour}}
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": title,
                    "x": xs,
                    "y": ys,
                    "text": texts,
                    "marker": marker,
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    return traces


def _words(events: Sequence[TimelineEvent]) -> str:
    event = events[0]
    title = KINDS[kind_of(event)][0]
    if len(events) > 1:
        return f"{in_plot(event.connector)}<br>{len(events):,} {title} from {rfc3339(event.timestamp)}"
    lines = [in_plot(event.connector), f"{title}, {rfc3339(event.timestamp)}"]
    lines += [f"{event.tasks} tasks"] if event.tasks is not None else []
    lines += [f"producer {event.producer_id}, epoch {event.producer_epoch}"] if event.producer_id is not None else []
    return "<br>".join([*lines, f"{in_plot(event.topic)}-{event.partition}, offset {event.offset}"])


def kind_of(event: TimelineEvent) -> str:
    """Its kind in KINDS: a stopped connector is one whose task configs the leader committed to be none."""
    return "stop" if event.kind == "commit" and event.tasks == 0 else event.kind


def _row(name: str, events: Sequence[TimelineEvent], is_sink: bool) -> Row:
    count, times = Counter(map(kind_of, events)), [event.timestamp for event in events]
    counts = (count["commit"], count["fencing"], count["session"], count["stop"])
    return (shown(name), "sink" if is_sink else "source", *counts, rfc3339(min(times)), rfc3339(max(times)))


def _summary(report: AuditReport, connectors: int) -> str:
    count = Counter(map(kind_of, report.timeline))
    sinks = f" ({counted(len(report.sinks), 'sink')} among them)" if report.sinks else ""
    return (
        f"{counted(connectors, 'connector')}{sinks}: {counted(count['commit'], 'task commit')}, "
        f"{counted(count['fencing'], 'round')} of fencing, {counted(count['session'], 'producer')} began, "
        f"{counted(count['stop'], 'stop')}."
    )


def _notes(all_lines: int, lines: int, width: int) -> list[str]:
    notes = []
    if all_lines > lines:
        notes.append(f"{lines} of {all_lines:,} connectors are drawn, those with the worst verdict first.")
    if width > 1:
        notes.append(f"Events of one kind within {width / 60_000:,.0f} minutes are drawn as one point.")
    if all_lines > LISTED:
        notes.append(f"The table has {LISTED} of {all_lines:,} connectors.")
    return notes
