"""Effects of changed offsets: sessions that began during a stop, both counts, and changes of earlier runs."""

from collections.abc import Mapping
from typing import Any

import pytest

from eosctl.analysis.audit.findings import ProducerSession
from eosctl.analysis.audit.key_judgement import Data, KeyAnomalyKind, PlacedWrite
from eosctl.analysis.audit.offset_changes import (
    UNKNOWN,
    ChangeInputs,
    KeyWrite,
    add_earlier_changes,
    offset_changes,
    sessions_while_stopped,
)
from eosctl.codecs.ledger import decode_json, read_offsets_key
from eosctl.model.audit import OffsetsChange, OffsetsWrite, OutputPart, RecordCount
from eosctl.model.audit_states import Write
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from tests.analysis.audit.summaries import anomaly, history

PLACE = TopicPartition("offsets", 0)
NONE = RecordCount(0, 0)


def session(at: int, epoch: int = 1, producer_id: int = 7) -> ProducerSession:
    return ProducerSession("c", "offsets", 0, at, at, producer_id, epoch)


STOP = (5, 1, "commit", 0)


@pytest.mark.parametrize(
    ("sessions", "starts", "found"),
    [
        ([session(6)], [STOP], {(7, 1): False}),
        ([session(5)], [STOP], {(7, 1): False}),
        ([session(4)], [STOP], {}),
        ([session(6)], [], {}),
        ([session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): True}),
        ([session(6)], [(3, 0, "fencing", 2), STOP], {(7, 1): False}),
        ([session(6)], [(3, 0, "commit", 0), STOP], {(7, 1): False}),
        ([session(6)], [(3, 0, "commit", 2), STOP, (7, 2, "commit", 2)], {(7, 1): True}),
        ([session(8)], [(3, 0, "commit", 2), STOP, (7, 2, "commit", 2)], {}),
        ([session(2, 0), session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): True}),
        ([session(3, 0), session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): True}),
        ([session(4, 0), session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): False}),
        ([session(4, 0, 8), session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): True}),
        ([session(6), session(8, 2)], [(3, 0, "commit", 2), STOP], {(7, 1): True, (7, 2): False}),
        ([session(8, 2), session(6)], [(3, 0, "commit", 2), STOP], {(7, 1): True, (7, 2): False}),
    ],
)
def test_a_task_may_have_begun_the_first_session_of_its_producer_since_the_connector_had_tasks(sessions, starts, found):
    expected = {ProducerIdAndEpoch(*who): is_first for who, is_first in found.items()}
    assert sessions_while_stopped(sessions, history(*starts)) == expected


def changed(offset: int = 2, repeated: RecordCount = NONE, left_out: RecordCount = NONE, **more: Any) -> OffsetsChange:
    place = anomaly(KeyAnomalyKind.ALTERED, offset=offset)
    given = {"connector": "c", "timestamp": 5, "open": False, **more}
    return OffsetsChange(given["connector"], given["timestamp"], (place,), 1, repeated, left_out, (), (), given["open"])


TWO, THREE = RecordCount(2, 2), RecordCount(3, 3)


@pytest.mark.parametrize(
    ("now", "earlier", "expected"),
    [
        ([], [changed(repeated=TWO)], [changed(repeated=TWO)]),
        ([], [changed(left_out=TWO)], [changed(left_out=TWO)]),
        ([], [changed()], []),
        ([], [changed(repeated=UNKNOWN)], [changed(repeated=UNKNOWN)]),
        ([changed(repeated=THREE)], [changed(repeated=TWO)], [changed(repeated=THREE)]),
        ([changed(repeated=UNKNOWN)], [changed(repeated=TWO)], [changed(repeated=TWO)]),
        ([changed(repeated=UNKNOWN)], [changed(repeated=TWO, open=True)], [changed(repeated=UNKNOWN)]),
        ([changed(repeated=UNKNOWN)], [changed(3, repeated=TWO)],
         [changed(repeated=UNKNOWN), changed(3, repeated=TWO)]),
        ([changed(timestamp=9)], [changed(3, repeated=TWO, timestamp=8)],
         [changed(3, repeated=TWO, timestamp=8), changed(timestamp=9)]),
        ([changed()], [changed(repeated=TWO, connector="b")], [changed(repeated=TWO, connector="b"), changed()]),
    ],
)  # fmt: skip
def test_what_an_earlier_run_counted_stays_where_this_one_cannot_count_it(now, earlier, expected):
    assert add_earlier_changes(now, earlier) == tuple(expected)


RAW = b'["c",{"table":"a"}]'
KAFKA = b'["c",{"topic":"t","partition":0}]'
PARTS = (OutputPart("t", 0, 1, 4, 4),)
ELSEWHERE = (OutputPart("u", 0, 1, 4, 4),)
HEARTBEAT = (OutputPart("__debezium-heartbeat.s", 0, 1, 1, 4),)
METADATA = (OutputPart("s.transaction", 0, 1, 1, 4),)


