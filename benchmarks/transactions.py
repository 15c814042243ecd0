"""Reading a cluster's transactions: eosctl against kafka-transactions.sh and against Java's Admin in one JVM.

1. 20,000 transactional IDs listed and described. Peers: `kafka-transactions.sh list` and then one `describe` for each
   ID (a JVM each; a few are measured and the rest is reckoned, which is said), and Java's Admin in one warm JVM that
   describes one ID, 500 IDs or all of them in a call.
2. Hanging transactions sought in 2,000 partitions of 200 topics. Peers: find-hanging for each topic in one warm JVM,
   and with a JVM each (reckoned from a few).

eosctl is timed as the whole command line run in this process, answer written, Python's own start left out; a JVM of the
tool is timed whole, as that is how it is used. Java's Admin prints nothing and joins no owners, so the ratios to it are
those of "requests only"; all others are those of the command line.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from benchmarks.measure import write_result
from eosctl.cli import run
from eosctl.clients.messages import find_coordinators, init_producer_id
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.render.console import Stream, Terminal
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java, java_version
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sources.kafka_transactions import describe_transactional_ids
from eosctl.sources.listed_transactions import list_transactional_ids

JAVA = Path(__file__).parent / "java"
TOOL = "org.apache.kafka.tools.TransactionsCommand"
PREFIX = "bench-topic-"
PARTITIONS = 10


def main() -> int:
    """Measure, print, write results/transactions.json; 1 where eosctl is not the faster."""
    arguments = _arguments()
    with Sandbox(SandboxSpec(arguments.kafka_version), narrate=print) as sandbox:
        contest = Contest(sandbox)
        make_ids(sandbox, [f"bench-{number}" for number in range(arguments.ids)])
        contest.make_topics(arguments.topics)
        listed = {
            "eosctl list": contest.several(lambda: contest.eosctl("list", arguments.ids)),
            "eosctl, requests only": contest.several(lambda: contest.requests(arguments.ids)),
            "java Admin, 500 IDs a call": contest.several(lambda: contest.admin(500, arguments.ids)),
            "java Admin, all IDs in a call": contest.several(lambda: contest.admin(arguments.ids, arguments.ids)),
            "java Admin, one ID a call": contest.admin(1, arguments.ids),
            "kafka-transactions.sh, reckoned": contest.tool_for_ids(arguments.ids, arguments.measured),
        }
        sought = {
            "eosctl hanging": contest.several(lambda: contest.eosctl("hanging", None)),
            "find-hanging per topic, one JVM": contest.find_hanging(arguments.topics),
            "find-hanging per topic, reckoned": contest.tool_for_topics(arguments.topics, arguments.measured),
        }
        versions = {"kafka": sandbox.kafka_version, "java": str(java_version(sandbox.java))}
    requests = {name: seconds / listed["eosctl, requests only"] for name, seconds in listed.items() if "Admin" in name}
    commands = {name: seconds / listed["eosctl list"] for name, seconds in listed.items() if "Admin" not in name}
    searches = {name: seconds / sought["eosctl hanging"] for name, seconds in sought.items()}
    ratios = {name: round(ratio, 2) for name, ratio in (requests | commands | searches).items()}
    for name, seconds in (listed | sought).items():
        print(f"{name:36} {seconds:10.3f} s  {ratios[name]:8.2f}x")
    figures = {
        "ids": arguments.ids,
        "partitions": arguments.topics * PARTITIONS,
        "measured_for_reckoning": arguments.measured,
        "seconds": listed | sought,
        "ratios": ratios,
    }
    print(write_result("transactions", figures, versions))
    tools = [ratio for name, ratio in ratios.items() if "reckoned" in name or "one JVM" in name]
    return 0 if min(tools) >= 1 else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka-version", default="4.3.1")
    parser.add_argument("--ids", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=200, help=f"each with {PARTITIONS} partitions")
    parser.add_argument("--measured", type=int, default=5, help="runs of the tool from which the rest is reckoned")
    return parser.parse_args()


def make_ids(sandbox: Sandbox, names: Sequence[str]) -> None:
    """These IDs, in state Empty."""
    with Wire(ClientProperties((sandbox.bootstrap_servers,)), timeout_s=300) as wire:
        wire.request_any(find_coordinators([names[0]]))  # creates the transaction log
        window = wire.window(in_flight=200, timeout_s=300)
        for name in names:
            window.put(name, 1, init_producer_id(name, 60_000))
        for answer in window:
            if answer.response is None or answer.response.error_code:  # the log is being created
                window.put(answer.item, 1, init_producer_id(answer.item, 60_000), delay_s=0.05)


class Contest:
    """The contenders on one sandbox; each method returns seconds."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._jars = resolve_jars(sandbox.kafka_version, print)

    def make_topics(self, count: int) -> None:
        """`count` topics of ten partitions, each with a batch of a live transaction in one of them."""
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient, NewTopic

        servers = self._sandbox.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        names = [f"{PREFIX}{number}" for number in range(count)]
        for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
            future.result(120)
        settings = {"bootstrap.servers": servers, "transactional.id": "live", "transaction.timeout.ms": 900_000}
        self._live = Producer({**settings, "log_level": 0})
        self._live.init_transactions(60)
        self._live.begin_transaction()
        for name in names:
            self._live.produce(name, b"value", partition=0)
        self._live.flush(60)

    @staticmethod
    def several(contender: Callable[[], float], runs: int = 5) -> float:
        """The median of several runs after one to warm."""
        contender()
        return round(statistics.median(contender() for _ in range(runs)), 4)

    def eosctl(self, command: str, rows: int | None) -> float:
        """The command line, run in this process, its answer as JSON."""
        streams = [Stream(StringIO()) for _ in range(3)]
        more = ["--max-transaction-timeout", "0"] if command == "hanging" else []
        start = time.perf_counter()
        args = ["transactions", command, "-b", self._sandbox.bootstrap_servers, "-o", "json", *more]
        code = run(args, Terminal(*streams))
        elapsed = time.perf_counter() - start
        if code != 0 or (rows is not None and streams[1].file.getvalue().count('"transactional_id":') < rows):
            raise RuntimeError(f"{command} ended with {code}: {streams[2].file.getvalue()}")
        return elapsed

    def requests(self, count: int) -> float:
        """The same requests and their decoding, without owners and without an answer written, as Java's Admin does."""
        with Wire(ClientProperties((self._sandbox.bootstrap_servers,))) as wire:
            wire.brokers()
            start = time.perf_counter()
            listed = list_transactional_ids(wire).transactions
            described = describe_transactional_ids(wire, [each.transactional_id for each in listed])
            elapsed = time.perf_counter() - start
        if len(described) < count:
            raise RuntimeError(f"only {len(described)} of {count} IDs were described")
        return elapsed

    def _java(self, source: str, main_class: str, *args: str) -> str:
        classes = compile_java(self._jars.compiler, JAVA / source, self._jars.classpath)
        command = [str(self._sandbox.java), "-cp", f"{classes}:{self._jars.classpath}", main_class, *args]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
        if finished.returncode != 0:
            raise RuntimeError(f"{main_class} failed: {finished.stderr[-2000:]}")
        return finished.stdout.strip().splitlines()[-1]

    def admin(self, batch: int, count: int) -> float:
        """List, and describe `batch` IDs in a call, in one warm JVM."""
        servers = self._sandbox.bootstrap_servers
        described, seconds = self._java(
            "TransactionsPeer.java", "TransactionsPeer", servers, str(batch), str(count)
        ).split()
        if int(described) != count:
            raise RuntimeError(f"only {described} of {count} IDs were described")
        return round(float(seconds), 4)

    def _tool(self, *args: str) -> float:
        command = [str(self._sandbox.java), "-cp", self._jars.classpath, TOOL]
        start = time.perf_counter()
        subprocess.run(
            [*command, "--bootstrap-server", self._sandbox.bootstrap_servers, *args], check=True, capture_output=True
        )
        return time.perf_counter() - start

    def tool_for_ids(self, count: int, measured: int) -> float:
        """`list` once and `describe` for each ID: the median of a few, times the number of IDs."""
        one = statistics.median(self._tool("describe", "--transactional-id", f"bench-{i}") for i in range(measured))
        return round(self._tool("list") + count * one, 1)

    def find_hanging(self, topics: int) -> float:
        """find-hanging for every topic, one after the other in one warm JVM."""
        servers = self._sandbox.bootstrap_servers
        main_class = "org.apache.kafka.tools.FindHangingPeer"
        return round(float(self._java("FindHangingPeer.java", main_class, servers, PREFIX, str(topics))), 4)

    def tool_for_topics(self, topics: int, measured: int) -> float:
        """The same with a JVM for each topic: the median of a few, times the number of topics."""
        limit = ("--max-transaction-timeout", "0")
        one = statistics.median(self._tool("find-hanging", "--topic", f"{PREFIX}{i}", *limit) for i in range(measured))
        return round(topics * one, 1)


if __name__ == "__main__":
    sys.exit(main())
