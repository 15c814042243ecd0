"""What the transaction log tells of the past, and how it settles what clocks leave open."""

import pytest

from eosctl.analysis.audit.history import fold_transaction_log_history
from eosctl.analysis.audit.owners import Owners
from eosctl.analysis.audit.transactions import JudgementInputs, join_parts, match_parts
from eosctl.model.audit import LoggedTransaction, TransactionalIdHolder
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState
from tests.analysis.audit.test_transactions import BENCH, DATA, DATA2, MINUTE, NOW, OFFSETS, OWNERS, kinds, parts, shape

STATES = {
    "e": TransactionState.EMPTY,
    "o": TransactionState.ONGOING,
    "c": TransactionState.PREPARE_COMMIT,
    "C": TransactionState.COMPLETE_COMMIT,
    "a": TransactionState.PREPARE_ABORT,
    "A": TransactionState.COMPLETE_ABORT,
}
PLACES = {"o": OFFSETS, "1": DATA, "2": DATA2}


def log(*texts: str, name: str = "group-orders-0", producer_id: int = 7) -> list[TransactionLogRecord]:
    """c0@500:o1: PrepareCommit with epoch 0 at 500 ms, of the offsets topic and the first partition of the data."""
    records = []
    for offset, text in enumerate(texts):
        epoch, rest = text[1:].split("@")
        time, _, letters = rest.partition(":")
        places = tuple(PLACES[each] for each in letters)
        producer = ProducerIdAndEpoch(producer_id, int(epoch))
        value = TransactionLogValue(0, producer, 60_000, STATES[text[0]], places or None, int(time), 0)
        records.append(TransactionLogRecord(3, offset, int(time), name, value))
    return records


def decided(*texts: str) -> tuple[LoggedTransaction, ...]:
    return fold_transaction_log_history(log(*texts), {7}).transactions


def test_every_holder_of_a_producer_id_that_was_asked_for_is_told():
    records = [
        *log("e0@1", "o0@2:o"),
        *log("e0@1", name="streams-1", producer_id=8),
        *log("e0@1", name="x", producer_id=9),
    ]
    tombstone = TransactionLogRecord(3, 9, 10, "group-orders-0", None)
    found = fold_transaction_log_history([*records, tombstone, NewerLogRecord(3, 10, 2)], {7, 8})
    assert found.holders == (TransactionalIdHolder(7, "group-orders-0"), TransactionalIdHolder(8, "streams-1"))


def test_a_transaction_is_what_its_coordinator_decided_in_the_session_that_it_is_of():
    found = decided("e4@1", "o4@2:o", "c4@3:o1", "C4@4", "o4@5:o", "a5@6:o2", "A5@7", "e6@8", "c6@9:o")
    assert found == (
        LoggedTransaction(7, 4, 2, 3, True, frozenset({OFFSETS, DATA}), 4),
        LoggedTransaction(7, 4, 5, 6, False, frozenset({OFFSETS, DATA2}), 7),
        LoggedTransaction(7, 6, 8, 9, True, frozenset({OFFSETS})),
    )


def test_a_session_whose_beginning_was_compacted_has_no_transactions():
    assert decided("c4@3:o1", "C4@4", "e5@5", "c5@6:o") == (LoggedTransaction(7, 5, 3, 6, True, frozenset({OFFSETS})),)


LONG_AGO = ("e0@0", "c0@10:o1", "C0@12", "c0@50:o2", "C0@52", "c0@90:o1", "C0@92")


@pytest.mark.parametrize(
    ("texts", "matched"),
    [
        ({"data": "d0@5 c0@11 d0@80 c0@91"}, [10, 90]),
        ({"data": "d0@5 c0@411 d0@80 c0@491"}, [10, 90]),
        ({"data": "d0@5 c0@11 d0@6 a0@7 d0@80 c0@91"}, [10, 90]),
        ({"data": "d0@80 c0@91"}, []),
        ({"data": "d0@5 c0@11 d0@80 c0@91 d0@95 c0@96"}, []),
        ({"data": "d0@5 c0@99999 d0@80 c0@99999"}, []),
        ({"data": "d1@5 c1@11 d1@80 c1@91"}, []),
        ({"data2": "d0@5 c0@11", "data": "d0@80 c0@91"}, [50]),
    ],
)
def test_parts_are_matched_where_none_is_missing(texts, matched):
    found = match_parts(parts(**texts), decided(*LONG_AGO), NOW)
    assert sorted(each.decided_ms for each in found.values()) == matched


def test_transactions_of_one_millisecond_are_two():
    found = parts(data="d0@5 c0@11 d0@11 c0@11")
    assert len(join_parts(found, match_parts(found, decided("e0@0", "c0@10:o1", "c0@10:o1"), NOW))) == 2


def test_what_was_decided_just_before_the_audit_may_still_lack_its_marker():
    logged = decided("e0@0", "c0@10:o1", "C0@12", "c0@50:o1")
    [(part, transaction)] = match_parts(parts(data="d0@5 c0@11"), logged, 55).items()
    assert (part.first, transaction.decided_ms) == (0, 10)


