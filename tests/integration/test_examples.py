"""Every example in every help is run, on a real cluster in which the names that it uses exist."""

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from eosctl.cli import PROGRAM
from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.sandbox.properties import SandboxSpec
from eosctl.shell.command_tree import CommandHelp
from tests.codecs.test_flink_checkpoint import HEADER, committable, writer
from tests.commands.conftest import Typed
from tests.commands.tree import commands
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors, values_in, wait_for
from tests.integration.gone_clients import GoneClient
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka

STARTS_KAFKA = ("eosctl sandbox", "eosctl demo", "eosctl certify", "eosctl audit source")
"""Their examples need clusters or databases of their own: test_demo.py and test_source_audit.py run such commands."""
WRITES = (
    "fence",
    "apply",
    "undo",
    "migrate-offsets",
    "offsets restore",
    "offsets create-connector",
    "transactions abort",
    "transactions commit",
    "probe",
)
LINES = 50
COPIED = "orders-copied"


class Example(NamedTuple):
    """A line of help; the first of its command is run in JSON too."""

    line: str
    first: bool


def examples() -> dict[str, list[Example]]:
    """Examples by the command of the root that they belong to."""
    found: dict[str, list[Example]] = {}
    for each in commands():
        if not each.is_group and not each.path.startswith(STARTS_KAFKA):
            lines = _lines(each)
            found.setdefault(each.path.split()[1], []).extend(Example(line, line is lines[0]) for line in lines)
    return found


def _lines(command: CommandHelp) -> list[str]:
    return [line.strip() for line in command.blocks["Examples"].splitlines() if line.strip().startswith(PROGRAM)]


