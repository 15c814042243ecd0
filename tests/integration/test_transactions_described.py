"""`transactions list`, `describe` and `producers` say of each ID and producer what Kafka's own tool says."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from eosctl.clients.messages import Request, find_group_coordinators
from eosctl.clients.wire import Wire
from eosctl.codecs.transaction_log import decode_transaction_log_value
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.log_directories import LogSegment
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe, wire_to
from tests.integration.every_state import EveryState
from tests.integration.gone_clients import GoneClient
from tests.integration.hanging import UNVERIFIED, hang, initialise
from tests.integration.producers import complete, create_topic, open_transaction, transactional_producer
from tests.kafka_versions import spec_of
from tests.oracle.transaction_log_bytes import TransactionLogOracle, read_by_kafka
from tests.oracle.transactions_tool import Row, find_hanging, run_transactions_tool
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
STAYS_OPEN = {"transaction.timeout.ms": 600_000}


@pytest.fixture(scope="module")
def states(broker: Sandbox, fresh_name: FreshName) -> EveryState:
    """An ID in each state, and one whose open transaction is in two topics; the IDs begin with `described-`."""
    topics = [fresh_name("described"), fresh_name("described")]
    for topic in topics:
        create_topic(broker.bootstrap_servers, topic)
    made = EveryState(broker.bootstrap_servers, lambda state: fresh_name(f"described-{state}"), topics[0], **STAYS_OPEN)
    made.ids["in two topics"] = fresh_name("described-two")
    held = open_transaction(broker.bootstrap_servers, made.ids["in two topics"], topics[0], **STAYS_OPEN)
    held.produce(topics[1], b"also here")
    assert held.flush(30) == 0
    made.producers["in two topics"] = held
    return made


@pytest.fixture(scope="module")
def kafkas(broker: Sandbox, states: EveryState) -> list[list[Row]]:
    """What Kafka's tool prints of all IDs, of each of them, and of the producers of the first topic."""
    each = [("describe", "--transactional-id", name) for name in states.ids.values()]
    producers = ("describe-producers", "--topic", states.topic, "--partition", 0)
    return run_transactions_tool(broker, [("list",), *each, producers])


def answer(eosctl: Eosctl, states: EveryState, *command: str) -> list[dict[str, Any]]:
    ran = eosctl("transactions", command[0], "-b", states.servers, "-o", "json", *command[1:])
    assert ran.exit_code == 0, ran.stderr
    data = json.loads(ran.stdout)["data"]
    return list(data["producers" if command[0] == "producers" else "transactions"])


def by_text(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=str)


def as_kafka_lists(row: dict[str, Any]) -> Row:
    return {
        "TransactionalId": row["transactional_id"],
        "Coordinator": str(row["coordinator"]),
        "ProducerId": str(row["producer_id"]),
        "TransactionState": row["state"],
    }


def as_kafka_describes(row: dict[str, Any]) -> Row:
    return {
        "CoordinatorId": str(row["coordinator"]),
        "TransactionalId": row["transactional_id"],
        "ProducerId": str(row["producer_id"]),
        "ProducerEpoch": str(row["producer_epoch"]),
        "TransactionState": row["state"],
        "TransactionTimeoutMs": str(row["timeout_ms"]),
        "CurrentTransactionStartTimeMs": str(row["start_ms"]),
        "TopicPartitions": ",".join(sorted(row["partition_names"])),
    }


def as_kafka_remembers(row: dict[str, Any]) -> Row:
    return {
        "ProducerId": str(row["producer_id"]),
        "ProducerEpoch": str(row["producer_epoch"]),
        "LatestCoordinatorEpoch": str(-1 if row["coordinator_epoch"] is None else row["coordinator_epoch"]),
        "LastSequence": str(row["last_sequence"]),
        "LastTimestamp": str(row["last_timestamp"]),
        "CurrentTransactionStartOffset": str(row["transaction_start_offset"]),
    }


