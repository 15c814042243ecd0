"""`eosctl(...)`, as the tests of commands have it."""

from tests.commands.conftest import eosctl

__all__ = ["eosctl"]
