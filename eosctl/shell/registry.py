"""Commands by name, each imported when it is asked for: `eosctl --help` imports none of them."""

import importlib
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import typer
from msgspec import Struct
from msgspec.structs import force_setattr
from typer.main import get_command

from eosctl.shell.help import EosctlCommand, EosctlGroup


class Entry(Struct, frozen=True):
    """A command: its name, the first line of its help, and what it is for.

    module is the one whose `app` it is, in eosctl.commands under its name unless another is given. Where the module has
    VERBS, they are the names of its commands, each in a module of its own under it, which is an Entry in its turn.
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


def load(entry: Entry) -> Any:  # noqa: ANN401  # Typer's command classes are its own
    """The command or group that the entry's module holds; ModuleNotFoundError where there is no such module."""
    module = importlib.import_module(entry.module)
    app: typer.Typer = module.app
    _dress(app)
    holder = _holder()
    if len(app.registered_commands) == 1 and not app.registered_groups and app.registered_callback is None:
        app.registered_commands[0].name = entry.name
        holder.add_typer(app)
    else:
        holder.add_typer(app, name=entry.name)
    command = get_command(holder).commands[entry.name]  # type: ignore[attr-defined]  # a group: it has commands
    if verbs := getattr(module, "VERBS", ()):
        command.commands = Commands([Entry(verb, module=f"{entry.module}.{verb.replace('-', '_')}") for verb in verbs])
    return command


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
