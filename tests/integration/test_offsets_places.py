"""An offsets topic is read once, by whatever names its brokers are given."""

from collections.abc import Callable
from io import StringIO

import pytest
from confluent_kafka import Producer

from eosctl.errors import EosctlError, Unreachable
from eosctl.model.offset_stores import StorePlace
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.skipped import Skipped
from eosctl.operations.offsets_topics import PlacesReader, read_cluster_ids
from eosctl.operations.session import Session
from eosctl.render.console import Console, OutputOptions, Stream, Terminal
from eosctl.sandbox.sandbox import Sandbox
from eosctl.shell.options import GlobalOptions
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka

NOWHERE = frozenset({"127.0.0.1:1"})


@pytest.fixture
def session(sandbox: Sandbox):
    streams = [Stream(StringIO(), None) for _ in range(3)]
    console = Console(Terminal(streams[0], streams[1], streams[2]), OutputOptions())
    with Session(GlobalOptions(console, bootstrap_servers=sandbox.bootstrap_servers, timeout_s=5)) as session:
        yield session


def test_two_names_of_one_cluster_lead_to_one_reading(
    session: Session, sandbox: Sandbox, fresh_name: Callable[[str], str]
):
    topic = fresh_name("read-once")
    create_topic(sandbox.bootstrap_servers, topic, 3)
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    producer.produce(topic, b'{"p":1}', b'["c",{}]')
    assert producer.flush(30) == 0
    alias = frozenset({sandbox.bootstrap_servers.replace("127.0.0.1", "localhost")})
    reader = PlacesReader(session, read_cluster_ids(session, [alias, None]))
    found = reader.read(StorePlace(topic), insist=True)
    assert isinstance(found, OffsetsTopic)
    assert (len(found.partitions), found.records) == (3, 1)
    assert reader.read(StorePlace(topic, alias), insist=True) is found


def test_brokers_that_do_not_answer_are_asked_once(session: Session):
    cluster_ids = read_cluster_ids(session, [NOWHERE])
    error = cluster_ids[NOWHERE]
    assert isinstance(error, Unreachable)
    reader = PlacesReader(session, cluster_ids)
    assert reader.read(StorePlace("t", NOWHERE), insist=False) == Skipped(error.message)
    with pytest.raises(EosctlError) as raised:
        reader.read(StorePlace("t", NOWHERE), insist=True)
    assert raised.value is error
