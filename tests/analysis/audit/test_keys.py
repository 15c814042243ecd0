"""Offsets by key: verdicts, producers' sessions, who writes, and how a run goes on from another."""

from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import Advance, BatchWriter, compare_offsets
from eosctl.analysis.audit.key_judgement import KeyJudgementInputs, Placed, circumstances, judge_keys, resolve
from eosctl.analysis.audit.key_scan import (
    PLAIN_PAUSE_MS,
    RESTART_MS,
    KeyScan,
    begins_run,
    merge_all,
    merge_keys,
)
from eosctl.analysis.audit.owners import Writers, find_writers
from eosctl.analysis.audit.sessions import (
    Sessions,
    SessionScan,
    beginnings,
    join_intervals,
    merge_producers,
    raised_epochs,
    without_raised,
)
from eosctl.codecs.ledger import decode_audit_state, decode_json, encode_audit_state, read_offsets_key
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    CommittedData,
    ConfigSummary,
    ConnectorHistory,
    ConnectorKeys,
    KeyAnomaly,
    KeySummary,
    OffsetsWrite,
    OutputPart,
    TopicRole,
)
from eosctl.model.audit_states import KeyState, ProducerState, Write
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionalIdHolder
from tests.analysis.audit.test_scan import header

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
    """Counts by kind, and offsets of anomalies that count only with data. p1=[3]: producer 1 began a session with
    epoch 3."""
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
def test_writes_of_one_key_show_restarts_and_zombies(texts, counts, suspected):
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


def test_a_way_back_by_hand_continues_from_what_the_worker_copied_and_from_nothing_later():
    shared = records("1.0 100", time=100_000)
    own = records("1.1 100", "1.2 200", time=120_000)
    copied, back = records("plain 200", first=1, time=120_002), records("1.3 210", first=2, time=150_000)
    sessions = {"p1": [0, 1, 2, 3]}
    assert judged({SHARED: [*shared, *copied, *back], OWN: own}, **sessions)[0] == {}
    assert judged({SHARED: [*shared, *back], OWN: own}, **sessions)[0] == {"offset-not-taken-over": 1}


def test_a_way_back_while_exactly_once_was_off_continues_from_the_plain_writes_there():
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


def test_a_way_back_while_exactly_once_was_off_to_a_topic_that_knew_no_transaction_continues_from_the_plain_writes():
    own = records("1.0 147", "plain 160", time=100_000)
    back = [*records("plain 160", time=100_030), *records("plain 175", first=1, time=115_000)]
    again = records("1.1 175", first=2, time=139_000)
    counts, _ = judged({SHARED: [*back, *again], OWN: own}, p1=[0, 1])
    assert "offset-not-taken-over" not in counts
    older = [*records("plain 150", time=100_030), *again]
    assert "offset-not-taken-over" in judged({SHARED: older, OWN: own}, p1=[0, 1])[0], "a copy that lags"


def test_a_connector_is_back_in_the_workers_topic_only():
    """A plain write in its own topic has overtaken its earlier position in the workers' topic."""
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


@pytest.mark.parametrize("again", [400, 500])
def test_a_first_write_after_a_change_of_the_store_is_no_setback_and_no_repeat_within_its_topic_too(again):
    """One event counts once: the own topic held 500 when the connector came back to it from 600 in the worker's."""
    own = [*records("1.0 500", time=100_000), *records(f"1.2 {again}", first=1, time=140_000)]
    placed = {OWN: own, SHARED: records("1.1 600", time=120_000)}
    assert judged(placed, p1=[0, 1, 2]) == ({"offset-not-taken-over": 2}, [])


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
    """A producer without Java's partitioner, V12; the connector continues meanwhile."""
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


def history_of(seed: int) -> list[Record]:
    """Writes of three keys, mostly of one, by producers that come and go.

    Drawn by Random: hypothesis takes longer to draw sixty of these than the tests take with them.
    """
    drawn = Random(seed)
    writers, values = ["1.0", "1.1", "1.2", "2.0", "2.5", "plain"], ["-", "1", "2", "3", "broken", "10"]
    found, time = list[Record](), 0
    for offset in range(drawn.randint(1, 30)):
        time += drawn.choice([0, 19, 20, 199, 200])
        text = f"{drawn.choice(writers)} {drawn.choice(values)}"
        found += records(text, first=offset, time=time, key=drawn.choice([KEY, KEY, KEY, b"k", None]))
    return found


