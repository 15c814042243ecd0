"""Records of the status topic, by the rules of KafkaStatusBackingStore."""

import json

import pytest

from eosctl.codecs.status_topic import decode_status_record
from eosctl.model.records import Record
from eosctl.model.status_topic import StatusKind, StatusRecord

RUNNING = b'{"state":"RUNNING","trace":null,"worker_id":"w1:8083","generation":3}'


def status(key: bytes | None, value: bytes | None = RUNNING) -> StatusRecord:
    return decode_status_record(Record(7, 1_000, key, value))


def test_a_task_whose_connector_has_dashes() -> None:
    found = status(b"status-task-my-orders-12")
    assert (found.kind, found.connector, found.task) == (StatusKind.TASK, "my-orders", 12)
    assert (found.state, found.worker_id, found.generation, found.trace) == ("RUNNING", "w1:8083", 3, None)


def test_a_connector_may_be_called_like_a_task() -> None:
    found = status(b"status-connector-orders-0")
    assert (found.kind, found.connector, found.task) == (StatusKind.CONNECTOR, "orders-0", None)


def test_a_topic_that_a_connector_uses() -> None:
    value = b'{"topic":{"name":"t-1","connector":"orders","task":2,"discoverTimestamp":1}}'
    found = status(b"status-topic-t-1:connector-my-orders", value)
    assert (found.kind, found.topic, found.connector, found.task) == (StatusKind.TOPIC, "t-1", "my-orders", 2)


@pytest.mark.parametrize("state", [b'["RUNNING"]', b'{"RUNNING":1}', b"null", b"1", b'"running"'])
def test_a_state_that_is_none_is_an_invalid_status(state: bytes) -> None:
    assert status(b"status-connector-orders", RUNNING.replace(b'"RUNNING"', state)).reason is not None


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"status-connector-",
        b"status-task-orders",
        b"status-task-orders-x",
        b"status-task-orders-99999999999",
        b"status-topic-:connector-orders",
        b"status-topic-t",
        b"status-topic-t:connector-",
        b"target-state-orders",
    ],
)
def test_keys_that_workers_discard(key: bytes | None) -> None:
    assert status(key).kind is StatusKind.INVALID


def test_no_value_removes_the_status() -> None:
    found = status(b"status-task-orders-0", None)
    assert (found.state, found.reason) == (None, None)


@pytest.mark.parametrize(
    "value",
    [
        b"no JSON",
        b"null",
        b"[]",
        b'{"state":"GONE","trace":null,"worker_id":"w","generation":3}',
        b'{"state":"RUNNING","trace":null,"worker_id":"w"}',
        b'{"state":"RUNNING","trace":null,"worker_id":"w","generation":3.0}',
        b'{"state":"RUNNING","trace":7,"worker_id":"w","generation":3}',
    ],
)
def test_values_that_workers_discard(value: bytes) -> None:
    found = status(b"status-connector-orders", value)
    assert found.state is None
    assert found.reason is not None


def test_secrets_in_a_trace_are_masked() -> None:
    trace = "java.lang.Error: cannot log in with password=swordfish\n\tat A.b(C.java:1)"
    value = json.dumps({"state": "FAILED", "trace": trace, "worker_id": "w", "generation": 1}).encode()
    found = status(b"status-task-orders-0", value)
    assert found.trace is not None
    assert "swordfish" not in found.trace
    assert found.trace.startswith("java.lang.Error: cannot log in")
