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
