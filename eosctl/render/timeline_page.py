"""The timeline as one HTML file: a lane for each worker, connector, task and producer, and every event in a table.

It is made of the same parts as the audit's page, and asks the network for nothing either.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.model.report import Severity
from eosctl.model.text import pluralize
from eosctl.model.timeline import Event, EventSource, Timeline
from eosctl.model.times import rfc3339
from eosctl.render.answers.timeline import event_row, partition_row, summary_of, timeline_notes, words
from eosctl.render.audit_page import render_page
from eosctl.render.audit_page.plots import (
    PALETTE,
    Figure,
    category_axis,
    chart,
    in_plot,
    is_time,
    label,
    layout,
    time_axis,
    without_time,
)

MOST_LANES: Final = 60
MOST_POINTS: Final = 6_000
MOST_ROWS: Final = 5_000
LONGEST_TEXT: Final = 300
SYMBOLS: Final[Mapping[EventSource, str]] = {
    EventSource.CONFIG: "diamond",
    EventSource.STATUS: "circle",
    EventSource.OFFSETS: "square",
    EventSource.TRANSACTIONS: "triangle-up",
    EventSource.GROUP: "hexagon",
    EventSource.OUTPUT: "triangle-down",
    EventSource.PLAN: "star",
}
TROUBLE: Final = {Severity.ERROR: ("errors", "x", "#cf3f57"), Severity.WARNING: ("warnings", "cross", "#947313")}

Lane = tuple[int, str]
"""Its kind (workers first, then connectors and tasks, producers, topics), and its name."""


def render_timeline_page(found: Timeline) -> str:
    """Raises ConfigError where the extra `report` is not installed."""
    facts, timed = found.facts, [each for each in found.facts.events if is_time(each.at)]
    counts = Counter(each.severity.value for each in facts.events)
    troubled = [each for each in facts.events if each.severity is not Severity.INFO]
    shown = _shown(facts.events)
    return render_page(
        "timeline.html",
        (lanes_figure(facts.events),),
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        group_id=found.group_id,
        summary=summary_of(found),
        first=rfc3339(min(each.at for each in timed)) if timed else None,
        last=rfc3339(max(each.until for each in timed)) if timed else None,
        notes=timeline_notes(found),
        counts=counts,
        findings=[event_row(each) for each in troubled[:MOST_ROWS]],
        rows=[event_row(each) for each in shown],
        left_out=len(facts.events) - len(shown),
        partitions=[partition_row(each) for each in facts.partitions],
        unread=found.coverage.unread,
    )


def _shown(events: Sequence[Event]) -> list[Event]:
    """At most MOST_ROWS in their order: errors and warnings first of all, then the latest."""
    if len(events) <= MOST_ROWS:
        return list(events)
    troubled = {number for number, each in enumerate(events) if each.severity is not Severity.INFO}
    others = (number for number in range(len(events) - 1, -1, -1) if number not in troubled)
    kept = sorted(troubled)[-MOST_ROWS:]
    kept += [number for number, _ in zip(others, range(MOST_ROWS - len(kept)), strict=False)]
    return [events[number] for number in sorted(kept)]


def lanes_of(event: Event) -> Iterator[Lane]:
    """The lanes of the event: a status is in its worker's lane, and in its task's or connector's."""
    actor, source = event.actor, event.source
    if actor.worker and source in {EventSource.STATUS, EventSource.GROUP}:
        yield 0, f"worker {actor.worker}"
    if source in {EventSource.TRANSACTIONS, EventSource.OUTPUT} and (actor.transactional_id or actor.producer):
        yield 2, actor.transactional_id or f"producer {actor.producer}"
    elif event.connector is not None:
        yield 1, event.connector if event.task is None else f"{event.connector}-{event.task}"
    elif not actor.worker and event.place is not None:
        yield 3, f"topic {event.place.topic}"


