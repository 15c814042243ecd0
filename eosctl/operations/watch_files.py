"""Files to install for `watch`."""

import shutil
from collections.abc import Sequence
from typing import Final

from eosctl import __version__
from eosctl.analysis.metrics.alerts import ALERTS
from eosctl.analysis.metrics.catalogue import CYCLE_AS_OF
from eosctl.analysis.metrics.dashboard import ROWS
from eosctl.errors import UsageError
from eosctl.model.watch import Emitted, WatchFile
from eosctl.operations.serving import Listening

INSTALLED: Final = "/usr/local/bin/eosctl"
"""Where it is taken to lie when the PATH does not say."""


def watch_file(kind: Emitted, profiles: Sequence[str], listening: Listening) -> WatchFile:
    """What the file is made of. UsageError where what is to run names no profile: addresses and secrets are there."""
    if kind.names_profiles and not profiles:
        raise UsageError(
            f"--emit {kind} needs the profiles to watch", hint="name them; `eosctl profile list` shows all profiles"
        )
    program = shutil.which("eosctl") or INSTALLED
    return WatchFile(
        kind=kind,
        alerts=ALERTS,
        rows=ROWS,
        each_cluster=CYCLE_AS_OF,
        profiles=tuple(profiles),
        address=listening.address,
        every_s=listening.every_s,
        program=program,
        version=__version__,
    )
