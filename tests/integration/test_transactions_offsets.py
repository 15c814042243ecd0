"""A transaction that hangs in `__consumer_offsets`: it is found, named with the group that waits, and aborted."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Committed

from eosctl.clients.messages import Request, find_group_coordinators
from eosctl.clients.wire import Wire
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import TopicPartition, coordinator_partition
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.integration.hanging import UNVERIFIED, initialise
from tests.integration.producers import complete, create_topic, open_transaction
from tests.kafka_versions import spec_of
from tests.oracle.transactions_tool import find_hanging
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
GROUP, ID = "copier", "copier-0"
INPUT = TopicPartition("input", 0)
UNSTABLE_OFFSET_COMMIT = 88
BEFORE_ADDING_BY_ITSELF = 4
"""From TxnOffsetCommit v5 on (transaction.version 2) a coordinator adds its partition to the transaction by itself."""


@pytest.fixture(scope="module")
def unverified(kafka_version: str) -> Iterator[Sandbox]:
    """A broker that does not verify partitions, with a group that committed offset 3."""
    settings = {**UNVERIFIED, "offsets.topic.num.partitions": "50"}
    with Sandbox(spec_of(kafka_version, broker_config=settings)) as sandbox:
        create_topic(sandbox.bootstrap_servers, INPUT.topic)
        settings = {"bootstrap.servers": sandbox.bootstrap_servers, "group.id": GROUP}
        committer = Consumer({**settings, "log_level": 0})
        eventually(lambda: commits(committer, 3), "the coordinator of the group")
        committer.close()
        yield sandbox


def commits(consumer: Consumer, offset: int) -> bool:
    """Whether its coordinator is there to take the offset of INPUT."""
    return committed(consumer, [Committed(INPUT.topic, 0, offset)])


def committed(consumer: Consumer, offsets: list[Committed]) -> bool:
    """Whether its coordinator is there to take the offsets."""
    try:
        consumer.commit(offsets=offsets, asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() not in {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}:
            raise
        return False
    return True


def group_coordinator(wire: Wire) -> int:
    (found,) = wire.request_any(find_group_coordinators([GROUP])).coordinators
    assert found.error_code == 0
    return int(found.node_id)


def commit_in_a_transaction(wire: Wire, offset: int) -> None:
    """An offset commit under a producer whose transaction no coordinator knows."""
    from kafka.protocol.producer.transaction import TxnOffsetCommitRequest

    producer = initialise(wire, ID)
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    part = topic.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    fields = {
        "transactional_id": ID,
        "group_id": GROUP,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "topics": [topic(name=INPUT.topic, partitions=[part])],
    }
    request = Request(TxnOffsetCommitRequest, fields, max_version=BEFORE_ADDING_BY_ITSELF)
    answer = wire.request(group_coordinator(wire), request)
    assert answer.topics[0].partitions[0].error_code == 0, answer


def stable_offset(wire: Wire) -> tuple[int, int]:
    """Committed offset and error code, as a member that reads committed asks for them (KIP-447)."""
    from kafka.protocol.consumer import OffsetFetchRequest

    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=INPUT.topic, partition_indexes=[0])
    fields = {"group_id": GROUP, "topics": [topic], "require_stable": True}
    answer = wire.request(group_coordinator(wire), Request(OffsetFetchRequest, fields, 7, 7))
    part = answer.topics[0].partitions[0]
    return part.committed_offset, part.error_code


def test_offset_commits_that_hang_are_found_with_the_group_that_waits_and_aborted(
    unverified: Sandbox, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    servers = unverified.bootstrap_servers
    with wire_to(servers) as wire:
        assert stable_offset(wire) == (3, 0)
        commit_in_a_transaction(wire, 7)
        assert stable_offset(wire)[1] == UNSTABLE_OFFSET_COMMIT

    hanging = ("transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0")
    ran = eosctl(*hanging, "-o", "json")
    assert ran.exit_code == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["data"]["transactions"]
    place = coordinator_partition(GROUP, 50)
    assert (row["topic"], row["partition"], row["transactional_id"]) == (CONSUMER_OFFSETS, place, ID)
    assert row["pending_offset_commits"] == [{"group_id": GROUP, "partitions": ["input-0"]}]
    assert row["advice"] == "abort"
    assert "members of group copier that read committed: their offsets for input-0" in eosctl(*hanging).stdout
    ((topic, partition, producer_id, *_),) = find_hanging(unverified, [CONSUMER_OFFSETS, INPUT.topic])
    assert (topic, partition, producer_id) == (CONSUMER_OFFSETS, place, row["producer_id"])

    ran = eosctl("transactions", "lso", "-b", servers, "--group", GROUP, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    asked = json.loads(ran.stdout)["data"]
    assert asked["group"]["pending_offset_commits"] == ["input-0"]
    told = {each["topic"]: (each["partition"], each["by"]) for each in asked["partitions"]}
    assert told[CONSUMER_OFFSETS][0] == place
    assert ID in told[CONSUMER_OFFSETS][1]
    assert told[INPUT.topic] == (0, None)

    ran = eosctl(
        "transactions", "abort", "-b", servers, "--topic", CONSUMER_OFFSETS, "--partition", place,
        "--start-offset", row["start_offset"], "--max-transaction-timeout", "0", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    assert eosctl(*hanging).exit_code == 0
    with wire_to(servers) as wire:
        deadline = time.monotonic() + 10
        while (told := stable_offset(wire))[1] == UNSTABLE_OFFSET_COMMIT and time.monotonic() < deadline:
            time.sleep(0.05)
    assert told == (3, 0), "the offset of the aborted transaction must not count"


def test_a_group_is_shown_where_it_waits_with_its_lag_and_nothing_that_it_does_not_read(
    unverified: Sandbox, eosctl: Eosctl, fresh_name: Callable[[str], str]
) -> None:
    servers, group = unverified.bootstrap_servers, fresh_name("billing")
    name, quiet, other = (fresh_name(each) for each in ("read", "quiet", "unread"))
    for each in (name, quiet, other):
        create_topic(servers, each)
    written = complete(servers, fresh_name("done"), name, commit=True)
    assert written is not None
    committer = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    places = [Committed(topic, 0, 0) for topic in (name, quiet)]
    eventually(lambda: committed(committer, places), "the coordinator of the group")
    committer.close()
    holder = fresh_name("holder")
    holders = [open_transaction(servers, *each) for each in ((holder, name), (fresh_name("holder"), other))]

    ran = eosctl("transactions", "lso", "-b", servers, "--group", group, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    rows = json.loads(ran.stdout)["data"]["partitions"]
    waits = {each["topic"]: (each["committed_offset"], each["lag"], each["group_held_back"]) for each in rows}
    assert waits == {name: (0, 2, True), quiet: (0, 0, False)}
    shown = eosctl("transactions", "lso", "-b", servers, "--group", group).stdout
    assert f"Group {group} (Empty) may wait for a transaction in 1 of the 2 partitions that it reads." in shown
    endings = [line for line in shown.splitlines() if "to end it now: " in line]
    assert [each.partition("to end it now: ")[2] for each in endings] == [f"eosctl fence --transactional-id {holder}"]
    silent = eosctl("transactions", "hanging", "-b", servers, "--topic", name)
    assert silent.exit_code == 0, silent.stderr
    assert "1 partition is held back by open transactions that are in progress" in silent.stdout
    assert f"eosctl transactions lso --topic {name}" in silent.stdout
    assert len(holders) == 2


def test_a_group_that_does_not_exist_is_an_error_and_one_without_commits_is_not_told_that_all_is_well(
    unverified: Sandbox, eosctl: Eosctl, fresh_name: Callable[[str], str]
) -> None:
    lso = ("transactions", "lso", "-b", unverified.bootstrap_servers, "--group")
    missing = eosctl(*lso, "copie")
    assert missing.exit_code == 2
    assert "there is no group copie" in missing.stderr
    assert "did you mean copier?" in missing.stderr
    name, group = fresh_name("joined"), fresh_name("new")
    create_topic(unverified.bootstrap_servers, name)
    settings = {"bootstrap.servers": unverified.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer({**settings, "log_level": 0})
    try:
        consumer.subscribe([name])
        eventually(lambda: consumer.poll(0.1) is None and consumer.assignment(), "the group's first member")
        ran = eosctl(*lso, group)
        assert ran.exit_code == 3, ran.stdout
        assert f"Group {group} (Stable) has committed no offsets" in ran.stdout
        assert eosctl(*lso, group, "--topic", name).exit_code == 0
    finally:
        consumer.close()
