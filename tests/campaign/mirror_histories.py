"""Random histories of MirrorMaker 2 between two clusters: what happens to its connectors and to their workers."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from confluent_kafka import KafkaException

from tests.campaign.mirrored_topics import ALIAS, MirroredTopic, copies
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import BYTES, Worker
from tests.waiting import eventually

SETTLED_S = 900


class MirrorConnector:
    """A MirrorSource connector of some topics, and what happens to it."""

    def __init__(self, worker: Worker, name: str, topics: Sequence[MirroredTopic], isolation: str) -> None:
        self._worker, self.name, self.topics, self._isolation = worker, name, topics, isolation
        self.url, self.offsets_topics = worker.url, ["connect-offsets"]
        self.operations: list[str] = []
        self.configure()

    def configure(self, **more: str) -> None:
        """Created, or its config replaced."""
        config = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": "2",
            "source.cluster.alias": ALIAS,
            "target.cluster.alias": "us",
            "source.cluster.bootstrap.servers": self.topics[0].source,
            "target.cluster.bootstrap.servers": self.topics[0].target,
            "topics": ",".join(each.name for each in self.topics),
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "sync.topic.configs.enabled": "false",
            "refresh.topics.interval.seconds": "2",
            "source.consumer.isolation.level": self._isolation,
            "source.consumer.metadata.max.age.ms": "1000",
            "key.converter": BYTES,
            "value.converter": BYTES,
            "header.converter": BYTES,
            **more,
        }
        self._worker.ask("PUT", f"/connectors/{self.name}/config", config)

    def happen(self, chance: random.Random) -> None:
        """One random operation."""
        choices: tuple[Callable[[], None], ...] = (self.pause, self.restart, self.stop, self.forget, self.move_offsets)
        operation = chance.choice(choices)
        self.operations.append(operation.__name__)
        operation()

    def pause(self) -> None:
        """Until `resume`."""
        self._worker.ask("PUT", f"/connectors/{self.name}/pause")

    def stop(self) -> None:
        """Until `resume`, without tasks."""
        self._worker.stop(self.name)

    def restart(self, only_failed: str = "false") -> None:
        """All of its tasks."""
        self._worker.ask("POST", f"/connectors/{self.name}/restart?includeTasks=true&onlyFailed={only_failed}")

    def forget(self) -> None:
        """Its offsets are deleted: it begins again."""
        self.stop()
        self._worker.ask("DELETE", f"/connectors/{self.name}/offsets")
        self.resume()

    def move_offsets(self) -> None:
        """It gets its own offsets topic, without a copy of its offsets."""
        own = f"{self.name}-offsets"
        self.offsets_topics = ["connect-offsets", own]
        self.configure(**{"offsets.storage.topic": own})

    def resume(self) -> None:
        """It runs."""
        self._worker.ask("PUT", f"/connectors/{self.name}/resume")


class MirrorWorkers:
    """Two workers of one group, and what happens to them."""

    def __init__(self, worker: Worker, connectors: Sequence[MirrorConnector]) -> None:
        self._worker, self._sandbox, self._connectors = worker, worker.sandbox, connectors
        self.operations: list[str] = []

    def happen(self, chance: random.Random) -> None:
        """One random operation."""
        operation = chance.choice([self.kill, self.freeze])
        self.operations.append(operation.__name__)
        operation(chance)

    def kill(self, chance: random.Random) -> None:
        """One of them ends at once, and is started again."""
        number = chance.choice([1, 2])
        self._sandbox.kill_worker(number)
        self._sandbox.start_worker(number)

    def freeze(self, _: random.Random) -> None:
        """One is frozen until the other one has its tasks and has copied more, and then continues: a zombie."""
        self._sandbox.pause_worker(2)
        try:
            eventually(self._moved, "tasks to be on the first worker", deadline_s=SETTLED_S, every_s=0.5)
            for topic in (each for connector in self._connectors for each in connector.topics):
                topic.write()
        finally:
            self._sandbox.resume_worker(2)

    def _moved(self) -> bool:
        statuses = self._worker.ask("GET", "/connectors?expand=status").values()
        tasks = [task for each in statuses for task in each["status"]["tasks"] if task["state"] != "UNASSIGNED"]
        return {f"http://{task['worker_id']}" for task in tasks} <= {self._worker.url}


def play(
    connectors: Sequence[MirrorConnector],
    worker: Worker,
    chance: random.Random,
    steps: int,
    between: Callable[[MirrorConnector], object],
) -> list[str]:
    """Connectors, topics and workers have their operations; at the end all that is left is copied.

    `between` is called for each connector after each step. The workers' operations are returned.
    """
    workers = MirrorWorkers(worker, connectors)
    for _ in range(steps):
        for connector in connectors:
            if chance.random() < 0.4:
                with suppress(AssertionError, KafkaException):  # refused, as stopped connectors refuse a restart
                    connector.happen(chance)
            for topic in connector.topics:
                topic.happen()
            if chance.random() < 0.7:
                connector.resume()
            between(connector)
        if chance.random() < 0.7:
            workers.happen(chance)
    for connector in connectors:
        connector.resume()
        with suppress(AssertionError):
            connector.restart(only_failed="true")
    topics = [topic for connector in connectors for topic in connector.topics]
    for topic in topics:
        topic.finish()
    _await_copies(topics)
    return workers.operations


def _await_copies(topics: Sequence[MirroredTopic]) -> None:
    """Until the last record of each partition is there, or nothing has been copied for a while."""
    sizes: list[int] = []

    def quiet() -> bool:
        found = copies(topics)
        last = all(
            each.texts[-1] in found[topic.name].get(partition, ())
            for topic in topics
            for partition, each in topic.written.items()
        )
        sizes.append(sum(len(texts) for parts in found.values() for texts in parts.values()))
        return last or (len(sizes) > 8 and len(set(sizes[-8:])) == 1)

    eventually(quiet, "copies to be complete", deadline_s=SETTLED_S, every_s=2)


def open_connectors(
    source: Sandbox, target: Sandbox, worker: Worker, chance: random.Random, count: int, prefix: str
) -> Iterator[MirrorConnector]:
    """Connectors of three topics each; every other one reads committed."""
    for number in range(count):
        names = [f"{prefix}{number}-{each}" for each in range(3)]
        topics = [MirroredTopic(source.bootstrap_servers, target.bootstrap_servers, each, chance) for each in names]
        isolation = ("read_committed", "read_uncommitted")[number % 2]
        yield MirrorConnector(worker, f"{prefix}{number}", topics, isolation)
