"""Witnesses of broken verdicts: one story a kind, of the finding's own evidence."""

import pytest

from eosctl.analysis.audit.findings import BROKEN
from eosctl.analysis.catalogue import audit as kinds
from eosctl.analysis.witness import AUDITED, audit_witnesses, mirror_witnesses
from eosctl.model.audit import TimelineEvent
from eosctl.model.names import Side
from eosctl.model.report import Severity

AT = 1_790_000_000_000
KEY = '["x",{"f":"a"}]'
OFFSETS = {"topic": "offsets", "partition": 3, "offset": 9, "timestamp": AT, "key": KEY}
CHANGED = {**OFFSETS, "before": 'offsets-3@7: {"p":50}', "after": 'offsets-3@9: {"p":4}'}
DATA = {"topic": "out", "partition": 0, "first_offset": 5, "last_offset": 8, "records": 4, "timestamp": AT}
WRITER = {"producer_id": 12, "producer_epoch": 1, "transactional_id": "g-x-0"}
OPEN = {"topic": "out", "partition": 0, "start_offset": 5, "reason": "no coordinator knows it", **WRITER}
UNFENCED = {"topic": "offsets", "partition": 3, "offset": 9, "timestamp": AT, "commit_offset": 30, "tasks": 2, **WRITER}
HALF = {**DATA, "offset": 8, "next_offset": 11, "next_epoch": 2, "missing": ["tombstone"], **WRITER}
ZOMBIE = {"before": "producer ID 5 at offset 8", "after": "producer ID 4 at offset 7 and again at offset 9"}
MOVED = {"before": CHANGED["before"], "after": 'own-1@0: {"p":4} (the topic held nothing before)'}
EVIDENCE = {
    kinds.OFFSET_SET_BACK: {"places": [CHANGED]},
    kinds.OFFSET_NOT_TAKEN_OVER: {"places": [{**OFFSETS, **MOVED}]},
    kinds.PLAIN_OFFSETS_WRITE: {"places": [CHANGED]},
    kinds.ZOMBIE_WRITER: {"places": [{**OFFSETS, **ZOMBIE}]},
    kinds.DATA_WITHOUT_OFFSETS: {"places": [{**DATA, **WRITER}]},
    kinds.MISSING_MARKER: {"places": [{**DATA, **WRITER}]},
    kinds.MIXED_MARKERS: {"places": [{**DATA, **WRITER}]},
    kinds.DATA_OUTSIDE_TRANSACTION: {**DATA, "producer_id": -1},
    kinds.HANGING_TRANSACTION: OPEN,
    kinds.START_WITHOUT_FENCING: {"places": [UNFENCED]},
    kinds.HALF_EVENT: {"places": [HALF]},
}


def witness(kind, evidence=None, timeline=(), **more):
    finding = kind.finding("x", "it is broken", {"connectors": ["x"], **(evidence or EVIDENCE[kind])}, **more)
    return list(audit_witnesses([finding], timeline))


def places(found):
    return [str(record) for record in found.records]


def test_every_kind_that_breaks_a_verdict_has_a_witness():
    assert AUDITED.keys() == BROKEN == EVIDENCE.keys()
    for kind in BROKEN:
        [found] = witness(kind)
        assert (found.finding_id, found.subject, bool(found.words), bool(found.commands)) == (kind.id, "x", True, True)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (kinds.OFFSET_SET_BACK, ["offsets-3@7", "offsets-3@9"]),
        (kinds.OFFSET_NOT_TAKEN_OVER, ["offsets-3@7", "own-1@0"]),
        (kinds.PLAIN_OFFSETS_WRITE, ["offsets-3@7", "offsets-3@9"]),
        (kinds.ZOMBIE_WRITER, ["offsets-3@7", "offsets-3@8", "offsets-3@9"]),
        (kinds.DATA_WITHOUT_OFFSETS, ["out-0@5 to 8"]),
        (kinds.MISSING_MARKER, ["out-0@5 to 8"]),
        (kinds.MIXED_MARKERS, ["out-0@5 to 8"]),
        (kinds.DATA_OUTSIDE_TRANSACTION, ["out-0@5", "out-0@8"]),
        (kinds.HANGING_TRANSACTION, ["out-0@5"]),
        (kinds.START_WITHOUT_FENCING, ["offsets-3@9"]),
        (kinds.HALF_EVENT, ["out-0@11", "out-0@8"]),
    ],
)
def test_its_records_are_the_fewest_that_show_it(kind, shown):
    [found] = witness(kind)
    assert places(found) == shown


