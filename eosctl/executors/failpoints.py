"""Named points at which a test ends or stops a process that writes. Outside of tests nothing happens at them."""

import os
import signal
from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Is called with the place where the run is: a test that is to end there ends it."""


def no_failpoint(_: str) -> None:
    """The failpoint of every run that is not a test's."""


def failpoint_of(wanted: str | None) -> Failpoint:
    """What EOSCTL_FAILPOINT says: `NAME` or `NAME:3` kills this process (SIGKILL) there, or when it is there the third
    time; None or the empty text does nothing.
    """
    if not wanted:
        return no_failpoint
    name, _, times = wanted.rpartition(":") if wanted.rpartition(":")[2].isdigit() else (wanted, "", "1")
    left = int(times)

    def at(here: str) -> None:
        nonlocal left
        left -= here == name
        if here == name and left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return at
