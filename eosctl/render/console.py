"""The only writer: results to stdout or a file, everything else to stderr.

Both streams may fail: a full disk, a closed terminal, a pipe without a reader. A loss on standard error stops nothing.
A loss on standard output is OutputLost, except if a reader has gone, as `head` does: the caller handles
BrokenPipeError.
"""

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar, cast

from msgspec import Struct, field

from eosctl.atomic_write import atomic_file, is_stream
from eosctl.errors import ConfigError, EosctlError, Interrupted, OutputLost, Refused, UsageError, reason_of
from eosctl.late_pattern import late_pattern
from eosctl.model.report import Gate, Result, failed_gate, gate_of
from eosctl.model.text import escaped_in_lines
from eosctl.render.cells import Page, columns_across, escape_controls, fold
from eosctl.render.document import Document, error_envelope
from eosctl.render.formats import Output, pieces_of, text_of, text_of_envelope

# One line on a terminal that says how far a long read or write has come.


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


# A whole terminal that is drawn again and again, and the key that ends it.


QUIT: Final = frozenset("qQ")
Key = Callable[[float], str]


class WholeTerminal(Struct, frozen=True):
    """The screen for frames and the keys; keys are read from a terminal only."""

    stdin: TextIO
    stdout: TextIO
    coloured: bool

    def draw(self, frame: Callable[[int, int], str], every_s: float) -> None:
        """Draws the frames for this many columns and lines, until q is pressed or the terminal is gone.

        The previous content of the terminal is restored at the end, also after an error.
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
        yield _no_keys
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


def _no_keys(timeout_s: float) -> str:
    """Without keys there is only the time to wait for."""
    time.sleep(timeout_s)
    return ""


Advance = Callable[[int], None]
NO_TERMINAL_WIDTH: Final = 80
CLEAR: Final = "\x1b[H\x1b[2J"


class ColourChoice(StrEnum):
    """`--color`: auto colours what a terminal shows."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Stream(Struct, frozen=True):
    """One of the process's streams; width is its terminal's in columns, None where it is no terminal."""

    file: TextIO
    width: int | None = None


class Terminal(Struct, frozen=True):
    """Where a command reads and writes, and the environment's wish about colours."""

    stdin: Stream
    stdout: Stream
    stderr: Stream
    no_color: bool = False
    force_color: bool = False
    columns: int | None = None
    """The width of an answer if stdout is no terminal, if anything sets one."""

    def coloured(self, stream: Stream, choice: ColourChoice = ColourChoice.AUTO) -> bool:
        """True if `stream` gets colours: the option wins over NO_COLOR, NO_COLOR over FORCE_COLOR."""
        if choice is not ColourChoice.AUTO:
            return choice is ColourChoice.ALWAYS
        return not self.no_color and (self.force_color or stream.width is not None)


def terminal_of(stdin: TextIO, stdout: TextIO, stderr: TextIO, environ: Mapping[str, str]) -> Terminal:
    """The terminal behind three streams; COLUMNS overrides their width, and also sets a pipe's."""
    columns = int(environ["COLUMNS"]) if environ.get("COLUMNS", "").isdigit() else None
    return Terminal(
        Stream(stdin, _width(stdin)),
        Stream(stdout, _width(stdout) and (columns or _width(stdout))),
        Stream(stderr, _width(stderr) and (columns or _width(stderr))),
        no_color=bool(environ.get("NO_COLOR")),
        force_color=bool(environ.get("FORCE_COLOR")),
        columns=columns or None,
    )


def _width(file: TextIO) -> int | None:
    if not file.isatty():
        return None
    try:
        return os.get_terminal_size(file.fileno()).columns or NO_TERMINAL_WIDTH
    except (OSError, ValueError):
        return NO_TERMINAL_WIDTH


class OutputOptions(Struct, frozen=True):
    """The user's output options."""

    output: Output = Output.TABLE
    output_file: Path | None = None
    colour: ColourChoice = ColourChoice.AUTO
    quiet: bool = False
    verbosity: int = 0
    sort: str | None = None
    limit: int | None = None
    csv_text: bool = False
    command: str = ""
    gates: Mapping[Path, Callable[[Gate], str]] = field(default_factory=dict)
    """Files for a pipeline, and how what `command` answers is written there."""


COMMAND: Final = late_pattern(r"(?:^|(?<=:) )((?:eosctl [a-z]|kafka-[a-z-]+\.sh ).*)$")
"""A command that ends a line."""