class Stage:
    """A cluster with connector `orders`, stopped, another with topic `orders`, and the files that examples name."""

    def __init__(self, sandbox: Sandbox, other: Sandbox, directory: Path) -> None:
        self.sandbox, self.other, self.directory = sandbox, other, directory
        self.connectors = FileConnectors(sandbox.connect_url(1), sandbox.bootstrap_servers, directory)
        self.cluster = ["-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster"]
        self.connect = [*self.cluster, "--connect-url", sandbox.connect_url(1)]
        self.hung_at = 0
        self.left, self.checkpoint = "--producer-id 42 --producer-epoch 3", b""

    def rewind(self) -> None:
        """`orders` is stopped with its offsets in the workers' topic, after any example."""
        name = "orders"
        self.connectors.create(name, {"topic": COPIED})
        with RestClient(self.sandbox.connect_url(1), 60) as rest:
            rest.request("PUT", f"/connectors/{name}/resume")
            self.connectors.await_running(name)
            wait_for(
                lambda: values_in(self.sandbox.bootstrap_servers, COPIED)[-1:],
                lambda last: last == [f"line {LINES - 1}".encode()],
                "the lines to be copied",
            )

            def stop() -> list[str]:
                # Again and again: a worker that is still writing the tasks' configs would start them after the stop.
                rest.request("PUT", f"/connectors/{name}/stop")
                return self.connectors.states(name)

            wait_for(stop, lambda states: states == [], f"{name} to stop")

    def hang(self) -> None:
        """A transaction hangs in the first partition of the topic `orders`."""
        with Wire(ClientProperties(tuple(self.sandbox.bootstrap_servers.split(",")))) as wire:
            self.hung_at = hang(wire, TopicPartition("orders", 0), None).start_offset

    def leave(self) -> None:
        """A client of `sink-orders-0-7` is gone, and its transaction is open in the topic `orders`."""
        with Wire(ClientProperties(tuple(self.sandbox.bootstrap_servers.split(",")))) as wire:
            client = GoneClient(wire, "sink-orders-0-7")
            client.write(TopicPartition("orders", 1), b"left")
            held, name = client.producer, client.transactional_id
            state = committable(name, held.producer_id, held.producer_epoch), writer("sink-orders", names=[name])
            self.checkpoint = b"".join((HEADER, *state))
            self.left = f"--producer-id {held.producer_id} --producer-epoch {held.producer_epoch} --watch-client 0"

    def read(self) -> None:
        """The group `billing` has read the first record of the topic `orders`."""
        consumer = Consumer(
            {"bootstrap.servers": self.sandbox.bootstrap_servers, "group.id": "billing", "log_level": 0}
        )
        try:
            # A member has found its coordinator, which may have to be made before it takes an offset.
            consumer.subscribe(["orders"])
            wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), bool, "the group's first member")
            consumer.commit(offsets=[Committed("orders", 0, 1)], asynchronous=False)
        finally:
            consumer.close()

    def make_ready(self, path: str, home: Path) -> None:
        """Creates the inputs of the example with this path."""
        if path.startswith("transactions abort"):
            self.hang()
        if path.startswith(("transactions commit", "transactions leftovers")):
            self.leave()
            (home / "chk-42").mkdir(exist_ok=True)
            (home / "chk-42" / "_metadata").write_bytes(self.checkpoint)
        if path.startswith("transactions lso"):
            self.read()
        if path.startswith(("migrate-offsets", "offsets restore")):
            self.rewind()

    def lay_out(self, home: Path, run: Callable[..., str]) -> None:
        """The files that examples name."""
        plain = f"bootstrap.servers={self.sandbox.bootstrap_servers}\n"
        (home / "client.properties").write_text(plain)
        for name in ("worker.properties", "w1.properties"):
            (home / name).write_bytes((self.sandbox.directory / "worker-1" / "worker.properties").read_bytes())
        lines = str(self.connectors.file("orders"))
        (home / "eu.properties").write_text(f"bootstrap.servers={self.other.bootstrap_servers}\n")
        (home / "topics.json").write_text('{"orders": "orders"}')
        operated = {
            "class": "FileStreamSource",
            "tasksMax": 1,
            "config": {"file": lines, "topic": COPIED},
            "state": "stopped",
        }
        labelled = {"name": "orders", "labels": {"strimzi.io/cluster": "connect"}}
        resource = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaConnector", "metadata": labelled}
        (home / "orders.yaml").write_text(json.dumps({**resource, "spec": operated}))
        (home / "ids.txt").write_text("connect-cluster-orders-0\n")
        (home / "names.json").write_text('{"orders": "orders-renamed"}')
        (home / "trace.txt").write_text("Caused by: org.apache.kafka.common.errors.ProducerFencedException: fenced\n")
        (home / "dump.jsonl").write_text('{"offset": 1, "timestamp": 1, "key": "commit-x", "value": {"tasks": 3}}\n')
        config = {"name": "orders", "config": {"connector.class": "org.example.Source", "topic": "orders"}}
        (home / "orders.json").write_text(json.dumps(config))
        shop = {"connector.class": "FileStreamSource", "file": lines, "topic": "shop"}
        (home / "shop.json").write_text(json.dumps({"name": "shop", "config": shop}))
        begin = {"partition": {"filename": lines}, "offset": {"position": 7}}
        (home / "begin.json").write_text(json.dumps({"offsets": [begin]}))
        key = Ed25519PrivateKey.generate()
        form = serialization.PrivateFormat.OpenSSH
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        (home / "id_ed25519").write_bytes(pem)
        (home / "id_ed25519").chmod(0o600)
        (home / "auditor.pub").write_bytes(
            key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        )
        (home / "__transaction_state-9").mkdir()
        segment = Path("__transaction_state-9", "00000000000000000000.log")
        [found] = self.sandbox.directory.glob(f"broker-1/**/{segment}")
        (home / segment).write_bytes(found.read_bytes())
        for name in ("monday.snapshot", "tuesday.snapshot"):
            kept = self.directory / name
            if not kept.exists():
                run("snapshot", "save", kept, *self.connect)
            shutil.copy(kept, home)

    def plan(self, home: Path, run: Callable[..., str]) -> None:
        """orders.plan, a move of `orders` to another topic."""
        move = ("migrate-offsets", *self.connect, "--connector", "orders", "--to-topic", "orders-planned")
        run(*move, "--plan-file", home / "orders.plan", "--dry-run")

    def words(self, line: str, home: Path) -> tuple[list[str], str]:
        """The example's arguments with this cluster's names, and its redirected input."""
        url = self.sandbox.connect_url(1)
        names = {
            "http://worker:8083": url,
            "broker:9092": self.sandbox.bootstrap_servers,
            "broker:9093": self.sandbox.bootstrap_servers,
            "broker-2:9092": self.sandbox.bootstrap_servers,
            "old:9092": self.sandbox.bootstrap_servers,
            "new:9092": self.other.bootstrap_servers,
            "target:9092": self.sandbox.bootstrap_servers,
            "source:9092": self.other.bootstrap_servers,
            "--replication-factor 3": "--replication-factor 1",
            "--group-id a ": "--group-id connect-cluster ",
            "--wait 300": "--wait 1",
            "--engine spark --master local[4]": "--engine local",  # tests/spark runs it on Spark
            "--start-offset 1042": f"--start-offset {self.hung_at}",
            "--producer-id 42 --producer-epoch 3": self.left,
            "orders-0@1042": f"orders-0@{self.hung_at}",
            "/var/lib/kafka/data": str(next(self.sandbox.directory.glob("broker-1/**/orders-0")).parent),
            "/var/lib/eosctl": str(home),
            "~/.ssh/id_ed25519": str(home / "id_ed25519"),
        }
        for name, real in names.items():
            line = line.replace(name, real)
        command, _, file = line.partition(" | ")[0].partition(" > ")[0].partition(" < ")
        return shlex.split(command, comments=True)[1:], (home / file).read_text() if file else ""


