"""`eosctl transactions trace` against what Kafka's own dump of the log says of random histories."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eosctl.clients.wire import Wire
from eosctl.codecs.producer_state import (
    SnapshotProducer,
    decode_producer_snapshot,
    decode_transaction_index,
)
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.integration.gone_clients import GoneClient
from tests.integration.producers import create_topic
from tests.oracle.dump_log import ABORTED, PRODUCER, Dumped, dump_files, dumped_transactions

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

FATES = {"COMMIT": "committed", "ABORT": "aborted", None: "open"}


@dataclass
class History:
    """Transactions of several clients in several partitions: what each wrote where, by the client's own account."""

    wire: Wire
    places: list[TopicPartition]
    written: list[dict[TopicPartition, list[int]]] = field(default_factory=list)

    def make(self, clients: list[GoneClient], rounds: int, seed: int) -> None:
        """Rounds of one transaction of each client, interleaved; the last ones stay open."""
        chance = random.Random(seed)
        for number in range(rounds):
            running: list[dict[TopicPartition, list[int]]] = [{} for _ in clients]
            for _ in range(chance.randint(1, 4)):
                for client, mine in zip(clients, running, strict=True):
                    place = chance.choice(self.places)
                    values = [b"%d" % chance.randrange(1 << 16) for _ in range(chance.randint(1, 3))]
                    mine.setdefault(place, []).extend(client.write(place, *values))
            self.written += running
            for client in clients if number < rounds - 1 else ():
                assert client.end(commit=chance.random() < 0.7) == 0


@pytest.fixture(scope="module")
def wire(broker: Sandbox) -> Iterator[Wire]:
    with wire_to(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def history(broker: Sandbox, wire: Wire, fresh_name: FreshName, rounds: int) -> History:
    places = []
    for partitions in (2, 1):
        topic = fresh_name("traced")
        create_topic(broker.bootstrap_servers, topic, partitions)
        places += [TopicPartition(topic, each) for each in range(partitions)]
    newest = 2 if broker.spec.version >= KafkaVersion(4, 0) else 1
    clients = [GoneClient(wire, fresh_name("history"), version) for version in (1, newest, 1)]
    made = History(wire, places)
    made.make(clients, rounds, seed=rounds)
    return made


def dumped(broker: Sandbox, places: list[TopicPartition]) -> dict[TopicPartition, list[Dumped]]:
    segments = {place: files_of(broker, place, ".log") for place in places}
    lines = dump_files(broker, [each for found in segments.values() for each in found])
    return {place: list(dumped_transactions(_lines(lines, found))) for place, found in segments.items()}


def _lines(printed: Mapping[Path, Sequence[str]], files: Sequence[Path]) -> list[str]:
    return [line for each in files for line in printed[each]]


def files_of(broker: Sandbox, place: TopicPartition, suffix: str) -> list[Path]:
    return sorted((broker.directory / "broker-1" / "data" / str(place)).glob(f"*{suffix}"))


def trace(eosctl: Eosctl, place: TopicPartition, offset: int, *where: object, code: int = 0) -> dict[str, Any]:
    ran = eosctl("transactions", "trace", f"{place}@{offset}", *where, "-o", "json")
    assert ran.exit_code == code, ran.stderr + ran.stdout
    return dict(json.loads(ran.stdout)["data"])


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [3, pytest.param(90, marks=pytest.mark.long)])
@pytest.mark.parametrize("from_files", [False, True], ids=["live", "files"])
def test_each_record_is_traced_as_kafkas_own_dump_of_the_log_has_it(
    broker: Sandbox, eosctl: Eosctl, history: History, from_files: bool, rounds: int
) -> None:
    kafka = dumped(broker, history.places)
    assert sum(len(each.offsets) for found in kafka.values() for each in found) > rounds * 3
    data = broker.directory / "broker-1" / "data"
    where = ("--log-dir", data) if from_files else ("-b", broker.bootstrap_servers)
    traced = 0
    for mine in reversed(history.written):  # those that are open first: their coordinator aborts them in time
        extents = {
            place: next(each for each in kafka[place] if each.offsets[0] == offsets[0])
            for place, offsets in mine.items()
        }
        for place, offsets in mine.items():
            assert extents[place].offsets == offsets
            for offset in offsets if rounds > 3 else {offsets[0], offsets[-1]}:
                _check(trace(eosctl, place, offset, *where), extents, place)
                traced += 1
    assert traced >= (1_000 if rounds > 3 else 20)


