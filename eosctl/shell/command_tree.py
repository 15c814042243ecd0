"""The tree of commands as data: the answer of `eosctl --help-json` and the source of the reference.

Objects are recognized by their attributes rather than their types: Typer carries its own Click.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

import typer
from msgspec import Struct

from eosctl.late_pattern import late_pattern
from eosctl.render.document import Document
from eosctl.shell.help import help_record, is_block, paragraphs
from eosctl.shell.shared_options import SHARED_OPTIONS

_CODE: Final = late_pattern(r"(\d+) {2,}(\S+(?: \S+)*)")
_LISTED: Final = late_pattern(r"[a-z-]+(?:\|[a-z-]+)+")
SHARED_NAMES = frozenset(parameter.name for parameter in SHARED_OPTIONS)


class Parameter(Struct, frozen=True):
    """An option (names as typed, value None for a flag) or an argument (names empty).

    choices are its listed values. default is the value if none is given, or None. repeated: it may be given several
    times.
    """

    name: str
    names: tuple[str, ...]
    value: str | None
    help: str
    environment: str | None
    required: bool
    shared: bool
    choices: tuple[str, ...]
    default: Any
    repeated: bool


class CommandHelp(Struct, frozen=True):
    """One command or group: path is typed by the user, commands are the names in a group.

    runs: it does something itself, also where it is a group.
    """

    path: str
    usage: str
    summary: str
    paragraphs: tuple[str, ...]
    blocks: dict[str, str]
    parameters: tuple[Parameter, ...]
    commands: tuple[str, ...]
    runs: bool

    @property
    def is_group(self) -> bool:
        return not self.runs


def walk(command: Any, path: str) -> Iterator[CommandHelp]:  # noqa: ANN401  # Typer's command classes are its own
    """The command, then all that it holds, in the order of help. Imports every command."""
    context = typer.Context(command, info_name=path)
    yield _describe(command, context)
    for name in _shown_commands(command):
        yield from walk(command.commands[name], f"{path} {name}")


def _shown_commands(command: Any) -> tuple[str, ...]:  # noqa: ANN401  # Typer's command classes are its own
    found = getattr(command, "commands", {})
    return tuple(name for name in found if not found[name].hidden)


def help_document(root: Any) -> Document:  # noqa: ANN401  # Typer's command classes are its own
    """All help as one document, with the meaning of each exit code."""
    commands = list(walk(root, root.name))
    codes = dict(_CODE.findall(commands[0].blocks["Exit codes"]))
    return Document("help", {"commands": commands, "exit_codes": codes})


def _describe(command: Any, context: typer.Context) -> CommandHelp:  # noqa: ANN401  # Typer's command classes are its own
    parts = list(paragraphs(command.help or ""))
    pieces = " ".join(command.collect_usage_pieces(context))
    blocks = dict(part.split(":\n", 1) for part in parts if is_block(part))
    prose = [" ".join(part.split()) for part in parts if not is_block(part)]
    return CommandHelp(
        path=context.command_path,
        usage=f"{context.command_path} {pieces}",
        summary=prose[0] if prose else "",
        paragraphs=tuple(prose[1:]),
        blocks=blocks,
        parameters=tuple(_parameter(each, context) for each in command.get_params(context) if not each.hidden),
        commands=_shown_commands(command),
        runs=getattr(command, "invoke_without_command", True),
    )


def _parameter(parameter: Any, context: typer.Context) -> Parameter:  # noqa: ANN401  # Typer's command classes are its own
    shown, text = help_record(parameter, context) or ("", "")
    is_option = parameter.param_type_name == "option"
    names = tuple(parameter.opts) + tuple(parameter.secondary_opts) if is_option else ()
    flag = is_option and (parameter.is_flag or parameter.count)
    value = None if flag else re.sub(r"^(-\S+ )*", "", shown) if is_option else shown
    default = parameter.default
    return Parameter(
        name=parameter.name,
        names=names,
        value=value,
        help=text,
        environment=parameter.envvar,
        required=parameter.required,
        shared=parameter.name in SHARED_NAMES and getattr(parameter, "rich_help_panel", None) is not None,
        choices=_choices(parameter, value),
        default=default if default is None or isinstance(default, str | int | float | list) else str(default),
        repeated=parameter.multiple or parameter.count if is_option else parameter.nargs != 1,
    )


def _choices(parameter: Any, value: str | None) -> tuple[str, ...]:  # noqa: ANN401  # Typer's command classes are its own
    """The placeholders of its value, or of its type."""
    if value and _LISTED.fullmatch(value):
        return tuple(value.split("|"))
    typed = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return tuple(typed) if isinstance(typed, type) and issubclass(typed, StrEnum) else ()


def shown(parameter: Parameter) -> str:
    """The option as it is typed, its short names first: `-b, --bootstrap-server HOST:PORT,…`."""
    names = ", ".join(sorted(parameter.names, key=len))
    return " ".join(filter(None, (names, parameter.value)))


def page_name(path: str) -> str:
    """The name of a command's page: `eosctl-offsets-show`."""
    return path.replace(" ", "-")
