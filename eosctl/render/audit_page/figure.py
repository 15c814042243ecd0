"""A plot as data: traces and layout in Plotly's terms, and the same as words and a table for who does not see it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

PALETTE: Final = ("#2f7ed8", "#d9541e", "#1a936f", "#b5489f", "#947313", "#7a68dd", "#cf3f57", "#3a8a9e", "#5f8f1c")
"""Distinguished at a contrast of 3.6 or more against both the light and the dark page."""
OTHERS: Final = "#6b7785"
LATEST: Final = 253_402_300_799_999
"""The last ms of the year 9999: a later timestamp is no time."""

Row = tuple[object, ...]
Axis = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot of the page.

    short is its title in one word; caption says what is seen and how to read it; summary what it shows here, in words;
    notes what was left out or summed up; traces and layout are Plotly's; headers and rows are the figures behind it.
    No traces: nothing to plot.
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
        """What the page's script gives to Plotly."""
        return {"key": self.key, "traces": self.traces, "layout": self.layout}


def faint(colour: str) -> str:
    """`#rrggbb` at 60 % in the form that every Plotly takes; `#rrggbbaa` is new."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},0.6)"


def axis(more: Axis) -> dict[str, Any]:
    """An axis with room for its labels and a faint grid."""
    return {"automargin": True, "gridcolor": "rgba(136,136,136,0.53)", "zeroline": False, **more}


def layout(height: int, xaxis: Axis, yaxis: Axis, **more: object) -> dict[str, Any]:
    """What all plots have in common: room for names, colours that the page's own style sets, no frame."""
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


def time_axis(**more: object) -> dict[str, Any]:
    """An axis of ms since the epoch, in UTC."""
    return {"type": "date", "hoverformat": "%Y-%m-%d %H:%M:%S UTC", **more}


def category_axis(labels: Sequence[str], **more: object) -> dict[str, Any]:
    """An axis with these labels at 0, 1, 2 …: two that look alike stay two."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": list(labels), **more}


def is_time(timestamp: int | None) -> bool:
    """Whether it can be plotted: Kafka writes -1 for no timestamp, and a producer may write anything."""
    return timestamp is not None and 0 <= timestamp <= LATEST


def without_time(count: int) -> Iterable[str]:
    """The note on what has no time."""
    return [f"{count:,} of them have no timestamp that is a time, and are not drawn."] if count else []
