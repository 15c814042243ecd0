"""`eosctl transactions commit`: clients that are gone at every state, and readers that see each record once."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import describe, state_of, wire_to
from tests.integration.gone_clients import INVALID_TXN_STATE, NONE, GoneClient
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
FreshName = Callable[[str], str]


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


def test_what_a_gone_client_left_is_committed_once_and_readers_go_on(
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


def test_what_is_no_open_transaction_of_that_producer_is_refused_and_said(
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
    assert f"the client of {client.transactional_id} is not gone: it wrote to {place}" in refused.stderr
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