def _check(answer: dict[str, Any], extents: dict[TopicPartition, Dumped], place: TopicPartition) -> None:
    record, here = answer["record"], extents[place]
    assert record["state"] == FATES[here.ended], (answer, extents)
    assert (record["producer_id"], record["producer_epoch"]) == here.producer
    rows = {TopicPartition(row["topic"], row["partition"]): row for row in answer["partitions"]}
    assert answer["partitions_by"] == "transaction-log", answer
    assert rows.keys() == extents.keys(), answer
    for other, found in extents.items():
        row = rows[other]
        assert (row["first_offset"], row["last_offset"]) == (found.offsets[0], found.offsets[-1]), (row, found)
        assert (row["marker_type"], row["marker_offset"]) == (found.ended, found.marker)
        sure = other == place or here.ended is None or row["marker_epoch"] > here.producer[1]
        assert row["found"] in ({"whole"} if sure else {"whole", "by-time"}), row


def test_files_beside_segments_are_read_as_kafkas_own_dump_has_them(
    broker: Sandbox, wire: Wire, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    topic = fresh_name("beside")
    create_topic(broker.bootstrap_servers, topic, segment_ms="1")
    place = TopicPartition(topic, 0)
    clients = [GoneClient(wire, fresh_name("beside")) for _ in range(3)]
    made = History(wire, [place])
    made.make(clients, 6, seed=1)
    data = broker.directory / "broker-1" / "data"
    segments, snapshots = files_of(broker, place, ".log"), files_of(broker, place, ".snapshot")
    indexes = [each for each in files_of(broker, place, ".txnindex") if each.stat().st_size]
    printed = dump_files(broker, [*segments, *indexes, *snapshots])
    log = list(dumped_transactions(_lines(printed, segments)))
    aborts = [each for each in log if each.ended == "ABORT"]
    assert len(indexes) > 1, "the partition has several segments"
    assert len(aborts) > 2
    found = [entry for each in indexes for entry in decode_transaction_index(each.read_bytes(), int(each.stem))]
    assert found == [tuple(map(int, each)) for each in ABORTED.findall("\n".join(_lines(printed, indexes)))]
    entries = [entry for each in snapshots for entry in decode_producer_snapshot(each.read_bytes())]
    lines = [each for each in _lines(printed, snapshots) if each.startswith("producerId")]
    assert [_shown(each) for each in entries if each.last_offset >= 0] == [
        match.groupdict() for line in lines if (match := PRODUCER.search(line))
    ]
    assert len(lines) == len(entries) > len(snapshots)
    state = trace(eosctl, place, 0, "--log-dir", data)["producer_state"]
    assert [(row["producer_id"], row["first_offset"], row["marker_offset"]) for row in state["aborted"]] == [
        (each.producer[0], each.offsets[0], each.marker) for each in aborts
    ]
    assert all(row["indexed"] for row in state["aborted"])
    assert [(row["producer_id"], row["producer_epoch"], row["first_offset"]) for row in state["opened"]] == [
        (*each.producer, each.offsets[0]) for each in sorted(log, key=lambda each: each.offsets) if each.ended is None
    ]
    assert len(state["opened"]) == 3


def _shown(entry: SnapshotProducer) -> dict[str, str]:
    start = entry.transaction_start_offset
    fields = {"id": entry.producer.producer_id, "epoch": entry.producer.producer_epoch,
              "coordinator": entry.coordinator_epoch, "start": "" if start is None else start,
              "sequence": entry.last_sequence, "offset": entry.last_offset, "delta": entry.offset_delta,
              "timestamp": entry.timestamp}  # fmt: skip
    return {name: str(value) for name, value in fields.items()}


def test_an_offset_without_a_record_is_reported_with_the_reason(
    broker: Sandbox, wire: Wire, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    topic = fresh_name("absent")
    create_topic(broker.bootstrap_servers, topic)
    place = TopicPartition(topic, 0)
    client = GoneClient(wire, fresh_name("absent"))
    client.write(place, b"one", b"two")
    assert client.end(commit=True) == 0
    marker = trace(eosctl, place, 2, "-b", broker.bootstrap_servers, code=1)
    assert (marker["record"]["absent"], marker["record"]["reason"].split()[1]) == ("marker", "commit")
    assert [(row["first_offset"], row["last_offset"]) for row in marker["partitions"]] == [(0, 1)]
    for offset, reason in ((3, "the log ends before offset 3"), (99, "the log ends before offset 3")):
        ran = eosctl("transactions", "trace", f"{topic}:0@{offset}", "-b", broker.bootstrap_servers)
        assert (ran.exit_code, reason in ran.stdout) == (1, True), ran.stdout
    by_key = eosctl("transactions", "trace", topic, "--key", "key", "-b", broker.bootstrap_servers, "-o", "json")
    assert json.loads(by_key.stdout)["data"]["record"]["offset"] == 1
    nobody = eosctl("transactions", "trace", topic, "--key", "nobody", "-b", broker.bootstrap_servers)
    assert (nobody.exit_code, "no record with the key nobody" in nobody.stdout) == (1, True)
    first = eosctl("transactions", "trace", f"{topic}:0", "--timestamp", "2020-01-01T00:00:00Z",
                   "-b", broker.bootstrap_servers, "-o", "json")  # fmt: skip
    assert json.loads(first.stdout)["data"]["record"]["offset"] == 0
