"""MirrorMaker 2, exactly-once, from one Kafka cluster to another: what readers of the copy have, and what audit says.

Truth is counted from the numbers in the records.
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Audited, audit
from tests.integration.connect import PARTITIONS, Mirror, Worker
from tests.integration.moves import SETTING, Eosctl, flowing
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.matrix]


class Across(Mirror):
    """A mirror whose original is in another cluster than its worker, and the copy."""

    def __init__(self, worker: Worker, name: str, source: Sandbox) -> None:
        self.worker, self.name, self.servers = worker, name, source.bootstrap_servers
        self._made, self.target = 0, worker.sandbox.bootstrap_servers
        create_topic(self.servers, f"{name}-in", PARTITIONS)

    def config(self, tasks: int, **more: str) -> dict[str, str]:
        return super().config(tasks, **{"target.cluster.bootstrap.servers": self.target, **more})

    def copied(self, servers: str | None = None) -> list[int]:
        return super().copied(servers or self.target)

    def write(self, count: int) -> None:
        """So many more records in the original."""
        self.feed(count)

    def kill(self) -> None:
        """SIGKILL for the worker, which is started again at once; it has copied something since when this returns."""
        self.worker.sandbox.kill_worker(1)
        self.worker.sandbox.start_worker(1)
        self.worker.wait_for_tasks(self.name, PARTITIONS, deadline_s=120)
        before = self._ends()
        eventually(lambda: self._ends() > before, "records after the kill", deadline_s=120)

    def _ends(self) -> int:
        """The sum of the ends of the copy's partitions; a reader would not come to an end while records flow."""
        reader = Consumer({"bootstrap.servers": self.target, "group.id": "ends"})
        places = [TopicPartition(f"A.{self.name}-in", partition) for partition in range(PARTITIONS)]
        found = sum(reader.get_watermark_offsets(each, 30)[1] for each in places)
        reader.close()
        return found

    def audited(self, eosctl: Eosctl) -> Audited:
        """The audit of the copy, in the cluster of its worker."""
        return audit(eosctl, self.target, self.worker.url, self.name)


@pytest.fixture
def across(
    shared_sandboxes: SharedSandboxes, moves_home: Sandbox, kafka_version: str, fresh_name: FreshName
) -> Iterator[Across]:
    source = shared_sandboxes.of(spec_of(kafka_version))
    assert source.bootstrap_servers != moves_home.bootstrap_servers
    worker = Worker(moves_home)
    made = Across(worker, fresh_name("across"), source)
    made.start(PARTITIONS)
    yield made
    made.delete()
    worker.close()


def test_workers_that_are_killed_under_load_copy_each_record_once(across: Across, eosctl: Eosctl):
    with flowing(across):
        across.kill()
        across.kill()
    across.check_exactly_once()
    found = across.audited(eosctl)
    assert (found.verdict, found.findings) == ("held", {}), found.reasons


def test_offsets_left_behind_copy_every_record_again_and_the_audit_reports_it(across: Across, eosctl: Eosctl):
    across.check_exactly_once()
    made = across.made
    across.configure(PARTITIONS, **{SETTING: f"{across.name}-own"})
    eventually(lambda: len(across.copied()) >= 2 * made, "every record a second time", deadline_s=120)
    assert across.copied() == sorted(2 * list(range(made)))
    found = across.audited(eosctl)
    assert (found.verdict, {*found.findings}) == ("broken", {"offset-not-taken-over"}), found.reasons
