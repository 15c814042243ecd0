"""The cost of `doctor`, `connector list`, `transactions list` and `hanging` on a large Connect cluster.

The topics and the workers are those of benchmarks.watch with more connectors: a real broker, and two fake workers, so
that no JVM runs them. Each command runs once at each size. The difference of the sizes is the cost of one more
connector, with its two transactional IDs; docs/dev/scale.md reckons with it.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks import watch
from benchmarks.measure import write_result
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox

EOSCTL: Final = (sys.executable, "-m", "eosctl")
ANSWERED: Final = (0, 1, 3)
"""Exit codes of a command that answered; 3: part of the evidence is missing."""
REQUEST: Final = re.compile(r"^(GET|PUT|[A-Z][A-Za-z]+) \S+: .* in \d+ ms$", re.MULTILINE)


def main() -> int:
    """Measure, print, write results/large_cluster.json; 1 where a command did not answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connectors", type=int, nargs=2, default=(1_000, 10_000))
    connectors = parser.parse_args().connectors
    taken: dict[str, Any] = {}
    for count in connectors:
        taken[f"{count} connectors"] = _measure(count)
    print(write_result("large_cluster", {"taken": taken}, {"kafka": SandboxSpec().kafka_version}))
    return 0 if all(each["exit_code"] in ANSWERED for size in taken.values() for each in size.values()) else 1


def _measure(connectors: int) -> Mapping[str, Mapping[str, Any]]:
    watch.CONNECTORS = connectors  # type: ignore[misc]  # its size here
    ids = connectors * watch.TASKS + 1
    with Sandbox(SandboxSpec(workers=1, group_id=watch.GROUP), narrate=print) as sandbox, watch.workers() as urls:
        watch.fill(sandbox, ids)
        topics = {"config": "--config-topic", "offsets": "--worker-offsets-topic", "status": "--status-topic"}
        named = {role: (option, watch.TOPICS[role]) for role, option in topics.items()}
        cluster = ("-b", sandbox.bootstrap_servers, "--group-id", watch.GROUP)
        workers = tuple(word for url in urls for word in ("--connect-url", url))
        commands = {
            "doctor": ("doctor", *cluster, *workers, *named["config"], *named["offsets"], *named["status"]),
            "connector list": ("connector", "list", *cluster, *workers, *named["config"], *named["status"]),
            "transactions list": ("transactions", "list", *cluster, *named["config"]),
            "transactions hanging": ("transactions", "hanging", *cluster, *named["config"]),
        }
        found = {name: _run((*EOSCTL, *args, "-v")) for name, args in commands.items()}
    for name, figures in found.items():
        print(f"{connectors:7} connectors {ids:7} IDs  {name:22} {figures}", flush=True)
    return found


def _run(command: Sequence[str]) -> Mapping[str, Any]:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    requests = [each[1] for each in REQUEST.finditer(said)]
    return {
        "exit_code": process.returncode,
        "elapsed_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
        "requests": {
            "brokers": sum(each not in {"GET", "PUT"} for each in requests),
            "workers": sum(each in {"GET", "PUT"} for each in requests),
        },
    }


if __name__ == "__main__":
    sys.exit(main())
