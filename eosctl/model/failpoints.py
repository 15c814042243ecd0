"""Named points at which a test ends or stops a process that writes. Outside of tests nothing happens at them."""

from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Called with the name of each point that a run reaches: a test that is to end there ends it."""


def no_failpoint(_: str) -> None:
    """The failpoint of every run that is not a test's."""