SEEDS = st.integers(0, 2**32)


def merged(*parts: list[Record]) -> dict[bytes | None, KeyState]:
    into: dict[bytes | None, KeyState] = {}
    for part in parts:
        merge_all(into, scan(part), decode_json)
    return into


@given(SEEDS)
@settings(max_examples=40)
def test_any_ranges_give_the_same_states(seed: int) -> None:
    found = history_of(seed)
    whole = scan(found)
    for cut in range(len(found) + 1):
        middle = cut // 2
        assert merged(found[:cut], found[cut:]) == whole
        assert merged(found[:middle], found[middle:cut], found[cut:]) == whole


@given(SEEDS, st.integers(0, 30), st.integers(0, 30))
def test_merging_is_associative(seed: int, one: int, other: int) -> None:
    found = [each._replace(key=KEY) for each in history_of(seed)]
    low, high = sorted((one, other))
    states = [scan(part).get(KEY) for part in (found[:low], found[low:high], found[high:])]
    if all(states):
        a, b, c = (state for state in states if state is not None)
        left = merge_keys(merge_keys(a, b, decode_json), c, decode_json)
        assert left == merge_keys(a, merge_keys(b, c, decode_json), decode_json)
        assert decode_audit_state(encode_audit_state(left), KeyState) == left


def test_a_zombie_that_comes_back_within_a_later_range_is_held_against_the_writer_before_it_there():
    """The last writer of the earlier range is the zombie itself: held against that, it would never have gone."""
    found = records("1.0 1", "2.0 2", "1.0 3")
    [zombie] = merged(found[:1], found[1:])[KEY].returns
    assert (zombie.producer_id, zombie.other, zombie.other_offset, zombie.offset) == (1, 2, 1, 2)


def test_who_writes_without_a_producer_id_before_and_behind_a_cut_is_no_zombie():
    """A non-idempotent producer has the ID -1, like every other such producer: none of them came back."""
    found = records("plain 1", "2.0 2", "plain 3")
    for cut in range(1, 3):
        assert merged(found[:cut], found[cut:])[KEY].returns == ()


def written(producer_id: int, epoch: int, time: int, *, transactional: bool = True) -> Write:
    return Write(0, time, b"1", producer_id, epoch, transactional)


@pytest.mark.parametrize(
    ("before", "after", "begins"),
    [
        (written(1, 3, 0), written(1, 3, 10_000), False),
        (written(1, 3, 0), written(1, 4, RESTART_MS - 1), False),
        (written(1, 3, 0), written(1, 4, RESTART_MS), True),
        (written(1, 3, 0), written(2, 3, 0), True),
        (written(-1, -1, 0, transactional=False), written(-1, -1, PLAIN_PAUSE_MS - 1, transactional=False), False),
        (written(-1, -1, 0, transactional=False), written(-1, -1, PLAIN_PAUSE_MS, transactional=False), True),
        (written(1, 3, 0), written(1, 3, 0, transactional=False), True),
        (written(1, 3, 0, transactional=False), written(1, 3, 0), True),
    ],
)
def test_a_run_begins_where_a_task_may_have_started(before: Write, after: Write, begins: bool):
    """Kafka 4 raises the epoch with each transaction (KIP-890): were each a run, a busy key would have millions."""
    assert begins_run(before, after) is begins


ALTERING, BEFORE_IT = OffsetsWrite("connect-offsets", 0, 9, 7), OffsetsWrite("connect-offsets", 0, 8, 6)


def suspicion(kind: str, timestamp: int = 1000) -> KeyAnomaly:
    key = '["orders",{"table":"a"}]'
    return KeyAnomaly(kind, "orders", "connect-offsets", 0, 9, timestamp, key, "", "", BEFORE_IT, ALTERING)


def parts(*topics: str) -> tuple[OutputPart, ...]:
    return tuple(OutputPart(each, 0, 0, 0, 1) for each in topics)


@pytest.mark.parametrize(
    ("starts", "resolved"),
    [
        ([(999, 0, "commit", 0)], "offsets-altered"),
        ([(1000, 0, "commit", 0)], "offsets-altered"),
        ([(1001, 0, "commit", 0)], "offset-set-back"),
        ([(998, 0, "commit", 0), (1000, 1, "commit", 2)], "offset-set-back"),
        ([(998, 0, "commit", 2), (999, 1, "commit", 0), (1000, 2, "fencing", 2)], "offsets-altered"),
        ([], "offset-set-back"),
    ],
)
def test_who_set_an_offset_back_of_a_connector_that_was_stopped_by_then_altered_it(starts, resolved):
    """Connect writes that the connector is stopped first, and both may come in the same millisecond."""
    history = ConnectorHistory("orders", True, True, tuple(starts))
    known = circumstances([CommittedData(ALTERING, ())], {7: ("orders",)}, [history])
    assert resolve(suspicion("offset-set-back"), known) == resolved


