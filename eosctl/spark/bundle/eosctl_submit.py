"""What spark-submit runs: `eosctl audit --engine spark` with the options given here."""

import sys

from eosctl.cli import main

sys.argv[1:1] = ["audit", "--engine", "spark"]
main()
