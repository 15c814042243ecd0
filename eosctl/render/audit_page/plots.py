"""Starts and rounds of fencing, a line for each connector."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from eosctl.model.audit import AuditReport, EpochPoint, Growth, Stall, TimelineEvent, TransactionStatistics
from eosctl.model.audit_states import bucket_bounds
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.audit import connector_rows
from eosctl.render.cells import escape_controls
from eosctl.render.formats import TIMES

PALETTE: Final = ("#2f7ed8", "#d9541e", "#1a936f", "#b5489f", "#947313", "#7a68dd", "#cf3f57", "#3a8a9e", "#5f8f1c")
"""Distinguished at a contrast of 3.6 or more against both the light and the dark page."""
OTHERS: Final = "#6b7785"
LATEST: Final = 253_402_300_799_999
"""The last ms of the year 9999: a later timestamp is no time."""

Row = tuple[object, ...]
Axis = Mapping[str, Any]


class Figure(Struct, frozen=True):
    """A plot of the page.

    short is its title in one word. caption says how to read it. summary is its result in words. notes name omitted or
    summed data. traces and layout are Plotly's. headers and rows are the figures behind it. No traces: nothing to plot.
    """

    key: str
    short: str
    title: str
    caption: str
    summary: str
    headers: tuple[str, ...]
    rows: tuple[Row, ...]
    traces: tuple[Mapping[str, Any], ...]
    layout: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def plot(self) -> dict[str, Any]:
        """The arguments of the page's script for Plotly."""
        return {"key": self.key, "traces": self.traces, "layout": self.layout}


def faint(colour: str) -> str:
    """`#rrggbb` at 60 % in the form that every Plotly takes; `#rrggbbaa` is new."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},0.6)"


def axis(more: Axis) -> dict[str, Any]:
    """An axis with room for its labels and a faint grid."""
    return {"automargin": True, "gridcolor": "rgba(136,136,136,0.53)", "zeroline": False, **more}


def layout(height: int, xaxis: Axis, yaxis: Axis, **more: object) -> dict[str, Any]:
    """Layout of all plots: room for names, colours set by the page's style, no frame."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "hoverlabel": {"align": "left"},
        "xaxis": axis(xaxis),
        "yaxis": axis(yaxis),
        **more,
    }


def chart(
    kind: str, name: str, x: Sequence[object], y: Sequence[object], text: object, **more: object
) -> dict[str, Any]:
    """One trace of Plotly; its points show their text unless `more` has another hovertemplate."""
    hover = "%{text}<extra></extra>"
    return {"type": kind, "name": name, "x": x, "y": y, "text": text, "hovertemplate": hover, **more}


def time_axis(**more: object) -> dict[str, Any]:
    """An axis of ms since the epoch, in UTC."""
    return {"type": "date", "hoverformat": "%Y-%m-%d %H:%M:%S UTC", **more}


