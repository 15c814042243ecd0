"""What has to be written so that a target has the offsets of a source, and what nobody may decide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.offsets_topic import entries_by_connector, offsets_now, value_digest
from eosctl.model.migration import MergeRule, Move
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.records import java_partition
from eosctl.planning.migration import Merged, after_writing, merge_offsets
from tests.planning.offsets_topics import java, topic_of

STAY = Move("c", "c", "old", "new")
A, B = b'["c",{"f":"a"}]', b'["c",{"f":"b"}]'
EMPTY = topic_of("new", 5, [])


def merge(source: OffsetsTopic, target: OffsetsTopic, rule: MergeRule = MergeRule.FAIL, move: Move = STAY) -> Merged:
    entries = entries_by_connector(source).get(move.connector, [])
    held = entries_by_connector(target).get(move.new_name, [])
    return merge_offsets(move, entries, held, len(target.partitions), rule)


def names(merged: Merged) -> list[tuple[str, str]]:
    return [(each.name, each.severity.value) for each in merged.findings]


def test_bytes_are_copied_to_the_partition_that_java_chooses():
    merged = merge(topic_of("old", 1, [(0, A, b'{"p" : 1}'), (0, B, b"2")]), EMPTY)
    assert [(each.partition, each.key, each.value, each.before) for each in merged.writes] == [
        (java_partition(A, 5), A, b'{"p" : 1}', None),
        (java_partition(B, 5), B, b"2", None),
    ]
    assert merged.findings == ()


def test_another_connectors_offsets_stay_where_they_are():
    assert merge(topic_of("old", 1, [(0, b'["d",{}]', b"1")]), EMPTY).writes == ()


def test_a_rename_exchanges_the_name_and_leaves_every_other_byte():
    odd = b'["c",{"z":1.0E10 , "a":"\xc3\xbc\\u0041"}]'
    [write] = merge(topic_of("old", 1, [(0, odd, b"1")]), EMPTY, move=Move("c", 'ü"', "old", "new")).writes
    assert write.key == '["ü\\"",{"z":1.0E10 , "a":"ü\\u0041"}]'.encode()
    assert write.partition == java_partition(write.key, 5)


def test_the_same_value_needs_no_writing():
    assert merge(topic_of("old", 1, [(0, A, b"1")]), topic_of("new", 5, java(5, {A: b"1"}))) == Merged(
        (), value_digest([(A, java_partition(A, 5), b"1")]), ()
    )


@pytest.mark.parametrize(
    ("rule", "written", "found"),
    [
        (MergeRule.FAIL, [], [("offsets-conflict", "error")]),
        (MergeRule.KEEP_TARGET, [], [("offsets-conflict", "warning")]),
        (MergeRule.KEEP_SOURCE, [b"1"], [("offsets-conflict", "warning")]),
    ],
)
def test_where_both_differ_the_rule_decides(rule: MergeRule, written: list[bytes], found: list[tuple[str, str]]):
    merged = merge(topic_of("old", 1, [(0, A, b"1")]), topic_of("new", 5, java(5, {A: b"2"})), rule)
    assert [each.value for each in merged.writes] == written
    assert names(merged) == found


def test_a_deleted_offset_is_deleted_in_the_target_as_well_when_the_source_is_right():
    source, target = topic_of("old", 1, [(0, A, b"1"), (0, A, None)]), topic_of("new", 5, java(5, {A: b"2"}))
    [write] = merge(source, target, MergeRule.KEEP_SOURCE).writes
    assert (write.value, write.before) == (None, b"2")
    assert merge(source, EMPTY).writes == ()


def test_a_key_of_the_target_alone_stays():
    source, target = topic_of("old", 1, [(0, A, b"1")]), topic_of("new", 5, java(5, {B: b"2"}))
    assert names(merge(source, target)) == [("offsets-only-in-target", "error")]
    merged = merge(source, target, MergeRule.KEEP_SOURCE)
    assert [each.key for each in merged.writes] == [A]
    assert names(merged) == [("offsets-only-in-target", "warning")]


@pytest.mark.parametrize("rule", MergeRule)
def test_a_key_with_two_values_in_two_partitions_is_never_guessed_at(rule: MergeRule):
    merged = merge(topic_of("old", 2, [(0, A, b"1"), (1, A, b"2")]), EMPTY, rule)
    assert merged.writes == ()
    assert names(merged) == [("key-in-two-partitions", "error")]


@pytest.mark.parametrize("rule", MergeRule)
def test_a_target_that_has_the_key_in_a_foreign_partition_is_refused(rule: MergeRule):
    foreign = (java_partition(A, 5) + 1) % 5
    merged = merge(topic_of("old", 1, [(0, A, b"1")]), topic_of("new", 5, [(foreign, A, b"1")]), rule)
    assert names(merged) == [("key-in-foreign-partition", "error")]


keys = st.sampled_from([b'["c",{"f":%d}]' % number for number in range(4)])
offsets = st.dictionaries(keys, st.none() | st.sampled_from([b"1", b"2"]))


@given(offsets, offsets, st.sampled_from(MergeRule), st.integers(1, 7))
def test_writing_what_is_planned_gives_the_digest_that_is_planned(source, target, rule, partitions):
    there = topic_of("new", partitions, java(partitions, target))
    merged = merge(topic_of("old", 3, java(3, source)), there, rule)
    written = [(each.partition, each.key, each.value) for each in merged.writes]
    after = topic_of("new", partitions, java(partitions, target) + written)
    found = offsets_now(entries_by_connector(after).get("c", []))
    assert found.values == merged.after
    assert sorted(after_writing(entries_by_connector(there).get("c", []), merged.writes)) == sorted(
        (key, part.topic_partition.partition, held.committed.value)
        for part in after.partitions
        for key, held in part.keys.items()
        if held.committed is not None and held.committed.value is not None
    )


@given(offsets, offsets)
def test_a_source_that_wins_is_what_the_target_holds_for_its_keys(source, target):
    merged = merge(topic_of("old", 3, java(3, source)), topic_of("new", 5, java(5, target)), MergeRule.KEEP_SOURCE)
    after = {**target, **{each.key: each.value for each in merged.writes}}
    assert {key: after.get(key) for key in source} == source
