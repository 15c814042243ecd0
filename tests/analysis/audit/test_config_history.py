"""The history of a config topic, told by its records."""

import pytest

from eosctl.analysis.audit.history import config_event, summarize_config
from eosctl.codecs.config_topic import decode_config_records
from eosctl.model.audit import ConfigSummary
from eosctl.model.audit_states import ConfigEvent
from eosctl.model.records import Record, RecordState

COMMIT_2 = ("commit-orders", b'{"tasks":2}')
TASKS = [("task-orders-0", b'{"properties":{}}'), ("task-orders-1", b'{"properties":{}}')]
CONNECTOR = ("connector-orders", b'{"properties":{}}')
COUNT_2 = ("tasks-fencing-orders", b'{"task-count":2}')
KEY = ("session-key", b'{"key":"a","algorithm":"HmacSHA256","creation-timestamp":1}')


def events(*written: tuple[str, tuple[str, bytes | None]]) -> list[ConfigEvent]:
    """1.0: producer 1 with epoch 0, in a transaction; plain: outside any."""
    found = []
    for offset, (who, (key, value)) in enumerate(written):
        pid, epoch = (-1, -1) if who == "plain" else map(int, who.split("."))
        state = RecordState.COMMITTED
        found.append(Record(offset, 1000 + offset, key.encode(), value, state, who != "plain", pid, epoch))
    return list(map(config_event, decode_config_records(found)))


def anomalies(summary: ConfigSummary) -> list[tuple[str, str | None, int]]:
    return [(each.kind, each.connector, each.offset) for each in summary.anomalies]


def test_commits_and_task_count_records_are_the_starts_of_a_connector():
    written = [("1.0", each) for each in (CONNECTOR, *TASKS, COMMIT_2, COUNT_2)]
    [orders] = summarize_config(events(*written)).connectors
    assert (orders.connector, orders.known, orders.fenced_ever) == ("orders", True, True)
    assert orders.starts == ((1003, 3, "commit", 2), (1004, 4, "fencing", 2))


@pytest.mark.parametrize("removed", [("connector-orders", None)])
def test_a_deleted_connector_is_not_known(removed):
    [orders] = summarize_config(events(("1.0", CONNECTOR), ("1.0", removed))).connectors
    assert (orders.known, orders.fenced_ever) == (False, False)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([("plain", KEY), ("1.0", KEY), ("plain", KEY)], []),
        ([("1.0", COUNT_2), ("plain", KEY)], [("plain-leader-write", None, 1)]),
        ([("1.0", COUNT_2), ("plain", CONNECTOR)], [("plain-leader-write", "orders", 1)]),
        ([("1.0", COUNT_2), ("plain", ("target-state-orders", b'{"state":"PAUSED"}'))], []),
        ([("1.0", KEY), ("2.0", KEY), ("2.0", KEY)], []),
        ([("1.0", KEY), ("2.0", KEY), ("1.0", KEY)], [("interleaved-leaders", None, 2)]),
        ([("1.0", KEY), ("2.0", KEY), ("1.1", KEY), ("1.2", KEY)], [("interleaved-leaders", None, 2)]),
        ([("1.0", KEY), ("2.0", KEY), ("1.3", KEY)], []),
        ([("1.0", CONNECTOR), ("1.0", TASKS[0]), ("1.0", COMMIT_2)], [("inconsistent-connector", "orders", 2)]),
        ([("1.0", TASKS[0]), ("1.0", COMMIT_2)], []),
        ([("1.0", ("commit-orders", b"broken")), ("1.0", ("strange", b"1"))], []),
    ],
)
def test_what_is_wrong_with_a_history(written, expected):
    assert anomalies(summarize_config(events(*written))) == expected
