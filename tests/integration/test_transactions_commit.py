"""`eosctl transactions commit`: clients that are gone at every state, and readers that see each record once."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.forks import start
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import LAST_EPOCH, coordinator_of, describe, raise_epoch, state_of, wire_to
from tests.integration.gone_clients import INVALID_TXN_STATE, NONE, GoneClient
from tests.integration.producers import create_topic
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]


@pytest.fixture(scope="module")
def wire(broker: Sandbox) -> Iterator[Wire]:
    with wire_to(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest, broker: Sandbox) -> int:
    """The transaction.version that the client knows; brokers before 4.0 know none above 1."""
    return int(request.param) if broker.spec.version >= KafkaVersion(4, 0) else 1


@pytest.fixture
def topic(broker: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("committed")
    create_topic(broker.bootstrap_servers, name, partitions=2)
    return name


@pytest.fixture
def commit(broker: Sandbox, eosctl: Eosctl) -> Callable[..., Ran]:
    def run(client: GoneClient, *more: object, epoch: int | None = None, producer_id: int | None = None) -> Ran:
        held = client.producer
        return eosctl(
            "transactions", "commit", client.transactional_id, "-b", broker.bootstrap_servers,
            "--producer-id", held.producer_id if producer_id is None else producer_id,
            "--producer-epoch", held.producer_epoch if epoch is None else epoch,
            "--watch-client", "0.1", *(more or ("--yes", "-o", "json")),
        )  # fmt: skip

    return run


def test_a_transaction_of_a_lost_client_is_committed_once_and_readers_continue(
    broker: Sandbox, wire: Wire, commit: Callable[..., Ran], fresh_name: FreshName, topic: str, version: int
) -> None:
    client = GoneClient(wire, fresh_name("gone"), version)
    client.write(TopicPartition(topic, 0), b"one", b"two")
    client.write(TopicPartition(topic, 1), b"three")
    old = client.producer
    ran = commit(client)
    assert ran.exit_code == 0, ran.stderr
    (result,) = json.loads(ran.stdout)["data"]["results"]
    assert (result["kind"], result["outcome"]) == ("commit-transaction", "done")
    assert f"{topic}-0 at 2 (last stable offset 0 to 3)" in result["detail"]
    assert f"{topic}-1 at 1 (last stable offset 0 to 2)" in result["detail"]
    reader = committed_reader(broker.bootstrap_servers, topic)
    follower = GoneClient(wire, fresh_name("follower"), version)
    follower.write(TopicPartition(topic, 0), b"last")
    assert follower.end(commit=True) == NONE
    assert committed_values(reader, until=b"last") == [b"one", b"two", b"last"]
    now = describe(broker.bootstrap_servers, [client.transactional_id])[client.transactional_id]
    assert now is not None
    assert now.producer.producer_epoch == old.producer_epoch + (1 if version == 2 else 0)
    assert client.end(commit=True) == NONE, "the owner that asks itself is told that it is committed"
    assert client.end(commit=False) in ({INVALID_TXN_STATE} if version == 1 else {NONE, INVALID_TXN_STATE})
    reader.close()


def test_an_abort_without_an_open_transaction_of_the_producer_is_refused_with_the_reason(
    wire: Wire, commit: Callable[..., Ran], fresh_name: FreshName, topic: str, version: int
) -> None:
    place = TopicPartition(topic, 0)
    client = GoneClient(wire, fresh_name("states"), version)
    first = client.producer

    def why(*, epoch: int | None = None, producer_id: int | None = None) -> str:
        ran = commit(client, epoch=epoch, producer_id=producer_id)
        assert ran.exit_code == 8, ran.stdout + ran.stderr
        return ran.stderr

    assert "is Empty as" in why()
    client.write(place, b"committed")
    assert "not by" in why(epoch=first.producer_epoch + 1)
    assert "not by" in why(producer_id=first.producer_id + 1)
    assert client.end(commit=True) == NONE
    assert "is committed already, there is nothing to do" in why(epoch=first.producer_epoch)
    before = client.producer
    client.write(place, b"aborted")
    assert client.end(commit=False) == NONE
    assert "is aborted and cannot be committed" in why(epoch=before.producer_epoch)
    client.transactional_id = fresh_name("unknown")
    assert "no coordinator knows" in why()


def test_a_plan_is_applied_once_and_only_while_the_client_is_silent(
    broker: Sandbox, wire: Wire, commit: Callable[..., Ran], eosctl: Eosctl, fresh_name: FreshName, topic: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    place, here = TopicPartition(topic, 0), ("-b", broker.bootstrap_servers, "--yes")
    client = GoneClient(wire, fresh_name("planned"))
    client.write(place, b"one")
    early, late = tmp_path / "early.plan", tmp_path / "late.plan"
    planned = commit(client, "--plan-file", early, "-o", "json")
    assert planned.exit_code == 0, planned.stderr
    client.write(place, b"two")
    refused = eosctl("apply", early, *here)
    assert refused.exit_code == 8
    assert f"the client of {client.transactional_id} still runs: it wrote to {place}" in refused.stderr
    assert state_of(broker.bootstrap_servers, client.transactional_id) == "Ongoing"
    assert commit(client, "--plan-file", late).exit_code == 0
    applied = eosctl("apply", late, *here)
    assert applied.exit_code == 0, applied.stderr
    Path(f"{late}.journal").unlink()
    again = eosctl("apply", late, *here)
    assert again.exit_code == 0, again.stderr
    assert "nothing to do: it is committed already" in again.stdout
    undone = eosctl("undo", f"{late}.undo", *here)
    assert undone.exit_code == 8
    assert "cannot be rolled back" in undone.stderr
    reader = committed_reader(broker.bootstrap_servers, topic)
    assert committed_values(reader, until=b"two") == [b"one", b"two"]
    reader.close()
    client.added.clear()
    client.write(place, b"next")
    for plan in (early, late):
        Path(f"{plan}.journal").unlink(missing_ok=True)
        assert eosctl("apply", plan, *here).exit_code == 8, "the next transaction of the producer is another one"
    assert client.end(commit=False) == NONE
    eventually(lambda: state_of(broker.bootstrap_servers, client.transactional_id) == "CompleteAbort")


# `eosctl transactions commit` killed at every point, at the last epochs, under each transaction.version, and while
# markers cannot be written: every record appears once, and readers continue.


APPLY = Path(__file__).parents[1] / "executors" / "crashing_apply.py"
FAILPOINTS = ("opened", "checked", "1:begun", "commit:checked", "commit:sent", "1:performed", "1:done")
SENT = {"commit:sent", "1:performed", "1:done"}
PREPARED = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
    "broker.session.timeout.ms": "120000",
}
KILLED_CLIENT = """
import os, signal, sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "transactional.id": sys.argv[2], "log_level": 0})
producer.init_transactions(30)
producer.begin_transaction()
for number in range(100):
    producer.produce(sys.argv[3], str(number), partition=0)
