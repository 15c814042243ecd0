"""`eosctl(...)` and `at_terminal(...)`, as the tests of commands have them."""

from tests.commands.conftest import at_terminal, eosctl

__all__ = ["at_terminal", "eosctl"]
