"""What a real log cleaner leaves of transactions, audited from the broker and from its files: no alarm, gaps explained.

The cleaner keeps an empty batch where a producer wrote no later one (its time is -1), a marker for delete.retention.ms
with the time of its end in the place of its own (KIP-534), and the last marker of every producer.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from eosctl.codecs.record_batches import BatchHeader, decode_marker, iter_batches
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Eosctl
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of
from tests.sources.mixed_topic import create_topic
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

OFFSETS, CONFIGS, OUTPUT = "connect-offsets", "connect-configs", "orders"
DELETE_HORIZON = 0x40
CLEANED_AT_ONCE = {
    "cleanup_policy": "compact",
    "segment_ms": "300",
    "min_cleanable_dirty_ratio": "0.001",
    "delete_retention_ms": "1500",
}


class Tasks:
    """Tasks of one connector that write the same few keys again and again."""

    def __init__(self, servers: str, count: int) -> None:
        self._producers = [transactional_producer(servers, f"connect-cluster-orders-{task}") for task in range(count)]
        self._position = 0

    def write(self, task: int, tables: str = "ab", *, commit: bool = True) -> None:
        """A transaction with data and the offsets of some tables."""
        producer = self._producers[task]
        self._position += 1
        producer.begin_transaction()
        for key in ("k1", "k2"):
            producer.produce(OUTPUT, f"at {self._position}".encode(), key.encode(), 0)
        for table in tables:
            self._offset(producer, table, b'{"position":%d}' % self._position)
        (producer.commit_transaction if commit else producer.abort_transaction)(30)

    def forget(self, task: int, table: str) -> None:
        """A tombstone for a table's offset, and one among the data."""
        producer = self._producers[task]
        producer.begin_transaction()
        self._offset(producer, table, None)
        producer.produce(OUTPUT, None, b"k1", 0)
        producer.commit_transaction(30)

    @staticmethod
    def _offset(producer: Producer, table: str, value: bytes | None) -> None:
        producer.produce(OFFSETS, value, json.dumps(["orders", {"table": table}], separators=(",", ":")).encode(), 0)


@dataclass(frozen=True)
class CleanedSite:
    """A broker whose cleaner has been at work."""

    sandbox: Sandbox

    @property
    def directory(self) -> Path:
        """The broker's log directory."""
        [partition] = self.sandbox.directory.glob(f"**/{OUTPUT}-0")
        return partition.parent

    def headers(self, topic: str) -> list[BatchHeader]:
        """The batches on the disk; what is cut off while the cleaner replaces segments is seen the next time."""
        paths = sorted((self.directory / f"{topic}-0").glob("*.log"))
        return [batch.header for path in paths if path.exists() for batch in iter_batches(path.read_bytes())]

    def is_cleaned(self, topic: str) -> bool:
        """Whether all kinds of remains are there."""
        headers = self.headers(topic)
        empty = any(each.record_count == 0 and each.base_timestamp == -1 for each in headers)
        kept = any(each.is_control and each.attributes & DELETE_HORIZON for each in headers)
        return empty and kept and headers[0].base_offset > 0


@pytest.fixture(scope="module")
def site(kafka_version: str) -> Iterator[CleanedSite]:
    spec = spec_of(kafka_version, workers=0, broker_config={"log.cleaner.backoff.ms": "100"})
    with Sandbox(spec) as sandbox:
        create_topic(sandbox.bootstrap_servers, CONFIGS, cleanup_policy="compact")
        for topic in (OFFSETS, OUTPUT):
            create_topic(sandbox.bootstrap_servers, topic, **CLEANED_AT_ONCE)
        tasks = Tasks(sandbox.bootstrap_servers, 4)
        found = CleanedSite(sandbox)
        for task in (0, 0, 1):
            tasks.write(task)
        tasks.write(1, commit=False)
        tasks.write(2)
        tasks.write(2, "c", commit=False)
        tasks.write(3, "abcd")
        tasks.forget(3, "d")

        def cleaned() -> bool:
            tasks.write(0)
            return found.is_cleaned(OFFSETS) and found.is_cleaned(OUTPUT)

        eventually(cleaned, "the cleaner at work in both topics")
        yield found


def audited(eosctl: Eosctl, *where: object) -> dict[str, Any]:
    ran = eosctl("audit", *where, "--group-id", "connect-cluster", "--topic", OUTPUT, "-o", "json")
    data: dict[str, Any] = json.loads(ran.stdout)["data"]
    return data


def gaps(data: dict[str, Any]) -> dict[str, set[str]]:
    return {each["topic"]: {gap["kind"] for gap in each["gaps"]} for each in data["ranges"] if each["records"]}


def alarms(data: dict[str, Any]) -> list[str]:
    return [each["message"] for each in data["findings"] if each["severity"] != "info"]


def test_a_broker_s_compacted_topics_raise_no_alarm(site: CleanedSite, eosctl: Eosctl):
    data = audited(eosctl, "-b", site.sandbox.bootstrap_servers)
    assert alarms(data) == []
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [("orders", "held")]
    assert gaps(data) == {OFFSETS: {"compacted"}, OUTPUT: {"compacted"}}


def test_its_log_directory_says_the_same(site: CleanedSite, eosctl: Eosctl):
    data = audited(eosctl, "--log-dir", site.directory)
    assert alarms(data) == []
    assert gaps(data) == {OFFSETS: {"compacted"}, OUTPUT: {"compacted"}}
    assert {each["start"] for each in data["ranges"]} == {0}
    assert [each["verdict"] for each in data["connectors"]] == ["held"]


def test_times_are_those_of_records_and_markers_not_those_that_the_cleaner_put_there(site: CleanedSite, eosctl: Eosctl):
    data = audited(eosctl, "-b", site.sandbox.bootstrap_servers)
    newest = max(each.max_timestamp for topic in (OFFSETS, OUTPUT) for each in site.headers(topic))
    times = [each["timestamp"] for each in (*data["timeline"], *data["epochs"])]
    times += [
        each[name] for each in data["ranges"] for name in ("first_timestamp", "last_timestamp") if each["records"]
    ]
    assert times
    assert [each for each in times if not newest - 600_000 < each <= newest] == []


def test_a_marker_keeps_its_own_time_beside_the_delete_horizon(site: CleanedSite):
    paths = sorted((site.directory / f"{OUTPUT}-0").glob("*.log"))
    batches = [batch for path in paths for batch in iter_batches(path.read_bytes()) if batch.header.is_control]
    kept = [batch for batch in batches if batch.header.attributes & DELETE_HORIZON]
    markers = [decode_marker(batch) for batch in kept if batch.header.record_count]
    assert [each.timestamp for each in markers if each] == [
        b.header.max_timestamp for b in kept if b.header.record_count
    ]
    assert all(batch.header.base_timestamp > batch.header.max_timestamp for batch in kept)
