"""`eosctl` and `python -m eosctl`."""

import gc
import os
import sys

from eosctl.bare_packages import SELDOM_USED, open_bare
from eosctl.shell.ready import ready_text

gc.disable()  # to look for cycles while modules are imported takes a tenth of that; main has it begin
open_bare(SELDOM_USED)


def main() -> None:
    """Print what is ready, or run the command."""
    if (text := ready_text(sys.argv[1:], os.environ)) is not None and _is_written(text.encode()):
        return
    from eosctl.cli import main as run

    run()


def _is_written(text: bytes) -> bool:
    """False where standard output takes nothing: the command tries again, and says so."""
    try:
        while text:
            text = text[os.write(1, text) :]
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
