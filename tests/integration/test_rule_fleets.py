"""Healthy Connect clusters of unlike shapes on real Kafka: no rule finds an error or a warning."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec, properties_text
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source, write
from tests.integration.own_workers import MIRROR_MAKER, STANDALONE, running
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
ADVERTISED = re.compile(r"advertising URL (http://\S+?)/")
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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("nodes", [1, 3])
def test_mirrormaker_in_its_dedicated_mode(nodes: int, plain: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    """From one cluster to itself, by another name: the tasks run when a record is mirrored."""
    topic, source = f"mirrored-{nodes}", f"up{nodes}"
    create_topic(plain.bootstrap_servers, topic)
    files = [tmp_path / f"node-{number}.properties" for number in range(nodes)]
    with ExitStack() as started:
        for file in files:
            file.write_text(properties_text(mirrored(plain.bootstrap_servers, source, topic)))
            log = started.enter_context(running(plain, MIRROR_MAKER, file))
        write(plain, topic, (b"k", b"v"))
        copy = f"{source}.{topic}"
        eventually(
            lambda: is_there(plain.bootstrap_servers, copy),
            lambda: f"a record is mirrored; {log.read_text()[-3000:]}",
            deadline_s=400,
        )
        names = [part for file in files for part in ("--worker-config", file)]
        doctor = Doctor(eosctl, ("-b", plain.bootstrap_servers, *names))
        assert {each for each, found in doctor.found().items() if found["severity"] != "info"} == set()


def is_there(servers: str, topic: str) -> bool:
    with closing(committed_reader(servers, topic)) as reader:
        return committed_values(reader, None) == [b"v"]


def mirrored(servers: str, source: str, topic: str) -> dict[str, str]:
    """The properties of a node that mirrors the topic with exactly-once; nodes find each other over the group."""
    names = (f"{kind}.storage" for kind in ("config", "offset", "status"))
    made = (f"{kind}.topic" for kind in ("checkpoints", "heartbeats", "offset-syncs"))
    return {
        "clusters": f"{source}, down",
        f"{source}.bootstrap.servers": servers,
        "down.bootstrap.servers": servers,
        f"{source}->down.enabled": "true",
        f"{source}->down.topics": topic,
        f"down->{source}.enabled": "false",
        f"down->{source}.emit.heartbeats.enabled": "false",
        "down.exactly.once.source.support": "enabled",
        f"{source}.consumer.isolation.level": "read_committed",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "service_load",
        "replication.factor": "1",
        **{f"{name}.replication.factor": "1" for name in (*names, *made)},
    }


def test_a_standalone_worker(plain: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    worker, connector = tmp_path / "worker.properties", tmp_path / "connector.properties"
    converters = {f"{kind}.converter": "org.apache.kafka.connect.storage.StringConverter" for kind in ("key", "value")}
    files = {
        "plugin.discovery": "service_load",
        "offset.storage.file.filename": str(tmp_path / "offsets"),
        "listeners": "http://127.0.0.1:0",
    }
    worker.write_text(properties_text({"bootstrap.servers": plain.bootstrap_servers, **converters, **files}))
    connector.write_text(properties_text({"name": "alone", **file_source(tmp_path, "alone")}))
    with running(plain, STANDALONE, worker, connector) as log:
        found = eventually(lambda: ADVERTISED.search(log.read_text()), "it listens", deadline_s=200)
        Rest(found[1]).await_tasks("alone")
        doctor = Doctor(eosctl, ("-b", plain.bootstrap_servers, "--connect-url", found[1], "--worker-config", worker))
        assert {each for each, found in doctor.found().items() if found["severity"] != "info"} == set()
