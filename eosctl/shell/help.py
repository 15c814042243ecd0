"""How help looks: usage, what the command does, examples, its own options, then the shared ones by subject.

Plain text with bold headings: Rich's panels would double the time that `eosctl --help` takes. The docstring of a
command is its help. Paragraphs are wrapped; a line that ends with a colon and the indented lines under it
(`Examples:`, `Columns:`) are shown as they are; only a line with two columns goes on under the second.
"""

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand, TyperGroup

from eosctl.shell.shared_options import leading_shared

if TYPE_CHECKING:  # Typer's own copy of Click, which has no public name
    from typer._click import Context, HelpFormatter
    from typer._click.core import Parameter

LEADING: Final = "eosctl.leading-options"
OWN: Final = "Options"
_TWO_COLUMNS: Final = re.compile(r" +\S+ {2,}(?=\S)")


def paragraphs(help_text: str) -> Iterator[str]:
    """The paragraphs of a command's help, in order, without the empty lines between them."""
    yield from (part.strip("\n") for part in help_text.split("\n\n") if part.strip())


def is_block(paragraph: str) -> bool:
    """Whether the paragraph is a titled block such as `Examples:`, to be shown as it is."""
    title, *lines = paragraph.splitlines()
    return title.endswith(":") and bool(lines) and all(line.startswith(" ") for line in lines)


class _Help:
    """The parts of help that commands and groups share."""

    help: str | None

    if TYPE_CHECKING:

        def get_params(self, ctx: "Context") -> "list[Parameter]": ...

    def format_help_text(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """The docstring: paragraphs and the second column of blocks wrapped, the rest of blocks as it is."""
        for paragraph in paragraphs(self.help or ""):
            formatter.write_paragraph()
            if is_block(paragraph):
                title, *lines = paragraph.splitlines()
                shown = (part for line in lines for part in _wrapped(line, formatter.width))
                formatter.write("".join(f"{line}\n" for line in (heading(title), *shown)))
            else:
                formatter.write_text(paragraph)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Arguments, then options by panel; a command's own come first."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                panel = getattr(param, "rich_help_panel", None) or ("Arguments" if is_argument else OWN)
                shown = record[0].partition(" <")[0] if is_argument else record[0]
                sections.setdefault(panel, []).append((shown, record[1]))
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
    """A heading, bold where the terminal shows it."""
    return typer.style(text, bold=True)


class EosctlCommand(_Help, TyperCommand):
    """A command that also takes its shared options before its name: `eosctl -o json fence`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Put what stood before the name in front, so that what stands after it wins or is added."""
        leading = ctx.meta.pop(LEADING, [])
        return super().parse_args(ctx, [*leading, *args])

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """The usage line without arguments that are accepted and not shown."""
        shown = (each for each in self.get_params(ctx) if not getattr(each, "hidden", False))
        options = [self.options_metavar] if self.options_metavar else []
        return [*options, *(piece for each in shown for piece in each.get_usage_pieces(ctx))]


class EosctlGroup(_Help, TyperGroup):
    """A group of commands; shared options given before the command are handed on to it."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Keep leading shared options for the command; all options of a group that is a command itself."""
        if self.invoke_without_command:
            given = [*ctx.meta.pop(LEADING, []), *args]
            rest = super().parse_args(ctx, list(given))
            if ctx._protected_args:  # a subcommand follows: what stood before its name is for it
                ctx.meta[LEADING] = given[: len(given) - len(rest) - 1]
            return rest
        count = leading_shared(args)
        ctx.meta.setdefault(LEADING, []).extend(args[:count])
        return super().parse_args(ctx, args[count:])

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """The commands first, then the few options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)
