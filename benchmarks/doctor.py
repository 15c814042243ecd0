"""How long `eosctl doctor` takes over a large Connect cluster: 30 workers, 500 connectors, one worker that hangs.

The workers are a fake REST server on loopback, without brokers, so that only the questions to workers are measured. Two
in three of them answer 409 first, as in a rebalance.
"""

import json
import subprocess
import sys
import time
from multiprocessing import Process, Queue
from pathlib import Path

from benchmarks.measure import write_result
from tests.sources.fake_connect import FakeWorker, serve

WORKERS = 30
CONNECTORS = 500
TIMEOUT_S = 3.0
BAR_S = 10.0
RUNS = 3


def _serve(urls: "Queue[list[str]]", stop: "Queue[None]") -> None:
    connectors = dict.fromkeys((f"connector-{number}" for number in range(CONNECTORS)), None)
    workers = [FakeWorker(connectors=connectors, busy=number % 3) for number in range(WORKERS)]
    workers[7].hangs = True
    with serve(*workers) as found:
        urls.put(found)
        stop.get()


def _ask(urls: list[str]) -> tuple[float, dict[str, object]]:
    args = [str(Path(sys.executable).with_name("eosctl")), "doctor", "--timeout", str(TIMEOUT_S), "-o", "json"]
    args += [part for url in urls for part in ("--connect-url", url)]
    start = time.perf_counter()
    ran = subprocess.run(args, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - start
    if ran.returncode != 1:
        raise RuntimeError(f"doctor ended with {ran.returncode}: {ran.stderr}")
    return elapsed, json.loads(ran.stdout)["data"]


def main() -> int:
    """Measure, print, write results/doctor.json; 1 where the bar is missed."""
    urls_queue: Queue[list[str]] = Queue()
    stop: Queue[None] = Queue()
    server = Process(target=_serve, args=(urls_queue, stop))
    server.start()
    try:
        urls = urls_queue.get(timeout=60)
        runs = [_ask(urls) for _ in range(RUNS)]
    finally:
        stop.put(None)
        server.join(10)
    for _, data in runs:
        found = [each["subject"] for each in data["findings"] if each["id"] == "EOS010"]  # type: ignore[attr-defined]  # the answer is JSON
        if found != [urls[7]]:
            raise RuntimeError(f"the worker that hangs was not the one reported: {found}")
    elapsed = sorted(seconds for seconds, _ in runs)
    what = f"{WORKERS} workers, {CONNECTORS} connectors, one hangs for {TIMEOUT_S:g} s"
    print(f"{what}: {elapsed[1]:.2f} s (median of {RUNS})")
    figures = {
        "workers": WORKERS,
        "connectors": CONNECTORS,
        "timeout_s": TIMEOUT_S,
        "elapsed_s": [round(each, 3) for each in elapsed],
        "bar_s": BAR_S,
    }
    print(write_result("doctor", figures, {}))
    return 0 if elapsed[1] <= BAR_S else 1


if __name__ == "__main__":
    sys.exit(main())
