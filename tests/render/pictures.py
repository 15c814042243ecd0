"""Draws the pictures of the audit's page in docs/pictures from a real run: `make pictures`. An ordinary run does not
collect it.

Six connectors copy lines on a sandbox. Operators do to four of them what the audit judges, and its page is opened in a
browser.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec

from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.model.names import TopicPartition
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.pages import Shell, shell, steps_of
from tests.integration.pictures import settings_for
from tests.render.browser import Browser, Page
from tests.waiting import eventually

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
CONNECTORS = ("orders", "customers", "invoices", "payments", "shipments", "imports")


@pytest.mark.timeout(1200)
def test_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the worker's directory too: file names on the page are those of no machine
    spec = SandboxSpec(workers=1, broker_config=UNVERIFIED, directory=tmp_path / "kafka")
    with Sandbox(spec) as sandbox, shell(tmp_path, settings_for(sandbox, tmp_path)) as bash:
        _let_things_happen(bash, tmp_path, sandbox.bootstrap_servers)
        output, code = bash.type("eosctl audit --report audit.html")
        assert code == 1, output
    with Browser(tmp_path) as browser:
        file = tmp_path / "audit.html"
        Page(browser).shape(1100, 1060).open(file).screenshot(PICTURES / "audit-page.png", whole=False)
        plots = Page(browser).shape(1100, 1290, dark=True).open(file)
        plots.evaluate("document.getElementById('timeline').scrollIntoView()")
        plots.screenshot(PICTURES / "audit-page-plots.png", whole=False)


def _let_things_happen(bash: Shell, directory: Path, servers: str) -> None:
    """orders and shipments hold; offsets of customers are altered; invoices begins again; payments hangs; imports lost
    its first records."""
    for step in steps_of(PICTURES.parent / "tutorial.md"):
        if step.commands.startswith("rest()"):
            bash.follow(step)
    for name in CONNECTORS:
        _grow(directory, name, range(300))
        bash.run(_configure(name))
    _wait_for(servers, CONNECTORS, 301)
    bash.run("eosctl offsets export saved/")
    for number in range(3):
        for name in CONNECTORS:
            _grow(directory, name, range(300 * number + 300, 300 * number + 600))
        _wait_for(servers, CONNECTORS, 301 * number + 602)
        bash.run("rest POST '/connectors/orders/restart?includeTasks=true' ''")
    bash.run(_configure("invoices", '"offsets.storage.topic": "invoices-offsets"'))
    bash.run(
        "eosctl migrate-offsets --connector shipments --to-topic shipments-offsets --stop --set-config --resume --yes"
    )
    bash.run("eosctl offsets restore saved/customers.json --connector customers --stop --yes")
    bash.run("rest PUT /connectors/customers/resume")
    _wait_for(servers, ("invoices", "customers"), 1800)
    with Wire(client_properties(bootstrap_server=servers), timeout_s=30) as wire:
        hang(wire, TopicPartition("payments", 0), "connect-cluster-payments-0")
    brokers = AdminClient({"bootstrap.servers": servers})
    [deleted] = brokers.delete_records([Place("imports", 0, 100)]).values()
    deleted.result(30)


def _grow(directory: Path, name: str, numbers: range) -> None:
    with (directory / f"{name}.txt").open("a") as lines:
        lines.writelines(f"{name} {number}\n" for number in numbers)


def _configure(name: str, setting: str = '"tasks.max": "1"') -> str:
    config = f'{{"connector.class": "{SOURCE}", "file": "{name}.txt", "topic": "{name}", {setting}}}'
    return f"rest PUT /connectors/{name}/config '{config}'"


def _wait_for(servers: str, names: Sequence[str], offsets: int) -> None:
    """Until each topic has so many offsets."""
    for name in names:
        asked = f"{offsets} offsets of {name}"
        eventually(lambda name=name: _high_watermark(servers, name) >= offsets, asked, deadline_s=240, every_s=0.5)


def _high_watermark(servers: str, topic: str) -> int:
    """0 where the topic does not exist; a client keeps that answer, so each question has a client of its own."""
    brokers, place = AdminClient({"bootstrap.servers": servers}), Place(topic, 0)
    try:
        answers = brokers.list_offsets({place: OffsetSpec.latest()}, request_timeout=5)
        return answers[place].result(30).offset
    except KafkaException:
        return 0
