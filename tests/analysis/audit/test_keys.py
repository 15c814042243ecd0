"""One key of an offsets topic: scanned, merged over ranges, and judged."""

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import BatchWriter
from eosctl.analysis.audit.key_judgement import KeyJudgementInputs, Placed, judge_keys
from eosctl.analysis.audit.key_scan import KeyScan, merge_all, merge_keys
from eosctl.analysis.audit.sessions import Sessions
from eosctl.codecs.ledger import decode_audit_state, decode_json, encode_audit_state, read_offsets_key
from eosctl.model.audit_states import KeyState
from eosctl.model.names import TopicPartition

KEY = b'["orders",{"table":"a"}]'
NOTHING_WITHOUT_DATA = {"offset-repeated", "offset-copied"}
SHARED, OWN = TopicPartition("connect-offsets", 0), TopicPartition("orders-offsets", 0)


class Record(NamedTuple):
    """A committed record with its writer."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    producer_id: int
    producer_epoch: int
    transactional: bool


def records(*texts: str, first: int = 0, time: int = 1000, key: bytes | None = KEY) -> list[Record]:
    """1.3 500: producer 1 with epoch 3 writes position 500; - a tombstone; `plain 500` outside any transaction."""
    found = []
    for place, text in enumerate(texts):
        who, position = text.split()
        value = (
            None if position == "-" else b'{"position":%d}' % int(position) if position.isdigit() else position.encode()
        )
        producer_id, epoch = (-1, -1) if who == "plain" else map(int, who.split("."))
        found.append(Record(first + place, time + place, key, value, producer_id, epoch, who != "plain"))
    return found


def scan(found: list[Record]) -> dict[bytes | None, KeyState]:
    scanned = KeyScan(decode_json, lambda _: True)
    for each in found:
        scanned.add_batch([each], BatchWriter(each.producer_id, each.producer_epoch, each.transactional))
    return {state.key: state for state in scanned.states()}


def judged(placed: dict[TopicPartition, list[Record]], **sessions: list[int]) -> tuple[dict[str, int], list[int]]:
    """Counts by kind, and offsets of what counts only with data. p1=[3]: producer 1 began a session with epoch 3."""
    inputs = KeyJudgementInputs(
        frozenset({OWN.topic}),
        Sessions({int(name[1:]): epochs for name, epochs in sessions.items()}),
        read_offsets_key,
        decode_json,
    )
    states = [Placed(place, state) for place, found in sorted(placed.items()) for state in scan(found).values()]
    verdict = judge_keys(read_offsets_key(states[0].state.key), states, inputs)
    counts: dict[str, int] = {}
    for kind, count in verdict.counts:
        counts[kind.value] = counts.get(kind.value, 0) + count
    for each in verdict.suspicions:
        if each.kind not in NOTHING_WITHOUT_DATA:
            counts[each.kind] = counts.get(each.kind, 0) + 1
    return counts, [each.offset for each in verdict.suspicions if each.kind in NOTHING_WITHOUT_DATA]


@pytest.mark.parametrize(
    ("texts", "counts", "suspected"),
    [
        (["1.0 1", "1.0 2", "1.0 3"], {}, []),
        (["1.0 2", "1.0 1"], {"offset-set-back": 1}, []),
        (["1.0 2", "1.0 1", "1.0 3", "1.0 2"], {"offset-set-back": 2}, []),
        (["1.0 2", "1.0 -", "1.0 1"], {}, []),
        (["1.0 broken", "1.0 1"], {}, []),
        (["1.0 1", "2.0 1"], {}, [1]),
        (["1.0 1", "1.3 1"], {}, [1]),
        (["1.0 1", "1.2 1"], {}, []),
        (["1.0 -", "2.0 -"], {}, []),
        (["1.0 1", "1.0 1", "1.3 1"], {}, []),
        (["plain 1", "plain 1", "1.3 1"], {}, [2]),
        (["plain 1", "1.0 2", "1.0 3"], {}, []),
        (["1.0 1", "plain 2", "plain 3"], {"plain-offsets-write": 2}, []),
        (["plain 1", "1.0 2", "plain 3"], {"plain-offsets-write": 1}, []),
        (["1.0 1", "2.0 2", "1.0 3"], {"zombie-writer": 1}, []),
        (["1.0 1", "2.0 2", "1.2 3"], {"zombie-writer": 1}, []),
        (["1.0 1", "2.0 2", "1.3 3"], {}, []),
        (["1.0 1", "plain 2", "1.0 3"], {"plain-offsets-write": 1}, []),
        (["plain 1", "1.0 2", "plain 3", "1.0 4"], {"plain-offsets-write": 1}, []),
        (["1.0 5", "plain 900", "1.0 6", "1.0 7"], {"plain-offsets-write": 1}, []),
        (["1.0 5", "plain 2", "1.0 6"], {"plain-offsets-write": 1, "offset-set-back": 1}, []),
        (["1.0 5", "plain 6", "1.0 4"], {"plain-offsets-write": 1}, []),
        (["1.0 5", "plain 9", "plain 8", "plain 10"], {"plain-offsets-write": 3}, []),
        (["1.0 5", *["plain 9", "plain 8"] * 30], {"plain-offsets-write": 60}, []),
        (["1.0 9", "1.0 8"] * 30, {"offset-set-back": 30}, []),
        (["plain 9", "plain 8"] * 30, {"offset-set-back": 30}, []),
        (
            ["plain 9", "plain 8", "1.0 9", *["plain 9", "plain 8"] * 30],
            {"plain-offsets-write": 60, "offset-set-back": 1},
            [3],
        ),
        (["1.0 5", "2.0 2", "1.0 6"], {"offset-set-back": 1}, []),
        (["1.0 5", "2.0 2", "2.0 3", "1.0 6"], {"offset-set-back": 1}, []),
        (["1.0 5", "2.0 6", "2.0 3", "1.0 7"], {"offset-set-back": 1}, []),
        (["1.0 5", "2.0 6", "plain 7", "1.0 8"], {"plain-offsets-write": 1, "zombie-writer": 1}, []),
    ],
)
def test_what_the_writes_of_one_key_show(texts, counts, suspected):
    assert judged({SHARED: records(*texts)}, p1=[0, 3], p2=[0]) == (counts, suspected)


def test_a_zombie_is_found_however_often_its_source_partition_was_moved_before():
    moves = [text for epoch in range(25) for text in (f"1.{epoch} {2 * epoch}", f"2.{epoch} {2 * epoch + 1}")]
    counts, _ = judged({SHARED: records(*moves, "1.24 99")}, p1=list(range(25)), p2=list(range(25)))
    assert counts == {"zombie-writer": 1}


@pytest.mark.parametrize(
    ("shared", "own", "counts", "suspected"),
    [
        (["1.0 500"], ["1.1 501"], {"offset-not-taken-over": 1}, []),
        (["1.0 500"], ["1.1 10"], {"offset-not-taken-over": 1}, []),
        (["1.0 500"], ["1.1 500", "1.2 501"], {}, [100]),
        (["1.0 500"], ["1.1 -", "1.2 501"], {"offset-not-taken-over": 1}, []),
        (["1.0 500", "1.0 -"], ["1.1 10"], {}, []),
        (["plain 500"], ["1.1 501"], {"offset-not-taken-over": 1}, []),
        (["plain 500"], ["1.1 500"], {}, [100]),
    ],
)
def test_a_first_write_in_an_own_topic_is_a_copy_of_the_last_one_in_the_workers_or_began_from_nothing(
    shared, own, counts, suspected
):
    placed = {SHARED: records(*shared, time=100_000), OWN: records(*own, first=100, time=200_000)}
    assert judged(placed, p1=[0, 1, 2]) == (counts, suspected)


def test_moves_there_and_back_and_there_again_with_copies_are_none_to_speak_of():
    """The worker's plain copies beside the own topic are among them."""
    shared = [
        *records("1.0 100", "1.0 110", time=100_000),
        *records("plain 120", "plain 130", first=2, time=120_001),
        *records("1.3 130", "1.4 140", first=4, time=130_000),
        *records("plain 150", first=6, time=150_001),
    ]
    own = [
        *records("1.1 110", "1.2 120", "1.2 130", time=120_000),
        *records("1.5 140", "1.6 150", first=3, time=150_000),
    ]
    assert judged({SHARED: shared, OWN: own}, p1=list(range(7)))[0] == {}