def test_the_offsets_come_with_the_data_that_was_committed_with_them():
    data = [
        {"committed_with": when, "topic": "out", "partition": 0, "first_offset": first, "last_offset": last, "key": KEY}
        for when, first, last in (("before", 0, 3), ("after", 10, 13))
    ]
    [found] = witness(kinds.OFFSET_SET_BACK, {"places": [CHANGED], "data": data})
    assert places(found) == ["offsets-3@7", "out-0@0 to 3", "out-0@10 to 13", "offsets-3@9"]
    assert found.words.endswith(
        "out-0@0 to 3 was written with the first offset. out-0@10 to 13 was written with the last offset."
    )


def test_earlier_offsets_of_the_other_topic_are_history_and_no_value():
    [found] = witness(kinds.OFFSET_NOT_TAKEN_OVER)
    assert "The other offsets topic held nothing before" in found.words
    assert found.broken.value == '{"p":4}'


def test_of_several_places_it_takes_the_earliest():
    later = {**CHANGED, "timestamp": AT + 1, "after": 'offsets-3@99: {"p":1}'}
    [found] = witness(kinds.OFFSET_SET_BACK, {"places": [later, CHANGED]})
    assert places(found) == ["offsets-3@7", "offsets-3@9"]


def test_the_last_change_in_the_config_topic_before_it_is_named_and_no_later_one_or_that_of_another():
    events = [
        TimelineEvent(name, at, "commit", "configs", 0, offset, 1)
        for name, at, offset in (("x", AT - 20, 3), ("x", AT - 10, 5), ("x", AT + 10, 7), ("y", AT, 6))
    ]
    [found] = witness(kinds.OFFSET_SET_BACK, timeline=events)
    assert found.before == events[1]
    assert found.commands[-1] == "eosctl inspect-config --history --connector x --bootstrap-server <broker>"


def test_a_finding_that_breaks_no_verdict_has_no_witness():
    assert witness(kinds.OFFSET_SET_BACK, severity=Severity.WARNING) == []
    assert list(audit_witnesses([kinds.OTHER_WRITER.finding("x", "another", {"places": [DATA]})], ())) == []


def test_the_records_are_printed_by_kafkas_own_consumer_and_the_wrong_one_is_traced():
    [found] = witness(kinds.DATA_WITHOUT_OFFSETS)
    printed, traced = found.commands
    assert printed.startswith(
        "kafka-console-consumer.sh --bootstrap-server <broker> --topic out --partition 0 --offset 5 --max-messages 4 "
    )
    assert traced == "eosctl transactions trace out-0@5 --bootstrap-server <broker>"


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (kinds.MIRROR_GAP, ["eu.t-2@29 to 30", "t-2@10 to 11"]),
        (kinds.MIRROR_REPEAT, ["t-2@10 to 11", "eu.t-2@30 to 31"]),
        (kinds.MIRROR_DISORDER, ["t-2@10 to 11", "eu.t-2@30 to 31"]),
        (kinds.ABORTED_MIRRORED, ["t-2@10 to 11", "eu.t-2@30 to 31"]),
    ],
)
def test_a_mirror_s_witness_has_records_of_both_sides(kind, shown):
    stretch = {
        "source_start": 10,
        "source_end": 12,
        "target_start": 30,
        "target_end": 32,
        "records": 2,
        "timestamp": AT,
    }
    evidence = {"target_topic": "eu.t", "partition": 2, "places": [stretch]}
    [found] = mirror_witnesses([kind.finding("t-2", "it is broken", evidence, severity=Severity.ERROR)])
    assert places(found) == shown
    assert {record.side for record in found.records} == {Side.SOURCE, Side.TARGET}
    assert any("<source-broker> --topic t " in command for command in found.commands)


# Each decision about a witness, at its limit.

UNREADABLE = {**CHANGED, "before": "an unreadable offset"}
ALONE = {**CHANGED, "after": "an unreadable offset"}


@pytest.mark.parametrize(
    ("kind", "place", "shown"),
    [
        (kinds.OFFSET_SET_BACK, UNREADABLE, None),
        (kinds.OFFSET_SET_BACK, ALONE, None),
        (kinds.OFFSET_NOT_TAKEN_OVER, UNREADABLE, None),
        (kinds.PLAIN_OFFSETS_WRITE, UNREADABLE, ["offsets-3@9"]),
        (kinds.PLAIN_OFFSETS_WRITE, ALONE, ["offsets-3@7"]),
        (kinds.PLAIN_OFFSETS_WRITE, {**UNREADABLE, "after": "neither"}, None),
        (kinds.ZOMBIE_WRITER, {**OFFSETS, **ZOMBIE, "before": "no producer"}, None),
        (kinds.ZOMBIE_WRITER, {**OFFSETS, **ZOMBIE, "after": "no producer"}, None),
        (kinds.ZOMBIE_WRITER, {**OFFSETS, **ZOMBIE, "after": "producer ID 4 at offset 7"}, None),
        (kinds.HALF_EVENT, {**HALF, "next_offset": None}, ["out-0@8"]),
        (kinds.DATA_WITHOUT_OFFSETS, {"topic": "out", "partition": 0, "first_offset": 5}, ["out-0@5"]),
    ],
)
def test_what_a_finding_does_not_show_is_no_witness(kind, place, shown):
    assert [places(each) for each in witness(kind, {"places": [place]})] == ([] if shown is None else [shown])


