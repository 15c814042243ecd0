"""Failpoints that end this process, as a crash would."""

import os
import signal

from eosctl.model.failpoints import Failpoint, no_failpoint


def failpoint_of(wanted: str | None) -> Failpoint:
    """The failpoint that EOSCTL_FAILPOINT names: `NAME` or `NAME:3` kills this process (SIGKILL) there, or when it is
    there the third time; None or the empty text does nothing.
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