def test_a_way_back_by_hand_goes_on_from_what_the_worker_copied_and_from_nothing_later():
    shared = records("1.0 100", time=100_000)
    own = records("1.1 100", "1.2 200", time=120_000)
    copied, back = records("plain 200", first=1, time=120_002), records("1.3 210", first=2, time=150_000)
    sessions = {"p1": [0, 1, 2, 3]}
    assert judged({SHARED: [*shared, *copied, *back], OWN: own}, **sessions)[0] == {}
    assert judged({SHARED: [*shared, *back], OWN: own}, **sessions)[0] == {"offset-not-taken-over": 1}


def test_a_way_back_while_exactly_once_was_off_goes_on_from_the_plain_writes_there():
    own = {"off before": records("1.1 137", "plain 143", time=100_000), "off after": records("1.1 137", time=100_000)}
    for left in own.values():
        copied = [*records("1.0 137", time=90_000), *records("plain 140", first=1, time=100_030)]
        back = records("plain 150", "plain 169", first=2, time=115_000)
        again = records("1.2 169", first=4, time=139_000)
        sessions = {"p1": [0, 1, 2]}
        counts, _ = judged({SHARED: [*copied, *back, *again], OWN: left}, **sessions)
        assert counts.keys() == {"plain-offsets-write"}
        counts, _ = judged({SHARED: [*copied, *again], OWN: left}, **sessions)
        assert "offset-not-taken-over" in counts, "169 was written nowhere"


