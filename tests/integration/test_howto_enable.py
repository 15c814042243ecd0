"""How to enable exactly-once: each step of the page, in its order, there and back, with the faults that it names.

Workers and connectors are users that may do nothing but what the page's ACL plan grants them. Lines are written all the
time: at the end each of them is there once.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.model.client_properties import ClientProperties
from eosctl.model.records import java_partition
from eosctl.model.versions import KafkaVersion
from eosctl.sources.kafka_topics import topic_facts
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import STOPPABLE, Home, Lines
from tests.integration.pages import Howto, shell
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.timeout(900)]

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
