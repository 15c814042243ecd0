"""The audit: headers only, full decode, and whole audits with findings, against those who merely read.

`--parts` says which of these (all but `large` where nothing is said):

1. `read`: headers only, full decode, and a full audit with findings in one process, against confluent-kafka consuming
   the same topic: records per CPU-second of the work. The audit in a process for each core as well, whose elapsed time
   is held against the consumer's, which has threads of its own. Beside it how fast this machine copies memory and reads
   from a socket that is always full.
2. `spark`: a full audit with findings on Spark against Spark's own Kafka source (tuned) that reads the topic and keeps
   nothing; both from the start of their process, and without their start. The local engine on the same cores, and in
   one process: COST is how many cores Spark needs to be as fast as one process (McSherry et al., HotOS 2015).
3. `executors`: the merge of states on 1, 2 and 4 executors: work_s less scan_s, with all of them on this machine.
4. `memory`: the peak of one process: ten times the records at the same keys, and two million keys.
5. `large`: part 2's engines on `--large-records`. They take 90 bytes of disk each.
6. `growth`: the local engine on a tenth of the records, on all, and on `--large-records`, in one process and in two.

Results are added to those of other parts in results/audit.json, where the number of records is the same. A bar that is
missed, or a part that fails, is told there too, and makes the exit code 1.

Spark's own source runs with pyspark 3.5.7 in an environment of its own: the cache directory holds `spark-3.5.7` (venv)
and `spark-3.5.7-jars` (spark-sql-kafka-0-10_2.12:3.5.7 with what it needs); without them part 2 has no peer and fails.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from benchmarks.audit_race import Race, in_turns
from benchmarks.contenders.audit_topics import fill
from benchmarks.contenders.limits import limits
from benchmarks.measure import RESULTS, write_result
from benchmarks.processes import adopt_orphans
from eosctl.sandbox.sandbox import Sandbox

AT_LEAST = {
    "headers only": 20.0,
    "full decode": 1.5,
    "audit beside consume, CPU": 1.0,
    "audit on all cores beside consume, CPU": 1.0,
    "audit on all cores beside consume, work": 1.0,
    "audit on Spark, whole process": 1.0,
    "audit on Spark, work": 1.0,
}
AT_MOST = {"memory, ten times the records": 1.1, "memory, GiB for 2 M keys": 4.0}
KEYS = 50_000
EXECUTORS = (1, 2, 4)
GROWTH = (1, 2)
"""Processes of the local engine."""
PEER = "Spark's own source reads"
BESIDE = "audit beside consume"
ON_ALL_CORES = "audit on all cores beside consume"

Figures = dict[str, Any]


class JudgementInputs:
    """One cluster, the topics that were asked for, and what was measured of them."""

    def __init__(self, servers: str, arguments: argparse.Namespace) -> None:
        self.race = Race(servers)
        self.arguments = arguments
        self._filled: dict[str, int] = {}

    def topic(self, name: str, records: int, keys: int = KEYS) -> str:
        """The topic, filled when it is first asked for."""
        if name not in self._filled:
            self._filled[name] = fill(self.race.servers, name, records, keys)
            print(f"{name}: {records} records are there", flush=True)
        return name

    @property
    def offsets(self) -> str:
        """The topic of most parts."""
        return self.topic("offsets", self.arguments.records)

    def read(self) -> Figures:
        """Part 1."""
        names = ("headers", "decode", "consume")
        commands = {name: self.race.contender(name, self.offsets) for name in names}
        commands[BESIDE] = self.race.contender("local", self.offsets, 1)
        commands[ON_ALL_CORES] = self.race.contender("local", self.offsets, self.arguments.cores)
        return {"taken": in_turns(commands, self.arguments.runs), "limits": limits()}

    def spark(self) -> Figures:
        """Part 2."""
        cores, topic = self.arguments.cores, self.offsets
        commands = self._engines(topic) | {f"{PEER}, local[{cores}]": self.race.spark_source(topic, cores)}
        first = {
            "audit, Spark, no archive of classes": self.race.contender("spark-bare", topic, f"local[{cores}]", cores)
        }
        return {"taken": in_turns(commands, self.arguments.runs, warm_up=True) | in_turns(first, 1)}

    def executors(self) -> Figures:
        """Part 3."""
        commands = {
            f"merge on Spark, {count} executors": self.race.contender(
                "merge", self.offsets, f"local-cluster[{count},1,1024]", max(EXECUTORS)
            )
            for count in EXECUTORS
        }
        return {"taken": in_turns(commands, 1)}

    def memory(self) -> Figures:
        """Part 4. One process, so that its own resident set is all there is."""
        topics = {
            "memory, a tenth of the records": self.topic("offsets-tenth", self.arguments.records // 10),
            "memory, all records": self.offsets,
            "memory, 2 M keys": self.topic("offsets-keys", 2_000_000, 2_000_000),
        }
        return {"taken": in_turns({name: self.race.contender("local", each, 1) for name, each in topics.items()}, 1)}

    def large(self) -> Figures:
        """Part 5."""
        topic = self.topic("offsets-large", self.arguments.large_records)
        taken = in_turns(self._engines(topic), 1)
        return {"taken": {f"{name}, large": each for name, each in taken.items()}}

    def growth(self) -> Figures:
        """Part 6."""
        records = self.arguments.records
        topics = {
            records // 10: self.topic("offsets-tenth", records // 10),
            records: self.offsets,
            self.arguments.large_records: self.topic("offsets-large", self.arguments.large_records),
        }
        commands = {
            growth_of(size, processes): self.race.contender("local", topic, processes)
            for size, topic in topics.items()
            for processes in GROWTH
        }
        return {"taken": in_turns(commands, 1)}

    def _engines(self, topic: str) -> dict[str, Any]:
        cores = self.arguments.cores
        return {
            "audit, local, 1 process": self.race.contender("local", topic, 1),
            f"audit, local, {cores} processes": self.race.contender("local", topic, cores),
            f"audit, Spark, local[{cores}]": self.race.contender("spark", topic, f"local[{cores}]", cores),
        }


def growth_of(records: int, processes: int) -> str:
    """The contender's name."""
    return f"growth: {records} records, {processes} processes"


