"""What goes wrong while an audit reads: it is told with partition and offset, and the audit goes on."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import iter_batches
from eosctl.engines.auditing import run_audit
from eosctl.engines.local import LocalEngine
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditReport, TopicRole
from eosctl.model.client_properties import ClientProperties
from eosctl.operations.audit_topics import AuditScope, read_bounds
from eosctl.planning.audit import plan_ranges, resume
from eosctl.sources.audit_log import OpenCluster
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Eosctl
from tests.integration.producers import create_topic
from tests.live_reader import reader_over
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

FreshName = Callable[[str], str]
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
def test_a_damaged_batch_is_told_and_passed_over(
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
