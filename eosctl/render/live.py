"""`watch --live`: the last cycle of each cluster on the whole terminal, drawn again and again until q is pressed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from eosctl.model.watch import Observation
from eosctl.render.answers.watch import view_live
from eosctl.render.cells import escape_controls
from eosctl.render.console import Console

DRAWN_EVERY_S: Final = 0.5


class LiveScreen:
    """The screen of one terminal; the last narration is below, and the last warning after it.

    Raises UsageError if standard output is no terminal.
    """

    def __init__(self, console: Console, now: Callable[[], int]) -> None:
        self._terminal, self._now = console.whole_terminal("--live"), now
        self._below: tuple[str, ...] = ("",)

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Shown until the next narration; messages for -v are left out."""
        self._below = self._below if verbosity else (text,)

    def warn(self, text: str) -> None:
        """Shown below the last narration, such as the address of the metrics, until the next message."""
        self._below = (self._below[0], f"warning: {text}")

    def show(self, profiles: Sequence[str], latest: Callable[[], Mapping[str, Observation]]) -> None:
        """Draws the last observation of each profile until q is pressed."""

        def frame(columns: int, lines: int) -> str:
            found, now_ms = latest(), self._now()

            def drawn(most: int) -> str:
                return "\n".join(self._parts(profiles, found, now_ms, columns, most))

            return tallest(drawn, lines)

        self._terminal.draw(frame, DRAWN_EVERY_S)

    def _parts(
        self, profiles: Sequence[str], found: Mapping[str, Observation], now_ms: int, columns: int, most: int
    ) -> Iterator[str]:
        for profile in profiles:
            if profile in found:
                yield self._terminal.text(view_live(found[profile], now_ms, most), columns)
            else:
                yield f"{escape_controls(profile) or 'the cluster'}: no cycle has ended yet; q ends it\n"
        yield from (escape_controls(each)[:columns] for each in self._below if each)


def tallest(drawn: Callable[[int], str], lines: int) -> str:
    """The frame with the most rows of each table that a screen of this many lines holds; at least one row."""
    text = drawn(1)
    for most in range(2, lines):
        more = drawn(most)
        if more == text or more.count("\n") >= lines:
            break
        text = more
    return text
