"""How two sets of offsets differ."""

import pytest

from eosctl.analysis.offsets import as_renamed, compare_offsets
from eosctl.model.offsets import Change, OffsetId, OffsetsById, Order
from eosctl.model.skipped import Skipped

ID = OffsetId("c", '{"f": 1}')


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        ({"p": 1}, {"p": 1}, None),
        ({"p": 1}, {"p": 2}, Change.DIFFERENT),
        ({"p": 1}, {"p": 1.0}, Change.DIFFERENT),
        ({"p": 1}, {"p": True}, Change.DIFFERENT),
        ({"p": 1}, None, Change.ONLY_IN_A),
        (None, {"p": 1}, Change.ONLY_IN_B),
        (None, None, None),
        (Skipped("two values"), {"p": 1}, Change.UNKNOWN),
    ],
)
def test_each_offset_is_the_same_or_differs(a: object, b: object, change: Change | None) -> None:
    difference = compare_offsets("A", {ID: a}, "B", {ID: b})  # type: ignore[dict-item]
    assert [each.change for each in difference.changes] == ([] if change is None else [change])


def test_a_difference_is_said_in_the_connector_s_own_terms() -> None:
    file = OffsetId("c", '{"filename": "/a"}')
    [both] = compare_offsets("A", {file: {"position": 12}}, "B", {file: {"position": 4}}).changes
    assert (both.position_a, both.position_b, both.order) == (
        "FileStreamSource: byte 12 of the file",
        "FileStreamSource: byte 4 of the file",
        Order.BEFORE,
    )
    assert both.rewind == "all lines behind it are read again, if the file is still the same"
    [gone] = compare_offsets("A", {file: {"position": 12}}, "B", {}).changes
    assert (gone.position_a, gone.position_b, gone.order, gone.rewind) == (both.position_a, None, None, None)


def test_none_and_absent_are_the_same() -> None:
    difference = compare_offsets("A", {ID: None}, "B", {})
    assert (difference.changes, difference.same) == ((), 0)
    assert compare_offsets("A", {ID: {"p": 1}}, "B", {ID: {"p": 1}}).same == 1


def test_a_renamed_connector_is_compared_under_both_its_names() -> None:
    """What stays in the topic under the old name is not compared, unless another connector has that name now."""
    new, other = OffsetId("d", ID.partition), OffsetId("x", ID.partition)
    held = {ID: {"p": 1}, new: {"p": 1}, other: {"p": 7}}
    difference = compare_offsets("A", *_between(as_renamed({ID: {"p": 1}, other: {"p": 7}}, held, {"c": "d"})))
    assert (difference.changes, difference.same) == ((), 2)
    swapped = compare_offsets("A", *_between(as_renamed({ID: {"p": 1}, new: {"p": 2}}, held, {"c": "d", "d": "c"})))
    assert [each.change for each in swapped.changes] == [Change.DIFFERENT, Change.ONLY_IN_B]


def _between(sides: tuple[OffsetsById, OffsetsById]) -> tuple[OffsetsById, str, OffsetsById]:
    return sides[0], "B", sides[1]
