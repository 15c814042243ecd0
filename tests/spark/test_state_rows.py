"""State rows as Arrow, and which of them a task lets the driver take."""

import subprocess
import sys

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from eosctl.model.audit import OffsetRange, StateKind, StateRow
from eosctl.spark.range_frame import ARROW, NO_BUCKET, decode_rows, encode_flagged, encode_rows, flagged

INTEGERS = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.builds(
        StateRow,
        st.sampled_from(StateKind),
        INTEGERS,
        st.text(st.characters(exclude_categories=["Cs"])),
        INTEGERS,
        st.integers(-(2**63), 2**63 - 1),
        st.booleans(),
        st.binary(),
    ),
    max_size=20,
)
RANGE = OffsetRange("offsets", 3, 100, 200)


def row(kind: StateKind, bucket: int, size: int) -> StateRow:
    return StateRow(kind, bucket, "offsets", 3, 100, True, b"x" * size)


@given(ROWS)
def test_rows_come_back_from_arrow_as_they_were(rows):
    table = encode_rows(rows)
    table.validate(full=True)

    assert table.schema == ARROW
    assert list(decode_rows(table)) == rows


@given(st.lists(st.booleans(), max_size=40))
def test_flags_stand_before_the_rows_that_they_are_of(flags):
    table = encode_flagged("small", [(flag, row(StateKind.LOG, n, 1)) for n, flag in enumerate(flags)])

    assert table.column("small").to_pylist() == flags
    assert table.schema.field(0) == pa.field("small", pa.bool_())
    assert [each.bucket for each in decode_rows(table.select(ARROW.names))] == list(range(len(flags)))


def test_encoding_rows_loads_no_pandas():
    code = (
        "import sys\n"
        "from eosctl.model.audit import StateKind, StateRow\n"
        "from eosctl.spark.range_frame import encode_flagged\n"
        "encode_flagged('small', [(True, StateRow(StateKind.LOG, 0, 't', 0, 0, True, b'x'))]).to_batches()\n"
        "sys.exit('pandas' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_kind_within_its_share_is_for_the_driver():
    rows = [row(StateKind.LOG, 0, 10), row(StateKind.KEYS, 1, 60), row(StateKind.KEYS, 2, 40)]

    assert list(flagged(rows, RANGE, 100)) == [(True, each) for each in rows]


def test_of_a_kind_beyond_its_share_the_driver_takes_only_the_news_of_it():
    keys = [row(StateKind.KEYS, 1, 60), row(StateKind.KEYS, 2, 41), row(StateKind.KEYS, 3, 1)]
    rest = row(StateKind.TRANSACTIONS, 0, 100)

    news = StateRow(StateKind.KEYS, NO_BUCKET, "offsets", 3, 100, True, b"")
    assert list(flagged([*keys, rest], RANGE, 100)) == [(True, news), *((False, each) for each in keys), (True, rest)]
