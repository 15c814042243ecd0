"""The one tree behind every format."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Fields, Table, look_up, tree


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
