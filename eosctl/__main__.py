"""`eosctl` and `python -m eosctl`."""

import gc

from eosctl.bare_packages import SELDOM_USED, open_bare

gc.disable()  # to look for cycles while modules are imported takes a tenth of that; main has it begin
open_bare(SELDOM_USED)

from eosctl.cli import main  # noqa: E402  # an import is what both are for

if __name__ == "__main__":
    main()
