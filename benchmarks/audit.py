"""The audit: headers only, full decode, and whole audits with findings, against those who merely read.

1. Headers only, and full decode, against confluent-kafka consuming the same topic: records per CPU-second of the work.
2. A full audit with findings on Spark against Spark's own Kafka source (tuned) that reads the topic and keeps nothing.
   Both from the start of their process, and without their start.
3. The local engine against Spark at the same number of cores, and one local process against Spark: COST is how many
   cores Spark needs to be as fast as one process of the local engine (McSherry et al., HotOS 2015).
4. The merge of states on 1, 2 and 4 executors: work_s less scan_s, with all of them on this machine.
5. Peak memory of one process: ten times the records at the same keys, and two million keys.

Spark's own source runs with pyspark 3.5.7 in an environment of its own: the cache directory holds `spark-3.5.7` (venv)
and `spark-3.5.7-jars` (spark-sql-kafka-0-10_2.12:3.5.7 with what it needs); without them part 2 has no peer and fails.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contenders.audit_topics import PARTITIONS, fill, plan_of
from benchmarks.measure import write_result
from eosctl.model.audit import TopicRole
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.sandbox import Sandbox

BARS = {"headers only": 20.0, "full decode": 1.5, "audit on Spark, whole process": 1.0, "audit on Spark, work": 1.0}
MEMORY_FLAT, MEMORY_KEYS_GIB = 1.1, 4.0
KEYS = 50_000
EXECUTORS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Taken:
    """What one contender took: medians. whole_* from the start of the process, work_* without that, scan_s of it
    until all ranges were read; memory in MiB.

    memory is the largest process's resident set: of the contender itself or of a child.
    """

    whole_s: float
    whole_cpu_s: float
    work_s: float
    work_cpu_s: float | None
    memory_mib: float
    count: int
    scan_s: float | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """Contenders on one topic."""

    servers: str
    runs: int
    peer_python: Path = field(default_factory=lambda: cache_directory() / "spark-3.5.7" / "bin" / "python")
    peer_jars: Path = field(default_factory=lambda: cache_directory() / "spark-3.5.7-jars")

    def contender(self, name: str, topic: str, *more: object) -> Taken:
        """One of benchmarks.contenders.audit, some runs of it."""
        return self._several([sys.executable, "-m", "benchmarks.contenders.audit", name, self.servers, topic, *more])

    def spark_source(self, topic: str, cores: int) -> Taken:
        """Spark's own Kafka source."""
        jars = ",".join(str(path) for path in sorted(self.peer_jars.glob("*.jar")) if self._is_needed(path.name))
        plan = plan_of(self.servers, topic, TopicRole.OUTPUT, 1)
        ends = [bounds.last_stable_offset for bounds in plan.bounds]
        script = Path(__file__).parent / "contenders" / "spark_kafka_source.py"
        return self._several(
            [self.peer_python, script, self.servers, topic, PARTITIONS, f"local[{cores}]", jars, *ends]
        )

    @staticmethod
    def _is_needed(jar: str) -> bool:
        """What pyspark does not carry itself."""
        return jar.startswith(("spark-sql-kafka", "spark-token", "kafka-clients", "commons-pool2", "jsr305"))

    def _several(self, command: Sequence[object]) -> Taken:
        runs = [self._once([str(each) for each in command]) for _ in range(self.runs)]
        cpu = [each.work_cpu_s for each in runs if each.work_cpu_s is not None]
        return Taken(
            round(statistics.median(each.whole_s for each in runs), 3),
            round(statistics.median(each.whole_cpu_s for each in runs), 3),
            round(statistics.median(each.work_s for each in runs), 3),
            round(statistics.median(cpu), 3) if cpu else None,
            round(max(each.memory_mib for each in runs), 1),
            runs[0].count,
            round(statistics.median(each.scan_s or 0 for each in runs), 3) if runs[0].scan_s else None,
        )

    @staticmethod
    def _once(command: Sequence[str]) -> Taken:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment["PYSPARK_PYTHON"] = command[0]
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert process.stdout is not None
        lines = process.stdout.read().strip().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        whole_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0 or not lines:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        told = json.loads(lines[-1])
        return Taken(
            whole_s,
            usage.ru_utime + usage.ru_stime,
            told["work_s"],
            told["work_cpu_s"],
            usage.ru_maxrss / 1024,
            told["count"],
            told.get("scan_s"),
        )


