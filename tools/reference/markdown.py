"""The command reference in Markdown: a page for each command with all that its help says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from eosctl.shell.command_tree import CommandHelp, Parameter, page_name, shown
from eosctl.shell.shared_options import (
    CONNECTION_OPTIONS,
    FINDING_OPTIONS,
    GATE_OPTIONS,
    LIST_OPTIONS,
    OUTPUT_OPTIONS,
    SAFETY_OPTIONS,
    SNAPSHOT_OPTIONS,
)

SHARED_PAGE: Final = "shared-options"
SUBJECTS: Final = {
    "Connection": (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS),
    "Safety": SAFETY_OPTIONS,
    "Findings": (*FINDING_OPTIONS, *GATE_OPTIONS),
    "Output": (*OUTPUT_OPTIONS, *LIST_OPTIONS),
}
_CODE: Final = re.compile(r"(`[^`]*`)")
_MARKED: Final = re.compile(r"([\\<>*\[\]])")


def without_html(page: str) -> str:
    """The page with each name such as <connector> as text: Markdown takes it for HTML, and shows nothing."""
    return re.sub(r"(`[^`]*`|<!--.*?-->)|<", lambda found: found[1] or r"\<", page)


def pages(commands: Sequence[CommandHelp], notice: str) -> dict[str, str]:
    """Every page by its name without suffix: index, the shared options, and one for each command of the root.

    commands are the whole tree, the root first, as `walk` yields it; a group's page holds its commands too.
    """
    others = commands[1:]
    tops = [each for each in others if each.path.count(" ") == 1]
    texts = {"index": _index(commands, tops), SHARED_PAGE: _shared(commands)}
    for top in tops:
        family = [each for each in others if f"{each.path} ".startswith(f"{top.path} ")]
        texts[page_name(top.path)] = "\n".join(_section(each, 1 + (each is not top)) for each in family)
    return {name: f"<!-- {notice} -->\n\n{text.rstrip()}\n" for name, text in texts.items()}


def _index(commands: Sequence[CommandHelp], tops: Sequence[CommandHelp]) -> str:
    rows = [f"| {_link(each)} | {_prose(each.summary)} |" for each in commands if not each.is_group]
    names = "\n".join((*(page_name(each.path) for each in tops), SHARED_PAGE))
    tree = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    return "\n".join(("# Commands", "", "| command | |", "|---|---|", *rows, "", *_body(commands[0]), tree))


def _link(command: CommandHelp) -> str:
    top = " ".join(command.path.split()[:2])
    anchor = "" if command.path == top else f"#{page_name(command.path)}"
    return f"[`{command.path}`]({page_name(top)}.md{anchor})"


def _section(command: CommandHelp, level: int) -> str:
    """A command's heading, and all that is said of it."""
    return "\n".join((f"{'#' * level} {command.path}", "", _prose(command.summary), "", *_body(command)))


def _body(command: CommandHelp) -> Iterator[str]:
    if not command.is_group:
        yield from ("```none", command.usage, "```", "")
    for paragraph in command.paragraphs:
        yield from (_prose(paragraph), "")
    for title, block in command.blocks.items():
        yield from (f"**{title}**", "", *_block(title, block), "")
    own = [each for each in command.parameters if not each.shared and each.name != "help"]
    if own:
        yield from ("**Options**", "", *_table(own), "")
    shared = [f"`{each.names[0]}`" for each in command.parameters if each.shared]
    if shared:
        yield from (f"[Shared options]({SHARED_PAGE}.md): {', '.join(shared)}", "")


def _block(title: str, block: str) -> Iterator[str]:
    lines = [line.strip() for line in block.splitlines()]
    if title == "Columns":
        yield from ("| column | meaning |", "|---|---|")
        for line in lines:
            name, _, meaning = line.partition(" ")
            yield f"| `{name}` | {_cell(meaning.strip())} |"
    else:
        yield from ("```sh" if title == "Examples" else "```text", *lines, "```")


def _shared(commands: Sequence[CommandHelp]) -> str:
    known: Mapping[str, Parameter] = {
        each.name: each for command in commands for each in command.parameters if each.shared
    }
    head = "They are the same for every command that has them, and may also stand before the command's name."
    parts = ["# Shared options", "", head, ""]
    for subject, options in SUBJECTS.items():
        parts += [f"## {subject}", "", "| option | meaning | environment |", "|---|---|---|"]
        for each in (known[option.name] for option in options):
            environment = f"`{each.environment}`" if each.environment else ""
            parts.append(f"| `{_option(each)}` | {_cell(each.help)} | {environment} |")
        parts.append("")
    return "\n".join(parts)


def _table(parameters: Sequence[Parameter]) -> Iterator[str]:
    yield from ("| option | meaning |", "|---|---|")
    yield from (f"| `{_option(each)}` | {_cell(each.help)} |" for each in parameters)


def _option(parameter: Parameter) -> str:
    """With spaces between the choices, so that a page breaks a long list of them."""
    return _pipes(shown(parameter).replace("|", " | "))


def _cell(text: str) -> str:
    return _pipes(_prose(text))


def _prose(text: str) -> str:
    """The text with what Markdown would take for its own marked as text; what stands in backticks is left alone."""
    return "".join(part if part.startswith("`") else _MARKED.sub(r"\\\1", part) for part in _CODE.split(text))


def _pipes(text: str) -> str:
    return text.replace("|", "\\|")