def main() -> int:
    """Measure, print, write results/audit.json; 1 where a bar is missed or a part fails."""
    arguments = _arguments()
    adopt_orphans()
    figures = _known(arguments)
    taken: dict[str, Any] = figures["taken"]
    with Sandbox(narrate=print) as sandbox:
        bench = JudgementInputs(sandbox.bootstrap_servers, arguments)
        for part in arguments.parts.split(","):
            found = _try(getattr(bench, part), figures["failed"], part)
            taken |= {name: asdict(each) for name, each in found.pop("taken", {}).items()}
            figures |= found
            figures["loads"][part] = round(os.getloadavg()[0], 1)
            figures["dates"][part] = datetime.now(UTC).strftime("%Y-%m-%d")  # noqa: TID251  # a benchmark may ask the time
        versions = {"kafka": sandbox.kafka_version, "pyspark": version("pyspark"), "spark's own source": "3.5.7"}
    figures["ratios"] = ratios(taken, arguments.cores)
    figures["missed"] = missed(figures["ratios"])
    _show(figures)
    print(write_result("audit", figures, versions))
    return 1 if figures["missed"] or figures["failed"] else 0


def _try(part: Callable[[], Figures], failed: dict[str, str], name: str) -> Figures:
    failed.pop(name, None)
    try:
        return part()
    except (RuntimeError, OSError) as error:
        failed[name] = str(error)
        return {}


