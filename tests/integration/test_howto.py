"""How to enable exactly-once: each step of the page, in its order, there and back, with the faults that it names.

Workers and connectors are users with exactly the permissions of the page's ACL plan. Lines are written all the time: at
the end each of them is there once.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.records import java_partition
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.kafka_topics import topic_facts
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.integration.doctoring import write
from tests.integration.file_connectors import values_in
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.moves import CREATES_STOPPED, SETTING, STOPPABLE, Eosctl, Home, Lines, Place
from tests.integration.pages import Howto, shell
from tests.integration.producers import create_topic, open_transaction, transactional_producer
from tests.kafka_versions import spec_of, workers_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "enable-exactly-once.md"
SUPPORT = "exactly.once.source.support"
LIMIT = "transaction.max.timeout.ms"
ASKS_FOR_90_S = KafkaVersion(3, 7, 1)
SAYS_WHETHER_IT_CAN = KafkaVersion(3, 4)
"""FileStreamSource implements exactlyOnceSupport from there on."""
FOUND = (0, 1, 3)
CHECK_BACK = (
    "eosctl upgrade-check --to preparing -b broker:9092 --connect-url http://worker:8083 --worker-config w1.properties"
)
PLAN_ACLS = "eosctl acl-plan -b broker:9092 --worker-config w1.properties --phase"


class Cluster:
    """Two workers of one group; `roll` restarts them one after the other."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox, self.directory = sandbox, directory
        self.home = Home(sandbox)

    def start(self, number: int, phase: str, *, until_ready: bool = True) -> None:
        settings = {**self.sandbox.worker_sasl(), SUPPORT: phase}
        self.sandbox.start_worker(number, settings, until_ready=until_ready)
        self.file(number).write_bytes((self.sandbox.directory / f"worker-{number}" / "worker.properties").read_bytes())

    def file(self, number: int) -> Path:
        return self.directory / f"w{number}.properties"

    def roll(self, phase: str) -> None:
        for number in (1, 2):
            self.sandbox.stop_worker(number)
            self.start(number, phase)

    @property
    def names(self) -> dict[str, str]:
        urls = " ".join(f"--connect-url {url}" for url in self.sandbox.connect_urls)
        return {
            "broker:9092": self.sandbox.bootstrap_servers,
            "http://worker:8083": self.home.url,
            "--connect-url http://worker:8083": urls,
            "--worker-config w1.properties": "--worker-config w1.properties --worker-config w2.properties",
        }


@pytest.fixture
def cluster(kafka_version: str, tmp_path: Path) -> Iterator[Cluster]:
    """Brokers that refuse the timeout with which workers fence; workers that are not there yet."""
    with Sandbox(spec_of(kafka_version, broker_config={LIMIT: "60000"})) as sandbox:
        yield Cluster(sandbox, tmp_path)


@pytest.mark.timeout(900)
def test_the_page_leads_to_enabled_and_back_without_losing_a_record(
    cluster: Cluster, tmp_path: Path, columns: str
) -> None:
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(PAGE, bash, {"broker:9092": cluster.sandbox.bootstrap_servers})
        orders = started(cluster, page, tmp_path)
        page.call(**cluster.names)
        page.follow("eosctl upgrade-check --to preparing", codes=(1,), shows="EOS130")
        refuses_90_s = KafkaVersion.parse(cluster.sandbox.spec.workers_version) >= ASKS_FOR_90_S
        page.follow("eosctl doctor", codes=FOUND, shows="EOS031" if refuses_90_s else "")
        cluster.sandbox.stop_broker(1)
        cluster.sandbox.start_broker(1, {LIMIT: "900000"})
        page.type(f"{PLAN_ACLS} enabled --connect-url http://worker:8083 --check", codes=(1,), shows="missing")
        page.follow("eosctl acl-plan")
        page.follow("eosctl apply acls.plan", "--yes")
        page.follow("eosctl acl-plan")
        page.follow("eosctl upgrade-check --to preparing")
        cluster.roll("preparing")
        page.follow("eosctl upgrade-check --to enabled")
        required = "curl -X PUT -d @required.json -H 'Content-Type: application/json' http://worker:8083"
        page.type(f"{required}/connectors/orders/config", codes=(1,), shows="exactly-once source support enabled")
        cluster.roll("enabled")
        orders.check_exactly_once()
        assert "EOS031" not in page.follow("eosctl doctor", codes=FOUND)
        page.follow("eosctl transactions list", codes=FOUND, shows="connect-cluster-orders-0")
        if KafkaVersion.parse(cluster.sandbox.spec.workers_version) >= SAYS_WHETHER_IT_CAN:
            page.follow("curl -X PUT")
        else:
            page.follow("curl -X PUT", codes=(1,), shows="does not implement the API required")
        orders.check_exactly_once()
        the_way_back(cluster, page, orders)
        assert page.left == []
        orders.check_exactly_once()


