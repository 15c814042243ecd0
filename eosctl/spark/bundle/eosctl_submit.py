"""The program of spark-submit: `eosctl audit --engine spark`, or `audit source`, with the options given here.

A cluster manager takes exit code 1 for a failure, and starts the application again. So findings end with 1 only on
request, with --fail-on or EOSCTL_FAIL_ON, and with 0 otherwise.
"""

import os
import runpy
import sys

from eosctl.errors import EXIT_FINE, EXIT_FOUND

asked = "EOSCTL_FAIL_ON" in os.environ or any(each.partition("=")[0] == "--fail-on" for each in sys.argv)
if sys.argv[1:2] == ["source"]:
    sys.argv[1:2] = ["audit", "source", "--engine", "spark"]
else:
    sys.argv[1:1] = ["audit", "--engine", "spark"]
try:
    runpy.run_module("eosctl", run_name="__main__")
except SystemExit as ended:
    sys.exit(EXIT_FINE if ended.code == EXIT_FOUND and not asked else ended.code)
