"""Runs of a key's writes, the producers that came back, and values that compare by their bytes."""

import pytest

from eosctl.analysis.audit.batches import BatchWriter
from eosctl.analysis.audit.key_scan import (
    KEPT_RESTARTS,
    KEPT_SNAPSHOTS,
    KEPT_UNCERTAIN,
    PLAIN_PAUSE_MS,
    RESTART_MS,
    KeyScan,
    PlainShapes,
    by_session,
    first_returns,
    is_plain,
    join_runs,
    kept_snapshots,
    merge_keys,
    runs_of,
    thinned,
)
from eosctl.analysis.audit.sessions import Sessions
from eosctl.codecs.ledger import decode_json
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, ReturnedProducer, Write, WriteRun
from tests.analysis.audit.test_keys import KEY, records, scan


def write(
    at: int, producer_id: int = 1, epoch: int = 0, *, plain: bool = False, offset: int | None = None, value: bytes = b""
) -> Write:
    who = (-1, -1, False) if plain else (producer_id, epoch, True)
    return Write(at if offset is None else offset, at, value, *who)


def run(first: Write, last: Write | None = None, records: int = 1) -> WriteRun:
    return WriteRun(first, first if last is None else last, records)


@pytest.mark.parametrize(
    ("runs", "most", "kept"),
    [
        ([run(write(0)), run(write(30, epoch=1))], 2, 2),
        ([run(write(0)), run(write(30, epoch=1))], 1, 1),
        ([run(write(0)), run(write(30, 2))], 1, 2),
        ([run(write(0)), run(write(2 * RESTART_MS - 1, epoch=1)), run(write(10_000, epoch=2))], 2, 2),
        ([run(write(0)), run(write(2 * RESTART_MS, epoch=1)), run(write(10_000, epoch=2))], 2, 2),
        ([run(write(0, plain=True)), run(write(2 * PLAIN_PAUSE_MS - 1, plain=True))], 1, 1),
        ([run(write(0)), run(write(30, plain=True)), run(write(60))], 1, 3),
        ([], 0, 0),
    ],
)
def test_runs_are_put_together_from_the_shortest_pause_on_until_there_are_few_enough(runs, most, kept):
    found = thinned(runs, most)
    assert len(found) == kept
    assert sum(each.records for each in found) == len(runs)


def test_the_shortest_pauses_go_first():
    runs = [run(write(at, epoch=epoch)) for epoch, at in enumerate((0, 10_000, 10_030, 50_000))]
    assert [each.first.timestamp for each in thinned(runs, 3)] == [0, 10_000, 50_000]
    assert thinned(runs, 3)[1] == WriteRun(runs[1].first, runs[2].last, 2)
    assert thinned(runs, 4) == tuple(runs)


@pytest.mark.parametrize(
    ("runs", "began", "kept"),
    [
        ([run(write(0)), run(write(30, epoch=1))], [], 1),
        ([run(write(0)), run(write(30, epoch=1))], [1], 2),
        ([run(write(0)), run(write(30, epoch=2))], [1], 2),
        ([run(write(0)), run(write(30, epoch=1))], [2], 1),
        ([run(write(0)), run(write(30, epoch=1))], [0], 1),
        ([run(write(0)), run(write(30, 2))], [], 2),
        ([run(write(0)), run(write(30, plain=True))], [], 2),
        ([run(write(0, plain=True)), run(write(900, plain=True))], [], 2),
        ([run(write(0)), run(write(30, epoch=1)), run(write(60, epoch=2))], [2], 2),
        ([run(write(0)), run(write(30, epoch=1)), run(write(60, epoch=2))], [], 1),
        ([], [], 0),
    ],
)
def test_runs_of_one_session_are_one(runs, began, kept):
    found = by_session(runs, Sessions({1: began}))
    assert len(found) == kept
    assert sum(each.records for each in found) == len(runs)


@pytest.mark.parametrize(
    ("texts", "runs"),
    [
        (["1.0 1", "1.0 2"], [("1.0", 0, 1, 2)]),
        (["plain 1", "plain 2"], [("plain", 0, 1, 2)]),
        (["1.0 1", "plain 2", "1.0 3"], [("1.0", 0, 2, 2), ("plain", 1, 1, 1)]),
        (["plain 1", "1.0 2", "plain 3"], [("plain", 0, 2, 2), ("1.0", 1, 1, 1)]),
    ],
)
def test_a_state_without_kept_runs_has_one_of_each_kind(texts, runs):
    state = scan(records(*texts))[KEY]._replace(runs=())
    found = [
        ("1.0" if each.first.transactional else "plain", each.first.offset, each.last.offset, each.records)
        for each in runs_of(state)
    ]
    assert found == runs
    kept = state._replace(runs=(run(state.first, state.last, 9),))
    assert runs_of(kept) == kept.runs


