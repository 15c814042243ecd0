"""`transactions list`, `describe` and `producers` say of each ID and producer what Kafka's own tool says."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.every_state import EveryState
from tests.integration.producers import create_topic, open_transaction
from tests.oracle.transactions_tool import Row, run_transactions_tool

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
STAYS_OPEN = {"transaction.timeout.ms": 600_000}


@pytest.fixture(scope="module")
def states(broker: Sandbox, fresh_name: Callable[[str], str]) -> EveryState:
    """An ID in each state, and one whose open transaction is in two topics; the IDs begin with `described-`."""
    topics = [fresh_name("described"), fresh_name("described")]
    for topic in topics:
        create_topic(broker.bootstrap_servers, topic)
    made = EveryState(broker.bootstrap_servers, lambda state: fresh_name(f"described-{state}"), topics[0], **STAYS_OPEN)
    made.ids["in two topics"] = fresh_name("described-two")
    held = open_transaction(broker.bootstrap_servers, made.ids["in two topics"], topics[0], **STAYS_OPEN)
    held.produce(topics[1], b"also here")
    assert held.flush(30) == 0
    made.producers["in two topics"] = held
    return made


def answer(eosctl: Eosctl, states: EveryState, *command: str) -> list[dict[str, Any]]:
    ran = eosctl("transactions", command[0], "-b", states.servers, "-o", "json", *command[1:])
    assert ran.exit_code == 0, ran.stderr
    data = json.loads(ran.stdout)["data"]
    return list(data["producers" if command[0] == "producers" else "transactions"])


def by_text(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=str)


def as_kafka_lists(row: dict[str, Any]) -> Row:
    return {
        "TransactionalId": row["transactional_id"],
        "Coordinator": str(row["coordinator"]),
        "ProducerId": str(row["producer_id"]),
        "TransactionState": row["state"],
    }


def as_kafka_describes(row: dict[str, Any]) -> Row:
    return {
        "CoordinatorId": str(row["coordinator"]),
        "TransactionalId": row["transactional_id"],
        "ProducerId": str(row["producer_id"]),
        "ProducerEpoch": str(row["producer_epoch"]),
        "TransactionState": row["state"],
        "TransactionTimeoutMs": str(row["timeout_ms"]),
        "CurrentTransactionStartTimeMs": str(row["start_ms"]),
        "TopicPartitions": ",".join(sorted(row["partition_names"])),
    }


def as_kafka_remembers(row: dict[str, Any]) -> Row:
    return {
        "ProducerId": str(row["producer_id"]),
        "ProducerEpoch": str(row["producer_epoch"]),
        "LatestCoordinatorEpoch": str(-1 if row["coordinator_epoch"] is None else row["coordinator_epoch"]),
        "LastSequence": str(row["last_sequence"]),
        "LastTimestamp": str(row["last_timestamp"]),
        "CurrentTransactionStartOffset": str(row["transaction_start_offset"]),
    }


def test_ids_are_listed_as_by_kafkas_tool(broker: Sandbox, states: EveryState, eosctl: Eosctl) -> None:
    ours = [row for row in answer(eosctl, states, "list") if row["transactional_id"] in states.ids.values()]
    (listed,) = run_transactions_tool(broker, [("list",)])
    theirs = [row for row in listed if row["TransactionalId"] in states.ids.values()]
    assert by_text(theirs) == by_text(map(as_kafka_lists, ours))
    assert len(theirs) == len(states.ids)


def test_each_state_is_described_as_by_kafkas_tool(broker: Sandbox, states: EveryState, eosctl: Eosctl) -> None:
    """But for the start of one that has ended, which the tool calls current and counts on."""
    ours = answer(eosctl, states, "describe", *states.ids.values())
    asked = [("describe", "--transactional-id", name) for name in states.ids.values()]
    for row, (theirs,) in zip(ours, run_transactions_tool(broker, asked), strict=True):
        theirs["TopicPartitions"] = ",".join(sorted(theirs["TopicPartitions"].split(",")))
        duration, start = theirs.pop("TransactionDurationMs"), theirs["CurrentTransactionStartTimeMs"]
        assert (duration == "None") == (start == "None")
        if row["state"].startswith("Complete"):
            theirs["CurrentTransactionStartTimeMs"] = "None"
        assert theirs == as_kafka_describes(row)
    assert [row["partition_count"] for row in ours] == [0, 1, 0, 0, 2]
    assert [row["running_ms"] is not None for row in ours] == [False, True, False, False, True]


def test_producers_are_described_as_by_kafkas_tool(broker: Sandbox, states: EveryState, eosctl: Eosctl) -> None:
    ours = answer(eosctl, states, "producers", "--topic", states.topic)
    (theirs,) = run_transactions_tool(broker, [("describe-producers", "--topic", states.topic, "--partition", 0)])
    assert by_text(map(as_kafka_remembers, ours)) == by_text(theirs)
    assert [row["CurrentTransactionStartOffset"] == "None" for row in by_text(theirs)].count(False) == 2