def main() -> int:
    """Measure, print, write results/audit.json; 1 where a bar is missed."""
    arguments = _arguments()
    parts = set(arguments.parts.split(","))
    figures: dict[str, Any] = {"records": arguments.records, "keys": KEYS, "cores": arguments.cores}
    taken: dict[str, Taken] = {}
    with Sandbox(narrate=print) as sandbox:
        race = Race(sandbox.bootstrap_servers, arguments.runs)
        figures["bytes"] = fill(race.servers, "offsets", arguments.records, KEYS)
        print(f"{arguments.records} records are there")
        if "read" in parts:
            taken |= {name: race.contender(name, "offsets") for name in ("headers", "decode", "consume")}
        if "spark" in parts:
            taken |= _spark(race, "offsets", arguments.cores)
        if "memory" in parts:
            taken |= _memory(race, arguments.records)
        if "executors" in parts:
            taken |= {
                f"states merged on Spark, {count} executors": race.contender(
                    "merge", "offsets", f"local-cluster[{count},1,1024]", 4
                )
                for count in EXECUTORS
            }
        if arguments.large:
            fill(race.servers, "offsets-large", arguments.large, KEYS)
            large = Race(race.servers, 1)
            taken |= {
                f"{name}, large": each for name, each in _engines(large, "offsets-large", arguments.cores).items()
            }
        versions = {"kafka": sandbox.kafka_version, "pyspark": _version("pyspark"), "spark's own source": "3.5.7"}
    ratios = _ratios(taken)
    for name, each in taken.items():
        print(f"{name:40} {each.whole_s:8.2f} s whole {each.work_s:8.2f} s work {each.memory_mib:8.0f} MiB")
    for name, ratio in ratios.items():
        print(f"{name:40} {ratio:8.2f}")
    figures |= {"taken": {name: asdict(each) for name, each in taken.items()}, "ratios": ratios, "bars": BARS}
    print(write_result("audit", figures, versions))
    return 0 if _passes(ratios) else 1


def _engines(race: Race, topic: str, cores: int) -> dict[str, Taken]:
    """Whole audits: one local process, as many as cores, and Spark with as many."""
    return {
        "audit, local, 1 process": race.contender("local", topic, 1),
        f"audit, local, {cores} processes": race.contender("local", topic, cores),
        f"audit, Spark, local[{cores}]": race.contender("spark", topic, f"local[{cores}]", cores),
    }


def _spark(race: Race, topic: str, cores: int) -> dict[str, Taken]:
    engines = _engines(race, topic, cores)
    return {**engines, f"Spark's own source reads, local[{cores}]": race.spark_source(topic, cores)}


def _memory(race: Race, records: int) -> dict[str, Taken]:
    """One process, so that its own resident set is all there is."""
    fill(race.servers, "offsets-tenth", records // 10, KEYS)
    fill(race.servers, "offsets-keys", 2_000_000, 2_000_000)
    once = Race(race.servers, 1)
    return {
        "memory, a tenth of the records": once.contender("local", "offsets-tenth", 1),
        "memory, all records": once.contender("local", "offsets", 1),
        "memory, 2 M keys": once.contender("local", "offsets-keys", 1),
    }


def _ratios(taken: Mapping[str, Taken]) -> dict[str, float]:
    ratios: dict[str, float] = {}
    if "consume" in taken:
        for name, label in (("headers", "headers only"), ("decode", "full decode")):
            ratios[label] = (taken["consume"].work_cpu_s or 0) / (taken[name].work_cpu_s or 1)
    own = next((each for name, each in taken.items() if name.startswith("Spark's own")), None)
    for size in ("", ", large"):
        spark = next(
            (each for name, each in taken.items() if name.startswith("audit, Spark") and name.endswith(f"]{size}")),
            None,
        )
        one = taken.get(f"audit, local, 1 process{size}")
        if spark is not None and own is not None and not size:
            ratios["audit on Spark, whole process"] = own.whole_s / spark.whole_s
            ratios["audit on Spark, work"] = own.work_s / spark.work_s
        if spark is not None and one is not None:
            cores = next(int(name.split("[")[1].split("]")[0]) for name in taken if name.startswith("audit, Spark"))
            # Were Spark to scale perfectly: its work on so many cores, against that of one process.
            ratios[f"COST{size}, whole process"] = cores * spark.whole_s / one.whole_s
            ratios[f"COST{size}, work"] = cores * spark.work_s / one.work_s
    if "memory, all records" in taken:
        ratios["memory, ten times the records"] = (
            taken["memory, all records"].memory_mib / taken["memory, a tenth of the records"].memory_mib
        )
        ratios["memory, GiB for 2 M keys"] = taken["memory, 2 M keys"].memory_mib / 1024
    return {name: round(ratio, 2) for name, ratio in ratios.items()}


def _passes(ratios: Mapping[str, float]) -> bool:
    kept = all(ratios.get(name, bar) >= bar for name, bar in BARS.items())
    flat = ratios.get("memory, ten times the records", 1.0) <= MEMORY_FLAT
    return kept and flat and ratios.get("memory, GiB for 2 M keys", 0.0) <= MEMORY_KEYS_GIB


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--large", type=int, default=0, help="compare the engines with so many records, too")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--parts", default="read,spark,executors,memory", help="those that are wanted")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