def started(cluster: Cluster, page: Howto, directory: Path) -> Lines:
    """The workers, disabled, with the ACLs that they need for that, and connector `orders`.

    None of them starts while it is granted them: the broker might create a topic in the place of the worker.
    """
    cluster.start(1, "disabled", until_ready=False)
    cluster.sandbox.stop_worker(1)
    source = {"connector.class": "FileStreamSource", "file": str(directory / "orders.txt"), "topic": "orders"}
    (directory / "orders.json").write_text(json.dumps({"name": "orders", "config": source}))
    page.type(f"{PLAN_ACLS} disabled --connector-config orders.json --plan-file first.plan")
    page.type("eosctl apply first.plan -b broker:9092 --yes")
    for number in (1, 2):
        cluster.start(number, "disabled")
    orders = Lines(cluster.home, "orders", directory)
    config = orders.config(cluster.home)
    for name, asked in (("required", "required"), ("requested", "requested")):
        (directory / f"{name}.json").write_text(json.dumps(config | {"exactly.once.support": asked}))
    return orders


def the_way_back(cluster: Cluster, page: Howto, orders: Lines) -> None:
    """An offset that was never committed is in the workers' topic: without the page's step 3 its lines are skipped."""
    page.follow("curl -X PUT")
    stops = cluster.home.version >= STOPPABLE
    stop, look = page.line("curl -X PUT"), page.line("curl http://worker:8083/connectors/orders/status")
    if stops:
        eventually(lambda: is_stopped(page, stop, look), "no task is shown", deadline_s=120)
    else:
        cluster.home.delete("orders")
    orders.write(50)
    plant_aborted_offset(cluster, orders.path)
    looked = page.line("eosctl offsets show")
    page.type(looked, codes=FOUND, shows="EOS092")
    page.type(CHECK_BACK, codes=FOUND, shows="EOS092")
    page.follow("eosctl offsets export")
    page.follow("eosctl offsets restore", "--yes")
    page.follow("eosctl upgrade-check --to preparing")
    cluster.roll("preparing")
    page.follow("eosctl upgrade-check --to disabled")
    cluster.roll("disabled")
    assert "EOS092" not in page.type(looked, codes=FOUND)
    if stops:
        page.follow("curl -X PUT")
    else:
        page.line("curl -X PUT")
        cluster.home.create("orders", orders.config(cluster.home))


def is_stopped(page: Howto, stop: str, look: str) -> bool:
    """Whether no task is shown within 5 s of the stop."""
    page.type(stop)
    try:
        eventually(lambda: '"tasks":[]' in page.type(look), deadline_s=5)
    except AssertionError:
        return False
    return True


def plant_aborted_offset(cluster: Cluster, file: Path) -> None:
    """The offset at the end of the file, in a transaction that is aborted."""
    servers, topic = cluster.sandbox.bootstrap_servers, cluster.home.offsets_topic
    key = encode_offsets_key("orders", {"filename": str(file)})
    with Wire(ClientProperties((servers,))) as wire:
        facts = topic_facts(wire, [topic])[topic]
    assert facts is not None
    producer = transactional_producer(servers, "planted")
    producer.begin_transaction()
    producer.produce(topic, json.dumps({"position": file.stat().st_size}), key, java_partition(key, facts.partitions))
    assert producer.flush(30) == 0
    producer.abort_transaction(30)


# How to move a connector: each step of the page, in its order, with the page's statements about an interrupted move.


MOVE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "move-a-connector.md"