def states(*texts: str, left: bool = True, right: bool = True) -> tuple[KeyState, KeyState]:
    """The states of the first write and of the others; runs are kept of the left, and of the right."""
    found = records(*texts)
    one, other = scan(found[:1])[KEY], scan(found[1:])[KEY]
    return one if left else one._replace(runs=()), other if right else other._replace(runs=())


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(True, True, [2]), (True, False, [2]), (False, True, [2]), (False, False, [])]
)
def test_runs_of_two_ranges_are_joined_where_one_has_kept_them(left, right, expected):
    assert [each.records for each in join_runs(*states("1.0 1", "1.0 2", left=left, right=right))] == expected


def test_runs_of_two_ranges_stay_apart_where_another_producer_writes():
    assert [each.records for each in join_runs(*states("1.0 1", "2.0 2"))] == [1, 1]


@pytest.mark.parametrize(
    ("texts", "setbacks", "plain"),
    [
        (("1.0 8", "1.0 9"), 0, 0),
        (("1.0 9", "1.0 8"), 1, 0),
        (("1.0 9", "1.0 10"), 0, 0),
        (("1.0 10", "1.0 9"), 1, 0),
        (("1.0 9", "1.0 9"), 0, 0),
        (("1.0 9", "1.0 -", "1.0 8"), 0, 0),
        (("1.0 -", "1.0 8"), 0, 0),
        (("1.0 9", "plain 8"), 1, 0),
        (("plain 9", "1.0 8"), 0, 1),
        (("1.0 9", "1.0 8", "plain 7", "plain 6"), 2, 1),
        (('1.0 {"a":[9]}', '1.0 {"a":[8]}'), 0, 0),
        (('1.0 {"a":-8}', '1.0 {"a":-9}'), 1, 0),
        (('1.0 {"a":-9}', '1.0 {"a":-8}'), 0, 0),
        (('1.0 {"a":9,"b":1}', '1.0 {"a":8,"b":2}'), 0, 0),
        (('1.0 {"a":9,"b":1}', '1.0 {"a":8,"b":1}'), 1, 0),
        (("1.0 9", "1.0 no_json", "1.0 8"), 0, 0),
        (("1.0 no_json", "1.0 8", "1.0 7"), 1, 0),
    ],
)
def test_a_lower_value_is_a_setback_whether_its_bytes_show_it_or_its_numbers(texts, setbacks, plain):
    found = scan(records(*texts))[KEY]
    assert (found.setbacks.total, found.plain_setbacks.total) == (setbacks, plain)
    merged = states(*texts)
    whole = merge_keys(*merged, decode_json)
    assert (whole.setbacks.total, whole.plain_setbacks.total) == (setbacks, plain)


@pytest.mark.parametrize(
    ("texts", "first", "last", "plain", "after", "first_plain", "first_after", "last_plain"),
    [
        (("1.0 1",), 0, 0, 0, 0, None, None, None),
        (("plain 1",), None, None, 1, 0, 0, None, 0),
        (("1.0 1", "1.0 2"), 0, 1, 0, 0, None, None, None),
        (("plain 1", "1.0 2", "plain 3", "plain 4"), 1, 1, 3, 2, 0, 2, 3),
        (("1.0 1", "plain 2", "1.0 3"), 0, 2, 1, 1, 1, 1, 1),
        (("plain 1", "plain 2", "1.0 3", "2.0 4"), 2, 3, 2, 0, 0, None, 1),
        (("1.0 1", "plain 2", "plain 3"), 0, 0, 2, 2, 1, 1, 2),
    ],
)
def test_plain_writes_are_counted_and_those_after_the_first_in_a_transaction_apart(
    texts, first, last, plain, after, first_plain, first_after, last_plain
):
    def offset(write: Write | None) -> int | None:
        return None if write is None else write.offset

    whole = scan(records(*texts))[KEY]
    found = [whole] if len(texts) == 1 else [whole, merge_keys(*states(*texts), decode_json)]
    for each in found:
        assert (offset(each.first_transactional), offset(each.last_transactional)) == (first, last)
        assert (each.plain_records, each.plain_after) == (plain, after)
        assert [offset(at) for at in (each.first_plain, each.first_plain_after, each.last_plain)] == [
            first_plain,
            first_after,
            last_plain,
        ]


