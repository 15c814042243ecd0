"""The tree of commands and the one boundary where a failure becomes a message and an exit code.

A module of COMMANDS is imported when its command is called, not before. Where its `app` has a
callback it is a group, whose help is the callback's docstring; otherwise the command of its `app` with that name.
A command returns its exit code (None is 0), or raises an EosctlError. CONTRIBUTING.md says how to add one.
"""

import gc
import importlib
import os
import select
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TextIO

import typer
from msgspec import Struct
from msgspec.structs import force_setattr
from typer.core import TyperGroup
from typer.exceptions import Exit, TyperException
from typer.main import get_command, get_group
from typer.models import CommandInfo

from eosctl.errors import EXIT_FINE, Bug, EosctlError, Interrupted, UsageError, reason_of
from eosctl.render.console import OutputOptions, Terminal, answer_stream, talk_stream, terminal_of
from eosctl.render.formats import Output
from eosctl.shell.help import EosctlCommand, EosctlGroup, heading, in_words
from eosctl.shell.options import ConsoleHolder
from eosctl.shell.shared_options import leading_shared
from eosctl.version import __version__

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter
    from typer._click.shell_completion import CompletionItem


class Entry(Struct, frozen=True):
    """A command: its name, the first line of its help, and what it is for.

    module is the one whose `app` it is of, in eosctl.commands under its name unless another is given. Where the module
    has VERBS, they are its commands with the module under it that each is in, which makes an Entry of each.
    """

    name: str
    summary: str = ""
    theme: str = "Commands"
    module: str = ""

    def __post_init__(self) -> None:
        if not self.module:
            force_setattr(self, "module", f"eosctl.commands.{self.name.replace('-', '_')}")


