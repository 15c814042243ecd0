"""The one tree behind every format."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import Align, Column, Document, Fields, Table, Tone, col, columns, look_up, row_of, tree


class State(StrEnum):
    OPEN = "open"


class Place(Struct, frozen=True):
    topic: str
    offset: int | Skipped


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (State.OPEN, "open"),
        (Skipped("no ACL"), {"skipped": "no ACL"}),
        ((1, 2.5), [1, 2.5]),
        ({"b", "a"}, ["a", "b"]),
        ({State.OPEN: (), 3: None}, {"open": [], "3": None}),
        (Place("orders", Skipped("too late")), {"topic": "orders", "offset": {"skipped": "too late"}}),
    ],
)
def test_values_become_json_types(value, expected):
    made = tree(value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize("value", [b"bytes", datetime(2026, 1, 1, tzinfo=UTC), {(1, 2): 3}, object()])
def test_a_value_without_an_obvious_form_is_refused(value):
    with pytest.raises(TypeError):
        tree({"deep": [value]})


def test_look_up_follows_a_path_and_stops_at_null_and_unknown():
    data = {"next": {"rule": "fence"}, "none": None, "unknown": {"skipped": "no ACL"}}
    assert look_up(data, "") == data
    assert look_up(data, "next.rule") == "fence"
    assert look_up(data, "none.rule") is None
    assert look_up(data, "unknown.rule") == {"skipped": "no ACL"}
    with pytest.raises(KeyError, match=r"no 'rul' on the way to 'next\.rul'"):
        look_up(data, "next.rul")


def test_a_header_is_one_word():
    with pytest.raises(ValueError, match="one word"):
        Column("LAST SEEN", "seen")


@pytest.mark.parametrize("block", [Table("rows", ()), Fields((), at="names")])
def test_a_block_must_find_its_place(block):
    with pytest.raises(TypeError, match="a block shows"):
        Document("k", {"rows": {}, "names": []}, blocks=(block,))


def test_the_envelope_has_five_fields():
    document = Document("k", {"n": 1}, as_of="2026-01-31T12:00:00.000Z", cluster_id="c1", version=2)
    assert document.envelope() == {
        "kind": "k",
        "version": 2,
        "as_of": "2026-01-31T12:00:00.000Z",
        "cluster_id": "c1",
        "data": {"n": 1},
    }


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1769860800007, "2026-01-31T12:00:00.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, f"invalid:{2**62}"),
    ],
)
def test_times_are_rfc_3339_in_utc(timestamp_ms, text):
    assert rfc3339(timestamp_ms) == text


@given(st.integers(min_value=0, max_value=253402300799999))
def test_a_time_reads_back_as_itself(timestamp_ms):
    read = datetime.fromisoformat(rfc3339(timestamp_ms))
    assert divmod(read - datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)) == (timestamp_ms, timedelta())


class Producer(Struct, frozen=True):
    epoch: Annotated[int | None, "its epoch"]
    state: Annotated[State, col("what it does", "DOES", tones={"open": Tone.WARN})]


class Row(Struct, frozen=True):
    topic_name: Annotated[str, "the topic"]
    is_open: Annotated[bool, "whether a transaction is open"]
    producers: Producer | Skipped | None = None
    offset: int | UnsetType = UNSET


def test_columns_take_header_meaning_side_and_colours_from_the_fields():
    own = Column("OWN", "is_open", "the table's sense")
    assert columns(Row, "producers.epoch topic_name", own, "producers.state") == (
        Column("EPOCH", "producers.epoch", "its epoch", align=Align.RIGHT),
        Column("TOPIC-NAME", "topic_name", "the topic"),
        own,
        Column("DOES", "producers.state", "what it does", tones={"open": Tone.WARN}),
    )


def test_a_flag_is_no_figure():
    assert [each.align for each in columns(Row, "is_open")] == [Align.LEFT]


@pytest.mark.parametrize("path", ["gone", "producers.gone", "topic_name.upper"])
def test_a_table_shows_no_field_that_rows_lack(path):
    with pytest.raises(TypeError, match=f"Row has no field {path}"):
        columns(Row, path)


def test_a_row_takes_values_of_the_same_name_and_leaves_out_what_is_unset():
    made = row_of(Row, Place("orders", 3), topic_name="orders", is_open=True, producers=None)
    assert tree(made) == {"topic_name": "orders", "is_open": True, "producers": None, "offset": 3}
    assert tree(Row("orders", is_open=False)) == {"topic_name": "orders", "is_open": False, "producers": None}
