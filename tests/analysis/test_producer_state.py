"""Producer states of partitions and brokers, counted from the leaders' answers."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.producer_state import MANY_STATES, MOST_PARTITIONS, StatesFold, state_findings
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producer_state import BrokerStates, PartitionStates, ProducerStates
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import DAY_MS
from eosctl.model.transactions import ActiveProducer

NOW = 1_790_000_000_000
PLACE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
IDEMPOTENT = ActiveProducer(PLACE, ProducerIdAndEpoch(7, 0), 5, NOW - 1, None, None)
ENDED = replace(IDEMPOTENT, coordinator_epoch=0)
OPEN = replace(IDEMPOTENT, transaction_start_offset=0)
DAY = {1: {"producer.id.expiration.ms": str(DAY_MS)}}
NOT_READ = Skipped("not read")


def counted(*producers: ActiveProducer, logged: set[int] | None = frozenset({7})) -> PartitionStates:
    fold = StatesFold(NOW, logged)
    fold.add(PLACE, 1, producers)
    [row] = fold.found({}, DAY, 0).partitions
    return row


@pytest.mark.parametrize(
    ("producer", "transactional", "opened"),
    [
        (IDEMPOTENT, 0, 0),
        (ENDED, 1, 0),
        (OPEN, 1, 1),
        (replace(ENDED, transaction_start_offset=3), 1, 1),
    ],
)
def test_a_state_with_an_open_transaction_or_a_marker_is_of_a_transactional_producer(producer, transactional, opened):
    row = counted(producer)
    assert (row.producers, row.transactional, row.open, row.unlogged) == (1, transactional, opened, 0)


@pytest.mark.parametrize(
    ("producer", "logged", "unlogged"),
    [
        (ENDED, set(), 1),
        (OPEN, set(), 1),
        (ENDED, {7}, 0),
        (ENDED, None, None),
        (IDEMPOTENT, set(), 0),
        (replace(ENDED, last_timestamp=NOW), set(), 0),
        (replace(ENDED, last_timestamp=None), set(), 0),
    ],
)
def test_a_transactional_producer_is_unlogged_if_the_log_read_later_has_no_id_with_it(producer, logged, unlogged):
    assert counted(producer, logged=logged).unlogged == unlogged


@pytest.mark.parametrize(("at", "idle"), [(NOW - DAY_MS, 0), (NOW - DAY_MS - 1, 1), (NOW, 0), (None, 0)])
def test_a_producer_is_idle_that_wrote_nothing_for_more_than_a_day(at, idle):
    assert counted(replace(IDEMPOTENT, last_timestamp=at)).idle == idle


def test_the_last_state_expires_as_long_after_its_newest_timestamp_as_the_leader_keeps_it():
    later = replace(IDEMPOTENT, last_timestamp=NOW + 5)
    assert counted(IDEMPOTENT, later, IDEMPOTENT).expires_ms == NOW + 5 + DAY_MS
    assert counted(replace(IDEMPOTENT, last_timestamp=None)).expires_ms is None
    fold = StatesFold(NOW, None)
    fold.add(PLACE, 2, [IDEMPOTENT])
    [row] = fold.found({}, DAY, 0).partitions
    assert (row.last_ms, row.expires_ms) == (NOW - 1, None), "its leader is not among the live brokers"


@pytest.mark.parametrize(
    ("settings", "expiration"),
    [
        ({1: {"producer.id.expiration.ms": "5", "transactional.id.expiration.ms": "9"}}, 5),
        ({1: {"transactional.id.expiration.ms": "9"}}, 9),
        ({1: {}}, Skipped("the broker does not report its producer.id.expiration.ms")),
        ({1: NOT_READ}, NOT_READ),
        (NOT_READ, NOT_READ),
        ({}, Skipped("the broker is not live")),
    ],
)
def test_a_broker_keeps_states_for_its_own_expiration_before_3_4_for_that_of_ids(settings, expiration):
    fold = StatesFold(NOW, None)
    fold.add(PLACE, 1, [IDEMPOTENT])
    [broker] = fold.found({PLACE: [1]}, settings, 0).brokers
    assert broker.expiration_ms == expiration


def test_a_broker_holds_the_states_of_each_partition_of_which_it_has_a_replica():
    fold = StatesFold(NOW, set())
    fold.add(PLACE, 1, [IDEMPOTENT, ENDED, replace(IDEMPOTENT, last_timestamp=0)])
    fold.add(OTHER, 2, [OPEN])
    live = dict.fromkeys((1, 2, 3, 4), DAY[1])
    found = fold.found({PLACE: [1, 3], OTHER: [2, 1], TopicPartition("hidden", 0): [4]}, live, 5)
    rows = [(each.broker, each.partitions, each.producers, each.transactional, each.idle) for each in found.brokers]
    assert rows == [(1, 1, 3, 1, 1), (2, 1, 1, 1, 0), (3, 0, 0, 0, 0), (4, 0, 0, 0, 0)]
    assert [(each.held, each.most) for each in found.brokers] == [(4, 4), (1, 1), (3, 3), (0, 0)]
    assert found.unread == 5
    unknown = fold.found(NOT_READ, live, 0).brokers
    assert [(each.held, each.most) for each in unknown] == [(None, 3), (None, 1), (None, 0), (None, 0)]


def test_partitions_with_the_most_states_are_shown_and_those_without_any_are_counted():
    fold = StatesFold(NOW, set())
    for number in range(MOST_PARTITIONS + 1):
        fold.add(TopicPartition("t", number), 1, [IDEMPOTENT])
    fold.add(TopicPartition("u", 0), 1, [IDEMPOTENT] * 2)
    fold.add(TopicPartition("v", 0), 1, [])
    found = fold.found({}, DAY, 0)
    assert [str(each.topic_partition) for each in found.partitions[:2]] == ["u-0", "t-0"]
    assert (len(found.partitions), found.other_partitions) == (MOST_PARTITIONS, 3)
    none = StatesFold(NOW, set())
    none.add(PLACE, 1, [])
    assert (none.found({}, DAY, 0).partitions, none.found({}, DAY, 0).other_partitions) == ((), 1)


BROKER = BrokerStates(1, 2, 5, 0, 0, MANY_STATES, DAY_MS)
ROW = PartitionStates(PLACE, 1, MANY_STATES - 1, 3, 0, 0, 0, NOW)


def test_a_broker_with_a_million_states_is_a_finding_that_names_the_partition_with_the_most():
    rows = (replace(ROW, topic_partition=OTHER, leader=2), ROW)
    [found] = state_findings(ProducerStates((BROKER, replace(BROKER, held=MANY_STATES - 1)), rows, 0, 0))
    assert (found.id, found.subject) == ("EOS309", "broker 1")
    assert found.message == (
        "it keeps 1,000,000 producer states, about 400 MB of its heap. orders-0 has 999,999: 999,996 of producers "
        "without a transactional ID"
    )
    assert found.evidence == {"producer_states": MANY_STATES, "partitions": {"orders-0": MANY_STATES - 1}}


def test_a_broker_that_leads_none_of_them_holds_them_as_a_replica():
    [found] = state_findings(ProducerStates((BROKER,), (replace(ROW, leader=2),), 0, 0))
    assert "orders-0 has 999,999" in found.message
    unread = replace(BROKER, held=None, producers=MANY_STATES)
    [found] = state_findings(ProducerStates((unread,), (), 0, 0))
    assert found.message == "it keeps 1,000,000 producer states, about 400 MB of its heap"
    assert list(state_findings(ProducerStates((replace(unread, producers=MANY_STATES - 1),), (), 0, 0))) == []
