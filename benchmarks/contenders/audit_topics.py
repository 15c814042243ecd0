"""Offsets topics as the tasks of exactly-once connectors write them, with faults in them, and their audit plans."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.model.audit import AuditedTopic, AuditPlan, TopicRole
from eosctl.model.client_properties import ClientProperties
from eosctl.model.records import java_partition
from eosctl.operations.audit_topics import AuditScope, read_bounds
from eosctl.planning.audit import plan_ranges, resume
from tests.live_reader import reader_over

PARTITIONS = 4
CONNECTORS = 4
TRANSACTION = 25_000
OUTPUT = "bench-output"
NEVER_CLEANED = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000000"}
AS_OF = 1_900_000_000_000


def fill(servers: str, topic: str, records: int, keys: int) -> int:
    """`records` source offsets of `keys` source partitions, in transactions; returns the bytes of keys and values.

    Faults: a few offsets that go back, and plain writes at the end.
    """
    admin = AdminClient({"bootstrap.servers": servers})
    existing = admin.list_topics(timeout=30).topics
    for name, config in ((topic, NEVER_CLEANED), (OUTPUT, {})):
        if name not in existing:
            admin.create_topics([NewTopic(name, PARTITIONS, 1, config=config)])[name].result(30)
    raw = [f'["c{n % CONNECTORS}",{{"server":"db{n % 977}","partition":{n}}}]'.encode() for n in range(keys)]
    placed = [(key, java_partition(key, PARTITIONS)) for key in raw]
    tasks = [_task(servers, f"connect-cluster-c{number}-0") for number in range(CONNECTORS)]
    size = 0
    for start in range(0, records, CONNECTORS * TRANSACTION):
        numbers = range(start, min(start + CONNECTORS * TRANSACTION, records))
        for number, task in enumerate(tasks):
            with _transaction(task):
                size += _write(task, topic, placed, numbers[number::CONNECTORS])
    plain = Producer({"bootstrap.servers": servers})
    size += _write(plain, topic, placed, range(records, records + 10))
    if plain.flush(60):
        raise RuntimeError("not every plain record was acknowledged")
    return size


def _task(servers: str, transactional_id: str) -> Producer:
    settings = {"linger.ms": 50, "batch.size": 1_000_000, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
    task = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id, **settings})
    task.init_transactions(60)
    return task


@contextmanager
def _transaction(task: Producer) -> Iterator[None]:
    task.begin_transaction()
    yield
    task.produce(OUTPUT, b"a record", b"key")
    task.commit_transaction(120)


def _write(producer: Producer, topic: str, placed: list[tuple[bytes, int]], numbers: range) -> int:
    size = 0
    for number in numbers:
        key, partition = placed[number % len(placed)]
        lsn = 1 if number % 1_000_003 == 77_777 else 10_000_000 + number
        value = b'{"lsn":%d,"snapshot":"last"}' % lsn
        size += len(key) + len(value)
        producer.produce(topic, value, key, partition)
        if number % 5000 < CONNECTORS:
            producer.poll(0)
    return size


def plan_of(servers: str, topic: str, role: TopicRole, cores: int) -> AuditPlan:
    """An audit of the topic as `role`, in ranges for so many cores; an offsets topic with the connectors' output."""
    topics = [AuditedTopic(topic, role)]
    if role is TopicRole.OFFSETS:
        topics.append(AuditedTopic(OUTPUT, TopicRole.OUTPUT, connectors=tuple(f"c{n}" for n in range(CONNECTORS))))
    names = tuple(f"c{number}" for number in range(CONNECTORS))
    properties = ClientProperties((servers,))
    with Wire(properties) as wire:
        reader = reader_over(wire, properties, as_of=AS_OF, group_id="connect-cluster")
        bounds = read_bounds(reader, AuditScope(tuple(topics), names))
    return plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, cores)
