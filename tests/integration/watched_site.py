"""A Connect cluster for `watch`: brokers and group are real, what its topics hold is written by the test."""

import json
import struct
import time
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.codecs.transaction_log import STATES, encode_transaction_log_key
from eosctl.model.acls import CLUSTER_NAME, AclBinding, Operation, ResourcePattern, ResourceType
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition
from eosctl.model.transaction_log import DAY_MS
from eosctl.model.transactions import TransactionState
from eosctl.sources.kafka_transactions import transaction_log_leaders
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.integration.hanging import initialise
from tests.integration.producers import create_topic, make_topic
from tests.sources.fake_connect import PLUGIN, FakeWorker

GROUP, CONNECTOR = "connect-cluster", "orders-source"
EMPTY, COMPLETE_COMMIT = map(STATES.index, (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT))
TOPICS = {"config": "site-configs", "offsets": "site-offsets", "status": "site-status"}
OWN_TOPIC = "orders-source-offsets"
BETWEEN_COMMITS_MS, COMMITS = 20_000, 40
"""The history of the task's commits: at three times the interval it is quiet."""


class Worker(FakeWorker):
    """A worker that also knows the topics of its connectors, and their configs by name."""

    configs: dict[str, dict[str, str]] = {}  # noqa: RUF012  # of one test

    def _entry(self, name: str) -> Any:
        entry: Any = super()._entry(name)
        entry["info"]["config"] = self.configs[name]
        return entry

    def _answer(self, path: str, body: dict[str, object] | None) -> object:
        if path.endswith("/topics"):
            return {path.split("/")[2]: {"topics": ["orders"]}}
        return super()._answer(path, body)


class Site:
    """A Connect cluster with one source connector: brokers and group are real, its topics are written by the test."""

    def __init__(self, sandbox: Sandbox, acls: AclBroker) -> None:
        self.sandbox, self.acls = sandbox, acls
        self.worker = Worker(cluster_id=sandbox.cluster_id, connectors={CONNECTOR: None})
        self.servers = sandbox.bootstrap_servers
        self.asleep, self._woken = False, 0.0
        self._producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
        for topic in ("orders", "payments"):
            create_topic(self.servers, topic)
        for topic in (*TOPICS.values(), OWN_TOPIC):
            compacted = NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})
            make_topic(AdminClient({"bootstrap.servers": self.servers}), compacted)
        config = {"name": CONNECTOR, "connector.class": PLUGIN, "tasks.max": "1", "file": "/f", "topic": "orders"}
        self.config = self.worker.configs[CONNECTOR] = {**config, "offsets.storage.topic": OWN_TOPIC}
        self.put(f"connector-{CONNECTOR}", {"properties": self.config})
        self.commit(1)
        self.fence(1)
        for topic in (TOPICS["offsets"], OWN_TOPIC):
            self.offset(topic, "/f")
        self.allow()
        self.remember()
        self.stay_awake()

    def remember(self) -> None:
        """Commits of the task a week ago, and a first one since it was started again, in the transaction log.

        The coordinator, which would write them down in a week only, reads them when it is elected next.
        """
        with Wire(ClientProperties((self.servers,))) as wire:
            initialise(wire, "of-nobody")  # creates the log
            partitions = len(transaction_log_leaders(wire))
        name = f"{GROUP}-{CONNECTOR}-0"
        now = int(1000 * time.time())  # noqa: TID251  # the time of the records
        begin = now - 8 * DAY_MS
        said = [(COMPLETE_COMMIT, begin + number * BETWEEN_COMMITS_MS) for number in range(COMMITS)]
        # brokers let nobody else write into their own topics (KafkaApis.handleProduceRequest)
        producer = Producer({"bootstrap.servers": self.servers, "client.id": "__admin_client", "log_level": 0})
        for state, at in (*said, (EMPTY, now - 1), (COMPLETE_COMMIT, now)):
            value = struct.pack(">hqhibiqq", 0, 7, 0, 60_000, state, -1, at, at)
            place = coordinator_partition(name, partitions)
            producer.produce(TRANSACTION_LOG, value, encode_transaction_log_key(name), partition=place)
        assert producer.flush(60) == 0

    def put(self, key: str, value: object, age_s: int = 0) -> None:
        """A record of the config topic, written so long ago."""
        self._write(TOPICS["config"], key.encode(), json.dumps(value).encode(), age_s)

    def commit(self, tasks: int, published: int | None = None, age_s: int = 0) -> None:
        """The configs of the tasks, or of `published` of them, and their commit."""
        for task in range(tasks if published is None else published):
            self.put(f"task-{CONNECTOR}-{task}", {"properties": {**self.config, "task.class": "T"}})
        self.put(f"commit-{CONNECTOR}", {"tasks": tasks}, age_s)

    def fence(self, tasks: int) -> None:
        """The leader's record after a round of zombie fencing."""
        self.put(f"tasks-fencing-{CONNECTOR}", {"task-count": tasks})

    def offset(self, topic: str, file: str) -> None:
        """An offset of one of the connector's source partitions."""
        self._write(topic, encode_offsets_key(CONNECTOR, {"filename": file}), b'{"position":1}')

    def _write(self, topic: str, key: bytes, value: bytes, age_s: int = 0) -> None:
        at = int(1000 * (time.time() - age_s))  # noqa: TID251  # the time of the record
        self._producer.produce(topic, value, key, partition=0, timestamp=at)
        assert self._producer.flush(60) == 0

    def allow(self, *, all_ids: bool = True) -> None:
        """The permissions of `watch`'s principal; without all_ids it sees no transactional ID."""
        kinds = {ResourceType.TOPIC: "*", ResourceType.GROUP: "*", ResourceType.CLUSTER: CLUSTER_NAME}
        kinds |= {ResourceType.TRANSACTIONAL_ID: "*"} if all_ids else {}
        self.acls.set(
            AclBinding("User:tool", Operation.ALL, ResourcePattern(kind, name)) for kind, name in kinds.items()
        )

    def stay_awake(self) -> None:
        """The task's ID is used now and then, unless it is to sleep."""
        if not self.asleep and time.monotonic() - self._woken > 10:
            with Wire(ClientProperties((self.servers,))) as wire:
                initialise(wire, f"{GROUP}-{CONNECTOR}-0")
            self._woken = time.monotonic()
