"""`import eosctl`: each example of examples/api on a real Kafka, and what a program gets that meets trouble."""

import json
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

import eosctl
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.gone_clients import GoneClient
from tests.integration.hanging import UNVERIFIED, hang, initialise
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("own_state")]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "api"
COPIED = 20

Run = Callable[..., list[str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The output of the example's main, line by line."""

    def printed(name: str, *args: object) -> list[str]:
        capsys.readouterr()
        runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](*map(str, args))
        return capsys.readouterr().out.splitlines()

    return printed


@pytest.fixture(scope="module")
def servers(connect_sandbox: Sandbox) -> str:
    return connect_sandbox.bootstrap_servers


@pytest.fixture(scope="module")
def url(connect_sandbox: Sandbox) -> str:
    return connect_sandbox.connect_url(1)


@pytest.fixture(scope="module")
def copier(servers: str, url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A connector that has copied its file and is stopped."""
    connectors, name = FileConnectors(url, servers, tmp_path_factory.mktemp("api")), "api-copier"
    connectors.file(name).write_text("".join(f"line {number}\n" for number in range(COPIED)))
    connectors.create(name)
    connectors.await_last(name, f"line {COPIED - 1}")
    connectors.stop(name)
    yield name
    connectors.delete(name)


@pytest.fixture
def wire(servers: str) -> Iterator[Wire]:
    with Wire(ClientProperties((servers,))) as opened:
        yield opened


@pytest.fixture
def left_open(wire: Wire, servers: str, fresh_name: FreshName) -> Iterator[GoneClient]:
    """A client that wrote one record in a transaction and is gone, as its ID is the name of the topic.

    Its transaction ends with the test, whatever the test did to it: other tests list those of this Kafka.
    """
    name = fresh_name("api-open")
    create_topic(servers, name)
    client = GoneClient(wire, name)
    client.write(TopicPartition(name, 0), b"left")
    yield client
    initialise(wire, name)


def test_there_are_ten_examples():
    assert len(list(EXAMPLES.glob("*.py"))) == 10


def test_doctor(run, servers, url, copier):
    lines = run("doctor", servers, url)
    assert int(lines[-1].removesuffix(" rules asked")) > 50
    with eosctl.connect(servers, workers=eosctl.Workers(urls=(url,))) as cluster:
        document = eosctl.document(cluster.diagnose())
    found = [line.split("\t")[1] for line in lines if line.startswith(("error", "warning", "info"))]
    assert document["kind"] == "doctor"
    assert found == [each["id"] for each in document["data"]["findings"]]


def test_connectors_of_a_snapshot(run, servers, url, copier, tmp_path):
    assert f"{copier}\tSTOPPED\t0 tasks" in run("connectors_of_a_snapshot", servers, url, tmp_path / "all.snapshot")


def test_next_start(run, servers, url, copier):
    [line] = [line for line in run("next_start", servers, url) if line.startswith(copier)]
    assert line == f"{copier}\tfence\t1"


def test_where_tasks_begin(run, servers, url, copier, tmp_path):
    [line] = run("where_tasks_begin", servers, url, copier, tmp_path / "offsets.json")
    assert line.startswith(f"{copier}\t")
    [exported] = json.loads((tmp_path / "offsets.json").read_text())["offsets"]
    assert line.endswith(str(exported["offset"]))
    assert exported["offset"]["position"] > 0


def test_producers_of_a_topic(run, servers, left_open):
    name, held = left_open.transactional_id, left_open.producer
    assert run("producers_of_a_topic", servers, name) == [
        f"{name}-0\t{held.producer_id}\t{held.producer_epoch}\t0\t{name}"
    ]


def test_open_transactions(run, servers, left_open):
    name = left_open.transactional_id
    assert f"{name}\t{left_open.timeout_ms}\t{name}-0" in run("open_transactions", servers)


def test_abort_hanging(run, wire, servers, fresh_name):
    """The transaction hangs, is aborted, and does not hang any more."""
    topic = fresh_name("api-hanging")
    create_topic(servers, topic)
    with unverified(servers):
        hang(wire, TopicPartition(topic, 0), None)
    lines = run("abort_hanging", servers, topic, 0)
    assert lines[-1] != "nothing hangs"
    assert run("abort_hanging", servers, topic, 0) == ["nothing hangs"]


def test_fence_producers(run, servers, left_open):
    name = left_open.transactional_id
    assert run("fence_producers", servers, name)[-2:] == [f"{name}\tfenced", f"{name}\tproved"]
    assert left_open.end(commit=True) in {47, 90}  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED


def test_move_a_connector(run, servers, url, copier, tmp_path):
    file, topic = tmp_path / "move.plan", "api-copier-offsets"
    lines = run("move_a_connector", servers, url, copier, topic, file)
    assert lines[-1] == "rolled back by: eosctl undo move.plan.undo"
    with eosctl.connect(servers, workers=eosctl.Workers(group_id="connect-cluster", urls=(url,))) as cluster:
        [moved] = cluster.offsets(copier).connectors
        assert [each.kafka_effective == each.connector_specific for each in moved.offsets] == [True]
        undone = cluster.read_plan(tmp_path / "move.plan.undo").apply()
        assert undone.failure is None
        [back] = cluster.offsets(copier).connectors
        assert [each.kafka_effective == each.worker_global for each in back.offsets] == [True]


def test_audit_topics(run, servers, url, copier, tmp_path):
    store = f"sqlite:///{tmp_path}/audit.db"
    for _ in range(2):
        lines = run("audit_topics", servers, url, copier, store)
        assert [line.split("\t")[:2] for line in lines if line.startswith(copier)] == [[copier, "held"]]


def test_a_plan_that_meets_an_objection_is_refused_and_changes_nothing(servers, left_open):
    """Its coordinator knows the transaction, and its client could still commit it."""
    name = left_open.transactional_id
    with eosctl.connect(servers) as cluster:
        plan = cluster.plan_abort(name, 0, max_timeout_s=0)
        assert plan.objections
        with pytest.raises(eosctl.Refused):
            plan.apply()
        assert plan.applied is None
        [still] = cluster.describe_transactions(name).transactions
    assert still.state is eosctl.TransactionState.ONGOING
    assert left_open.end(commit=True) == 0


def test_fencing_is_refused_where_another_producer_has_the_id_by_now(wire, servers, left_open):
    name = left_open.transactional_id
    with eosctl.connect(servers) as cluster:
        plan = cluster.plan_fencing(eosctl.FencingRequest(transactional_ids=(name,)))
        newer = GoneClient(wire, name)
        with pytest.raises(eosctl.Refused, match="the plan changed"):
            plan.apply()
    newer.write(TopicPartition(name, 0), b"mine")
    assert newer.end(commit=True) == 0


def test_missing_evidence_is_an_error_only_where_it_is_required(servers):
    """Nothing listens at the worker's address: the config topic answers, and what the workers know is missing."""
    with eosctl.connect(servers, workers=eosctl.Workers(urls=("http://127.0.0.1:1",))) as cluster:
        listed = cluster.connectors()
    assert not listed.complete
    with pytest.raises(eosctl.Incomplete, match="the answer is incomplete"):
        eosctl.require(listed)


@contextmanager
def unverified(servers: str) -> Iterator[None]:
    """The brokers take transactional batches for partitions that no coordinator was told of."""
    [(name, value)] = UNVERIFIED.items()
    set_in_brokers(servers, ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET))
    eventually(lambda: setting_of_broker(servers, name) == value, "the broker to take the setting")
    try:
        yield
    finally:
        set_in_brokers(servers, ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE))


def setting_of_broker(servers: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": servers})
    [described] = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
    return str(described.result(30)[name].value)


def set_in_brokers(servers: str, entry: ConfigEntry) -> None:
    broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.incremental_alter_configs([broker]).values():
        done.result(30)