def test_a_finding_without_places_is_a_place_itself():
    for listed in ([], "none", None):
        [found] = witness(kinds.DATA_WITHOUT_OFFSETS, {**DATA, **WRITER, "places": listed})
        assert places(found) == ["out-0@5 to 8"]


@pytest.mark.parametrize(
    ("first", "second", "earliest"), [(5, 0, 2), (0, 5, 1), (-1, 5, 2), (None, 5, 2), (5, None, 1), (5, 5, 1)]
)
def test_the_earliest_place_is_that_of_the_lowest_known_time(first, second, earliest):
    found = [{"topic": "out", "partition": 0, "first_offset": at, "timestamp": time}
             for at, time in ((1, first), (2, second))]  # fmt: skip
    known = [{key: each for key, each in place.items() if each is not None} for place in found]
    [shown] = witness(kinds.DATA_WITHOUT_OFFSETS, {"places": known})
    assert places(shown) == [f"out-0@{earliest}"]


def test_a_kind_that_no_story_is_told_of_has_no_witness():
    gap = kinds.MIRROR_GAP.finding("t-2", "it is broken", {"places": [DATA]})
    assert gap.severity is Severity.ERROR
    assert list(audit_witnesses([gap], ())) == []


def event(at, kind="commit", name="x", offset=3):
    return TimelineEvent(name, at, kind, "configs", 0, offset, 1)


@pytest.mark.parametrize(
    ("events", "before"),
    [
        ([event(AT)], 0),
        ([event(AT + 1)], None),
        ([event(AT, "deleted")], 0),
        ([event(AT, "fencing")], None),
        ([event(AT, "session")], None),
        ([event(AT, name="y")], None),
        ([event(AT - 1, offset=9), event(AT, offset=3)], 1),
        ([event(AT, offset=9), event(AT, offset=3)], 0),
        ([], None),
    ],
)
def test_the_last_change_of_the_connector_up_to_the_broken_record_comes_before_it(events, before):
    [found] = witness(kinds.OFFSET_SET_BACK, timeline=events)
    assert found.before == (None if before is None else events[before])
    assert any("inspect-config" in each for each in found.commands) == (before is not None)


def test_without_a_time_of_the_record_no_change_comes_before_it_and_without_names_the_subject_is_the_connector():
    untimed = {"places": [{key: each for key, each in {**DATA, **WRITER}.items() if key != "timestamp"}]}
    [found] = witness(kinds.DATA_WITHOUT_OFFSETS, untimed, [event(AT)])
    assert (found.before, found.broken.timestamp) == (None, None)
    unnamed = kinds.OFFSET_SET_BACK.finding("x", "it is broken", EVIDENCE[kinds.OFFSET_SET_BACK])
    [found] = audit_witnesses([unnamed], [event(AT), event(AT, name="y", offset=4)])
    assert found.before == event(AT)
    other = kinds.OFFSET_SET_BACK.finding("t", "it is broken", {"connectors": ("y",), "places": [CHANGED]})
    [found] = audit_witnesses([other], [event(AT), event(AT - 5, name="y")])
    assert found.before == event(AT - 5, name="y")


@pytest.mark.parametrize(("last", "count"), [(5, 1), (13, 9), (14, 10), (15, 10)])
def test_a_command_prints_ten_records_at_most(last, count):
    [found] = witness(kinds.DATA_WITHOUT_OFFSETS, {"places": [{**DATA, **WRITER, "last_offset": last}]})
    assert f"--offset 5 --max-messages {count} " in found.commands[0]


@pytest.mark.parametrize(
    ("writer", "words"),
    [
        (WRITER, "Producer 12/1 (g-x-0) committed 4 records of x at out-0@5 to 8."),
        ({"producer_id": 12}, "Producer 12 committed 4 records of x"),
        ({"producer_id": 12, "producer_epoch": 0}, "Producer 12/0 committed 4 records of x"),
        ({"producer_id": 12, "records": 1}, "Producer 12 committed 1 record of x"),
    ],
)
def test_a_producer_is_named_as_far_as_it_is_known(writer, words):
    [found] = witness(kinds.DATA_WITHOUT_OFFSETS, {"places": [{**DATA, **writer}]})
    assert words in found.words


def test_the_number_of_records_is_one_where_the_finding_gives_none():
    [found] = witness(kinds.DATA_WITHOUT_OFFSETS, {"places": [{"topic": "out", "partition": 0, "first_offset": 5}]})
    assert "committed 1 record of x at out-0@5." in found.words


