"""A broker that answers each Fetch as if there were no end, nothing, or only a part: readers end, and say it."""

from collections.abc import Iterator
from time import monotonic

import pytest
from confluent_kafka import Producer

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import Codec, DamagedOffsets, iter_batches
from eosctl.errors import Undecodable
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import DataBatch, read_range
from eosctl.sources.kafka_log import partition_offsets, read_log
from tests.attack.bombs import batch, one_record
from tests.conftest import FreshName
from tests.faults.damaged_answers import Altered
from tests.faults.kafka_proxy import FETCH, KafkaProxy, proxied
from tests.faults.other_kafkas import LIST_OFFSETS
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka

BATCHES = 3
SOON_S = 15.0
RECORDS = ("responses", 0, "partitions", 0, "records")
OFFSET = ("topics", 0, "partitions", 0, "offset")


@pytest.fixture(scope="module")
def proxy(sandbox: Sandbox) -> Iterator[KafkaProxy]:
    with proxied(sandbox.bootstrap_servers) as made:
        yield made


@pytest.fixture
def place(sandbox: Sandbox, proxy: KafkaProxy, fresh_name: FreshName) -> TopicPartition:
    """A partition with three batches."""
    name = fresh_name("damaged-log")
    proxy.other = None
    create_topic(sandbox.bootstrap_servers, name)
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for number in range(BATCHES):
        producer.produce(name, b"%d" % number, partition=0)
        assert producer.flush(30) == 0
    return TopicPartition(name, 0)


@pytest.fixture
def wire(sandbox: Sandbox) -> Iterator[Wire]:
    with Wire(ClientProperties((sandbox.bootstrap_servers,)), timeout_s=SOON_S) as made:
        yield made


class Same:
    """The first batch, each time."""

    def __init__(self) -> None:
        self._first = b""

    def __call__(self, records: bytes) -> bytes:
        self._first = self._first or bytes(next(iter_batches(records)).data)
        return self._first


class EmptyOnce:
    """Nothing, and then the records."""

    def __init__(self) -> None:
        self._is_told = False

    def __call__(self, records: bytes) -> bytes:
        told, self._is_told = self._is_told, True
        return records if told else b""


def beyond(records: bytes) -> bytes:
    """The last batch claims offsets that the log does not have."""
    before = [bytes(each.data) for each in iter_batches(records)][:-1]
    claimed = batch(Codec.NONE, one_record(b"v"), 1 << 20, offset=BATCHES - 1)
    return b"".join([*before, claimed])


def cut(records: bytes) -> bytes:
    return bytes(records[:30])


@pytest.mark.parametrize(
    ("alter", "why"),
    [(Same(), "out of place"), (cut, "with no whole batch"), (beyond, "but the high watermark is 3")],
)
def test_a_reader_ends_with_the_place_where_the_broker_answers_the_same_or_a_part(wire, place, proxy, alter, why):
    proxy.other = Altered(FETCH, RECORDS, alter)
    began = monotonic()
    with pytest.raises(Undecodable, match=rf"{place}@\d: .*{why}"):
        list(read_log(wire, place))
    assert monotonic() - began < SOON_S


@pytest.mark.parametrize(("alter", "good"), [(Same(), 1), (cut, 0), (beyond, 2)])
def test_an_audit_names_the_offsets_that_it_gets_no_answer_for(wire, place, proxy, alter, good):
    proxy.other = Altered(FETCH, RECORDS, alter)
    began = monotonic()
    found = list(read_range(wire, OffsetRange(place.topic, 0, 0, BATCHES, settled=True), None))
    read = sum(isinstance(each, DataBatch) for each in found)
    lost = sum(each.next_offset - each.offset for each in found if isinstance(each, DamagedOffsets))
    assert (read, lost) == (good, BATCHES - good)
    assert monotonic() - began < SOON_S


def test_one_empty_answer_is_not_the_end_of_the_log(wire, place, proxy):
    proxy.other = Altered(FETCH, RECORDS, EmptyOnce())
    assert [record.value for record in read_log(wire, place)] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("offset", [-1, 2**63 - 1])
def test_offsets_that_no_log_has_are_undecodable(wire, place, proxy, offset):
    proxy.other = Altered(LIST_OFFSETS, OFFSET, lambda given: offset if given == 0 else given)
    with pytest.raises(
        Undecodable, match=rf"the leader of {place} answered ListOffsets with log start offset {offset}"
    ):
        partition_offsets(wire, [place])
