"""A connector's story on real workers, with a recording of each step that the test makes itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from confluent_kafka import Producer

from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.rebalance import is_for_now
from tests.waiting import eventually

Fence = Callable[[str], object]
"""Fences a transactional ID."""


@dataclass(frozen=True)
class Step:
    """An action, and its time (from and to, ms since the epoch)."""

    name: str
    since: int
    until: int


def now() -> int:
    """This machine's clock, which is the clock of all brokers and workers of a sandbox."""
    return time.time_ns() // 1_000_000


@dataclass
class Incident:
    """The story of connector `name`; `steps` is the recording. workers are the addresses of the sandbox's workers.

    One of them is killed in the story, and comes back, unless `happen` leaves that out.
    """

    sandbox: Sandbox
    name: str
    directory: Path
    workers: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    killed: str = ""
    survivor: str = ""

    def __post_init__(self) -> None:
        urls = self.workers or [self.sandbox.connect_url(number) for number in (1, 2)]
        self.workers = [url.removeprefix("http://") for url in urls]
        self._use(1)

    def _use(self, number: int) -> None:
        url = self.sandbox.connect_url(number)
        self.connectors = FileConnectors(url, self.sandbox.bootstrap_servers, self.directory)

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """Records a step."""
        since = now()
        yield
        self.steps.append(Step(name, since, now()))

    def step(self, name: str) -> Step:
        """The recording of the one step of this name."""
        (found,) = [each for each in self.steps if each.name == name]
        return found

    def ask(self, method: str, path: str, body: object = None) -> None:
        """A request to a live worker; during a rebalance it is asked again."""
        answers: list[httpx.Response] = []

        def settled() -> bool:
            url = f"{self.connectors.url}/connectors/{self.name}{path}"
            answers.append(httpx.request(method, url, json=body, timeout=60, trust_env=False))
            return not is_for_now(answers[-1])

        eventually(settled, f"{method} {path}")
        assert answers[-1].status_code < 400, answers[-1].text

    def feed(self, line: str) -> None:
        """A line for the connector, and its copy in the output topic."""
        with self.connectors.file(self.name).open("a") as file:
            file.write(f"{line}\n")
        self.connectors.await_last(self.name, line)

    def owner(self) -> str:
        """The worker that has the task, as REST says."""
        url = f"{self.connectors.url}/connectors/{self.name}/status"
        return str(httpx.get(url, timeout=60, trust_env=False).json()["tasks"][0]["worker_id"])

    def happen(self, fence: Fence, *, lose_a_worker: bool = True) -> None:
        """The whole story."""
        self._begin()
        if lose_a_worker:
            self._lose_a_worker()
        self._move_offsets()
        with self.noting("fence"):
            fence(f"connect-cluster-{self.name}-0")
        with self.noting("fail"):
            with self.connectors.file(self.name).open("a") as file:
                file.write("of a zombie\n")
            eventually(lambda: self.connectors.states(self.name) == ["FAILED"], "the fenced task to fail")
        with self.noting("abort"):
            self._abort()
        with self.noting("delete"):
            self.connectors.delete(self.name)
            eventually(lambda: self.connectors.states(self.name) == [], "the connector to be gone")
        with self.noting("create again"):
            self.connectors.create(self.name)
            self.connectors.await_running(self.name)
            self.feed("four")

    def _begin(self) -> None:
        with self.noting("create"):
            self.connectors.create(self.name)
            self.connectors.await_running(self.name)
            self.feed("one")
        with self.noting("change"):
            before = self._starts()
            self.connectors.create(self.name, {"batch.size": "7", "file.password": "swordfish"})
            eventually(lambda: self._starts() > before, "the task to start again: REST shows its state of before")
            self.connectors.await_running(self.name)
            self.feed("two")

    def _starts(self) -> int:
        """How often the task has started, by the workers' logs."""
        logs = (self.sandbox.worker_log(number).read_text() for number in range(1, len(self.workers) + 1))
        return sum(log.count(f"{{id={self.name}-0}} Source task finished initialization and start") for log in logs)

    def _lose_a_worker(self) -> None:
        self.killed = self.owner()
        number = self.workers.index(self.killed) + 1
        self.survivor = self.workers[2 - number]
        self._use(3 - number)
        with self.noting("kill"):
            self.sandbox.kill_worker(number)
            eventually(lambda: self.owner() == self.survivor, "the task on the other worker", deadline_s=120)
            self.connectors.await_running(self.name)
        with self.noting("return"):
            self.sandbox.start_worker(number)
            self.feed("three")

    def _move_offsets(self) -> None:
        with self.noting("stop"):
            self.connectors.stop(self.name)
        with self.noting("alter"):
            (entry,) = self.connectors.offsets(self.name)
            eventually(lambda: self._altered({**entry, "offset": {"position": 4}}), "offsets altered")
        with self.noting("resume"):
            self.ask("PUT", "/resume")
            self.connectors.await_running(self.name)
            self.feed("again")

    def _altered(self, entry: dict[str, object]) -> bool:
        """Tasks that are still ending let a worker refuse."""
        url = f"{self.connectors.url}/connectors/{self.name}/offsets"
        answer = httpx.request("PATCH", url, json={"offsets": [entry]}, timeout=60, trust_env=False)
        return answer.status_code < 400

    def _abort(self) -> None:
        """A transaction under an ID that the connector's eighth task would have."""
        producer = Producer(
            {
                "bootstrap.servers": self.sandbox.bootstrap_servers,
                "transactional.id": f"connect-cluster-{self.name}-7",
            }
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(self.name, b"never seen")
        assert producer.flush(30) == 0
        producer.abort_transaction(30)