@pytest.mark.parametrize("late", ["offsets", "data"])
def test_a_marker_that_a_broker_was_too_long_gone_to_take_is_of_the_transaction_that_its_coordinator_decided(late):
    """Brokers before 4.3 write the marker of a partition without leader once it has one again, hours later maybe."""
    ends = {"offsets": 20, "data": 20, late: 40 * MINUTE}
    found = parts(offsets=f"d0@9 c0@{ends['offsets']}", data=f"d0@8 c0@{ends['data']}")
    assert {kind for kind, topic, _ in kinds(found) if topic == "orders-0"} == {"unclear"}
    whole = BENCH._replace(whole_since=20 * MINUTE)
    assert "data-without-offsets" not in {kind for kind, _, _ in kinds(parts(data=f"d0@8 c0@{40 * MINUTE}"), whole)}
    logged = {7: decided("e0@0", "c0@10:o1", f"C0@{40 * MINUTE + 1}")}
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    assert kinds(found, inputs) == []
    assert shape(join_parts(found, match_parts(found, logged[7], NOW))) == [["offsets-0@0", "orders-0@0"]]


@pytest.mark.parametrize(
    "texts",
    [
        {
            "offsets": f"d0@9 c0@20 d0@{4 * MINUTE} c0@{4 * MINUTE}",
            "data2": f"d0@{4 * MINUTE} c0@{4 * MINUTE}",
            "data": f"d0@8 c0@{9 * MINUTE}",
        },
        {"offsets": f"d0@9 c0@{40 * MINUTE}", "data2": f"d0@{4 * MINUTE} c0@{4 * MINUTE}", "data": "d0@8 c0@10"},
    ],
)
def test_data_is_without_offsets_where_another_transaction_ended_between_it_and_offsets_without_data(texts):
    assert ("data-without-offsets", "orders-0", 0) in kinds(parts(**texts))


def test_data_is_judged_where_the_transaction_before_it_ended_when_the_offsets_topics_were_whole():
    """However old the timestamps are that the source gave its records."""
    found = parts(data2=f"d0@1 c0@{10 * MINUTE}", data=f"d0@8 c0@{20 * MINUTE}")
    verdicts = kinds(found, BENCH._replace(whole_since=5 * MINUTE))
    assert verdicts == [("unjudged", "orders-1", 0), ("data-without-offsets", "orders-0", 0)]


def test_data_is_without_offsets_where_offsets_without_data_ended_before_it_began():
    found = parts(offsets="d0@9 c0@20", data=f"d0@{8 * MINUTE} c0@{9 * MINUTE}")
    assert ("data-without-offsets", "orders-0", 0) in kinds(found)


def test_a_partition_whose_marker_is_not_written_yet_is_matched_all_the_same():
    logged = decided("e0@0", "c0@10:o1", "C0@12", "c0@50:o1")
    assert len(match_parts(parts(data="d0@5 c0@11 d0@40"), logged, NOW)) == 1


APART = {"offsets": "d0@9 c0@60", "data": "d0@8 c0@10"}


def test_markers_of_different_clocks_are_unclear_without_the_log():
    assert kinds(parts(**APART)) == [("unclear", "orders-0", 0), ("offsets-without-data", "offsets-0", 0)]


@pytest.mark.parametrize(
    ("texts", "expected", "joined"),
    [
        (("e0@0", "c0@10:o1"), [], [["offsets-0@0", "orders-0@0"]]),
        (
            ("e0@0", "c0@10:1", "c0@60:o"),
            [("data-without-offsets", "orders-0", 0), ("offsets-without-data", "offsets-0", 0)],
            [["orders-0@0"], ["offsets-0@0"]],
        ),
    ],
)
def test_the_log_tells_whether_data_and_offsets_are_of_one_transaction(texts, expected, joined):
    logged = {7: decided(*texts)}
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    found = parts(**APART)
    assert kinds(found, inputs) == expected
    assert shape(join_parts(found, match_parts(found, logged[7], NOW))) == joined


def test_the_log_settles_data_whose_offsets_were_compacted_away():
    logged = {7: decided("e0@0", "c0@10:o1", "c0@60:o2", "c0@900:o2")}
    found = parts(offsets="c0@70 d0@800 c0@950", data="d0@8 c0@10")
    without = kinds(found)
    assert ("unclear", "orders-0", 0) in without
    inputs = BENCH._replace(logged=logged, offsets_topics=frozenset({"offsets"}))
    assert [each for each in kinds(found, inputs) if each[1] == "orders-0"] == []


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (OWNERS, "data-without-offsets"),
        (Owners({}, OWNERS.topics, frozenset({7})), "other-writer"),
        (Owners({}, OWNERS.topics), "unknown-writer"),
    ],
)
def test_data_without_offsets_is_held_against_a_connector_only_where_its_task_wrote_it(owners, expected):
    assert kinds(parts(data="d3@1 c4@9"), JudgementInputs(NOW, -1, owners)) == [(expected, "orders-0", 0)]


def test_what_another_writer_ended_in_two_ways_is_not_held_against_a_connector():
    found = parts(data="d3@1 c4@9", data2="d3@1 a4@9")
    assert ("mixed-markers", "orders-0", 0) in kinds(found)
    others = JudgementInputs(NOW, -1, Owners({}, OWNERS.topics, frozenset({7})))
    assert {each[0] for each in kinds(found, others)} == {"other-writer"}
