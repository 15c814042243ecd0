"""`python -m eosctl.mcp`: a client of the official SDK asks about a real Kafka, and can change nothing."""

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.mcp.server import MOST, Tools, bounded, server_of
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.gone_clients import GoneClient
from tests.integration.producers import create_topic

SECRET = "hunter2-mcp"


def asked(server: object, conversation: Callable[[Client], Awaitable[Any]]) -> Any:
    """The result of the conversation with the server."""

    async def talk() -> Any:
        async with Client(server) as client:
            return await conversation(client)

    return anyio.run(talk)


def no_cluster() -> Any:
    raise AssertionError("a list of tools needs no cluster")


def test_every_tool_is_marked_as_read_only_and_takes_no_address_file_or_credential():
    listed = asked(server_of(no_cluster), lambda client: client.list_tools())
    assert len(listed.tools) == len(Tools(no_cluster).every) > 15
    assert [each.name for each in listed.tools if not (each.annotations and each.annotations.read_only_hint)] == []
    taken = {name for each in listed.tools for name in each.input_schema["properties"]}
    assert taken == {
        *("connector", "connectors", "transactional_ids", "topic", "partition", "partitions", "place"),
        *("state", "owner", "group", "minutes", "to", "to_topic", "rename_to", "stop"),
    }


def test_an_answer_is_bounded_and_names_the_omitted_rows():
    rows = [{"name": f"connector-{number}", "trace": "x" * 5_000} for number in range(5_000)]
    shown = bounded({"kind": "connector.list", "data": {"connectors": rows, "complete": True}})
    assert len(json.dumps(shown)) <= MOST
    kept = shown["data"]["connectors"]
    assert shown["left_out"]["data.connectors"] == 5_000 - len(kept)
    assert [each["name"] for each in kept[:1]] == ["connector-0"]
    assert bounded({"kind": "x", "data": {"rows": [1, 2]}}) == {"kind": "x", "data": {"rows": [1, 2]}}


def test_one_row_that_is_too_long_is_left_out_whole():
    wide = {f"field-{number}": "x" * 1_000 for number in range(100)}
    shown = bounded({"kind": "x", "as_of": None, "data": {"rows": [wide]}})
    assert (shown["kind"], shown["left_out"], "data" in shown) == ("x", {"data": 1}, False)


@pytest.mark.kafka
def test_a_client_reads_a_cluster_and_sees_plans_and_no_secret(connect_sandbox: Sandbox, fresh_name: FreshName):
    name, servers = fresh_name("mcp"), connect_sandbox.bootstrap_servers
    create_topic(servers, name)
    config = {"connector.class": "FileStreamSource", "file": "/nowhere", "topic": name, "database.password": SECRET}
    with RestClient(connect_sandbox.connect_url(1), 60) as rest:
        rest.request("PUT", f"/connectors/{name}/config", config)
    with Wire(ClientProperties((servers,))) as wire:
        client = GoneClient(wire, name)
        client.write(TopicPartition(name, 0), b"left")
        said = asked(_server(connect_sandbox), lambda each: _converse(each, name))
        assert client.end(commit=True) == 0  # no plan was applied
    with RestClient(connect_sandbox.connect_url(1), 60) as rest:
        rest.request("DELETE", f"/connectors/{name}")
    texts = {tool: result.content[0].text for tool, result in said.items()}
    assert SECRET not in str(texts)
    assert name in [each["name"] for each in json.loads(texts["list_connectors"])["data"]["connectors"]]
    assert json.loads(texts["inspect_config"])["kind"] == "inspect-config"
    [listed] = json.loads(texts["describe_transactions"])["data"]["transactions"]
    assert (listed["transactional_id"], listed["state"]) == (name, "Ongoing")
    assert name in texts["plan_fencing"]
    assert texts["plan_fencing"].endswith(
        "Nothing was applied. A person plans it again, and applies it, with eosctl.\n"
    )
    assert "It would be refused: " in texts["plan_abort"]
    assert said["trace_record"].is_error
    assert "does not exist" in texts["trace_record"]


def _server(sandbox: Sandbox) -> StdioServerParameters:
    """The server as a client's configuration names it."""
    place = ["-b", sandbox.bootstrap_servers, "--connect-url", sandbox.connect_url(1)]
    return StdioServerParameters(command=sys.executable, args=["-m", "eosctl.mcp", *place])


async def _converse(client: Client, name: str) -> dict[str, Any]:
    questions: dict[str, dict[str, object]] = {
        "list_connectors": {},
        "inspect_config": {"connectors": [name]},
        "describe_connector": {"connector": name},
        "describe_transactions": {"transactional_ids": [name]},
        "plan_fencing": {"transactional_ids": [name]},
        "plan_abort": {"topic": name, "partition": 0},
        "trace_record": {"place": "no-such-topic-0@1"},
    }
    return {tool: await client.call_tool(tool, given) for tool, given in questions.items()}
