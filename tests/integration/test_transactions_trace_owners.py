"""`eosctl transactions trace` of a connector's record and of one that a consumer made: owner and offsets beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.producers import create_topic, transactional_producer

pytestmark = [pytest.mark.kafka, pytest.mark.matrix, pytest.mark.variation]


def trace(eosctl: Eosctl, sandbox: Sandbox, *words: object) -> dict[str, Any]:
    here = ("-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster")
    ran = eosctl("transactions", "trace", *words, *here, "-o", "json")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    return dict(json.loads(ran.stdout)["data"])


def test_a_connectors_record_leads_to_its_task_and_to_the_source_offset_of_its_batch(
    moves_home: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    name = fresh_name("lines")
    connectors = FileConnectors(moves_home.connect_url(1), moves_home.bootstrap_servers, tmp_path)
    connectors.file(name).write_text("one\ntwo\nthree\n")
    connectors.create(name)
    connectors.await_last(name, "three")
    answer = trace(eosctl, moves_home, f"{name}:0@1")
    connectors.delete(name)
    assert answer["record"]["state"] == "committed"
    assert answer["transactional_id"] == f"connect-cluster-{name}-0"
    assert answer["owners"] == [{"kind": "connect-task", "group_id": "connect-cluster", "connector": name, "task": 0}]
    (offset,) = answer["offsets"]
    assert (offset["kind"], offset["holder"]) == ("source", name)
    assert json.loads(offset["of"]) == {"filename": str(connectors.file(name))}
    assert json.loads(offset["value"]) == {"position": len("one\ntwo\nthree\n")}
    assert {row["topic"] for row in answer["partitions"]} == {name, "connect-offsets"}
    back = trace(eosctl, moves_home, offset["where"].rpartition("-")[0] + ":" + offset["where"].rpartition("-")[2])
    assert back["partitions"] == answer["partitions"], "the offset's record leads to the same transaction"


def test_a_record_that_a_group_made_leads_to_the_offsets_that_it_committed(
    broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    servers, topic, group = broker.bootstrap_servers, fresh_name("made"), fresh_name("group")
    create_topic(servers, topic)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    producer = transactional_producer(servers, fresh_name("maker"))
    for number in (7, 8):
        producer.begin_transaction()
        producer.produce(topic, b"made", partition=0)
        producer.send_offsets_to_transaction([Place(topic, 0, number)], consumer.consumer_group_metadata(), 30)
        producer.commit_transaction(30)
    consumer.close()
    answer = trace(eosctl, broker, f"{topic}:0@2")
    shown = [(each["kind"], each["holder"], each["of"], each["value"]) for each in answer["offsets"]]
    assert shown == [("group", group, f"{topic}-0", "8")]
    assert {row["found"] for row in answer["partitions"]} <= {"whole", "by-time"}