class Console:
    """Writes one answer and, on the way to it, narration. A reader that goes away (`| head`) ends the writing, not the
    command: its exit code still shows how it went."""

    def __init__(self, terminal: Terminal, options: OutputOptions) -> None:
        self._terminal = terminal
        self._options = options
        self._answered = False
        self._gates = dict(options.gates)

    @property
    def output(self) -> Output:
        return self._options.output

    @property
    def csv_text(self) -> bool:
        """Whether a cell of CSV that a spreadsheet would take for a formula is written as text."""
        return self._options.csv_text

    @property
    def verbosity(self) -> int:
        return self._options.verbosity

    @property
    def interactive(self) -> bool:
        """Whether a person is there to answer a question."""
        return self._terminal.stdin.width is not None and self._terminal.stderr.width is not None

    def whole_terminal(self, option: str) -> WholeTerminal:
        """The terminal, to be drawn as a whole; UsageError, which names the option, where stdout is none."""
        stdin, stdout = self._terminal.stdin, self._terminal.stdout
        for_people = self._options.output_file is None and self.output in {Output.TABLE, Output.WIDE}
        if stdout.width is None or not for_people:
            raise UsageError(f"{option} needs a terminal to draw on", hint="without it, the answers are for programs")
        return WholeTerminal(stdin.file, stdout.file, self._terminal.coloured(stdout, self._options.colour))

    def result(self, answer: Document | str) -> None:
        """Write the answer, once: to stdout, or whole to --output-file.

        Text is written unchanged, or as a document of kind `text` with json, jsonl or yaml.
        """
        if self._answered:
            raise RuntimeError("a command answers once")
        if isinstance(answer, str) and self.output.is_envelope:
            answer = Document("text", {"text": answer})
        if isinstance(answer, Document):
            answer = answer.arranged(self._options.sort, self._options.limit)
        if isinstance(answer, str):
            pieces: Iterable[str] = _whole_lines(answer)
        else:
            pieces = pieces_of(answer, self.output, self._page(), text_cells=self._options.csv_text)
        if self._options.output_file is not None:
            write_output_file(self._options.output_file, pieces)
        else:
            self._write(self._terminal.stdout, pieces)
        self._answered = True

    def report(self, answer: Result) -> None:
        """Write the answer to each file for a pipeline, whole or not at all."""
        if self._gates:
            self._write_gates(gate_of(self._options.command, answer))

    def _write_gates(self, gate: Gate) -> None:
        while self._gates:
            path, text_of_gate = self._gates.popitem()
            write_output_file(path, (text_of_gate(gate),))

    def preview(self, document: Document) -> None:
        """Show on stderr what the question that follows is about."""
        stderr = self._terminal.stderr
        page = Page(stderr.width, self._terminal.coloured(stderr, self._options.colour))
        self._write(stderr, text_of(document, Output.TABLE, page))

    def redraw(self, document: Document) -> None:
        """Show the present state on stderr; on a terminal it replaces the previous one."""
        stderr = self._terminal.stderr
        if stderr.width is not None:
            self._write(stderr, CLEAR)
        self.preview(document)

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Report progress; silent under -q, and below that many -v."""
        if not self._options.quiet and self._options.verbosity >= verbosity:
            self._write(self._terminal.stderr, f"{self._folded(text)}\n")

    def waiting(self, text: str) -> None:
        """Say what takes long; on a terminal only, silent under -q."""
        if self._terminal.stderr.width is not None:
            self.narrate(text)

    def warn(self, text: str) -> None:
        """Warn the user although the command continues; -q does not silence it."""
        self._say("warning", "yellow", text)

    def error(self, error: EosctlError) -> None:
        """Say why the command ends, on stderr; stdout gets the error envelope where it owes a document, and each file
        for a pipeline that has no answer says the same: one that was left from before could say that all is fine."""
        while self._gates:
            with contextlib.suppress(ConfigError, OutputLost):  # why the command failed is said on stderr, too
                self._write_gates(failed_gate(self._options.command, error))
        if self.output.is_envelope and not self._answered:
            envelope = error_envelope(type(error).__name__, error.message, error.hint, error.exit_code)
            with contextlib.suppress(OutputLost):  # why the command failed is said on stderr, too
                self._write(self._terminal.stdout, text_of_envelope(envelope, self.output))
            self._answered = True
        self._say("error", "bold red", error.message)
        if error.hint:
            self._write(self._terminal.stderr, f"{self._folded(f'hint: {error.hint}')}\n")

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        """Return if the user agrees or gave --yes; otherwise raise Refused. The default answer is no.

        Where a name is given, the user agrees by typing it.
        """
        if yes:
            return
        if not self.interactive:
            raise Refused(f"not confirmed: {question}", hint="there is no terminal to ask on: give --yes to agree")
        self._write(self._terminal.stderr, f"{_lines(question)} [{'y/N' if name is None else _lines(name)}] ")
        try:
            answered = self._terminal.stdin.file.readline().strip()
        except KeyboardInterrupt:
            self._write(self._terminal.stderr, "\n")
            raise Interrupted("interrupted at the question: not confirmed, nothing was changed") from None
        if answered.lower() not in {"y", "yes"} if name is None else answered != name:
            raise Refused("not confirmed, nothing was changed")

    @contextlib.contextmanager
    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> Iterator[Advance]:
        """A line with count, rate and time left while the block runs; call the value with how many more are done.

        Shown on a terminal only, and not under -q.
        """
        stderr = self._terminal.stderr
        if self._options.quiet or stderr.width is None:
            yield lambda count: None
            return

        coloured = self._terminal.coloured(stderr, self._options.colour)
        with progress_line(stderr.file, Page(stderr.width, coloured), escape_controls(label), total, unit) as advance:
            yield advance

    @contextlib.contextmanager
    def results(self, label: str, total: int, *, unit: str = "") -> Iterator[Callable[[str], None]]:
        """Call the value with each result: it is narrated; if the answer will show it on the same terminal, only the
        count is."""
        stdout, stderr, options = self._terminal.stdout, self._terminal.stderr, self._options
        is_table = options.output in {Output.TABLE, Output.WIDE} and options.output_file is None
        if is_table and stdout.width is not None and stderr.width is not None:
            with self.progress(label, total, unit=unit) as advance:
                yield lambda _: advance(1)
        else:
            yield self.narrate

    def _page(self) -> Page:
        stdout, to_file = self._terminal.stdout, self._options.output_file is not None
        if to_file:
            return Page(None, self._options.colour is ColourChoice.ALWAYS)
        return Page(stdout.width or self._terminal.columns, self._terminal.coloured(stdout, self._options.colour))

    def _say(self, what: str, style: str, text: str) -> None:
        stderr = self._terminal.stderr
        page = Page(None, self._terminal.coloured(stderr, self._options.colour))
        said = self._folded(f"eosctl: {what}: {text}").removeprefix(f"eosctl: {what}:")
        self._write(stderr, f"eosctl: {page.paint(what + ':', style)}{said}\n")

    def _folded(self, text: str) -> str:
        """Folded at spaces to the width of stderr; a command at the end of a line stays whole, to be copied."""
        width, lines = self._terminal.stderr.width, _lines(text).split("\n")
        if width is None or all(columns_across(line) <= width for line in lines):
            return "\n".join(lines)
        pieces = (COMMAND.split(line, maxsplit=1) for line in lines)
        return "\n".join(
            part for said, *command in pieces for part in (*(fold(said, width) if said else ()), *filter(None, command))
        )

    def _write(self, stream: Stream, text: str | Iterable[str]) -> None:
        with contextlib.suppress(BrokenPipeError):
            stream.file.writelines((text,) if isinstance(text, str) else text)
            stream.file.flush()


def _whole_lines(text: str) -> tuple[str, ...]:
    """The text as lines; a character that its format left unescaped is escaped here."""
    text = escaped_in_lines(text)
    return (text,) if text.endswith("\n") or not text else (text, "\n")


def _lines(text: str) -> str:
    return "\n".join(escape_controls(line) for line in text.split("\n"))


def write_output_file(path: Path, pieces: Iterable[str]) -> None:
    """Write the answer whole or not at all, in UTF-8; ConfigError names the path if it cannot be written.

    A device or a pipe is written to directly.
    """
    if is_stream(path):
        try:
            with path.open("w", encoding="utf-8") as device:
                device.writelines(pieces)
        except OSError as error:
            raise OutputLost(f"cannot write {path}: {reason_of(error)}") from error
        return
    with atomic_file(path) as file:
        file.writelines(piece.encode("utf-8") for piece in pieces)


T = TypeVar("T")


class _Stream:
    """Behaves as the stream behind it, except for a failed write."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        return getattr(self._file, name)

    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        raise NotImplementedError

    def write(self, text: str) -> int:
        """The number of characters taken."""
        return self._do(lambda: self._file.write(text), len(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each; exceptions of their producer are passed on."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what waits."""
        self._do(self._file.flush, None)


class _AnswerStream(_Stream):
    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(f"the answer could not be written: {reason_of(error)}") from error


class _TalkStream(_Stream):
    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        with suppress(OSError):
            return work()
        return otherwise


def answer_stream(file: TextIO) -> TextIO:
    """Standard output, which is OutputLost where it cannot be written."""
    return cast(TextIO, _AnswerStream(file))


def talk_stream(file: TextIO) -> TextIO:
    """Standard error, which may be lost."""
    return cast(TextIO, _TalkStream(file))
