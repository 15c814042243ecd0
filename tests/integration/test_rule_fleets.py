"""Healthy Connect clusters of unlike shapes on real Kafka: no rule finds an error or a warning."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source
from tests.integration.producers import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PROVIDERS = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "producer.client.rack": "${env:HOME}",
}


@pytest.fixture(scope="module")
def plain() -> Iterator[Sandbox]:
    """A worker that nobody enabled."""
    with Sandbox(SandboxSpec(workers=1, exactly_once="disabled")) as started:
        yield started


def counted(sandbox: Sandbox, eosctl: Eosctl, *more: object) -> set[tuple[str, str]]:
    found = Doctor(eosctl, (*arguments(sandbox), *more)).found()
    return {each for each, finding in found.items() if finding["severity"] != "info"}


def at_rest(sandbox: Sandbox, eosctl: Eosctl) -> None:
    Doctor(eosctl, tuple(arguments(sandbox))).sees_no_more(("EOS024", "tasks"), ("EOS024", "connect-cluster"))


def test_workers_without_connectors_then_with_a_sink(plain: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    at_rest(plain, eosctl)
    assert counted(plain, eosctl) == set()
    create_topic(plain.bootstrap_servers, "in")
    rest = Rest(plain.connect_url(1))
    config = {"connector.class": SINK, "topics": "in", "tasks.max": "1", "file": str(tmp_path / "out")}
    rest.put("sink", config | {"consumer.override.isolation.level": "read_committed"})
    rest.await_tasks("sink")
    at_rest(plain, eosctl)
    assert counted(plain, eosctl) == set()


@pytest.mark.parametrize("version", ["3.9.2"])
def test_workers_older_than_their_brokers(version: str, eosctl: Eosctl, tmp_path: Path) -> None:
    with Sandbox(SandboxSpec(connect_version=version, workers=1)) as sandbox:
        rest = Rest(sandbox.connect_url(1))
        rest.put("source", file_source(tmp_path, "source"))
        rest.await_tasks("source")
        at_rest(sandbox, eosctl)
        assert Doctor(eosctl, tuple(arguments(sandbox))).rules() == set()


@pytest.mark.parametrize("settings", [{}, PROVIDERS], ids=["several workers", "config providers"])
def test_workers_with_exactly_once(settings: Mapping[str, str], eosctl: Eosctl, tmp_path: Path) -> None:
    with Sandbox(SandboxSpec(workers=2, worker_config=settings)) as sandbox:
        rest = Rest(sandbox.connect_url(1))
        rest.put("source", file_source(tmp_path, "source"))
        rest.await_tasks("source")
        at_rest(sandbox, eosctl)
        assert counted(sandbox, eosctl) == set()


def test_connectors_on_another_cluster(eosctl: Eosctl, tmp_path: Path) -> None:
    with Sandbox() as there, Sandbox(SandboxSpec(workers=1)) as here:
        clients = ("producer", "consumer", "admin")
        servers = {f"{each}.override.bootstrap.servers": there.bootstrap_servers for each in clients}
        rest = Rest(here.connect_url(1))
        rest.put("source", file_source(tmp_path, "source", **servers))
        rest.await_tasks("source")
        at_rest(here, eosctl)
        assert counted(here, eosctl) == set()
