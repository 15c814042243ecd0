"""Fencing many IDs on one broker: eosctl against Java's Admin.fenceProducers and against throw-away producers.

Each contender fences the same number of IDs of its own, first created by itself, so that every request meets the state
Empty. Only requests are timed, not the start of Python or of a JVM.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import write_result
from eosctl.clients.wire import Wire
from eosctl.executors.fencing import FencingRun
from eosctl.model.client_properties import ClientProperties
from eosctl.model.fencing import Candidate, FenceOutcome, FenceStep
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java, java_version
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox

PEER = Path(__file__).parent / "java" / "FencePeer.java"
TIMEOUT_S = 3600
QUICK = "retry.backoff.ms=1", "retry.backoff.max.ms=1"


def main() -> int:
    """Measure, print, write results/fence.json; 1 where a bar is missed."""
    arguments = _arguments()
    with Sandbox(
        SandboxSpec(arguments.kafka_version, broker_config={"transaction.max.timeout.ms": str(TIMEOUT_S * 1000)}),
        narrate=print,
    ) as sandbox:
        contest = Contest(sandbox)
        times = {
            "eosctl": {n: contest.several(contest.eosctl, n, 5) for n in (100, 1_000, 10_000)},
            "java, retry.backoff 1 ms": {n: contest.several(contest.java_tuned, n, 3) for n in (100, 1_000, 10_000)},
            "java, default": {n: contest.several(contest.java_default, n, 1) for n in arguments.java_default},
            "throw-away producers": {n: contest.several(contest.producers, n, 1) for n in arguments.producers},
        }
        versions = {"kafka": sandbox.kafka_version, "java": str(java_version(sandbox.java))}
    ratios = {
        name: {n: round(seconds / times["eosctl"][n], 1) for n, seconds in of.items()}
        for name, of in times.items()
        if name != "eosctl"
    }
    for name, of in times.items():
        print(f"{name:26}", *(f"{n:>6} IDs {seconds:9.3f} s" for n, seconds in of.items()))
    for name, of in ratios.items():
        print(f"eosctl against {name}:", *(f"{n} IDs {ratio}x" for n, ratio in of.items()), sep="  ")
    bars = {"java, default at 100": 1000, "java, retry.backoff 1 ms at 10000": 5}
    print(write_result("fence", {"seconds": times, "ratios": ratios, "bars": bars}, versions))
    met = ratios["java, retry.backoff 1 ms"][10_000] >= 5 and ratios["java, default"].get(100, 1000) >= 1000
    return 0 if met else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka-version", default="4.3.1")
    parser.add_argument(
        "--java-default", type=int, nargs="*", default=[100], help="1,000 IDs take a quarter of an hour"
    )
    parser.add_argument(
        "--producers", type=int, nargs="*", default=[100], help="throw-away producers: about 6 IDs a second"
    )
    return parser.parse_args()


class Contest:
    """The contenders on one sandbox; each method returns the seconds that fencing `count` IDs took."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._jars = resolve_jars(sandbox.kafka_version, print)
        self._classes = compile_java(self._jars.compiler, PEER, self._jars.classpath)
        self._round = 0

    def several(self, contender: Callable[[str, int], float], count: int, runs: int) -> float:
        """The median of several runs."""
        times = []
        for _ in range(runs):
            self._round += 1
            prefix = f"bench-{self._round}"
            self.eosctl(prefix, count)
            times.append(contender(prefix, count))
        print(f"{contender.__name__} {count}: {', '.join(f'{each:.3f}' for each in times)} s")
        return round(statistics.median(times), 4)

    def eosctl(self, prefix: str, count: int) -> float:
        """FindCoordinator and InitProducerId in a window."""
        steps = tuple(FenceStep(Candidate(f"{prefix}-{i}", named=True), None) for i in range(count))
        with Wire(ClientProperties((self._sandbox.bootstrap_servers,))) as wire:
            outcome = FencingRun(wire, steps, 60_000, 300.0).run()
        if outcome.count(FenceOutcome.FENCED) != count:
            raise RuntimeError(f"only {outcome.count(FenceOutcome.FENCED)} of {count} IDs were fenced")
        return outcome.elapsed_ms / 1000

    def java_tuned(self, prefix: str, count: int) -> float:
        """Admin.fenceProducers without back-off."""
        return self._java(prefix, count, *QUICK)

    def java_default(self, prefix: str, count: int) -> float:
        """Admin.fenceProducers as it comes."""
        return self._java(prefix, count)

    def _java(self, prefix: str, count: int, *settings: str) -> float:
        classpath = f"{self._classes}:{self._jars.classpath}"
        servers = self._sandbox.bootstrap_servers
        command = [
            str(self._sandbox.java),
            "-cp",
            classpath,
            "FencePeer",
            servers,
            prefix,
            str(count),
            str(TIMEOUT_S),
            *settings,
        ]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
        if finished.returncode != 0:
            raise RuntimeError(f"FencePeer failed: {finished.stderr[-2000:]}")
        return float(finished.stdout.strip().splitlines()[-1])

    def producers(self, prefix: str, count: int) -> float:
        """A librdkafka producer for each ID, that initialises and is thrown away."""
        from confluent_kafka import Producer

        start = time.perf_counter()
        for number in range(count):
            settings = {"bootstrap.servers": self._sandbox.bootstrap_servers, "transactional.id": f"{prefix}-{number}"}
            Producer({**settings, "log_level": 0}).init_transactions(60)
        return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
