"""How long a person waits: whole commands, start of Python included, beside Kafka's own tools in the same run.

A small cluster: one broker and one worker. `kafka-*.sh` is `java … org.apache.kafka.tools.*`; the scripts' own shell
work is left out, which favours the peers. Elapsed is what a person feels and means something on an idle machine only;
CPU is user and system time, and the ratios are of commands that took turns.

`fence` of 10,000 IDs is held against its requests: describe, InitProducerId, EndTxn of the old producers, describe.

`--before DIRECTORY` is another working tree of eosctl: its commands take turns with these, in the same environment.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.measure import ADDITIONS, ADDITIONS_S, Command, Measured, as_json, measure_in_turns, write_result
from benchmarks.transactions import make_ids
from eosctl.clients.wire import Wire
from eosctl.executors.fencing import FencingRun, challenge_old_producers
from eosctl.model.client_properties import ClientProperties
from eosctl.model.fencing import Candidate, FenceStep
from eosctl.model.transactions import TransactionDescription
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import java_version
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sources.kafka_transactions import describe_transactional_ids

MANY: Final = 10_000
HERE: Final = Path(__file__).parent.parent
BEFORE: Final = ", before"
BARS: Final = {
    "eosctl --help": 0.07,
    "eosctl --version": 0.07,
    "TAB": 0.08,
    "inspect-config": 0.22,
    "transactions list": 0.22,
    "offsets show": 0.22,
    "fence, 1 ID": 0.22,
    "fence, 100 IDs": 0.35,
    "doctor": 0.6,
}
"""Seconds elapsed on an idle machine where ADDITIONS take ADDITIONS_S."""
SPEED: Final = "10 M additions"
NOTHING: Final = "python -c pass"
TYPER: Final = "import typer, msgspec"
CONNECTED: Final = "import typer, msgspec; a connection"
ONE_REQUEST: Final = "librdkafka's list_topics"
FLOORS: Final = {
    NOTHING: "pass",
    TYPER: TYPER,
    CONNECTED: "import socket, sys, typer, msgspec; host, _, port = sys.argv[1].rpartition(':');"
    "socket.create_connection((host, int(port)), 30).close()",
    ONE_REQUEST: "import sys; from confluent_kafka.admin import AdminClient;"
    "AdminClient({'bootstrap.servers': sys.argv[1]}).list_topics(timeout=30)",
}
"""Python programs that do no work: below their time no command of that kind can be. With one broker's address."""
FLOOR_OF: Final = {"eosctl --help": NOTHING, "eosctl --version": NOTHING, "TAB": NOTHING}
"""The floor of each command; of the others it is CONNECTED."""
FENCE_BAR: Final = 1.5
PEERS: Final = {
    "transactions list": "kafka-transactions list",
    "inspect-config": "kafka-console-consumer, config topic",
    "offsets show": "kafka-console-consumer, offsets topic",
}
PEER_BAR: Final = 1.0


def main() -> int:
    """Measure, print, write results/startup.json; 1 where a bar is missed."""
    arguments = _arguments()
    with Sandbox(SandboxSpec("4.3.1", workers=1), narrate=print) as sandbox, tempfile.TemporaryDirectory() as folder:
        servers = sandbox.bootstrap_servers
        ids = {count: _ids(sandbox, Path(folder) / f"few-{count}", count) for count in (1, 100)}
        commands = _commands(HERE, servers, ids)
        if arguments.before is not None:
            before = _commands(arguments.before.resolve(), servers, ids)
            commands |= {name + BEFORE: each for name, each in before.items()}
        floors = {name: Command([sys.executable, "-c", code, servers]) for name, code in FLOORS.items()}
        floors[SPEED] = Command([sys.executable, "-I", "-c", ADDITIONS])
        measured = measure_in_turns(commands | floors | _peers(sandbox), arguments.runs)
        many = _ids(sandbox, Path(folder) / "many", MANY)  # the cluster is a small one until now
        measured |= measure_in_turns({"fence, 10,000 IDs": _fence(_eosctl(HERE), servers, many)}, 3)
        requests = _requests(servers, many)
        versions = {"kafka": sandbox.kafka_version, "java": str(java_version(sandbox.java))}
    many_fenced = measured["fence, 10,000 IDs"]
    ratios = {
        "fence, 10,000 IDs, to its requests, elapsed": round(many_fenced.elapsed_s / requests[0], 2),
        "fence, 10,000 IDs, to its requests, CPU": round(many_fenced.cpu_s / requests[1], 2),
    }
    against = {f"{ours} to {peer}": _ratios(measured[ours], measured[peer]) for ours, peer in PEERS.items()}
    for name, figures in measured.items():
        print(f"{name:40} {figures.elapsed_s:7.3f} s  {figures.cpu_s:7.3f} CPU s{_limits(name, measured)}")
    for name, ratio in (ratios | against).items():
        print(f"{name}: {ratio}")
    since = {name: _ratios(measured[name], measured[name + BEFORE]) for name in BARS if name + BEFORE in measured}
    missed = _missed(measured, ratios)
    result = {"measured": as_json(measured), "requests_s": requests, "ratios": ratios, "faster_than_peers": against}
    proportion = _slower(measured)
    late = [name for name, bar in BARS.items() if measured[name].elapsed_s > bar * proportion]
    print(f"bars times {proportion}, by the speed of this machine: missed {late or 'none'}")
    bars = {"faster_than_before": since, "bars": BARS, "missed": missed, "slower": proportion, "missed_beyond": late}
    print(write_result("startup", result | bars, versions))
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--before", type=Path, help="another working tree of eosctl")
    return parser.parse_args()