def test_the_last_offset_of_a_topic_that_was_left_is_the_last_one_of_its_log_however_soon_it_came():
    own = records("1.0 169", "plain 181", time=100_000)
    back = [*records("plain 181", time=100_030), *records("1.1 191", first=1, time=139_000)]
    assert judged({SHARED: back, OWN: own}, p1=[0, 1])[0].keys() == {"plain-offsets-write"}
    early = [*records("plain 175", time=100_030), *records("1.1 191", first=1, time=139_000)]
    assert "offset-not-taken-over" in judged({SHARED: early, OWN: own}, p1=[0, 1])[0]


def test_a_way_back_while_exactly_once_was_off_to_a_topic_that_knew_no_transaction_goes_on_from_the_plain_writes():
    own = records("1.0 147", "plain 160", time=100_000)
    back = [*records("plain 160", time=100_030), *records("plain 175", first=1, time=115_000)]
    again = records("1.1 175", first=2, time=139_000)
    counts, _ = judged({SHARED: [*back, *again], OWN: own}, p1=[0, 1])
    assert "offset-not-taken-over" not in counts
    older = [*records("plain 150", time=100_030), *again]
    assert "offset-not-taken-over" in judged({SHARED: older, OWN: own}, p1=[0, 1])[0], "a copy that lags"


def test_a_connector_is_back_in_the_workers_topic_only():
    """What is plain in its own topic has overtaken what it left in the workers'."""
    shared = [*records("1.0 100", time=80_000), *records("1.1 137", first=1, time=100_000)]
    own = [*records("1.1 100", time=90_000), *records("plain 169", first=1, time=115_000)]
    again = records("1.2 169", first=3, time=139_000)
    counts, _ = judged({SHARED: shared, OWN: [*own, *again]}, p1=[0, 1, 2])
    assert counts == {"plain-offsets-write": 1, "offset-not-taken-over": 1}


def test_plain_copies_in_the_workers_topic_are_ordinary_only_since_the_connector_has_its_own():
    plain = records("1.0 1", "plain 2", time=1000)
    assert judged({SHARED: plain, OWN: records("1.1 1", time=1002)}, p1=[0, 1])[0] == {}
    assert judged({SHARED: plain, OWN: records("1.1 2", time=9000)}, p1=[0, 1])[0] == {"plain-offsets-write": 1}


