"""What is ready to be printed before Typer is imported, which takes longer: the offers of a TAB, the version, and the
help of all.

`make reference` writes ready.json from the tree of commands. Where a line or a terminal is not among the plain ones,
the answer is None, and the tree itself answers.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.version import __version__

FILE: Final = "ready.json"
WIDTHS: Final = (80, 100)
"""Of a pipe, and of most terminals."""
_COLOURED_BY: Final = frozenset({"COLUMNS", "FORCE_COLOR", "NO_COLOR"})
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_QUOTING: Final = frozenset("'\"\\~#=")

Offered = Iterator[tuple[str, str]]


def ready_text(args: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The text for these arguments in this environment; None where the tree of commands has to make it."""
    if "_EOSCTL_COMPLETE" in environ:
        offered = _offers(environ["_EOSCTL_COMPLETE"])
        return (
            None if offered is None else "".join(f"{name}\t{text}\n" if text else f"{name}\n" for name, text in offered)
        )
    if list(args) in (["--version"], ["-V"]):
        return f"eosctl {__version__}\n"
    if list(args) not in (["--help"], ["-h"]) or _COLOURED_BY & environ.keys():
        return None
    is_terminal = os.isatty(1)
    text: str | None = _ready()["help"].get(
        str(min(os.get_terminal_size(1).columns, WIDTHS[-1]) if is_terminal else WIDTHS[0])
    )
    return text if is_terminal or text is None else text.replace(_BOLD, "").replace(_PLAIN, "")


def _ready() -> Any:  # noqa: ANN401  # JSON
    loader = globals()["__loader__"]
    return json.loads(loader.get_data(os.path.join(os.path.dirname(__file__), FILE)))  # noqa: PTH118, PTH120  # pathlib takes longer


def _offers(line: str) -> Offered | None:
    """The offers for a command's name or an option; None where words are quoted, or names are read."""
    if not _QUOTING.isdisjoint(line) or not line.isprintable():
        return None
    words = line.split(" ")
    incomplete = words.pop()
    ready = _ready()
    path, given = _path(ready["commands"], [word for word in words if word])
    command = ready["commands"].get(path)
    if command is None:
        return None
    if incomplete.startswith("-"):
        options = [ready["options"][number] for number in command["options"]]
        known = _given(options, given)
        return None if known is None else _names(options, known, incomplete)
    if given or command["runs"] or "verbs" not in command:
        return None
    return ((name, text) for name, text in command["verbs"] if name.startswith(incomplete))


def _path(commands: Mapping[str, Any], words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command that the words begin with, and the words after its name."""
    count = 1
    while " ".join(words[: count + 1]) in commands and count < len(words):
        count += 1
    return " ".join(words[:count]), words[count:]


def _given(options: Sequence[Any], words: Sequence[str]) -> set[str] | None:
    """All names of the options among the words that take one value at most; None where a word is none of them."""
    by_name = {name: option for option in options for name in option["names"]}
    known: set[str] = set()
    waiting = iter(words)
    for word in waiting:
        option = by_name.get(word)
        if option is None or (option["valued"] and next(waiting, "-").startswith("-")):
            return None
        if not option["repeated"]:
            known.update(option["names"])
    return known


def _names(options: Sequence[Any], known: set[str], incomplete: str) -> Offered:
    for option in options:
        for name in option["names"]:
            if name.startswith(incomplete) and name not in known:
                yield name, option["help"]
