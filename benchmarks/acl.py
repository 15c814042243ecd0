"""How long it takes to plan the ACLs of many connectors and to compare them with those of a cluster.

500 connectors of 20 tasks each, every client a principal of its own; the cluster has nine in ten of the bindings that
are needed, and as many again that are nobody's business. At a tenth and at ten times of that the time must grow as the
number of bindings does: names that begin alike, and connectors that might share IDs, must not be compared pair by pair.

The bar of 2 s is on elapsed time, that on growth on CPU seconds, both with Python's collector of cycles set as eosctl's
main sets it. The results also show the figures without the collector, and the costs that are not the collector's: with
ten times the bindings, caches miss more often.

The answer's rows are streamed: how much is written as json, and by how much the process's memory grows, is told.
"""

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measure import write_result
from eosctl.cli import tune_gc
from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.model.acl_plan import AclDifference, AclPlan, AclReport, AclRequest, PlannedPhase
from eosctl.model.acls import AclBinding, Operation, transactional_id
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.workers import SourceSupport
from eosctl.planning.acl_difference import compare_acls, plan_acl_changes
from eosctl.planning.acls import plan_acls
from eosctl.render.answers.acls import view_acl_plan
from eosctl.render.cells import Page
from eosctl.render.formats import Output, pieces_of

CONNECTORS = 500
TASKS = 20
SIZES = (CONNECTORS // 10, CONNECTORS, CONNECTORS * 10)
RUNS = 3
BAR_S = 2.0
BAR_GROWTH = 1.5
HERE = frozenset({"broker:9092"})


def request(connectors: int) -> AclRequest:
    """A Connect cluster with so many connectors, whose names begin alike."""
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="x";'
    settings = {
        "bootstrap.servers": "broker:9092",
        "group.id": "connect",
        "config.storage.topic": "configs",
        "offset.storage.topic": "offsets",
        "status.storage.topic": "status",
    }
    for prefix in ("", "producer.", "consumer.", "admin."):
        settings[f"{prefix}security.protocol"] = "SASL_SSL"
        settings[f"{prefix}sasl.mechanism"] = "PLAIN"
        settings[f"{prefix}sasl.jaas.config"] = jaas.format(prefix.rstrip(".") or "worker")
    sources = tuple(
        connector_of(
            {
                "name": f"orders-{number}",
                "connector.class": "FileStreamSource",
                "topic": f"orders-{number}",
                "tasks.max": str(TASKS),
            },
            "benchmark",
        )
        for number in range(connectors)
    )
    return AclRequest((ConnectCluster((worker_of(settings, "benchmark"),), sources),), SourceSupport.ENABLED)


def existing(needed: list[AclBinding]) -> frozenset[AclBinding]:
    """Nine in ten of what is needed, and as many bindings of somebody else."""
    kept = [each for number, each in enumerate(needed) if number % 10]
    foreign = [
        AclBinding(f"User:other-{number % 97}", Operation.WRITE, transactional_id(f"other-{number}"))
        for number in range(len(needed))
    ]
    return frozenset((*kept, *foreign))


def no_certificate(_: object) -> str:
    """No client of this benchmark shows a certificate."""
    raise AssertionError


def measure(connectors: int) -> dict[str, Any]:
    """Median seconds of planning, comparing and making the steps, over RUNS runs after one to warm up."""
    asked = request(connectors)
    plan = plan_acls(asked, no_certificate)
    there = existing([each.binding for each in plan.bindings])
    steps: dict[str, Callable[[], object]] = {
        "plan": lambda: plan_acls(asked, no_certificate),
        "difference": lambda: compare_acls(asked, plan, there, HERE),
        "changes": lambda: plan_acl_changes(
            compare_acls(asked, plan, there, HERE), plan, there, "cluster", 1, prune=True
        ),
    }
    plain = _without_collector(lambda: (steps["plan"](), steps["difference"]()))
    runs = {name: [_timed(step) for _ in range(RUNS + 1)][1:] for name, step in steps.items()}
    taken = {name: statistics.median(cpu for _, cpu in each) for name, each in runs.items()}
    elapsed = {name: statistics.median(wall for wall, _ in each) for name, each in runs.items()}
    size, seconds, grown = _shown(compare_acls(asked, plan, there, HERE))
    return {
        "connectors": connectors,
        "bindings": len(plan.bindings),
        "cluster_bindings": len(there),
        **{f"{name}_cpu_s": round(seconds, 4) for name, seconds in taken.items()},
        "cpu_s": round(taken["plan"] + taken["difference"], 4),
        "cpu_without_collector_s": round(plain, 4),
        "elapsed_s": round(elapsed["plan"] + elapsed["difference"], 4),
        "json_mb": round(size / 1e6, 1),
        "json_cpu_s": round(seconds, 4),
        "json_memory_mb": round(grown / 1024, 1),
    }


def _shown(difference: AclDifference) -> tuple[int, float, int]:
    """The whole answer as json: its characters, CPU seconds, and by how many KiB the process's peak memory grew."""
    before, cpu = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    report = AclReport(
        group_ids=("connect",),
        as_of=0,
        cluster_id=None,
        cluster=HERE,
        plan=AclPlan((), ()),
        difference=difference,
        planned_for=(PlannedPhase("connect", SourceSupport.ENABLED, "the benchmark"),),
    )
    document = view_acl_plan(report)
    size = sum(map(len, pieces_of(document, Output.JSON, Page(None, colour=False))))
    return size, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def _timed(step: Callable[[], object]) -> tuple[float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start, time.process_time() - cpu


def _without_collector(step: Callable[[], object]) -> float:
    gc.disable()
    try:
        return statistics.median(_timed(step)[1] for _ in range(RUNS))
    finally:
        gc.enable()


def main() -> int:
    """Measure, print, write results/acl.json; 1 where a bar is missed."""
    tune_gc()
    figures = [measure(size) for size in SIZES]
    for each in figures:
        counted = f"{each['connectors']:6} connectors {each['bindings']:7} bindings"
        print(f"{counted} {each['cpu_s']:8.3f} CPU s {each['elapsed_s']:8.3f} s elapsed", end=" ")
        print(f"json {each['json_mb']} MB in {each['json_cpu_s']} CPU s, {each['json_memory_mb']} MB more memory")
    growth, growth_as_is = (_growth(figures, key) for key in ("cpu_without_collector_s", "cpu_s"))
    print(f"ten times the connectors: {growth_as_is} times the CPU for each binding; {growth} with the collector off")
    growths = {"growth_per_binding": growth_as_is, "growth_per_binding_without_collector": growth}
    bars = {"elapsed_s": BAR_S, "growth_per_binding": BAR_GROWTH}
    print(write_result("acl", {"measured": figures, **growths, "bar": bars}, {}))
    return 0 if figures[1]["elapsed_s"] <= BAR_S and growth_as_is <= BAR_GROWTH else 1


def _growth(figures: list[dict[str, Any]], key: str) -> float:
    """CPU for each binding at ten times the size, over that at the size itself."""
    middle, large = (each[key] / each["bindings"] for each in figures[1:])
    return round(large / middle, 2)


if __name__ == "__main__":
    sys.exit(main())
