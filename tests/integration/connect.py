"""A MirrorSourceConnector that copies one topic into another of the same cluster, and the worker that runs it."""

import re
from collections.abc import Mapping
from typing import Any

import httpx
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.integration.rebalance import is_for_now
from tests.waiting import eventually

PARTITIONS = 3
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
WORKER = "org.apache.kafka.connect.runtime.Worker"

_ROUND = re.compile(r"Fencing out (\d+) task producers for source connector (\S+)")
_SKIPPED = re.compile(r"Skipping zombie fencing round but writing task count record for connector (\S+) as (\w+)")


class Worker:
    """The REST interface and the log of a sandbox's first worker."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.url = sandbox.connect_url(1)
        self._http = httpx.Client(base_url=self.url, timeout=60, trust_env=False, verify=False)

    def close(self) -> None:
        """Close the connection to it."""
        self._http.close()

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """The answer's JSON; during a rebalance it is asked again."""
        answers: list[httpx.Response] = []

        def settled() -> bool:
            answers.append(self._http.request(method, path, json=body))
            return not is_for_now(answers[-1])

        eventually(settled, f"{method} {path}")
        answer = answers[-1]
        assert answer.status_code < 400, answer.text
        return answer.json() if answer.content else None

    def tell_rounds(self) -> None:
        """Have the worker log the result of each request to fence."""
        for logger in (HERDER, WORKER):
            self.ask("PUT", f"/admin/loggers/{logger}", {"level": "DEBUG"})

    def task_states(self, name: str) -> list[str]:
        """The states of the tasks that there are."""
        return [task["state"] for task in self.ask("GET", f"/connectors/{name}/status")["tasks"]]

    def wait_for_tasks(self, name: str, count: int, state: str = "RUNNING", *, deadline_s: float = 60) -> None:
        """Returns when the connector has `count` tasks and all are in `state`."""
        there = lambda: self._there(name) and self.task_states(name) == [state] * count  # noqa: E731
        eventually(there, f"{count} {state} tasks", deadline_s=deadline_s)

    def _there(self, name: str) -> bool:
        return self._http.get(f"/connectors/{name}/status").status_code == 200

    def stop(self, name: str) -> None:
        """Stop the connector and wait until it has no task."""
        self.ask("PUT", f"/connectors/{name}/stop")
        self.wait_for_tasks(name, 0)

    def rounds(self, name: str) -> list[tuple[str, int]]:
        """The leader's actions at each request to fence that no record answered yet: rule and producers."""
        found = []
        for line in self.sandbox.worker_log(1).read_text().splitlines():
            if (fenced := _ROUND.search(line)) and fenced[2] == name:
                found.append(("fence", int(fenced[1])))
            elif (skipped := _SKIPPED.search(line)) and skipped[1] == name:
                found.append(("single-task" if skipped[2] == "both" else "first-start", 0))
        return found


class Mirror:
    """A connector `name` that copies topic `<name>-in` to `A.<name>-in`."""

    def __init__(self, worker: Worker, name: str) -> None:
        self.worker, self.name = worker, name
        self.servers = worker.sandbox.bootstrap_servers
        self._made = 0
        create_topic(self.servers, f"{name}-in", PARTITIONS)

    def config(self, tasks: int, **more: str) -> dict[str, str]:
        """Its configuration."""
        return {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": str(tasks),
            "source.cluster.alias": "A",
            "target.cluster.alias": "B",
            "source.cluster.bootstrap.servers": self.servers,
            "target.cluster.bootstrap.servers": self.servers,
            "topics": f"{self.name}-in",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "key.converter": BYTES,
            "value.converter": BYTES,
            **more,
        }

    def configure(self, tasks: int, **more: str) -> None:
        """Create or reconfigure it."""
        self.worker.ask("PUT", f"/connectors/{self.name}/config", self.config(tasks, **more))

    def start(self, tasks: int = PARTITIONS) -> None:
        """Create or reconfigure it and wait until its tasks run and have copied something."""
        self.configure(tasks)
        self.worker.wait_for_tasks(self.name, tasks)
        self.feed()
        eventually(lambda: len(self.copied()) >= self._made, "the first records copied")

    @property
    def made(self) -> int:
        """How many records were written so far."""
        return self._made

    def feed(self, count: int = 60) -> None:
        """Write so many more records, numbered, over all partitions."""
        producer = Producer({"bootstrap.servers": self.servers})
        for number in range(self._made, self._made + count):
            producer.produce(f"{self.name}-in", b"%d" % number, partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        self._made += count

    def copied(self, servers: str | None = None) -> list[int]:
        """The numbers that read_committed consumers of the copy see, sorted; in the original's cluster if not told."""
        settings = {"bootstrap.servers": servers or self.servers, "group.id": "copies", "enable.auto.commit": False}
        consumer = Consumer(settings)
        topic = f"A.{self.name}-in"
        if topic not in consumer.list_topics(timeout=30).topics:
            consumer.close()
            return []
        places = [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)]
        ends = sum(consumer.get_watermark_offsets(place)[1] > 0 for place in places)
        consumer.assign(places)
        numbers: list[int] = []
        while ends and (messages := consumer.consume(1000, 0.5)):
            numbers += [int(message.value() or b"") for message in messages if message.error() is None]
        consumer.close()
        return sorted(numbers)

    def check_exactly_once(self) -> None:
        """Everything written so far, and some more, is in the copy once."""
        self.feed()
        eventually(lambda: len(self.copied()) >= self._made, f"{self._made} records in the copy")
        assert self.copied() == list(range(self._made))

    def delete(self) -> None:
        """Delete the connector."""
        self.worker.ask("DELETE", f"/connectors/{self.name}")
