"""Source connectors on a Connect cluster in memory: what healthy ones write, commit by commit and start by start."""

import json
from collections.abc import Mapping, Sequence
from zlib import crc32

from eosctl.codecs.record_batches import Codec
from eosctl.model.audit import AuditedTopic, TopicRole
from eosctl.model.names import TopicPartition
from tests.analysis.audit.brokers import Brokers, Producer

CONFIGS, OFFSETS = "connect-configs", "connect-offsets"
PARTITIONS = 3


def key_of(connector: str, source: str) -> bytes:
    return json.dumps([connector, {"table": source}], separators=(",", ":")).encode()


def value_of(position: int) -> bytes:
    return b'{"position":%d}' % position


class ConnectCluster:
    """A Connect cluster with exactly-once support enabled, and connectors that write to topics of their own name."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        brokers.create(AuditedTopic(CONFIGS, TopicRole.CONFIG, cleanup_policy="compact"), 1)
        brokers.create(AuditedTopic(OFFSETS, TopicRole.OFFSETS, cleanup_policy="compact"), PARTITIONS)
        self.configs = TopicPartition(CONFIGS, 0)
        self.leader = brokers.init("connect-cluster-group")
        self.connectors: dict[str, Connector] = {}

    def connector(self, name: str, tasks: int = 2, *, own: str | None = None) -> "Connector":
        """A new connector, running."""
        self.brokers.create(
            AuditedTopic(name, TopicRole.OUTPUT, cleanup_policy="delete", connectors=(name,)), PARTITIONS
        )
        self.brokers.connectors.append(name)
        made = self.connectors[name] = Connector(self, name)
        made.own = own
        if own is not None:
            self.add_own_topic(name, own)
        made.configure(tasks)
        made.fence()
        made.start()
        return made

    def add_own_topic(self, connector: str, topic: str) -> None:
        role = TopicRole.OFFSETS
        self.brokers.create(
            AuditedTopic(topic, role, cleanup_policy="compact", connectors=(connector,), own=True), PARTITIONS
        )

    def write_config(self, *records: tuple[str, object], plain: bool = False) -> int:
        """Records of the leader, in one transaction; returns the first offset."""
        rows = [(key.encode(), None if value is None else json.dumps(value).encode()) for key, value in records]
        if plain:
            return self.brokers.append(self.configs, rows)
        first = self.leader.send(self.configs, rows)
        self.leader.commit()
        return first

    def elect(self) -> None:
        """Another worker leads from now on."""
        self.leader = self.brokers.init("connect-cluster-group")


class Connector:
    """A source connector; each task has a producer once it has been started."""

    def __init__(self, cluster: ConnectCluster, name: str) -> None:
        self.cluster, self.brokers, self.name = cluster, cluster.brokers, name
        self.own: str | None = None
        self.tasks: list[Producer] = []
        self.count = 0
        self.fenced: int | None = None

    def configure(self, tasks: int, *, plain: bool = False) -> int:
        """New task configs; returns the offset of the commit."""
        self.count = tasks
        configs = [(f"task-{self.name}-{task}", {"properties": {"task.class": "T"}}) for task in range(tasks)]
        self.cluster.write_config((f"connector-{self.name}", {"properties": {}}), plain=plain)
        if configs:
            self.cluster.write_config(*configs, plain=plain)
        return self.cluster.write_config((f"commit-{self.name}", {"tasks": tasks}), plain=plain)

    def fence(self) -> None:
        """A fencing round, as the leader carries it out before the first task of a generation starts."""
        if self.fenced is not None and (self.fenced, self.count) != (1, 1):
            for task in range(self.fenced):
                self.brokers.init(f"group-{self.name}-{task}")
        self.fenced = self.count
        self.cluster.write_config((f"tasks-fencing-{self.name}", {"task-count": self.count}))

    def start(self, *tasks: int) -> None:
        """Starts these tasks (none: all): each calls InitProducerId."""
        self.tasks = (self.tasks + [None] * self.count)[: self.count]  # type: ignore[list-item]
        for task in tasks or range(self.count):
            self.tasks[task] = self.brokers.init(f"group-{self.name}-{task}")

    def reconfigure(self, tasks: int) -> None:
        """The whole sequence of a new configuration."""
        self.configure(tasks)
        self.brokers.tick(200)
        self.fence()
        self.start()

    def place(self, key: bytes, topic: str | None = None) -> TopicPartition:
        """Where the key belongs in an offsets topic."""
        return TopicPartition(topic or self.own or OFFSETS, crc32(key) % PARTITIONS)

    def offset(self, task: Producer, source: str, value: bytes | None) -> int:
        """The source partition's offset, in the task's transaction."""
        key = key_of(self.name, source)
        return task.send(self.place(key), [(key, value)])

    def write(
        self,
        task: int,
        positions: Mapping[str, int],
        records: int = 2,
        *,
        outputs: Sequence[int] = (0,),
        codec: Codec = Codec.NONE,
        timestamp: int | None = None,
    ) -> None:
        """One transaction: records to each of these output partitions, then the offsets."""
        producer = self.tasks[task]
        self.data(producer, records, outputs=outputs, codec=codec, timestamp=timestamp)
        for source, position in positions.items():
            self.offset(producer, source, value_of(position))
        producer.commit()

    def write_plainly(self, positions: Mapping[str, int]) -> None:
        """Records, then their offsets, outside any transaction."""
        self.brokers.append(TopicPartition(self.name, 0), [(None, b"x")] * 3)
        for source, position in positions.items():
            key = key_of(self.name, source)
            self.brokers.append(self.place(key), [(key, value_of(position))])

    def data(self, producer: Producer, records: int, *, outputs: Sequence[int] = (0,), **how: object) -> None:
        for partition in outputs if records else ():
            producer.send(TopicPartition(self.name, partition), [(None, b"x" * 20)] * records, **how)