@pytest.mark.parametrize(
    ("written_before", "data", "owners"),
    [
        ((), (), {7: ("bills",)}),
        ((), (), {}),
        ((), ("orders",), {7: ("orders",)}),
        ((), None, {7: ("orders",)}),
    ],
)
def test_an_offset_that_a_stopped_connector_did_not_alter_itself_was_set_back(written_before, data, owners):
    """By another producer, beside data, or in a transaction whose data are unknown: unknown is never as wished."""
    committed = [] if data is None else [CommittedData(ALTERING, parts(*data))]
    history = ConnectorHistory("orders", True, True, ((999, 0, "commit", 0),))
    assert resolve(suspicion("offset-set-back"), circumstances(committed, owners, [history])) == "offset-set-back"


HEARTBEAT = "__debezium-heartbeat.shop"


@pytest.mark.parametrize(
    ("before", "again", "resolved"),
    [
        (("orders",), ("orders",), "offset-repeated"),
        (("orders", "bills"), ("bills",), "offset-repeated"),
        (None, ("orders",), "offset-repeated"),
        ((), ("orders",), "offset-repeated"),
        ((HEARTBEAT,), ("orders",), "offset-repeated"),
        (("orders",), ("bills",), None),
        (("orders",), (HEARTBEAT,), None),
        (("orders",), (), None),
        (("orders",), None, None),
    ],
)
def test_an_offset_repeated_with_data_was_read_again_unless_its_data_went_elsewhere(before, again, resolved):
    """If the data of the first write are unknown, they may have been the same: unknown is not fine."""
    known = {BEFORE_IT: before, ALTERING: again}
    committed = [CommittedData(each, parts(*data)) for each, data in known.items() if data is not None]
    assert resolve(suspicion("offset-repeated"), circumstances(committed, {}, [])) == resolved


DATA, COMMIT, ABORT, PLAIN = "data", "commit", "abort", "plain"


class Step(NamedTuple):
    """A batch or marker with its epoch."""

    kind: str
    epoch: int


def session_of(steps: list[Step], first: int = 0) -> ProducerState | None:
    found = SessionScan()
    for offset, (kind, epoch) in enumerate(steps, first):
        if kind in {DATA, PLAIN}:
            attributes = 0x10 if kind == DATA else 0
            found.writer(header(offset, offset, time=offset)._replace(producer_epoch=epoch, attributes=attributes))
        else:
            found.mark(1, epoch, committed=kind == COMMIT)
    return next(iter(found.states()), None)


def steps_of(text: str) -> list[Step]:
    """d5 c6: data of epoch 5, a marker that commits with epoch 6; a aborts, p is outside any transaction."""
    kinds = {"d": DATA, "c": COMMIT, "a": ABORT, "p": PLAIN}
    return [Step(kinds[each[0]], int(each[1:])) for each in text.split()]


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("d0 c0 d0 c0", [0]),
        ("d0 c0 d1 c1", [0, 1]),
        ("d0 c1 d1 c2 d2 c3", [0]),
        ("d0 c1 d1 c2 d4 c5", [0, 4]),
        ("d0 a1 d2 c2", [0, 2]),
        ("d0 a1 d1 c2", [0, 1]),
        ("c7 d7 c8", [7]),
        ("p0 p0", [0]),
        ("p0 c1 d1", [0]),
    ],
)
def test_a_session_begins_with_an_epoch_that_no_commit_raised_to(text, begun):
    state = session_of(steps_of(text))
    assert state is not None
    assert [start.producer_epoch for start in beginnings(state, raised_epochs([state]))] == begun


def test_a_commit_in_another_partition_explains_an_epoch():
    here, there = session_of(steps_of("d0 c1 d3 c4 d7 c8")), session_of(steps_of("d1 c2 d2 c3 d5"))
    assert here is not None
    assert there is not None
    raised = raised_epochs([here, there])
    assert [start.producer_epoch for start in here.starts] == [3, 7]
    assert [start.producer_epoch for start in beginnings(here, raised)] == [0, 7]
    assert [start.producer_epoch for start in without_raised(here, raised).starts] == [7]
    assert [start.producer_epoch for start in beginnings(there, raised)] == [5]


