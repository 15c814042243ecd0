"""Records and tombstones that partitions got, hour by hour."""

from collections import Counter, defaultdict
from typing import Any, Final

from eosctl.model.audit_report import AuditReport, Growth
from eosctl.model.counts import counted
from eosctl.render.audit_page.figure import LATEST, OTHERS, PALETTE, Figure, axis, faint, layout, time_axis
from eosctl.render.audit_page.names import in_plot, label, shown

HOUR_MS: Final = 3_600_000
MOST_PARTITIONS: Final = 8
MOST_BINS: Final = 240
LISTED: Final = 500

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
        caption="Records a partition got (above), and how many of them were tombstones, which delete a key (below).",
        summary=f"{counted(records.total(), 'record')} and {counted(tombstones.total(), 'tombstone')} "
        f"in {counted(len(largest), 'partition')}.",
        headers=("Partition", "Records", "Tombstones"),
        rows=tuple((_words(each), records[each], tombstones[each]) for each in largest[:LISTED]),
        traces=tuple(_traces(found, drawn, width)),
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


def _traces(growth: list[Growth], drawn: list[Partition], width: int) -> list[dict[str, Any]]:
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
        name = "others" if others else _words(drawn[place])
        common: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines",
            "name": label(name),
            "legendgroup": str(place),
            "x": times,
            "text": in_plot(name),
            "line": {"color": colour, "width": 1, "shape": "hv"},
            "fillcolor": faint(colour),
        }
        upper = {"y": _heights(records[place], bins), "stackgroup": "records"}
        lower = {"y": _heights(tombstones[place], bins), "stackgroup": "tombstones", "yaxis": "y2"}
        traces.append(common | upper | {"hovertemplate": "%{text}<br>%{x}: %{y:,} records<extra></extra>"})
        traces.append(
            common | lower | {"hovertemplate": "%{text}<br>%{x}: %{y:,} tombstones<extra></extra>", "showlegend": False}
        )
    return traces


def _heights(counts: Counter[int], bins: list[int]) -> list[int]:
    heights = [counts[each] for each in bins]
    return [*heights, *heights[-1:]]


def _words(partition: Partition) -> str:
    return shown(f"{partition[0]}-{partition[1]}")
