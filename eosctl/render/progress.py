"""One line on a terminal that says how far a long read or write has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from eosctl.render.layout import Page


@contextmanager
def progress_line(
    file: TextIO, page: Page, label: str, total: int | None, unit: str
) -> Iterator[Callable[[int], None]]:
    """Count, rate per second and, when the total is known, a bar and the time left; the line goes when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            of = "" if task.total is None else f"/{task.total:,.0f}"
            rate = f" {task.speed:,.0f}/s" if task.speed else ""
            return Text(f"{task.completed:,.0f}{of}{f' {unit}' if unit else ''}{rate}")

    console = Console(file=file, width=page.width, force_terminal=True, no_color=not page.colour, highlight=False)
    known = [BarColumn(bar_width=20), TimeRemainingColumn()] if total is not None else []
    with Progress(
        TextColumn("{task.description}", markup=False), Rate(), *known, console=console, transient=True
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
