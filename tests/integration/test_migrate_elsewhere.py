"""A connector that produces to another Kafka cluster than the one where its workers keep their topics."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.commands.conftest import Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import wait_for
from tests.integration.moves import STOPPABLE, Eosctl, Home, Lines, flowing, worker_of
from tests.kafka_versions import spec_of
from tests.waiting import eventually

ALL = ("--stop", "--set-config", "--resume")

pytestmark = [pytest.mark.kafka, pytest.mark.matrix, pytest.mark.usefixtures("own_state")]


@pytest.fixture
def home(here: Sandbox) -> Home:
    return Home(here)


@pytest.fixture(scope="module")
def there(kafka_version: str) -> Iterator[Sandbox]:
    with Sandbox(spec_of(kafka_version)) as sandbox:
        yield sandbox


def overrides(servers: str) -> dict[str, str]:
    return {f"{client}.override.bootstrap.servers": servers for client in ("producer", "consumer", "admin")}


def shown(eosctl: Eosctl, here: Home, name: str) -> dict:
    ran = eosctl(
        "offsets", "show", "-b", here.servers, "--connect-url", here.url, "--worker-bootstrap-servers", here.servers,
        "--connector", name, "-o", "json",
    )  # fmt: skip
    return json.loads(ran.stdout)["data"]


def migrated(eosctl: Eosctl, servers: str, lines: Lines, *more: str) -> Ran:
    """Move it over REST; workers that cannot stop a connector have it deleted before, by a person."""
    here = lines.place.home
    return eosctl(
        "migrate-offsets", "-b", servers, "--group-id", here.group_id, "--connect-url", here.url,
        "--connector", lines.place.name, *more, *(ALL if here.version >= STOPPABLE else ()), "--yes", "--timeout", "60",
    )  # fmt: skip


def halt(lines: Lines) -> None:
    """Stop it and wait until it has no task, or delete it where workers cannot stop one."""
    here, name = lines.place.home, lines.place.name
    if here.version >= STOPPABLE:
        worker_of(here).stop(name)
    else:
        here.delete(name)


def start(lines: Lines) -> None:
    """Give it its new settings and let it run."""
    here, name = lines.place.home, lines.place.name
    here.create(name, lines.config(here))
    if here.version >= STOPPABLE:
        assert here.ask("PUT", f"/connectors/{name}/resume") < 400


def test_its_offsets_are_found_in_the_other_cluster_and_moved_there(
    home: Home, there: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    """With a topic of its own they are over there, whether exactly-once is enabled or not."""
    servers = there.bootstrap_servers
    name = fresh_name("sent")
    lines = Lines(home, name, tmp_path, {**overrides(servers), "offsets.storage.topic": f"{name}-own"})
    end = {"position": lines.path.stat().st_size}
    data = wait_for(
        lambda: shown(eosctl, home, name),
        lambda found: [row["kafka_effective"]["value"] for row in found["offsets"] if row["kafka_effective"]] == [end],
        "the offset of the last line",
    )
    [finding] = [each for each in data["findings"] if each["name"] == "produces-elsewhere"]
    assert (
        f"producer.override.bootstrap.servers={servers}: that is another Kafka cluster, {there.cluster_id}"
        in (finding["message"])
    )
    assert finding["evidence"]["written_to"] == f"{name}-own on {servers}"

    wrong = migrated(eosctl, home.servers, lines, "--to-topic", f"{name}-new")
    assert wrong.exit_code == 8, wrong.stderr
    assert f"its offsets are in cluster {there.cluster_id}, not in {home.sandbox.cluster_id}" in wrong.stderr
    assert f"-b {servers}" in wrong.stderr
    lines.check_exactly_once()

    lines.more["offsets.storage.topic"] = f"{name}-new"
    with flowing(lines):
        halt(lines)
        # A connector that was deleted is not in the config topic of that cluster: a person has to say where they are.
        ran = migrated(eosctl, servers, lines, "--to-topic", f"{name}-new", "--offsets-topic", f"{name}-own")
        assert ran.exit_code == 0, ran.stderr
        start(lines)
    lines.check_exactly_once()
    home.delete(name)


def test_offsets_follow_a_connector_that_is_sent_elsewhere(
    home: Home, there: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    """It stays in its Connect cluster; its records, and with them its offsets, go to another Kafka cluster."""
    servers = there.bootstrap_servers
    name = fresh_name("follows")
    lines = Lines(home, name, tmp_path)
    with flowing(lines):
        halt(lines)
        lines.more |= overrides(servers)
        if home.version >= STOPPABLE:
            home.create(name, lines.config(home))
        ran = migrated(eosctl, home.servers, lines, "--to-bootstrap-server", servers, "--to-topic", f"{name}-own")
        assert ran.exit_code == 0, ran.stderr
        lines.more["offsets.storage.topic"] = f"{name}-own"
        start(lines)
    lines.check_exactly_once()
    home.delete(name)


@pytest.mark.variation
def test_without_eosctl_it_begins_again(home: Home, there: Sandbox, fresh_name: FreshName, tmp_path: Path):
    """So the test above can fail."""
    name = fresh_name("again")
    lines = Lines(home, name, tmp_path)
    count = len(lines.copied())
    halt(lines)
    lines.more |= {**overrides(there.bootstrap_servers), "offsets.storage.topic": f"{name}-own"}
    start(lines)
    eventually(lambda: len(lines.copied()) >= 2 * count, "every line a second time")
    home.delete(name)


def test_a_schema_history_that_is_not_in_the_other_kafka_refuses_the_move(
    home: Home, there: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    """Offsets alone would have the task fail, or read rows by a wrong schema. A copy of all its records is enough."""
    name = fresh_name("historized")
    history = f"{name}-history"
    settings = {"topic": history, "bootstrap.servers": home.servers}
    history_settings = {f"schema.history.internal.kafka.{key}": each for key, each in settings.items()}
    lines = Lines(home, name, tmp_path, history_settings)
    halt(lines)
    put_all(home.servers, history, [b'{"ddl": 1}', b'{\n "ddl": 2}'])
    plan = tmp_path / "move.json"

    def planned() -> Ran:
        return eosctl(
            "migrate-offsets", "-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url,
            "--connector", name, "--to-bootstrap-server", there.bootstrap_servers, "--to-group-id", "over-there",
            "--to-topic", f"{name}-own", "--plan-file", plan,
        )  # fmt: skip

    put_all(there.bootstrap_servers, history, [b'{"ddl": 1}'])
    refused = planned()
    assert refused.exit_code == 8, refused.stderr
    assert f"2 records of topic {history}, is in Kafka cluster {home.sandbox.cluster_id}" in refused.stderr
    assert f"{there.cluster_id} has no copy of it" in refused.stderr
    put_all(there.bootstrap_servers, history, [b'{\n "ddl": 2}'])
    accepted = planned()
    assert accepted.exit_code == 0, accepted.stderr
    assert "EOS414" in accepted.stdout
    assert "before it is resumed" in accepted.stdout
    home.delete(name)


def put_all(servers: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0
