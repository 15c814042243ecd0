"""Which share groups wait for a transaction, by what brokers answer of them."""

import pytest

from eosctl.model.groups import ShareGroup
from eosctl.model.hanging import WaitingGroup
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.sources.kafka_groups import waiting_groups_of

PLACE = TopicPartition("t", 0)
HELD = {PLACE: PartitionOffsets(PLACE, 0, 10, 50)}
UNKNOWN = Skipped("denied")


@pytest.mark.parametrize(
    ("isolation", "start", "waits"),
    [
        ("read_committed", 10, True),
        ("read_committed", 11, False),
        ("read_committed", -1, False),
        ("read_uncommitted", 10, False),
        (UNKNOWN, 10, True),
    ],
)
def test_a_share_group_waits_where_it_begins_there_and_may_read_committed(
    isolation: str | Skipped, start: int, waits: bool
) -> None:
    group = ShareGroup(isolation, {PLACE: start})
    expected = (WaitingGroup("queue", "Stable", start, 40),) if waits else ()
    assert waiting_groups_of({}, {"queue": group}, {"queue": "Stable"}, HELD) == {PLACE: expected}


def test_share_groups_stand_beside_consumer_groups_and_one_that_is_not_known_is_left_out() -> None:
    shares = {"queue": ShareGroup("read_committed", {PLACE: 9}), "hidden": ShareGroup("read_committed", UNKNOWN)}
    found = waiting_groups_of({"reader": {PLACE: 5}, "other": UNKNOWN}, shares, {}, HELD)[PLACE]
    assert [each.group_id for each in found] == ["reader", "queue"]
