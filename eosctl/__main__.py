"""`eosctl` and `python -m eosctl`."""

import gc

gc.disable()  # to look for cycles while modules are imported takes a tenth of that; main has it begin

from eosctl.cli import main  # noqa: E402  # an import is what it is turned off for

if __name__ == "__main__":
    main()
