"""Two values of one key: which is further, and whether a snapshot was begun again."""

import json

import pytest

from eosctl.analysis.audit.batches import Advance, SnapshotChange, compare_offsets, is_back, snapshot_change
from eosctl.analysis.audit.history import ConfigAnomalyKind, fold_transaction_log_history, summarize_config
from eosctl.codecs.ledger import decode_json
from eosctl.model.audit_states import Change, ConfigEvent, Write
from eosctl.model.config_topic import RecordKind
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState

KEY = b'["c",{}]'
ADVANCED, BACK, SAME, UNCLEAR = Advance.ADVANCED, Advance.BACK, Advance.SAME, Advance.UNCLEAR


@pytest.mark.parametrize(
    ("before", "after", "advance"),
    [
        ({"a": 1}, {"a": 1}, SAME),
        ({"a": 1}, {"a": 2}, ADVANCED),
        ({"a": 2}, {"a": 1}, BACK),
        ({"a": 2, "b": 1}, {"a": 1, "b": 2}, ADVANCED),
        ({"a": 2, "b": "x"}, {"a": 1, "b": "y"}, UNCLEAR),
        ({"a": 1}, {"a": True}, SAME),
        ({"a": False}, {"a": True}, UNCLEAR),
        ({"a": 2}, {"a": 1.5}, BACK),
        ({"a": 1}, {"a": 1.5}, ADVANCED),
        ({"a": 2}, {"a": False}, UNCLEAR),
        ({"a": 1}, {"b": 1}, UNCLEAR),
        ({"a": 1, "b": 1}, {"a": 1}, UNCLEAR),
        ({"a": 1}, {"a": 1, "b": 1}, UNCLEAR),
        ({"a": 2, "b": 1}, {"a": 1}, BACK),
        ({"a": "bin.9"}, {"a": "bin.10"}, ADVANCED),
        ({"a": "bin.10"}, {"a": "bin.9"}, BACK),
        ({"a": "bin.09"}, {"a": "bin.10"}, ADVANCED),
        ({"a": "bin.010"}, {"a": "bin.09"}, UNCLEAR),
        ({"a": "bin.10"}, {"a": "bin.009"}, UNCLEAR),
        ({"a": "bin.5"}, {"a": "log.6"}, UNCLEAR),
        ({"a": "x"}, {"a": "y"}, UNCLEAR),
        ({"a": "x"}, {"a": "x1"}, UNCLEAR),
        ({"a": "x1"}, {"a": "x"}, UNCLEAR),
        ({"a": "9"}, {"a": "10"}, ADVANCED),
        ({"a": "010"}, {"a": "009"}, BACK),
        ({"a": None}, {"a": 1}, UNCLEAR),
        ([1], {"a": 1}, UNCLEAR),
        ({"a": 1}, [1], UNCLEAR),
    ],
)
def test_a_value_is_further_where_one_of_its_numbers_is_higher(before, after, advance):
    assert compare_offsets(before, after, KEY, decode_json) is advance


PG, PLAIN = b'["c",{"server":"s"}]', b'["c",{"shard":"s"}]'


@pytest.mark.parametrize(
    ("key", "before", "after", "advance"),
    [
        (PG, {"lsn": 9, "txId": 5}, {"lsn": 8, "txId": 6}, BACK),
        (PLAIN, {"lsn": 9, "txId": 5}, {"lsn": 8, "txId": 6}, ADVANCED),
        (None, {"lsn": 9, "txId": 5}, {"lsn": 8, "txId": 6}, ADVANCED),
        (b"no json", {"lsn": 9, "txId": 5}, {"lsn": 8, "txId": 6}, ADVANCED),
        (b'["c"]', {"lsn": 9, "txId": 5}, {"lsn": 8, "txId": 6}, ADVANCED),
        (PG, {"lsn": 9, "txId": 5}, {"lsn": 9, "txId": 6}, SAME),
        (PG, {"lsn": 9}, {"lsn": "x"}, UNCLEAR),
        (PG, {"lsn": 9, "a": 1}, {"file": "f", "pos": 1, "a": 2}, ADVANCED),
    ],
)
def test_debezium_s_positions_are_compared_by_its_rules_where_the_key_is_its_own(key, before, after, advance):
    assert compare_offsets(before, after, key, decode_json) is advance


