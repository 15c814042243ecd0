"""A connector whose producer is sent to another cluster: its offsets go there, and are read where they always were."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors, values_in, wait_for

pytestmark = pytest.mark.kafka

LINES = [f"line {number}".encode() for number in range(10)]


def test_with_only_the_producer_elsewhere_every_start_begins_from_nothing(
    connect_sandbox: Sandbox,
    sandbox: Sandbox,
    eosctl: Callable[..., Ran],
    fresh_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    other = sandbox.bootstrap_servers
    servers, url = connect_sandbox.bootstrap_servers, connect_sandbox.connect_urls[0]
    connectors, name = FileConnectors(url, servers, tmp_path), fresh_name("elsewhere")
    config = {"offsets.storage.topic": f"{name}-own", "producer.override.bootstrap.servers": other}

    def copied(count: int) -> list[bytes | None]:
        return wait_for(lambda: values_in(other, name), lambda values: len(values) >= count, f"{count} records")

    file = connectors.file(name)
    file.write_bytes(b"".join(line + b"\n" for line in LINES))
    connectors.create(name, config)
    assert copied(len(LINES)) == LINES
    connectors.delete(name)
    away = file.rename(file.with_suffix(".away"))
    connectors.create(name, config)
    connectors.await_running(name)

    ran = eosctl(
        "offsets", "show", "-b", servers, "--connect-url", url, "--worker-bootstrap-servers", servers,
        "--connector", name, "-o", "json",
    )  # fmt: skip
    data = json.loads(ran.stdout)["data"]
    [finding] = [each for each in data["findings"] if each["name"] == "offsets-written-elsewhere"]
    assert finding["evidence"] == {"written_to": f"{name}-own on {other}", "read_from": f"{name}-own"}
    assert [row["kafka_effective"] for row in data["offsets"]] == [None]

    away.rename(file)
    assert copied(2 * len(LINES)) == LINES + LINES
    connectors.delete(name)
