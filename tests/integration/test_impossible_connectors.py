"""One connector that can never run is a finding about itself: each command goes on for all others."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from eosctl.clients.rest import RestClient
from eosctl.model.names import is_topic_name
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import CONFIG_TOPIC
from tests.integration.doctoring import arguments
from tests.integration.test_doctor import put_source, remove
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

PLAIN = {"connector.class": "FileStreamSource", "file": "/none", "topic": "odd-out", "tasks.max": "1"}
ODD: Mapping[str, Mapping[str, object]] = {
    "topic": {"topic": "no topic!"},
    "own": {"offsets.storage.topic": "no topic!"},
    "class": {"connector.class": ["FileStreamSource"], "offsets.storage.topic": ["x"], "tasks.max": {"x": 1}},
    "tasks": {"tasks.max": "0x10", "transaction.boundary": "nonsense", "exactly.once.support": "maybe"},
    "many": {"tasks.max": "4000000000"},
    "brokers": {"producer.override.bootstrap.servers": "::::"},
    "line\nend": {},
}
"""The fault of each connector, by the beginning of its name."""


@pytest.fixture
def odd(connect_sandbox: Sandbox, fresh_name: FreshName) -> Iterator[list[str]]:
    """Their names, while the config topic holds them: some of them no worker would take over REST."""
    producer = Producer({"bootstrap.servers": connect_sandbox.bootstrap_servers})
    names = {fresh_name(each): settings for each, settings in ODD.items()}

    def write(key: str, value: object) -> None:
        text = None if value is None else json.dumps(value).encode()
        producer.produce(CONFIG_TOPIC, key=key.encode(), value=text, partition=0)
        assert producer.flush(30) == 0

    def known() -> set[str]:
        with RestClient(connect_sandbox.connect_urls[0], 30) as rest:
            return set(rest.get("/connectors"))  # type: ignore[call-overload]  # a list

    for name, settings in names.items():
        write(f"connector-{name}", {"properties": {"name": name, **PLAIN, **settings}})
    eventually(lambda: known() >= names.keys(), "the worker has read them")
    yield list(names)
    for name in names:
        write(f"connector-{name}", None)
    eventually(lambda: not known() & names.keys(), "they are gone")


@pytest.mark.proves("EOS074")
def test_every_command_names_them_and_continues_for_the_others(
    connect_sandbox: Sandbox, eosctl, fresh_name, odd: list[str], tmp_path: Path
) -> None:
    lines, good = tmp_path / "lines", fresh_name("good")
    lines.write_text("1\n")
    put_source(connect_sandbox, good, lines)
    there = [*arguments(connect_sandbox, ()), "--group-id", connect_sandbox.spec.group_id]
    named = ["--principal", "worker=User:worker", "--principal", "connector=User:connector"]

    def data(*command: str, codes: set[int] = frozenset({1})) -> dict:  # type: ignore[assignment]
        ran = eosctl(*command, *there, "-o", "json")
        assert ran.exit_code in codes, (command, ran.exit_code, ran.stderr)
        return dict(json.loads(ran.stdout)["data"])

    def impossible(found: dict) -> set[str]:
        return {each["subject"] for each in found["findings"] if each["id"] == "EOS074"}

    try:
        inspected = data("inspect-config")
        assert impossible(inspected) == set(odd)
        assert good in {each["name"] for each in inspected["connectors"]}

        shown = data("offsets", "show")
        [row] = [each for each in shown["connectors"] if each["name"] == good]
        assert row["stores"]["written_to"] == "connect-offsets"
        assert not [each for each in shown["unread"] if "offsets topic" in each["what"]]

        planned = data("acl-plan", *named)
        assert planned["phase"] == "enabled"
        topics = [each for each in planned["bindings"] if each["resource_type"] == "Topic" and each["connectors"]]
        assert all(is_topic_name(each["resource_name"]) for each in topics)
        assert any(good in each["connectors"] for each in topics)

        answer = data("doctor", *named)
        assert impossible(answer) == set(odd)
        assert ("EOS131", good) in {(each["id"], each["subject"]) for each in answer["findings"]}
        assert "enabled" in {each["exactly_once"] for each in answer["workers"]}

        checked = data("upgrade-check", "--to", "enabled", *named)
        assert {each["phase"] for each in checked["workers"]} == {"enabled"}
        assert checked["verdict"] == "no"

        audited = data("audit", codes={0, 1, 3})
        assert good in {each["name"] for each in audited["connectors"]}

        watched = data("watch", "--once", codes={0, 1, 3})
        assert good in {each["labels"].get("connector") for each in watched["samples"]}
    finally:
        remove(connect_sandbox, good)