TRANSACTIONS = st.sampled_from(
    ["d0 c0", "d0 c1", "d1 c2", "d1 a2", "d2 c3", "d3 d3 c3", "d4 c5", "p2", "c4", "a4", "d5"]
)
SESSIONS = st.lists(TRANSACTIONS, max_size=5).map(lambda found: steps_of(" ".join(found)))


@given(SESSIONS, st.integers(0, 14))
def test_any_ranges_give_the_same_state(steps, other):
    for cut in range(len(steps) + 1):
        merged: ProducerState | None = None
        for start, end in pairwise([0, *sorted((cut, other)), 20]):
            state = session_of(steps[start:end], start)
            if state is not None:
                merged = state if merged is None else merge_producers(merged, state)
        assert merged == session_of(steps)


@given(SESSIONS, SESSIONS, SESSIONS)
def test_merging_sessions_is_associative(first, second, third):
    a, b, c = session_of(first), session_of(second, 20), session_of(third, 40)
    if a and b and c:
        assert merge_producers(merge_producers(a, b), c) == merge_producers(a, merge_producers(b, c))


def test_sessions_are_asked_by_epochs():
    sessions = Sessions({1: (7, 3)})
    asked = [(1, 3, 3), (1, 2, 3), (1, 3, 7), (1, 3, 6), (1, 7, 9), (2, 0, 9)]
    assert [sessions.began(*each) for each in asked] == [False, True, True, False, False, False]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_intervals_hold_the_same_numbers(one, other):
    joined = join_intervals([*((each, each) for each in one), *((each, each) for each in other)])
    assert {number for low, high in joined for number in range(low, high + 1)} == one | other
    assert all(before[1] + 1 < after[0] for before, after in pairwise(joined))


UNREAD = Skipped("no access")


def plan(holders: dict[int, str] | Skipped, group_id: str | None = "g") -> AuditPlan:
    held = holders if isinstance(holders, Skipped) else tuple(TransactionalIdHolder(*each) for each in holders.items())
    topics = (AuditedTopic("out", TopicRole.OUTPUT, connectors=("orders",)),)
    return AuditPlan(0, None, group_id, topics, (), (), connectors=("orders",), holders=held)


def writers(audited: AuditPlan, offsets: dict[str, tuple[int, ...]] | None = None, **earlier: int) -> Writers:
    """offsets: producer IDs that wrote them, by connector; of the config topic's history `gone` is left."""
    keys = tuple(ConnectorKeys(name, 1, 1, 0, found, 1, None, 1) for name, found in (offsets or {}).items())
    history = ConfigSummary((ConnectorHistory("gone", False, True, ()),))
    past = [TransactionalIdHolder(number, name.replace("_", "-")) for name, number in earlier.items()]
    return find_writers(audited, KeySummary(keys), history, past)


@pytest.mark.parametrize(
    ("transactional_id", "owner", "other"),
    [
        ("g-orders-0", "orders", False),
        ("g-gone-3", "gone", False),
        ("g-old-3", "old", False),
        ("elsewhere-orders-0", None, False),
        ("orders-11", None, False),
        ("g-orders-x", None, True),
        ("g-unheard-of-0", None, True),
        ("streams-1_0", None, True),
        ("connect-cluster-g", None, True),
    ],
)
def test_a_producer_id_is_that_of_the_transactional_id_that_holds_it(transactional_id, owner, other):
    found = writers(plan({7: transactional_id}), {"old": (9,)})
    assert found.owners.get(7) == (None if owner is None else (owner,))
    assert (7 in found.others) is other


def test_the_writer_of_offsets_is_the_connector_where_no_other_holder_of_the_id_is_shown():
    assert writers(plan({}), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())
    assert writers(plan(UNREAD), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())
    assert writers(plan({7: "elsewhere-orders-0"}), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())


def test_a_tool_that_copied_offsets_is_no_task():
    assert writers(plan({7: "copy-tool"}), {"orders": (7, 8)}) == Writers({8: ("orders",)}, frozenset({7}))


def test_the_transaction_log_knows_earlier_holders():
    found = writers(plan({}), g_orders_1=7, streams_app=8)
    assert found == Writers({7: ("orders",)}, frozenset({8}))


