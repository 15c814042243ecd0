"""The states of an audit's offset ranges as a DataFrame: one task for each range, which fetches, folds and gives Arrow.

1. A row of `spark.range` is a range's place in the plan; `mapInArrow` makes its states of it. A Python data source
   would do the same, but Spark plans one in two Python processes more (docs/decisions/0011).
2. The plan, with its explicit offsets, travels with the function. Neither event logs nor Spark's pages show it; who the
   executors are to Kafka is not in it (executor_access).
3. A task says of each row whether the driver may take it: of each kind, what is no more than the task's share of what
   the driver reduces itself. Of a kind that is more it gives a row without a bucket to say so.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, groupby
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from eosctl.engines.scanning import scan_range
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, OffsetRange, StateKind, StateRow
from eosctl.sources.audit_log import ClusterSource
from eosctl.spark.executor_access import ExecutorAccess
from eosctl.spark.executor_errors import carried
from eosctl.spark.state_rows import COLUMNS, encode_flagged

NO_BUCKET: Final = -1
SMALL: Final = "small"
SCANNED: Final = f"{SMALL} boolean, {COLUMNS}"
BATCH_BYTES: Final = 1 << 24

_PLANS: Final = msgspec.json.Decoder(AuditPlan)

Batches = Iterable[pa.RecordBatch]


class Flagged(NamedTuple):
    """A state row, and whether the driver may take it."""

    small: bool
    row: StateRow


def in_order(plan: AuditPlan) -> list[OffsetRange]:
    """The ranges in the order in which they are started: largest first, so that no executor is left with one."""
    return sorted(plan.ranges, key=lambda offsets: (-offsets.size, offsets))


def range_frame(spark: SparkSession, plan: AuditPlan, access: ExecutorAccess, small: int) -> DataFrame:
    """Rows of SCANNED; `small` is how many bytes of payload of each kind the driver takes at most."""
    count = max(1, len(plan.ranges))
    return place_frame(spark, len(plan.ranges), _task(plan, access, small // count))


def place_frame(spark: SparkSession, count: int, task: Callable[[Batches], Iterator[pa.RecordBatch]]) -> DataFrame:
    """What the task makes of the places from 0 to `count`, one at a time: rows of SCANNED."""
    return spark.range(0, count, 1, max(1, count)).mapInArrow(task, SCANNED)


def _task(plan: AuditPlan, access: ExecutorAccess, share: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    encoded = msgspec.json.encode(plan)

    def scan(places: Batches) -> Iterator[pa.RecordBatch]:
        # Here pickle names what this module holds, instead of taking it along.
        from eosctl.spark.range_frame import scan_places

        return scan_places(encoded, access, share, places)

    return scan


def scan_places(encoded: bytes, access: ExecutorAccess, share: int, places: Batches) -> Iterator[pa.RecordBatch]:
    """On an executor: the rows of the ranges at these places. Raises what `executor_errors.restored` reads."""
    plan, ordered = _decoded(encoded)
    for batch in places:
        for place in batch.column(0).to_pylist():
            offsets = ordered[place]
            try:
                with ClusterSource(access.client_properties(), access.timeout_s) as source:
                    rows = scan_range(plan, offsets, source)
                    yield from batches(flagged(rows, offsets, share))
            except EosctlError as error:
                raise carried(error) from error


@lru_cache(maxsize=1)
def _decoded(encoded: bytes) -> tuple[AuditPlan, list[OffsetRange]]:
    """Once for all tasks of a Python worker: a plan may have 100,000 ranges."""
    plan = _PLANS.decode(encoded)
    return plan, in_order(plan)


def flagged(rows: Iterable[StateRow], offsets: OffsetRange, share: int) -> Iterator[Flagged]:
    """The rows by rule 3; those of a kind come one after the other. Of what is more than its share little is held."""
    for kind, group in groupby(rows, key=lambda row: row.kind):
        held: list[StateRow] = []
        size = 0
        for row in group:
            held.append(row)
            size += len(row.payload)
            if size > share:
                yield Flagged(True, _notice(kind, offsets))
                yield from (Flagged(False, each) for each in chain(held, group))
                break
        else:
            yield from (Flagged(True, each) for each in held)


def _notice(kind: StateKind, offsets: OffsetRange) -> StateRow:
    topic, partition, start, _, settled = offsets
    return StateRow(kind, NO_BUCKET, topic, partition, start, settled, b"")


def batches(rows: Iterable[Flagged]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about BATCH_BYTES."""
    held: list[Flagged] = []
    size = 0
    for each in rows:
        held.append(each)
        size += len(each.row.payload)
        if size >= BATCH_BYTES:
            yield from encode_flagged(SMALL, held).to_batches()
            held, size = [], 0
    yield from encode_flagged(SMALL, held).to_batches()
