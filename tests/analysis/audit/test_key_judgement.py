"""What the states of keys say of a connector, and which plain writes are copies of its own topic."""

import pytest

from eosctl.analysis.audit.key_judgement import (
    SKEW_MS,
    KeyAnomalyKind,
    KeyJudgementInputs,
    KeyStores,
    Placed,
    PlacedWrite,
    change_at,
    judge_keys,
    judge_strays,
    shown,
    stores_of_keys,
    summarize_keys,
    written_at,
)
from eosctl.analysis.audit.key_scan import KEPT_RESTARTS
from eosctl.analysis.audit.sessions import Sessions
from eosctl.codecs.ledger import decode_json, read_offsets_key
from eosctl.model.audit import ConnectorKeys, KeySummary, OffsetsWrite
from eosctl.model.audit_states import Write
from eosctl.model.names import TopicPartition
from tests.analysis.audit.test_key_scan import NEXT, SHOP, START, WITHIN
from tests.analysis.audit.test_keys import KEY, OWN, SHARED, Record, records, scan

SECOND = TopicPartition(SHARED.topic, 1)
INPUTS = KeyJudgementInputs(frozenset({OWN.topic}), Sessions({}), read_offsets_key, decode_json)
OTHER_KEY = b'["orders",{"table":"b"}]'


def write(at: int, *, plain: bool = False, offset: int = 0, value: bytes | None = b"1") -> Write:
    return Write(offset, at, value, *((-1, -1, False) if plain else (7, 0, True)))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "tombstone"), (b"", ""), (b"1" * 200, "1" * 200), (b"1" * 201, "1" * 200), (b"\xff", "\\xff")],
)
def test_a_write_is_shown_by_its_place_and_the_beginning_of_its_value(value, text):
    assert shown(SHARED, write(0, offset=4, value=value)) == f"connect-offsets-0@4: {text}"


def test_only_a_transactional_write_has_a_transaction_to_look_up():
    assert written_at(SHARED, write(0, offset=4)) == OffsetsWrite("connect-offsets", 0, 4, 7)
    assert written_at(SHARED, write(0, plain=True)) is None
    key, was, now = read_offsets_key(KEY), PlacedWrite(SHARED, write(1, plain=True)), PlacedWrite(SECOND, write(2))
    found = change_at(KeyAnomalyKind.SET_BACK, key, was, now, " and more")
    assert (found.was, found.now) == (None, OffsetsWrite("connect-offsets", 1, 0, 7))
    assert (found.partition, found.timestamp, found.before) == (1, 2, "connect-offsets-0@0: 1")
    assert found.after == "connect-offsets-1@0: 1 and more"


def summary(**placed: list[Record]) -> KeySummary:
    places = {"shared": SHARED, "second": SECOND, "own": OWN}
    return summarize_keys({places[name]: scan(found).values() for name, found in placed.items()}, INPUTS)


@pytest.mark.parametrize(
    ("texts", "begun", "upgraded"),
    [
        (["1.0 1"], 1000, None),
        (["plain 1"], None, None),
        (["plain 1", "1.0 2"], 1001, 1001),
        (["1.0 1", "plain 2"], 1000, None),
        (["plain 1", "1.0 2", "plain 3"], 1001, 1001),
    ],
)
def test_a_key_was_upgraded_whose_first_write_in_a_transaction_follows_plain_ones(texts, begun, upgraded):
    [found] = summary(shared=records(*texts)).connectors
    assert (found.connector, found.first_transactional, found.upgraded) == ("orders", begun, upgraded)


def test_a_connector_has_the_figures_of_all_its_keys():
    one = records("plain 1", "1.0 2", "1.0 -", time=5_000)
    other = records("plain 1", "2.0 2", first=9, time=2_000, key=OTHER_KEY)
    third = records("3.0 -", time=3_000, key=b'["orders",{"table":"c"}]')
    for places in ({"shared": [*one, *other], "second": third}, {"shared": third, "second": [*other, *one]}):
        [found] = summary(**places).connectors
        assert found == ConnectorKeys("orders", 3, 6, 2, (1, 2, 3), 2_001, 5_001, 5_002)


def test_the_last_writes_in_transactions_are_looked_up():
    found = summary(shared=[*records("1.0 1", "1.0 2"), *records("plain 1", first=5, key=OTHER_KEY)])
    assert found.latest == (OffsetsWrite("connect-offsets", 0, 1, 1),)
    assert found.counts == ()


def test_malformed_keys_are_those_of_no_connector():
    found = summary(shared=[*records("1.0 1", key=b"no json"), *records("1.0 1", first=5)])
    assert [each.connector for each in found.connectors] == [None, "orders"]
    assert found.counts == (("malformed-offsets-key", "", 1),)