def inputs(texts: list[str], data: Mapping[int, Data | None], *, whole: bool = True) -> ChangeInputs:
    """Epoch 9 is that of a session that began while the connector was stopped, in which no task began."""

    def of(write: OffsetsWrite | None) -> Data | None:
        return None if write is None else data.get(write.offset, (OutputPart("t", 0, write.offset, write.offset, 1),))

    starts = [(10 * at - 5, at, "commit", 0) for at, text in enumerate(texts) if text.startswith("!")]
    return ChangeInputs(history(*starts), {ProducerIdAndEpoch(7, 9): False}, of, decode_json, whole)


def judged(
    text: str, *, raw: bytes = RAW, name: str = "position", whole: bool = True, first: bool = False, **data: Any
) -> list[Any]:
    """The changes of one key, in the form (repeated, left out, open). Of `1 3 !1 4` each number is a commit of a
    position with one record, !1 a change to position 1, - a tombstone; first: a task may have begun its session."""
    texts = text.split()
    writes = []
    beside: dict[int, Data | None] = {}
    for at, each in enumerate(texts):
        position = each.lstrip("!")
        value = None if position == "-" else b'{"%b":%b}' % (name.encode(), position.encode())
        write = Write(at, 10 * at, value, 7, 9 if each.startswith("!") else 0, True)
        writes.append(KeyWrite(raw, read_offsets_key(raw), PlacedWrite(PLACE, write)))
        if each.startswith("!"):
            beside[at] = ()
    beside |= {int(offset[1:]): found for offset, found in data.items()}
    altering = {ProducerIdAndEpoch(7, 9): first}
    found = offset_changes("c", {raw: writes}, inputs(texts, beside, whole=whole)._replace(altering=altering))
    return [(each.repeated, each.left_out, each.open) for each in found]


def count(number: int, most: int | None = -1) -> RecordCount:
    return RecordCount(number, number if most == -1 else most)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 3", []),
        ("1 2 3 !3 4", []),
        ("1 2 3 !1 2 3", [(count(2), NONE, False)]),
        ("1 2 3 !1 2", [(count(1), NONE, True)]),
        ("1 2 3 !1 2 3 4", [(count(2), NONE, False)]),
        ("1 2 3 !1", [(NONE, NONE, True)]),
        ("1 2 3 !1 !3 4", [(NONE, NONE, False)]),
        ("1 2 3 !1 !2 3", [(count(1), NONE, False)]),
        ("1 2 3 !- 1 2 3", [(count(3), NONE, False)]),
        ("1 2 3 !9 10", [(NONE, count(0, None), False)]),
        ("1 2 3 !1 2 3 !1 2 3", [(count(2), NONE, False), (count(2), NONE, False)]),
        ("1 2 3 !1 2 3 3", [(count(2), NONE, False)]),
        ("!- 1 2", [(NONE, NONE, False)]),
        ('1 2 !"x" 3', [(UNKNOWN, UNKNOWN, False)]),
        ('1 2 3,"snapshot":true !1 2 3', [(UNKNOWN, UNKNOWN, True)]),
        ('1 2 3 !1,"snapshot":true 2 3', [(UNKNOWN, UNKNOWN, False)]),
        ('1 2 3 !1 2,"snapshot":true 3', [(UNKNOWN, UNKNOWN, False)]),
        ("3 4 !1 2 3 4", [(RecordCount(2, 3), NONE, False)]),
        ("1 2 3 !1 2 !1 2 3 4", [(count(1), NONE, False), (count(2), NONE, False)]),
        ("1 2 !9 10 !5 6 9 10", [(NONE, UNKNOWN, False), (count(1), NONE, False)]),
        (
            "1 2 !9 10 !5 6 9 10 !1 2 3 5 6",
            [(NONE, UNKNOWN, False), (count(1), NONE, False), (count(2), NONE, True)],
        ),
        ("1 2 !5 6 !9 10 !1 2 5 6 9 10", [(NONE, NONE, False), (NONE, NONE, False), (count(3), NONE, False)]),
        ("1 2 !9 10 !4 5 !1 2 4 5", [(NONE, UNKNOWN, False), (NONE, NONE, False), (count(2), NONE, True)]),
        (
            "1 2 3 !2 3 4 5 !4 5 6 !1 2 3 4 5 6",
            [(count(1), NONE, False), (count(1), NONE, False), (count(5), NONE, False)],
        ),
        ("1 2 !5 6 !2 3 5", [(NONE, NONE, False), (NONE, NONE, True)]),
        ("1 2 3 4 !3 4 !2 3 4", [(count(1), NONE, False), (count(2), NONE, False)]),
        ("1 2 3 !1 2 2 3", [(RecordCount(2, 3), NONE, False)]),
        ("1 2 4 !1 2 3 4", [(RecordCount(2, 3), NONE, False)]),
        ("1 2 3 4 !1 2 4", [(RecordCount(2, 3), NONE, False)]),
        ("1 2 3 4 5 !3 4 5 6 7 8 !2 3 4 5 6 7", [(count(2), NONE, False), (count(5), NONE, True)]),
    ],
)
def test_each_change_counts_the_records_that_its_pass_repeats(text, expected):
    assert judged(text) == expected


