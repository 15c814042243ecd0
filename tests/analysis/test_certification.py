"""Lost, doubled and reordered records, in examples made by hand and by hypothesis."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.certification import (
    MOST_SUPERCLASSES,
    SOURCE_CONNECTOR,
    SOURCE_TASK,
    Expected,
    by_harm,
    is_source_connector,
    judge,
    new_anomalies,
    not_unique,
    outside_truth,
    overridden,
    unlike_truth,
)
from eosctl.model.certification import ClassFile, Delivered, Generation, Harm, Place

TOPIC = "out"


def delivered(*identities: str | None, lane: str = "", partition: int = 0, first: int = 0) -> list[Delivered]:
    """Records at consecutive offsets."""
    places = (Place(TOPIC, partition, first + offset) for offset in range(len(identities)))
    return [Delivered(place, place.offset, each, lane) for place, each in zip(places, identities, strict=True)]


def ordered(*identities: str) -> Expected:
    return Expected(identities, is_ordered=True)


def harms(records: Iterable[Delivered], expected: Expected | None, *generations: Generation) -> list[tuple[Harm, str]]:
    made = (Generation({}), *generations)
    return [(each.harm, each.identity) for each in judge(records, expected, made).anomalies]


def test_records_that_are_as_the_source_has_them_are_fine():
    assert harms(delivered("a", "b", "c"), ordered("a", "b", "c")) == []


def test_a_missing_source_record_is_lost_between_its_neighbours():
    [lost] = judge(delivered("a", "d"), ordered("a", "b", "d")).anomalies
    assert (lost.harm, lost.identity) == (Harm.LOST, "b")
    assert lost.before is not None
    assert lost.after is not None
    assert (lost.before.identity, lost.after.identity) == ("a", "d")


def test_the_last_of_the_source_has_no_neighbour_behind_it():
    [lost] = judge(delivered("a"), ordered("a", "b")).anomalies
    assert (lost.identity, lost.after) == ("b", None)


def test_a_record_that_comes_again_is_doubled_and_both_places_are_reported():
    [doubled] = judge(delivered("a", "b", "a"), ordered("a", "b")).anomalies
    assert (doubled.harm, doubled.identity) == (Harm.DOUBLED, "a")
    assert doubled.before is not None
    assert doubled.after is not None
    assert (doubled.before.place.offset, doubled.after.place.offset) == (0, 2)


def test_the_source_may_have_a_record_twice():
    assert harms(delivered("a", "a", "b"), ordered("a", "a", "b")) == []
    assert harms(delivered("a", "a", "a", "b"), ordered("a", "a", "b")) == [(Harm.DOUBLED, "a")]


def test_repeats_are_seen_without_any_truth_and_losses_are_not():
    assert harms(delivered("a", "c", "c"), None) == [(Harm.DOUBLED, "c")]


def test_records_without_an_identity_count_for_nothing():
    assert harms(delivered("a", None, None, "b"), ordered("a", "b")) == []


def test_a_record_behind_a_later_one_is_out_of_order():
    assert harms(delivered("b", "a", "c"), ordered("a", "b", "c")) == [(Harm.REORDERED, "a")]


def test_a_repeat_of_earlier_records_is_not_out_of_order_as_well():
    assert harms(delivered("a", "b", "a", "c"), ordered("a", "b", "c")) == [(Harm.DOUBLED, "a")]


def test_order_holds_within_a_source_partition_and_an_output_partition_only():
    lanes = [*delivered("b", lane="1"), *delivered("a", lane="2", first=1)]
    partitions = [*delivered("b"), *delivered("a", partition=1)]
    truth = ordered("a", "b")
    assert harms(lanes, truth) == []
    assert harms(partitions, truth) == []


def test_a_truth_without_order_proves_nothing_about_order():
    assert harms(delivered("b", "a"), Expected(("a", "b"), is_ordered=False)) == []


def test_order_is_not_judged_where_source_partitions_are_not_known():
    assert judge(delivered("b", "a"), ordered("a", "b"), knows_lanes=False).anomalies == ()


def test_a_number_in_the_records_gives_an_order_without_any_truth():
    records = [Delivered(Place(TOPIC, 0, at), at, str(at), "", order) for at, order in enumerate((1, 3, 2))]
    assert harms(records, None) == [(Harm.REORDERED, "2")]


def test_behind_offsets_that_were_set_back_records_may_come_again():
    """At offset 3 the offsets were set back to where `a` alone had been read."""
    again = Generation({(TOPIC, 0): 3}, frozenset({"b", "c"}))
    truth = ordered("a", "b", "c", "d")
    assert harms(delivered("a", "b", "c", "b", "c", "d"), truth, again) == []
    assert harms(delivered("a", "b", "c", "a", "b", "c", "d"), truth, again) == [(Harm.DOUBLED, "a")]
    assert harms(delivered("a", "b", "c", "b", "b", "c", "d"), truth, again) == [(Harm.DOUBLED, "b")]


def test_repeated_records_have_no_gaps():
    again = Generation({(TOPIC, 0): 3}, frozenset({"b", "c"}))
    assert harms(delivered("a", "b", "c", "b", "d"), ordered("a", "b", "c", "d"), again) == [(Harm.LOST, "c")]


def test_a_source_that_continues_elsewhere_is_not_made_to_repeat():
    """A replication slot continues from its confirmed position, regardless of the offsets."""
    again = Generation({(TOPIC, 0): 3}, frozenset({"b", "c"}))
    assert harms(delivered("a", "b", "c", "d"), ordered("a", "b", "c", "d"), again) == []


def test_behind_deleted_offsets_all_may_come_again():
    reset = Generation({(TOPIC, 0): 2}, None)
    assert harms(delivered("a", "b", "a", "b", "c"), ordered("a", "b", "c"), reset) == []
    assert harms(delivered("a", "b", "a", "c"), ordered("a", "b", "c"), reset) == [(Harm.LOST, "b")]


def test_records_that_have_nothing_in_common_with_the_truth_are_no_losses():
    truth = ordered("1", "2")
    assert unlike_truth(delivered("Struct{id=1}"), truth) == (
        "no record has an identity of the truth: 'Struct{id=1}' is none, '1' is one"
    )
    assert unlike_truth(delivered(None), truth) == "no record has the part that --identity names: see out:0@0"
    assert unlike_truth(delivered("Struct{id=1}", "2"), truth) == ""
    assert unlike_truth(delivered("1"), None) == unlike_truth([], truth) == ""


def test_without_a_truth_a_record_that_comes_again_without_a_fault_may_be_another_one():
    found = judge(delivered("tick", "tock", "tick"), None).anomalies
    assert not_unique(found, None) == (
        "'tick' came at out:0@0 and out:0@2 without a fault: --identity may not be unique in the source"
    )
    assert not_unique(judge(delivered("tick", "tock"), None).anomalies, None) == ""
    for unplaced in (replace(found[0], before=None), replace(found[0], after=None)):
        assert not_unique([unplaced], None) == ""
    truth = ordered("tick", "tock")
    assert not_unique(judge(delivered("tick", "tock", "tick"), truth).anomalies, truth) == ""


def test_records_that_the_truth_does_not_have_are_named():
    assert [each.identity for each in outside_truth(delivered("a", "heartbeat", None), ordered("a"))] == ["heartbeat"]
    assert outside_truth(delivered("a"), None) == ()


def test_an_anomaly_is_new_once():
    truth = ordered("a", "b", "c")
    first = judge(delivered("a", "a"), truth)
    second = judge(delivered("a", "a", "c", "c"), truth)
    assert [(each.harm, each.identity) for each in new_anomalies(second, first.anomalies)] == [(Harm.DOUBLED, "c")]


@given(st.lists(st.integers(0, 30), unique=True), st.data())
def test_each_harm_is_counted_as_it_was_done(numbers: list[int], data: st.DataObject):
    """Some are left out, some come twice at the end: exactly these are found."""
    source = [str(each) for each in sorted(numbers)]
    lost = set(data.draw(st.lists(st.sampled_from(source), unique=True)) if source else ())
    kept = [each for each in source if each not in lost]
    repeated = data.draw(st.lists(st.sampled_from(kept), unique=True)) if kept else []
    found = judge(delivered(*kept, *repeated), ordered(*source)).anomalies
    counts = by_harm(found)
    assert (counts[Harm.LOST], counts[Harm.DOUBLED], counts[Harm.REORDERED]) == (len(lost), len(repeated), 0)


# Each decision at its limit


def classes(*made: tuple[str, str | None, tuple[str, ...], tuple[str, ...]]) -> dict[str, ClassFile]:
    return {name: ClassFile(name, base, frozenset(methods), frozenset(named)) for name, base, methods, named in made}


TASK = ("p/T", SOURCE_TASK, ("commit",), ())


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ([("p/C", SOURCE_CONNECTOR, ("exactlyOnceSupport",), ())], {"exactlyOnceSupport": "p.C"}),
        ([("p/C", "p/B", (), ()), ("p/B", SOURCE_CONNECTOR, ("alterOffsets",), ())], {"alterOffsets": "p.B"}),
        ([("p/C", "p/B", ("alterOffsets",), ()), ("p/B", None, ("alterOffsets",), ())], {"alterOffsets": "p.C"}),
        ([("p/C", None, ("commit",), ())], {}),
        ([("p/C", None, (), ("p/T",)), ("p/T", SOURCE_TASK, ("commit",), ())], {"commit": "p.T"}),
        ([("p/C", None, (), ("p/T",)), ("p/T", "p/U", ("commit",), ())], {}),
        ([("p/C", None, (), ("p/T",)), ("p/T", "p/U", (), ()), ("p/U", SOURCE_TASK, ("commitRecord",), ())],
         {"commitRecord": "p.U"}),
        ([("p/C", "p/B", (), ()), ("p/B", None, (), ("p/T",)), TASK], {"commit": "p.T"}),
        ([("p/C", None, (), ("p/S", "p/T")), ("p/S", SOURCE_TASK, ("commit",), ()), TASK], {"commit": "p.S"}),
        ([("p/C", "p/C", (), ())], {}),
        ([("p/C", SOURCE_CONNECTOR, (), ()), (SOURCE_CONNECTOR, None, ("exactlyOnceSupport",), ())], {}),
        ([], {}),
    ],
)  # fmt: skip
def test_methods_that_matter_are_the_plugin_s_own(made, found):
    assert overridden("p.C", classes(*made)) == found


def test_a_lost_record_is_named_once_and_a_source_without_order_has_no_neighbours():
    assert harms(delivered("a"), ordered("a", "b", "b")) == [(Harm.LOST, "b")]
    [lost] = judge(delivered("a", "c"), Expected(("a", "b", "c"), is_ordered=False)).anomalies
    assert (lost.before, lost.after) == (None, None)
    assert judge(delivered("a"), ordered("a", "b")).missing == frozenset({"b"})


def test_a_record_that_the_source_has_twice_has_no_place_in_its_order():
    assert harms(delivered("b", "a", "c", "a"), ordered("a", "b", "a", "c")) == []
    assert harms(delivered("a", "b", "a"), ordered("a", "b", "a")) == []


def test_equal_numbers_are_in_order():
    records = [Delivered(Place(TOPIC, 0, at), at, str(at), "", 5) for at in range(2)]
    assert harms(records, None) == []


def test_a_generation_begins_at_its_offset_in_each_partition():
    truth, twice = ordered("a", "b"), delivered("a", "b", "a", "b")
    assert harms(twice, truth, Generation({(TOPIC, 0): 2}, None)) == []
    assert harms(twice, truth, Generation({(TOPIC, 0): 3}, None)) == [(Harm.DOUBLED, "a")]
    assert harms(twice, truth, Generation({(TOPIC, 0): 1}, None)) == [(Harm.DOUBLED, "b"), (Harm.REORDERED, "a")]
    elsewhere = [*delivered("a", "b"), *delivered("a", "b", partition=1)]
    assert harms(elsewhere, truth, Generation({(TOPIC, 0): 2, (TOPIC, 1): 0}, None)) == []


def test_what_is_repeated_without_order_has_no_gaps():
    again = Generation({(TOPIC, 0): 3}, None)
    assert harms(delivered("a", "b", "c", "a", "c"), Expected(("a", "b", "c"), is_ordered=False), again) == []
    assert (
        harms(delivered("a", "b", "c", "b"), ordered("a", "b", "c"), Generation({(TOPIC, 0): 3}, frozenset({"b"})))
        == []
    )


def test_an_anomaly_is_known_by_its_place_and_a_lost_record_by_its_name():
    truth = ordered("a", "b", "c")
    lost = judge(delivered("a"), truth).anomalies
    assert new_anomalies(judge(delivered("a", "c"), truth), lost) == ()
    once, twice = (judge(delivered(*["a"] * count, "b", "c"), truth) for count in (2, 3))
    assert len(new_anomalies(twice, once.anomalies)) == 1


def test_a_truth_without_records_says_nothing():
    assert unlike_truth(delivered("a"), ordered()) == ""
    assert outside_truth(delivered("a"), ordered()) == ()


@pytest.mark.parametrize(
    ("made", "is_one"),
    [
        ([("p/C", SOURCE_CONNECTOR, (), ())], True),
        ([("p/C", "p/B", (), ()), ("p/B", SOURCE_CONNECTOR, (), ())], True),
        ([("p/C", "p/B", (), ()), ("p/B", "org/apache/kafka/connect/sink/SinkConnector", (), ())], False),
        ([("p/C", SOURCE_TASK, (), ())], False),
        ([("p/C", "p/B", (), ())], False),
        ([("p/C", None, (), ())], False),
        ([], False),
    ],
)
def test_a_source_connector_extends_connect_s_own_class(made, is_one):
    assert is_source_connector("p/C", classes(*made)) is is_one


@pytest.mark.parametrize(("count", "is_one"), [(MOST_SUPERCLASSES, True), (MOST_SUPERCLASSES + 1, False)])
def test_superclasses_are_followed_up_to_a_limit(count, is_one):
    names = [*(f"p/C{number}" for number in range(count)), SOURCE_CONNECTOR]
    made = [(name, base, (), ()) for name, base in pairwise(names)]
    assert is_source_connector("p/C0", classes(*made)) is is_one


def test_a_repeated_record_that_the_truth_does_not_have_begins_no_gap():
    again = Generation({(TOPIC, 0): 3}, None)
    records = delivered("a", "b", "beat", "beat", "b")
    assert harms(records, ordered("a", "b"), again) == []


def test_only_a_doubled_record_makes_the_identity_ambiguous():
    [doubled] = judge(delivered("tick", "tock", "tick"), None).anomalies
    reordered = replace(doubled, harm=Harm.REORDERED, identity="tock")
    assert not_unique([reordered], None) == ""
    assert not_unique([reordered, doubled], None).startswith("'tick' came at")