@pytest.mark.matrix
def test_ids_are_listed_as_by_kafkas_tool(kafkas: list[list[Row]], states: EveryState, eosctl: Eosctl) -> None:
    ours = [row for row in answer(eosctl, states, "list") if row["transactional_id"] in states.ids.values()]
    theirs = [row for row in kafkas[0] if row["TransactionalId"] in states.ids.values()]
    assert by_text(theirs) == by_text(map(as_kafka_lists, ours))
    assert len(theirs) == len(states.ids)


@pytest.mark.matrix
def test_each_state_is_described_as_by_kafkas_tool(kafkas: list[list[Row]], states: EveryState, eosctl: Eosctl) -> None:
    """But for the start of one that has ended, which the tool calls current and counts on."""
    ours = answer(eosctl, states, "describe", *states.ids.values())
    for row, (theirs,) in zip(ours, kafkas[1:-1], strict=True):
        theirs["TopicPartitions"] = ",".join(sorted(theirs["TopicPartitions"].split(",")))
        duration, start = theirs.pop("TransactionDurationMs"), theirs["CurrentTransactionStartTimeMs"]
        assert (duration == "None") == (start == "None")
        if row["state"].startswith("Complete"):
            theirs["CurrentTransactionStartTimeMs"] = "None"
        assert theirs == as_kafka_describes(row)
    assert [row["partition_count"] for row in ours] == [0, 1, 0, 0, 2]
    assert [row["running_ms"] is not None for row in ours] == [False, True, False, False, True]


@pytest.mark.matrix
def test_producers_are_described_as_by_kafkas_tool(kafkas: list[list[Row]], states: EveryState, eosctl: Eosctl) -> None:
    ours = answer(eosctl, states, "producers", "--topic", states.topic)
    theirs = kafkas[-1]
    assert by_text(map(as_kafka_remembers, ours)) == by_text(theirs)
    assert [row["CurrentTransactionStartOffset"] == "None" for row in by_text(theirs)].count(False) == 2


# A transaction that hangs in `__consumer_offsets`: it is found, named with the group that waits, and aborted.


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

    group = OffsetFetchRequest.OffsetFetchRequestGroup
    topic = group.OffsetFetchRequestTopics(name=INPUT.topic, partition_indexes=[0])
    fields = {"groups": [group(group_id=GROUP, topics=[topic])], "require_stable": True}
    answer = wire.request(group_coordinator(wire), Request(OffsetFetchRequest, fields, 8, 8))
    part = answer.groups[0].topics[0].partitions[0]
    return part.committed_offset, part.error_code