@pytest.mark.parametrize(("whole", "counted"), [(True, NONE), (False, UNKNOWN)])
def test_a_change_before_all_that_is_left_repeats_an_unknown_number(whole, counted):
    assert judged("!1 2", whole=whole) == [(counted, counted, False)]


@pytest.mark.parametrize(("place", "repeated"), [("o1", RecordCount(1, 3)), ("o5", count(2))])
def test_metadata_of_transactions_are_no_records_of_the_source(place, repeated):
    [(found, _, _)] = judged("1 2 4 !1 2 3 4", raw=b'["c",{"server":"s"}]', **{place: METADATA})
    assert found == repeated


@pytest.mark.parametrize(("text", "repeated"), [("2 3 !2 3", count(1)), ("3 4 !1 2 3 4", RecordCount(1, 3))])
def test_what_lies_before_the_first_write_that_is_left_may_have_been_covered(text, repeated):
    assert judged(text, whole=False) == [(repeated, NONE, False)]


@pytest.mark.parametrize(
    ("text", "data", "of_a_task", "of_none"),
    [
        ("1 2 !3 4 5", {"o4": ELSEWHERE}, [], [(NONE, UNKNOWN, False)]),
        ("1 2 !3 4 5", {}, [(NONE, UNKNOWN, False)], [(NONE, UNKNOWN, False)]),
        (
            "1 2 3 !1 2 3",
            {"o5": ELSEWHERE},
            [(RecordCount(5, None), NONE, False)],
            [(RecordCount(5, None), NONE, False)],
        ),
        ("1 2 !2 3", {"o3": ELSEWHERE}, [], []),
    ],
)
def test_a_first_commit_that_goes_on_is_a_task_s_own_where_the_data_before_it_may_be_gone(
    text, data, of_a_task, of_none
):
    assert [judged(text, first=first, **data) for first in (True, False)] == [of_a_task, of_none]


def test_a_commit_with_data_is_no_change_of_a_stopped_connector():
    assert judged("1 2 3 !1 2 3", o3=PARTS) == []


@pytest.mark.parametrize(("name", "repeated"), [("position", RecordCount(2, 3)), ("lsn", count(2))])
def test_a_source_with_a_memory_of_its_own_may_have_repeated_less_than_was_there_before(name, repeated):
    [(found, _, _)] = judged("1 2 3 4 !1 2 4", name=name)
    assert found == repeated


@pytest.mark.parametrize(
    ("text", "data", "repeated"),
    [
        ("1 2 4 !1 2 3 4", {"o1": ()}, count(3)),
        ("1 2 4 !1 2 3 4", {"o1": None}, count(3)),
        ("1 2 4 !1 2 3 4", {"o5": None}, count(2)),
        ("1 2 4 !1 2 3 4", {"o1": PARTS}, RecordCount(3, 5)),
        ("1 2 4 !1 2 3 4", {"o5": ELSEWHERE}, count(6, None)),
        ("1 2 4 !1 2 3 4", {"o1": ELSEWHERE}, RecordCount(3, 5)),
        ("1 2 4 !1 2 3 4", {"o1": None, "o5": None}, RecordCount(2, None)),
        ("1 2 4 !1 2 3 4", {"o1": HEARTBEAT}, RecordCount(1, 3)),
        ("1 2 4 !1 2 3 4", {"o5": HEARTBEAT}, count(2)),
        ("1 2 4 !1 2 3 4", {"o5": METADATA}, RecordCount(6, None)),
    ],
)
def test_transactions_whose_data_may_be_gone_or_lies_in_other_topics_are_no_upper_bound(text, data, repeated):
    [(found, _, _)] = judged(text, **data)
    assert found == repeated


@pytest.mark.parametrize(
    ("text", "raw", "left_out"),
    [
        ("1 2 3 !9 10", KAFKA, RecordCount(0, 6)),
        ("1 2 3 !9 10", RAW, UNKNOWN),
        ("1 2 3 !9 10", b'["c",{"topic":"t"}]', UNKNOWN),
        ("1 2 3 !9 10", b'["c",{"topic":"t","partition":"0"}]', UNKNOWN),
        ("1 2 3 !4 10", KAFKA, RecordCount(0, 1)),
    ],
)
def test_only_offsets_of_a_kafka_topic_bound_what_a_jump_leaves_out(text, raw, left_out):
    [(repeated, found, _)] = judged(text, raw=raw, name="offset")
    assert (repeated, found) == (NONE, left_out)


def test_a_jump_that_a_later_pass_goes_back_behind_leaves_nothing_out():
    assert judged("1 2 !9 10 !1 2 5 9 10")[0][1] == NONE