def returned(offset: int, *, same: bool) -> ReturnedProducer:
    return ReturnedProducer(1, 0, 3, 2, 1, offset, 0, 3 if same else 4)


@pytest.mark.parametrize(("same", "most"), [(True, KEPT_PLACES), (False, KEPT_UNCERTAIN)])
def test_the_first_producers_that_came_back_are_kept_by_offset(same, most):
    many = [returned(at, same=same) for at in range(most + 1)]
    assert first_returns(reversed(many)) == tuple(many[:most])
    both = first_returns([*many, returned(5, same=not same)])
    assert len(both) == most + 1
    assert [each.offset for each in both] == sorted(each.offset for each in both)


@pytest.mark.parametrize(
    ("shape", "plain"),
    [
        (b"{}", True),
        (b'{"a":1}', True),
        (b'{"a": 1, "b":"x1"}', True),
        (b'{"a":true,"b":false,"c":null}', True),
        (b'{"a":' + b"1" * 18 + b"}", True),
        (b'{"a":' + b"1" * 19 + b"}", False),
        (b'{"a":-1}', False),
        (b'{"a":1.1}', False),
        (b'{"a":1,"a":1}', False),
        (b'{"a":1,"b":1,"a":null}', False),
        (b'{"a1":1}', False),
        (b'{"a":"\\"}', False),
        (b'{"a":{"b":1}}', False),
        (b'{"a":[1]}', False),
        (b'{"a":"\xc3\xbc"}', False),
        (b'{"\xc3\xbc":1}', False),
        (b'{"a":1}x', False),
        (b'{"a":1,}', False),
        (b"1", False),
        (b"", False),
        (b'{"a":  1}', False),
    ],
)
def test_a_shape_is_plain_where_a_higher_byte_is_a_higher_number_and_nothing_else(shape, plain):
    assert is_plain(shape) is plain
    shapes = PlainShapes()
    assert shapes.of(shape) == (shape if plain else None)
    assert shapes.of(shape) is shapes.of(bytes(bytearray(shape))), "one object"


def test_values_of_one_shape_differ_in_digits_only():
    shapes = PlainShapes()
    assert shapes.of(b'{"a":90}') is shapes.of(b'{"a":12}')
    assert shapes.of(b'{"a":9}') != shapes.of(b'{"a":12}')


SNAPSHOT = b'{"snapshot":"INITIAL","snapshot_completed":false,"lsn":%d,"txId":5,"ts_usec":%d}'


def snapshot_changes(count: int, *, moved: bool) -> list[Change]:
    return [
        Change(
            write(2 * at, value=SNAPSHOT % (7, 1)),
            write(2 * at + 1, epoch=1, value=SNAPSHOT % (8 if moved else 7, 2)),
        )
        for at in range(count)
    ]


@pytest.mark.parametrize("moved", [True, False])
def test_the_first_changes_between_unfinished_snapshots_are_kept_and_as_many_of_the_other_kind(moved):
    many = snapshot_changes(KEPT_SNAPSHOTS + 1, moved=moved)
    found = kept_snapshots(many, decode_json)
    assert found == tuple(many[:KEPT_SNAPSHOTS])
    other = Change(write(998, value=SNAPSHOT % (7, 1)), write(999, value=SNAPSHOT % (7 if moved else 8, 2)))
    assert kept_snapshots([other, *many], decode_json) == (*many[:KEPT_SNAPSHOTS], other)
    assert kept_snapshots([Change(write(0, value=b"{}"), write(1, value=b"{}"))], decode_json) == ()


@pytest.mark.parametrize(
    ("texts", "repeats"),
    [
        (("1.0 1", "1.0 1"), 1),
        (("1.0 1", "2.0 1"), 1),
        (("1.0 1", "1.0 2"), 0),
        (("1.0 -", "1.0 -"), 0),
        (("1.0 -", "1.0 1"), 0),
        (("1.0 1", "1.0 -"), 0),
    ],
)
def test_a_value_that_is_written_again_behind_the_end_of_a_range_is_a_repeat_and_a_tombstone_is_none(texts, repeats):
    assert len(merge_keys(*states(*texts), decode_json).repeats) == repeats
    assert len(scan(records(*texts))[KEY].repeats) == repeats


