"""A whole terminal that is drawn again and again, and the key that ends it."""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TextIO

from eosctl.render.document import Document
from eosctl.render.formats import Output, text_of
from eosctl.render.layout import Page

QUIT: Final = frozenset("qQ")
Key = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class WholeTerminal:
    """Where frames are drawn and keys are read; keys that are no terminal's are not read."""

    stdin: TextIO
    stdout: TextIO
    coloured: bool

    def draw(self, frame: Callable[[int, int], str], every_s: float) -> None:
        """Draws what `frame` returns for this many columns and lines, until q is pressed or the terminal is gone.

        What was on the terminal before is there again at the end, however it ends.
        """
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=self.stdout, force_terminal=True, no_color=not self.coloured, highlight=False)
        with _keys(self.stdin) as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
            key = ""
            while not QUIT.intersection(key):
                text = Text.from_ansi(frame(console.width, console.height), no_wrap=True, overflow="crop")
                live.update(text, refresh=True)
                key = pressed(every_s)

    def text(self, document: Document, columns: int) -> str:
        """The document as a table of that width."""
        return text_of(document, Output.TABLE, Page(columns, self.coloured))


@contextmanager
def _keys(stdin: TextIO) -> Iterator[Key]:
    """Call the value with how long to wait for a key; it returns those that were pressed, q where stdin has ended."""
    if not stdin.isatty():
        yield _nobody
        return
    import termios
    import tty

    file = stdin.fileno()
    before = termios.tcgetattr(file)

    def pressed(timeout_s: float) -> str:
        if not select.select([file], [], [], timeout_s)[0]:
            return ""
        return os.read(file, 64).decode("utf-8", "replace") or "q"

    tty.setcbreak(file, termios.TCSANOW)
    try:
        yield pressed
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def _nobody(timeout_s: float) -> str:
    """Where no key can be pressed there is nothing to wait for but the time."""
    time.sleep(timeout_s)
    return ""
