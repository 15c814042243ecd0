"""An audit of 10^12 records without the records: the real planning and merging over a synthetic distribution.

1. Plan: 10,000 partitions of equal size, and one of them with half of all records. Ranges, the size of the plan as it
   travels, the longest range against the median, resident memory of this process, which stands for the driver.
2. Keys: how evenly the real buckets take keys, and what one key with half of all records adds.
3. Logs: the states of a partition's ranges, of which one process merges those of all partitions.
"""

import pickle
import resource
import statistics
import sys
import time
from collections import Counter
from typing import Any, Final

from benchmarks.measure import write_result
from eosctl.codecs.ledger import encode_audit_state
from eosctl.engines.auditing import LogReduction, reduce_bucket
from eosctl.engines.scanning import key_bucket
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, StateKind, StateRow, TopicRole
from eosctl.model.audit_states import LogState, ProducerState
from eosctl.model.topics import OffsetRange
from eosctl.planning.audit import plan_ranges, resume

RECORDS: Final = 10**12
PARTITIONS: Final = 10_000
CORES: Final = 256
KEYS: Final = 50_000
"""A sample of the keys, put into buckets."""
KEYS_OF_A_PARTITION: Final = 2_000
PRODUCERS: Final = 20
"""Producers whose sessions are in the log of a range: those of a restarted connector."""
MOST_DRIVER_GIB: Final = 2.0
MOST_SKEW: Final = 5.0


def main() -> int:
    """Simulate, print, write results/scale.json; 1 where a bar is missed."""
    taken: dict[str, dict[str, Any]] = {
        "plan, even": _plan([RECORDS // PARTITIONS] * PARTITIONS),
        "plan, half in one partition": _plan([RECORDS // 2, *[RECORDS // 2 // (PARTITIONS - 1)] * (PARTITIONS - 1)]),
        "buckets of keys": _buckets(),
    }
    for ranges in (500, 2_000):
        taken[f"logs, {ranges} ranges of a partition"] = _logs(ranges)
    for name, figures in taken.items():
        print(f"{name:32}", "  ".join(f"{key} {value:,}" for key, value in figures.items()))
    driver_gib = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    skew = max(figures["longest to median"] for figures in taken.values() if "longest to median" in figures)
    print(f"driver {driver_gib} GiB (at most {MOST_DRIVER_GIB}), longest task {skew} times the median ({MOST_SKEW})")
    bars = {"driver_gib": MOST_DRIVER_GIB, "longest to median": MOST_SKEW}
    print(write_result("scale", {"taken": taken, "driver_gib": driver_gib, "bars": bars}, {}))
    return 0 if driver_gib <= MOST_DRIVER_GIB and skew <= MOST_SKEW else 1


def _plan(sizes: list[int]) -> dict[str, Any]:
    bounds = tuple(PartitionBounds("orders", number, 0, size, size, 0) for number, size in enumerate(sizes))
    topics = (AuditedTopic("orders", TopicRole.OUTPUT),)
    empty = AuditPlan(as_of=0, cluster_id="c", group_id=None, topics=topics, bounds=bounds, ranges=())
    start = time.process_time()
    plan = plan_ranges(empty, resume({}, topics, bounds), {}, CORES)
    cpu_s = time.process_time() - start
    lengths = [each.size for each in plan.ranges]
    return {
        "ranges": len(lengths),
        "CPU s": round(cpu_s, 2),
        "plan MB": round(len(pickle.dumps(plan)) / 1e6, 1),
        "longest to median": round(max(lengths) / statistics.median(lengths), 2),
    }


def _buckets() -> dict[str, Any]:
    """A bucket's states of keys are a task; a key is one state for each range, however many of the records it has."""
    taken = Counter(key_bucket(b'["orders",{"table":"t%d"}]' % number) for number in range(KEYS))
    hot = key_bucket(b'["orders",{"table":"t0"}]')
    ranges = RECORDS // 5_000_000
    keys_of_each = KEYS_OF_A_PARTITION * PARTITIONS / KEYS
    states = {bucket: int(count * keys_of_each * ranges / PARTITIONS) for bucket, count in taken.items()}
    states[hot] += ranges // 2
    return {
        "states": sum(states.values()),
        "shuffled GB": round(sum(states.values()) * 300 / 1e9, 1),
        "longest to median": round(max(states.values()) / statistics.median(states.values()), 2),
    }


def _logs(ranges: int) -> dict[str, Any]:
    size = 5_000_000
    rows = [_row(OffsetRange("orders", 0, number * size, (number + 1) * size)) for number in range(ranges)]
    start = time.process_time()
    reduced = reduce_bucket(LogReduction(), 0, rows)
    cpu_s = time.process_time() - start
    return {
        "state B": len(rows[0].payload),
        "CPU ms a range": round(1000 * cpu_s / ranges, 3),
        "carried kB": round(sum(len(each.payload) for each in reduced.carried) / 1e3, 1),
    }


def _row(offsets: OffsetRange) -> StateRow:
    first = offsets.start // offsets.size * PRODUCERS
    state = LogState(
        start=offsets.start, end=offsets.end, first_base=offsets.start, behind_gap=False, records=offsets.size,
        control_records=0, aborted_records=0, plain_records=0, batches=1000, size_bytes=offsets.size * 1000,
        first_timestamp=offsets.start, last_timestamp=offsets.end, first_batch=offsets.start, cleaned_until=None,
        gaps=(), damages=(), growth=(), producers=tuple(_producer(first + each, offsets) for each in range(PRODUCERS)),
    )  # fmt: skip
    return StateRow(StateKind.LOG, 0, offsets.topic, offsets.partition, offsets.start, True, encode_audit_state(state))


def _producer(producer_id: int, offsets: OffsetRange) -> ProducerState:
    return ProducerState(
        producer_id=producer_id, marker_epoch=-1, leading_epoch=None, first_epoch=0, first_offset=offsets.start,
        first_timestamp=offsets.start, epoch=0, open_epoch=-1, last_offset=offsets.end - 1, last_timestamp=offsets.end,
        records=offsets.size // PRODUCERS, plain_records=0, first_plain=-1, last_plain=-1, first_plain_timestamp=-1,
        last_plain_timestamp=-1, starts=(), raised=(),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
