"""Topics to move offsets between, with what workers and connectors would have written."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.records import java_partition
from eosctl.operations.plan_facts import read_offsets_topic
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.live_reader import reading_over
from tests.topics import make_topic


class Ground:
    """Topics of one test: a config topic with connectors, an offsets topic, and a target that may not exist."""

    def __init__(self, sandbox: Sandbox, name: str, eosctl: Eosctl, topics: tuple[str, str] | None = None) -> None:
        self.servers, self.name, self._eosctl = sandbox.bootstrap_servers, name, eosctl
        self.configs, self.offsets = topics or (f"{name}-configs", f"{name}-offsets")
        self.target = f"{name}-target"
        self.create(self.configs, 1)
        self.create(self.offsets, 3)
        self.connector("stopped", "STOPPED", 0)
        self.connector("running", "STARTED", 1)
        for connector in ("stopped", "running"):
            self.put(self.offsets, b'["%s",{"f":1}]' % connector.encode(), b'{"p":1}')

    def create(self, topic: str, partitions: int, policy: str = "compact") -> None:
        """Creates the topic."""
        wanted = NewTopic(topic, partitions, 1, config={"cleanup.policy": policy})
        admin = AdminClient({"bootstrap.servers": self.servers})
        make_topic(admin, wanted)

    def connector(self, name: str, state: str, tasks: int) -> None:
        """Writes what a worker would have written about it."""
        self.put(self.configs, f"connector-{name}".encode(), b'{"properties":{"name":"%s"}}' % name.encode(), 0)
        if tasks:
            self.put(self.configs, f"task-{name}-0".encode(), b'{"properties":{"task.class":"x"}}', 0)
        self.put(self.configs, f"commit-{name}".encode(), b'{"tasks":%d}' % tasks, 0)
        value = {"state": "PAUSED" if state == "STOPPED" else state, "state.v2": state}
        self.put(self.configs, f"target-state-{name}".encode(), json.dumps(value).encode(), 0)

    def put(self, topic: str, key: bytes, value: bytes | None, partition: int | None = None) -> None:
        """Writes one record, where Java would."""
        producer = Producer({"bootstrap.servers": self.servers})
        producer.produce(topic, value, key, partition=java_partition(key, 3) if partition is None else partition)
        assert producer.flush(30) == 0

    def migrate(self, connector: str = "stopped", *more: object, to: str | None = None) -> Ran:
        """`migrate-offsets --connector C --to-topic T` with these topics."""
        return self._eosctl(
            "migrate-offsets", "-b", self.servers, "--group-id", self.name, "--connector", connector,
            "--config-topic", self.configs, "--worker-offsets-topic", self.offsets, "--to-topic", to or self.target,
            "--partitions", "3", "--replication-factor", "1", *more,
        )  # fmt: skip

    def apply(self, plan: Path, *more: object) -> Ran:
        """`apply` without a question."""
        return self._eosctl("apply", plan, "-b", self.servers, "--config-topic", self.configs, "--yes", *more)

    def held(self) -> dict[bytes, bytes | None]:
        """Committed values in the target."""
        with Wire(ClientProperties((self.servers,))) as wire:
            topic = read_offsets_topic(reading_over(wire).reader, self.target)
        return {
            key: each.committed.value
            for part in topic.partitions
            for key, each in part.keys.items()
            if key is not None and each.committed is not None
        }


@pytest.fixture
def ground(
    sandbox: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Ground:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Ground(sandbox, fresh_name("refused"), eosctl)


def refused(ran: Ran, exit_code: int, *messages: str) -> None:
    assert ran.exit_code == exit_code, ran.stderr
    for each in messages:
        assert each in ran.stderr
