"""The file of eosctl.shell.ready, from the tree of commands."""

import json
from collections.abc import Iterator
from typing import Any

import typer

from eosctl.shell.ready import WIDTHS


def ready_file(root: Any) -> str:  # noqa: ANN401  # Typer's command classes are its own
    """Help of the root at each width, and by path the visible verbs and options of each command; one option a line."""
    commands: dict[str, Any] = {}
    options: dict[str, int] = {}
    for path, command, context in _walk(root, str(root.name), None):
        runs = getattr(command, "invoke_without_command", True)
        # A group alone shows its help, and has no other option: a TAB after `eosctl offsets -` offers nothing.
        own = command.get_params(context) if runs else ()
        shown = [_option(each) for each in own if each.param_type_name == "option"]
        commands[path] = {"options": [options.setdefault(each, len(options)) for each in shown if each], "runs": runs}
        if verbs := getattr(command, "commands", {}):
            offered = root.shell_complete(context, "") if command is root else ()
            texts = {each.value: each.help for each in offered}
            commands[path]["verbs"] = [
                (name, " ".join((texts.get(name) or verbs[name].get_short_help_str()).split()))
                for name in verbs
                if not verbs[name].hidden
            ]
    helps = {
        str(width): f"{typer.Context(root, info_name=root.name, terminal_width=width, color=True).get_help()}\n"
        for width in WIDTHS
    }
    lines = [f"  {json.dumps(path)}: {json.dumps(each, ensure_ascii=False)}" for path, each in commands.items()]
    parts = (json.dumps(helps, ensure_ascii=False), ",\n".join(f"  {each}" for each in options), ",\n".join(lines))
    return '{{"help": {},\n"options": [\n{}\n],\n"commands": {{\n{}\n}}}}\n'.format(*parts)


def _walk(command: Any, path: str, parent: typer.Context | None) -> Iterator[tuple[str, Any, typer.Context]]:  # noqa: ANN401  # as above
    context = typer.Context(command, info_name=command.name, parent=parent)
    yield path, command, context
    for name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            yield from _walk(each, f"{path} {name}", context)


def _option(parameter: Any) -> str:  # noqa: ANN401  # as above
    """The visible option as JSON; empty for a hidden one."""
    if parameter.hidden:
        return ""
    shown = {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "help": " ".join((parameter.help or "").split()),
        "valued": not (parameter.is_flag or parameter.count),
        "repeated": bool(parameter.multiple),
    }
    return json.dumps(shown, ensure_ascii=False)
