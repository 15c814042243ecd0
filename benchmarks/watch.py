"""The cost of many cycles of `eosctl watch`, and the growth of the process: memory, connections, threads.

One process watches a sandbox as the service does: a config topic with 200 connectors, their offsets, 20,000
transactional IDs, and a transaction now and then. The broker is real, and is stopped and started again in between. So
is the Connect group, of one idle worker; REST is answered by two fake ones, so that no JVM runs 200 connectors
meanwhile. The pause between two cycles is left out. After each cycle the process writes down its own memory, CPU time,
descriptors and threads, when the connections of the cycle are closed.

A cycle is whole where it read all it asked for; those during a restart are not, and are counted apart.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from multiprocessing import Process, Queue
from pathlib import Path
from threading import active_count
from typing import Any, Final

from benchmarks.measure import write_result
from eosctl.errors import EosctlError
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox

CONNECTORS: Final = 200
TASKS: Final = 2
GROUP: Final = "connect-cluster"
TOPICS: Final = {"config": "orders-configs", "offsets": "orders-offsets", "status": "orders-status"}
WARM: Final = 50
"""Whole cycles after which memory is taken to be what it stays; of a short run, a fifth."""
FLAT: Final = 0.10
Line = Mapping[str, Any]


def main() -> int:
    """Measure, print, write results/watch.json; 1 where memory or connections grow."""
    arguments = _arguments()
    if arguments.watch is not None:
        _watch(*arguments.watch)
        return 0
    with Sandbox(SandboxSpec(workers=1, group_id=GROUP), narrate=print) as sandbox, workers() as urls:
        fill(sandbox, arguments.ids)
        lines: list[Line] = []
        versions, ended = {"kafka": sandbox.kafka_version}, "as planned"
        try:
            lines.extend(_cycles(sandbox, urls, arguments))
        except (EosctlError, KeyboardInterrupt) as error:
            ended = f"before its time: {type(error).__name__} {str(error).partition(chr(10))[0]}"
    figures = {"ended": ended, "load": os.getloadavg(), **_figures(lines, arguments)}
    print(json.dumps(figures, indent=2))
    print(write_result("watch", figures, versions))
    return 0 if all(figures["holds"].values()) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=10_000, help="whole cycles, if the minutes allow as many")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--ids", type=int, default=20_000)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--watch", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def _watch(servers: str, *urls: str) -> None:
    """The process that is measured: the service, with a line on stdout after each cycle."""
    from eosctl.cli import tune_gc
    from eosctl.exporter.exporter import Board
    from eosctl.operations.evidence import EvidenceRequest
    from eosctl.operations.session_options import SessionOptions
    from eosctl.operations.watch import Faces, Listening, Watched, watch_clusters
    from tests.operations.quiet import Quiet

    tune_gc()
    publish = Board.publish

    def measured(self, found, lifetime_s):
        publish(self, found, lifetime_s)
        line = {
            "duration_ms": found.cycle.duration_ms,
            "requests": dict(found.cycle.requests),
            "unread": sorted({f"{each.what}: {each.reason}" for each in found.coverage.gaps}),
            "samples": len(found.samples),
            "cpu_s": time.process_time(),
            "rss_mib": _resident_mib(),
            "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1,
            "threads": active_count(),
        }
        print(json.dumps(line), flush=True)

    Board.publish = measured
    options = SessionOptions(Quiet(), servers, connect_urls=urls, group_id=GROUP)
    watched = Watched(options, EvidenceRequest(TOPICS, preflight=False))
    watch_clusters([watched], Listening("127.0.0.1:0", False, 0.0), Quiet(), Faces())


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


@contextmanager
def workers() -> Iterator[list[str]]:
    """REST addresses of two fake workers with all connectors, in a process of their own."""
    urls: Queue[list[str]] = Queue()
    stop: Queue[None] = Queue()
    server = Process(target=_serve, args=(urls, stop))
    server.start()
    try:
        yield urls.get(timeout=60)
    finally:
        stop.put(None)
        server.join(10)


def _serve(urls: "Queue[list[str]]", stop: "Queue[None]") -> None:
    from tests.sources.fake_connect import FakeWorker, serve

    class Forgetful(FakeWorker):
        """One that keeps no list of what it was asked, and knows the topics of its connectors."""

        def reply(self, method, path, body):
            self.requests.clear()
            return super().reply(method, path, body)

        def _answer(self, path, body):
            if path.endswith("/topics"):
                return {path.split("/")[2]: {"topics": ["orders"]}}
            return super()._answer(path, body)

    connectors = dict.fromkeys(map(_name, range(CONNECTORS)), None)
    with serve(*(Forgetful(connectors=connectors) for _ in range(2))) as found:
        urls.put(found)
        stop.get()


def _name(number: int) -> str:
    return f"orders-{number}"


def fill(sandbox: Sandbox, ids: int) -> None:
    """The topics of a Connect cluster with 200 connectors, and the IDs: those of its tasks first."""
    from benchmarks.transactions import make_ids
    from tests.integration.producers import create_topic

    servers = sandbox.bootstrap_servers
    create_topic(servers, "orders", 10)
    for role, partitions in (("config", 1), ("offsets", 25), ("status", 5)):
        create_topic(servers, TOPICS[role], partitions)
    tasks = [f"{GROUP}-{_name(number)}-{task}" for number in range(CONNECTORS) for task in range(TASKS)]
    make_ids(
        sandbox, [f"connect-cluster-{GROUP}", *tasks, *(f"app-{number}" for number in range(ids - len(tasks) - 1))]
    )
    _write_connect(servers)


def _write_connect(servers: str) -> None:
    from confluent_kafka import Producer

    from eosctl.codecs.offsets_topic import encode_offsets_key
    from eosctl.model.records import java_partition
    from tests.sources.fake_connect import PLUGIN

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})

    def put(key: str, value: object) -> None:
        producer.produce(TOPICS["config"], json.dumps(value).encode(), key.encode(), partition=0)

    for name in map(_name, range(CONNECTORS)):
        config = {"name": name, "connector.class": PLUGIN, "tasks.max": str(TASKS), "file": "/f", "topic": "orders"}
        put(f"connector-{name}", {"properties": config})
        for task in range(TASKS):
            put(f"task-{name}-{task}", {"properties": {**config, "task.class": "T"}})
        put(f"commit-{name}", {"tasks": TASKS})
        put(f"tasks-fencing-{name}", {"task-count": TASKS})
        for number in range(5):
            key = encode_offsets_key(name, {"filename": f"/f{number}"})
            producer.produce(TOPICS["offsets"], b'{"position":1}', key, partition=java_partition(key, 25))
    if producer.flush(60):
        raise RuntimeError("not every record was acknowledged")


def _cycles(sandbox: Sandbox, urls: list[str], arguments: argparse.Namespace) -> Iterator[Line]:
    """The lines of the process, which is ended after the last one; the broker is restarted in between."""
    from tests.integration.producers import open_transaction

    command = [sys.executable, "-m", "benchmarks.watch", "--watch", sandbox.bootstrap_servers, *urls]
    begin, whole, restarts = time.monotonic(), 0, 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for text in process.stdout:
                line = json.loads(text)
                yield line
                whole += not line["unread"]
                if line["unread"]:
                    print(f"not whole: {line['duration_ms']} ms, {line['unread'][:3]}", flush=True)
                elapsed = (time.monotonic() - begin) / 60
                done = max(whole / arguments.cycles, elapsed / arguments.minutes)
                if done >= 1:
                    return
                if done * (arguments.restarts + 1) > restarts + 1:
                    restarts += 1
                    print(f"{elapsed:.1f} min, {whole} whole cycles: the broker is restarted", flush=True)
                    sandbox.stop_broker(1)
                    sandbox.start_broker(1)
                if whole % 100 == 1 and not line["unread"]:
                    print(f"{elapsed:.1f} min, {whole}: {text.strip()}", flush=True)
                    open_transaction(sandbox.bootstrap_servers, "writer", "orders").commit_transaction(30)
        finally:
            process.terminate()


def _broken(line: Line) -> bool:
    return bool(line["unread"])


def _figures(lines: list[Line], arguments: argparse.Namespace) -> dict[str, Any]:
    whole = [each for each in lines if not each["unread"]]
    steady = whole[min(WARM, len(whole) // 5) :]
    tenth = max(1, len(steady) // 10)
    first, last = ([each["rss_mib"] for each in part] for part in (steady[:tenth], steady[-tenth:]))
    growth = statistics.median(last) / statistics.median(first) - 1
    descriptors = [each["descriptors"] for each in steady]
    threads = [each["threads"] for each in steady]
    return {
        "connectors": CONNECTORS,
        "ids": arguments.ids,
        "cycles": {"whole": len(whole), "broken by a restart": len(lines) - len(whole)},
        "restarts": arguments.restarts,
        "cpu_s_per_cycle": round((steady[-1]["cpu_s"] - steady[0]["cpu_s"]) / max(1, len(steady) - 1), 3),
        "duration_s": round(statistics.median(each["duration_ms"] for each in steady) / 1000, 3),
        "requests_per_cycle": {
            to: {"median": statistics.median(found), "most": max(found)}
            for to in ("brokers", "workers")
            if (found := [each["requests"].get(to, 0) for each in steady])
        },
        "samples": steady[-1]["samples"],
        "memory_mib": {
            "first tenth": statistics.median(first),
            "last tenth": statistics.median(last),
            "most": max(each["rss_mib"] for each in lines),
            "course": [each["rss_mib"] for each in steady[:: max(1, len(steady) // 20)]],
        },
        "growth": round(growth, 3),
        "descriptors": {"first": descriptors[0], "last": descriptors[-1], "most": max(descriptors)},
        "threads": {"first": threads[0], "last": threads[-1], "most": max(threads)},
        "not read in restarts": sorted({what for each in lines for what in each["unread"]})[:10],
        "longest run of broken cycles": max(
            (len(list(run)) for broken, run in groupby(map(_broken, lines)) if broken), default=0
        ),
        "holds": {
            "memory within 10 %": abs(growth) <= FLAT,
            "no descriptor kept": descriptors[-1] <= descriptors[0],
            "no thread kept": threads[-1] <= threads[0],
        },
    }


if __name__ == "__main__":
    sys.exit(main())
