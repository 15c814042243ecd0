"""`eosctl` and `python -m eosctl`."""

import atexit
import gc
import os
import sys

from eosctl.bare_packages import OWN, SELDOM_USED, open_bare
from eosctl.shell.ready import ready_text

gc.disable()  # to look for cycles while modules are imported takes a tenth of that; main has it begin
open_bare(SELDOM_USED | OWN)


class _LastCallback:
    """Ends the process before Python frees every object one by one, which takes 7 ms of a small command.

    Callbacks of atexit run in the opposite order: registered first, it runs after all others, and after all threads.
    """

    code: object = None

    def __call__(self) -> None:
        if not isinstance(self.code, int):
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):  # none, not writable, closed: Python knows what to do
            return
        os._exit(self.code)


def main() -> None:
    """Print what is ready, or run the command."""
    last = _LastCallback()
    if _has_its_own_process():
        atexit.register(last)
    if (text := ready_text(sys.argv[1:], os.environ)) is not None and _is_written(text.encode()):
        last.code = 0
        return
    from eosctl.cli import main as run

    try:
        run()
    except SystemExit as end:
        last.code = end.code
        raise


def _has_its_own_process() -> bool:
    """False where another program has more to do at the end, or Python is to warn of what was left open."""
    is_program = getattr(sys.modules["__main__"], "main", None) is main
    return is_program and not (atexit._ncallbacks() or sys.warnoptions or sys.flags.dev_mode)


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
