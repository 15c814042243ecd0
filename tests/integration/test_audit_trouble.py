"""Faults while an audit reads: it names partition and offset, and continues."""

import json
import os
import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import BatchHeader, decode_marker, iter_batches
from eosctl.engines.auditing import run_audit
from eosctl.engines.local import LocalEngine
from eosctl.ledger.ledger import open_ledger
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditReport, TopicRole
from eosctl.model.client_properties import ClientProperties
from eosctl.operations.audit_topics import AuditScope, read_bounds
from eosctl.planning.audit import plan_ranges, resume
from eosctl.sources.audit_log import OpenCluster
from tests import forks
from tests.conftest import FreshName
from tests.executors.crashes import COMMIT_FAILPOINTS, contiguous
from tests.faulty_sandbox import Sandbox
from tests.forks import Forked
from tests.integration.audit_site import Eosctl
from tests.integration.producers import create_topic, transactional_producer
from tests.integration.terminal import PROGRAM
from tests.kafka_versions import spec_of
from tests.live_reader import reader_over
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
OFFSETS = "connect-offsets"


def fill(servers: str, topic: str, records: int) -> None:
    """Records of one source partition, one batch each, in partition 0."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for number in range(records):
        producer.produce(topic, b'{"position":%d}' % number, b'["c",{"filename":"f"}]', partition=0)
        producer.flush(30)


def plan_of(servers: str, topic: str, role: TopicRole = TopicRole.OFFSETS) -> AuditPlan:
    """The plan of an audit of one topic."""
    properties = ClientProperties(tuple(servers.split(",")))
    with Wire(properties) as wire:
        bounds = read_bounds(reader_over(wire, properties), AuditScope((AuditedTopic(topic, role),), ()))
    return plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, 1)


def audit(servers: str, plan: AuditPlan, timeout_s: float = 30.0) -> AuditReport:
    """The report of the plan, audited in this process."""
    source = OpenCluster(ClientProperties(tuple(servers.split(","))), timeout_s)
    return run_audit(plan, LocalEngine(source, processes=1)).report


def test_a_topic_that_is_created_again_between_plan_and_reading(sandbox: Sandbox, fresh_name: FreshName):
    servers, topic = sandbox.bootstrap_servers, fresh_name("recreated")
    create_topic(servers, topic)
    fill(servers, topic, 5)
    plan = plan_of(servers, topic)
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: topic not in admin.list_topics(timeout=30).topics, "the topic gone")
    create_topic(servers, topic)
    fill(servers, topic, 5)
    [finding] = [each for each in audit(servers, plan).findings if each.counts]
    assert finding.name == "unreadable-range"
    assert "deleted and created again" in finding.message


def test_a_topic_that_is_deleted_between_plan_and_reading(sandbox: Sandbox, fresh_name: FreshName):
    servers, topic = sandbox.bootstrap_servers, fresh_name("deleted")
    create_topic(servers, topic)
    fill(servers, topic, 5)
    plan = plan_of(servers, topic)
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: topic not in admin.list_topics(timeout=30).topics, "the topic gone")
    [finding] = [each for each in audit(servers, plan).findings if each.counts]
    assert (finding.name, "deleted" in finding.message) == ("unreadable-range", True)


def test_records_that_are_deleted_between_plan_and_reading(sandbox: Sandbox, fresh_name: FreshName):
    from confluent_kafka import TopicPartition

    servers, topic = sandbox.bootstrap_servers, fresh_name("shrinking")
    create_topic(servers, topic)
    fill(servers, topic, 20)
    plan = plan_of(servers, topic)
    place = TopicPartition(topic, 0, 8)
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_records([place])[place].result(30)
    report = audit(servers, plan)
    [finding] = [each for each in report.findings if each.counts]
    assert (finding.name, finding.evidence["offset"]) == ("unreadable-range", 0)
    assert "deleted while being read" in finding.message
    assert [each.records for each in report.ranges] == [12]


def test_leaders_that_change_while_an_audit_reads(cluster3: Sandbox, fresh_name: FreshName):
    servers, topic = cluster3.bootstrap_servers, fresh_name("moving")
    create_topic(servers, topic, 3, 3)
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in range(30_000):
        producer.produce(topic, b'{"position":%d}' % number, b'["c",{"n":%d}]' % (number % 3), partition=number % 3)
    assert producer.flush(60) == 0
    plan = plan_of(servers, topic)
    reports: list[AuditReport] = []
    cluster3.stop_broker(2)
    try:
        auditor = Thread(target=lambda: reports.append(audit(servers, plan, 60)))
        auditor.start()
        auditor.join(60)
    finally:
        cluster3.start_broker(2)
    [report] = reports
    assert sum(each.records for each in report.ranges) == 30_000
    assert [each for each in report.findings if each.counts] == []


def copy_of_partition(sandbox: Sandbox, topic: str, directory: Path) -> Path:
    """The log directory with a copy of the topic's partition 0 in it: its one segment."""
    [source] = sandbox.directory.glob(f"**/{topic}-0")
    shutil.copytree(source, directory / f"{topic}-0")
    return directory / f"{topic}-0" / f"{0:020}.log"


