"""Reading a partition's log from a real broker."""

from collections import Counter
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.request_log import RequestLog
from eosctl.clients.wire import Wire
from eosctl.errors import NotAuthorized, TimedOut, UsageError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.hanging import NO_LEADER
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.sources import kafka_log
from eosctl.sources.audit_log import LiveLog
from eosctl.sources.kafka_log import partition_offsets, read_log
from tests.attack.false_broker import cluster_of_one
from tests.integration.producers import create_topic
from tests.sources.mixed_topic import MixedTopic

pytestmark = pytest.mark.kafka


def wire_to(bootstrap_servers: str) -> Wire:
    return Wire(ClientProperties(tuple(bootstrap_servers.split(","))), timeout_s=30)


@pytest.mark.parametrize(
    ("ask", "waited_s"),
    [(lambda wire, places: LiveLog(wire).bounds(places), 2), (partition_offsets, 30)],
    ids=["a timeline", "a reader that needs the partition"],
)
def test_a_partition_without_a_leader_is_not_waited_for_as_long_as_a_long_timeout(ask, waited_s, monkeypatch):
    """By a clock that goes on by a second at each pause."""
    clock, lost = [0.0], TopicPartition("lost", 0)
    paused = SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda _: clock.append(clock.pop() + 1))
    monkeypatch.setattr(kafka_log, "time", paused)
    monkeypatch.setattr(kafka_log, "partition_leaders", lambda *_, **__: {lost: NO_LEADER})
    said = f"no leader answered for lost-0 within {waited_s} s"
    with (
        cluster_of_one() as address,
        Wire(ClientProperties((address,)), timeout_s=3600) as wire,
        pytest.raises(TimedOut, match=said),
    ):
        ask(wire, [lost])
    assert clock == [waited_s]


def plain(records):
    return [(record.offset, record.timestamp, record.key, record.value) for record in records]


def test_a_log_is_what_consumers_see_at_either_isolation_level(broker, fresh_name):
    name = fresh_name("mixed")
    create_topic(broker.bootstrap_servers, name)
    topic = MixedTopic(broker.bootstrap_servers, name)
    topic.fill()
    topic.leave_open()
    partition = TopicPartition(name, 0)
    with wire_to(broker.bootstrap_servers) as wire:
        offsets = partition_offsets(wire, [partition])[partition]
        records = list(read_log(wire, partition))
    assert plain(records) == topic.consumed("read_uncommitted", offsets.high_watermark)
    committed = [record for record in records if record.state is RecordState.COMMITTED]
    visible = [record for record in committed if record.offset < offsets.last_stable_offset]
    assert plain(visible) == topic.consumed("read_committed", offsets.high_watermark)
    # Per codec: 5 plain writes of 5, one transaction of 15 and one of 5 committed, one of 20 aborted; then per codec
    # 10 left open, 5 plain and 5 decided, committed in two of five.
    assert Counter(record.state for record in records) == {
        RecordState.COMMITTED: 5 * (25 + 20 + 5) + 2 * 5,
        RecordState.ABORTED: 5 * 20 + 3 * 5,
        RecordState.OPEN: 5 * 10,
    }
    assert [record.offset for record in records] == sorted({record.offset for record in records})
    assert all(record.producer_id >= 0 for record in records if record.transactional)


def test_a_log_that_is_read_committed_ends_at_the_last_stable_offset(sandbox, fresh_name):
    name = fresh_name("stable")
    create_topic(sandbox.bootstrap_servers, name)
    topic = MixedTopic(sandbox.bootstrap_servers, name)
    topic.write(topic.producer())
    topic.leave_open()
    with wire_to(sandbox.bootstrap_servers) as wire:
        records = list(read_log(wire, TopicPartition(name, 0), isolation=IsolationLevel.READ_COMMITTED))
    assert [record.offset for record in records] == [0, 1, 2, 3, 4]


def test_a_log_is_read_as_it_was_when_reading_began(sandbox, fresh_name):
    name = fresh_name("snapshot")
    create_topic(sandbox.bootstrap_servers, name)
    topic = MixedTopic(sandbox.bootstrap_servers, name)
    open_producer = topic.producer("none", f"{name}-id")
    topic.write(open_producer)
    with wire_to(sandbox.bootstrap_servers) as wire:
        offsets = partition_offsets(wire, [TopicPartition(name, 0)])[TopicPartition(name, 0)]
        log = read_log(wire, TopicPartition(name, 0), offsets=offsets)
        open_producer.commit_transaction(30)
        topic.write(topic.producer())
        records = list(log)
    assert [(record.offset, record.state) for record in records] == [(n, RecordState.OPEN) for n in range(5)]