class Commands(MutableMapping[str, Any]):
    """The commands of the root or of a group by name, each imported when it is asked for."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # Typer's command classes are its own
        if name not in self._loaded:
            self._loaded[name] = load(self._entries[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: object) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def load(entry: Entry) -> Any:  # noqa: ANN401  # Typer's command classes are its own
    """The command or group of the entry in its module; ModuleNotFoundError where there is no such module.

    Made once in a process, though it runs many command lines: it takes 2 to 9 ms, most of what a small command takes.
    """
    module = importlib.import_module(entry.module)
    app: typer.Typer = module.app
    _dress(app)
    holder = _holder()
    if app.registered_callback is None:
        holder.registered_commands = [each for each in app.registered_commands if _name(each) == entry.name]
    else:
        holder.add_typer(app, name=entry.name)
    command = get_command(holder).commands[entry.name]  # type: ignore[attr-defined]  # a group: it has commands
    if verbs := getattr(module, "VERBS", None):
        command.commands = Commands([Entry(verb, module=f"{entry.module}.{verbs[verb]}") for verb in verbs])
    return command


def _name(command: CommandInfo) -> str:
    return command.name or command.callback.__name__.replace("_", "-")  # type: ignore[union-attr]  # each has one


def _dress(app: typer.Typer) -> None:
    """Give every command and group of `app` the looks and the leading options of `commands.help`."""
    app.info.cls = EosctlGroup
    for command in app.registered_commands:
        command.cls = EosctlCommand
    for group in app.registered_groups:
        group.cls = EosctlGroup
        if group.typer_instance is not None:
            _dress(group.typer_instance)


def _holder() -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(lambda: None)
    return app


PROGRAM: Final = "eosctl"
WIDEST_HELP: Final = 100

COMMANDS: Final = (
    Entry("doctor", "Run all exactly-once checks.", "Diagnose"),
    Entry("connector", "Show connectors, with what to do next.", "Diagnose"),
    Entry("upgrade-check", "Check whether the next rolling restart may start.", "Diagnose", "eosctl.commands.doctor"),
    Entry("inspect-config", "Read the config topic exactly like a worker.", "Diagnose"),
    Entry("timeline", "Show what happened to connectors, in order of time.", "Diagnose"),
    Entry("watch", "Export findings as Prometheus metrics.", "Diagnose"),
    Entry("explain", "Explain an error message or a finding.", "Diagnose"),
    Entry("snapshot", "Save the facts that the reading commands need in a file.", "Diagnose"),
    Entry("transactions", "List, trace, abort and commit transactions, with owners.", "Transactions"),
    Entry("fence", "Fence the producers of transactional IDs, and verify it.", "Transactions"),
    Entry("probe", "Test how a cluster handles transactions.", "Transactions"),
    Entry("offsets", "Show, export, compare and restore source offsets.", "Offsets"),
    Entry("migrate-offsets", "Move a connector's offsets, so that it resumes without a gap.", "Offsets"),
    Entry("acl-plan", "Plan the ACLs that workers and connectors need.", "Access"),
    Entry("apply", "Apply a plan file; refuse if the cluster has changed.", "Plans"),
    Entry("undo", "Roll back an applied plan.", "Plans", "eosctl.commands.apply"),
    Entry("plans", "List plan files and their state.", "Plans"),
    Entry("audit", "Prove from the record batches whether exactly-once held.", "Prove"),
    Entry("mirror", "Prove that a target cluster holds what its source committed.", "Prove"),
    Entry("certify", "Test a source connector's claim to exactly-once.", "Prove"),
    Entry("verify", "Check an evidence file, its signature, and its records.", "Prove"),
    Entry("spark-bundle", "Write the files that spark-submit needs to run an audit.", "Prove"),
    Entry("profile", "Name clusters, and check how a command connects.", "Set up"),
    Entry("schema", "Print the JSON Schema of a document that -o json prints.", "Set up"),
    Entry("completion", "Print the completion script of a shell.", "Set up"),
    Entry("sandbox", "Run a real Kafka with Connect workers on this machine.", "Set up"),
    Entry("demo", "See a connector duplicate its data, and a zombie fenced.", "Set up"),
)


class Root(EosctlGroup):
    """`eosctl` itself: help shows the table, and a command's module is imported when it is called."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  # Typer's own settings
        super().__init__(**{**settings, "commands": Commands(COMMANDS)})

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """`eosctl help COMMAND...` is `eosctl COMMAND... --help`."""
        count = leading_shared(args)
        if args[count : count + 1] == ["help"]:
            args = [*args[:count], *args[count + 1 :], "--help"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: "Context", incomplete: str) -> "list[CompletionItem]":
        """Names from the table, so that a TAB imports no command."""
        from typer._click.shell_completion import CompletionItem

        return [CompletionItem(each.name, help=each.summary) for each in COMMANDS if each.name.startswith(incomplete)]

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Names and summaries by theme, as the table has them, in one column."""
        widest = max(len(entry.name) for entry in COMMANDS)
        for theme, entries in groupby(COMMANDS, key=lambda entry: entry.theme):
            with formatter.section(heading(theme)):
                formatter.write_dl([(entry.name.ljust(widest), entry.summary) for entry in entries])


def root_command() -> TyperGroup:
    """The whole tree, its commands not imported yet."""
    app = typer.Typer(cls=Root, add_completion=False, rich_markup_mode=None)
    app.callback()(eosctl)
    group = get_group(app)
    group.name = PROGRAM
    return group


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise Exit(EXIT_FINE)


def _show_tree(wanted: bool) -> None:
    if wanted:
        from eosctl.render.formats import text_of_envelope
        from eosctl.shell.command_tree import help_document

        typer.echo(text_of_envelope(help_document(root_command()).envelope(), Output.JSON), nl=False)
        raise Exit(EXIT_FINE)


def eosctl(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    help_json: Annotated[
        bool, typer.Option("--help-json", callback=_show_tree, is_eager=True, help="Show all help as JSON and exit.")
    ] = False,
) -> None:
    """Operate exactly-once Kafka Connect sources (KIP-618) and the Kafka transactions under them (KIP-98).

    Start with `eosctl demo`, or point -b at your own cluster. Reading commands change nothing. Writing commands show
    what they will do, and ask. `eosctl help COMMAND` or `eosctl COMMAND -h` shows the options of a command.

    Examples:
      eosctl demo
      eosctl inspect-config -b broker:9092 --group-id connect-cluster
      eosctl fence -b broker:9092 --group-id connect-cluster --connector orders --dry-run

    Exit codes:
      0  fine                            6    unsupported broker or worker version
      1  it worked and found something   7    undecodable bytes
      2  usage or configuration          8    refused, nothing was changed
      3  incomplete: not all was read    9    partly applied
      4  unreachable or timed out        70   a bug
      5  not authorised                  74   the answer could not be written
                                         130  interrupted

    Options of the command may also stand before its name. Those that commands share can be set in the environment, as
    EOSCTL_ and the option's name: EOSCTL_BOOTSTRAP_SERVER, EOSCTL_OUTPUT.
    """


def run(args: Sequence[str], terminal: Terminal) -> int:
    """Run one command line and return its exit code; every failure is reported on the terminal, none is raised."""
    holder = ConsoleHolder(terminal)
    try:
        with redirect_stdout(terminal.stdout.file):
            return _execute(args, holder)
    except EosctlError as error:
        failure = error
    except KeyboardInterrupt:
        failure = Interrupted("interrupted")
    except TyperException as error:
        failure = _usage_error(error)
    except Exception as error:  # noqa: BLE001  # the boundary: whatever is left is a bug
        if isinstance(error, BrokenPipeError) and _reader_has_gone(terminal):
            return EXIT_FINE
        failure = _bug(error, holder)
    console = holder.console_for(OutputOptions(output=output_asked_for(args)))
    console.error(failure)
    return failure.exit_code


def _execute(args: Sequence[str], holder: ConsoleHolder) -> int:
    root = root_command()
    terminal = holder.terminal
    looks: dict[str, Any] = {
        "terminal_width": min(terminal.stdout.width or 80, WIDEST_HELP),
        "color": terminal.coloured(terminal.stdout),
    }
    try:
        with root.make_context(PROGRAM, list(args), obj=holder, **looks) as ctx:
            code = root.invoke(ctx)
    except Exit as end:
        return end.exit_code
    return EXIT_FINE if code is None else int(code)


def output_asked_for(args: Sequence[str]) -> Output:
    """The format that a command line asks for, as far as that is known before it is parsed."""
    asked = os.environ.get("EOSCTL_OUTPUT", "")
    for number, arg in enumerate(args):
        if arg in {"-o", "--output"}:
            asked = "".join(args[number + 1 : number + 2])
        elif arg.startswith("--output="):
            asked = arg.partition("=")[2]
        elif arg.startswith("-o"):
            asked = arg[2:]
    return Output(asked) if asked in set(Output) else Output.TABLE


def _usage_error(error: TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = PROGRAM if context is None else context.command_path
    return UsageError(in_words(error.format_message()) + _variable(error), hint=f"run `{path} --help`")


def _variable(error: TyperException) -> str:
    """The variable of the environment that has the wrong value; empty where another source has it."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or parameter is None:
        return ""
    source = context.get_parameter_source(parameter.name)
    is_of_environment = source is not None and source.name == "ENVIRONMENT"
    return f" (from the environment: {parameter.envvar})" if is_of_environment else ""