@pytest.fixture
def home(kafka_version: str) -> Iterator[Home]:
    """A worker: before 3.7 it cannot create stopped connectors, before 3.5 it cannot stop one."""
    with Sandbox(spec_of(kafka_version, workers=1)) as sandbox:
        yield Home(sandbox)


@pytest.fixture
def orders(home: Home, tmp_path: Path) -> Lines:
    return Lines(home, "orders", tmp_path)


def names(home: Home, directory: Path) -> dict[str, str]:
    """The page's names, and those here; the files that it names are laid out."""
    worker = home.sandbox.directory / "worker-1" / "worker.properties"
    (directory / "worker.properties").write_bytes(worker.read_bytes())
    return {"broker:9092": home.servers, "http://worker:8083": home.url}


@pytest.mark.timeout(600)
def test_the_page_moves_a_connector_and_takes_it_back(home: Home, orders: Lines, tmp_path: Path, columns: str) -> None:
    moved = {"name": "orders", "config": orders.config(home) | {SETTING: "orders-offsets"}}
    (tmp_path / "moved.json").write_text(json.dumps(moved))
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(MOVE, bash, names(home, tmp_path))
        page.follow("eosctl offsets show", codes=FOUND, shows="orders")
        page.follow("eosctl offsets export")
        page.follow("eosctl acl-plan")
        page.follow("eosctl apply acls.plan", "--yes")
        if home.version < STOPPABLE:
            by_hand(page, orders)
            return
        page.follow("eosctl migrate-offsets", shows="replication factor 1")
        cut_short(page, tmp_path)
        page.follow("eosctl apply PLAN", "--yes")
        orders.place = Place(home, "orders", "orders-offsets")
        compared = page.follow("eosctl offsets diff", codes=FOUND)
        assert "0 offsets differ" in compared
        orders.check_exactly_once()
        if home.version >= CREATES_STOPPED:
            renamed_and_taken_back(page, orders, tmp_path)


def by_hand(page: Howto, orders: Lines) -> None:
    """Workers that cannot stop a connector: the page's line is refused, and says what to do instead."""
    page.line("eosctl migrate-offsets")
    line, home = page.line("eosctl migrate-offsets"), orders.place.home
    refused = page.type(f"{line} --yes", codes=(6,))
    assert "delete connector orders (its offsets stay in the topic), run this again without --stop" in refused
    home.delete("orders")
    page.type(f"{line.replace('--stop --set-config --resume', '--yes')}", shows="to do by hand: create connector")
    home.create("orders", orders.config(home) | {SETTING: "orders-offsets"})
    orders.place = Place(home, "orders", "orders-offsets")
    orders.check_exactly_once()


KILLED_BEFORE_THE_CONFIG = """
import os, signal
from eosctl.executors import performers
performers.set_connector_config = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from eosctl.__main__ import main
main()
"""


def cut_short(page: Howto, directory: Path) -> None:
    """The page's move, killed after the offsets were written and before the config is changed; then named again."""
    line = page.line("eosctl migrate-offsets")
    environment = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_CONFIG, *page.real(line).split()[1:], "--yes"],
        cwd=directory,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert re.search(r"\d+\. done: \d+ offset", killed.stderr)
    [plan] = re.findall(r"the plan is saved in (\S+);", killed.stderr)
    page.call(PLAN=plan)
    again = page.type(f"{line} --dry-run", codes=FOUND)
    assert f"an earlier run was cut short: `eosctl apply {Path(plan).name} -b " in again


def renamed_and_taken_back(page: Howto, orders: Lines, directory: Path) -> None:
    """To a new name, back with the undo that the move names, there again, and the old connector deleted."""
    home = orders.place.home
    page.type("rm -r before && eosctl offsets export before/ -b broker:9092 --connect-url http://worker:8083")
    stay = page.follow("eosctl migrate-offsets", "--yes", stay=True)
    [undo] = re.findall(r"to roll it back[^:]*: eosctl undo\s+(\S+)", stay)
    assert "delete connector orders once orders2 runs" in stay
    diff = "eosctl offsets diff before/ live -b broker:9092 --connect-url http://worker:8083"
    page.type(f"{diff} --connector orders --rename-to orders2", shows="0 offsets differ")
    page.call(**{"PLAN.undo": undo})
    left = page.last("eosctl undo", "--yes")
    assert "delete connector orders2" in left
    page.type("curl -X DELETE http://worker:8083/connectors/orders2")
    page.type(diff, shows="0 offsets differ")
    orders.check_exactly_once()
    page.follow("eosctl migrate-offsets", "--yes")
    page.follow("curl -X DELETE")
    assert home.ask("GET", "/connectors/orders") == 404
    orders.place = Place(home, "orders2", "orders-offsets")
    orders.check_exactly_once()
    assert [each.split()[:2] for each in page.left] == [["eosctl", "undo"]]


