"""How to rescue a stuck cluster: each step of the page, in its order, with the fault that it is for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.integration.doctoring import write
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.moves import STOPPABLE
from tests.integration.pages import Howto, shell
from tests.integration.producers import create_topic, open_transaction
from tests.kafka_versions import spec_of, workers_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.timeout(900)]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "rescue-a-stuck-cluster.md"
ASKS_FOR_90_S = KafkaVersion(3, 7, 1)
LIMIT = "transaction.max.timeout.ms"
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
        """Of the task on the leader's worker: the other's has no cause."""
        traces = [task["trace"] for task in self.worker.ask("GET", "/connectors/orders/status")["tasks"]]
        [trace] = [each for each in traces if "ConnectRestException" not in each]
        return str(trace)

    def fix(self) -> None:
        """What the page's table says of the cause."""
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


def test_the_page_frees_what_is_stuck(stuck: Stuck, tmp_path: Path, columns: str) -> None:
    servers = stuck.sandbox.bootstrap_servers
    (tmp_path / "trace.txt").write_text(stuck.trace())
    create_topic(servers, "payments", 2)
    names = {"broker:9092": servers, "http://worker:8083": stuck.worker.url}
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(PAGE, bash, names)
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
    """Worker 2 stands still until worker 1 has its tasks, and goes on when the page is done."""
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
