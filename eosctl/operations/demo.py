"""The demo, act by act, on a sandbox of its own. Every figure in it was counted on the cluster."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from eosctl.clients.deadline import Deadline
from eosctl.clients.librdkafka import OpenTransaction
from eosctl.clients.rest import RestClient
from eosctl.errors import UsageError
from eosctl.model.fencing import FencingRequest
from eosctl.model.names import ConnectorTaskId, TopicPartition, task_transactional_id
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.sandbox import DemoReport, DemoStep
from eosctl.operations.config_topic import ConfigTopicRequest, inspect_config_topic
from eosctl.operations.fencing import fence_and_prove, read_and_plan
from eosctl.operations.migration import read_and_plan as read_and_plan_move
from eosctl.operations.migration_request import MigrationOptions
from eosctl.operations.plan_files import keep_plan
from eosctl.operations.plan_flow import run_plan
from eosctl.operations.session import Session
from eosctl.operations.session_options import Reporter, SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sources.connect_rest import read_connectors
from eosctl.sources.kafka_log import read_log

T = TypeVar("T")
Show = Callable[[Any], str]
"""Shows an answer on the terminal, and returns the sentence that leads it."""

LINES: Final = 1000
CONNECTOR: Final = "lines"
TOPIC: Final = "lines-copied"
OWN_OFFSETS: Final = "lines-offsets"
MOVED: Final = "moved"
MOVED_TOPIC: Final = "lines-moved"
MORE: Final = 10
DEADLINE_S: Final = 60.0
POLL_S: Final = 0.2


def demonstrate(console: Reporter, kafka_version: str, show: Show) -> DemoReport:
    """Plays all acts on a fresh sandbox, and removes it."""
    start = time.monotonic()
    with Sandbox(SandboxSpec(kafka_version=kafka_version, workers=1), narrate=console.narrate) as sandbox:
        ready = DemoStep(
            "start Kafka and a Connect worker with exactly-once enabled", f"{kafka_version}, ready", _since(start)
        )
        options = SessionOptions(
            console=console,
            bootstrap_servers=sandbox.bootstrap_servers,
            connect_urls=sandbox.connect_urls,
            group_id=sandbox.spec.group_id,
        )
        with Session(options) as session, RestClient(sandbox.connect_urls[0], DEADLINE_S) as rest:
            acts = Acts(session, rest, sandbox.directory, show)
            lost = acts.copy_once(), acts.give_own_offsets_topic()
            steps = (ready, *lost, acts.migrate(), acts.inspect(), *acts.fence_a_zombie())
    return DemoReport(kafka_version=kafka_version, steps=steps)


def _since(start: float) -> float:
    return time.monotonic() - start


class Acts:
    """The acts in their order; each returns its observation."""

    def __init__(self, session: Session, rest: RestClient, directory: Path, show: Show) -> None:
        self._session = session
        self._rest = rest
        self._show = show
        self._file = directory / "lines.txt"
        self._group_id = session.need_group_id()

    def copy_once(self) -> DemoStep:
        """A FileStreamSource copies the lines of a file, exactly once."""
        self._say(f"1. A connector copies {LINES:,} lines of a file, exactly-once enabled.")
        start = time.monotonic()
        self._file.write_text("".join(f"line {number}\n" for number in range(LINES)), encoding="utf-8")
        self._configure({})
        copied = self._wait_for(self._copied, lambda count: count >= LINES, f"{LINES} records in {TOPIC}")
        self._say(f"   read_committed consumers of {TOPIC} see {copied:,} records. As promised.")
        return DemoStep(f"copy {LINES:,} lines", f"{copied:,} records in {TOPIC}", _since(start))

    def give_own_offsets_topic(self) -> DemoStep:
        """The one line of configuration that makes the connector forget its position."""
        self._say(
            f"\n2. The connector gets a connector-specific offsets topic: offsets.storage.topic={OWN_OFFSETS}. "
            "Nothing else."
        )
        start = time.monotonic()
        self._configure({"offsets.storage.topic": OWN_OFFSETS})
        copied = self._wait_for(self._copied, lambda count: count >= 2 * LINES, f"{2 * LINES} records in {TOPIC}")
        state = self._tasks()
        self._say(
            f"   Its task is {state}, and {TOPIC} holds {copied:,} records: every line twice.\n"
            "   KIP-618 promises that a missing offset is looked up in the worker's own topic. The code does not:\n"
            "   the empty answer of the new topic hides the old one, and the connector begins from nothing."
        )
        return DemoStep("set offsets.storage.topic", f"{copied:,} records in {TOPIC}, task {state}", _since(start))

    def migrate(self) -> DemoStep:
        """The same move with eosctl, for a second connector: it resumes where it was."""
        self._say(f"\n3. A second connector copies the same file to {MOVED_TOPIC}, and moves the same way with eosctl.")
        self._configure({"topic": MOVED_TOPIC}, MOVED)
        self._wait_for(lambda: self._copied(MOVED_TOPIC), lambda count: count >= LINES, f"{LINES} in {MOVED_TOPIC}")
        self._rest.request("PUT", f"/connectors/{MOVED}/stop")
        self._wait_for(lambda: self._tasks(MOVED), lambda state: state == "gone", "the connector to stop")
        start = time.monotonic()
        self._say(f"   $ eosctl migrate-offsets --connector {MOVED} --to-topic {MOVED}-offsets --set-config --resume")
        request = MigrationOptions((MOVED,), to_topic=f"{MOVED}-offsets", set_config=True, resume=True)
        with SourceAndTarget(self._session, "connect-configs", TargetOptions()) as clusters:
            planned = read_and_plan_move(self._session, clusters, request)
            self._show(planned)
            _, failure = run_plan(self._session, clusters, keep_plan(planned.plan, self._file.with_name("moved.plan")))
        if failure is not None:
            raise failure
        with self._file.open("a", encoding="utf-8") as file:
            file.writelines(f"line {number}\n" for number in range(LINES, LINES + MORE))
        total = LINES + MORE
        copied = self._wait_for(lambda: self._copied(MOVED_TOPIC), lambda count: count >= total, f"{total} records")
        self._say(f"   {MORE} more lines are written, and {MOVED_TOPIC} holds {copied:,} records: every line once.")
        return DemoStep("the same move with eosctl", f"{copied:,} records in {MOVED_TOPIC}", _since(start))

    def inspect(self) -> DemoStep:
        """The connector's state by the config topic."""
        self._say(f"\n4. $ eosctl inspect-config --group-id {self._group_id}")
        start = time.monotonic()
        seen = self._show(inspect_config_topic(self._session, ConfigTopicRequest()))
        return DemoStep("inspect the config topic", seen, _since(start))

    def fence_a_zombie(self) -> tuple[DemoStep, DemoStep]:
        """Fences a producer with the task's ID and an open transaction, which then tries to commit."""
        zombie_id = task_transactional_id(self._group_id, ConnectorTaskId(CONNECTOR, 0))
        self._say(
            f"\n5. The connector is stopped, but a zombie of its task still runs: it holds {zombie_id}\n   and has "
            "written into a transaction that it has not committed yet."
        )
        self._rest.request("PUT", f"/connectors/{CONNECTOR}/stop")
        self._wait_for(self._tasks, lambda state: state == "gone", "the connector to stop")
        zombie = OpenTransaction(self._session.client_properties, zombie_id, TOPIC, DEADLINE_S)
        self._say(f"   $ eosctl fence --group-id {self._group_id} --connector {CONNECTOR}")
        start = time.monotonic()
        planned = read_and_plan(self._session, FencingRequest(connectors=(CONNECTOR,)), "connect-configs")
        self._show(planned)
        seen = self._show(fence_and_prove(self._session, planned))
        fenced = DemoStep(f"fence connector {CONNECTOR}", seen, _since(start))
        start = time.monotonic()
        answer = zombie.commit() or "accepted"
        self._say(f"   Now the zombie commits. The broker's answer: {answer}")
        return fenced, DemoStep("let the zombie commit", answer, _since(start))

    def _configure(self, more: dict[str, str], connector: str = CONNECTOR) -> None:
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "file": str(self._file),
            "topic": TOPIC,
            **more,
        }
        self._rest.request("PUT", f"/connectors/{connector}/config", config)

    def _copied(self, topic: str = TOPIC) -> int:
        """Records of the topic that a read_committed reader sees."""
        place = TopicPartition(topic, 0)
        try:
            records = read_log(self._session.wire, place, isolation=IsolationLevel.READ_COMMITTED)
            return sum(record.state is RecordState.COMMITTED for record in records)
        except UsageError:  # the worker has not created it yet
            return 0

    def _tasks(self, connector: str = CONNECTOR) -> str:
        """The state of the connector's task, or `gone`."""
        status = read_connectors(self._rest.url, DEADLINE_S).get(connector)
        return "gone" if status is None or not status.tasks else status.tasks[0].state

    @staticmethod
    def _wait_for(look: Callable[[], T], wanted: Callable[[T], bool], what: str) -> T:
        """The result of `look` as soon as it is `wanted`."""
        deadline = Deadline(DEADLINE_S)
        while not wanted(seen := look()):
            deadline.pause_or_raise(POLL_S, f"waited for {what}, saw {seen}")
        return seen

    def _say(self, text: str) -> None:
        self._session.options.console.narrate(text)
