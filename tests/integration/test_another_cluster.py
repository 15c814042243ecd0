"""An address that leads to another real cluster in the middle of a command: cannot tell, or refused and not written."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.clients.access import ClusterAccess
from eosctl.clients.librdkafka import TransactionalProducer
from eosctl.clients.librdkafka import create_topic as create_with_client
from eosctl.clients.messages import brokers_metadata
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import OtherCluster
from eosctl.model.transactions import TransactionDescription
from tests.conftest import FreshName
from tests.faults.commands import Answer, run_command
from tests.faults.kafka_proxy import Fault, HandsOut, KafkaProxy, Seen, routed
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe, wire_to
from tests.integration.producers import complete, create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("own_state")]


METADATA = 3
API_VERSIONS = 18
"""The first request of each connection: before it nothing is known of a cluster."""


class Moving(NamedTuple):
    """Two clusters that have a topic and a transactional ID of one name, and an address that can lead to either."""

    first: Sandbox
    second: Sandbox
    proxy: KafkaProxy
    name: str

    def run(self, words: tuple[str, ...], moved_at: Seen | None = None) -> Answer:
        """The command; from the answer to this request on, new connections lead to the second cluster."""
        self.proxy.plan(moved_at, Fault.MOVED)
        return run_command((*words, "-b", self.first.bootstrap_servers), timeout_s=10)

    def held(self) -> list[TransactionDescription | None]:
        """Each cluster's description of the ID."""
        places = (self.first.bootstrap_servers, self.second.bootstrap_servers)
        return [describe(each, [self.name])[self.name] for each in places]


def address_of(sandbox: Sandbox) -> tuple[str, int]:
    host, port = sandbox.bootstrap_servers.split(":")
    return host, int(port)


@pytest.fixture
def moving(two_clusters: tuple[Sandbox, Sandbox], fresh_name: FreshName) -> Iterator[Moving]:
    first, second = two_clusters
    name, proxy = fresh_name("moving"), KafkaProxy(*address_of(first))
    for each in two_clusters:
        create_topic(each.bootstrap_servers, name)
        complete(each.bootstrap_servers, name, name, commit=True)
    proxy.then = address_of(second)
    with routed({address_of(first)[1]: proxy.port}):
        yield Moving(first, second, proxy, name)
    proxy.close()


