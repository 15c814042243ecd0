"""How an audit grows with its topic, as an SVG of two panels: seconds and memory against records, by powers of ten."""

from collections.abc import Callable, Iterable, Sequence
from math import log10
from typing import Final, NamedTuple

WIDTH, HEIGHT, MARGIN = 380, 260, 50
COLORS: Final = ("#1f6feb", "#d1242f")
GREY: Final = "#57606a"
FONT: Final = 'font-family="sans-serif" font-size="12"'


class Grown(NamedTuple):
    """One audit: of so many records, by so many processes; seconds elapsed, and MiB of its largest process."""

    records: int
    processes: int
    elapsed_s: float
    memory_mib: float


def growth_picture(found: Sequence[Grown]) -> str:
    """The picture; each point is labelled with its value."""
    panels = (
        *_panel("seconds elapsed", found, lambda each: each.elapsed_s, 0),
        *_panel("MiB of the largest process", found, lambda each: each.memory_mib, WIDTH),
    )
    size = f'width="{2 * WIDTH}" height="{HEIGHT}" viewBox="0 0 {2 * WIDTH} {HEIGHT}"'
    background = f'<rect width="{2 * WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', background, *panels, "</svg>\n"])


def _panel(title: str, found: Sequence[Grown], figure: Callable[[Grown], float], left: int) -> Iterable[str]:
    powers_x, powers_y = _powers(each.records for each in found), _powers(figure(each) for each in found)

    def at(records: float, value: float) -> tuple[float, float]:
        across = (log10(records) - powers_x[0]) / (powers_x[-1] - powers_x[0])
        up = (log10(value) - powers_y[0]) / (powers_y[-1] - powers_y[0])
        return round(left + MARGIN + across * (WIDTH - 2 * MARGIN), 1), round(
            HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN), 1
        )

    yield _text(left + MARGIN, 24, title, "start")
    for power in powers_x:
        x, y = at(10.0**power, 10.0 ** powers_y[0])
        yield _text(x, y + 18, f"{10**power:,}", "middle")
    for power in powers_y:
        (x, y), (right, _) = (at(10.0**each, 10.0**power) for each in (powers_x[0], powers_x[-1]))
        yield f'<path d="M{x} {y}H{right}" stroke="#d0d7de"/>'
        yield _text(x - 6, y + 4, f"{10**power:,}", "end")
    for number, processes in enumerate(sorted({each.processes for each in found})):
        line, color = [each for each in found if each.processes == processes], COLORS[number]
        points = [at(each.records, figure(each)) for each in line]
        path = " ".join(f"{x},{y}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        for each, (x, y) in zip(line, points, strict=True):
            label = f"{figure(each):,.0f}" if figure(each) >= 10 else f"{figure(each):.1f}"
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
            yield _text(x, y + (16 if number else -8), label, "middle", color)
        words = f"{processes} process{'es' if processes > 1 else ''}"
        yield _text(left + WIDTH - MARGIN, 24 + 16 * number, words, "end", color)


def _text(x: float, y: float, words: str, anchor: str, color: str = GREY) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {FONT} fill="{color}">{words}</text>'


def _powers(values: Iterable[float]) -> range:
    found = [log10(each) for each in values]
    return range(int(min(found) // 1), int(max(found) // 1) + 2)