@pytest.mark.parametrize(
    ("at", "plain", "place", "is_copy"),
    [
        (100_000 - SKEW_MS, True, SHARED, True),
        (100_000 - SKEW_MS - 1, True, SHARED, False),
        (100_001 + SKEW_MS, True, SHARED, True),
        (100_001 + SKEW_MS + 1, True, SHARED, False),
        (100_000, False, SHARED, False),
        (100_000, True, OWN, False),
    ],
)
@pytest.mark.parametrize("own", ["1.0", "plain"])
def test_a_plain_write_in_the_worker_s_topic_is_a_copy_while_the_connector_commits_to_its_own(
    own, at, plain, place, is_copy
):
    placed = [
        Placed(SHARED, scan(records("1.0 1", time=1_000))[KEY]),
        Placed(OWN, scan(records(f"{own} 1", f"{own} 2", time=100_000))[KEY]),
    ]
    stores = KeyStores(placed, frozenset({OWN.topic}), Sessions({}))
    assert stores.is_copy_of_own(place, write(at, plain=plain)) is is_copy
    nowhere = KeyStores(placed, frozenset(), Sessions({}))
    assert not nowhere.is_copy_of_own(place, write(at, plain=plain))


@pytest.mark.parametrize(("begun", "continues"), [(100_000, []), (150_000, [2])])
def test_plain_writes_after_the_last_commit_to_its_own_topic_are_a_way_back_unless_they_began_as_copies(
    begun, continues
):
    """The connector went on from them where the worker wrote them while exactly-once was off."""
    plain = [*records("plain 5", time=begun), *records("plain 6", first=1, time=200_000)]
    back = scan([*plain, *records("1.0 9", first=2, time=300_000)])[KEY]
    own = scan(records("1.0 1", "1.0 2", time=100_000))[KEY]
    stores = KeyStores([Placed(SHARED, back._replace(runs=())), Placed(OWN, own)], frozenset({OWN.topic}), Sessions({}))
    changed = [each.now.write.offset for each in stores.changes()]
    assert changed == ([] if continues else [2])


def test_plain_writes_count_behind_the_first_commit_where_a_key_has_several_stores():
    texts = ("plain 1", "1.0 2", "plain 3")
    placed = [
        Placed(SHARED, scan(records(*texts))[KEY]),
        Placed(OWN, scan(records("1.0 1", time=90_000))[KEY]),
    ]
    stores = KeyStores(placed, frozenset({OWN.topic}), Sessions({}))
    assert [(each.first.offset, each.records) for each in stores.plain_after(SHARED)] == [(2, 1)]
    never = KeyStores([Placed(SHARED, scan(records("plain 1"))[KEY]), placed[1]], frozenset({OWN.topic}), Sessions({}))
    assert never.plain_after(SHARED) == ()


LSN, FORMLESS = '{"snapshot":true,"lsn":%d}', '{"snapshot":true,"rows":%d}'


@pytest.mark.parametrize(
    ("writers", "values", "began", "kinds"),
    [
        (("1.0", "2.0"), (LSN % 1, LSN % 2), (), ["snapshot-begun-again"]),
        (("1.0", "2.0"), (FORMLESS % 1, FORMLESS % 2), (), ["snapshot-unclear"]),
        (("1.0", "1.1"), (LSN % 1, LSN % 2), (1,), ["snapshot-begun-again"]),
        (("1.0", "1.1"), (LSN % 1, LSN % 2), (), []),
        (("1.0", "2.0"), (LSN % 2, LSN % 1), (), ["snapshot-begun-again"]),
        (("1.0", "1.1"), (LSN % 2, LSN % 1), (), ["offset-set-back"]),
        (("1.0", "2.0"), (LSN % 1, '{"snapshot":"last","lsn":2}'), (), []),
    ],
)
def test_an_unfinished_snapshot_that_another_session_began_again_is_no_setback(writers, values, began, kinds):
    first, second = (f"{writer} {value}" for writer, value in zip(writers, values, strict=True))
    written = [*records(first), *records(second, first=1, time=9_000)]
    inputs = INPUTS._replace(sessions=Sessions({1: began}))
    found = judge_keys(read_offsets_key(KEY), [Placed(SHARED, scan(written)[KEY])], inputs)
    assert [each.kind for each in found.suspicions] == kinds