assert producer.flush(30) == 0
os.kill(os.getpid(), signal.SIGKILL)
"""


def commit_as(eosctl: Eosctl, servers: str, client: GoneClient, *more: object) -> Ran:
    return eosctl(
        "transactions", "commit", client.transactional_id, "-b", servers, "--producer-id", client.producer.producer_id,
        "--producer-epoch", client.producer.producer_epoch, "--watch-client", "0", *(more or ("--yes", "-o", "json")),
    )  # fmt: skip


def versions_of(broker: Sandbox) -> tuple[int, ...]:
    return (1, 2) if broker.spec.version >= KafkaVersion(4, 0) else (1,)


def read_once(servers: str, wire: Wire, topic: str, name: str) -> list[bytes]:
    """All that a reader of committed records finds, up to a last one that is written now."""
    last = GoneClient(wire, name)
    last.write(TopicPartition(topic, 0), b"last")
    assert last.end(commit=True) == NONE
    reader = committed_reader(servers, topic)
    values = committed_values(reader, until=b"last")
    reader.close()
    return values[:-1]


@pytest.mark.variation
@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_one_that_is_killed_is_finished_by_the_next_and_commits_once(
    broker: Sandbox, wire: Wire, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path, failpoint: str
) -> None:
    servers = broker.bootstrap_servers
    for version in versions_of(broker):
        topic, file = fresh_name("killed"), tmp_path / f"{version}.plan"
        create_topic(servers, topic)
        client = GoneClient(wire, fresh_name("killed"), version)
        client.write(TopicPartition(topic, 0), b"one", b"two")
        assert commit_as(eosctl, servers, client, "--plan-file", file).exit_code == 0
        killed = start(str(APPLY), str(file), servers, failpoint)
        killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL
        assert (state_of(servers, client.transactional_id) == "Ongoing") == (failpoint not in SENT)
        finished = eosctl("apply", file, "-b", servers, "--yes")
        assert finished.exit_code == 0, finished.stderr
        assert state_of(servers, client.transactional_id) == "CompleteCommit"
        assert read_once(servers, wire, topic, fresh_name("last")) == [b"one", b"two"]


@pytest.mark.variation
@pytest.mark.parametrize("epoch", [LAST_EPOCH - 1, LAST_EPOCH])
def test_the_last_epochs_are_committed_and_the_next_producer_id_shows_it(
    broker: Sandbox, wire: Wire, eosctl: Eosctl, fresh_name: FreshName, epoch: int
) -> None:
    servers = broker.bootstrap_servers
    for version in versions_of(broker):
        topic, name = fresh_name("last-epoch"), fresh_name("last-epoch")
        create_topic(servers, topic)
        held = raise_epoch(servers, name, epoch)
        client = GoneClient(wire, name, version, producer=held)
        client.write(TopicPartition(topic, 0), b"one")
        ran = commit_as(eosctl, servers, client)
        assert ran.exit_code == 0, ran.stderr
        detail = json.loads(ran.stdout)["data"]["results"][0]["detail"]
        eventually(lambda name=name: state_of(servers, name) == "CompleteCommit")
        now = describe(servers, [name])[name]
        assert now is not None
        if version == 1:
            assert now.producer == held
        elif epoch < LAST_EPOCH:
            assert (now.producer.producer_id, now.producer.producer_epoch) == (held.producer_id, LAST_EPOCH)
        else:
            assert (now.producer.producer_id != held.producer_id, now.producer.producer_epoch) == (True, 0)
            assert f"the producer that follows is {now.producer}" in detail
        again = commit_as(eosctl, servers, client)
        assert (again.exit_code, "is committed already" in again.stderr) == (8, True), again.stderr
        assert client.end(commit=True) == NONE, "its owner is told that it is committed"
        assert read_once(servers, wire, topic, fresh_name("last")) == [b"one"]


@pytest.mark.variation
@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_each_transaction_version_of_the_cluster_takes_the_commit_of_each_client(
    level: str, make_sandbox: Callable[..., Sandbox], kafka_version: str, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    if KafkaVersion.parse(kafka_version) < KafkaVersion(4, 0):
        features: dict[str, str] = {}
    else:
        features = {"transaction.version": level}
    servers = make_sandbox(kafka_version=kafka_version, features=features).bootstrap_servers
    with wire_to(servers) as wire:
        for version in (1, 2) if level == "2" and features else (1,):
            topic = fresh_name("levels")
            create_topic(servers, topic)
            client = GoneClient(wire, fresh_name("levels"), version)
            client.write(TopicPartition(topic, 0), b"one")
            ran = commit_as(eosctl, servers, client)
            assert ran.exit_code == 0, ran.stderr
            assert "committed" in commit_as(eosctl, servers, client).stderr
            assert read_once(servers, wire, topic, fresh_name("last")) == [b"one"]


@pytest.mark.variation
def test_a_client_that_was_killed_in_the_middle_is_committed_whole(
    broker: Sandbox, wire: Wire, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    servers, topic, name = broker.bootstrap_servers, fresh_name("process"), fresh_name("process")
    create_topic(servers, topic)
    program = tmp_path / "client.py"
    program.write_text(KILLED_CLIENT)
    process = start(str(program), servers, name, topic)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    held = describe(servers, [name])[name]
    assert held is not None
    assert held.state.value == "Ongoing"
    client = GoneClient(wire, name, producer=held.producer)
    ran = commit_as(eosctl, servers, client)
    assert ran.exit_code == 0, ran.stderr
    assert read_once(servers, wire, topic, fresh_name("last")) == [b"%d" % each for each in range(100)]


@pytest.mark.variation
def test_a_commit_without_its_markers_is_reported_and_found_complete_later(
    kafka_version: str, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    with Sandbox(SandboxSpec(kafka_version, brokers=2, broker_config=PREPARED)) as brokers:
        servers, file = brokers.bootstrap_servers, tmp_path / "stuck.plan"
        first = servers.split(",")[0]
        make_topic(AdminClient({"bootstrap.servers": servers}), NewTopic("on-broker-2", 1, replica_assignment=[[2]]))
        name = next(each for each in iter(lambda: fresh_name("stuck"), "") if coordinator_of(servers, each) == 1)
        with wire_to(servers) as wire:
            client = GoneClient(wire, name)
            client.write(TopicPartition("on-broker-2", 0), b"one")
            planned = commit_as(eosctl, servers, client, "--plan-file", file)
            assert planned.exit_code == 0, planned.stderr
            first = servers.split(",")[0]
            stuck = start(str(APPLY), str(file), servers, "pause:commit:checked")
            assert stuck.stdout.readline().strip() == "paused"
            other = tmp_path / "elsewhere.plan"
            other.write_text(file.read_text())
            brokers.pause_broker(2)
            try:
                stuck.stdin.write("\n")
                stuck.stdin.flush()
                eventually(lambda: state_of(first, name) == "PrepareCommit")
                refused = commit_as(eosctl, first, client)
                assert (refused.exit_code, "PrepareCommit" in refused.stderr) == (8, True), refused.stderr
                waited = eosctl("apply", other, "-b", first, "--yes", "--timeout", "3")
                assert waited.exit_code == 4, waited.stderr
                assert f"the commit of {name} is decided and cannot be revoked" in waited.stderr
            finally:
                brokers.resume_broker(2)
            out, _ = stuck.communicate(timeout=60)
            assert (stuck.returncode, "commit markers: on-broker-2-0 at 1" in out) == (0, True), out
            assert eosctl("apply", other, "-b", servers, "--yes").exit_code == 0
            assert read_once(servers, wire, "on-broker-2", fresh_name("last")) == [b"one"]