def change(before: object, after: object) -> Change:
    writes = (
        Write(number, 0, each if each is None or isinstance(each, bytes) else json.dumps(each).encode(), 1, 0, True)
        for number, each in enumerate((before, after))
    )
    return Change(*writes)


@pytest.mark.parametrize(
    ("before", "after", "back"),
    [
        ({"a": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 2}, {"a": 2}, False),
        (None, {"a": 1}, False),
        ({"a": 2}, None, False),
        (b"x", {"a": 1}, False),
        ({"a": 2}, b"x", False),
    ],
)
def test_a_setback_needs_two_values_that_can_be_decoded(before, after, back):
    assert is_back(change(before, after), KEY, decode_json) is back


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ({"snapshot": True, "lsn": 1}, {"snapshot": True, "lsn": 2}, SnapshotChange.OTHER_POSITION),
        ({"snapshot": True, "lsn": 1, "a": 1}, {"snapshot": True, "lsn": 1, "a": 2}, SnapshotChange.SAME_POSITION),
        ({"snapshot": True, "a": 1}, {"snapshot": True, "a": 2}, SnapshotChange.UNKNOWN_FORM),
        ({"snapshot": True, "lsn": 1}, {"snapshot": True, "pos": 1}, SnapshotChange.UNKNOWN_FORM),
        (
            {"snapshot": True, "lsn": 1, "txId": 1},
            {"snapshot": True, "lsn": 1, "txId": 2},
            SnapshotChange.OTHER_POSITION,
        ),
        ({"snapshot": True, "lsn": 1}, {"snapshot": True, "lsn": 1}, None),
        ({"snapshot": "last", "lsn": 1}, {"snapshot": True, "lsn": 2}, None),
        ({"snapshot": True, "lsn": 1}, {"snapshot": "last", "lsn": 2}, None),
        ({"lsn": 1}, {"snapshot": True, "lsn": 2}, None),
        ({"snapshot": True, "lsn": 1}, {"lsn": 2}, None),
        (None, {"snapshot": True, "lsn": 2}, None),
        ({"snapshot": True, "lsn": 2}, None, None),
        (b'"snapshot', {"snapshot": True, "lsn": 2}, None),
        (b'["snapshot"]', {"snapshot": True, "lsn": 2}, None),
        ({"snapshot": True, "lsn": 2}, b'["snapshot"]', None),
    ],
)
def test_a_snapshot_was_begun_again_where_an_unfinished_one_follows_at_another_position(before, after, kind):
    assert snapshot_change(change(before, after), decode_json) is kind


# The config topic


def event(offset: int, kind: RecordKind, producer: int | None = 1, epoch: int = 0, **more: object) -> ConfigEvent:
    given = {"connector": "c", "number": None, "removed": False, "malformed": False, **more}
    return ConfigEvent(
        offset, offset, "committed", producer is not None, -1 if producer is None else producer, epoch, kind.value,
        **given,
    )  # fmt: skip