@pytest.mark.parametrize(("at", "why"), [(70, "CRC does not match"), (16, "magic 7")])
def test_a_damaged_batch_is_reported_and_passed_over(
    sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName, at: int, why: str
):
    topic = fresh_name("damaged")
    create_topic(sandbox.bootstrap_servers, topic)
    fill(sandbox.bootstrap_servers, topic, 20)
    segment = copy_of_partition(sandbox, topic, tmp_path)
    data = bytearray(segment.read_bytes())
    batch = [*iter_batches(bytes(data))][4]
    place = data.find(bytes(batch.data)) + at
    data[place] = 7
    segment.write_bytes(data)
    ran = eosctl("audit", "--log-dir", tmp_path, "--topic", topic, "-o", "json")
    report = json.loads(ran.stdout)["data"]
    [finding] = [each for each in report["findings"] if each["severity"] != "info"]
    assert (finding["name"], finding["evidence"]["offset"], finding["subject"]) == ("unreadable-range", 4, f"{topic}-0")
    assert why in finding["message"]
    assert [each["records"] for each in report["ranges"]] == [19]
    assert [each["verdict"] for each in report["connectors"]] == ["cannot-tell"]
    assert ran.exit_code == 1


# Damage on a broker's disk, which it serves, stumbles over, or does not see: the audit names it, and goes on.


RECORDS, SPOILT = 60, 25


@dataclass(frozen=True)
class Damage:
    """Other bytes in a batch; behind is the first offset that has to be read again."""

    place: int
    value: bytes
    behind: int
    why: str
    role: TopicRole = TopicRole.OUTPUT


DAMAGES: Final = {
    "crc": Damage(70, b"\7\7", 26, "CRC does not match", TopicRole.OFFSETS),
    "magic": Damage(16, b"\7", 26, "not a record batch"),
    "old-magic": Damage(16, b"\0", 30, ""),
    "length-inside": Damage(8, struct.pack(">i", 90), 30, "returns later records instead"),
    "no-length": Damage(8, struct.pack(">i", 3), 30, "the broker answers CORRUPT_MESSAGE"),
    "length-behind-the-end": Damage(8, struct.pack(">i", 1 << 30), 30, "returns later records instead"),
    "zeros": Damage(0, bytes(120), 30, "the broker answers CORRUPT_MESSAGE"),
    "offset-ahead": Damage(0, struct.pack(">q", 1 << 50), 26, "not between its neighbours'"),
    "last-offset-ahead": Damage(23, struct.pack(">i", 1 << 28), 26, "not between its neighbours'"),
}


@pytest.fixture(scope="module")
def own(kafka_version: str) -> Iterator[Sandbox]:
    """A broker whose cleaner is quick. It cleans no active segment, so those that are damaged stay as they are."""
    with Sandbox(spec_of(kafka_version, workers=0, broker_config={"log.cleaner.backoff.ms": "100"})) as started:
        yield started


@pytest.fixture(scope="module")
def damaged(own: Sandbox) -> Sandbox:
    """It with one topic for each damage: compacted, so that a hole alone says nothing."""
    for name in DAMAGES:
        create_topic(own.bootstrap_servers, name, cleanup_policy="compact")
        fill_small_batches(own.bootstrap_servers, name)
    own.stop_broker(1)
    for name, damage in DAMAGES.items():
        [directory] = own.directory.glob(f"**/{name}-0")
        spoil(directory / f"{0:020}.log", damage)
    own.start_broker(1)
    return own