def _bug(error: Exception, holder: ConsoleHolder) -> Bug:
    """The error message for an unexpected exception.

    Its text may hold anything, so what looks like a secret in it is hidden; it is shown under -v and kept in a file
    that only the user can read.
    """
    import tempfile
    import traceback

    from eosctl.codecs.secrets import mask_text

    text = mask_text("".join(traceback.format_exception(error)))
    try:
        handle, name = tempfile.mkstemp(prefix="eosctl-", suffix=".traceback")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        hint = f"please report it; the traceback is in {name}"
    except OSError as unwritten:
        hint = f"please report it; -v shows the traceback, which could not be kept: {reason_of(unwritten)}"
    if holder.console is not None:
        holder.console.narrate(text.rstrip(), verbosity=1)
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__} in {place.name} ({Path(place.filename).name} line {place.lineno})"
    return Bug(f"this is a bug: {what}", hint=hint)


def _reader_has_gone(terminal: Terminal) -> bool:
    """True if stdout is a pipe without a reader: a BrokenPipeError may also come from a socket."""
    poll = select.poll()
    try:
        poll.register(terminal.stdout.file.fileno(), 0)
    except (OSError, ValueError):
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def main() -> None:
    tune_gc()
    args = sys.argv[1:]
    if "_EOSCTL_COMPLETE" in os.environ:
        _complete(os.environ["_EOSCTL_COMPLETE"])
    stdin, stdout, stderr = _stream(sys.stdin, "r"), _stream(sys.stdout, "w"), _stream(sys.stderr, "w")
    code = run(args, terminal_of(stdin, answer_stream(stdout), talk_stream(stderr), os.environ))
    for file in (stdout, stderr):
        try:
            file.flush()
        except OSError:  # the interpreter would try again at its end, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    sys.exit(code)


def tune_gc() -> None:
    """Let Python look for cycles seldom: what a command reads is frozen, holds no cycles and lives until the answer.

    By default all live objects are walked again and again while they become more, which for hundreds of thousands of
    ACLs, records or IDs takes as long as the work itself.
    """
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    gc.enable()


def _complete(line: str) -> NoReturn:
    """Answer a shell's TAB. Whatever goes wrong, there is nothing to offer: a message would land in the line."""
    with suppress(Exception):
        from eosctl.shell.completion import complete

        sys.stdout.write("".join(f"{offer}\n" for offer in complete(root_command(), line)))
        sys.stdout.flush()
    os._exit(EXIT_FINE)  # at once: a thread may still be waiting for a cluster


def _stream(file: Any, mode: str) -> TextIO:  # noqa: ANN401  # None where the caller closed it
    if file is None:
        return Path(os.devnull).open(mode, encoding="utf-8")  # type: ignore[return-value]  # it is a TextIO
    if isinstance(file, TextIOWrapper) and mode == "w":
        file.reconfigure(encoding=None if file.isatty() else "utf-8", errors="backslashreplace")
    return file  # type: ignore[no-any-return]  # sys has TextIOs
