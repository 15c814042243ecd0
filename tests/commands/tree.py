"""The tree of commands as data, walked once in a process."""

from functools import cache

from eosctl.cli import PROGRAM, root_command
from eosctl.shell.command_tree import CommandHelp, walk


@cache
def commands() -> tuple[CommandHelp, ...]:
    """Every command and group, the root first."""
    return tuple(walk(root_command(), PROGRAM))
