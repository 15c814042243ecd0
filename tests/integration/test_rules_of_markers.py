"""`doctor` names the partitions whose markers a decided transaction waits for, after a leader was stopped."""

import json
from typing import Any

import pytest

from eosctl.clients.leaders import partition_leaders
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.integration.coordinators import coordinator_of, describe, state_of, wire_to
from tests.integration.producers import create_topic, transactional_producer
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(600)]
KAFKA = "3.9.2"
"""Brokers from 4.3.0 on forget the marker of a partition without a leader."""


@pytest.mark.proves("EOS307")
def test_a_decided_transaction_whose_markers_wait_for_a_stopped_leader(
    shared_sandboxes: SharedSandboxes, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    cluster = shared_sandboxes.three_brokers(KAFKA)
    servers, topic, name = cluster.bootstrap_servers, fresh_name("unmarked"), fresh_name("waiting")
    create_topic(servers, topic, 3)
    producer = transactional_producer(servers, name)
    producer.begin_transaction()
    for partition in range(3):
        producer.produce(topic, b"value", partition=partition)
    assert producer.flush(30) == 0
    with wire_to(servers) as wire:
        leaders = {place.partition: node for place, node in partition_leaders(wire, [topic]).items()}
    coordinator = coordinator_of(servers, name)
    gone, place = next((node, place) for place, node in sorted(leaders.items()) if node != coordinator)

    def found() -> list[dict[str, Any]]:
        ran = eosctl("doctor", "-b", servers, "--timeout", "5", "-o", "json")
        assert ran.exit_code in {1, 3}, ran.stderr
        return [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] == "EOS307"]

    cluster.stop_broker(gone)
    try:
        producer.commit_transaction(30)
        assert state_of(servers, name) == "PrepareCommit"
        [finding] = eventually(found, deadline_s=180, every_s=5)
        assert finding["subject"] == name
        missing = finding["evidence"]["missing"]
        assert {each["partition"] for each in missing} == {f"{topic}-{place}"}
        assert {each["broker"] for each in missing} == {None}
        assert finding["evidence"]["decided_s"] >= 60
        told = describe(servers, [name])[name]
        assert told is not None
        assert {each.partition for each in told.partitions} == {place}
    finally:
        cluster.start_broker(gone)
    eventually(lambda: state_of(servers, name) == "CompleteCommit", deadline_s=60)
    assert found() == []
