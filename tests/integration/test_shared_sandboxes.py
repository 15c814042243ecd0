"""Leftovers of a file in a shared sandbox are removed before the next file's tests."""

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Worker
from tests.integration.coordinators import describe
from tests.integration.gone_clients import GoneClient
from tests.integration.producers import create_topic
from tests.shared_sandboxes import remove_leftovers

pytestmark = pytest.mark.kafka


def test_connectors_are_deleted_and_open_transactions_are_ended(connect_sandbox: Sandbox, fresh_name: FreshName):
    name, servers, worker = fresh_name("left"), connect_sandbox.bootstrap_servers, Worker(connect_sandbox)
    create_topic(servers, name)
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": "/nowhere", "topic": name}
    worker.ask("PUT", "/connectors/left%20over/config", config)
    with Wire(ClientProperties((servers,))) as wire:
        GoneClient(wire, name).write(TopicPartition(name, 0), b"left")
    remove_leftovers(connect_sandbox)
    left = describe(servers, [name])[name]
    assert left is not None
    assert (worker.ask("GET", "/connectors"), left.state.value) == ([], "Empty")
    worker.close()
