"""Who holds a last stable offset back, and who waits."""

from eosctl.analysis.hanging import ConnectTopics, held_back, holders, stability, waiting_parts
from eosctl.model.connectors import ConnectorState
from eosctl.model.hanging import OpenTransaction, WaitingGroup, waiting_groups
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import ActiveProducer

PLACE = TopicPartition("t", 0)
OFFSETS = PartitionOffsets(PLACE, 0, 10, 50)
FREE = PartitionOffsets(TopicPartition("t", 1), 0, 50, 50)


def opened(start: int, place: TopicPartition = PLACE) -> OpenTransaction:
    return OpenTransaction(ActiveProducer(place, ProducerIdAndEpoch(start, 0), 0, 1, None, start), start, None, None)


def test_the_transaction_that_begins_at_the_last_stable_offset_holds_it():
    assert [each.start_offset for each in holders(OFFSETS, [opened(30), opened(10)])] == [10]


def test_where_none_begins_there_the_earliest_holds_it():
    assert [each.start_offset for each in holders(OFFSETS, [opened(30), opened(12)])] == [12]


def test_nothing_holds_a_partition_that_is_not_held_back():
    assert holders(FREE, [opened(10, FREE.topic_partition)]) == ()
    assert holders(OFFSETS, [opened(10, FREE.topic_partition)]) == ()


def test_partitions_held_back_longest_come_first():
    other = PartitionOffsets(TopicPartition("a", 0), 0, 1, 9)
    found = stability(
        {each.topic_partition: each for each in (FREE, OFFSETS, other)}, [], {PLACE: 5, other.topic_partition: 9}
    )
    assert [str(each.offsets.topic_partition) for each in found] == ["t-0", "a-0", "t-1"]


def test_a_group_waits_at_or_before_the_last_stable_offset_and_one_beyond_it_does_not():
    committed = {"at": 10, "before": 3, "beyond": 11}
    assert waiting_groups(OFFSETS, committed, {"at": "Stable"}) == (
        WaitingGroup("before", "", 3, 47),
        WaitingGroup("at", "Stable", 10, 40),
    )
    assert waiting_groups(FREE, {"at": 50}, {}) == ()
    assert waiting_groups(OFFSETS, {"has not begun": -1}, {}) == ()


def test_a_transaction_holds_the_offset_only_where_it_begins_there():
    assert held_back(opened(10), OFFSETS, (), ()).holds_lso
    assert not held_back(opened(30), OFFSETS, (), ()).holds_lso
    assert not held_back(opened(10), Skipped("denied"), Skipped("denied"), ()).holds_lso


def test_parts_of_connect_wait_behind_their_own_topics():
    connectors = {
        "orders": ConnectorState("orders", config={"offsets.storage.topic": "orders-offsets"}),
        "sink": ConnectorState("sink", config={"name": "sink"}),
        "other": ConnectorState("other", config={"consumer.override.group.id": "mine"}),
        "gone": ConnectorState("gone"),
    }
    cluster = ConnectTopics("g", "configs", "offsets", connectors)
    assert waiting_parts("configs", (), cluster) == (
        "workers of Connect cluster g: config topic; none with exactly-once starts",
    )
    assert waiting_parts("offsets", (), cluster) == (
        "source connectors of Connect cluster g: offsets topic; none starts its tasks",
    )
    assert waiting_parts("orders-offsets", (), cluster) == (
        "connector orders: its offsets topic; it does not start its tasks",
    )
    assert waiting_parts("t", ["connect-sink", "mine", "x"], cluster) == (
        "sink connector sink: it reads this topic",
        "sink connector other: it reads this topic",
    )
    assert waiting_parts("configs", ["connect-sink"], None) == ()
