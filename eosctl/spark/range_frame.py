"""The states of an audit's offset ranges as a DataFrame: one task for each range, which fetches, folds and gives Arrow.

1. A row of `spark.range` is a range's place in the plan; `mapInArrow` makes its states of it. A Python data source
   would do the same, but Spark plans one in two Python processes more (docs/dev/decisions/0011).
2. The plan, with its explicit offsets, travels with the function. Neither event logs nor Spark's pages show it; who the
   executors are to Kafka is not in it (executor_access).
3. A task says of each row whether the driver may take it: of each kind, what is no more than the task's share of what
   the driver reduces itself. Of a kind that is more it gives a row without a bucket to say so.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from eosctl import errors
from eosctl.engines.scanning import scan_range
from eosctl.errors import EosctlError, NotAuthorized, Undecodable
from eosctl.late_pattern import late_pattern
from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import ClusterSource
from eosctl.spark.executor_access import ExecutorAccess

COLUMNS: Final = "kind string, bucket int, topic string, partition int, start bigint, settled boolean, payload binary"
"""The fields of StateRow in Spark's words."""

# Spark compares the whole schema of the first batch with that of COLUMNS: every field is nullable there.
ARROW: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("bucket", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start", pa.int64()),
        ("settled", pa.bool_()),
        ("payload", pa.binary()),
    ]
)


def encode_flagged(flag: str, rows: Iterable[tuple[bool, StateRow]]) -> pa.Table:
    """The rows as an Arrow table, with a column `flag` before the others."""
    pairs = list(rows)
    flags = _booleans([said for said, _ in pairs])
    return encode_rows(row for _, row in pairs).add_column(0, pa.field(flag, pa.bool_()), flags)


def encode_rows(rows: Iterable[StateRow]) -> pa.Table:
    """The rows as an Arrow table.

    Built from its buffers: pyarrow's own conversion loads pandas, which takes longer than all else that a task begins
    with.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(ARROW)
    return pa.Table.from_arrays(
        [_BUILD[field.type](values) for values, field in zip(columns, ARROW, strict=True)], schema=ARROW
    )


def _booleans(values: Sequence[bool]) -> pa.Array:
    bits = sum(1 << place for place, value in enumerate(values) if value)
    return _from_buffers(pa.bool_(), len(values), bits.to_bytes(len(values) // 8 + 1, "little"))


def _numbers(type_: pa.DataType, code: str, values: Sequence[int]) -> pa.Array:
    return _from_buffers(type_, len(values), array(code, values).tobytes())


def _bytes(type_: pa.DataType, values: Sequence[bytes]) -> pa.Array:
    ends = array("i", accumulate(map(len, values), initial=0))
    return _from_buffers(type_, len(values), ends.tobytes(), b"".join(values))


def _from_buffers(type_: pa.DataType, length: int, *buffers: bytes) -> pa.Array:
    """No value is null."""
    return pa.Array.from_buffers(type_, length, [None, *map(pa.py_buffer, buffers)])


_BUILD: Final[dict[pa.DataType, Callable[[Sequence[Any]], pa.Array]]] = {
    pa.string(): lambda values: _bytes(pa.string(), [value.encode() for value in values]),
    pa.binary(): lambda values: _bytes(pa.binary(), values),
    pa.int32(): lambda values: _numbers(pa.int32(), "i", values),
    pa.int64(): lambda values: _numbers(pa.int64(), "q", values),
    pa.bool_(): _booleans,
}


def decode_rows(table: pa.Table) -> Iterator[StateRow]:
    for kind, *rest in zip(*(table.column(field.name).to_pylist() for field in ARROW), strict=True):
        yield StateRow(StateKind(kind), *rest)


_CARRIED: Final = late_pattern(r"<eosctl-error>(\{.*?\})</eosctl-error>", re.DOTALL)


class ExecutorFailure(Exception):
    """Carries an error from an executor, encoded in its text."""


def carried(error: EosctlError) -> ExecutorFailure:
    """The error in a form whose text survives the way."""
    facts = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
    if isinstance(error, NotAuthorized):
        facts |= {"principal": error.principal, "operation": error.operation, "resource": error.resource}
    return ExecutorFailure(f"<eosctl-error>{json.dumps(facts)}</eosctl-error>")


def restored(failure: Exception) -> EosctlError | None:
    """The executor's EosctlError; None where Spark failed for another reason."""
    found = _CARRIED.search(str(failure))
    if found is None:
        return None
    facts = json.loads(found[1])
    kind = getattr(errors, facts["type"], EosctlError)
    hint = facts["hint"]
    if kind is NotAuthorized:
        return NotAuthorized(
            principal=facts["principal"], operation=facts["operation"], resource=facts["resource"], hint=hint
        )
    if kind is Undecodable:
        return Undecodable(facts["message"], hint=hint)
    error = kind(facts["message"], hint=hint)
    return error if isinstance(error, EosctlError) else None


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
    """The ranges by size, largest first, so that no executor is left with a large one at the end."""
    return sorted(plan.ranges, key=lambda offsets: (-offsets.size, offsets))


def range_frame(spark: SparkSession, plan: AuditPlan, access: ExecutorAccess, small: int) -> DataFrame:
    """Rows of SCANNED; `small` is how many bytes of payload of each kind the driver takes at most."""
    count = max(1, len(plan.ranges))
    return place_frame(spark, len(plan.ranges), _task(plan, access, small // count))


def place_frame(spark: SparkSession, count: int, task: Callable[[Batches], Iterator[pa.RecordBatch]]) -> DataFrame:
    """One task for each place from 0 to `count`: rows of SCANNED."""
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
    """The rows by rule 3, kind by kind. Holds little of a kind that exceeds its share."""
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