def category_axis(labels: Sequence[str], **more: object) -> dict[str, Any]:
    """An axis with these labels at 0, 1, 2 …: two that look alike stay two."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": list(labels), **more}


def is_time(timestamp: int | None) -> bool:
    """True if it can be plotted: Kafka writes -1 for no timestamp, and a producer may write anything."""
    return timestamp is not None and 0 <= timestamp <= LATEST


def without_time(count: int) -> Iterable[str]:
    """The note on events without a time."""
    return [f"{count:,} of them have no valid timestamp, and are not drawn."] if count else []


LONGEST_LABEL: Final = 28
NONE: Final = "no known task"


def shown(name: str) -> str:
    """`name` with control characters, and characters that have no width or turn the text around, as escapes."""
    return escape_controls(name)


def in_plot(name: str) -> str:
    """`shown(name)` for a plot's text, where tags and entities would be markup."""
    return shown(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label(name: str) -> str:
    """`in_plot(name)`, its middle left out where it is too long for an axis."""
    text = shown(name)
    if len(text) > LONGEST_LABEL:
        text = f"{text[: LONGEST_LABEL - 10]}…{text[-9:]}"
    return in_plot(text)


def words(value: object) -> str:
    """One value of a finding's evidence as text."""
    match value:
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{shown(str(name))} {words(each)}" for name, each in value.items()) or "-"
        case str():
            return shown(value)
        case Sequence():
            return ", ".join(map(words, value)) or "-"
        case None:
            return "-"
    return shown(str(value))


def named_words(name: str, value: object) -> str:
    """`words(value)`; a timestamp in ms as a time."""
    if name in TIMES and isinstance(value, int) and value >= 0:
        return rfc3339(value)
    return words(value)


def size_words(size_bytes: int) -> str:
    """Bytes in the largest unit of 1,024 that leaves at least one: `71.4 MiB`."""
    size, units = float(size_bytes), iter(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = next(units)
    for larger in units:
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size_bytes} B" if unit == "B" else f"{size:,.1f} {unit}"


def duration_words(duration_ms: int) -> str:
    """A duration in its two largest units: `3 h 20 min`."""
    seconds = duration_ms // 1000
    if seconds < 1:
        return f"{duration_ms} ms"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts = []
    for name, each in units:
        count, seconds = divmod(seconds, each)
        parts.append((count, name))
    first = next(number for number, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count:,} {name}" for count, name in parts[first : first + 2] if count)


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
"""Each kind of event's name, symbol, colour and size; each kind has its own height within the line."""
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
    order = [row.name for row in connector_rows(report)]
    sinks = frozenset(report.sinks)
    names = [*(name for name in dict.fromkeys(order) if name in events), *sorted(events.keys() - set(order))]
    lines = names[:MOST_LINES]
    titles = [f"{label(name)} (sink)" if name in sinks else label(name) for name in lines]
    width = _width([event for name in lines for event in events[name]])
    return Figure(
        key="timeline",
        short="Starts",
        title="Starts and rounds of fencing",
        caption="A round of fencing should precede every start: a blue circle (tasks committed), an orange diamond "
        "(fenced), then green strokes (its producers begin). A square is a stop: a commit of no tasks, which needs "
        "none. Sinks are never fenced; they are marked so.",
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
    """The ms in one point, to bound the number of points; 1 draws each."""
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
            traces.append(chart("scatter", title, xs, ys, texts, mode="markers", marker=marker))
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
    sinks = f" ({pluralize(len(report.sinks), 'sink')} among them)" if report.sinks else ""
    return (
        f"{pluralize(connectors, 'connector')}{sinks}: {pluralize(count['commit'], 'task commit')}, "
        f"{pluralize(count['fencing'], 'round')} of fencing, {pluralize(count['session'], 'producer')} began, "
        f"{pluralize(count['stop'], 'stop')}."
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


MOST_PRODUCERS: Final = 24
MOST_EPOCHS: Final = 60
NUMBERS_ACROSS: Final = 45


def epochs_figure(report: AuditReport) -> Figure:
    """A line for each producer ID with the number of each epoch where it began; those with most epochs are drawn.

    A producer whose epochs went back is drawn before all others.
    """
    producers: defaultdict[int, list[EpochPoint]] = defaultdict(list)
    for point in report.epochs:
        if is_time(point.timestamp):
            producers[point.producer_id].append(point)
    steps = {each: _steps(points) for each, points in producers.items()}
    order = sorted(steps, key=lambda each: (not _went_back(steps[each]), -len(steps[each]), each))
    drawn = order[:MOST_PRODUCERS]
    notes = []
    if len(order) > len(drawn):
        notes.append(f"{len(drawn)} of {len(order):,} producer IDs are drawn, those with most epochs.")
    if any(len(steps[each]) > MOST_EPOCHS for each in drawn):
        notes.append(f"Of more than {MOST_EPOCHS} epochs of one producer ID, every n-th is drawn.")
    if len(order) > LISTED:
        notes.append(f"The table has {LISTED} of {len(order):,} producer IDs.")
    back = sum(_went_back(each) for each in steps.values())
    names = [f"{each} {label(_connector(producers[each]))}" for each in drawn]
    return Figure(
        key="epochs",
        short="Epochs",
        title="Epochs of producers",
        caption="Every restart fences the producer of before and takes the next epoch: the numbers should rise to "
        "the right. A red square is an epoch lower than an earlier epoch: a zombie wrote, or timestamps are not "
        "the time of writing.",
        summary=f"{pluralize(len(order), 'producer ID')}; {back:,} of them have an epoch that went back.",
        headers=("Producer ID", "Connector", "Epochs", "Highest", "Went back", "First seen", "Last new epoch"),
        rows=tuple(_epoch_row(each, producers[each], steps[each]) for each in order[:LISTED]),
        traces=tuple(_epoch_traces([steps[each] for each in drawn])),
        layout=layout(
            100 + 30 * len(drawn),
            time_axis(),
            category_axis(names, range=[len(drawn) - 0.5, -0.5]),
            hovermode="closest",
            showlegend=True,
        ),
        notes=(*notes, *without_time(len(report.epochs) - sum(map(len, producers.values())))),
    )


Step = tuple[EpochPoint, bool]


def _steps(points: Sequence[EpochPoint]) -> list[Step]:
    """The first point of each epoch by time, and every point after one with a higher epoch, which is marked."""
    steps: list[Step] = []
    highest = -1
    for point in sorted(points, key=lambda each: (each.timestamp, each.producer_epoch)):
        back = point.producer_epoch < highest
        if back or point.producer_epoch > highest:
            steps.append((point, back))
        highest = max(highest, point.producer_epoch)
    return steps


def _went_back(steps: Sequence[Step]) -> bool:
    return any(back for _, back in steps)


def _epoch_traces(drawn: Sequence[Sequence[Step]]) -> list[dict[str, Any]]:
    traces = []
    crowded = _crowded(drawn)
    for went_back, title, symbol, colour in (
        (False, "new epoch", "circle", "#2f7ed8"),
        (True, "went back", "square", "#cf3f57"),
    ):
        places = [
            (number, point)
            for number, steps in enumerate(drawn)
            for place, (point, back) in enumerate(steps)
            if back is went_back and (back or place % -(-len(steps) // MOST_EPOCHS) == 0)
        ]
        if places:
            trace = chart(
                "scatter",
                title,
                [point.timestamp for _, point in places],
                [number for number, _ in places],
                ["" if (number, point) in crowded else str(point.producer_epoch) for number, point in places],
                mode="markers+text",
                textposition="middle right",
                customdata=[_epoch_words(point) for _, point in places],
                marker={"symbol": symbol, "size": 9, "color": colour},
                hovertemplate="%{customdata}<extra></extra>",
                cliponaxis=False,
            )
            traces.append(trace)
    return traces


def _crowded(drawn: Sequence[Sequence[Step]]) -> set[tuple[int, EpochPoint]]:
    """Points whose number the next point would cover."""
    times = [point.timestamp for steps in drawn for point, _ in steps]
    room = (max(times, default=0) - min(times, default=0)) // NUMBERS_ACROSS
    return {
        (number, point)
        for number, steps in enumerate(drawn)
        for (point, _), (following, _) in pairwise(steps)
        if following.timestamp - point.timestamp < room
    }


def _epoch_words(point: EpochPoint) -> str:
    return (
        f"producer {point.producer_id}, epoch {point.producer_epoch}<br>{rfc3339(point.timestamp)}<br>"
        f"{in_plot(point.topic)}-{point.partition}"
    )


def _epoch_row(producer_id: int, points: Sequence[EpochPoint], steps: Sequence[Step]) -> Row:
    epochs, times = [point.producer_epoch for point, _ in steps], [point.timestamp for point, _ in steps]
    name = shown(_connector(points))
    back = "yes" if _went_back(steps) else "no"
    return (str(producer_id), name, len(epochs), max(epochs), back, rfc3339(min(times)), rfc3339(max(times)))


def _connector(points: Sequence[EpochPoint]) -> str:
    return next((each.connector for each in points if each.connector is not None), NONE)


HOUR_MS: Final = 3_600_000
MOST_PARTITIONS: Final = 8
MOST_BINS: Final = 240

Partition = tuple[str, int]


def growth_figure(report: AuditReport) -> Figure:
    """Records above, tombstones below, stacked by partition; the partitions with most records are distinguished."""
    found = [each for each in report.growth if 0 <= each.hour * HOUR_MS <= LATEST]
    hours = [each.hour for each in found]
    width = max(1, -(-(max(hours, default=0) - min(hours, default=0) + 1) // MOST_BINS))
    records, tombstones = _totals(found)
    largest = [partition for partition, _ in records.most_common()]
    drawn, rest = largest[:MOST_PARTITIONS], len(largest[MOST_PARTITIONS:])
    notes = (
        [f"The {MOST_PARTITIONS} partitions with most records are distinguished, {rest:,} others are one."]
        if rest
        else []
    )
    notes += [f"A point is {width} hours."] if width > 1 else []
    notes += [f"The table has {LISTED} of {len(largest):,} partitions."] if len(largest) > LISTED else []
    return Figure(
        key="growth",
        short="Growth",
        title="Growth and tombstones",
        caption="Records of a partition (above), and the tombstones among them, which delete a key (below).",
        summary=f"{pluralize(records.total(), 'record')} and {pluralize(tombstones.total(), 'tombstone')} "
        f"in {pluralize(len(largest), 'partition')}.",
        headers=("Partition", "Records", "Tombstones"),
        rows=tuple((_growth_words(each), records[each], tombstones[each]) for each in largest[:LISTED]),
        traces=tuple(_growth_traces(found, drawn, width)),
        layout=layout(
            460,
            xaxis=time_axis(anchor="y2"),
            yaxis={"domain": [0.34, 1], "title": {"text": "records"}, "rangemode": "tozero"},
            yaxis2=axis({"domain": [0, 0.26], "title": {"text": "tombstones"}, "rangemode": "tozero"}),
            hovermode="closest",
        ),
        notes=tuple(notes),
    )


def _totals(growth: list[Growth]) -> tuple[Counter[Partition], Counter[Partition]]:
    records: Counter[Partition] = Counter()
    tombstones: Counter[Partition] = Counter()
    for topic, partition, _, count, deleted in growth:
        records[topic, partition] += count
        tombstones[topic, partition] += deleted
    return records, tombstones


def _growth_traces(growth: list[Growth], drawn: list[Partition], width: int) -> list[dict[str, Any]]:
    places = {partition: number for number, partition in enumerate(drawn)}
    bins = sorted({each.hour // width for each in growth})
    records: defaultdict[int, Counter[int]] = defaultdict(Counter)
    tombstones: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for topic, partition, hour, count, deleted in growth:
        place = places.get((topic, partition), len(drawn))
        records[place][hour // width] += count
        tombstones[place][hour // width] += deleted
    # A step needs its end: the last bin is drawn to where the next would begin.
    times = [each * width * HOUR_MS for each in [*bins, *(each + 1 for each in bins[-1:])]]
    traces = []
    for place in sorted(records):
        others = place == len(drawn)
        colour = OTHERS if others else PALETTE[place]
        name = "others" if others else _growth_words(drawn[place])
        for what, counts, more in (
            ("records", records, {}),
            ("tombstones", tombstones, {"yaxis": "y2", "showlegend": False}),
        ):
            trace = chart(
                "scatter",
                label(name),
                times,
                [counts[place][each] for each in [*bins, *bins[-1:]]],
                in_plot(name),
                mode="lines",
                legendgroup=str(place),
                line={"color": colour, "width": 1, "shape": "hv"},
                fillcolor=faint(colour),
                stackgroup=what,
                hovertemplate=f"%{{text}}<br>%{{x}}: %{{y:,}} {what}<extra></extra>",
            )
            traces.append(trace | more)
    return traces


def _growth_words(partition: Partition) -> str:
    return shown(f"{partition[0]}-{partition[1]}")


MOST_STALLS: Final = 200
MOST_STALL_LINES: Final = 30
STALL_KINDS: Final = {False: ("ended", "#947313"), True: ("still open", "#cf3f57")}


def stalls_figure(report: AuditReport) -> Figure:
    """A bar for each long transaction, from its first batch to its marker, one line a partition."""
    as_of = report.plan.as_of
    timed = [
        each for each in report.stalls if is_time(each.from_ms) and (each.until_ms is None or is_time(each.until_ms))
    ]
    order = sorted(timed, key=lambda each: (-_length(each, as_of), each.topic, each.partition, each.start_offset))
    lines = list(dict.fromkeys((each.topic, each.partition) for each in order))[:MOST_STALL_LINES]
    drawn = [each for each in order if (each.topic, each.partition) in lines][:MOST_STALLS]
    notes = [f"The {len(drawn)} longest of {len(order):,} are drawn."] if len(drawn) < len(order) else []
    notes += [f"The table has the longest {MOST_STALLS} of {len(order):,}."] if len(order) > MOST_STALLS else []
    still_open = sum(each.until_ms is None for each in order)
    names = [label(f"{topic}-{partition}") for topic, partition in lines]
    return Figure(
        key="stalls",
        short="Stalls",
        title="Periods in which the last stable offset did not move",
        caption=(
            "After the first record of an open transaction, read_committed consumers get no records. Beginnings "
            "are the records' times, which MirrorSource takes from the source."
        ),
        summary=f"{pluralize(len(order), 'transaction')} open for long, {still_open:,} of them still open.",
        headers=("Partition", "Offset", "From", "For", "Whose"),
        rows=tuple(_stall_row(each, report) for each in order[:MOST_STALLS]),
        traces=tuple(_stall_traces(drawn, lines, report)),
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


def _stall_traces(
    stalls: Sequence[Stall], lines: Sequence[tuple[str, int]], report: AuditReport
) -> list[dict[str, Any]]:
    traces, as_of = [], report.plan.as_of
    for still_open, (title, colour) in STALL_KINDS.items():
        found = [each for each in stalls if (each.until_ms is None) is still_open]
        if found:
            pattern = {"shape": "/", "size": 6, "solidity": 0.4} if still_open else {}
            trace = chart(
                "bar",
                title,
                [_length(each, as_of) for each in found],
                [lines.index((each.topic, each.partition)) for each in found],
                [_stall_words(each, report) for each in found],
                orientation="h",
                base=[each.from_ms for each in found],
                textposition="none",
                width=0.5,
                marker={"color": colour, "line": {"color": colour, "width": 3}, "pattern": pattern},
            )
            traces.append(trace)
    return traces


def _stall_words(stall: Stall, report: AuditReport) -> str:
    length = duration_words(_length(stall, report.plan.as_of))
    return (
        f"{in_plot(stall.topic)}-{stall.partition}, offset {stall.start_offset}<br>{_owner(stall, report, in_plot)}<br>"
        f"from {rfc3339(stall.from_ms)} for {length}"
    )


def _owner(stall: Stall, report: AuditReport, text: Callable[[str], str]) -> str:
    owner, producer = report.owner_of(stall), f"producer {stall.producer_id}"
    return producer if owner == producer else f"{text(owner)}, {producer}"


def _stall_row(stall: Stall, report: AuditReport) -> tuple[object, ...]:
    length = duration_words(_length(stall, report.plan.as_of)) + (", still open" if stall.until_ms is None else "")
    return (
        shown(f"{stall.topic}-{stall.partition}"),
        stall.start_offset,
        rfc3339(stall.from_ms),
        length,
        _owner(stall, report, shown),
    )


MOST_CONNECTORS: Final = 8
WIDEST: Final = 64


def transaction_figures(report: AuditReport) -> tuple[Figure, Figure]:
    order = sorted(report.transactions, key=lambda each: -sum(each.sizes.values()))
    return (
        _histogram(
            ("sizes", "Sizes"),
            "Records in a transaction",
            "Records between a transaction's begin and its marker; each bar covers twice the range of the previous "
            "bar.",
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
    parts = [
        (NONE if each.connector is None else each.connector, PALETTE[number], dict(counts))
        for number, (each, counts) in enumerate(drawn)
    ]
    parts += [(f"{len(rest):,} others", OTHERS, _sum(counts for _, counts in rest))] if rest else []
    return Figure(
        key=key,
        short=short,
        title=title,
        caption=caption,
        summary=_transactions_summary([each for each, _ in found], sum(total.values())),
        headers=("From, to", "Transactions"),
        rows=tuple((name, total.get(bucket, 0)) for bucket, name in zip(buckets, titles, strict=True)),
        traces=tuple(
            chart(
                "bar",
                label(name),
                list(range(len(buckets))),
                [counts.get(bucket, 0) for bucket in buckets],
                [f"{in_plot(name)}<br>{each}" for each in titles],
                textposition="none",
                marker={"color": colour},
                hovertemplate="%{text}<br>%{y:,} transactions<extra></extra>",
            )
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


def _transactions_summary(found: Sequence[TransactionStatistics], transactions: int) -> str:
    """The owners of the drawn transactions; unknown producers are not a connector."""
    named = sum(each.connector is not None for each in found)
    whose = [pluralize(named, "connector")] if named or len(found) == named else []
    whose += ["producers of no known task"] if len(found) > named else []
    return f"{pluralize(transactions, 'committed transaction')} of {' and of '.join(whose)}."


def _bucket_words(bucket: int, words: Callable[[int], str]) -> str:
    low, high = map(words, bucket_bounds(bucket))
    return low if low == high else f"{low} to {high}"


def _sum(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            total[bucket] = total.get(bucket, 0) + count
    return total
