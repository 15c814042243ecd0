"""`acl-plan --streams`: an application runs with exactly these ACLs, and does not without any required one."""

import json
import subprocess
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer, Producer

from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.sandbox.jars import resolve_plugin
from eosctl.sandbox.java import compile_java
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.integration.producers import create_topic
from tests.jvm import jars_of, java_with
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
USER = "User:connector"
STREAMS = "org.apache.kafka:kafka-streams:{}"


def planned(eosctl: Eosctl, name: str) -> list[tuple[AclBinding, bool]]:
    """The bindings of the plan, each with whether it is required."""
    topics = ("--reads", f"in-{name}", "--writes", f"out-{name}")
    ran = eosctl("acl-plan", "--streams", name, *topics, "--principal", f"streams={USER}", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    return [
        (
            AclBinding(
                row["principal"],
                Operation(row["operation"]),
                ResourcePattern(
                    ResourceType(row["resource_type"]), row["resource_name"], PatternType(row["pattern_type"])
                ),
            ),
            not row["optional"],
        )
        for row in json.loads(ran.stdout)["data"]["bindings"]
    ]


def results(servers: str, topics: list[str], least: int) -> set[str]:
    """The topics with committed records, when at least so many have them."""
    settings = {"bootstrap.servers": servers, "group.id": topics[0], "auto.offset.reset": "earliest"}
    reader = Consumer({**settings, "isolation.level": "read_committed", "enable.auto.commit": False})
    reader.subscribe(topics)
    found: set[str] = set()

    def read() -> bool:
        found.update(each.topic() for each in reader.consume(100, 1.0) if each.error() is None)
        return len(found) >= least

    eventually(read, deadline_s=120)
    reader.close()
    return found


def test_an_application_runs_with_exactly_these_acls_and_not_without_a_required_one(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path
) -> None:
    servers, whole = broker.bootstrap_servers, fresh_name("counted")
    plan = planned(eosctl, whole)
    granted = [binding for binding, _ in plan]
    required = [number for number, (_, needed) in enumerate(plan) if needed]
    assert len(required) == 7
    without: dict[str, AclBinding] = {}
    for number in range(len(plan)):
        name = fresh_name("lacking")
        bindings = [binding for binding, _ in planned(eosctl, name)]
        without[name] = bindings[number]
        granted += [each for each in bindings if each != bindings[number]]
    names = [whole, *without]
    lacking = [name for name, each in without.items() if each.operation is not Operation.DELETE]
    feeder = Producer({"bootstrap.servers": servers})
    for name in names:
        create_topic(servers, f"in-{name}")
        create_topic(servers, f"out-{name}")
        feeder.produce(f"in-{name}", b"word")
    assert feeder.flush(30) == 0
    client = tmp_path / "client.properties"
    client.write_text(broker.client_properties("connector"))
    jars = jars_of(broker)
    streams = resolve_plugin(STREAMS.format(broker.kafka_version), lambda _: None)
    classes = compile_java(
        jars.compiler, Path(__file__).with_name("CountedWords.java"), f"{jars.classpath}:{streams}/*"
    )
    command = [*java_with(jars, classes, Path(f"{streams}/*")), "CountedWords", str(client), str(tmp_path), *names]
    ended: dict[str, str] = {}
    with AclBroker(broker) as acls:
        acls.set(granted)
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as ran:
            try:
                assert ran.stdout is not None
                words = (line.partition(" ") for line in ran.stdout)
                said = ((name, why) for name, _, why in words if name in names)
                Thread(target=lambda: ended.update(said), daemon=True).start()
                eventually(lambda: ended.keys() >= set(lacking) or None, deadline_s=240)
                counted = results(servers, [f"out-{name}" for name in names], least=2)
            finally:
                ran.kill()
    assert counted == {f"out-{name}" for name in names if name not in lacking}
    assert ended.keys() == set(lacking), ended
    refusals = {"Group": "GroupAuthorization", "TransactionalId": "TransactionalIdAuthorization", "Topic": ""}
    for name in lacking:
        assert refusals[without[name].pattern.resource_type] in ended[name], (without[name], ended[name])
