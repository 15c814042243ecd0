"""Epochs of producers: each is a producer that began again under the same producer ID, and fenced the one before."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from eosctl.model.audit_report import AuditReport, EpochPoint
from eosctl.model.counts import counted
from eosctl.model.times import rfc3339
from eosctl.render.audit_page.figure import Figure, Row, category_axis, is_time, layout, time_axis, without_time
from eosctl.render.audit_page.names import NONE, in_plot, label, shown

MOST_PRODUCERS: Final = 24
MOST_POINTS: Final = 60
NUMBERS_ACROSS: Final = 45
LISTED: Final = 500


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
    if any(len(steps[each]) > MOST_POINTS for each in drawn):
        notes.append(f"Of more than {MOST_POINTS} epochs of one producer ID, every n-th is drawn.")
    if len(order) > LISTED:
        notes.append(f"The table has {LISTED} of {len(order):,} producer IDs.")
    back = sum(_went_back(each) for each in steps.values())
    names = [f"{each} {label(_connector(producers[each]))}" for each in drawn]
    return Figure(
        key="epochs",
        short="Epochs",
        title="Epochs of producers",
        caption="Every restart fences the producer of before and takes the next epoch: the numbers should rise to the "
        "right. A red square is an epoch lower than one before it: a zombie that still wrote, or records whose "
        "timestamps are not the time of writing.",
        summary=f"{counted(len(order), 'producer ID')}; of {back:,} of them an epoch went back.",
        headers=("Producer ID", "Connector", "Epochs", "Highest", "Went back", "First seen", "Last new epoch"),
        rows=tuple(_row(each, producers[each], steps[each]) for each in order[:LISTED]),
        traces=tuple(_traces([steps[each] for each in drawn])),
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


def _traces(drawn: Sequence[Sequence[Step]]) -> list[dict[str, Any]]:
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
            if back is went_back and (back or place % -(-len(steps) // MOST_POINTS) == 0)
        ]
        if places:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers+text",
                    "name": title,
                    "x": [point.timestamp for _, point in places],
                    "y": [number for number, _ in places],
                    "text": [
                        "" if (number, point) in crowded else str(point.producer_epoch) for number, point in places
                    ],
                    "textposition": "middle right",
                    "customdata": [_words(point) for _, point in places],
                    "marker": {"symbol": symbol, "size": 9, "color": colour},
                    "hovertemplate": "%{customdata}<extra></extra>",
                    "cliponaxis": False,
                }
            )
    return traces


def _crowded(drawn: Sequence[Sequence[Step]]) -> set[tuple[int, EpochPoint]]:
    """The points whose number the next one would cover."""
    times = [point.timestamp for steps in drawn for point, _ in steps]
    room = (max(times, default=0) - min(times, default=0)) // NUMBERS_ACROSS
    return {
        (number, point)
        for number, steps in enumerate(drawn)
        for (point, _), (following, _) in pairwise(steps)
        if following.timestamp - point.timestamp < room
    }


def _words(point: EpochPoint) -> str:
    return (
        f"producer {point.producer_id}, epoch {point.producer_epoch}<br>{rfc3339(point.timestamp)}<br>"
        f"{in_plot(point.topic)}-{point.partition}"
    )


def _row(producer_id: int, points: Sequence[EpochPoint], steps: Sequence[Step]) -> Row:
    epochs, times = [point.producer_epoch for point, _ in steps], [point.timestamp for point, _ in steps]
    name = shown(_connector(points))
    back = "yes" if _went_back(steps) else "no"
    return (str(producer_id), name, len(epochs), max(epochs), back, rfc3339(min(times)), rfc3339(max(times)))


def _connector(points: Sequence[EpochPoint]) -> str:
    return next((each.connector for each in points if each.connector is not None), NONE)
