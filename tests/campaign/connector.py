"""One NumberedSource connector: its source, its configuration, and what its readers have."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka.admin import AdminClient, NewTopic

from tests.campaign.truth import Number, Reader, Truth, compare
from tests.integration.moves import SETTING, Home
from tests.topics import make_topic
from tests.waiting import eventually

TOPIC_PARTITIONS = 2
PATIENCE_S = 150.0
FORMS = ("position", "position", "changing", "gtid", "snapshot", "none")


@dataclass(frozen=True)
class Kind:
    """The kind of a connector's source; the names are NumberedSource's settings."""

    partitions: int = 1
    topics: int = 1
    tasks: int = 1
    form: str = "position"
    heartbeat: str = "none"
    drop_every: int = 0
    boundary: str = "poll"


def some_kind(chance: random.Random) -> Kind:
    """Any kind."""
    return Kind(
        partitions=chance.randint(1, 3),
        topics=chance.randint(1, 2),
        tasks=chance.choice((1, 1, 2, 3)),
        form=chance.choice(FORMS),
        heartbeat=chance.choice(("none", "none", "repeat", "advance")),
        drop_every=chance.choice((0, 0, 7)),
        boundary=chance.choice(("poll", "poll", "interval")),
    )


@dataclass
class NumberedConnector:
    """A connector that exists from `create` on. `skipped` are numbers that somebody wished it to leave out."""

    home: Home
    name: str
    kind: Kind
    directory: Path
    own_topic: str | None = None
    end: int = 0
    skipped: set[Number] = field(default_factory=set)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outputs = [f"{self.name}-out-{index}" for index in range(self.kind.topics)]
        self.source = self.directory / f"{self.name}.end"
        self.names.append(self.name)
        # Not a client for each request: that reads all certificates of this machine first.
        self._http = httpx.Client(base_url=self.home.url, timeout=60, trust_env=False, verify=False)
        self.make_topics()
        self.reader = Reader(self.home.servers, dict.fromkeys(self.outputs, TOPIC_PARTITIONS))

    def make_topics(self) -> None:
        """Create the outputs."""
        admin = AdminClient({"bootstrap.servers": self.home.servers})
        for topic in self.outputs:
            make_topic(admin, NewTopic(topic, TOPIC_PARTITIONS, 1))

    def config(self) -> dict[str, str]:
        """Its configuration."""
        return {
            "connector.class": "NumberedSource",
            "tasks.max": str(self.kind.tasks),
            "source": str(self.source),
            "partitions": str(self.kind.partitions),
            "topics": ",".join(self.outputs),
            "form": self.kind.form,
            "heartbeat": self.kind.heartbeat,
            "drop.every": str(self.kind.drop_every),
            "transaction.boundary": self.kind.boundary,
            **({"transaction.boundary.interval.ms": "300"} if self.kind.boundary == "interval" else {}),
            **({} if self.own_topic is None else {SETTING: self.own_topic}),
        }

    def configure(self, **changed: Any) -> None:
        """Create it, or give it another configuration."""
        self.kind = replace(self.kind, **changed)
        self.home.create(self.name, self.config())

    def path(self, what: str) -> str:
        """The path of a request about it."""
        return f"/connectors/{self.name}/{what}"

    def ask(self, method: str, what: str, body: dict[str, Any] | None = None) -> None:
        """A request that has to succeed."""
        assert (status := self.home.ask(method, self.path(what), body)) < 400, f"{method} {what}: {status}"

    def status(self) -> dict[str, Any]:
        """Connect's report on its state and its tasks' states; empty while it is rebalancing or not there yet."""
        answer = self._http.get(self.path("status"))
        return dict(answer.json()) if answer.status_code == 200 else {}

    def tasks(self) -> list[str]:
        """Its tasks' states."""
        return [task["state"] for task in self.status().get("tasks", [])]

    def stop(self) -> None:
        """Stop it and return when it has no task."""
        self.ask("PUT", "stop")
        stopped = "STOPPED"
        eventually(
            lambda: (found := self.status()) and found["connector"]["state"] == stopped and not found["tasks"],
            f"{self.name} to stop",
            deadline_s=PATIENCE_S,
            every_s=0.2,
        )

    def await_running(self) -> None:
        """Returns when its tasks run; those that failed are restarted."""

        def there() -> bool:
            states = {*self.tasks()}
            if "FAILED" in states:
                self._restart_failed()
            return states == {"RUNNING"}

        eventually(
            there, lambda: f"{self.name} to run: {json.dumps(self.status())}", deadline_s=PATIENCE_S, every_s=0.2
        )

    def _restart_failed(self) -> None:
        self.home.ask("POST", self.path("restart?includeTasks=true&onlyFailed=true"))

    def resume(self) -> None:
        """Resume it."""
        self.ask("PUT", "resume")

    def grow(self, count: int) -> None:
        """So many more numbers in each source partition."""
        self.end += count
        draft = self.source.with_suffix(".draft")
        draft.write_text(str(self.end))
        draft.replace(self.source)

    def expected(self) -> Iterator[Number]:
        """The numbers that readers should have once."""
        drop = self.kind.drop_every
        for partition in range(self.kind.partitions):
            for number in range(self.end):
                kept = not drop or number % drop != drop - 1
                if kept and (partition, number) not in self.skipped:
                    yield partition, number

    def settle(self) -> None:
        """Returns when readers have the last number of each source partition; tasks that failed are restarted."""
        last = dict(self.expected())

        def there() -> bool:
            seen = self.reader.read()
            if all(seen.get(each) for each in last.items()):
                return True
            if "FAILED" in self.tasks():
                self._restart_failed()
            return False

        eventually(
            there,
            lambda: f"{self.name} to come to {last}: {json.dumps(self.status())}",
            deadline_s=PATIENCE_S,
            every_s=0.2,
        )

    def truth(self) -> Truth:
        """The numbers that readers have."""
        return compare(self.reader.read_to_the_ends(), self.expected())

    def offsets(self) -> list[dict[str, Any]]:
        """The answer of `GET offsets`."""
        answer = self._http.get(self.path("offsets"))
        assert answer.status_code == 200, answer.text
        return list(answer.json()["offsets"])

    def close(self) -> None:
        """End its reader."""
        self.reader.close()
        self._http.close()

    def delete(self) -> None:
        """Delete it, where it is there, and its outputs."""
        self.home.ask("DELETE", f"/connectors/{self.name}")
        eventually(lambda: self._http.get(self.path("status")).status_code == 404, f"{self.name} to be gone")
        admin = AdminClient({"bootstrap.servers": self.home.servers})
        for future in admin.delete_topics(self.outputs).values():
            future.result(30)
