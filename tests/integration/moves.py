"""Connectors that go on copying while they are moved, and the moves on every version of Connect."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import httpx

from eosctl.clients.librdkafka import producer
from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.model.client_properties import ClientProperties
from eosctl.model.offsets import Entry
from eosctl.model.versions import KafkaVersion
from eosctl.operations.plan_facts import read_offsets_topic
from tests.commands.conftest import Eosctl, Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.integration.file_connectors import values_in
from tests.integration.rebalance import is_for_now
from tests.live_reader import reading_over
from tests.waiting import eventually

STOPPABLE = KafkaVersion(3, 5)
ALTERS_OFFSETS = KafkaVersion(3, 6)
CREATES_STOPPED = KafkaVersion(3, 7)
SETTING = "offsets.storage.topic"


@dataclass(frozen=True)
class Home:
    """A Connect cluster of one worker: the sandbox, the worker's number, and the worker's settings."""

    sandbox: Sandbox
    number: int = 1
    group_id: str = "connect-cluster"
    config_topic: str = "connect-configs"
    offsets_topic: str = "connect-offsets"

    @property
    def servers(self) -> str:
        """The brokers."""
        return self.sandbox.bootstrap_servers

    @property
    def url(self) -> str:
        """The worker's REST interface."""
        return self.sandbox.connect_url(self.number)

    @property
    def version(self) -> KafkaVersion:
        """The worker's version."""
        return KafkaVersion.parse(self.sandbox.spec.workers_version)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> int:
        """The status code; during a rebalance it is asked again."""
        answers: list[httpx.Response] = []

        def settled() -> bool:
            answers.append(httpx.request(method, self.url + path, json=body, timeout=60, trust_env=False, verify=False))
            return not is_for_now(answers[-1])

        eventually(settled, f"{method} {path}")
        assert answers[-1].status_code < 500, answers[-1].text
        return answers[-1].status_code

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Create or configure a connector."""
        assert self.ask("PUT", f"/connectors/{quote(name, safe='')}/config", config) < 400

    def delete_now(self, name: str) -> None:
        """Delete a connector; its tasks may still be ending."""
        assert self.ask("DELETE", f"/connectors/{quote(name, safe='')}") < 400

    def delete(self, name: str) -> None:
        """Delete a connector, and wait until its tasks have ended: then its status is gone, too."""
        self.delete_now(name)
        eventually(lambda: self.ask("GET", f"/connectors/{quote(name, safe='')}/status") == 404, f"{name} to be gone")


@dataclass(frozen=True)
class Place:
    """The place of a connector: its Connect cluster, its name, and its own offsets topic."""

    home: Home
    name: str
    own_topic: str | None = None


class Copier(Protocol):
    """A connector that copies what goes on being written."""

    place: Place

    def config(self, home: Home) -> dict[str, str]:
        """Its config in this Connect cluster, without offsets.storage.topic."""

    def write(self, count: int) -> None:
        """Write so many source records."""

    def check_exactly_once(self) -> None:
        """Write some more; everything is in the copies once."""


class Lines:
    """A FileStreamSource whose file grows."""

    def __init__(self, home: Home, name: str, directory: Path, more: Mapping[str, str] | None = None) -> None:
        self.place = Place(home, name)
        self.topic, self.count, self.more = name, 0, dict(more or {})
        self.visited = [self._output()]
        self.path = directory / f"{name}.txt"
        self.write(100)
        home.create(name, self.config(home))
        self.check_exactly_once()

    def config(self, home: Home) -> dict[str, str]:
        return {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(self.path),
            "topic": self.topic,
            **self.more,
        }

    def _output(self) -> str:
        return self.more.get("producer.override.bootstrap.servers", self.place.home.servers)

    def write(self, count: int) -> None:
        with self.path.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.count, self.count + count))
        self.count += count

    def copied(self) -> list[bytes | None]:
        """The records of read_committed consumers, cluster after cluster."""
        return [
            value for each in dict.fromkeys((*self.visited, self._output())) for value in values_in(each, self.topic)
        ]

    def check_exactly_once(self) -> None:
        self.write(60)
        last = f"line {self.count - 1}".encode()
        eventually(
            lambda: self.copied()[-1:] == [last], f"the last line; {len(self.copied())} of {self.count} are there"
        )
        assert self.copied() == [f"line {number}".encode() for number in range(self.count)]
        self.visited.append(self._output())


class Records(Mirror):
    """A MirrorSourceConnector of three tasks; its source topic stays where it began."""

    def __init__(self, home: Home, name: str) -> None:
        super().__init__(_WorkerOf(home), name)
        self.place, self.visited = Place(home, name), [home]
        self.start(3)

    def config(self, home: Home) -> dict[str, str]:  # type: ignore[override]
        """Its config in this Connect cluster."""
        return {**super().config(3), "target.cluster.bootstrap.servers": home.servers}

    def configure(self, tasks: int, **more: str) -> None:
        self.place.home.create(self.place.name, {**self.config(self.place.home), **more})

    def write(self, count: int) -> None:
        self.feed(count)

    def copied(self, servers: str | None = None) -> list[int]:
        everywhere = dict.fromkeys(home.servers for home in (*self.visited, self.place.home))
        return sorted(number for each in everywhere for number in super(Records, self).copied(each))

    def check_exactly_once(self) -> None:
        super().check_exactly_once()
        self.visited.append(self.place.home)


def worker_of(home: Home) -> Worker:
    """The worker of this Connect cluster."""
    return _WorkerOf(home)


class _WorkerOf(Worker):
    def __init__(self, home: Home) -> None:
        super().__init__(home.sandbox)
        self.close()
        self.url = home.url
        self._http = httpx.Client(base_url=self.url, timeout=60, trust_env=False, verify=False)


def offsets_in(home: Home, connector: str) -> list[Entry]:
    """The entries of a connector in the workers' offsets topic."""
    with Wire(ClientProperties((home.servers,))) as wire:
        topic = read_offsets_topic(reading_over(wire).reader, home.offsets_topic)
    return entries_by_connector(topic).get(connector, [])


