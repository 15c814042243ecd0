"""The contenders of benchmarks.audit: how each is started, and what it took."""

import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contenders.audit_topics import PARTITIONS, plan_of
from benchmarks.processes import Ended, run_to_the_last
from eosctl.model.audit import TopicRole
from eosctl.sandbox.cache import cache_directory

Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Taken:
    """The cost of one contender: medians of its runs, the most of memory.

    whole_* from the start of the process, work_* without that, scan_* of it until all ranges were read; whole_cpu_s
    with what was left behind, such as Spark's JVM. told is what else the contender says of itself.
    """

    runs: int
    whole_s: float
    whole_cpu_s: float
    work_s: float
    work_cpu_s: float | None
    scan_s: float | None
    scan_cpu_s: float | None
    memory_mib: float
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Race:
    """Contenders on the topics of one cluster."""

    servers: str
    peer_python: Path = field(default_factory=lambda: cache_directory() / "spark-3.5.7" / "bin" / "python")
    peer_jars: Path = field(default_factory=lambda: cache_directory() / "spark-3.5.7-jars")

    def contender(self, name: str, topic: str, *more: object) -> Command:
        """One of benchmarks.contenders.audit."""
        module = [sys.executable, "-m", "benchmarks.contenders.audit"]
        return [*module, name, self.servers, topic, *map(str, more)]

    def spark_source(self, topic: str, cores: int) -> Command:
        """Spark's own Kafka source."""
        jars = ",".join(str(path) for path in sorted(self.peer_jars.glob("*.jar")) if _is_needed(path.name))
        if not jars or not self.peer_python.exists():
            raise RuntimeError(f"Spark's own source is neither in {self.peer_python.parent} nor in {self.peer_jars}")
        plan = plan_of(self.servers, topic, TopicRole.OUTPUT, 1)
        ends = [str(bounds.last_stable_offset) for bounds in plan.bounds]
        script = str(Path(__file__).parent / "contenders" / "spark_kafka_source.py")
        told = [self.servers, topic, str(PARTITIONS), f"local[{cores}]", jars]
        return [str(self.peer_python), script, *told, *ends]


def _is_needed(jar: str) -> bool:
    """Packages that pyspark does not include."""
    return jar.startswith(("spark-sql-kafka", "spark-token", "kafka-clients", "commons-pool2", "jsr305"))


def in_turns(commands: Mapping[str, Command], runs: int, *, warm_up: bool = False) -> dict[str, Taken]:
    """Run all commands in turn, so that noise meets all alike; with `warm_up` once more before it counts."""
    ended: dict[str, list[Ended]] = {name: [] for name in commands}
    for number in range(-int(warm_up), runs):
        for name, command in commands.items():
            result = _run(command)
            if number >= 0:
                ended[name].append(result)
                print(f"  {name:44} {result.elapsed_s:8.2f} s", flush=True)
    return {name: _taken(each) for name, each in ended.items()}


def _run(command: Command) -> Ended:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return run_to_the_last(command, environment | {"PYSPARK_PYTHON": command[0]})


def _taken(ended: Sequence[Ended]) -> Taken:
    told = [json.loads(each.stdout.strip().splitlines()[-1]) for each in ended]
    work_s = _median(each["work_s"] for each in told)
    assert work_s is not None
    return Taken(
        runs=len(ended),
        whole_s=round(statistics.median(each.elapsed_s for each in ended), 3),
        whole_cpu_s=round(statistics.median(each.cpu_s for each in ended), 3),
        work_s=work_s,
        work_cpu_s=_median(each.get("work_cpu_s") for each in told),
        scan_s=_median(each.get("scan_s") for each in told),
        scan_cpu_s=_median(each.get("scan_cpu_s") for each in told),
        memory_mib=round(max(each.memory_mib for each in ended), 1),
        told={name: value for name, value in told[0].items() if not name.endswith("_s")},
    )


def _median(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 3) if known else None