def fill_small_batches(servers: str, topic: str) -> None:
    """Batches of one record and some 300 bytes: a broker's index then has an entry for about every 14th."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for number in range(RECORDS):
        producer.produce(topic, b'{"position":%d}' % number + b" " * 200, b'["c",{"filename":"%d"}]' % number, 0)
        assert producer.flush(30) == 0


def spoil(segment: Path, damage: Damage) -> None:
    data = bytearray(segment.read_bytes())
    before = sum(len(batch.data) for batch in [*iter_batches(bytes(data))][:SPOILT])
    place = before + damage.place
    data[place : place + len(damage.value)] = damage.value
    segment.write_bytes(data)


def damages_of(report: AuditReport) -> list[tuple[int, int]]:
    found = [each for each in report.findings if each.counts]
    assert {each.name for each in found} == {"unreadable-range"}
    return [(each.evidence["offset"], each.evidence["end"]) for each in found]  # type: ignore[misc]


@pytest.mark.workers
@pytest.mark.parametrize("name", DAMAGES)
def test_the_audit_names_what_is_damaged_and_reads_the_rest(damaged: Sandbox, name: str):
    damage, servers = DAMAGES[name], damaged.bootstrap_servers
    report = audit(servers, plan_of(servers, name, damage.role))

    ranges = damages_of(report)
    assert ranges[0][0] in {SPOILT, SPOILT + 1}
    assert ranges[-1][1] <= damage.behind
    assert any(damage.why in each.message for each in report.findings)
    [read] = report.ranges
    assert read.records >= RECORDS - (damage.behind - SPOILT)
    assert not [gap for gap in read.gaps if gap.end > damage.behind]


# A real log cleaner's remains of transactions, audited from the broker and from its files: no alarm, gaps explained.
# The cleaner keeps an empty batch where a producer wrote no later one (its time is -1), a marker for
# delete.retention.ms with the time of its end in place of its own (KIP-534), and the last marker of every producer.


CLEANED_OFFSETS, CONFIGS, OUTPUT = "connect-offsets", "connect-configs", "orders"
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
        producer.produce(
            CLEANED_OFFSETS, value, json.dumps(["orders", {"table": table}], separators=(",", ":")).encode(), 0
        )


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
        """The batches on the disk; a part that the cleaner replaces meanwhile is read the next time."""
        paths = sorted((self.directory / f"{topic}-0").glob("*.log"))
        return [batch.header for path in paths if path.exists() for batch in iter_batches(path.read_bytes())]

    def is_cleaned(self, topic: str) -> bool:
        """Whether all kinds of remains are there."""
        headers = self.headers(topic)
        empty = any(each.record_count == 0 and each.base_timestamp == -1 for each in headers)
        kept = any(each.is_control and each.attributes & DELETE_HORIZON for each in headers)
        return empty and kept and headers[0].base_offset > 0


@pytest.fixture(scope="module")
def site(own: Sandbox) -> CleanedSite:
    create_topic(own.bootstrap_servers, CONFIGS, cleanup_policy="compact")
    for topic in (CLEANED_OFFSETS, OUTPUT):
        create_topic(own.bootstrap_servers, topic, **CLEANED_AT_ONCE)
    tasks = Tasks(own.bootstrap_servers, 4)
    found = CleanedSite(own)
    for task in (0, 0, 1):
        tasks.write(task)
    tasks.write(1, commit=False)
    tasks.write(2)
    tasks.write(2, "c", commit=False)
    tasks.write(3, "abcd")
    tasks.forget(3, "d")

    def cleaned() -> bool:
        tasks.write(0)
        return found.is_cleaned(CLEANED_OFFSETS) and found.is_cleaned(OUTPUT)

    eventually(cleaned, "the cleaner at work in both topics")
    return found


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
    assert gaps(data) == {CLEANED_OFFSETS: {"compacted"}, OUTPUT: {"compacted"}}


def test_its_log_directory_gives_the_same_audit(site: CleanedSite, eosctl: Eosctl):
    data = audited(eosctl, "--log-dir", site.directory)
    assert alarms(data) == []
    assert gaps(data) == {CLEANED_OFFSETS: {"compacted"}, OUTPUT: {"compacted"}}
    assert {each["start"] for each in data["ranges"]} == {0}
    assert [each["verdict"] for each in data["connectors"]] == ["held"]


def test_times_are_those_of_records_and_markers_not_those_that_the_cleaner_put_there(site: CleanedSite, eosctl: Eosctl):
    data = audited(eosctl, "-b", site.sandbox.bootstrap_servers)
    newest = max(each.max_timestamp for topic in (CLEANED_OFFSETS, OUTPUT) for each in site.headers(topic))
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


# Whole audits, killed at named points and at any moment while the topics grow: the ledger ends as one audit would
# say.
#
# Each schedule is one job on a real broker, audited by real processes of the command, on either engine.


PATIENCE_S = 180
PARTS = ("connectors", "findings", "ranges", "transactions", "epochs", "growth")


class GrowingTopics:
    """An offsets topic and an output topic that two tasks of one connector write to in transactions."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers, self.name, self.offsets, self.output = servers, name, f"{name}-offsets", f"{name}-output"
        create_topic(servers, self.offsets, 3)
        create_topic(servers, self.output, 2)
        self._tasks = [transactional_producer(servers, f"{name}-{task}") for task in range(2)]
        self._written = 0

    def grow(self, chance: random.Random) -> None:
        """Some more transactions; a few are aborted, and now and then there is a non-transactional write."""
        for _ in range(chance.randint(1, 20)):
            task = chance.randrange(2)
            producer = self._tasks[task]
            producer.begin_transaction()
            for _ in range(chance.randint(1, 30)):
                producer.produce(self.output, b"record", partition=task)
                self._written += 1
            producer.produce(
                self.offsets, b'{"n":%d}' % self._written, b'["%s",{"t":%d}]' % (self.name.encode(), task), task
            )
            if chance.random() < 0.1:
                producer.flush(30)  # a broker that saw nothing of it may refuse its end
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        if chance.random() < 0.2:
            plain = Producer({"bootstrap.servers": self.servers})
            plain.produce(self.output, b"plain", partition=0)
            assert plain.flush(30) == 0

    def arguments(self) -> list[str]:
        """The options of `eosctl audit` for these topics."""
        named = ["--worker-offsets-topic", self.offsets, "--topic", self.output, "--config-topic", f"{self.name}-none"]
        return ["audit", "-b", self.servers, *named, "--connector", self.name, "-o", "json"]


