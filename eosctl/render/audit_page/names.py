"""Names and figures as text that neither a terminal, a page nor a plot takes for anything else."""

from collections.abc import Mapping, Sequence
from typing import Final

from eosctl.model.times import rfc3339
from eosctl.render.cells import escape_controls
from eosctl.render.findings import TIMES

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