@pytest.mark.parametrize(
    ("texts", "began", "kinds"),
    [
        ((f"1.1 {START}", f"1.1 {WITHIN % 6}"), (1,), []),
        ((f"1.1 {START}", f"1.1 {WITHIN % 5}"), (1,), []),
        ((f"1.1 {START}", f"1.1 {NEXT}"), (1,), []),
        ((f"1.1 {START}", f"1.2 {NEXT}"), (1,), []),
        ((f"2.0 {START}", f"2.0 {NEXT}"), (), []),
        ((f"1.1 {START}",), (1,), ["offset-set-back-unclear"]),
        ((f"1.1 {START}", f"1.1 {START}"), (1,), ["offset-set-back-unclear"]),
        ((f"1.1 {START}", "1.1 -"), (1,), ["offset-set-back-unclear"]),
        ((f"1.1 {START}", '1.1 {"file":"b","pos":4,"gtids":"of-another-form"}'), (1,), ["offset-set-back-unclear"]),
        ((f"1.1 {START}", f"1.1 {NEXT}"), (), ["offset-set-back-unclear"]),
        ((f"1.1 {START}", f"1.1 {WITHIN % 4}"), (1,), ["transaction-read-again"]),
        ((f"1.1 {START}", f"1.2 {NEXT}"), (1, 2), ["transaction-read-again"]),
        ((f"1.1 {START}", f"2.0 {WITHIN % 9}"), (1,), ["transaction-read-again"]),
        ((f"1.1 {START}", f"1.2 {START}", f"1.2 {WITHIN % 9}"), (1, 2), ["transaction-read-again"]),
    ],
)
def test_a_restart_within_a_database_s_transaction_is_no_setback_where_its_session_went_on_behind_it(
    texts, began, kinds
):
    inputs = INPUTS._replace(sessions=Sessions({1: began}))
    placed = [Placed(SHARED, scan(records(f"1.0 {WITHIN % 5}", *texts, key=SHOP))[SHOP])]
    found = judge_keys(read_offsets_key(SHOP), placed, inputs).suspicions
    assert [each.kind for each in found if each.kind != "offset-repeated"] == kinds


@pytest.mark.parametrize("more", [0, 1])
def test_restarts_beyond_those_that_are_kept_are_unclear(more):
    texts = [text for _ in range(KEPT_RESTARTS + more) for text in (f"1.0 {WITHIN % 5}", f"2.0 {START}", f"2.0 {NEXT}")]
    placed = [Placed(SHARED, scan(records(*texts, key=SHOP))[SHOP])]
    found = judge_keys(read_offsets_key(SHOP), placed, INPUTS).suspicions
    assert [each.kind for each in found if "unclear" in each.kind] == ["offset-set-back-unclear"] * more


@pytest.mark.parametrize(("at", "left"), [(1_000, SHARED), (1_000 + SKEW_MS, SHARED), (1_001 + SKEW_MS, SECOND)])
def test_a_plain_write_in_another_partition_was_the_last_one_where_its_time_is_later_than_clocks_differ(at, left):
    placed = [
        Placed(SHARED, scan(records("1.0 1", first=5))[KEY]),
        Placed(SECOND, scan(records("plain 2", time=at))[KEY]),
        Placed(OWN, scan(records("2.0 9", time=90_000))[KEY]),
    ]
    [found] = KeyStores(placed, frozenset({OWN.topic}), Sessions({})).changes()
    assert (found.was.place, found.now.place) == (left, OWN)


@pytest.mark.parametrize(("at", "value"), [(89_999, b'{"position":6}'), (90_000, b'{"position":5}')])
def test_of_plain_writes_that_go_on_after_a_move_the_first_is_what_was_left(at, value):
    left = [*records("1.0 1"), *records("plain 5", first=1, time=10_000), *records("plain 6", first=2, time=at)]
    placed = [
        Placed(SHARED, scan(left)[KEY]._replace(runs=())),
        Placed(OWN, scan(records("2.0 9", time=90_000))[KEY]),
    ]
    [found] = KeyStores(placed, frozenset({OWN.topic}), Sessions({})).changes()
    assert found.was.write.value == value


def test_a_way_back_over_the_task_s_own_writes_is_none_over_plain_ones():
    first = [*records("1.0 1"), *records("1.0 5", first=1, time=200_000)]
    placed = [
        Placed(SHARED, scan([*first, *records("2.0 9", first=2, time=300_000)])[KEY]),
        Placed(OWN, scan(records("3.0 2", time=100_000))[KEY]),
    ]
    found = KeyStores(placed, frozenset({OWN.topic}), Sessions({})).changes()
    assert [(each.now.place, each.now.write.offset) for each in found] == [(OWN, 0), (SHARED, 2)]


