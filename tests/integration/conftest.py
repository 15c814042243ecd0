"""Command lines run in this process, as in tests/commands."""

from tests.commands.conftest import at_terminal, eosctl

__all__ = ["at_terminal", "eosctl"]
