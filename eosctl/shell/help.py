"""The layout of help: usage, purpose, examples, the command's options, then the shared ones by subject.

Plain text with bold headings: Rich's panels would double the time of `eosctl --help`. The docstring of a command is its
help. Paragraphs are wrapped. A line that ends with a colon and the indented lines under it (`Examples:`, `Columns:`)
are shown unchanged; only a line with two columns is wrapped under the second.
"""

import os
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import typer
from typer._click.exceptions import NoSuchOption
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from eosctl.late_pattern import late_pattern
from eosctl.shell.shared_options import leading_shared

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter
    from typer._click.core import Parameter


# Words of the command line to values, where that is plain: Typer's way builds a pydantic model for each option.
#
# Importing pydantic takes longer than many a command. A word that is not plain, or not valid, goes Typer's way, so
# that accepted values and error messages stay Typer's.


UNKNOWN: Final = object()
"""Typer has to decide."""
_WHOLE_NUMBER: Final = late_pattern(r"-?[0-9]{1,15}")
MOST: Final[dict[object, int]] = {int: (1 << 63) - 1, float: 10**9}
"""The largest numbers: Kafka's largest offset or ID, and as seconds 31 years; Python waits for no longer than 292."""
UNITS: Final = {"SECONDS": " of seconds", "MINUTES": " of minutes", "MIB": " of MiB", "MS": " of milliseconds"}
"""What a number counts, by the word that stands for it in the help."""
_DECIMAL: Final = late_pattern(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def read_plain_words_quickly(parameter: Any) -> None:  # noqa: ANN401  # Typer's parameter classes are its own
    """Have an option or argument take plain words without pydantic; does nothing where this Typer does not use it."""
    if hasattr(parameter, "get_runtime_param") and not isinstance(parameter.get_runtime_param, _Quick):
        parameter.get_runtime_param = _Quick(parameter.get_runtime_param, parameter.type_descriptor)


class _Quick:
    def __init__(self, slow: Any, descriptor: Any) -> None:  # noqa: ANN401  # Typer's own
        self._slow = slow
        self._kind, self._info = descriptor.annotation, descriptor.parameter_info

    def __call__(self) -> "_Quick":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401  # Typer's own
        """The value for the command; raises Typer's BadParameter.

        No empty word is taken from the command line, which a shell makes of a variable that is not set: it would be
        another answer than the user asked for. `--profile ""` means no profile, `--prefix ""` all IDs.
        """
        if _is_empty(value) and param.name not in MAY_BE_EMPTY and _was_typed(param, ctx):
            raise typer.BadParameter("it is empty: is a variable of your shell not set?", ctx=ctx, param=param)
        taken = self._converted(value, repeated=param.multiple or param.nargs == -1)
        if taken is not UNKNOWN:
            return taken
        if self._kind not in {int, float, bool}:
            return self._slow().coerce(value, param=param, ctx=ctx)
        return self._slow_value(value, param, ctx)

    def _slow_value(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401  # Typer's own
        """Raises BadParameter with the value and what is accepted, also for a number beyond MOST."""
        try:
            number = self._slow().coerce(value, param=param, ctx=ctx)
        except typer.BadParameter:
            reason = f"is not {_accepted(self._kind, param, self._info)}"
        else:
            if self._kind is bool or number <= MOST[self._kind]:
                return number
            reason = f"is too large: give at most {MOST[self._kind]}"
        raise typer.BadParameter(f"{value!r} {reason}", ctx=ctx, param=param)

    def _converted(self, value: Any, *, repeated: bool) -> object:  # noqa: ANN401  # a word, several or a default
        if value is None:
            return () if repeated else None
        if self._info.parser is not None:
            return UNKNOWN
        if get_origin(self._kind) is not list:
            return plain_value(value, self._kind, self._info)
        if not isinstance(value, list | tuple):
            return UNKNOWN
        kind = get_args(self._kind)[0]
        taken = [plain_value(each, kind, self._info) for each in value]
        return UNKNOWN if UNKNOWN in taken else taken


MAY_BE_EMPTY: Final = frozenset({"profile", "prefix"})


def _is_empty(value: object) -> bool:
    return value == "" or (isinstance(value, list | tuple) and "" in value)


def _was_typed(param: Any, ctx: Any) -> bool:  # noqa: ANN401  # Typer's own
    source = ctx.get_parameter_source(param.name)
    return source is not None and source.name == "COMMANDLINE"


def plain_value(value: object, kind: object, info: Any) -> object:  # noqa: ANN401  # Typer's own
    """`value` as `kind`, within the bounds of `info`; UNKNOWN where it is no plain word of that kind."""
    if kind is str:
        return value if isinstance(value, str) else UNKNOWN
    if kind is int or kind is float:
        return _number(value, kind, info)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((each for each in kind if value == each.value or value is each), UNKNOWN)
    if kind is Path and isinstance(value, str | Path) and _is_plain_file(value, info):
        return Path(value)
    return UNKNOWN


def _number(value: object, kind: type[int] | type[float], info: Any) -> object:  # noqa: ANN401  # Typer's own
    if isinstance(value, str) and (_WHOLE_NUMBER if kind is int else _DECIMAL).fullmatch(value):
        number: float = kind(value)
    elif type(value) is kind:
        number = value
    else:
        return UNKNOWN
    least, most = info.min, MOST[kind] if info.max is None else info.max
    return number if (least is None or number >= least) and number <= most else UNKNOWN


def _accepted(kind: object, param: Any, info: Any) -> str:  # noqa: ANN401  # Typer's own
    """The numbers that an option takes, with its unit and an example: its default, or the number nearest to 10.

    Of a switch, which has a value in the environment only, both words.
    """
    if kind is bool:
        return "true or false"
    low, high = (None if bound is None else f"{bound:.15g}" for bound in (info.min, info.max))
    numbers = "a whole number" if kind is int else "a number"
    unit = UNITS.get(param.metavar or "", "")
    near = min(max(10, info.min or 0), info.max or 10)
    example = param.default if isinstance(param.default, int | float) else near
    bounds = "" if low is None else f"at least {low}, " if high is None else f"from {low} to {high}, "
    return f"{numbers}{unit} ({bounds}such as {example:.15g})"


def _is_plain_file(value: str | Path, info: Any) -> bool:  # noqa: ANN401  # Typer's own
    """True if Typer would accept it unchanged: a file that is readable or absent, without further conditions."""
    if info.exists or info.resolve_path or info.writable or info.path_type is not None or not info.file_okay:
        return False
    return not os.path.lexists(value) or (Path(value).is_file() and os.access(value, os.R_OK))


LEADING: Final = "eosctl.leading-options"
OWN: Final = "Options"
_TWO_COLUMNS: Final = late_pattern(r" +\S+ {2,}(?=\S)")
_BOUNDS: Final = late_pattern(r"(?:(?P<low>[\d.-]+)<=|\b)x(?P<sign>[<>]=)(?P<high>[\d.-]+)")
_FURTHER_COMMANDS: Final = late_pattern(r"(?<=')(, '[^']+')+(?=\?$)")
_VARIABLE: Final = late_pattern(r" \(env var: '[A-Z_]+'\)")
_TIME_FORMATS: Final = late_pattern(r"does not match the formats? '%Y.*'")
_WHOLE: Final = late_pattern(r"(?<=default: )(\d+)\.0(?=[\];,\s]|$)")


def paragraphs(help_text: str) -> Iterator[str]:
    yield from (part.strip("\n") for part in help_text.split("\n\n") if part.strip())


def is_block(paragraph: str) -> bool:
    """True if the paragraph is a titled block such as `Examples:`, to be shown unchanged."""
    title, *lines = paragraph.splitlines()
    return title.endswith(":") and bool(lines) and all(line.startswith(" ") for line in lines)


def in_words(text: str) -> str:
    """Typer's text in plain words: `x>=1` is `at least 1`, `1<=x<=3` is `1 to 3`; of like commands the most alike."""

    def said(bounds: re.Match[str]) -> str:
        high = bounds["high"].removesuffix(".0")
        if bounds["low"]:
            return f"{bounds['low'].removesuffix('.0')} to {high}"
        return f"at {'least' if bounds['sign'] == '>=' else 'most'} {high}"

    text = text.replace("Choose from:\n\t", "Choose from ").replace(",\n\t", ", ")
    text = _BOUNDS.sub(said, text).replace("Value error, ", "").replace("Input should be", "must be")
    text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    text = _VARIABLE.sub("", _FURTHER_COMMANDS.sub("", text))
    text = _TIME_FORMATS.sub("is no time such as 2026-01-31T12:00:00Z", text)
    return _WHOLE.sub(r"\1", text.partition(", unable to parse")[0])


def help_record(parameter: "Parameter", ctx: "Context") -> tuple[str, str] | None:
    """The parameter as typed, and its help with default and bounds; None for a hidden one."""
    record = parameter.get_help_record(ctx)
    if record is None:
        return None
    typed = record[0].partition(" <")[0] if parameter.param_type_name == "argument" else record[0]
    return typed, in_words(record[1])


def _usage_of(parameter: "Parameter", ctx: "Context") -> list[str]:
    """NAME, [NAME], NAME... or [NAME...] for an argument; nothing for an option."""
    if parameter.param_type_name != "argument":
        return []
    name = f"{parameter.metavar or parameter.name.upper()}{'...' if parameter.nargs != 1 else ''}"
    return [name if parameter.required else f"[{name}]"]


UNBROKEN: Final = "\N{NON-BREAKING HYPHEN}"
"""Stands for a hyphen while Click wraps, which would break `exactly-once`, a topic's name and a command there."""


class _Help:
    help: str | None

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        parameters: list[Parameter] = super().get_params(ctx)  # type: ignore[misc]  # a command's, beside this class
        for parameter in parameters:
            read_plain_words_quickly(parameter)
        return parameters

    def make_parser(self, ctx: "Context") -> Any:  # noqa: ANN401  # Typer's own
        """Click's, which looks first whether `-b` is a long option, and then for names like it, which nothing shows."""
        parser: Any = super().make_parser(ctx)  # type: ignore[misc]  # as above
        match = parser._match_long_opt

        def match_long(name: str, value: str | None, state: object) -> None:
            if name not in parser._long_opt and name[:2] not in parser._opt_prefixes:
                raise NoSuchOption(name, ctx=ctx)
            match(name, value, state)

        parser._match_long_opt = match_long
        return parser

    def get_help_option_names(self, ctx: "Context") -> list[str]:
        return ["-h", "--help"]

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first paragraph, whole: what lists of commands and a TAB show."""
        return " ".join(next(paragraphs(self.help or ""), "").split())

    def get_help(self, ctx: "Context") -> str:
        return str(super().get_help(ctx)).replace(UNBROKEN, "-")  # type: ignore[misc]  # as above

    def format_help_text(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """The docstring: paragraphs and the second column of blocks wrapped, the rest of blocks as it is."""
        for paragraph in paragraphs(self.help or ""):
            formatter.write_paragraph()
            if is_block(paragraph):
                title, *lines = paragraph.splitlines()
                shown = (part for line in lines for part in _wrapped(line, formatter.width))
                formatter.write("".join(f"{line}\n" for line in (heading(title), *shown)))
            else:
                formatter.write_text(paragraph.replace("-", UNBROKEN))

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Arguments, then options by panel; a command's own come first."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = help_record(param, ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                panel = getattr(param, "rich_help_panel", None) or ("Arguments" if is_argument else OWN)
                sections.setdefault(panel, []).append((record[0], record[1].replace("-", UNBROKEN)))
        for title in sorted(sections, key=["Arguments", OWN, *sections].index):
            with formatter.section(heading(title)):
                formatter.write_dl(sections[title])


def _wrapped(line: str, width: int) -> list[str]:
    first = _TWO_COLUMNS.match(line)
    if first is None or len(line) <= width:
        return [line]
    indent = " " * first.end()
    return textwrap.wrap(
        line[first.end() :], width, initial_indent=first[0], subsequent_indent=indent, break_on_hyphens=False
    )


def heading(text: str) -> str:
    return typer.style(text, bold=True)


class EosctlCommand(_Help, TyperCommand):
    """A command that also takes its shared options before its name: `eosctl -o json fence`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Moves the words before the name to the front, so that later ones win or are added."""
        leading = ctx.meta.pop(LEADING, [])
        try:
            return super().parse_args(ctx, [*leading, *args])
        except TyperException as error:
            if getattr(error, "ctx", None) is None:  # an option without its value: Click does not say of which command
                error.ctx = ctx  # type: ignore[attr-defined]  # every UsageError has one
            raise

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """The usage line without arguments that are accepted and not shown."""
        shown = (each for each in self.get_params(ctx) if not getattr(each, "hidden", False))
        options = [self.options_metavar] if self.options_metavar else []
        return [*options, *(piece for each in shown for piece in _usage_of(each, ctx))]


class EosctlGroup(_Help, TyperGroup):
    """A group of commands; shared options given before the command are handed on to it. Alone it shows its help."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Keep leading shared options for the command; all options of a group that is a command itself."""
        if self.invoke_without_command:
            given = [*ctx.meta.pop(LEADING, []), *args]
            rest = super().parse_args(ctx, list(given))
            if ctx._protected_args:  # a subcommand follows: the words before its name belong to it
                ctx.meta[LEADING] = given[: len(given) - len(rest) - 1]
            return rest
        count = leading_shared(args)
        ctx.meta.setdefault(LEADING, []).extend(args[:count])
        rest = args[count:]
        return super().parse_args(ctx, rest if rest or ctx.meta[LEADING] else ["--help"])

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)
