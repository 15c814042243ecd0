"""Records of the transaction log as rows: -1 is none, 0 is a value."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import (
    FoldedLog,
    HistoryEntry,
    LoggedId,
    TransactionHistory,
    TransactionLogRecord,
    TransactionLogReport,
    TransactionLogValue,
)
from eosctl.model.transactions import Ownership, TransactionState
from eosctl.render.answers.transaction_log import view_transaction_history, view_transaction_log

VALUE = TransactionLogValue(
    1, ProducerIdAndEpoch(7, 1), 60_000, TransactionState.ONGOING, (TopicPartition("t", 0),), 18, 17, 5, 6, 2, 3
)


def row(value: TransactionLogValue | None, timestamp: int = 17) -> dict[str, Any]:
    entry = HistoryEntry(TransactionLogRecord(3, 4, timestamp, "g-c-0", value), "began")
    history = TransactionHistory(as_of=0, cluster_id="k", unread={}, notes=(), absent=(), entries=(entry,))
    [found] = view_transaction_history(history).data["history"]
    return found


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("start_ms", -1, None),
        ("start_ms", 0, 0),
        ("start_ms", 17, 17),
        *(
            (field, value, shown)
            for field in ("previous_producer_id", "next_producer_id", "next_producer_epoch")
            for value, shown in ((-1, None), (0, 0), (5, 5))
        ),
        ("partitions", None, None),
        ("partitions", (), []),
        ("partitions", (TopicPartition("t", 2),), [{"topic": "t", "partition": 2}]),
    ],
)
def test_a_field_of_the_log_that_is_not_set_is_null(field, value, shown):
    found = row(replace(VALUE, **{field: value}))
    assert found[field] == shown
    if field == "partitions":
        assert found["partition_count"] == len(value or ())


@pytest.mark.parametrize(
    ("timestamp", "time"), [(-1, None), (0, "1970-01-01T00:00:00.000Z"), (17, "1970-01-01T00:00:00.017Z")]
)
def test_a_record_without_a_time_has_none(timestamp, time):
    found = row(VALUE, timestamp)
    assert (found["timestamp"], found["time"]) == (timestamp, time)


def test_a_tombstone_has_a_place_and_nothing_else():
    found = row(None)
    place = {"transactional_id": "g-c-0", "log_partition": 3, "offset": 4, "timestamp": 17}
    assert {key: found[key] for key in place} == place
    assert found["partition_count"] == 0
    assert found["words"] == "began"
    assert all(found[each] is None for each in ("state", "producer_id", "last_update", "start_ms", "partitions"))


@pytest.mark.parametrize(
    ("leaders", "coordinator"), [({3: 9}, 9), ({3: 0}, 0), ({4: 9}, None), (Skipped("denied"), {"skipped": "denied"})]
)
def test_a_coordinator_is_the_partitions_leader_or_unknown(leaders, coordinator):
    last = TransactionLogRecord(3, 4, 17, "g-c-0", VALUE)
    gone = TransactionLogRecord(3, 5, 18, "gone", None)
    found = TransactionLogReport(
        as_of=0,
        cluster_id="k",
        unread={},
        notes=(),
        absent=(),
        log=FoldedLog({"gone": LoggedId(gone, 1), "g-c-0": LoggedId(last, 2)}, 3, ()),
        owners=dict.fromkeys(("g-c-0", "gone"), Ownership((), ())),
        leaders=leaders,
        findings=(),
    )
    document = view_transaction_log(found)
    assert [each["transactional_id"] for each in document.data["transactional_ids"]] == ["g-c-0", "gone"]
    assert [each["coordinator"] for each in document.data["transactional_ids"]] == [coordinator] * 2
    assert document.prose == ("3 records of 2 transactional IDs, 1 of them known to coordinators.",)
    live = replace(found, log=FoldedLog({"g-c-0": LoggedId(last, 2)}, 2, ()))
    assert view_transaction_log(live).prose == ("2 records of 1 transactional ID, 1 of them known to coordinators.",)