@pytest.fixture(scope="module")
def stage(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("stage")
    settings = {**UNVERIFIED, "transaction.state.log.num.partitions": "50"}  # as an example says
    with Sandbox(SandboxSpec(workers=1, broker_config=settings)) as own:
        made = Stage(own, sandbox, directory)
        for topic in ("orders", "payments", "eu.orders"):
            create_topic(own.bootstrap_servers, topic, partitions=4)
        made.connectors.file("orders").write_text("".join(f"line {number}\n" for number in range(LINES)))
        made.rewind()
        create_topic(sandbox.bootstrap_servers, "orders", partitions=4)
        yield made
        admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
        admin.delete_topics(["orders"])["orders"].result(30)


@pytest.mark.parametrize("command", sorted(examples()))
def test_every_example_shows_its_documented_output(command, stage, eosctl, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("Caused by: org.apache.kafka.common.errors.ProducerFencedException: x"))

    def run(*args: object) -> str:
        ran = eosctl(*args)
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return ran.stdout

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / ".eosctl.yaml").write_text(
        f"profiles: {{staging: {{bootstrap-server: '{stage.sandbox.bootstrap_servers}'}}}}"
    )
    (tmp_path / ".eosctl.yaml").chmod(0o600)
    run("profile", "trust")
    if any(name.startswith(command) for name in WRITES):
        stage.rewind()
    stage.lay_out(tmp_path, run)
    if command == "verify":
        run("audit", *stage.connect, "--evidence", "audit.json", "--sign-key", "id_ed25519")
    if command in {"apply", "undo"}:
        stage.plan(tmp_path, run)
    if command == "undo":
        run("apply", "orders.plan", *stage.connect, "--yes")
    wrong = [problem for each in examples()[command] for problem in problems(stage, each, tmp_path)]
    assert wrong == []


def problems(stage: Stage, example: Example, home: Path) -> Iterator[str]:
    """The faults of the example: its exit code, or invalid JSON."""
    line = example.line
    path = line.removeprefix(f"{PROGRAM} ")
    stage.make_ready(path, home)
    words, given = stage.words(line, home)
    if path.startswith(("offsets export", "snapshot save")):  # into a new file
        (home / words[2]).unlink(missing_ok=True)
    if "--watch" in words:
        words += ["--looks", "1"]
    if path.startswith("watch") and not {"--once", "--emit"} & set(words):
        words += ["--once"]  # it would serve until it is interrupted
    if "--fence-rest" in words:
        words += ["--watch-client", "0"]
    if path.startswith("transactions abort"):
        words += ["--max-transaction-timeout", "0"]  # it has only just begun to hang
    asks = path.startswith(WRITES) and not {"--yes", "--dry-run"} & set(words)
    ran = Typed(width=120 if asks else None, answer="y\n" if asks else given).run(*words)
    if ran.exit_code not in {0, 1, 3}:
        yield f"{line}\nended with {ran.exit_code}: {ran.stderr}"
    if "json" in words and not _is_json(ran.stdout):
        yield f"{line}\nis not JSON: {ran.stdout[:500]}"
    if example.first and not path.startswith(WRITES) and "-o" not in words and "apply" not in path:
        again = Typed(answer=given).run(*words, "-o", "json")
        if not _is_json(again.stdout):
            yield f"{line} -o json\nis not JSON: {again.stdout[:500]}"


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