@pytest.mark.parametrize(
    "words",
    [
        ("transactions", "list"),
        ("transactions", "producers", "--topic", "{name}"),
        ("transactions", "hanging"),
        ("doctor",),
        ("fence", "--transactional-id", "{name}", "--dry-run"),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_facts_of_two_clusters_are_no_answer(moving: Moving, words: tuple[str, ...]):
    """Moved after each kind of request: the answer is that of the first cluster alone, or there is none.

    A request on its way when the connection ends is lost (4).
    """
    words = tuple(each.format(name=moving.name) for each in words)
    before = moving.run(words)
    for each in dict.fromkeys(Seen(each.api_key, 1) for each in moving.proxy.seen if each.api_key != API_VERSIONS):
        after = moving.run(words, each)
        if after.exit_code == before.exit_code:
            assert after.essence == before.essence, each.name
        elif after.exit_code == 3:
            said = f"cluster {moving.second.cluster_id} now, and the brokers that answered before are "
            assert said + moving.first.cluster_id in after.stderr + after.stdout, each.name
        else:
            assert (after.exit_code, "cannot be reached" in after.stderr) == (4, True), (each.name, after.stderr)
    assert moving.run(words, Seen(METADATA, 1)).exit_code == 3


def test_a_fence_is_refused_and_neither_cluster_is_written_to(moving: Moving):
    words = ("fence", "--transactional-id", moving.name)
    before = moving.held()
    moving.run((*words, "--dry-run"))
    last_before_writing = moving.proxy.seen[-1]
    refused = moving.run((*words, "--yes"), last_before_writing)
    assert (refused.exit_code, moving.second.cluster_id in refused.stderr) == (8, True), refused.stderr
    assert moving.held() == before
    assert moving.run((*words, "--yes")).exit_code == 0
    first, second = moving.held()
    assert first != before[0]
    assert second == before[1]


def test_a_wire_that_met_another_cluster_requests_nothing_more(moving: Moving):
    with wire_to(moving.first.bootstrap_servers) as wire:
        assert wire.cluster_id == moving.first.cluster_id
        assert wire.ask_cluster_id() == moving.first.cluster_id
        moving.proxy.plan(Seen(METADATA, 1), Fault.MOVED)
        assert wire.ask_cluster_id() == moving.first.cluster_id
        with pytest.raises(OtherCluster, match=f"cluster {moving.second.cluster_id} now, .* {moving.first.cluster_id}"):
            wire.ask_cluster_id()
        moving.proxy.plan(None, None)
        with pytest.raises(OtherCluster):
            wire.request_any(brokers_metadata())


def test_the_clients_that_write_records_and_topics_are_of_the_same_cluster(moving: Moving, fresh_name: FreshName):
    """librdkafka connects by itself, so its cluster is checked separately."""
    here = client_properties(bootstrap_server=moving.second.bootstrap_servers)
    there = replace(here, cluster_id=moving.first.cluster_id)
    topic, name = fresh_name("never"), fresh_name("never-initialised")
    producer = TransactionalProducer(there, name, transaction_timeout_ms=60_000, timeout_s=30)
    with producer, pytest.raises(OtherCluster, match=moving.second.cluster_id):
        producer.initialise()
    with pytest.raises(OtherCluster, match=moving.second.cluster_id):
        create_with_client(there, topic, partitions=1, replication_factor=1, settings={}, timeout_s=30)
    assert describe(moving.second.bootstrap_servers, [name]) == {name: None}
    same = replace(here, cluster_id=moving.second.cluster_id)
    assert create_with_client(same, topic, partitions=1, replication_factor=1, settings={}, timeout_s=30)


@pytest.mark.variation
def test_a_broker_of_another_cluster_that_the_brokers_hand_out_is_not_written_to(
    cluster3: Sandbox, two_clusters: tuple[Sandbox, Sandbox], fresh_name: FreshName
):
    """The coordinator's address leads to another cluster, as a forwarded port may.

    librdkafka connects to it by itself: without a check of the brokers, 6 of 8 producers fenced the other cluster's.
    """
    other, name = two_clusters[0], fresh_name("handed-out")
    for each in (cluster3, other):
        create_topic(each.bootstrap_servers, name)
        complete(each.bootstrap_servers, name, name, commit=True)
    before = describe(other.bootstrap_servers, [name])[name]
    described = describe(cluster3.bootstrap_servers, [name])[name]
    with wire_to(cluster3.bootstrap_servers) as wire:
        brokers = {each.node_id: (each.host, each.port) for each in wire.brokers()}
    coordinator = brokers.pop(described.coordinator)
    proxy = KafkaProxy(*next(iter(brokers.values())))
    here = ("127.0.0.1", proxy.port)
    proxy.other = HandsOut({coordinator: address_of(other), **dict.fromkeys(brokers.values(), here)})
    servers = "{}:{}".format(*here)
    refused = run_command(("fence", "--transactional-id", name, "--yes", "-b", servers), timeout_s=10)
    assert refused.exit_code == 8, refused.stderr
    with Wire(client_properties(bootstrap_server=servers), timeout_s=10) as wire:
        assert wire.cluster_id == cluster3.cluster_id
        with pytest.raises(OtherCluster, match=other.cluster_id):
            ClusterAccess(wire, (), 10).librdkafka_properties()
    proxy.close()
    assert describe(other.bootstrap_servers, [name])[name] == before
    assert describe(cluster3.bootstrap_servers, [name])[name] == described