@pytest.mark.parametrize(
    ("when", "key", "shown", "words"),
    [
        ("before", KEY, ["offsets-3@7", "out-0@0 to 3", "offsets-3@9"], "3 was written with the first offset."),
        ("after", KEY, ["offsets-3@7", "out-0@0 to 3", "offsets-3@9"], "3 was written with the last offset."),
        ("after", "other", ["offsets-3@7", "offsets-3@9"], "that were read before."),
    ],
)  # fmt: skip
def test_only_data_of_the_same_key_and_offset_comes_with_it(when, key, shown, words):
    data = {"committed_with": when, "topic": "out", "partition": 0, "first_offset": 0, "last_offset": 3, "key": key}
    [found] = witness(kinds.OFFSET_SET_BACK, {"places": [CHANGED], "data": [data]})
    assert (places(found), found.words.endswith(words)) == (shown, True)


def test_offsets_that_the_other_topic_held_before_are_named_or_said_to_be_others():
    place = {**CHANGED, "after": 'own-1@0: {"p":4}'}
    [found] = witness(kinds.OFFSET_NOT_TAKEN_OVER, {"places": [place]})
    assert 'The other offsets topic held another offset before {"p":4} at own-1@0' in found.words


ENDED = {"transaction": "571", "event_count": 3, "end_topic": "tx", "end_partition": 1, "end_offset": 4}


@pytest.mark.parametrize(
    ("changes", "shown", "words"),
    [
        ({}, ["out-0@11", "out-0@8"], "needs tombstone after it, which is missing. The connector continued at"),
        ({"missing": []}, ["out-0@11", "out-0@8"], "The event needs another record after it"),
        ({"missing": ["a", "b"]}, ["out-0@11", "out-0@8"], "The event needs a and b after it"),
        ({"next_offset": "unknown"}, ["out-0@8"], "which is missing."),
        ({**ENDED, "missing": [2]}, ["out-0@8", "tx-1@4"],
         "By its end at tx-1@4 it has 3: number 2 is missing."),
    ],
)  # fmt: skip
def test_a_half_event_is_shown_by_what_follows_it_or_by_the_end_of_its_transaction(changes, shown, words):
    [found] = witness(kinds.HALF_EVENT, {"places": [{**HALF, "last_offset": 8, **changes}]})
    assert (places(found), words in found.words) == (shown, True)


STRETCH = {"source_start": 10, "source_end": 12, "target_start": 30, "target_end": 32, "timestamp": AT}


def mirrored(kind, severity=Severity.ERROR, **changes):
    place = {key: each for key, each in {**STRETCH, **changes}.items() if each is not None}
    evidence = {"target_topic": "eu.t", "places": [place]}
    return list(mirror_witnesses([kind.finding("t-2", "it is broken", evidence, severity=severity)]))


@pytest.mark.parametrize(
    ("kind", "severity", "changes"),
    [
        (kinds.MIRROR_GAP, Severity.WARNING, {}),
        (kinds.MIRROR_GAP, Severity.ERROR, {"source_start": None}),
        (kinds.HANGING_TRANSACTION, Severity.ERROR, {}),
    ],
)
def test_a_mirror_s_finding_without_a_broken_record_of_the_source_has_no_witness(kind, severity, changes):
    assert mirrored(kind, severity, **changes) == []


@pytest.mark.parametrize(
    ("changes", "shown", "timestamp"),
    [
        ({}, ["t-2@10 to 11", "eu.t-2@30 to 31"], AT),
        ({"timestamp": 0}, ["t-2@10 to 11", "eu.t-2@30 to 31"], 0),
        ({"timestamp": -1}, ["t-2@10 to 11", "eu.t-2@30 to 31"], None),
        ({"source_end": 10, "target_end": 30}, ["t-2@10", "eu.t-2@30"], AT),
        ({"source_end": 11, "target_end": 31}, ["t-2@10", "eu.t-2@30"], AT),
    ],
)
def test_the_records_of_a_mirror_s_witness_end_before_the_end_of_the_stretch(changes, shown, timestamp):
    [found] = mirrored(kinds.MIRROR_REPEAT, **changes)
    assert (places(found), found.records[0].timestamp, found.records[1].timestamp) == (shown, timestamp, None)
    assert not any("trace" in each for each in found.commands), "records of two clusters are not traced"


@pytest.mark.parametrize(("target", "shown"), [(0, "eu.t-2@0"), (1, "eu.t-2@0 to 1")])
def test_the_neighbours_of_a_gap_begin_with_the_target_s_first_record(target, shown):
    [found] = mirrored(kinds.MIRROR_GAP, target_start=target, target_end=target)
    assert places(found) == [shown, "t-2@10 to 11"]
