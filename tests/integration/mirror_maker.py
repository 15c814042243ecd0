"""A topic that MirrorMaker 2 copies to another cluster, and what the audit says of the copy."""

import json
from collections.abc import Sequence

from confluent_kafka import Consumer, TopicPartition

from tests.campaign.mirror_histories import MirrorConnector
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import BYTES, Worker
from tests.integration.mirror_site import BEGUN_MS, Copied, Eosctl, Judged
from tests.waiting import eventually

CHECKPOINTS = "eu.checkpoints.internal"


class Mirrored(Copied):
    """A topic that a MirrorSource connector copies."""

    def __init__(self, eosctl: Eosctl, source: Sandbox, worker: Worker, name: str) -> None:
        super().__init__(eosctl, source.bootstrap_servers, worker.sandbox.bootstrap_servers, name)
        self.worker = worker
        self.mirror = MirrorConnector(worker, f"{name}-mirror", [self], "read_committed")  # type: ignore[list-item]

    def await_copied(self, count: int, naming: Sequence[object] = ("--alias", "eu")) -> Judged:
        """The audit's answer once this many source records are in the target."""
        found: list[Judged] = []
        more = ("--offsets-topic", "connect-offsets", "--connect-url", self.worker.url)

        def there() -> bool:
            if self.ask(*more, naming=naming).exit_code == 2:  # the target's topic does not exist yet
                return False
            found.append(self.audit(*more, naming=naming))
            return bool(found[-1].pair["matched"] >= count)

        eventually(there, f"{count} records of {self.name} in the target", deadline_s=90, every_s=1)
        return found[-1]

    def start_checkpoints(self) -> None:
        """MirrorMaker's other connector."""
        config = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
            "tasks.max": "1",
            "source.cluster.alias": "eu",
            "target.cluster.alias": "us",
            "source.cluster.bootstrap.servers": self.source,
            "target.cluster.bootstrap.servers": self.target,
            "topics": self.name,
            "groups": f"{self.name}-group",
            "checkpoints.topic.replication.factor": "1",
            "emit.checkpoints.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "key.converter": BYTES,
            "value.converter": BYTES,
        }
        self.worker.ask("PUT", f"/connectors/{self.name}-checkpoints/config", config)

    def consume_up_to(self, offset: int) -> None:
        """The group commits this source offset."""
        consumer = Consumer({"bootstrap.servers": self.source, "group.id": f"{self.name}-group"})
        consumer.commit(offsets=[TopicPartition(self.name, 0, offset)], asynchronous=False)
        consumer.close()

    def number_at(self, servers: str, topic: str, offset: int) -> int:
        """The number of the first committed record from this offset on."""
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "one"})
        consumer.assign([TopicPartition(topic, 0, offset)])
        found = eventually(lambda: consumer.poll(1), f"a record of {topic} at {offset}")
        consumer.close()
        assert found is not None
        assert found.error() is None
        return found.timestamp()[1] - BEGUN_MS

    def checkpoints(self) -> list[dict[str, object]]:
        """Those that the audit compared."""
        ran = self.ask("--checkpoints-topic", CHECKPOINTS)
        found = json.loads(ran.stdout)["data"]["checkpoints"] if ran.exit_code in {0, 1, 3} else []
        return [each for each in found if each["group"] == f"{self.name}-group"]