@pytest.mark.timeout(600)
def test_a_move_to_another_cluster_is_rolled_back_by_the_steps_of_the_page(
    eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Sandbox(SandboxSpec(workers=1)) as first, Sandbox(SandboxSpec(workers=1)) as second:
        here, there = Home(first), Home(second)
        orders = Lines(here, "orders", tmp_path)
        moved = eosctl(
            "migrate-offsets", "-b", here.servers, "--group-id", here.group_id, "--connect-url", here.url,
            "--connector", "orders", "--to-bootstrap-server", there.servers, "--to-connect-url", there.url,
            "--to-config-topic", there.config_topic, "--to-topic", "orders-offsets",
            "--stop", "--set-config", "--resume", "--yes",
        )  # fmt: skip
        assert moved.exit_code == 0, moved.stderr
        [printed] = re.findall(r"to roll it back[^:]*: eosctl (.+)", moved.stdout)
        taken_back = eosctl(*shlex.split(printed), "--yes")
        assert taken_back.exit_code == 0, taken_back.stderr
        assert "delete connector orders, which the plan created" in taken_back.stdout
        assert there.ask("DELETE", "/connectors/orders") == 204
        orders.check_exactly_once()
        assert values_in(there.servers, "orders") == []


# How to rescue a stuck cluster: each step of the page, in its order, with the fault that it is for.


RESCUE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "rescue-a-stuck-cluster.md"
SLOW = dict.fromkeys(("admin.override.retry.backoff.ms", "admin.override.retry.backoff.max.ms"), "100000")
QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
GOOD = (0, 1, 3)


class Stuck:
    """Two workers, and a mirror `orders` of two tasks whose round of fencing fails."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.worker = sandbox, Worker(sandbox)
        self.by_limit = KafkaVersion.parse(sandbox.spec.workers_version) >= ASKS_FOR_90_S
        self.orders = Mirror(self.worker, "orders")
        self.orders.start(3)
        self.more = {} if self.by_limit else SLOW
        self.fail()

    def fail(self) -> None:
        """A change from three tasks to two fences three producers: each start of a task fails."""
        self.orders.configure(2, **self.more)
        self.worker.wait_for_tasks("orders", 2, "FAILED", deadline_s=240)

    def trace(self) -> str:
        """The trace of the task on the leader's worker: the other's has no cause."""
        traces = [task["trace"] for task in self.worker.ask("GET", "/connectors/orders/status")["tasks"]]
        [trace] = [each for each in traces if "ConnectRestException" not in each]
        return str(trace)

    def fix(self) -> None:
        """The fix in the page's table for the cause."""
        if self.by_limit:
            self.sandbox.stop_broker(1)
            self.sandbox.start_broker(1, {LIMIT: "900000"})
        else:
            self.orders.configure(2, **dict.fromkeys(SLOW, "5"))


@pytest.fixture
def stuck(kafka_version: str) -> Iterator[Stuck]:
    settings = {**UNVERIFIED} | (
        {LIMIT: "60000"} if KafkaVersion.parse(workers_of(kafka_version)) >= ASKS_FOR_90_S else {}
    )
    with Sandbox(spec_of(kafka_version, workers=2, broker_config=settings, worker_config=QUICK)) as sandbox:
        yield Stuck(sandbox)


@pytest.mark.timeout(900)
def test_the_page_frees_what_is_stuck(stuck: Stuck, tmp_path: Path, columns: str) -> None:
    servers = stuck.sandbox.bootstrap_servers
    (tmp_path / "trace.txt").write_text(stuck.trace())
    create_topic(servers, "payments", 2)
    names = {"broker:9092": servers, "http://worker:8083": stuck.worker.url}
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(RESCUE, bash, names)
        page.follow("eosctl snapshot save", codes=(0, 3))
        page.follow("eosctl explain", shows="fencing-timeout")
        page.follow("eosctl doctor", codes=GOOD, shows="EOS031" if stuck.by_limit else "EOS030")
        readers_go_on(page, servers)
        fencing_succeeds(page, stuck)
        inconsistent_goes(page, stuck)
        the_zombie_is_fenced(page, stuck)
        assert page.left == []
    stuck.orders.check_exactly_once()
    stuck.worker.close()


def readers_go_on(page: Howto, servers: str) -> None:
    """One transaction that its producer left open, and one that hangs."""
    left_open = open_transaction(servers, "app-1", "payments")
    with Wire(ClientProperties((servers,))) as wire:
        hang(wire, TopicPartition("payments", 0), None)
    page.follow("eosctl transactions lso", codes=GOOD, shows="app-1")
    page.follow("eosctl transactions hanging", "--max-transaction-timeout 0", codes=GOOD, shows="abort")
    page.follow("eosctl fence", "--yes", shows="1 fenced")
    page.follow("eosctl transactions abort", "--max-transaction-timeout 0 --yes", shows="done")
    page.type("eosctl transactions lso -b broker:9092 --topic payments", shows="0 of")
    del left_open


def fencing_succeeds(page: Howto, stuck: Stuck) -> None:
    """Fencing from outside changes nothing; without the cause a restart of each FAILED task is enough."""
    where = "-b broker:9092 --group-id connect-cluster --connect-url http://worker:8083"
    if stuck.by_limit:  # where fencing is slow instead, each start takes 100 s to fail
        for _ in range(3):
            page.type(f"eosctl fence {where} --connector orders --yes", shows="proof holds for")
            page.follow("curl -X POST", stay=True)
            stuck.worker.wait_for_tasks("orders", 2, "FAILED")
    stuck.fix()
    page.follow("curl -X POST")
    page.type("curl -X POST http://worker:8083/connectors/orders/tasks/1/restart")
    stuck.worker.wait_for_tasks("orders", 2)
    found = page.follow("eosctl doctor", codes=GOOD)
    assert "EOS031" not in found
    stuck.orders.check_exactly_once()


def inconsistent_goes(page: Howto, stuck: Stuck) -> None:
    """A commit of more tasks than there are task configs, as compaction or a leader that died leaves it."""
    write(stuck.sandbox, "connect-configs", (b"commit-orders", json.dumps({"tasks": 9}).encode()))
    page.follow("eosctl inspect-config", codes=GOOD, shows="inconsistent")
    page.follow("curl -X POST")
    stuck.worker.wait_for_tasks("orders", 2)
    stuck.orders.check_exactly_once()


def the_zombie_is_fenced(page: Howto, stuck: Stuck) -> None:
    """Worker 2 is frozen until worker 1 has its tasks, and continues after the page is done."""
    stuck.sandbox.pause_worker(2)
    there = stuck.worker.url.removeprefix("http://")

    def on_worker_1() -> bool:
        tasks = stuck.worker.ask("GET", "/connectors/orders/status")["tasks"]
        return [(task["state"], task["worker_id"]) for task in tasks] == [("RUNNING", there)] * 2

    eventually(on_worker_1, "both tasks on the first worker", deadline_s=120)
    page.follow("curl http://worker:8083", shows=there)
    page.follow("eosctl transactions describe", shows="connect-cluster-orders-0")
    page.follow("eosctl fence", "--yes", codes=(8,), stay=True)
    stuck.orders.check_exactly_once()
    stops = KafkaVersion.parse(stuck.sandbox.spec.workers_version) >= STOPPABLE
    if stops:
        stuck.worker.stop("orders")
    else:
        stuck.orders.delete()
    page.follow("eosctl fence", "--yes", shows="fenced")
    stuck.sandbox.resume_worker(2)
    if stops:
        stuck.worker.ask("PUT", "/connectors/orders/resume")
    else:
        stuck.orders.configure(2)
    stuck.worker.wait_for_tasks("orders", 2)
