"""Where eosctl keeps what it must not forget: plans that the user gave no file for, and what the user trusts."""

import os
from pathlib import Path


def state_directory() -> Path:
    """`eosctl` in XDG_STATE_HOME, by default ~/.local/state; it need not exist yet."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "eosctl"
