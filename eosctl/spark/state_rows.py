"""StateRow as a row of a DataFrame and of an Arrow table."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa

from eosctl.model.audit import StateKind, StateRow

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
    """The rows as an Arrow table, what is said of each in a column `flag` before the others."""
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
    """The rows of an Arrow table."""
    for kind, *rest in zip(*(table.column(field.name).to_pylist() for field in ARROW), strict=True):
        yield StateRow(StateKind(kind), *rest)