@pytest.mark.parametrize(
    ("texts", "runs"),
    [(("1.0 1", "1.0 2"), 1), (("1.0 1", "2.0 2"), 2), (("1.0 1", "plain 2", "1.0 -"), 3), (("1.0 -",), 1)],
)
def test_runs_are_kept_of_the_keys_that_are_tracked(texts, runs):
    assert len(scan(records(*texts))[KEY].runs) == runs
    untracked = KeyScan(decode_json)
    for each in records(*texts):
        untracked.add_batch([each], BatchWriter(each.producer_id, each.producer_epoch, each.transactional))
    [state] = untracked.states()
    assert state.runs == ()


SHOP = b'["orders",{"server":"shop"}]'
START = '{"file":"b.000001","pos":4,"gtids":"0-7-4"}'
"""A transaction's start, as Debezium writes it for MariaDB. `WITHIN % n` is the offset behind n of its events."""
WITHIN = '{"file":"b.000001","pos":4,"gtids":"0-7-4","event":%d,"row":1}'
NEXT = '{"file":"b.000001","pos":90,"gtids":"0-7-5"}'


@pytest.mark.parametrize(
    ("texts", "restarts", "set_back"),
    [
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}"), [(0, 1, None)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", f"1.1 {WITHIN % 6}"), [(0, 1, 2)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", f"1.2 {START}", f"1.2 {WITHIN % 1}"), [(0, 1, 3)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", f"1.1 {NEXT}", f"1.1 {START}"), [(0, 1, 2)], 1),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", "1.1 -", f"1.1 {START}"), [(0, 1, 2)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", f"plain {NEXT}"), [(0, 1, 2)], 0),
        ((f"1.0 {START}", f"1.0 {WITHIN % 5}", f"1.1 {START}", f"1.1 {WITHIN % 5}"), [(1, 2, 3)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {START}", f"1.1 {WITHIN % 6}", f"1.2 {START}"), [(0, 1, 2), (2, 3, None)], 0),
        ((f"1.0 {WITHIN % 5}", f"1.1 {WITHIN % 3}"), [], 1),
        ((f"1.0 {NEXT}", f"1.1 {START}"), [], 1),
        ((f"1.0 {WITHIN % 5}", f"plain {START}", f"1.1 {NEXT}"), [], 1),
        ((f"plain {WITHIN % 5}", f"1.1 {START}", f"1.1 {NEXT}"), [], 1),
    ],
)
def test_the_start_of_a_database_s_transaction_within_it_is_a_restart_followed_by_the_next_other_value(
    texts, restarts, set_back
):
    written = records(*texts, key=SHOP)
    whole = scan(written)[SHOP]
    for cut in range(1, len(written)):
        for again in range(1, cut + 1):
            parts = [scan(part)[SHOP] for part in (written[:again], written[again:cut], written[cut:]) if part]
            merged = parts[0]
            for part in parts[1:]:
                merged = merge_keys(merged, part, decode_json)
            assert merged == whole
    found = [(each.before.offset, each.start.offset, each.then and each.then.offset) for each in whole.restarts.places]
    assert (found, whole.setbacks.total + whole.plain_setbacks.total) == (restarts, set_back)


def test_the_start_of_a_source_that_is_no_server_is_a_setback():
    written = records(f"1.0 {WITHIN % 5}", f"1.1 {START}".replace('"pos":4', '"pos":3'), key=KEY)
    assert (scan(written)[KEY].restarts.total, scan(written)[KEY].setbacks.total) == (0, 1)


def test_the_first_restarts_are_kept_and_all_are_counted():
    texts = [text for _ in range(KEPT_RESTARTS + 2) for text in (f"1.0 {WITHIN % 5}", f"1.0 {START}")]
    written = records(*texts, f"1.0 {NEXT}", key=SHOP)
    for found in (
        scan(written),
        {SHOP: merge_keys(*(scan(each)[SHOP] for each in (written[:9], written[9:])), decode_json)},
    ):
        restarts = found[SHOP].restarts
        assert (restarts.total, len(restarts.places), restarts.is_open) == (KEPT_RESTARTS + 2, KEPT_RESTARTS, False)
        assert restarts.places[-1].then is not None
