"""Command lines run in this process, as in tests/commands."""

from tests.commands.conftest import eosctl

__all__ = ["eosctl"]