def test_a_way_back_to_the_workers_topic_is_compared_too():
    own = records("1.0 500", time=1000)
    assert judged({SHARED: records("1.1 499", time=20_000), OWN: own})[0] == {"offset-not-taken-over": 1}
    assert judged({SHARED: records("1.1 500", time=20_000), OWN: own}) == ({}, [0])
    assert judged({SHARED: records("1.1 500", time=500), OWN: own})[0] == {}


def test_a_key_with_a_value_in_two_partitions_of_a_topic():
    other = TopicPartition("connect-offsets", 1)
    live, gone = records("1.0 1", time=2000), records("1.0 1", "1.0 -", time=100)
    assert judged({SHARED: records("1.0 1"), other: live})[0] == {"key-in-two-partitions": 1}
    assert judged({SHARED: gone, other: live})[0] == {}


@pytest.mark.parametrize(
    ("stray", "time", "more"),
    [
        ("plain 900", 1500, {"plain-offsets-write": 1}),
        ("plain 2", 1500, {"plain-offsets-write": 1, "offset-set-back": 1}),
        ("plain 2", 500, {}),
        ("2.0 2", 1500, {"offset-set-back": 1}),
        ("2.0 900", 1500, {}),
        ("2.0 2", 500, {}),
    ],
)
def test_a_write_in_another_partition_is_held_against_the_key_as_one_in_its_own(stray, time, more):
    """A producer that does not partition as Java's does, V12; the connector goes on meanwhile."""
    other = TopicPartition("connect-offsets", 1)
    home = [*records("1.0 5", "1.0 6", time=1000), *records("1.0 7", first=2, time=2000)]
    assert judged({SHARED: home, other: records(stray, time=time)})[0] == {"key-in-two-partitions": 1, **more}


def test_two_keys_that_are_the_same_json():
    one = records("1.0 1", key=b'["orders",{"x":1,"y":2}]')
    other = records("1.0 1", key=b'["orders", {"y":2,"x":1}]', first=9)
    assert judged({SHARED: one + other})[0] == {"logical-duplicates": 1}


@pytest.mark.parametrize("key", [None, b"", b"no json", b"[1]", b'{"a":1}', b'["orders"]', b'[1,{"a":1}]'])
def test_a_key_of_no_source_partition_is_malformed(key):
    assert judged({SHARED: records("1.0 1", key=key)})[0] == {"malformed-offsets-key": 1}


WRITERS = st.sampled_from(["1.0", "1.1", "1.2", "2.0", "2.5", "plain"])
VALUES = st.sampled_from(["-", "1", "2", "3", "broken", "10"])
HISTORIES = st.lists(st.tuples(WRITERS, VALUES, st.sampled_from([KEY, b"k", None])), min_size=1, max_size=60)


def of_history(history: list[tuple[str, str, bytes | None]]) -> list[Record]:
    return [
        records(f"{writer} {value}", first=offset, time=offset, key=key)[0]
        for offset, (writer, value, key) in enumerate(history)
    ]


@given(HISTORIES, st.lists(st.integers(0, 60), max_size=5))
def test_any_ranges_give_the_same_states(history, cuts):
    found = of_history(history)
    merged: dict[bytes | None, KeyState] = {}
    for start, end in pairwise([0, *sorted(cuts), 60]):
        merge_all(merged, scan(found[start:end]), decode_json)
    assert merged == scan(found)


@given(HISTORIES, st.integers(0, 60), st.integers(0, 60))
def test_merging_is_associative(history, one, other):
    found = of_history([(writer, value, KEY) for writer, value, _ in history])
    low, high = sorted((one, other))
    states = [scan(part).get(KEY) for part in (found[:low], found[low:high], found[high:])]
    if all(states):
        a, b, c = (state for state in states if state is not None)
        left = merge_keys(merge_keys(a, b, decode_json), c, decode_json)
        assert left == merge_keys(a, merge_keys(b, c, decode_json), decode_json)
        assert decode_audit_state(encode_audit_state(left), KeyState) == left
