"""The Kafka and the Connect workers that histories share, and what happens to the workers."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import Home
from tests.kafka_versions import spec_of, workers_of
from tests.waiting import eventually

SOURCE = Path(__file__).with_name("NumberedSource.java")
QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000", "offset.storage.partitions": "3"}
OFF = {"exactly.once.source.support": "disabled"}


class Site:
    """Workers of one group, quick to notice that one is gone."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.home = sandbox, Home(sandbox)
        self.plain = False
        self._workers = range(1, sandbox.spec.workers + 1)

    @property
    def operations(self) -> Sequence[Callable[[random.Random], None]]:
        """The operations on its workers: a frozen one needs another that takes its tasks."""
        return (self.kill, self.freeze) if len(self._workers) > 1 else (self.kill,)

    @property
    def log_directory(self) -> Path:
        """The broker's."""
        return self.sandbox.directory / "broker-1" / "data"

    def kill(self, chance: random.Random) -> None:
        """A worker ends at once and is started again: its tasks begin on the other one meanwhile, or on itself."""
        number = chance.choice(self._workers)
        self.sandbox.kill_worker(number)
        self.sandbox.start_worker(number, OFF if self.plain else None)
        self._await_members(len(self._workers))

    def freeze(self, _: random.Random) -> None:
        """A worker is frozen until the other one has taken its tasks, and then continues: a zombie."""
        self.sandbox.pause_worker(2)
        self._await_members(len(self._workers) - 1)
        self.sandbox.resume_worker(2)
        self._await_members(len(self._workers))

    def set_exactly_once(self, on: bool) -> None:
        """All workers are stopped in order, and started with exactly-once on or off."""
        self.plain = not on
        for number in self._workers:
            self.sandbox.stop_worker(number)
        for number in self._workers:
            self.sandbox.start_worker(number, OFF if self.plain else None, until_ready=False)
        for number in self._workers:
            eventually(partial(_answers, self.sandbox.connect_url(number)), f"worker {number} to answer")
        self._await_members(len(self._workers))

    def _await_members(self, count: int) -> None:
        """Until tasks are on this many workers, none of them unassigned or on a worker that left."""

        def there() -> bool:
            answer = httpx.get(f"{self.home.url}/connectors?expand=status", timeout=60, trust_env=False, verify=False)
            if answer.status_code != 200:
                return False
            tasks = [task for each in answer.json().values() for task in each["status"]["tasks"]]
            places = {task["worker_id"] for task in tasks if task["state"] != "UNASSIGNED"}
            return len(places) == min(count, max(1, len(tasks)))

        eventually(there, f"tasks on {count} workers", deadline_s=120, every_s=0.3)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/connectors", timeout=5, trust_env=False, verify=False).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def open_site(directory: Path, workers: int = 2, kafka_version: str = DEFAULT_KAFKA_VERSION) -> Iterator[Site]:
    """A site with NumberedSource among the workers' plugins."""
    settings = {**QUICK, "plugin.path": plugin_path(workers_of(kafka_version), SOURCE, directory)}
    with Sandbox(spec_of(kafka_version, workers=workers, worker_config=settings)) as sandbox:
        yield Site(sandbox)
