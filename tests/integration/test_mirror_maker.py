"""`mirror audit` of what MirrorMaker 2 copied between two clusters: its own offsets and its groups' checkpoints."""

import json
from collections.abc import Callable, Iterator
from struct import pack

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from tests.campaign.mirror_histories import MirrorConnector
from tests.integration.connect import BYTES, Worker
from tests.integration.mirror_site import Copied, Eosctl, Judged
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
CHECKPOINTS = "eu.checkpoints.internal"


class Mirrored(Copied):
    """A topic that a MirrorSource connector copies."""

    def __init__(self, eosctl: Eosctl, source: Sandbox, worker: Worker, name: str) -> None:
        super().__init__(eosctl, source.bootstrap_servers, worker.sandbox.bootstrap_servers, name)
        self.worker = worker
        self.mirror = MirrorConnector(worker, f"{name}-mirror", [self], "read_committed")  # type: ignore[list-item]

    def await_copied(self, count: int) -> Judged:
        """What the audit says once so many source records are in the target."""
        found: list[Judged] = []

        def there() -> bool:
            found.append(self.audit("--offsets-topic", "connect-offsets", "--connect-url", self.worker.url))
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

    def checkpoints(self) -> list[dict[str, object]]:
        """Those that the audit compared."""
        ran = self.ask("--checkpoints-topic", CHECKPOINTS)
        found = json.loads(ran.stdout)["data"]["checkpoints"] if ran.exit_code in {0, 1, 3} else []
        return [each for each in found if each["group"] == f"{self.name}-group"]


@pytest.fixture
def mirrored(
    eosctl: Eosctl,
    shared_sandboxes: SharedSandboxes,
    moves_home: Sandbox,
    kafka_version: str,
    fresh_name: Callable[[str], str],
) -> Iterator[Mirrored]:
    worker = Worker(moves_home)
    yield Mirrored(eosctl, shared_sandboxes.of(SandboxSpec(kafka_version)), worker, fresh_name("mirrored"))
    worker.close()


def test_what_mirror_maker_copied_is_held_up_to_its_own_offset(mirrored: Mirrored):
    mirrored.write(range(100))
    mirrored.transact(range(100, 120), commit=False)
    mirrored.transact(range(200, 220))
    found = mirrored.await_copied(120)
    assert (found.verdict, found.counts, found.exit_code) == ("held", {}, 0)
    eventually(lambda: mirrored.await_copied(120).pair["position"] == 140, "the mirror's offset", deadline_s=90)


def test_records_that_the_mirror_was_made_to_skip_are_a_gap_and_those_it_was_made_to_copy_again_are_repeats(
    mirrored: Mirrored,
):
    mirrored.write(range(100))
    mirrored.await_copied(100)
    _move(mirrored, 49)
    mirrored.write(range(100, 110))
    found = mirrored.await_copied(110)
    assert (found.verdict, found.counts) == ("broken", {"repeat": 50})
    mirrored.write(range(110, 120))
    mirrored.await_copied(120)
    mirrored.worker.stop(mirrored.mirror.name)
    mirrored.write(range(120, 150))
    _move(mirrored, 139)
    found = mirrored.await_copied(130)
    assert (found.verdict, found.counts) == ("broken", {"repeat": 50, "gap": 20})


def _move(mirrored: Mirrored, offset: int) -> None:
    """The mirror is stopped, its offset is set (KIP-875), and it goes on."""
    mirrored.worker.stop(mirrored.mirror.name)
    partition = {"cluster": "eu", "topic": mirrored.name, "partition": 0}
    body = {"offsets": [{"partition": partition, "offset": {"offset": offset}}]}
    mirrored.worker.ask("PATCH", f"/connectors/{mirrored.mirror.name}/offsets", body)
    mirrored.mirror.resume()


def test_a_checkpoint_of_mirror_maker_skips_nothing_and_one_that_does_is_found(mirrored: Mirrored):
    mirrored.write(range(300))
    mirrored.await_copied(300)
    mirrored.consume_up_to(250)
    mirrored.start_checkpoints()
    eventually(mirrored.checkpoints, "a checkpoint", deadline_s=90, every_s=1)
    [found] = mirrored.checkpoints()
    assert (found["upstream"], found["downstream"]) == (250, 250 - int(str(found["behind"])))
    assert int(str(found["behind"])) >= 0
    _forge(mirrored, 250, 260)
    [ahead] = mirrored.checkpoints()
    assert ahead["behind"] == -10
    assert "checkpoint-ahead" in mirrored.audit("--checkpoints-topic", CHECKPOINTS).findings


def _forge(mirrored: Mirrored, upstream: int, downstream: int) -> None:
    group, topic = f"{mirrored.name}-group".encode(), f"eu.{mirrored.name}".encode()
    key = pack(f">h{len(group)}sh{len(topic)}si", len(group), group, len(topic), topic, 0)
    producer = Producer({"bootstrap.servers": mirrored.target})
    mirrored.worker.ask("PUT", f"/connectors/{mirrored.name}-checkpoints/pause")
    producer.produce(CHECKPOINTS, pack(">hqqh", 0, upstream, downstream, 0), key)
    assert producer.flush(30) == 0
