"""What `--help-json` and `schema` answer."""

from typing import Any, TypedDict


class ParameterRow(TypedDict):
    """An option (names as typed, value null for a flag) or an argument (without names)."""

    name: str
    names: list[str]
    value: str | None
    help: str
    environment: str | None
    required: bool
    shared: bool
    choices: list[str]
    default: Any
    repeated: bool


class CommandRow(TypedDict):
    """A command or a group: path is what is typed, commands are those of a group; runs: it does something itself."""

    path: str
    usage: str
    summary: str
    paragraphs: list[str]
    blocks: dict[str, str]
    parameters: list[ParameterRow]
    commands: list[str]
    runs: bool


class HelpData(TypedDict):
    """The help of all commands, and what each exit code means."""

    commands: list[CommandRow]
    exit_codes: dict[str, str]


class KindRow(TypedDict):
    """A kind of document: the commands that print it, and its revision."""

    kind: str
    version: int
    commands: list[str]


class KindsData(TypedDict):
    """Every kind of document."""

    kinds: list[KindRow]


class SchemaData(TypedDict):
    """The JSON Schema of one kind."""

    schema: dict[str, Any]
