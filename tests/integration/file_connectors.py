"""FileStreamSource connectors for tests: created, deleted and counted over REST and from the output topic."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import topic_facts

T = TypeVar("T")

DEADLINE_S = 60.0
POLL_S = 0.1
AGAIN_S = 5.0


def wait_for(read: Callable[[], T], good: Callable[[T], bool], what: str) -> T:
    """The result of `read` as soon as it is good."""
    deadline = time.monotonic() + DEADLINE_S
    while not good(found := read()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: {found!r}")
        time.sleep(POLL_S)
    return found


def values_in(bootstrap: str, topic: str) -> list[bytes | None]:
    """Values of the committed records of the topic's one partition, in order; none where there is no topic."""
    with Wire(ClientProperties(tuple(bootstrap.split(",")))) as wire:
        if topic_facts(wire, [topic])[topic] is None:
            return []
        records = read_log(wire, TopicPartition(topic, 0))
        return [record.value for record in records if record.state is RecordState.COMMITTED]


class FileConnectors:
    """The connectors of one worker, each reading a file of its own name in `directory` into a topic of its name."""

    def __init__(self, url: str, bootstrap: str, directory: Path) -> None:
        self.url = url
        self.bootstrap = bootstrap
        self.directory = directory

    def file(self, name: str) -> Path:
        """The file that the connector reads."""
        return self.directory / f"{name}.txt"

    def create(self, name: str, more: Mapping[str, str] | None = None) -> None:
        """Creates the connector and returns; `more` wins over the config of one task from the file to the topic."""
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(self.file(name)),
            "topic": name,
            **(more or {}),
        }
        with RestClient(self.url, DEADLINE_S) as rest:
            rest.request("PUT", f"/connectors/{name}/config", config)

    def delete(self, name: str) -> None:
        """Deletes the connector; its offsets stay."""
        with RestClient(self.url, DEADLINE_S) as rest:
            rest.request("DELETE", f"/connectors/{name}")

    def await_running(self, name: str) -> None:
        """Returns when the connector's one task runs."""
        wait_for(lambda: self.states(name), lambda states: states == ["RUNNING"], f"the task of {name} to run")

    def stop(self, name: str) -> None:
        """Stops the connector; returns when it has no tasks.

        A task that was still starting writes RUNNING after the stop. The rebalance after another stop removes that.
        """
        sent: list[float] = []

        def stopped() -> bool:
            if not sent or time.monotonic() - sent[-1] > AGAIN_S:
                with RestClient(self.url, DEADLINE_S) as rest:
                    rest.request("PUT", f"/connectors/{name}/stop")
                sent.append(time.monotonic())
            return self._all_states(name) == ["STOPPED"]

        wait_for(stopped, bool, f"{name} to stop")

    def await_stopped(self, name: str) -> None:
        """Also after a change of its config: without tasks it is UNASSIGNED for a moment, then STOPPED."""
        wait_for(lambda: self._all_states(name), lambda states: states == ["STOPPED"], f"{name} to stop")

    def states(self, name: str) -> list[str]:
        """States of the connector's tasks."""
        return self._all_states(name)[1:]

    def _all_states(self, name: str) -> list[str]:
        """The connector's state, and those of its tasks; none where it is gone."""
        with RestClient(self.url, DEADLINE_S) as rest:
            status = rest.get("/connectors?expand=status")
        assert isinstance(status, dict)
        if name not in status:
            return []
        found = status[name]["status"]
        return [found["connector"]["state"], *(task["state"] for task in found["tasks"])]

    def offsets(self, name: str) -> list[dict[str, object]]:
        """`GET /connectors/<name>/offsets` (3.5)."""
        with RestClient(self.url, DEADLINE_S) as rest:
            body = rest.get(f"/connectors/{name}/offsets")
        assert isinstance(body, dict)
        return list(body["offsets"])

    def await_last(self, name: str, last: str) -> list[bytes | None]:
        """The output topic's values, as soon as `last` is the last of them."""
        return wait_for(
            lambda: values_in(self.bootstrap, name),
            lambda values: values[-1:] == [last.encode()],
            f"{last} to be the last record of {name}",
        )