def test_reading_may_begin_inside_a_batch(sandbox, fresh_name):
    name = fresh_name("inside")
    create_topic(sandbox.bootstrap_servers, name)
    topic = MixedTopic(sandbox.bootstrap_servers, name)
    topic.write(topic.producer("lz4"), 10)
    with wire_to(sandbox.bootstrap_servers) as wire:
        records = list(read_log(wire, TopicPartition(name, 0), start=7))
    assert [record.offset for record in records] == [7, 8, 9]


def test_an_empty_partition_has_no_records(sandbox, fresh_name):
    name = fresh_name("empty")
    create_topic(sandbox.bootstrap_servers, name)
    with wire_to(sandbox.bootstrap_servers) as wire:
        assert list(read_log(wire, TopicPartition(name, 0))) == []


def test_a_batch_larger_than_a_fetch_is_read(sandbox, fresh_name):
    name = fresh_name("huge")
    create_topic(sandbox.bootstrap_servers, name, max_message_bytes="9000000")
    topic = MixedTopic(sandbox.bootstrap_servers, name)

    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "message.max.bytes": 9000000})
    producer.produce(name, value=b"x" * 4_000_000, partition=0)
    assert producer.flush(30) == 0
    topic.write(topic.producer())
    with wire_to(sandbox.bootstrap_servers) as wire:
        records = list(read_log(wire, TopicPartition(name, 0)))
    assert len(records[0].value) == 4_000_000
    assert len(records) == 6


def test_records_deleted_before_reading_are_left_out(sandbox, fresh_name):
    name = fresh_name("trimmed")
    create_topic(sandbox.bootstrap_servers, name)
    topic = MixedTopic(sandbox.bootstrap_servers, name)
    for _ in range(3):
        topic.write(topic.producer())
    from confluent_kafka import TopicPartition as Offset

    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    for future in admin.delete_records([Offset(name, 0, 7)]).values():
        future.result(30)
    with wire_to(sandbox.bootstrap_servers) as wire:
        assert [record.offset for record in read_log(wire, TopicPartition(name, 0))] == list(range(7, 15))


def test_a_topic_that_does_not_exist_is_named(sandbox, fresh_name):
    name = fresh_name("missing")
    with wire_to(sandbox.bootstrap_servers) as wire, pytest.raises(UsageError, match=f"topic {name} does not exist"):
        list(read_log(wire, TopicPartition(name, 0)))


def test_a_partition_that_does_not_exist_is_named(sandbox, fresh_name):
    name = fresh_name("narrow")
    create_topic(sandbox.bootstrap_servers, name)
    with wire_to(sandbox.bootstrap_servers) as wire, pytest.raises(UsageError, match=f"{name} has no partition 3"):
        list(read_log(wire, TopicPartition(name, 3)))


def test_reading_without_an_acl_names_principal_operation_and_topic(sandbox, fresh_name):
    from eosctl.codecs.client_properties import client_properties

    name = fresh_name("denied")
    create_topic(sandbox.bootstrap_servers, name)
    denied = client_properties(command_config=sandbox.client_properties("tool"))
    with Wire(denied) as wire, pytest.raises(NotAuthorized, match=f"User:tool lacks Describe on topic {name}"):
        list(read_log(wire, TopicPartition(name, 0)))


def test_a_leader_is_looked_up_once_for_a_reading_and_again_where_another_one_leads(broker, fresh_name):
    name = fresh_name("once")
    create_topic(broker.bootstrap_servers, name)
    producer, place = Producer({"bootstrap.servers": broker.bootstrap_servers}), TopicPartition(name, 0)
    producer.produce(name, value=b"1", partition=0)
    assert producer.flush(60) == 0
    said: list[str] = []
    with Wire(ClientProperties((broker.bootstrap_servers,)), requests=RequestLog(ended=said.append)) as wire:
        assert len(list(read_log(wire, place))) == 1
        asked = [each.split()[0] for each in said]
        assert asked == ["a", "Metadata", "Metadata", *["ListOffsets"] * 3, "Fetch"], "a connection, and one topic's"

        [part] = wire.heard[name].topic.partitions
        part.leader_id = 99
        assert len(list(read_log(wire, place))) == 1
        assert [each.split()[0] for each in said[len(asked) :]].count("Metadata") == 2, "the brokers, and the leader"


def test_reading_continues_when_the_leader_dies(cluster3, fresh_name):
    name = fresh_name("moving")
    admin = AdminClient({"bootstrap.servers": cluster3.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1, 3)])[name].result(30)
    producer = Producer({"bootstrap.servers": cluster3.bootstrap_servers, "acks": "all", "linger.ms": 5})
    for number in range(40_000):
        producer.produce(name, value=b"%d " % number + b"x" * 200, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    with wire_to(cluster3.bootstrap_servers) as wire:
        log = read_log(wire, TopicPartition(name, 0))
        records = [next(log)]
        [leader] = partition_leaders(wire, [name]).values()
        cluster3.kill_broker(leader)
        records += log
    cluster3.start_broker(leader)
    assert [record.offset for record in records] == list(range(40_000))
