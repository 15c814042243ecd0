"""A plot as data: traces and layout in Plotly's terms, and the same as words and a table for who does not see it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from eosctl.model.times import rfc3339
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


# Names and figures as text that neither a terminal, a page nor a plot takes for anything else.


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