CONFIG, COMMIT, COUNT = RecordKind.CONNECTOR_CONFIG, RecordKind.TASK_COMMIT, RecordKind.TASK_COUNT
STATE = RecordKind.TARGET_STATE
PLAIN_LEADER, TWO_LEADERS = ConfigAnomalyKind.PLAIN_LEADER, ConfigAnomalyKind.INTERLEAVED_LEADERS


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([event(0, COUNT, number=1), event(1, CONFIG, None)], [(PLAIN_LEADER, 1)]),
        ([event(0, CONFIG), event(1, CONFIG, None)], []),
        ([event(0, COUNT, None, number=1), event(1, CONFIG, None)], []),
        ([event(0, COUNT, number=1), event(1, STATE, None)], []),
        ([event(0, CONFIG, 1), event(1, CONFIG, 2), event(2, CONFIG, 1)], [(TWO_LEADERS, 2)]),
        ([event(0, CONFIG, 1), event(1, CONFIG, 2), event(2, CONFIG, 1, 1)], [(TWO_LEADERS, 2)]),
        ([event(0, CONFIG, 1), event(1, CONFIG, 2), event(2, CONFIG, 1, 2)], []),
        ([event(0, CONFIG, 1), event(1, CONFIG, 1, 1), event(2, CONFIG, 2), event(3, CONFIG, 1, 3)], []),
        ([event(0, CONFIG, 1), event(1, CONFIG, 1), event(2, CONFIG, 2)], []),
        ([event(0, CONFIG, 1), event(1, CONFIG, None), event(2, CONFIG, 1)], []),
        ([event(0, CONFIG), event(1, COMMIT, number=1)], [(ConfigAnomalyKind.INCONSISTENT, 1)]),
        ([event(0, CONFIG), event(1, COMMIT, number=0)], []),
        ([event(0, CONFIG), event(1, COMMIT, number=1), event(2, CONFIG, removed=True)], []),
        ([event(0, CONFIG), event(1, RecordKind.TASK_CONFIG, number=0), event(2, COMMIT, number=1)], []),
        ([event(0, CONFIG), event(1, COMMIT, number=1, malformed=True)], []),
    ],
)
def test_what_the_config_topic_s_history_shows_of_its_leaders_and_connectors(events, found):
    assert [(each.kind, each.offset) for each in summarize_config(events).anomalies] == found


def test_an_inconsistent_connector_s_missing_tasks_are_named():
    written = [event(0, CONFIG), event(1, RecordKind.TASK_CONFIG, number=1), event(2, COMMIT, number=3)]
    [found] = summarize_config(written).anomalies
    assert found.words == "the last commit counts 3 tasks, but the configs of tasks 0, 2 are missing"


def test_the_history_of_a_connector_is_its_commits_and_rounds():
    [found] = summarize_config(
        [
            event(0, CONFIG),
            event(1, COMMIT, number=2),
            event(2, COUNT, number=2),
            event(3, COMMIT, malformed=True, number=1),
            event(4, RecordKind.SESSION_KEY, connector=None),
        ]
    ).connectors
    assert (found.known, found.fenced_ever, found.starts) == (True, True, ((1, 1, "commit", 2), (2, 2, "fencing", 2)))
    [gone] = summarize_config([event(1, COMMIT, number=0)]).connectors
    assert (gone.known, gone.fenced_ever) == (False, False)


# The transaction log


EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARED, COMPLETE = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT
PLACE = TopicPartition("out", 0)


def logged(offset: int, state: TransactionState | None, producer_id: int = 7, epoch: int = 0) -> TransactionLogRecord:
    value = None
    if state is not None:
        producer = ProducerIdAndEpoch(producer_id, epoch)
        value = TransactionLogValue(0, producer, 60_000, state, (PLACE,), offset * 10, 0)
    return TransactionLogRecord(0, offset, offset * 10 + 1, "id", value)


@pytest.mark.parametrize(
    ("records", "transactions"),
    [
        ([logged(0, EMPTY), logged(1, ONGOING), logged(2, PREPARED), logged(3, COMPLETE)], [(0, 2, 31)]),
        ([logged(0, EMPTY), logged(2, PREPARED)], [(0, 2, None)]),
        ([logged(0, EMPTY), logged(2, PREPARED), logged(3, EMPTY, epoch=1)], [(0, 2, None)]),
        ([logged(2, PREPARED), logged(3, COMPLETE)], []),
        ([logged(0, EMPTY, 8), logged(2, PREPARED), logged(3, COMPLETE)], []),
        ([logged(0, EMPTY, 9), logged(2, PREPARED), logged(3, COMPLETE)], []),
        ([logged(0, EMPTY), logged(1, EMPTY, epoch=1), logged(2, PREPARED, epoch=2)], [(1, 2, None)]),
        ([logged(0, EMPTY), logged(1, None), NewerLogRecord(0, 2, 9), logged(3, PREPARED)], [(0, 3, None)]),
    ],
)
def test_a_logged_transaction_belongs_to_the_session_whose_beginning_is_there(records, transactions):
    found = fold_transaction_log_history(records, {7, 8})
    assert [(each.producer_epoch, each.offset, each.completed_ms) for each in found.transactions] == transactions
    assert all(each.producer_id in {7, 8} for each in found.holders)
