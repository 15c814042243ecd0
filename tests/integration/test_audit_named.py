"""Faults that workers never make, planted record by record: each is found, with its place, and nothing else is."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Eosctl
from tests.integration.file_connectors import wait_for
from tests.integration.hanging import UNVERIFIED
from tests.integration.producers import transactional_producer
from tests.integration.written_connect import WrittenConnect, raw_transaction
from tests.kafka_versions import spec_of

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

MINUTE = 60_000


@pytest.fixture(scope="module")
def unverified_broker(kafka_version: str) -> Iterator[Sandbox]:
    """A broker that lets transactions hang."""
    with Sandbox(spec_of(kafka_version, broker_config=UNVERIFIED)) as sandbox:
        yield sandbox


@pytest.fixture
def connect(unverified_broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> WrittenConnect:
    """A connector that has run well for some seconds, two minutes ago."""
    begin = time.time_ns() // 1_000_000 - 2 * MINUTE
    written = WrittenConnect(unverified_broker.bootstrap_servers, eosctl, fresh_name("written"), begin)
    written.run()
    return written


@pytest.fixture
def raises_epochs(kafka_version: str) -> int:
    """The difference between the epochs of a marker and its data: 1 under transaction.version 2 (KIP-890)."""
    return int(kafka_version >= "4")


def at(place: dict[str, Any]) -> TopicPartition:
    """The partition that a place lies in."""
    return TopicPartition(place["topic"], place["partition"])


def test_records_written_as_a_worker_writes_them_have_held(connect: WrittenConnect):
    connect.later(20)
    connect.configure(1)
    connect.later(1)
    connect.fence(1)
    connect.later(1)
    connect.start()
    connect.write(6)
    audited = connect.audit()
    assert (audited.data["findings"], audited.verdict, audited.exit_code) == ([], "held", 0)


def test_a_task_that_starts_without_a_fencing_round(connect: WrittenConnect):
    connect.later(20)
    connect.configure(1)
    connect.later(20)
    connect.start()
    connect.write(6)
    audited = connect.audit()
    (place,) = audited.places["start-without-fencing"]
    (offset,) = [each["offset"] for each in audited.data["timeline"] if each["kind"] == "commit"][1:]
    assert (audited.findings.keys(), audited.verdict) == ({"start-without-fencing"}, "broken")
    assert (at(place), place["connector"]) == (connect.place, connect.name)
    assert (place["commit_offset"], place["timestamp"]) == (offset, connect.now)


def test_two_leaders_that_write_in_turn(connect: WrittenConnect):
    other = transactional_producer(connect.servers, f"connect-cluster-{connect.name}-other")
    connect.lead({"session-key": {"key": "x"}}, other)
    connect.lead({f"target-state-{connect.name}": {"state": "STARTED"}, f"connector-{connect.name}": None})
    connect.configure(1)
    connect.fence(1)
    audited = connect.audit()
    (place,) = audited.places["interleaved-leaders"]
    assert (audited.findings.keys(), audited.verdict) == ({"interleaved-leaders"}, "cannot-tell")
    assert at(place) == TopicPartition(connect.configs, 0)
    assert "two leaders at once" in place["what"]


def test_a_commit_with_missing_task_configs(connect: WrittenConnect):
    connect.later(20)
    connect.configure(3, published=1)
    connect.fence(3)
    audited = connect.audit()
    (place,) = audited.places["inconsistent-connector"]
    assert (audited.findings.keys(), audited.verdict) == ({"inconsistent-connector"}, "cannot-tell")
    assert audited.findings["inconsistent-connector"]["evidence"]["connectors"] == [connect.name]
    assert (place["topic"], place["what"]) == (
        connect.configs,
        "the last commit counts 3 tasks, but the configs of tasks 1, 2 are missing",
    )


def test_an_offset_copied_into_another_partition(connect: WrittenConnect):
    other = (connect.place.partition + 1) % 5
    copier = transactional_producer(connect.servers, f"{connect.name}-copier")
    copier.begin_transaction()
    connect.put_offset(copier, 5, partition=other)
    copier.commit_transaction(30)
    connect.later(1)
    connect.write(6)
    audited = connect.audit()
    (place,) = audited.places["key-in-two-partitions"]
    assert (audited.findings.keys(), audited.verdict) == ({"key-in-two-partitions"}, "cannot-tell")
    assert (at(place), place["offset"]) == (TopicPartition(connect.offsets, other), 0)
    assert place["before"].startswith(f"{connect.place}@")


def test_one_source_partition_under_two_keys(connect: WrittenConnect):
    spaced = connect.key.replace(b":", b": ")
    tool = transactional_producer(connect.servers, connect.transactional_id())
    tool.begin_transaction()
    connect.put_offset(tool, 5, key=spaced)
    tool.commit_transaction(30)
    connect.later(1)
    connect.start()
    connect.write(6)
    audited = connect.audit()
    (place,) = audited.places["logical-duplicates"]
    assert (audited.findings.keys(), audited.verdict) == ({"logical-duplicates"}, "cannot-tell")
    assert at(place) == connect.place
    assert '{"position":5}' in place["after"]
    assert '{"position":6}' in place["before"]


def test_a_partition_that_never_got_the_marker(connect: WrittenConnect, raises_epochs: int):
    """Without KIP-890 nothing joins the open part to the one that ended: it is a transaction that hangs."""
    lacking = TopicPartition(connect.name, 1)
    with raw_transaction(connect.servers, connect.transactional_id()) as raw:
        first = raw.send(lacking)
        raw.send(connect.place, connect.key, b'{"position":6}')
        raw.end(connect.place, commit=True, epoch=raises_epochs)
    kind = "missing-marker" if raises_epochs else "hanging-transaction"
    audited = wait_for(connect.audit, lambda audited: kind in audited.findings, "markers on their way waited for")
    (place,) = audited.places[kind]
    assert (audited.findings.keys(), audited.verdict) == ({kind}, "broken")
    assert at(place) == lacking
    assert (place["first_offset"] if raises_epochs else place["start_offset"]) == first
    assert ProducerIdAndEpoch(place["producer_id"], place["producer_epoch"]) == raw.producer


def test_a_transaction_that_is_committed_here_and_aborted_there(connect: WrittenConnect, raises_epochs: int):
    """Without KIP-890 it may as well be two: a connector that aborts its records and then commits their offset."""
    aborted = TopicPartition(connect.name, 1)
    with raw_transaction(connect.servers, connect.transactional_id()) as raw:
        raw.send(aborted)
        raw.send(connect.place, connect.key, b'{"position":6}')
        raw.end(aborted, commit=False, epoch=raises_epochs)
        raw.end(connect.place, commit=True, epoch=raises_epochs)
    audited = connect.audit()
    if not raises_epochs:
        assert (audited.findings, audited.verdict) == ({}, "held")
        return
    (place,) = audited.places["mixed-markers"]
    assert (audited.findings.keys(), audited.verdict) == ({"mixed-markers"}, "broken")
    assert place["topic"] in {connect.name, connect.offsets}
    assert ProducerIdAndEpoch(place["producer_id"], place["producer_epoch"]) == raw.producer
