"""The Spark engine: ranges as the partitions of a data source, states as a DataFrame, buckets reduced where they are.

1. Nothing but the DataFrame API is used, so classic sessions and Spark Connect both do.
2. The scanned rows are persisted; sizes are asked first, which is the one job that reads the topics.
3. Rows of a kind that together are small are reduced in the driver, which is faster than a job; others are shuffled
   by bucket, with the carried ones among them.
4. Tasks have no side effects: one that is repeated gives the same rows. All writing is the driver's.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from eosctl.engines.engine import Advance
from eosctl.engines.reducing import Reduced, Reduction, reduce_bucket
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.spark.executor_access import ExecutorAccess
from eosctl.spark.executor_errors import restored
from eosctl.spark.progress import watching
from eosctl.spark.range_source import FORMAT, RangeSource, in_order, options
from eosctl.spark.state_rows import ARROW, COLUMNS, decode_rows, encode_rows

SMALL: Final = 1 << 24
"""Bytes of payload up to which rows are reduced in the driver."""

RESULT: Final = "result"


class SparkFailed(EosctlError):
    """Spark gave up: its words, and where to look."""

    exit_code = 4


class SparkEngine:
    """Runs an audit on the executors of `spark`, which reach the cluster by `access`."""

    def __init__(self, spark: SparkSession, access: ExecutorAccess, *, small: int = SMALL) -> None:
        self._spark, self._access, self._small = spark, access, small

    def scan(self, plan: AuditPlan, advance: Advance) -> "SparkRows":
        """Read every range of the plan once."""
        self._spark.dataSource.register(RangeSource)
        frame = self._spark.read.format(FORMAT).options(**options(plan, self._access)).load().persist()
        rows = SparkRows(self._spark, frame, self._small)
        try:
            with watching(self._spark, in_order(plan), advance), _own_errors():
                rows.measure()
        except BaseException:
            rows.close()
            raise
        return rows


class SparkRows:
    """The state rows, persisted on the executors."""

    def __init__(self, spark: SparkSession, frame: DataFrame, small: int) -> None:
        self._spark, self._frame, self._small = spark, frame, small
        self._sizes: dict[str, int] = {}
        self._held: dict[str, list[StateRow]] = {}

    def measure(self) -> None:
        """Scan, and learn how large the rows of each kind are together."""
        sizes = self._frame.groupBy("kind").agg(sql.sum(sql.octet_length("payload")).alias("size"))
        self._sizes = {row["kind"]: row["size"] for row in sizes.collect()}

    def reduce(self, reduction: Reduction, carried: Iterable[StateRow]) -> Sequence[Reduced]:
        """One Reduced for each bucket that has rows of the reduction's kind, or carried ones; by bucket."""
        before = list(carried)
        size = self._sizes.get(reduction.kind.value, 0) + sum(len(row.payload) for row in before)
        with _own_errors():
            if size <= self._small:
                return self._reduce_here(reduction, before)
            return self._reduce_there(reduction, before)

    def _reduce_here(self, reduction: Reduction, before: list[StateRow]) -> list[Reduced]:
        buckets: dict[int, list[StateRow]] = {}
        for row in (*before, *self._rows_here(reduction.kind)):
            buckets.setdefault(row.bucket, []).append(row)
        return [reduce_bucket(reduction, bucket, buckets[bucket]) for bucket in sorted(buckets)]

    def _rows_here(self, kind: StateKind) -> list[StateRow]:
        """The rows of a kind; all that are small come with the first of them, in one job."""
        if kind.value not in self._sizes:
            return []
        if kind.value not in self._held:
            small = [name for name, size in self._sizes.items() if size <= self._small]
            table = self._frame.where(sql.col("kind").isin(small)).toArrow()
            self._held = {name: [] for name in small}
            for row in decode_rows(table):
                self._held[row.kind.value].append(row)
        return self._held[kind.value]

    def _reduce_there(self, reduction: Reduction, before: list[StateRow]) -> list[Reduced]:
        def reduce_group(group: pa.Table) -> pa.Table:
            rows = list(decode_rows(group))
            return _encode_reduced(reduction, reduce_bucket(reduction, rows[0].bucket, rows))

        rows = self._frame.where(sql.col("kind") == reduction.kind.value)
        if before:
            rows = rows.unionByName(self._spark.createDataFrame(encode_rows(before), schema=COLUMNS))
        reduced = rows.groupBy("bucket").applyInArrow(reduce_group, schema=f"{RESULT} boolean, {COLUMNS}")
        return _decode_reduced(reduced.toArrow())

    def close(self) -> None:
        """Let go of the rows."""
        self._frame.unpersist()


def _encode_reduced(reduction: Reduction, reduced: Reduced) -> pa.Table:
    """The conclusions as a row that says so, and the carried rows behind it."""
    result = StateRow(reduction.kind, reduced.bucket, "", 0, 0, True, reduced.result)
    table = encode_rows([result, *reduced.carried])
    flags = pa.array([True] + [False] * len(reduced.carried), pa.bool_())
    return table.add_column(0, pa.field(RESULT, pa.bool_()), flags)


def _decode_reduced(table: pa.Table) -> list[Reduced]:
    results: dict[int, bytes] = {}
    carried: dict[int, list[StateRow]] = {}
    flags = table.column(RESULT).to_pylist()
    for flag, row in zip(flags, decode_rows(table.select(ARROW.names)), strict=True):
        if flag:
            results[row.bucket] = row.payload
        else:
            carried.setdefault(row.bucket, []).append(row)
    return [Reduced(bucket, results[bucket], tuple(carried.get(bucket, ()))) for bucket in sorted(results)]


@contextmanager
def _own_errors() -> Iterator[None]:
    """Errors of executors as what they are, Spark's own ones in a few words."""
    try:
        yield
    except PySparkException as failure:
        error = restored(failure)
        if error is None:
            lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
            words = " ... ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else type(failure).__name__
            error = SparkFailed(f"Spark failed: {words[:500]}", hint="the executors' logs say more")
        raise error from failure