def _known(arguments: argparse.Namespace) -> Figures:
    """Results of other runs with the same number of records."""
    path = RESULTS / "audit.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    asked = {
        "records": arguments.records,
        "large_records": arguments.large_records,
        "keys": KEYS,
        "cores": arguments.cores,
    }
    same = all(known.get(name) == value for name, value in asked.items())
    kept = {name: known[name] for name in ("taken", "limits", "failed", "loads", "dates") if same and name in known}
    return {
        **asked,
        "bars": {"at least": AT_LEAST, "at most": AT_MOST},
        "taken": {},
        "failed": {},
        "loads": {},
        "dates": {},
        **kept,
    }


def ratios(taken: Mapping[str, Mapping[str, Any]], cores: int) -> dict[str, float]:
    """The figures for the bars, and COST, from the contenders' figures in results/audit.json."""
    found: dict[str, float] = {}
    if "consume" in taken:
        for name, label in (("headers", "headers only"), ("decode", "full decode")):
            found[label] = taken["consume"]["work_cpu_s"] / taken[name]["work_cpu_s"]
    if BESIDE in taken:
        found |= _beside_consume(taken)
        found[f"{BESIDE}, of the bytes' CPU"] = taken[BESIDE]["work_cpu_s"] / taken["headers"]["work_cpu_s"]
    peer = taken.get(f"{PEER}, local[{cores}]")
    for size in ("", ", large"):
        spark, one = taken.get(f"audit, Spark, local[{cores}]{size}"), taken.get(f"audit, local, 1 process{size}")
        for label, figure in (("whole process", "whole_s"), ("work", "work_s")):
            if spark is not None and peer is not None and not size:
                found[f"audit on Spark, {label}"] = peer[figure] / spark[figure]
            if spark is not None and one is not None:
                # Were Spark to scale perfectly: its time on so many cores, against that of one process.
                found[f"COST{size}, {label}"] = cores * spark[figure] / one[figure]
    if "memory, all records" in taken:
        tenth, whole = (taken[f"memory, {name}"]["memory_mib"] for name in ("a tenth of the records", "all records"))
        found["memory, ten times the records"] = whole / tenth
        found["memory, GiB for 2 M keys"] = taken["memory, 2 M keys"]["memory_mib"] / 1024
    return {name: round(ratio, 2) for name, ratio in found.items()}


def _beside_consume(taken: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {
        f"{beside}, {label}": taken["consume"][figure] / taken[beside][figure]
        for beside in (BESIDE, ON_ALL_CORES)
        if beside in taken
        for label, figure in (("CPU", "work_cpu_s"), ("work", "work_s"))
    }


def missed(found: Mapping[str, float]) -> list[str]:
    """The bars that were not reached, in words."""
    low = [f"{name}: {found[name]}, at least {bar}" for name, bar in AT_LEAST.items() if found.get(name, bar) < bar]
    high = [f"{name}: {found[name]}, at most {bar}" for name, bar in AT_MOST.items() if found.get(name, bar) > bar]
    return low + high


def _show(figures: Figures) -> None:
    for name, each in figures["taken"].items():
        print(
            f"{name:44} {each['whole_s']:8.2f} s whole {each['whole_cpu_s']:8.2f} CPU-s"
            f" {each['work_s']:8.2f} s work {each['memory_mib']:6.0f} MiB"
        )
    for name, ratio in figures["ratios"].items():
        print(f"{name:44} {ratio:8.2f}")
    for name, limit in figures.get("limits", {}).items():
        print(f"{name:44} {limit / 1e9:8.2f} GB a CPU-second")
    told = figures["taken"].get("headers", {}).get("told", {})
    if "limits" in figures and "bytes" in told:
        rate = told["bytes"] / figures["taken"]["headers"]["work_cpu_s"]
        print(f"{'headers only':44} {rate / 1e9:8.2f} GB a CPU-second, {rate / figures['limits']['socket']:.2f} of it")
    for name in (*figures["missed"], *(f"{part} failed: {why}" for part, why in figures["failed"].items())):
        print(f"MISSED  {name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--large-records", type=int, default=50_000_000)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--parts", default="read,spark,executors,memory", help="those that are wanted")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
