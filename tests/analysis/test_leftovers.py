"""Open transactions of an application, by the last records of its IDs; and the list of what its owner decided to
commit."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.leftovers import Answering, LeftoverFold, find_leftovers, missing_markers, writer_of
from eosctl.errors import UsageError
from eosctl.model.hanging import NO_LEADER
from eosctl.model.leftovers import DecidedTransaction, LeftoverKind, decided_transactions
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import NO_TIMEOUT_MS, ActiveProducer, AnsweredProducers
from eosctl.model.transactions import TransactionState as State
from eosctl.model.versions import KafkaVersion, Release


def value(state: State, start: int, timeout_ms: int = 60_000) -> TransactionLogValue:
    return TransactionLogValue(1, ProducerIdAndEpoch(7, 0), timeout_ms, state, (), start, start)


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("sink-orders-0-17", "sink-orders-0"),
        ("sink-0-2f0f9a8c-1b1e-4d4e-8a3f-0d8c1f2b3a4d", "sink-0"),
        ("app_3", "app"),
        ("billing", None),
        ("42", None),
    ],
)
def test_the_writer_is_the_id_without_its_last_number_or_uuid(name, writer):
    assert writer_of(name) == writer


def test_open_ones_are_found_with_the_oldest_first():
    found = find_leftovers(
        {
            "s-0-3": value(State.ONGOING, 30),
            "s-1-1": value(State.PREPARE_COMMIT, 10),
            "s-2-1": value(State.COMPLETE_COMMIT, 5),
            "s-3-1": value(State.EMPTY, -1),
        }
    )
    assert [(each.transactional_id, each.kind) for each in found] == [
        ("s-1-1", LeftoverKind.PREPARED),
        ("s-0-3", LeftoverKind.OPEN),
    ]


def test_partitions_of_the_log_are_taken_in_one_after_the_other():
    fold, (name, later) = LeftoverFold(), ("s-0-3", "s-0-4")
    home, other = coordinator_partition(name, 50), coordinator_partition(later, 50)
    assert home != other
    fold.add_all({later: value(State.COMPLETE_COMMIT, 40), "s-0-1": value(State.COMPLETE_COMMIT, 10)}, other, 50)
    fold.add_all({name: value(State.ONGOING, 30)}, home, 50)
    (found,) = fold.found()
    assert (found.transactional_id, found.later_commit, fold.ids, fold.misplaced) == (name, later, 3, 0)


def test_an_open_one_where_no_coordinator_looks_is_counted_apart():
    fold, name = LeftoverFold(), "s-0-3"
    home = coordinator_partition(name, 50)
    fold.add_all({name: value(State.COMPLETE_COMMIT, 40)}, home, 50)
    fold.add_all({name: value(State.ONGOING, 30)}, home + 1, 50)
    assert (fold.found(), fold.misplaced) == ((), 1)


def test_an_open_one_names_the_sibling_that_committed_a_later_one():
    ids = {"s-0-3": value(State.ONGOING, 30), "s-0-4": value(State.COMPLETE_COMMIT, 40)}
    (found,) = find_leftovers(ids)
    assert (found.kind, found.later_commit) == (LeftoverKind.OPEN, "s-0-4")


@pytest.mark.parametrize(
    ("other", "state", "start"),
    [
        ("s-0-4", State.COMPLETE_COMMIT, 20),
        ("s-0-4", State.COMPLETE_COMMIT, 30),
        ("s-0-4", State.COMPLETE_ABORT, 40),
        ("s-1-4", State.COMPLETE_COMMIT, 40),
    ],
)
def test_an_earlier_an_aborted_or_anothers_transaction_is_no_later_commit(other, state, start):
    (found,) = find_leftovers({"s-0-3": value(State.ONGOING, 30), other: value(state, start)})
    assert (found.kind, found.later_commit) == (LeftoverKind.OPEN, None)


def test_its_coordinator_aborts_an_open_one_at_its_timeout():
    ids = {"a": value(State.ONGOING, 30), "b": value(State.ONGOING, 31, NO_TIMEOUT_MS)}
    ids["c"] = value(State.PREPARE_ABORT, 32)
    assert [each.ends_at_ms for each in find_leftovers(ids)] == [60_030, None, None]


def test_a_list_has_an_id_a_producer_id_and_an_epoch_on_each_line():
    lines = ["sink-0-7 42 3", "sink-0-8,43,0", "sink with spaces\t44/1"]
    assert decided_transactions(lines, "f") == (
        DecidedTransaction("sink-0-7", ProducerIdAndEpoch(42, 3)),
        DecidedTransaction("sink-0-8", ProducerIdAndEpoch(43, 0)),
        DecidedTransaction("sink with spaces", ProducerIdAndEpoch(44, 1)),
    )


@pytest.mark.parametrize("line", ["sink-0-7", "sink-0-7 42", "42 3", "sink-0-7 -1 3"])
def test_another_line_is_refused_by_its_number(line):
    with pytest.raises(UsageError, match="line 2 of f"):
        decided_transactions(["a 1 2", line], "f")


# Markers of decided transactions that do not arrive.


def test_each_missing_marker_has_the_broker_that_it_waits_for_and_why():
    places = [TopicPartition("t", each) for each in range(4)]
    leaders = {places[0]: NO_LEADER, places[1]: 1, places[2]: 2, places[3]: 3}
    still_open = ActiveProducer(places[2], ProducerIdAndEpoch(7, 0), 4, 1, 0, 40)
    other = ActiveProducer(places[3], ProducerIdAndEpoch(8, 0), 4, 1, 0, 40)
    between = ActiveProducer(places[3], ProducerIdAndEpoch(7, 0), 4, 1, 0, None)
    answered = AnsweredProducers((still_open, other, between), (places[1],))
    found = missing_markers(places, leaders, answered, 7, 9, Answering({}, {}))
    assert [each.broker for each in found] == [None, 1, 2, 3]
    begins = ["it has no leader", "its leader does not answer", "its leader answers and has no marker", "the marker is"]
    assert all(each.why.startswith(begin) for each, begin in zip(found, begins, strict=True))
    assert "broker 9" in found[2].why


OF_4_2, OF_4_1, OF_4_3 = (
    Release(KafkaVersion(4, 2), KafkaVersion(4, 3)),
    Release(KafkaVersion(4, 1), KafkaVersion(4, 2)),
    Release(KafkaVersion(4, 3), KafkaVersion(4, 4)),
)
TWO_OF_TWO = TopicFacts("t", 1, 2, {"min.insync.replicas": "2"}, in_sync=2)
ENOUGH, SHORT = {"t": TWO_OF_TWO}, {"t": replace(TWO_OF_TWO, in_sync=1)}
ABOVE_ALL = {"t": replace(TWO_OF_TWO, settings={"min.insync.replicas": "3"})}
OLD = Release(KafkaVersion(3, 0), KafkaVersion(3, 7))
TOO_FEW = (
    "its leader answers and refuses the marker while too few replicas are in sync: min.insync.replicas is 2, the "
    "replication factor 2, and a partition has 1 in sync; start the brokers of its replicas"
)
ABOVE_BEFORE_3_7 = (
    "min.insync.replicas is 3, the replication factor 2, and a partition has 2 in sync, which brokers before 3.7 refuse"
)
ABOVE = (
    "its leader answers and refuses the marker while too few replicas are in sync: "
    f"{ABOVE_BEFORE_3_7}; raise the replication factor"
)
UNSURE = f"{ABOVE_BEFORE_3_7}; the release of a broker is not known"
OLDER = (
    "its leader answers and has no marker: it is older than 4.2, and broker 9, the coordinator, is of 4.2: 4.2.0 sends "
    "it none (KAFKA-20322), 4.2.1 does"
)
NOT_REACHED = (
    "its leader answers and has no marker: broker 9, the coordinator, does not reach its inter-broker listener "
    "(`advertised.listeners`), or it refuses the marker. The coordinator's log has the reason"
)


@pytest.mark.parametrize(
    ("releases", "topics", "why"),
    [
        ({9: OF_4_2, 1: OF_4_1}, SHORT, TOO_FEW),
        ({1: OF_4_3}, ABOVE_ALL, NOT_REACHED),
        ({1: OLD}, ABOVE_ALL, ABOVE),
        ({}, ABOVE_ALL, f"{NOT_REACHED}. Whether enough replicas are in sync is not known: {UNSURE}"),
        ({9: OF_4_2, 1: OF_4_1}, ENOUGH, OLDER),
        ({9: OF_4_2, 1: OF_4_2}, ENOUGH, NOT_REACHED),
        ({9: OF_4_2, 1: OF_4_3}, ENOUGH, NOT_REACHED),
        ({9: OF_4_3, 1: OF_4_1}, ENOUGH, NOT_REACHED),
        ({9: OF_4_2, 1: Skipped("silent")}, ENOUGH, NOT_REACHED),
        (Skipped("silent"), ENOUGH, NOT_REACHED),
        ({}, Skipped("denied"), f"{NOT_REACHED}. Whether enough replicas are in sync is not known: denied"),
        ({}, {"t": Skipped("denied")}, f"{NOT_REACHED}. Whether enough replicas are in sync is not known: denied"),
        ({}, {"t": None}, NOT_REACHED),
    ],
)  # fmt: skip
def test_a_leader_that_answers_has_no_marker_for_a_reason(releases, topics, why):
    place = TopicPartition("t", 0)
    still_open = AnsweredProducers((ActiveProducer(place, ProducerIdAndEpoch(7, 0), 4, 1, 0, 40),), ())
    (found,) = missing_markers([place], {place: 1}, still_open, 7, 9, Answering(releases, topics))
    assert (found.broker, found.why) == (1, why)