def _limits(name: str, measured: Mapping[str, Measured]) -> str:
    """The bar of a command, its floor, how often the command takes the floor, and how much longer it takes."""
    if name not in BARS:
        return ""
    floor = measured[FLOOR_OF.get(name, CONNECTED)].elapsed_s
    below = ", which is below the floor" if BARS[name] < floor else ""
    taken = measured[name].elapsed_s
    far = f"{taken / floor:.1f} times the floor of {floor:.3f} s, {taken - floor:.3f} s above it"
    return f"  bar {BARS[name]} s{below}; {far}"


def _slower(measured: Mapping[str, Measured]) -> float:
    """How often the machine took, in the median of the turns, what the bars' machine takes; at least 1."""
    return max(1.0, round(measured[SPEED].cpu_s / ADDITIONS_S, 2))


def _missed(measured: Mapping[str, Measured], ratios: Mapping[str, float]) -> list[str]:
    late = [name for name, bar in BARS.items() if measured[name].elapsed_s > bar]
    slow = [ours for ours, peer in PEERS.items() if _ratios(measured[ours], measured[peer])["elapsed"] < PEER_BAR]
    return [*late, *slow, *(name for name, ratio in ratios.items() if ratio > FENCE_BAR)]


def _ratios(ours: Measured, theirs: Measured) -> dict[str, float]:
    return {
        "elapsed": round(theirs.elapsed_s / ours.elapsed_s, 2),
        "cpu": round(theirs.cpu_s / ours.cpu_s, 2),
    }


def _eosctl(tree: Path) -> list[str]:
    """The command of this working tree: Python looks into its directory first."""
    return ["env", "-C", str(tree), sys.executable, "-m", "eosctl"]


def _commands(tree: Path, servers: str, ids: Mapping[int, Path]) -> dict[str, Command]:
    eosctl = _eosctl(tree)
    cluster = ["-b", servers, "--group-id", "connect-cluster"]
    # What doctor finds depends on the tree, and whether a check could not tell: 1 and 3.
    finding = ["sh", "-c", '"$@"; case $? in 0|1|3) ;; *) exit 9 ;; esac', "sh"]
    return {
        "eosctl --help": Command([*eosctl, "--help"]),
        "eosctl --version": Command([*eosctl, "--version"]),
        "TAB": Command([*eosctl[:3], "_EOSCTL_COMPLETE=eosctl fence --conn", *eosctl[3:]]),
        "inspect-config": Command([*eosctl, "inspect-config", *cluster]),
        "transactions list": Command([*eosctl, "transactions", "list", *cluster]),
        "offsets show": Command([*eosctl, "offsets", "show", *cluster]),
        "fence, 1 ID": _fence(eosctl, servers, ids[1]),
        "fence, 100 IDs": _fence(eosctl, servers, ids[100]),
        "doctor": Command([*finding, *eosctl, "doctor", *cluster]),
    }


def _fence(eosctl: list[str], servers: str, ids: Path) -> Command:
    return Command([*eosctl, "fence", "-b", servers, "--ids-file", str(ids), "--yes"])


def _peers(sandbox: Sandbox) -> dict[str, Command]:
    servers = sandbox.bootstrap_servers
    java = [str(sandbox.java), "-cp", resolve_jars(sandbox.kafka_version, print).classpath]
    consume = [*java, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", servers]
    # It knows no end: without a timeout it waits for more. Its waiting time does not count.
    to_the_end = ["--from-beginning", "--timeout-ms", "1", "--topic"]
    tool = [*java, "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", servers]
    return {
        "kafka-transactions list": Command([*tool, "list"]),
        "kafka-console-consumer, config topic": Command([*consume, *to_the_end, "connect-configs"]),
        "kafka-console-consumer, offsets topic": Command([*consume, *to_the_end, "connect-offsets"]),
    }


def _ids(sandbox: Sandbox, file: Path, count: int) -> Path:
    names = [f"{file.name}-{number}" for number in range(count)]
    make_ids(sandbox, names)
    file.write_text("\n".join(names) + "\n", encoding="utf-8")
    return file


def _requests(servers: str, ids: Path) -> tuple[float, float]:
    """The median of the seconds elapsed and of CPU that the requests of a fence take: describe, fence, challenge."""
    names = ids.read_text(encoding="utf-8").split()
    taken = []
    for _ in range(4):
        with Wire(ClientProperties((servers,)), timeout_s=300) as wire:
            wire.brokers()
            start, cpu = time.perf_counter(), _cpu_s()
            described = describe_transactional_ids(wire, names)
            steps = tuple(FenceStep(Candidate(name, named=True), _described(described[name])) for name in names)
            outcome = FencingRun(wire, steps, 60_000, 300.0).run()
            challenge_old_producers(wire, outcome, 300.0)
            describe_transactional_ids(wire, names)
            taken.append((time.perf_counter() - start, _cpu_s() - cpu))
    return round(statistics.median(each[0] for each in taken[1:]), 4), round(
        statistics.median(each[1] for each in taken[1:]), 4
    )


def _described(found: object) -> TransactionDescription:
    if not isinstance(found, TransactionDescription):
        raise RuntimeError(f"an ID was not described: {found}")  # noqa: TRY004  # the cluster's fault
    return found


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system


if __name__ == "__main__":
    sys.exit(main())
