"""Pages followed by a person: their commands typed into a shell, and what they should show looked for."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
END = "-- that was it:"
DEADLINE_S = 60.0
CURL = 'curl() {{ (cd {root} && exec {python} -m tests.integration.curl "$OLDPWD" "$@"); }}'
"""curl for a page, also on machines without it; a rebalancing worker is queried again."""


@dataclass(frozen=True, slots=True)
class Step:
    """A block of commands, and the lines that should be seen then (`…` stands for anything)."""

    commands: str
    shown: tuple[str, ...] = ()

    @property
    def only_looks(self) -> bool:
        """Whether a person who does not see it yet would look again."""
        return self.commands.startswith("eosctl") and "--yes" not in self.commands

    @property
    def codes(self) -> frozenset[int]:
        """Exit codes that are no failure: a command of eosctl that looks may also have found something."""
        return frozenset({0, 1, 3} if self.only_looks else {0})


def steps_of(page: Path) -> Iterator[Step]:
    """The `sh` blocks of a page in order, those in lists too, each with the `text` block after it."""
    blocks = [(kind, dedent(text)) for _, kind, text in FENCE.findall(page.read_text("utf-8"))]
    for place, (kind, text) in enumerate(blocks):
        if kind == "sh":
            following, shown = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
            yield Step(text, tuple(shown.splitlines()) if following == "text" else ())


class Howto:
    """A page whose blocks are typed one by one, in their order, with the names of a real cluster for the page's.

    Between two of them a test makes the fault that the next one is for.
    """

    def __init__(self, page: Path, bash: "Shell", names: Mapping[str, str]) -> None:
        self._steps, self._bash, self._names = list(steps_of(page)), bash, dict(names)
        self._others = [dedent(text) for _, kind, text in FENCE.findall(page.read_text("utf-8")) if kind != "sh"]
        self._place = 0
        self._bash.run(CURL.format(python=sys.executable, root=Path(__file__).parents[2]))

    def call(self, **names: str) -> None:
        """Further names of the page (`PLAN`), which have become known."""
        self._names |= names

    def follow(
        self, beginning: str, *more: str, codes: Collection[int] = (0,), shows: str = "", stay: bool = False
    ) -> str:
        """Types the next block, which must begin so, and `more` after it; returns the output.

        AssertionError for another exit code. With `shows` it is typed until it shows that. With `stay` the same block
        comes next again.
        """
        line = self.line(beginning)
        self._place -= stay
        return self.type(" ".join((line, *more)), codes, shows)

    def line(self, beginning: str) -> str:
        """The next block unchanged, for a test that types it itself."""
        commands = self._steps[self._place].commands
        assert commands.startswith(beginning), f"the page's next step is {commands}"
        self._place += 1
        return commands.strip()

    def other(self, beginning: str) -> str:
        """The block in another language than `sh` that begins so, with the names of the real cluster."""
        [block] = [each for each in self._others if each.startswith(beginning)]
        return self.real(block)

    def last(self, beginning: str, *more: str) -> str:
        """Types the page's last block, which has to begin so: what takes back the steps before it."""
        commands = self._steps[-1].commands
        assert commands.startswith(beginning), f"the page's last step is {commands}"
        return self.type(" ".join((commands.strip(), *more)))

    def type(self, commands: str, codes: Collection[int] = (0,), shows: str = "") -> str:
        """The same for commands that the page describes in words."""
        commands = self.real(commands)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            output, code = self._bash.type(commands)
            if code in codes and shows in output:
                return output
            message = f"{commands}\nended with {code}, or did not show {shows!r}:\n{output}"
            assert shows, message
            assert time.monotonic() < deadline, message

    def real(self, commands: str) -> str:
        """With the names of the real cluster."""
        for name in sorted(self._names, key=len, reverse=True):
            commands = commands.replace(name, self._names[name])
        return commands

    @property
    def left(self) -> list[str]:
        """The blocks that were not typed."""
        return [step.commands for step in self._steps[self._place :]]


class Shell:
    """One bash; `follow(step)` types its commands and checks their output. is_pages_width: as wide as pages."""

    def __init__(self, process: subprocess.Popen[str], *, is_pages_width: bool = True) -> None:
        self._process, self._is_pages_width = process, is_pages_width

    def follow(self, step: Step) -> None:
        """AssertionError if a command fails, or if the expected output does not come by the deadline.

        A command that only looks may fail until then: the page's previous commands need time to take effect.
        """
        deadline = time.monotonic() + DEADLINE_S
        while True:
            output, code = self.type(step.commands)
            missing = not_seen(step.shown, output, same_lines=self._is_pages_width)
            if code in step.codes and missing is None:
                return
            message = f"{step.commands}\nended with {code}, and did not show: {missing}\nbut:\n{output}"
            assert step.only_looks, message
            assert time.monotonic() < deadline, message

    def run(self, commands: str) -> str:
        """The output of the commands; AssertionError if they fail."""
        output, code = self.type(commands)
        assert code == 0, f"{commands}\nended with {code}:\n{output}"
        return output

    def type(self, commands: str) -> tuple[str, int]:
        """The output of the commands, and their exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{commands}\nprintf '\\n%s %d\\n' '{END}' $?\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.startswith(END):
                return "".join(lines), int(line.removeprefix(END))
            lines.append(line)
        raise AssertionError(f"the shell ended at {commands}:\n{''.join(lines)}")


def not_seen(shown: tuple[str, ...], output: str, *, same_lines: bool = True) -> str | None:
    """The first of the lines `shown` that is missing, in this order, in the output, or None.

    Without `same_lines` it is the first with a missing word: another width arranges tables differently.
    """
    lines, words = iter(output.splitlines()), set(output.split())
    for wanted in shown:
        if same_lines:
            seen = wanted.strip() == "…" or any(_pattern(wanted).fullmatch(line) for line in lines)
        else:
            seen = all(word in words for word in wanted.split() if "…" not in word)
        if not seen:
            return wanted
    return None


def _pattern(wanted: str) -> re.Pattern[str]:
    parts = (r"\s+".join(map(re.escape, part.split())) for part in wanted.split("…"))
    return re.compile(r"\s*" + r".*?".join(parts) + r"\s*")


@contextmanager
def shell(directory: Path, environment: Mapping[str, str]) -> Iterator[Shell]:
    """A bash in `directory` with this eosctl on its PATH and no settings of who runs it; of 80 columns by default."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EOSCTL_")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-o", "pipefail"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=directory, env={**kept, "PATH": path, "COLUMNS": "80", **environment},
    )  # fmt: skip
    try:
        yield Shell(process, is_pages_width=environment.get("COLUMNS", "80") == "80")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
        assert process.stdout is not None
        process.stdout.close()