def lanes_figure(events: Sequence[Event]) -> Figure:
    """Every event in its lanes, by time; errors and warnings above the others."""
    lanes: defaultdict[Lane, list[Event]] = defaultdict(list)
    untimed = 0
    for event in events:
        untimed += not is_time(event.at)
        for lane in lanes_of(event) if is_time(event.at) else ():
            lanes[lane].append(event)
    worst = sorted(lanes, key=lambda lane: (-_weight(lanes[lane]), lane))
    order = sorted(worst[:MOST_LANES])
    width = _width([each for lane in order for each in lanes[lane]], len(order))
    left_out = len(lanes) - len(order)
    return Figure(
        key="lanes",
        short="Lanes",
        title="Lanes of workers, connectors, tasks and producers",
        caption="Each lane has the events of one worker, connector, task or producer, from left to right. A line is a "
        "run of equal events. Errors are crosses, warnings pluses.",
        summary=f"{pluralize(len(order), 'lane')}, {pluralize(sum(map(len, lanes.values())), 'mark')}.",
        headers=("Lane", "Events", "Errors", "Warnings", "First", "Last"),
        rows=tuple(_row(lane, lanes[lane]) for lane in order),
        traces=tuple(_traces(order, lanes, width)),
        layout=layout(
            120 + 26 * len(order),
            xaxis=time_axis(),
            yaxis=category_axis([label(name) for _, name in order], range=[len(order) - 0.5, -0.5]),
            hovermode="closest",
        ),
        notes=(
            *([f"{pluralize(left_out, 'lane')} with fewer events omitted."] if left_out else []),
            *([f"Events within {width:,} ms are one mark."] if width > 1 else []),
            *without_time(untimed),
        ),
    )


def _weight(events: Sequence[Event]) -> int:
    """The weight of a lane: a warning outweighs a hundred other events, an error a hundred warnings."""
    weights = {Severity.ERROR: 10_000, Severity.WARNING: 100, Severity.INFO: 1}
    return sum(weights[each.severity] for each in events)


def _row(lane: Lane, events: Sequence[Event]) -> tuple[object, ...]:
    counts = Counter(each.severity for each in events)
    first, last = min(each.at for each in events), max(each.until for each in events)
    return lane[1], len(events), counts[Severity.ERROR], counts[Severity.WARNING], rfc3339(first), rfc3339(last)


def _width(events: Sequence[Event], lanes: int) -> int:
    """The ms in one mark, to bound the number of marks; 1 draws each."""
    if len(events) <= MOST_POINTS:
        return 1
    times = [each.at for each in events]
    return max(1, (max(times) - min(times)) * lanes // MOST_POINTS)


def _traces(order: Sequence[Lane], lanes: Mapping[Lane, Sequence[Event]], width: int) -> Iterator[dict[str, Any]]:
    runs_x: list[int | None] = []
    runs_y: list[int | None] = []
    points: defaultdict[tuple[str, str, str], list[tuple[int, int, str]]] = defaultdict(list)
    for number, lane in enumerate(order):
        grouped: dict[tuple[int, str], list[Event]] = {}
        for event in lanes[lane]:
            if event.run is not None:
                runs_x += [event.at, event.until, None]
                runs_y += [number, number, None]
            grouped.setdefault((event.at // width, _style(event)[0]), []).append(event)
        for some in grouped.values():
            points[_style(some[0])].append((some[0].at, number, _text(lane, some)))
    if runs_x:
        line = {"width": 3, "color": "rgba(107,119,133,0.6)"}
        yield {"type": "scatter", "name": "runs", "x": runs_x, "y": runs_y, "mode": "lines", "line": line} | {
            "hoverinfo": "skip"
        }
    for (name, symbol, colour), marks in sorted(points.items()):
        xs, ys, texts = zip(*marks, strict=True)
        marker = {"symbol": symbol, "color": colour, "size": 12 if name in {"errors", "warnings"} else 9}
        yield chart("scatter", name, xs, ys, texts, mode="markers", marker=marker)


def _style(event: Event) -> tuple[str, str, str]:
    """Name, symbol and colour of its marks."""
    if event.severity in TROUBLE:
        return TROUBLE[event.severity]
    number = list(EventSource).index(event.source)
    return event.source.value, SYMBOLS[event.source], PALETTE[number]


def _text(lane: Lane, events: Sequence[Event]) -> str:
    event = events[0]
    more = [f"and {len(events) - 1:,} more"] if events[1:] else []
    lines = [lane[1], f"{event.kind}, {rfc3339(event.at)}", words(event)[:LONGEST_TEXT], str(event.actor), *more]
    return "<br>".join(in_plot(line) for line in lines if line)
