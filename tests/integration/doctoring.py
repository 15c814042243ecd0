"""`eosctl doctor` on real clusters, and conditions that are made, seen, cured as printed, and seen gone."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.rebalance import is_for_now
from tests.waiting import eventually

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
Found = dict[tuple[str, str], dict[str, Any]]


def arguments(sandbox: Sandbox, files: Iterable[Path] | None = None) -> list[object]:
    """The brokers, every worker, and the file that each of them runs with (or those given)."""
    urls = [part for url in sandbox.connect_urls for part in ("--connect-url", url)]
    every = sorted(sandbox.directory.glob("worker-*/worker.properties")) if files is None else files
    return ["-b", sandbox.bootstrap_servers, *urls, *[part for file in every for part in ("--worker-config", file)]]


@dataclass(frozen=True, slots=True)
class Doctor:
    """`eosctl doctor` with the arguments of one cluster; each question may have more of them."""

    eosctl: Eosctl
    arguments: tuple[object, ...]

    def data(self, *more: object) -> dict[str, Any]:
        """The answer's data."""
        ran = self.eosctl("doctor", *self.arguments, *more, "-o", "json")
        assert ran.exit_code in {0, 1, 2, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    def found(self, *more: object) -> Found:
        """All findings by rule and subject, of any severity."""
        return {(each["id"], each["subject"]): each for each in self.data(*more)["findings"]}

    def rules(self, *more: object) -> set[str]:
        """The rules that found an error or a warning."""
        return {rule for (rule, _), each in self.found(*more).items() if each["severity"] != "info"}

    def sees(self, *wanted: tuple[str, str], more: Iterable[object] = (), deadline_s: float = 60) -> Found:
        """The findings, as soon as all that are wanted are among them."""
        seen: list[Found] = []
        rules = {rule for rule, _ in wanted}
        untold: list[object] = []

        def all_there() -> bool:
            data = self.data(*more)
            seen.append({(each["id"], each["subject"]): each for each in data["findings"]})
            untold[:] = [(each["id"], each["reason"]) for each in data["unknown"] if each["id"] in rules]
            return set(wanted) <= set(seen[-1])

        eventually(
            all_there,
            lambda: f"{sorted(set(wanted) - set(seen[-1]))} is found, not only {sorted(seen[-1])}; {untold}",
            deadline_s=deadline_s,
            every_s=0.2,
        )
        return seen[-1]

    def tells(self, cures: Mapping[tuple[str, str], str], more: Iterable[object] = ()) -> Found:
        """The findings, as soon as all are there; the cure of each has these words."""
        found = self.sees(*cures, more=more)
        lack = {
            condition: found[condition]["cure"]
            for condition, words in cures.items()
            if words not in found[condition]["cure"]
        }
        assert lack == {}
        return found

    def sees_no_more(
        self,
        *cured: tuple[str, str],
        more: Iterable[object] = (),
        deadline_s: float = 60,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Returns as soon as all of their rules can tell and find nothing; `meanwhile` runs before each look."""
        left: list[list[object]] = []

        def none_there() -> bool:
            meanwhile()
            data, rules = self.data(*more), {rule for rule, _ in cured}
            found = {(each["id"], each["subject"]) for each in data["findings"]}
            untold = [(each["id"], each["reason"]) for each in data["unknown"] if each["id"] in rules]
            left.append([*sorted(found.intersection(cured)), *untold])
            return not left[-1]

        eventually(none_there, lambda: f"{left[-1]} is gone", deadline_s=deadline_s, every_s=0.2)


class Rest:
    """The REST interface of one worker, asked again while the group rebalances (409)."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, expected: int | None = None
    ) -> Any:
        """The answer's JSON; any status below 400 is good, or only the one that is expected."""
        answers: list[httpx.Response] = []

        def settled() -> bool:
            answers.append(httpx.request(method, self.url + path, json=body, timeout=90, trust_env=False, verify=False))
            return not is_for_now(answers[-1])

        eventually(settled, f"{method} {path} is not refused for a rebalance", deadline_s=60, every_s=0.2)
        good = answers[-1].is_success if expected is None else answers[-1].status_code == expected
        assert good, answers[-1].text
        return answers[-1].json() if answers[-1].content else None

    def restart_as_printed(self, cure: str) -> None:
        """Every request of the cure that restarts a task; there is at least one."""
        paths = re.findall(r"POST (/connectors/\S+/tasks/\d+/restart)", cure)
        assert paths, cure
        for path in paths:
            self.ask("POST", path)

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Create or change a connector."""
        self.ask("PUT", f"/connectors/{name}/config", config)

    def states(self, name: str) -> list[str]:
        """The states of its tasks, none where there is no such connector yet."""
        answer = httpx.get(f"{self.url}/connectors/{name}/status", timeout=60, trust_env=False, verify=False)
        return [task["state"] for task in answer.json()["tasks"]] if answer.status_code == 200 else []

    def await_tasks(self, name: str, count: int = 1, state: str = "RUNNING") -> None:
        """Returns when it has this many tasks and all are in that state."""
        words = f"{name} has {count} tasks {state}"
        eventually(lambda: self.states(name) == [state] * count, words, deadline_s=120, every_s=0.1)

    def delete(self, name: str) -> None:
        """Delete a connector, if it is there."""
        answer = httpx.delete(f"{self.url}/connectors/{name}", timeout=90, trust_env=False, verify=False)
        assert answer.status_code in {204, 404, 409}, answer.text


def file_source(directory: Path, name: str, **more: str) -> dict[str, str]:
    """The config of a FileStreamSource with a file of two lines."""
    file = directory / f"{name}.txt"
    if not file.exists():
        file.write_text("1\n2\n")
    config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": f"{name}-out"}
    return config | {key.replace("_", "."): value for key, value in more.items()}


def alter_topic(sandbox: Sandbox, topic: str, **settings: str) -> None:
    """Set topic settings; `_` stands for a dot."""
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    entries = [
        ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for key, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def write(
    sandbox: Sandbox, topic: str, *records: tuple[bytes | None, bytes | None], partition: int = 0, age_s: int = 0
) -> None:
    """Plain records into one partition, written so long ago."""
    at = int(1000 * (time.time() - age_s))  # noqa: TID251  # the time of the records
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key, partition=partition, timestamp=at)
    assert producer.flush(30) == 0
