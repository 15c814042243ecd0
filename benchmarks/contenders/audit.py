"""Who takes part in benchmarks.audit: each in a process of its own, telling on its last line what it took.

work_s and work_cpu_s are those of the work alone, after imports, connection and the start of Spark.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

from benchmarks.contenders.audit_topics import PARTITIONS, plan_of
from eosctl.engines.auditing import Advance, Engine, ScannedRows
from eosctl.model.audit import AuditPlan, TopicRole
from eosctl.model.client_properties import ClientProperties

TIMEOUT_S = 120.0


def cpu_s() -> float:
    """User and system time of this process and of its ended children."""
    mine = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in mine)


def tell(work: Callable[[], dict[str, int]], scanned: "Scanning | None" = None) -> None:
    """Do the work, which returns what was counted, and tell what it took; and when the ranges were scanned."""
    cpu, start = cpu_s(), time.perf_counter()
    counted = work()
    told = {"work_s": time.perf_counter() - start, "work_cpu_s": cpu_s() - cpu, **counted}
    if scanned is not None:
        told |= {"scan_s": scanned.at - start, "scan_cpu_s": scanned.cpu_s - cpu}
    print(json.dumps(told), flush=True)


class Scanning:
    """An engine that remembers when it had scanned, and what CPU time that took where it runs in this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.at = self.cpu_s = 0.0

    def scan(self, plan: AuditPlan, advance: Advance) -> ScannedRows:
        """As the engine does."""
        rows = self._engine.scan(plan, advance)
        self.at, self.cpu_s = time.perf_counter(), cpu_s()
        return rows


def headers(servers: str, topic: str) -> None:
    """Every batch header of the topic, folded as an output topic's are."""
    from eosctl.codecs.ledger import decode_audit_state
    from eosctl.engines.scanning import scan_range
    from eosctl.model.audit import StateKind
    from eosctl.model.audit_states import LogState
    from eosctl.sources.audit_log import ClusterSource

    plan = plan_of(servers, topic, TopicRole.OUTPUT, 1)
    with ClusterSource(ClientProperties((servers,)), TIMEOUT_S) as source:
        list(scan_range(plan, plan.ranges[-1], source))  # imports, connects

        def work() -> dict[str, int]:
            rows = [row for offsets in plan.ranges for row in scan_range(plan, offsets, source)]
            logs = [decode_audit_state(row.payload, LogState) for row in rows if row.kind is StateKind.LOG]
            counted = {"bytes": sum(log.size_bytes for log in logs), "batches": sum(log.batches for log in logs)}
            return {"records": sum(log.records for log in logs), **counted}

        tell(work)


def decode(servers: str, topic: str) -> None:
    """Offset, key and value of every record."""
    from eosctl.codecs.record_batches import decode_entries
    from eosctl.engines.scanning import scan_range
    from eosctl.sources.audit_log import ClusterSource, DataBatch

    plan = plan_of(servers, topic, TopicRole.OUTPUT, 1)
    with ClusterSource(ClientProperties((servers,)), TIMEOUT_S) as source:
        list(scan_range(plan, plan.ranges[-1], source))  # imports, connects

        def work() -> dict[str, int]:
            count = 0
            for offsets in plan.ranges:
                for item in source.read(plan, offsets):
                    if isinstance(item, DataBatch):
                        count += len([(each.offset, each.key, each.value) for each in decode_entries(item.batch)])
            return {"records": count}

        tell(work)


def consume(servers: str, topic: str) -> None:
    """The same with confluent-kafka, a list of 10,000 messages at a time."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    settings = {
        "group.id": "bench",
        "enable.auto.commit": False,
        "fetch.queue.backoff.ms": 5,
        "enable.partition.eof": True,
    }
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
    consumer.list_topics(timeout=30)  # connects

    def work() -> dict[str, int]:
        consumer.assign(partitions)
        count = ends = 0
        while ends < PARTITIONS:
            messages = consumer.consume(10_000, 1.0)
            got = [(each.offset(), each.key(), each.value()) for each in messages if each.error() is None]
            ends += len(messages) - len(got)
            count += len(got)
        return {"records": count}

    tell(work)
    consumer.close()


def local(servers: str, topic: str, cores: int) -> None:
    """A full audit with findings, on the local engine."""
    from eosctl.engines.local import LocalEngine
    from eosctl.sources.audit_log import OpenCluster

    plan = plan_of(servers, topic, TopicRole.OFFSETS, cores)
    _audit(plan, LocalEngine(OpenCluster(ClientProperties((servers,)), TIMEOUT_S), processes=cores))


def spark(servers: str, topic: str, master: str, cores: int, *, archive: bool = True) -> None:
    """The same on Spark, started in this process; with an archive of its classes, or as the first time."""
    from eosctl.model.audit import SparkOptions
    from eosctl.sandbox.cache import cache_directory
    from eosctl.sandbox.java import find_java
    from eosctl.spark.starting import spark_engine

    plan = plan_of(servers, topic, TopicRole.OFFSETS, cores)
    wish, properties = SparkOptions(master=master), ClientProperties((servers,))
    archives = cache_directory() / "spark" if archive else None
    with spark_engine(wish, properties, TIMEOUT_S, find_java, archives) as engine:
        _audit(plan, engine)


def merge(servers: str, topic: str, master: str, cores: int) -> None:
    """The same, with every state shuffled and merged on executors, however small."""
    from eosctl.sandbox.java import find_java
    from eosctl.spark.engine import SparkEngine
    from eosctl.spark.executor_access import executor_access
    from eosctl.spark.session import spark_session

    plan = plan_of(servers, topic, TopicRole.OFFSETS, cores)
    with (
        spark_session(find_java, master=master, settings={"spark.executor.memory": "1g"}) as session,
        executor_access(ClientProperties((servers,)), TIMEOUT_S, master=master) as access,
    ):
        _audit(plan, SparkEngine(session, access, most_here=0))


def _audit(plan: AuditPlan, engine: Engine) -> None:
    from eosctl.engines.auditing import run_audit

    timed = Scanning(engine)

    def work() -> dict[str, int]:
        findings = run_audit(plan, timed).report.findings
        if not findings:
            raise RuntimeError("the audit found nothing in a topic with faults")
        ranges = sum(offsets.settled and plan.topic(offsets.topic).role is TopicRole.OFFSETS for offsets in plan.ranges)
        return {"findings": len(findings), "ranges": ranges}

    tell(work, timed)


def main() -> None:
    """`NAME SERVERS TOPIC [MASTER] [CORES]`"""
    name, servers, topic, *more = sys.argv[1:]
    match name:
        case "local":
            local(servers, topic, int(more[0]))
        case "spark" | "spark-bare":
            spark(servers, topic, more[0], int(more[1]), archive=name == "spark")
        case "merge":
            merge(servers, topic, more[0], int(more[1]))
        case _:
            {"headers": headers, "decode": decode, "consume": consume}[name](servers, topic)


if __name__ == "__main__":
    from eosctl.cli import tune_gc

    tune_gc()
    main()
