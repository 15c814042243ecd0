"""Changes between a shown plan and the answer to its question: only the shown plan is carried out."""

from collections.abc import Callable, Iterator

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from tests.commands.conftest import Ran, Typed
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import describe, state_of, wire_to
from tests.integration.gone_clients import NONE, GoneClient
from tests.integration.producers import complete, create_topic, open_transaction

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("own_state")]

Terminal = Callable[..., Typed]


@pytest.fixture(scope="module")
def wire(sandbox: Sandbox) -> Iterator[Wire]:
    with wire_to(sandbox.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def topic(sandbox: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("meanwhile")
    create_topic(sandbox.bootstrap_servers, name)
    return name


def test_a_producer_that_began_again_is_not_fenced(
    sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, topic: str
) -> None:
    servers, name = sandbox.bootstrap_servers, fresh_name("restarted")
    complete(servers, name, topic, commit=True)
    began = []
    asked = at_terminal(answer="y\n", meanwhile=lambda: began.append(open_transaction(servers, name, topic)))
    ran = asked.run("fence", "-b", servers, "--transactional-id", name)
    assert (ran.exit_code, "the plan changed before you confirmed" in ran.stderr) == (8, True), ran.stderr
    began[0].commit_transaction(30)


@pytest.mark.parametrize("ended", ["committed", "aborted", "begun anew"])
def test_a_transaction_that_its_client_ended_is_not_committed_again(
    ended: str, sandbox: Sandbox, wire: Wire, at_terminal: Terminal, fresh_name: FreshName, topic: str
) -> None:
    servers, place = sandbox.bootstrap_servers, TopicPartition(topic, 0)
    client = GoneClient(wire, fresh_name("back"))
    client.write(place, b"first")
    shown = client.producer

    def come_back() -> None:
        assert client.end(commit=ended == "committed") == NONE
        if ended == "begun anew":
            client.added.clear()
            client.write(place, b"second")

    ran = committing(at_terminal(answer="y\n", meanwhile=come_back), servers, client.transactional_id, shown)
    assert ran.exit_code == (0 if ended == "committed" else 8), ran.stdout + ran.stderr
    if ended == "begun anew":
        assert state_of(servers, client.transactional_id) == "Ongoing"
        assert client.end(commit=True) == NONE
    follower = GoneClient(wire, fresh_name("follower"))
    follower.write(place, b"last")
    assert follower.end(commit=True) == NONE
    reader = committed_reader(servers, topic)
    once = {"committed": [b"first"], "aborted": [], "begun anew": [b"second"]}[ended]
    assert committed_values(reader, until=b"last") == [*once, b"last"]
    reader.close()


def committing(terminal: Typed, servers: str, transactional_id: str, shown: ProducerIdAndEpoch) -> Ran:
    return terminal.run(
        "transactions", "commit", transactional_id, "-b", servers,
        "--producer-id", shown.producer_id, "--producer-epoch", shown.producer_epoch, "--watch-client", "0.1",
    )  # fmt: skip


def test_a_transaction_that_ended_is_not_aborted_nor_the_next_one_of_its_producer(
    sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, topic: str
) -> None:
    servers, name = sandbox.bootstrap_servers, fresh_name("goes-on")
    producer = open_transaction(servers, name, topic)
    held = describe(servers, [name])[name]
    assert held is not None

    def go_on() -> None:
        producer.commit_transaction(30)
        producer.begin_transaction()
        producer.produce(topic, b"value", b"key")
        assert producer.flush(30) == 0

    ran = at_terminal(answer="y\n", meanwhile=go_on).run(
        "transactions", "abort", "-b", servers, "--topic", topic, "--partition", 0,
        "--producer-id", held.producer.producer_id, "--force",
    )  # fmt: skip
    assert ran.exit_code == 8, ran.stdout + ran.stderr
    producer.commit_transaction(30)
