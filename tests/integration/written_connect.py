"""A Connect cluster that tests write themselves: the records of workers, by real producers, at any time.

A record that no worker writes can be planted in it, and each record has a chosen time.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Producer
from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.messages import Request
from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.records import java_partition
from tests.integration.audit_site import Audited, Eosctl
from tests.integration.hanging import initialise, produce, transactional_batch
from tests.integration.producers import create_topic, transactional_producer

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
PARTITIONS = 5
SECOND = 1_000


class WrittenConnect:
    """One group with one file connector, `name`, which writes to topic `name`; all of it begins at `begin`, in ms."""

    def __init__(self, servers: str, eosctl: Eosctl, name: str, begin: int) -> None:
        self.servers, self.name, self.now = servers, name, begin
        self._eosctl = eosctl
        self.group = f"{name}-group"
        self.configs, self.offsets = f"{name}.configs", f"{name}.offsets"
        create_topic(servers, self.configs)
        create_topic(servers, self.offsets, PARTITIONS)
        create_topic(servers, name, 2)
        self.leader = transactional_producer(servers, f"connect-cluster-{self.group}")
        self.task: Producer | None = None

    def later(self, seconds: float) -> int:
        """The time goes on."""
        self.now += int(seconds * SECOND)
        return self.now

    def lead(self, records: Mapping[str, object], leader: Producer | None = None) -> None:
        """One transaction of a leader in the config topic."""
        writer = leader or self.leader
        writer.begin_transaction()
        for key, value in records.items():
            writer.produce(self.configs, json.dumps(value).encode(), key.encode(), timestamp=self.now)
        writer.commit_transaction(30)

    def configure(self, tasks: int, published: int | None = None) -> None:
        """The connector's config, and the configs of its tasks, or of `published` of them, with their commit."""
        config = {"connector.class": FILE_SOURCE, "tasks.max": str(tasks), "file": "/f", "topic": self.name}
        self.lead({f"connector-{self.name}": {"properties": config}})
        numbers = range(tasks if published is None else published)
        configs = {f"task-{self.name}-{task}": {"properties": {**config, "task.class": "T"}} for task in numbers}
        self.lead({**configs, f"commit-{self.name}": {"tasks": tasks}})

    def fence(self, tasks: int) -> None:
        """The leader's record after a fencing round."""
        self.lead({f"tasks-fencing-{self.name}": {"task-count": tasks}})

    def start(self, task: int = 0) -> None:
        """The task's producer begins a session."""
        self.task = transactional_producer(self.servers, self.transactional_id(task))

    def transactional_id(self, task: int = 0) -> str:
        """The one that Connect gives a task."""
        return f"{self.group}-{self.name}-{task}"

    @property
    def key(self) -> bytes:
        """The key of the one source partition."""
        return encode_offsets_key(self.name, {"filename": "/f"})

    @property
    def place(self) -> TopicPartition:
        """Where its offset belongs."""
        return TopicPartition(self.offsets, java_partition(self.key, PARTITIONS))

    def write(self, position: int, records: int = 3) -> None:
        """A transaction of the task: records, then the offset."""
        assert self.task is not None
        self.task.begin_transaction()
        for number in range(records):
            self.task.produce(self.name, b"line %d" % number, partition=number % 2, timestamp=self.now)
        self.put_offset(self.task, position)
        self.task.commit_transaction(30)

    def put_offset(
        self, producer: Producer, position: int, *, partition: int | None = None, key: bytes | None = None
    ) -> None:
        """The offset of the source partition, in whatever transaction the producer is in."""
        at = self.place.partition if partition is None else partition
        producer.produce(self.offsets, b'{"position":%d}' % position, key or self.key, partition=at, timestamp=self.now)

    def run(self, until: int = 5) -> None:
        """A healthy beginning: one task, fenced and started, and its first transactions."""
        self.configure(1)
        self.later(1)
        self.fence(1)
        self.later(1)
        self.start()
        for position in range(1, until + 1):
            self.later(1)
            self.write(position)

    def audit(self, *more: object, servers: str | None = None) -> Audited:
        """The audit of this connector, by other listeners if they are named; there is no worker to ask."""
        ran = self._eosctl(
            "audit", "-b", servers or self.servers, "--group-id", self.group, "--config-topic", self.configs,
            "--worker-offsets-topic", self.offsets, "--exactly-once", "enabled", "--connector", self.name,
            "--topic", self.name, "-o", "json", *more,
        )  # fmt: skip
        assert ran.exit_code in {0, 1}, ran.stderr
        return Audited(ran.exit_code, json.loads(ran.stdout)["data"], self.name)


class RawTransaction:
    """A transaction that no coordinator was told of: its batches and markers are sent one by one."""

    def __init__(self, wire: Wire, transactional_id: str) -> None:
        self._wire, self._id = wire, transactional_id
        self.producer = initialise(wire, transactional_id)

    def send(self, place: TopicPartition, key: bytes = b"key", value: bytes = b"lost") -> int:
        """One record; returns its offset."""
        return produce(self._wire, place, self._id, transactional_batch(self.producer, value=value, key=key))

    def end(self, place: TopicPartition, *, commit: bool, epoch: int) -> None:
        """A marker in one partition, with the epoch of the data plus `epoch`."""
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        topic = marker.WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])
        fields = {
            "producer_id": self.producer.producer_id,
            "producer_epoch": self.producer.producer_epoch + epoch,
            "transaction_result": commit,
            "topics": [topic],
            "coordinator_epoch": 0,
        }
        request = Request(WriteTxnMarkersRequest, {"markers": [marker(**fields)]}, min_version=1, max_version=1)
        leader = partition_leaders(self._wire, [place.topic])[place]
        answer = self._wire.request(leader, request).markers[0].topics[0].partitions[0]
        assert answer.error_code == 0, answer


@contextmanager
def raw_transaction(servers: str, transactional_id: str) -> Iterator[RawTransaction]:
    """One, with an epoch of its own."""
    with Wire(ClientProperties((servers,))) as wire:
        yield RawTransaction(wire, transactional_id)