def test_without_a_group_id_nothing_that_ends_like_a_task_is_anothers():
    found = writers(plan({7: "g-orders-0", 8: "streams"}, None))
    assert found == Writers({}, frozenset({8}))


ADVANCED, SAME, BACK, UNCLEAR = Advance.ADVANCED, Advance.SAME, Advance.BACK, Advance.UNCLEAR


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"position": 3}, {"position": 4}, ADVANCED),
        ({"position": 3}, {"position": 3}, SAME),
        ({"position": 4}, {"position": 3}, BACK),
        ({"position": 4.5}, {"position": 4}, BACK),
        ({"file": 1, "position": 900}, {"file": 2, "position": 4}, ADVANCED),
        ({"file": "log.000001", "position": 900}, {"file": "log.000002", "position": 4}, ADVANCED),
        ({"file": "log.000002", "position": 4}, {"file": "log.000001", "position": 4}, BACK),
        ({"file": "log.9", "position": 900}, {"file": "log.10", "position": 4}, ADVANCED),
        ({"file": "log.09", "position": 900}, {"file": "log.1", "position": 4}, UNCLEAR),
        ({"gtid": "3e11fa47:1-117", "beat": 1}, {"gtid": "3e11fa47:1-97", "beat": 1}, BACK),
        ({"gtid": "3e11fa47:1-97"}, {"gtid": "3e11fa47:1-117"}, ADVANCED),
        ({"gtid": "3e11fa47:1-117"}, {"gtid": "9c80aa94:1-97"}, UNCLEAR),
        ({"file": "a", "position": 900}, {"file": "b", "position": 4}, UNCLEAR),
        ({"done": True, "position": 4}, {"done": False, "position": 4}, UNCLEAR),
        ({"done": True}, {"done": 0}, UNCLEAR),
        ({"position": 4, "snapshot": True}, {"position": 4}, UNCLEAR),
        ({"position": 4, "snapshot": True}, {"position": 3}, BACK),
        ({"position": 4}, {"position": 4, "event": 1}, UNCLEAR),
        ({}, {}, SAME),
        ([1], {"position": 1}, UNCLEAR),
        ({"position": 1}, None, UNCLEAR),
        ({"position": None}, {"position": 1}, UNCLEAR),
        # The members of a Debezium connector, and none of its source partitions: another connector's.
        ({"lsn": 90, "txId": 204}, {"lsn": 90, "txId": 184}, BACK),
        ({"file": "orders.csv", "pos": 90}, {"file": "orders.csv", "pos": 4}, BACK),
    ],
)
def test_an_offset_lies_behind_the_one_before_if_a_number_is_lower_none_is_higher_and_no_text_changed(
    before, after, expected
):
    assert compare_offsets(before, after, b'["c",{"p":0}]', decode_json) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Transactions of PostgreSQL come in the order of their commits, events of a later one may have a lower LSN.
        ({"lsn_commit": 90, "lsn": 190, "ts_usec": 5}, {"lsn_commit": 200, "lsn": 100, "ts_usec": 5}, ADVANCED),
        (
            {"lsn": 190, "messageType": "INSERT", "ts_usec": 5},
            {"lsn": 100, "messageType": "UPDATE", "ts_usec": 9},
            BACK,
        ),
        ({"lsn": 190}, {"lsn_commit": 100, "lsn": 120}, UNCLEAR),
        ({"file": "a.000009", "pos": 9}, {"lsn": 4}, UNCLEAR),
        ({"lsn": 4}, {"file": "a.000009", "pos": 9}, UNCLEAR),
        # After a failover the other server's binary log is another one, and its GTIDs tell.
        ({"file": "a.000009", "pos": 9, "gtids": "u:1-5"}, {"file": "a.000001", "pos": 4, "gtids": "u:1-9"}, ADVANCED),
        ({"file": "a.000009", "pos": 9, "gtids": "u:1-9"}, {"file": "a.000010", "pos": 4, "gtids": "u:1-5"}, BACK),
        ({"commit_lsn": "00000027:00000758:0003"}, {"commit_lsn": "00000027:00000758:000A"}, ADVANCED),
        ({"commit_lsn": "00000027:00000758:000A"}, {"commit_lsn": "00000027:00000758:0003"}, BACK),
    ],
)
def test_offsets_of_debezium_are_held_against_each_other_by_the_order_of_their_source(before, after, expected):
    key = b'["c",{"server":"shop","database":"shop"}]'
    assert compare_offsets(before, after, key, decode_json) is expected
