"""Snapshots of a real cluster: they answer as the cluster does, and hold no secret of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import read_topic
from tests.integration.connect import Mirror, Worker

pytestmark = pytest.mark.kafka

SECRETS = {
    "database.password": "hunter2-in-the-clear",
    "api.token": "token-in-the-clear",
    "aws.secret.access.key": "key-in-the-clear",
    "connection.url": "jdbc:postgresql://scott:tiger-in-the-clear@db/x",
    "source.cluster.sasl.jaas.config": 'org.apache.kafka.X required username="u" password="jaas-in-the-clear";',
}
REFERENCE = "${file:/run/secrets/db.properties:password}"


@pytest.fixture
def worker(connect_sandbox: Sandbox) -> Iterator[Worker]:
    worker = Worker(connect_sandbox)
    yield worker
    worker.close()


@pytest.fixture
def mirror(worker: Worker, fresh_name: FreshName) -> Iterator[Mirror]:
    """A stopped connector whose properties hold secrets, beside what other tests left."""
    mirror = Mirror(worker, fresh_name("secretive"))
    mirror.start(2)
    worker.stop(mirror.name)
    mirror.configure(2, **SECRETS, **{"other.password": REFERENCE})
    yield mirror
    mirror.delete()


@pytest.fixture
def cluster(worker: Worker) -> tuple[str, ...]:
    return ("-b", worker.sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", worker.url)


def data(ran: Ran) -> dict[str, Any]:
    assert ran.exit_code in {0, 1}, ran.stderr
    return dict(json.loads(ran.stdout)["data"])


def test_a_snapshot_answers_as_the_cluster_did(
    mirror: Mirror, cluster: tuple[str, ...], eosctl: Eosctl, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.snapshot"
    saved = eosctl("snapshot", "save", file, *cluster)
    assert saved.exit_code == 0, saved.stderr
    for flags in ((), ("--isolation-level", "read_uncommitted"), ("--history",)):
        live = eosctl("inspect-config", *cluster, "-o", "json", *flags)
        later = eosctl("inspect-config", "--snapshot", file, "-o", "json", *flags)
        assert data(later) == data(live), flags
        assert later.exit_code == live.exit_code, flags
        assert mirror.name in later.stdout, flags


def test_show_lists_the_content_of_a_snapshot(
    mirror: Mirror, cluster: tuple[str, ...], eosctl: Eosctl, tmp_path: Path, worker: Worker
) -> None:
    file = tmp_path / "cluster.snapshot"
    saved = eosctl("snapshot", "save", file, *cluster, "-o", "json")
    shown = eosctl("snapshot", "show", file, "-o", "json")
    assert shown.exit_code == 0, shown.stderr
    assert data(shown) == data(saved)
    assert json.loads(shown.stdout)["cluster_id"] == worker.sandbox.cluster_id


def test_no_secret_is_in_the_file_nor_in_an_answer(
    mirror: Mirror, cluster: tuple[str, ...], eosctl: Eosctl, tmp_path: Path
) -> None:
    records = read_topic(mirror.servers)
    assert any("hunter2-in-the-clear" in (record.value or "") for record in records), "the topic itself has them"
    keys = [json.loads(record.value)["key"] for record in records if record.key == "session-key" and record.value]
    assert keys
    file = tmp_path / "cluster.snapshot"
    assert eosctl("snapshot", "save", file, *cluster).exit_code == 0
    texts = [file.read_text()]
    for output in ("json", "yaml", "table"):
        texts += [eosctl("inspect-config", *cluster, "-o", output, *flags).stdout for flags in ((), ("--history",))]
    for text in texts:
        assert "in-the-clear" not in text
        assert not [key for key in keys if key in text]
    assert REFERENCE in texts[0], "a reference is no secret"


def test_an_unauthorized_read_is_noted_with_the_reason(sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "poor.snapshot"
    saved = eosctl("snapshot", "save", file, "-b", sandbox.bootstrap_servers, "--config-topic", "no-such-topic")
    assert saved.exit_code == 3, saved.stderr
    assert "topic no-such-topic does not exist" in file.read_text()
    ran = eosctl("inspect-config", "--snapshot", file)
    assert ran.exit_code == 2
    assert "topic no-such-topic does not exist" in ran.stderr
