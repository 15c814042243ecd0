"""Damage on a broker's disk, which it serves, stumbles over, or does not see: the audit names it, and goes on."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from eosctl.codecs.record_batches import iter_batches
from eosctl.model.audit import AuditReport, TopicRole
from tests.faulty_sandbox import Sandbox
from tests.integration.test_audit_trouble import audit, plan_of
from tests.kafka_versions import spec_of
from tests.sources.mixed_topic import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.workers]

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
    "length-inside": Damage(8, struct.pack(">i", 90), 30, "gives none of them"),
    "no-length": Damage(8, struct.pack(">i", 3), 30, "the broker answers CORRUPT_MESSAGE"),
    "length-behind-the-end": Damage(8, struct.pack(">i", 1 << 30), 30, "gives none of them"),
    "zeros": Damage(0, bytes(120), 30, "the broker answers CORRUPT_MESSAGE"),
    "offset-ahead": Damage(0, struct.pack(">q", 1 << 50), 26, "not between those of its neighbours"),
    "last-offset-ahead": Damage(23, struct.pack(">i", 1 << 28), 26, "not between those of its neighbours"),
}


@pytest.fixture(scope="module")
def damaged(kafka_version: str) -> Iterator[Sandbox]:
    """A broker with one topic for each damage: compacted, so that a hole alone says nothing."""
    with Sandbox(spec_of(kafka_version, workers=0)) as site:
        for name in DAMAGES:
            create_topic(site.bootstrap_servers, name, cleanup_policy="compact")
            fill(site.bootstrap_servers, name)
        site.stop_broker(1)
        for name, damage in DAMAGES.items():
            [directory] = site.directory.glob(f"**/{name}-0")
            spoil(directory / f"{0:020}.log", damage)
        site.start_broker(1)
        yield site


def fill(servers: str, topic: str) -> None:
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
