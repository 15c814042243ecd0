"""An offsets topic is read once, by whatever names its brokers are given."""

from collections.abc import Callable
from io import StringIO

import pytest
from confluent_kafka import Producer

from eosctl.errors import EosctlError
from eosctl.model.offsets import OffsetsTopic, StorePlace
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.offsets import read_offsets_topics
from eosctl.operations.session import Session
from eosctl.render.console import Console, OutputOptions, Stream, Terminal
from eosctl.shell.options import GlobalOptions
from eosctl.sources.cluster_reader import ClusterReader
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka

NOWHERE = frozenset({"127.0.0.1:1"})


@pytest.fixture
def reader(sandbox: Sandbox):
    streams = [Stream(StringIO(), None) for _ in range(3)]
    console = Console(Terminal(streams[0], streams[1], streams[2]), OutputOptions())
    with Session(GlobalOptions(console, bootstrap_servers=sandbox.bootstrap_servers, timeout_s=5)) as session:
        yield session.reader


def test_two_names_of_one_cluster_lead_to_one_reading(
    reader: ClusterReader, sandbox: Sandbox, fresh_name: Callable[[str], str]
):
    topic = fresh_name("read-once")
    create_topic(sandbox.bootstrap_servers, topic, 3)
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    producer.produce(topic, b'{"p":1}', b'["c",{}]')
    assert producer.flush(30) == 0
    alias = frozenset({sandbox.bootstrap_servers.replace("127.0.0.1", "localhost")})
    places = (StorePlace(topic), StorePlace(topic, alias))
    here, there = read_offsets_topics(reader, places, reader.cluster_ids([alias, None]), required=True).values()
    assert isinstance(here, OffsetsTopic)
    assert (len(here.partitions), here.records) == (3, 1)
    assert there is here
    assert reader.coverage.asked.count(f"offsets topic {topic}") == 1


def test_brokers_that_do_not_answer_are_asked_once(reader: ClusterReader, fresh_name: Callable[[str], str]):
    cluster_ids = reader.cluster_ids([NOWHERE])
    known, away = StorePlace(fresh_name("absent")), StorePlace("t", NOWHERE)
    unread = cluster_ids[NOWHERE]
    assert isinstance(unread, Skipped)
    assert unread.cause is Cause.UNREACHABLE
    assert read_offsets_topics(reader, [known, away], cluster_ids, required=False) == {known: None, away: unread}
    with pytest.raises(EosctlError) as first:
        reader.offsets_topic(away)
    with pytest.raises(EosctlError) as again:
        read_offsets_topics(reader, [away], cluster_ids, required=True)
    assert again.value is first.value
    assert {each.what for each in reader.coverage.unread} == {"the cluster at 127.0.0.1:1", f"offsets topic {away}"}
