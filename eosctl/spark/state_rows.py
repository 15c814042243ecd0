"""StateRow as a row of a DataFrame and of an Arrow table."""

from collections.abc import Iterable, Iterator
from typing import Final

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


def encode_rows(rows: Iterable[StateRow]) -> pa.Table:
    """The rows as an Arrow table."""
    columns = list(zip(*((str(row.kind), *row[1:]) for row in rows), strict=True)) or [()] * len(ARROW)
    return pa.table([pa.array(values, field.type) for values, field in zip(columns, ARROW, strict=True)], ARROW)


def decode_rows(table: pa.Table) -> Iterator[StateRow]:
    """The rows of an Arrow table."""
    for kind, *rest in zip(*(table.column(field.name).to_pylist() for field in ARROW), strict=True):
        yield StateRow(StateKind(kind), *rest)