def start(topics: GrowingTopics, store: str, engine: str, failpoint: str | None = None) -> Forked:
    """An audit that is killed at the failpoint, if there is one."""
    environment = {**os.environ, **({} if failpoint is None else {"EOSCTL_FAILPOINT": failpoint})}
    options = ("--store", store, "--engine", engine)
    return forks.start(PROGRAM, *topics.arguments(), *options, environment=environment)


def ended(process: Forked) -> int:
    """0, 1 or 3 (the topics have no config topic), or killed; any other end of a process is a failure."""
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {0, 1, 3, -9}, error
    return process.returncode


def endure(topics: GrowingTopics, store: str, engine: str, chance: random.Random, longest_s: float) -> int:
    """Kills and growth, then one audit to the end. How many audits were killed."""
    killed = 0
    for _ in range(chance.randint(1, 3)):
        topics.grow(chance)
        if chance.random() < 0.6:
            killed += ended(start(topics, store, engine, f"{chance.choice(COMMIT_FAILPOINTS)}:1")) == -9
        else:
            process = start(topics, store, engine)
            sleep(chance.uniform(0, longest_s))  # not waiting for anything: the moment is the point
            process.kill()
            killed += ended(process) == -9
    topics.grow(chance)
    assert ended(start(topics, store, engine)) in {0, 1, 3}
    return killed


def check(topics: GrowingTopics, store: str, eosctl: Eosctl) -> None:
    """The ledger has every offset once, and the report of one audit of everything."""
    ledger = open_ledger(store)
    contiguous(ledger.ranges("audit"))
    kept = json.loads(ledger.report("audit") or "")["data"]
    whole = json.loads(eosctl(*topics.arguments()).stdout)["data"]
    for part in PARTS:
        assert kept[part] == whole[part], part


def survive(sandbox: Sandbox, name: str, eosctl: Eosctl, directory: Path, engine: str, seed: int) -> int:
    """One schedule. How many audits were killed."""
    topics = GrowingTopics(sandbox.bootstrap_servers, name)
    store = f"sqlite:///{directory}/{name}.db"
    killed = endure(topics, store, engine, random.Random(seed), 1.5 if engine == "local" else 12.0)
    check(topics, store, eosctl)
    return killed


@pytest.mark.parametrize("seed", range(3))
def test_an_audit_that_is_killed_is_finished_by_the_next(
    sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName, seed: int
):
    survive(sandbox, fresh_name("killed"), eosctl, tmp_path, "local", seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_crash_schedules_of_whole_audits(
    sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName, engine: str
):
    schedules, killed = (60 if engine == "local" else 20), 0
    for seed in range(schedules):
        killed += survive(sandbox, fresh_name(f"killed-{engine}"), eosctl, tmp_path, engine, seed)
    assert killed >= schedules // 2