@pytest.mark.matrix
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
    reported = {each["topic"]: (each["partition"], each["by"]) for each in asked["partitions"]}
    assert reported[CONSUMER_OFFSETS][0] == place
    assert ID in reported[CONSUMER_OFFSETS][1]
    assert reported[INPUT.topic] == (0, None)

    ran = eosctl(
        "transactions", "abort", "-b", servers, "--topic", CONSUMER_OFFSETS, "--partition", place,
        "--start-offset", row["start_offset"], "--max-transaction-timeout", "0", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    assert eosctl(*hanging).exit_code == 0
    with wire_to(servers) as wire:
        deadline = time.monotonic() + 10
        while (reported := stable_offset(wire))[1] == UNSTABLE_OFFSET_COMMIT and time.monotonic() < deadline:
            time.sleep(0.05)
    assert reported == (3, 0), "the offset of the aborted transaction must not count"


@pytest.mark.matrix
def test_a_group_is_shown_where_it_waits_with_its_lag_and_nothing_that_it_does_not_read(
    unverified: Sandbox, eosctl: Eosctl, fresh_name: FreshName
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


@pytest.mark.matrix
def test_a_missing_group_is_an_error_and_a_group_without_commits_is_not_reported_as_fine(
    unverified: Sandbox, eosctl: Eosctl, fresh_name: FreshName
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


# `eosctl transactions log` on what real coordinators wrote: live, from segment files, under each feature level.


IDS = ("connect-cluster-connect-cluster", "connect-cluster-orders-0", "connect-cluster-orders-1", "ü-😀-0", "empty")


def mixed_load(servers: str) -> None:
    """IDs that are Empty, Ongoing, committed, aborted and initialised again, each by transactions of its own."""
    create_topic(servers, "t", 3)
    transactional_producer(servers, "empty")
    for _ in range(3):
        complete(servers, "connect-cluster-orders-0", "t", commit=True)
    complete(servers, "connect-cluster-orders-1", "t", commit=False)
    complete(servers, "ü-😀-0", "t", commit=True)
    eventually(
        lambda: all(each is None or not each.state.is_open for each in describe(servers, IDS).values()), "the ends"
    )


def segments(sandbox: Sandbox) -> list[Path]:
    return [path for path in sandbox.directory.rglob("__transaction_state-*/*.log") if path.stat().st_size]


@pytest.mark.matrix
@pytest.mark.parametrize("level", [*(pytest.param(each, marks=pytest.mark.variation) for each in "01"), "2"])
def test_the_log_is_read_as_kafka_reads_it_live_and_from_its_files(
    level: str, make_sandbox: Callable[..., Sandbox], kafka_version: str, eosctl: Eosctl
) -> None:
    """Brokers before 4.0 have one level, which is 0."""
    if KafkaVersion.parse(kafka_version) < KafkaVersion(4, 0):
        features, level = {}, "0"
    else:
        features = {"transaction.version": level}
    fifty = {"transaction.state.log.num.partitions": "50"}
    sandbox = make_sandbox(kafka_version=str(kafka_version), features=features, broker_config=fifty)
    servers = sandbox.bootstrap_servers
    mixed_load(servers)
    held_open = open_transaction(servers, "connect-cluster-connect-cluster", "t")
    live = eosctl("transactions", "log", "-b", servers, "--group-id", "connect-cluster", "-o", "json")
    assert live.exit_code == 0, live.stderr
    rows = {row["transactional_id"]: row for row in json.loads(live.stdout)["data"]["transactional_ids"]}
    assert set(rows) == set(IDS)
    reported = describe(servers, IDS)
    for name, row in rows.items():
        known = reported[name]
        assert known is not None
        assert (row["state"], row["producer_id"], row["producer_epoch"]) == (
            known.state.value,
            known.producer.producer_id,
            known.producer.producer_epoch,
        )
        assert row["log_partition"] == coordinator_partition(name, 50)
        assert row["coordinator"] == known.coordinator
        assert row["value_version"] == (0 if level == "0" else 1)
    assert rows["connect-cluster-connect-cluster"]["owner"] == "leader of Connect cluster connect-cluster"
    files = [argument for path in segments(sandbox) for argument in ("--segment", path)]
    offline = eosctl("transactions", "log", *files, "--partitions", "50", "--expiration-ms", "604800000", "-o", "json")
    assert offline.exit_code == 0, offline.stderr
    same = ("state", "producer_id", "producer_epoch", "log_partition", "offset", "last_update_ms", "records")
    from_files = {row["transactional_id"]: row for row in json.loads(offline.stdout)["data"]["transactional_ids"]}
    assert {name: [row[key] for key in same] for name, row in from_files.items()} == {
        name: [row[key] for key in same] for name, row in rows.items()
    }
    _hold_against_kafka(sandbox)
    held_open.abort_transaction(30)


def _hold_against_kafka(sandbox: Sandbox) -> None:
    count = 0
    with TransactionLogOracle(sandbox.kafka_version) as oracle:
        for path in segments(sandbox):
            for record in LogSegment(path):
                answer = oracle.value(record.value)
                assert answer["left"] == 0
                assert decode_transaction_log_value(record.value) == read_by_kafka(answer)
                count += 1
    assert count >= 20


@pytest.mark.matrix
@pytest.mark.variation
def test_history_describes_the_event_of_each_record(make_sandbox: Callable[..., Sandbox], eosctl: Eosctl) -> None:
    servers = make_sandbox(features={"transaction.version": "0"}).bootstrap_servers
    mixed_load(servers)
    ran = eosctl("transactions", "log", "connect-cluster-orders-0", "--history", "-b", servers, "-o", "json")
    words = [row["words"] for row in json.loads(ran.stdout)["data"]["history"]]
    assert words[0] == "initialised, epoch 0"
    assert words[1] == "transaction in progress in 1 partition"
    assert words[2] == "commit decided; markers are being written"
    assert words[3].startswith("committed after ")
    assert words[4] == "initialised, epoch 0 to 1: the producer before it is fenced"
    fenced = open_transaction(servers, "connect-cluster-orders-1", "t")
    assert eosctl("fence", "-b", servers, "--transactional-id", "connect-cluster-orders-1", "--yes").exit_code == 0
    ran = eosctl("transactions", "log", "connect-cluster-orders-1", "--history", "-b", servers, "-o", "json")
    words = [row["words"] for row in json.loads(ran.stdout)["data"]["history"]]
    assert "abort decided by its coordinator (timeout or fencing); markers are being written" in words
    del fenced


@pytest.mark.matrix
def test_idle_ids_near_expiry_are_found_with_their_owner(sandbox: Sandbox, eosctl: Eosctl, fresh_name) -> None:
    name = fresh_name("connect-cluster-idle")
    transactional_producer(sandbox.bootstrap_servers, name)
    ran = eosctl("transactions", "log", name, "-b", sandbox.bootstrap_servers, "--expiration-ms", "1", "-o", "json")
    assert ran.exit_code == 0, "nobody that is known owns it"
    (finding,) = json.loads(ran.stdout)["data"]["findings"]
    assert (finding["id"], finding["severity"], finding["subject"]) == ("EOS117", "info", name)
    assert finding["name"] == "transactional-id-near-expiry"


# `eosctl transactions` as a user who may not see or do everything.


LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
DENIED_IDS, TOPICS, CLUSTER = ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC, ResourceType.BROKER
DESCRIBE, READ, ALTER = AclOperation.DESCRIBE, AclOperation.READ, AclOperation.ALTER
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
ALL_IDS = (DENIED_IDS, "*", LITERAL, DESCRIBE, ALLOW)
ALL_TOPICS = (TOPICS, "*", LITERAL, READ, ALLOW)
SEE_ACLS = (CLUSTER, "kafka-cluster", LITERAL, DESCRIBE, ALLOW)

Grant = tuple[ResourceType, str, ResourcePatternType, AclOperation, AclPermissionType]
Tool = Callable[..., Ran]


@pytest.fixture(scope="module")
def site() -> Iterator[Sandbox]:
    """A hanging transaction in `orders`, a live one and a complete one beside it."""
    with Sandbox(SandboxSpec(broker_config=UNVERIFIED)) as sandbox:
        servers = sandbox.bootstrap_servers
        create_topic(servers, "orders")
        live = open_transaction(servers, "live-0", "orders")
        complete(servers, "done-0", "orders", commit=True)
        with wire_to(servers) as wire:
            hang(wire, TopicPartition("orders", 0), "hung-0")
        yield sandbox
        live.abort_transaction(30)


@pytest.fixture
def tool(site: Sandbox, tmp_path: Path, eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    identity = tmp_path / "client.properties"
    identity.write_text(site.client_properties("tool"))
    return lambda command, *args: eosctl("transactions", command, "--command-config", identity, *args)


@contextmanager
def granted(site: Sandbox, *grants: Grant) -> Iterator[None]:
    """User:tool has these ACLs inside the block."""
    admin = AdminClient({"bootstrap.servers": site.bootstrap_servers})
    bindings = [
        AclBinding(kind, name, pattern, "User:tool", "*", operation, permission)
        for kind, name, pattern, operation, permission in grants
    ]
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, "User:tool", None, AclOperation.ANY, AclPermissionType.ANY
    )
    for future in admin.create_acls(bindings).values():
        future.result(30)
    eventually(lambda: len(admin.describe_acls(everything).result(30)) == len(bindings), "the ACLs at the broker")
    try:
        yield
    finally:
        for future in admin.delete_acls([everything]).values():
            future.result(30)
        eventually(lambda: not admin.describe_acls(everything).result(30), "the end of the ACLs")


def hidden(ran: Ran, exit_code: int = 3) -> dict:
    assert ran.exit_code == exit_code, ran.stderr
    return json.loads(ran.stdout)["data"]["hidden"]


def test_list_reports_that_it_may_not_see_all(site: Sandbox, tool: Tool):
    with granted(site, (DENIED_IDS, "done-", PREFIXED, DESCRIBE, ALLOW)):
        ran = tool("list", "-o", "json")
        said = tool("list")
    assert [each["transactional_id"] for each in json.loads(ran.stdout)["data"]["transactions"]] == ["done-0"]
    assert hidden(ran)["may_see_all"] is False
    assert "User:tool lacks Describe on topic __transaction_state" in hidden(ran)["count"]["skipped"]
    assert "lacks Describe on some transactional IDs, and brokers omit these IDs: how many is unknown" in said.stdout


def test_list_counts_what_it_may_not_see_where_it_may_read_the_transaction_log(site: Sandbox, tool: Tool):
    with granted(
        site, (DENIED_IDS, "done-", PREFIXED, DESCRIBE, ALLOW), (TOPICS, "__transaction_state", LITERAL, READ, ALLOW)
    ):
        assert hidden(tool("list", "-o", "json"))["count"] == 2
        assert "brokers omit these IDs: 2 IDs" in tool("list").stdout


def test_list_is_certain_where_all_ids_and_the_acls_may_be_seen(site: Sandbox, tool: Tool):
    with granted(site, ALL_IDS, SEE_ACLS, ALL_TOPICS):
        assert hidden(tool("list", "-o", "json"), 0) == {"may_see_all": True, "count": 0, "uncertain": None}
    with granted(site, ALL_IDS):
        assert "a Deny on some transactional IDs cannot be ruled out" in hidden(tool("list", "-o", "json"))["uncertain"]


def test_hanging_refuses_to_judge_where_ids_are_hidden(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS):
        ran = tool("hanging", "--max-transaction-timeout", "0")
    assert ran.exit_code == 5
    assert "User:tool lacks Describe on transactional ID *" in ran.stderr
    assert "would look as if it hung" in ran.stderr


def test_hanging_sees_a_deny_behind_a_grant_on_all(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS, ALL_IDS, SEE_ACLS, (DENIED_IDS, "live-", PREFIXED, DESCRIBE, DENY)):
        ran = tool("hanging", "--max-transaction-timeout", "0")
    assert ran.exit_code == 5
    assert "refused: live-…" in ran.stderr


def test_hanging_names_the_transactions_that_it_could_not_rule_out(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS, ALL_IDS, (DENIED_IDS, "live-", PREFIXED, DESCRIBE, DENY)):
        ran = tool("hanging", "--max-transaction-timeout", "0", "-o", "json")
    assert ran.exit_code == 1
    data = json.loads(ran.stdout)["data"]
    assert "a Deny on some transactional IDs cannot be ruled out" in data["uncertain"]
    with granted(site, ALL_TOPICS, ALL_IDS, SEE_ACLS):
        certain = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"]
    assert certain["uncertain"] is None
    assert [each["transactional_id"] for each in certain["transactions"]] == ["hung-0"]


def test_producers_names_the_topic_that_may_not_be_read(site: Sandbox, tool: Tool):
    with granted(site, (TOPICS, "orders", LITERAL, DESCRIBE, ALLOW)):
        ran = tool("producers", "orders")
    assert ran.exit_code == 5
    assert "User:tool lacks Read on topic orders" in ran.stderr


def test_describe_shows_what_it_may_and_ends_as_not_authorised(site: Sandbox, tool: Tool):
    with granted(site, (DENIED_IDS, "done-0", LITERAL, DESCRIBE, ALLOW)):
        ran = tool("describe", "done-0", "live-0", "-o", "json")
    assert ran.exit_code == 5
    rows = {each["transactional_id"]: each for each in json.loads(ran.stdout)["data"]["transactions"]}
    assert rows["done-0"]["state"] == "CompleteCommit"
    assert rows["live-0"]["error"] == "User:tool lacks Describe on transactional ID live-0"


def test_log_names_the_topic_that_may_not_be_read(site: Sandbox, tool: Tool):
    ran = tool("log")
    assert ran.exit_code == 5
    assert "__transaction_state" in ran.stderr


def test_abort_names_the_right_on_the_cluster_and_changes_nothing_without_it(site: Sandbox, tool: Tool):
    where = ("--topic", "orders", "--partition", "0", "--max-transaction-timeout", "0", "--producer-id")
    with granted(site, ALL_TOPICS, ALL_IDS):
        rows = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"][
            "transactions"
        ]
        (hung,) = rows
        ran = tool("abort", *where, hung["producer_id"], "--yes")
        assert ran.exit_code == 5
        assert "User:tool lacks Alter (brokers before 3.8: ClusterAction) on cluster kafka-cluster" in ran.stderr
        still = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"][
            "transactions"
        ]
        assert [each["start_offset"] for each in still] == [hung["start_offset"]]


def test_abort_needs_alter_on_the_cluster_and_no_more_than_hanging_does(site: Sandbox, tool: Tool):
    with wire_to(site.bootstrap_servers) as wire:
        create_topic(site.bootstrap_servers, "payments")
        hung = hang(wire, TopicPartition("payments", 0), "hung-1")
    with granted(site, ALL_TOPICS, ALL_IDS, (CLUSTER, "kafka-cluster", LITERAL, ALTER, ALLOW)):
        ran = tool("abort", "--topic", "payments", "--partition", "0", "--max-transaction-timeout", "0", "--yes")
    assert ran.exit_code == 0, ran.stderr
    assert f"the last stable offset moved from {hung.start_offset} to {hung.start_offset + 2}" in ran.stdout


@pytest.mark.variation
def test_a_commit_is_refused_by_who_may_not_see_all_of_its_topics(site: Sandbox, eosctl: Eosctl, tmp_path: Path):
    """The coordinator omits topics that may not be described: that is no sign of a working client."""
    plan, identity = tmp_path / "commit.plan", tmp_path / "client.properties"
    identity.write_text(site.client_properties("tool"))
    with wire_to(site.bootstrap_servers) as wire:
        client = GoneClient(wire, "gone-0")
        for topic in ("seen", "unseen"):
            create_topic(site.bootstrap_servers, topic)
            client.write(TopicPartition(topic, 0), b"one")
        named = ("--producer-id", client.producer.producer_id, "--producer-epoch", client.producer.producer_epoch)
        where = ("-b", site.bootstrap_servers, "--watch-client", "0")
        planned = eosctl("transactions", "commit", "gone-0", *named, *where, "--plan-file", plan)
        assert planned.exit_code == 0, planned.stderr
        log = (TOPICS, "__transaction_state", LITERAL, READ, ALLOW)
        ours = (
            (TOPICS, "seen", LITERAL, READ, ALLOW),
            ALL_IDS,
            (DENIED_IDS, "gone-0", LITERAL, AclOperation.WRITE, ALLOW),
            log,
        )
        with granted(site, *ours):
            refused = eosctl("apply", plan, "--command-config", identity, "--yes")
        assert client.end(commit=False) == 0
    assert refused.exit_code == 8, refused.stderr
    unknown = "whether the client of gone-0 still writes is unknown in unseen-0, which is hidden"
    assert f"{unknown}: Describe on its topic is missing" in refused.stderr
