"""`transactions lso --group` counts what a read_committed consumer of librdkafka then reads."""

import json
import random
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition as Place
from eosctl.model.topics import RecordTally
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.watch import Watched, observe
from eosctl.sources.kafka_log import Allowance, partition_offsets, tally_records
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic, transactional_producer
from tests.operations.quiet import Quiet

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]
PARTITIONS = 3
STEPS = 40


def consumer(servers: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )


def read_from(reader: Consumer, place: TopicPartition) -> int:
    """The number of records that the consumer gets from there to the end."""
    reader.assign([place])
    count = 0
    while (message := reader.poll(30)) is not None:
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            return count
        count += 1
    raise TimeoutError("the consumer came to no end")


def write_history(servers: str, topic: str, name: str, chance: random.Random) -> tuple[list[Producer], dict[int, int]]:
    """Transactions and non-transactional writes at random; the last transaction is left open in the last partition.

    Gives the producers, and how many records were written into aborted transactions of each partition.
    """
    producers = [transactional_producer(servers, f"{name}-{number}") for number in range(2)]
    plain = Producer({"bootstrap.servers": servers, "linger.ms": 5})
    aborted = dict.fromkeys(range(PARTITIONS), 0)
    for _ in range(STEPS):
        producer, kind = chance.choice(producers), chance.choice(["commit", "abort", "plain"])
        writes = [chance.randrange(PARTITIONS) for _ in range(chance.randint(1, 6))]
        writer = plain if kind == "plain" else producer
        if kind != "plain":
            producer.begin_transaction()
        for partition in writes:
            writer.produce(topic, b"value", partition=partition)
        assert writer.flush(30) == 0
        if kind == "commit":
            producer.commit_transaction(30)
        elif kind == "abort":
            producer.abort_transaction(30)
            for partition in writes:
                aborted[partition] += 1
    producers[0].begin_transaction()
    producers[0].produce(topic, b"open", partition=PARTITIONS - 1)
    assert producers[0].flush(30) == 0
    plain.produce(topic, b"held back", partition=PARTITIONS - 1)
    assert plain.flush(30) == 0
    return [*producers, plain], aborted


def lags(eosctl: Eosctl, servers: str, group: str, *options: str) -> list[dict[str, Any]]:
    ran = eosctl("transactions", "lso", "--group", group, "-b", servers, "-o", "json", *options)
    assert ran.exit_code in {0, 3}, ran.stderr
    return sorted(json.loads(ran.stdout)["data"]["partitions"], key=lambda row: row["partition"])


def test_the_readable_records_are_what_a_consumer_then_gets(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    servers, topic, group = broker.bootstrap_servers, fresh_name("lag"), fresh_name("reader")
    create_topic(servers, topic, PARTITIONS)
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    producers, aborted = write_history(servers, topic, fresh_name("lagging"), chance)
    reader = consumer(servers, group)
    try:
        for number in range(3):
            ends = [reader.get_watermark_offsets(TopicPartition(topic, each), 30)[1] for each in range(PARTITIONS)]
            starts = [0 if number == 0 else chance.randint(0, end) for end in ends]
            places = [TopicPartition(topic, each, start) for each, start in enumerate(starts)]
            reader.commit(offsets=places, asynchronous=False)
            rows = lags(eosctl, servers, group)
            counted = [row["lag_records"]["readable"] for row in rows]
            assert counted == [read_from(reader, place) for place in places], f"seed {seed}"
            for row, end in zip(rows, ends, strict=True):
                assert sum(row["lag_records"].values()) == row["lag"]
                assert row["lag_records"]["removed"] == 0
                assert row["last_stable_offset"] == end
            if number == 0:
                assert [row["lag_records"]["aborted"] for row in rows] == list(aborted.values()), f"seed {seed}"
                # A marker of the other producer may come behind the open record.
                *free, held = [row["held_back"] for row in rows]
                assert (free, held >= 2) == ([0, 0], True)
        # At the end only markers lie behind the last record.
        reader.commit(offsets=[TopicPartition(topic, 0, rows[0]["last_stable_offset"])], asynchronous=False)
        behind = lags(eosctl, servers, group, "--within", "1")
        assert (behind[0]["lag"], behind[0]["lag_records"]["readable"]) == (0, 0)
        assert all("--within" in row["lag_records"]["skipped"] for row in behind if row["lag"] > 1)
    finally:
        reader.close()
        producers[0].abort_transaction(30)


def test_cycles_of_a_watch_that_continue_each_other_count_what_a_consumer_then_gets(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    servers, topic = broker.bootstrap_servers, fresh_name("watched")
    create_topic(servers, topic, PARTITIONS)
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    groups = [fresh_name("watcher") for _ in range(3)]
    readers = [consumer(servers, group) for group in groups]
    positions = {group: [0] * PARTITIONS for group in groups}
    watched = Watched(SessionOptions(Quiet(), servers), EvidenceRequest({}, preflight=False))
    for _ in range(4):
        producers, _ = write_history(servers, topic, fresh_name("cycling"), chance)
        ends = [readers[0].get_watermark_offsets(TopicPartition(topic, each), 30)[1] for each in range(PARTITIONS)]
        for group, reader in zip(groups, readers, strict=True):
            if chance.random() < 0.7:
                moved = [chance.randint(*sorted((at, end))) for at, end in zip(positions[group], ends, strict=True)]
                positions[group] = moved
                reader.commit(
                    offsets=[TopicPartition(topic, each, at) for each, at in enumerate(moved)], asynchronous=False
                )
        found = observe(watched, watched.session(Quiet()))
        watched = watched.continuing(found.log)
        lags = {each.labels: each.value for each in found.samples if each.metric == metrics.GROUP_RECORDS}
        listed = json.loads(eosctl("transactions", "lso", "-b", servers, "-o", "json").stdout)["data"]["groups"]
        shown = {row["group_id"]: row["lag_records"]["readable"] for row in listed}
        for group, reader in zip(groups, readers, strict=True):
            if any(positions[group]):
                places = [TopicPartition(topic, each, at) for each, at in enumerate(positions[group])]
                read = sum(read_from(reader, place) for place in places)
                assert (lags[group,], shown.get(group, 0)) == (read, read), f"seed {seed}"
        producers[0].abort_transaction(30)
    for reader in readers:
        reader.close()


def test_a_count_that_may_read_little_at_a_time_comes_to_the_same_end(broker: Sandbox, fresh_name: FreshName) -> None:
    servers, topic = broker.bootstrap_servers, fresh_name("little")
    create_topic(servers, topic, PARTITIONS)
    producers, _ = write_history(servers, topic, fresh_name("little"), random.Random(7))
    with Wire(ClientProperties((servers,))) as wire:
        for each in range(PARTITIONS):
            place = Place(topic, each)
            offsets = partition_offsets(wire, [place])[place]
            end = offsets.last_stable_offset
            starts = [0, end // 2, end]
            whole = tally_records(wire, offsets, starts, RecordTally(), Allowance())
            little, asked = RecordTally(), 0
            while little.counts(0, end) is None:
                little, asked = tally_records(wire, offsets, starts, little, Allowance(200)), asked + 1
            assert [little.counts(at, end) for at in starts] == [whole.counts(at, end) for at in starts]
            assert asked > 2
            unread = tally_records(wire, offsets, starts, whole, Allowance(0))
            assert unread == whole, "what is counted is not read again"
    producers[0].abort_transaction(30)
