"""How long a user waits before anything happens: eosctl against Kafka's own transactions tool.

`kafka-transactions.sh` is `java … org.apache.kafka.tools.TransactionsCommand`; the script's own shell work is left out,
which favours the peer.
"""

import sys
from pathlib import Path

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import find_java, java_version

KAFKA = "4.3.1"
RUNS = 15
BAR_S = 0.3
BAR_RATIO = 5


def main() -> int:
    """Measure, print, write results/startup.json; 1 where a bar is missed."""
    eosctl = str(Path(sys.executable).with_name("eosctl"))
    java = find_java()
    peer = [
        str(java),
        "-cp",
        resolve_jars(KAFKA, print).classpath,
        "org.apache.kafka.tools.TransactionsCommand",
        "--help",
    ]
    commands = {
        "eosctl --help": Command([eosctl, "--help"]),
        "eosctl --version": Command([eosctl, "--version"]),
        "peer --help": Command(peer, exit_code=1),  # its help is an error to its argument parser
    }
    measured = measure_in_turns(commands, RUNS)
    slowest = max(measured["eosctl --help"].elapsed_s, measured["eosctl --version"].elapsed_s)
    ratio = round(measured["peer --help"].elapsed_s / slowest, 1)
    cpu_ratio = round(measured["peer --help"].cpu_s / measured["eosctl --help"].cpu_s, 1)
    for name, figures in measured.items():
        print(f"{name:18} {figures.elapsed_s:7.3f} s  {figures.cpu_s:7.3f} CPU s")
    print(f"{ratio} times faster than the peer, {cpu_ratio} times less CPU")
    versions = {"kafka": KAFKA, "java": str(java_version(java))}
    figures = {"measured": as_json(measured), "ratio": ratio, "cpu_ratio": cpu_ratio}
    print(write_result("startup", figures | {"bar": {"elapsed_s": BAR_S, "ratio": BAR_RATIO}}, versions))
    return 0 if slowest <= BAR_S and ratio >= BAR_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