@pytest.mark.parametrize(("later_ms", "changed"), [(SKEW_MS, [2]), (SKEW_MS + 1, [])])
def test_plain_writes_are_a_way_back_where_they_are_later_than_clocks_differ(later_ms, changed):
    plain = records("plain 6", first=1, time=100_000 + later_ms)
    placed = [
        Placed(SHARED, scan([*plain, *records("1.0 9", first=2, time=300_000)])[KEY]),
        Placed(OWN, scan(records("1.0 2", time=100_000))[KEY]),
    ]
    found = KeyStores(placed, frozenset(), Sessions({})).changes()
    assert [each.now.write.offset for each in found] == changed


def test_only_keys_in_several_topics_have_several_stores():
    one, other = scan(records("1.0 1"))[KEY], scan(records("1.0 1", key=OTHER_KEY))[OTHER_KEY]
    placed = [Placed(SHARED, one), Placed(SECOND, one), Placed(SHARED, other), Placed(OWN, other)]
    assert set(stores_of_keys(placed, frozenset(), Sessions({}))) == {OTHER_KEY}


PLAIN, BACK = "plain-offsets-write", "offset-set-back"
THIRD = TopicPartition(SHARED.topic, 2)
HOME = [("1.0 5", 1_000), ("1.0 9", 2_000)]
"""What the connector's task wrote to its own partition."""


def placed_at(place: TopicPartition, written: list[tuple[str, int]], key: bytes = KEY) -> Placed:
    found = [each for at, (text, time) in enumerate(written) for each in records(text, first=at, time=time, key=key)]
    return Placed(place, scan(found)[key])


@pytest.mark.parametrize(
    ("home", "elsewhere", "found"),
    [
        (HOME, [("plain 12", 50_000)], [(PLAIN, 1, 0)]),
        (HOME, [("plain 7", 50_000)], [(PLAIN, 1, 0), (BACK, 1, 0)]),
        (HOME, [("plain 7", 1_000)], []),
        (HOME, [("plain 3", 1_001)], [(PLAIN, 1, 0), (BACK, 1, 0)]),
        (HOME, [("plain 7", 2_000)], [(PLAIN, 1, 0)]),
        (HOME, [("plain 7", 2_001)], [(PLAIN, 1, 0), (BACK, 1, 0)]),
        (HOME, [("plain 7", 500)], []),
        (HOME, [("plain 1", 500), ("plain 12", 50_000)], [(PLAIN, 1, 1)]),
        (HOME, [("plain 12", 50_000), ("2.0 13", 60_000)], []),
        (HOME, [("2.0 12", 50_000)], []),
        (HOME, [("2.0 7", 50_000)], [(BACK, 1, 0)]),
        (HOME, [("2.0 7", 500)], []),
        ([("1.0 9", 1_000)], [("2.0 3", 50_000)], [(BACK, 1, 0)]),
        ([("1.0 3", 50_000)], [("2.0 9", 1_000)], [(BACK, 0, 0)]),
        ([("plain 3", 50_000)], [("2.0 9", 1_000)], [(PLAIN, 0, 0), (BACK, 0, 0)]),
        ([("plain 9", 1_000)], [("plain 3", 50_000)], []),
        ([("1.0 5", 90_000), ("1.0 9", 1_000)], [("2.0 12", 95_000)], []),
    ],
)
def test_a_write_in_another_partition_than_the_task_s_is_plain_or_lower_than_what_the_task_wrote_before(
    home, elsewhere, found
):
    both = [placed_at(SHARED, home), placed_at(SECOND, elsewhere)]
    key = read_offsets_key(KEY)
    assert [(each.kind, each.partition, each.offset) for each in judge_strays(key, both, decode_json)] == found
    apart = [both[0], both[1]._replace(place=OWN)]
    assert list(judge_strays(key, apart, decode_json)) == []
    spaced = b'["orders", {"table":"a"}]'
    beside = [*both, placed_at(THIRD, [("plain 1", 99_000)], spaced), placed_at(OWN, [("plain 1", 99_000)])]
    assert [(each.kind, each.partition, each.offset) for each in judge_strays(key, beside, decode_json)] == found


@pytest.mark.parametrize(
    ("shared", "second", "kind", "at"),
    [
        (2_000, 1_000, "key-in-two-partitions", 1),
        (1_000, 2_000, "key-in-two-partitions", 0),
    ],
)
def test_of_two_values_the_older_one_is_reported(shared, second, kind, at):
    placed = [
        Placed(SHARED, scan(records("1.0 1", time=shared))[KEY]),
        Placed(SECOND, scan(records("1.0 1", time=second))[KEY]),
    ]
    [found] = judge_keys(read_offsets_key(KEY), placed, INPUTS).anomalies
    assert (found.kind, found.partition) == (kind, at)