def delete_copies(home: Home, connector: str) -> None:
    """Tombstones for the workers' copies in their own topic: they may miss a copy, too."""
    copies = eventually(lambda: offsets_in(home, connector), "the workers' copy")
    sender = producer(ClientProperties((home.servers,)))
    for key, records in copies:
        sender.produce(home.offsets_topic, None, key.raw, records.topic_partition.partition)
    assert sender.flush(30) == 0


@contextmanager
def flowing(copier: Copier) -> Iterator[None]:
    """Records go on being written while the block runs."""
    stopped = threading.Event()

    def feed() -> None:
        while not stopped.wait(0.05):
            copier.write(5)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def move(eosctl: Eosctl, copiers: Sequence[Copier], places: Sequence[Place], *flags: str | Path) -> Ran:
    """Move all of them with eosctl while records flow; steps that this version of Connect lacks are done by hand.

    From 3.7 on eosctl does everything over REST. Workers before 3.7 cannot create a connector STOPPED, those before 3.5
    cannot stop one: there connectors are deleted before, or created afterwards.
    """
    home, new_home = copiers[0].place.home, places[0].home
    elsewhere = home != new_home
    creates = elsewhere or any(copier.place.name != place.name for copier, place in zip(copiers, places, strict=True))
    stops = home.version >= STOPPABLE
    same_config = all(copier.config(home) == copier.config(new_home) for copier in copiers)
    does_all = stops and same_config and (not creates or home.version >= CREATES_STOPPED)
    target = ("--to-connect-url", new_home.url, "--to-config-topic", new_home.config_topic) if elsewhere else ()
    with ExitStack() as flow:
        for copier in copiers:
            flow.enter_context(flowing(copier))
        for copier in () if stops else copiers:
            home.delete_now(copier.place.name)
        ran = eosctl(
            "migrate-offsets", "-b", home.servers, "--group-id", home.group_id, "--config-topic", home.config_topic,
            "--worker-offsets-topic", home.offsets_topic, "--connect-url", home.url, *flags, *target,
            *(("--stop",) if stops else ()), *(("--set-config", "--resume") if does_all else ()),
            "--yes", "--timeout", "60", "-o", "json",
        )  # fmt: skip
        assert ran.exit_code == 0, ran.stderr
        for copier, place in zip(copiers, places, strict=True):
            if stops and creates:
                home.delete(copier.place.name)
            if not does_all:
                own = {} if place.own_topic is None else {SETTING: place.own_topic}
                place.home.create(place.name, {**copier.config(place.home), **own})
            copier.place = place
    for copier in copiers:
        copier.check_exactly_once()
    return ran
