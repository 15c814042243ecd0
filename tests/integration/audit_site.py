"""A sandbox whose connectors are audited, and what plants a fault in it with real clients."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from eosctl.clients.rest import RestClient
from eosctl.codecs.offsets_topic import encode_offsets_key
from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.producers import transactional_producer
from tests.integration.witnesses import check
from tests.waiting import eventually

OFFSETS = "connect-offsets"
OFFSETS_PARTITIONS = 6


@dataclass(frozen=True)
class Audited:
    """The audit's answer about one connector."""

    exit_code: int
    data: dict[str, Any]
    name: str

    @property
    def verdict(self) -> str:
        """held, broken or cannot-tell."""
        (found,) = [each for each in self.data["connectors"] if each["name"] == self.name]
        return str(found["verdict"])

    @property
    def reasons(self) -> list[str]:
        """The reasons for the verdict."""
        (found,) = [each for each in self.data["connectors"] if each["name"] == self.name]
        return list(found["reasons"])

    @property
    def findings(self) -> dict[str, dict[str, Any]]:
        """Findings above info, by ID."""
        return {each["name"]: each for each in self.data["findings"] if each["severity"] != "info"}

    @property
    def places(self) -> dict[str, list[dict[str, Any]]]:
        """The places that each finding names."""
        return {name: each["evidence"].get("places", [each["evidence"]]) for name, each in self.findings.items()}


class AuditSite:
    """One file connector, read and committed up to `lines` lines, and its audit."""

    def __init__(self, sandbox: Sandbox, eosctl: Eosctl, directory: Path, name: str, lines: int = 50) -> None:
        self.sandbox, self.name = sandbox, name
        self.servers = sandbox.bootstrap_servers
        self.connectors = FileConnectors(sandbox.connect_url(1), self.servers, directory)
        self._eosctl = eosctl
        self._lines = 0
        self.grow(lines, run=False)
        self.connectors.create(name)
        self.await_lines()

    def grow(self, lines: int, *, run: bool = True) -> None:
        """More lines in the file; with `run` they are in the output when this returns."""
        with self.connectors.file(self.name).open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self._lines, self._lines + lines))
        self._lines += lines
        if run:
            self.await_lines()

    def await_lines(self) -> None:
        """All lines are in the output."""
        self.connectors.await_last(self.name, f"line {self._lines - 1}")

    @property
    def transactional_id(self) -> str:
        """The ID of the connector's one task; initializing it fences the task."""
        return f"connect-cluster-{self.name}-0"

    @property
    def key(self) -> bytes:
        """The key of the connector's one source partition."""
        return encode_offsets_key(self.name, {"filename": str(self.connectors.file(self.name))})

    @property
    def partition(self) -> int:
        """Where the worker's offsets topic has it."""
        from eosctl.model.records import java_partition

        return java_partition(self.key, OFFSETS_PARTITIONS)

    def write_offset(self, producer: Producer, position: int) -> None:
        """The connector's offset, by another client."""
        value = json.dumps({"position": position}, separators=(",", ":")).encode()
        producer.produce(OFFSETS, value, self.key, partition=self.partition)

    def produce(self, producer: Producer, value: str) -> None:
        """A record in the connector's output."""
        producer.produce(self.name, value.encode(), partition=0)

    def transaction(self, transactional_id: str, *writes: Callable[[Producer], None]) -> Producer:
        """A committed transaction of another client."""
        producer = transactional_producer(self.servers, transactional_id)
        self.commit(producer, *writes)
        return producer

    @staticmethod
    def commit(producer: Producer, *writes: Callable[[Producer], None]) -> None:
        """One more transaction of a client."""
        producer.begin_transaction()
        for write in writes:
            write(producer)
        producer.commit_transaction(30)

    def plainly(self, *writes: Callable[[Producer], None]) -> None:
        """The same outside any transaction."""
        producer = Producer({"bootstrap.servers": self.servers})
        for write in writes:
            write(producer)
        assert producer.flush(30) == 0

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """DeleteRecords; brokers allow it for topics only that have `delete` in a cleanup.policy that they know."""
        place = TopicPartition(topic, partition, before)
        admin = AdminClient({"bootstrap.servers": self.servers})

        def deleted() -> bool:
            error = admin.delete_records([place])[place].exception(30)
            if error is not None and error.args[0].code() != KafkaError.POLICY_VIOLATION:
                raise error
            return error is None

        eventually(deleted, f"records of {topic}-{partition} before {before} to be deleted")

    def delete_topic(self, topic: str) -> None:
        """Deletes a topic, and waits until no broker names it."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.delete_topics([topic])[topic].result(30)
        eventually(lambda: topic not in admin.list_topics(timeout=30).topics, f"{topic} to be gone")

    def set_cleanup_policy(self, topic: str, policy: str) -> None:
        """The topic's cleanup.policy."""
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.incremental_alter_configs([resource])[resource].result(30)

    def request(self, method: str, path: str) -> None:
        """Asks the worker to stop or resume the connector, or the like."""
        with RestClient(self.connectors.url, 60) as rest:
            rest.request(method, f"/connectors/{self.name}/{path}", None)

    def migrate(self, *flags: str) -> None:
        """Moves the connector's offsets with eosctl, and resumes it."""
        ran = self._eosctl(
            "migrate-offsets", "-b", self.servers, "--connect-url", self.connectors.url,
            "--group-id", "connect-cluster", "--connector", self.name, *flags, "--stop", "--set-config", "--resume",
            "--yes", "--timeout", "60", "-o", "json",
        )  # fmt: skip
        assert ran.exit_code == 0, ran.stderr

    def audit(self, *more: object) -> Audited:
        """The audit of this connector, by the rules of its worker; consumers see its witnesses as stated."""
        audited = audit(self._eosctl, self.servers, self.connectors.url, self.name, *more)
        check(audited.data, self.servers)
        return audited


def audit(
    eosctl: Eosctl, servers: str, url: str, name: str, *more: object, group_id: str = "connect-cluster"
) -> Audited:
    """The audit of one connector, by the rules of the worker at `url`."""
    ran = eosctl(
        "audit", "-b", servers, "--connect-url", url, "--group-id", group_id, "--connector", name, "-o", "json", *more
    )
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return Audited(ran.exit_code, json.loads(ran.stdout)["data"], name)
