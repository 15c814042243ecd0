"""`eosctl transactions hanging` and `abort` among transactions in every state, held against Kafka's find-hanging."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.versions import KafkaVersion
from eosctl.operations.session import Session
from eosctl.sandbox.java import compile_java
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import leaderless
from eosctl.sources.kafka_transactions import transaction_log_leaders
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import coordinator_of, describe, state_of, wire_to
from tests.integration.hanging import UNVERIFIED, Hung, expected, found, hang, initialise, produce, transactional_batch
from tests.integration.producers import complete, open_transaction, transactional_producer
from tests.jvm import Oracle, client_of, jars_of, java_with
from tests.kafka_versions import spec_of, versions_of
from tests.oracle.transactions_tool import find_hanging
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]
TOPICS = ("busy", "quiet", "prepared")
SETTINGS = {
    **UNVERIFIED,
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "2",
}
JUST_AFTER_A_COMMIT = "connect-cluster-orders-2"
"""With transaction.version 0 and 1 its batch may be of the committed transaction, as far as clocks show."""
STAYS_OPEN = {"transaction.timeout.ms": 600_000}
"""For as long as all tests of the stage take on a busy machine."""


@dataclass
class Stage:
    """Two brokers with transactions in every state; all partitions are led by broker 1 and also on broker 2."""

    sandbox: Sandbox
    hung: list[Hung] = field(default_factory=list)
    live: dict[str, Producer] = field(default_factory=dict)

    @property
    def servers(self) -> str:
        return self.sandbox.bootstrap_servers.split(",")[0]


def create(servers: str, topic: str, partitions: int, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    new = NewTopic(topic, num_partitions=partitions, replica_assignment=[[1, 2]] * partitions, config=config)
    make_topic(admin, new)


def hang_after_a_commit(stage: Stage, wire, place: TopicPartition, name: str) -> Hung:
    """A batch that comes after the end of its transaction: the ID is known, its transaction complete."""
    complete(stage.servers, name, place.topic, commit=True)
    eventually(lambda: state_of(stage.servers, name) == "CompleteCommit", f"the commit of {name}")
    producer = describe(stage.servers, [name])[name].producer
    next_sequence = 1 if _same_epoch_was_used(stage, place, producer) else 0
    offset = produce(wire, place, name, transactional_batch(producer, next_sequence))
    return Hung(place, producer, offset, name)


def _same_epoch_was_used(stage: Stage, place: TopicPartition, producer) -> bool:
    """Whether the partition has seen a batch of this epoch: not where a commit raised it (transaction.version 2)."""
    from eosctl.sources.kafka_transactions import answering_producers

    with wire_to(stage.servers) as wire:
        found = answering_producers(wire, {place: 1}).producers
    described = {each.producer: each.last_sequence for each in found}
    return described.get(producer, -1) >= 0


@pytest.fixture(scope="module")
def stage(kafka_version: str) -> Iterator[Stage]:
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=SETTINGS)) as sandbox:
        made = Stage(sandbox)
        servers = made.servers
        create(servers, "busy", 4)
        create(servers, "quiet", 1)
        create(servers, "prepared", 1, **{"min.insync.replicas": "2"})
        made.live["long"] = open_transaction(servers, "live-long", "busy", **STAYS_OPEN)
        made.live["commit"] = open_transaction(servers, "ends-in-commit", "prepared", **STAYS_OPEN)
        made.live["abort"] = open_transaction(servers, "ends-in-abort", "prepared", **STAYS_OPEN)
        complete(servers, "committed", "busy", commit=True)
        complete(servers, "aborted", "busy", commit=False)
        with wire_to(servers) as wire:
            made.hung = [
                hang(wire, TopicPartition("busy", 0), "connect-cluster-orders-0"),
                hang(wire, TopicPartition("busy", 1), None),
                hang(wire, TopicPartition("busy", 1), "connect-cluster-orders-1"),
                hang_after_a_commit(made, wire, TopicPartition("quiet", 0), "connect-cluster-orders-2"),
                hang(wire, TopicPartition("prepared", 0), "connect-cluster-orders-3"),
            ]
            working = initialise(wire, "at-work-elsewhere")
            made.live["elsewhere"] = _work_elsewhere(made)
            made.hung.append(_hang_beside(wire, working))
        yield made


def _work_elsewhere(stage: Stage) -> Producer:
    """A live transaction of `at-work-elsewhere` in another topic than the one it hangs in."""
    return open_transaction(stage.servers, "at-work-elsewhere", "busy", **STAYS_OPEN)


def _hang_beside(wire, _before) -> Hung:
    (described,) = describe(wire.properties.bootstrap_servers[0], ["at-work-elsewhere"]).values()
    place = TopicPartition("quiet", 0)
    offset = produce(wire, place, "at-work-elsewhere", transactional_batch(described.producer))
    return Hung(place, described.producer, offset, "at-work-elsewhere")


def hanging(eosctl: Eosctl, stage: Stage, *more: str) -> dict:
    ran = eosctl("transactions", "hanging", "-b", stage.servers, "--max-transaction-timeout", "0", "-o", "json", *more)
    assert ran.exit_code in {0, 1}, ran.stderr
    return json.loads(ran.stdout)["data"]


def as_kafka_prints(rows: list[dict]) -> list[tuple]:
    names = (
        "topic",
        "partition",
        "producer_id",
        "producer_epoch",
        "coordinator_epoch",
        "start_offset",
        "last_timestamp",
    )
    return sorted(tuple(row[name] for name in names) for row in rows)


def test_all_that_hangs_is_found_and_nothing_else_as_kafkas_own_tool_has_it(stage: Stage, eosctl: Eosctl):
    answer = hanging(eosctl, stage)
    assert found(answer["transactions"]) == expected(stage.hung)
    every_topic = AdminClient({"bootstrap.servers": stage.servers}).list_topics(timeout=30).topics
    assert {*TOPICS, "__transaction_state"} <= every_topic.keys()
    assert as_kafka_prints(answer["transactions"]) == find_hanging(stage.sandbox, every_topic)
    under_way = {row["transactional_id"] for row in answer["in_progress"]}
    assert under_way == {"live-long", "ends-in-commit", "ends-in-abort", "at-work-elsewhere"}


def test_each_hanging_transaction_is_reported_with_its_id_its_owner_and_an_advice(stage: Stage, eosctl: Eosctl):
    rows = {
        row["transactional_id"]: row for row in hanging(eosctl, stage, "--group-id", "connect-cluster")["transactions"]
    }
    assert rows[None]["reason"] == "no coordinator knows its producer ID"
    assert rows[None]["advice"] == "abort"
    assert rows["connect-cluster-orders-2"]["reason_id"] == "partition-not-in-transaction"
    assert rows["connect-cluster-orders-2"]["state"] == "CompleteCommit"
    assert rows["connect-cluster-orders-0"]["owner"].startswith("unknown, shape of")
    assert rows["at-work-elsewhere"]["advice"] == "fence"
    assert "eosctl fence --transactional-id at-work-elsewhere" in rows["at-work-elsewhere"]["next"]
    shown = eosctl(
        "transactions", "hanging", "-b", stage.servers, "--max-transaction-timeout", "0", "--topic", "busy:1"
    )
    searched = "the transaction log was searched for 1 producer ID that no coordinator knows: 0.0 MiB read"
    assert searched in " ".join(f"{shown.stdout} {shown.stderr}".split())


def test_topics_and_age_narrow_the_search(stage: Stage, eosctl: Eosctl):
    quiet = hanging(eosctl, stage, "--topic", "quiet")
    assert found(quiet["transactions"]) == [row for row in expected(stage.hung) if row[0] == "quiet"]
    assert quiet["searched_partitions"] == 1
    one = hanging(eosctl, stage, "--topic", "busy:1")
    assert {row["partition"] for row in one["transactions"]} == {1}
    ran = eosctl("transactions", "hanging", "-b", stage.servers)
    assert ran.exit_code == 0, "a quarter of an hour has not passed"
    assert ran.stdout.startswith("0 hanging transactions in ")


def test_one_whose_timestamp_lies_in_the_future_is_undecided_until_it_is_aborted_by_force(
    stage: Stage, eosctl: Eosctl, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    create(stage.servers, "ahead", 1)
    with wire_to(stage.servers) as wire:
        hung = hang(wire, TopicPartition("ahead", 0), "by-a-clock-ahead", ahead_ms=1_800_000)
    arguments = ("transactions", "hanging", "-b", stage.servers, "--topic", "ahead")
    ran = eosctl(*arguments, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["transactions"], found(data["undated"])) == (3, [], expected([hung]))
    assert data["undated"][0]["reason"].endswith("s in the future")
    assert data["cluster_clock"]["ahead_ms"] == pytest.approx(0, abs=1000)
    assert "their age is not known" in eosctl(*arguments).stdout
    abort = data["undated"][0]["next"].rpartition("eosctl ")[2].split()
    refused = eosctl(*abort[:-1], "-b", stage.servers, "--yes")
    assert refused.exit_code == 8
    assert "in the future, so its age is not known" in refused.stderr
    assert eosctl(*abort, "-b", stage.servers, "--yes").exit_code == 0
    assert eosctl(*arguments).exit_code == 0


def test_by_a_clock_that_is_hours_late_nothing_is_young(
    stage: Stage, eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    monkeypatch.setattr(Session, "now", staticmethod(lambda: time.time_ns() // 1_000_000 - 7_200_000))
    ran = eosctl("transactions", "hanging", "-b", stage.servers, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, found(data["undated"])) == (3, expected(stage.hung))
    assert data["cluster_clock"]["ahead_ms"] == pytest.approx(7_200_000, abs=1000)
    saved = eosctl("snapshot", "save", tmp_path / "late", "-b", stage.servers)
    assert saved.exit_code == 3, "there is no Connect here to save"
    again = eosctl("transactions", "hanging", "--snapshot", tmp_path / "late", "-o", "json")
    assert found(json.loads(again.stdout)["data"]["undated"]) == expected(stage.hung)


def test_the_last_stable_offset_is_shown_with_the_transaction_that_holds_it(stage: Stage, eosctl: Eosctl):
    ran = eosctl("transactions", "lso", "-b", stage.servers, "quiet", "-o", "json")
    (row,) = json.loads(ran.stdout)["data"]["partitions"]
    first = next(each for each in stage.hung if each.topic_partition.topic == "quiet")
    assert row["last_stable_offset"] == first.start_offset
    assert row["held_back"] == row["high_watermark"] - first.start_offset
    assert [holder["transactional_id"] for holder in row["holders"]] == ["connect-cluster-orders-2"]
    assert 0 <= row["held_ms"] < 600_000


def test_watching_draws_and_answers_with_the_last_look(stage: Stage, eosctl: Eosctl):
    ran = eosctl("transactions", "lso", "-b", stage.servers, "--watch", "0.05", "--looks", "3")
    assert ran.stderr.count("partitions blocked") == 2
    assert ran.stdout.count("partitions blocked") == 1


@pytest.mark.variation
def test_the_advice_is_to_wait_while_a_coordinator_ends_a_transaction(stage: Stage, eosctl: Eosctl):
    for name in ("ends-in-commit", "ends-in-abort"):
        assert coordinator_of(stage.servers, name) in {1, 2}
    stage.sandbox.stop_broker(2)
    try:
        stage.live["commit"].commit_transaction(30)
        stage.live["abort"].abort_transaction(30)
        assert state_of(stage.servers, "ends-in-commit") == "PrepareCommit"
        assert state_of(stage.servers, "ends-in-abort") == "PrepareAbort"
        answer = hanging(eosctl, stage)
        advice = {row["transactional_id"]: (row["state"], row["advice"]) for row in answer["in_progress"]}
        assert advice["ends-in-commit"] == ("PrepareCommit", "wait")
        assert advice["ends-in-abort"] == ("PrepareAbort", "wait")
        assert found(answer["transactions"]) == expected(stage.hung)
        assert as_kafka_prints(answer["transactions"]) == find_hanging(stage.sandbox, TOPICS)
        refused = eosctl("transactions", "abort", "-b", stage.servers, "--topic", "prepared", "--partition", "0",
                         "--start-offset", "0", "--max-transaction-timeout", "0", "--yes")  # fmt: skip
        assert refused.exit_code == 8
        assert "PrepareCommit" in refused.stderr
    finally:
        stage.sandbox.start_broker(2)
    eventually(lambda: state_of(stage.servers, "ends-in-commit") == "CompleteCommit", "the end of the commit")
    eventually(lambda: state_of(stage.servers, "ends-in-abort") == "CompleteAbort", "the end of the abort")


def test_a_live_transaction_is_refused_and_forcing_it_names_the_damage(stage: Stage, eosctl: Eosctl):
    (row,) = [row for row in hanging(eosctl, stage)["in_progress"] if row["transactional_id"] == "live-long"]
    place = ("--topic", "busy", "--partition", str(row["partition"]), "--producer-id", str(row["producer_id"]))
    refused = eosctl("transactions", "abort", "-b", stage.servers, *place, "--yes")
    assert refused.exit_code == 8
    assert "does not hang: its coordinator has it as Ongoing under live-long" in refused.stderr
    assert "eosctl fence --transactional-id live-long" in refused.stderr, "the way that breaks nothing"
    assert state_of(stage.servers, "live-long") == "Ongoing"
    forced = eosctl("transactions", "abort", "-b", stage.servers, *place, "--force", "--dry-run", "-o", "json")
    assert forced.exit_code == 0, forced.stderr
    (step,) = json.loads(forced.stdout)["data"]["steps"]
    assert step["kind"] == "abort-transaction"


def test_abort_cures_each_and_readers_of_committed_records_move_on(
    stage: Stage, eosctl: Eosctl, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plain = Producer({"bootstrap.servers": stage.servers})
    plain.produce("quiet", b"behind")
    assert plain.flush(30) == 0
    reader = committed_reader(stage.servers, "quiet")
    assert b"behind" not in committed_values(reader, until=None)
    for hung in stage.hung:
        at_work = ["--force"] if hung.transactional_id in {"at-work-elsewhere", JUST_AFTER_A_COMMIT} else []
        ran = eosctl(
            "transactions", "abort", "-b", stage.servers, "--topic", hung.topic_partition.topic,
            "--partition", hung.topic_partition.partition, "--start-offset", hung.start_offset,
            "--max-transaction-timeout", "0", "--yes", *at_work,
        )  # fmt: skip
        assert ran.exit_code == 0, ran.stderr
        assert "aborted; the last stable offset" in ran.stdout
    assert b"behind" in committed_values(reader, until=b"behind")
    reader.close()
    assert hanging(eosctl, stage)["transactions"] == []
    assert find_hanging(stage.sandbox, TOPICS) == []
    stage.live["long"].commit_transaction(30)
    stage.live["elsewhere"].commit_transaction(30)


# A transaction that ends while one of its partitions has no leader: on 4.3 it hangs there, others write the marker.


FORGETS = KafkaVersion(4, 3, 0)
"""From here on a coordinator takes a partition without leader for one that was deleted."""

LOST, KEPT = TopicPartition("on-broker-2", 0), TopicPartition("on-broker-1", 0)
ONE_REPLICA = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture
def two_brokers(kafka_version: str) -> Iterator[Sandbox]:
    """Two brokers, each of which alone holds a topic."""
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=ONE_REPLICA)) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        new = [NewTopic(each.topic, 1, replica_assignment=[[node]]) for each, node in ((KEPT, 1), (LOST, 2))]
        for future in admin.create_topics(new).values():
            future.result(30)
        yield started


def under_way(servers: str, transactional_id: str) -> Producer:
    """A producer with a record in either topic, in one transaction."""
    producer = transactional_producer(servers, transactional_id)
    producer.begin_transaction()
    for place in (KEPT, LOST):
        producer.produce(place.topic, b"value")
    assert producer.flush(30) == 0
    return producer


def states(servers: str, place: TopicPartition) -> list[RecordState]:
    with wire_to(servers) as wire:
        return [each.state for each in read_log(wire, place, isolation=IsolationLevel.READ_UNCOMMITTED)]


@pytest.mark.variation
def test_forgotten_markers_are_found_as_hangs_and_only_the_one_of_the_abort_is_aborted(
    two_brokers: Sandbox,
    eosctl: Eosctl,
    fresh_name: FreshName,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    servers = two_brokers.bootstrap_servers.split(",")[0]
    names = (each for each in iter(lambda: fresh_name("half"), "") if coordinator_of(servers, each) == 1)
    aborted, committed = next(names), next(names)
    producers = [under_way(servers, each) for each in (aborted, committed)]
    two_brokers.kill_broker(2)
    eventually(lambda: _is_leaderless(servers), "the end of broker 2's session")
    producers[0].abort_transaction(30)
    producers[1].commit_transaction(30)
    forgets = two_brokers.spec.version >= FORGETS
    eventually(
        lambda: (
            [state_of(servers, each) for each in (aborted, committed)]
            == (["CompleteAbort", "CompleteCommit"] if forgets else ["PrepareAbort", "PrepareCommit"])
        ),
        "the coordinator's answers",
    )
    search = ("transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0", "-o", "json")
    ran = eosctl(*search)
    assert ran.exit_code == 4, "what has no leader cannot be searched"
    assert str(LOST) in json.loads(ran.stdout)["data"]["not_searched"]

    ended = [RecordState.ABORTED, RecordState.COMMITTED]
    if not forgets:
        await_missing_marker(eosctl, servers, aborted)
    two_brokers.start_broker(2)
    if not forgets:
        eventually(lambda: states(servers, LOST) == ended, "the late markers")
        assert eosctl(*search).exit_code == 0
        return
    assert (states(servers, KEPT), states(servers, LOST)) == (ended, [RecordState.OPEN] * 2)
    ran = eosctl(*search)
    assert ran.exit_code == 1, ran.stderr
    rows = {row["transactional_id"]: row for row in json.loads(ran.stdout)["data"]["transactions"]}
    assert {(row["topic"], row["reason_id"]) for row in rows.values()} == {(LOST.topic, "partition-not-in-transaction")}
    assert {name: row["advice"] for name, row in rows.items()} == {aborted: "abort", committed: "commit"}
    assert rows[committed]["decision"]["committed"]
    hung = [(row["topic"], row["partition"], row["producer_id"]) for row in rows.values()]
    assert sorted(each[:3] for each in find_hanging(two_brokers, [KEPT.topic, LOST.topic])) == sorted(hung)
    assert [eosctl(*search, "--broker", node).exit_code for node in (1, 2)] == [0, 1], "only broker 2 has a replica"
    assert eosctl(*search, "--broker", "2", "--topic", KEPT.topic).exit_code == 0
    refused = eosctl(*search, "--broker", "7")
    assert refused.exit_code == 2
    assert "the cluster has no live broker 7" in refused.stderr
    abort = ("transactions", "abort", "-b", servers, "--topic", LOST.topic, "--partition", "0", "--yes",
             "--max-transaction-timeout", "0", "--start-offset")  # fmt: skip
    refused = eosctl(*abort, rows[committed]["start_offset"])
    assert refused.exit_code == 8, refused.stdout
    assert f"{LOST} was committed: its coordinator decided that at {rows[committed]['decision']['decided']}" in (
        refused.stderr
    )
    ran = eosctl(*abort, rows[aborted]["start_offset"])
    assert ran.exit_code == 0, ran.stderr
    assert states(servers, LOST) == [RecordState.ABORTED, RecordState.OPEN]

    write_missing_marker(two_brokers, eosctl, committed, rows[committed]["next"].rpartition("eosctl ")[2].split())
    assert states(servers, LOST) == ended
    assert eosctl(*search).exit_code == 0


@contextmanager
def stepped(sandbox: Sandbox, name: str, client: str) -> Iterator[Callable[..., None]]:
    """A producer of that client, which takes its steps one by one: begin, send with topic and value, commit, abort."""
    if client == "librdkafka":
        producer = transactional_producer(sandbox.bootstrap_servers, name, **STAYS_OPEN)
        steps: dict[str, Callable[..., object]] = {
            "begin": producer.begin_transaction,
            "send": lambda topic, value: (producer.produce(topic, value.encode()), producer.flush(30)),
            "commit": lambda: producer.commit_transaction(30),
            "abort": lambda: producer.abort_transaction(30),
        }
        yield lambda step, *words: steps[step](*words)
        return
    jars = jars_of(sandbox)
    classes = compile_java(jars.compiler, Path(__file__).with_name("SteppedProducer.java"), jars.classpath)
    command = [*java_with(jars, classes), "SteppedProducer", sandbox.bootstrap_servers, name]
    with Oracle(command) as java:

        def take(*step: str) -> None:
            assert java.answer_to(" ".join(step).encode() + b"\n")["failed"] == ""

        yield take


def records_of(servers: str, place: TopicPartition, name: str) -> list[tuple[bytes | None, str]]:
    """The records of the ID's producer in the partition, with the states of their transactions."""
    (described,) = describe(servers, [name]).values()
    assert described is not None
    with wire_to(servers) as wire:
        found = read_log(wire, place, isolation=IsolationLevel.READ_UNCOMMITTED)
        return [(each.value, each.state.value) for each in found if each.producer_id == described.producer.producer_id]


@pytest.mark.variation
@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_a_forgotten_marker_is_told_from_the_next_transactions_before_its_marker_ends_both(
    two_brokers: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path, monkeypatch, client: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    servers = two_brokers.bootstrap_servers.split(",")[0]
    names = (each for each in iter(lambda: fresh_name("half"), "") if coordinator_of(servers, each) == 1)
    ends = {next(names): end for end in ("commit", "abort", "commit", "abort")}
    committed, aborted, committed_before, aborted_before = ends
    with ExitStack() as stack:
        take = {name: stack.enter_context(stepped(two_brokers, name, client)) for name in ends}
        for each in take.values():
            each("begin")
            each("send", KEPT.topic, "first")
            each("send", LOST.topic, "first")
        two_brokers.kill_broker(2)
        eventually(lambda: _is_leaderless(servers), "the end of broker 2's session")
        for name, end in ends.items():
            take[name](end)
        if two_brokers.spec.version >= FORGETS:
            eventually(lambda: {state_of(servers, each)[:8] for each in ends} == {"Complete"}, "the coordinator")
        two_brokers.start_broker(2)
        if two_brokers.spec.version < FORGETS:
            late = [(b"first", "committed" if end == "commit" else "aborted") for end in ends.values()]
            eventually(
                lambda: [row for each in ends for row in records_of(servers, LOST, each)] == late, "the late markers"
            )
            return

        search = ("transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0", "-o", "json")

        def hung() -> dict[str, dict[str, Any]]:
            ran = eosctl(*search)
            return {row["transactional_id"]: row for row in json.loads(ran.stdout)["data"]["transactions"]}

        rows = hung()
        assert {name: (row["advice"], row["topic"]) for name, row in rows.items()} == {
            name: (end, LOST.topic) for name, end in ends.items()
        }
        abort = ("transactions", "abort", "-b", servers, "--topic", LOST.topic, "--partition", "0", "--yes",
                 "--max-transaction-timeout", "0", "--start-offset")  # fmt: skip
        assert eosctl(*abort, rows[committed]["start_offset"]).exit_code == 8
        assert eosctl(*abort, rows[aborted]["start_offset"]).exit_code == 0
        advised = {name: rows[name]["next"].rpartition("eosctl ")[2].split() for name in (committed, committed_before)}
        assert eosctl(*advised[committed], "-b", servers, "--yes").exit_code == 0
        assert records_of(servers, LOST, committed) == [(b"first", "committed")]
        assert records_of(servers, LOST, aborted) == [(b"first", "aborted")]

        for name in (committed_before, aborted_before):
            take[name]("begin")
            take[name]("send", KEPT.topic, "second")
            take[name]("send", LOST.topic, "second")
        rows = hung()
        shown = {name: (row["advice"], row["decision"]["committed"]) for name, row in rows.items()}
        assert shown == {committed_before: ("wait", True), aborted_before: ("fence", False)}
        assert {row["reason_id"] for row in rows.values()} == {"earlier-transaction"}
        told = eosctl("transactions", "lso", "-b", servers, LOST.topic)
        assert " ".join(rows[committed_before]["next"].split()) in " ".join(f"{told.stdout} {told.stderr}".split())
        for refused in (
            eosctl("fence", "--transactional-id", committed_before, "-b", servers, "--yes"),
            eosctl(*abort, rows[committed_before]["start_offset"]),
            eosctl(*advised[committed_before], "-b", servers, "--yes"),
        ):
            assert refused.exit_code == 8, refused.stdout
        assert records_of(servers, LOST, committed_before) == [(b"first", "open"), (b"second", "open")]
        take[committed_before]("commit")
        ran = eosctl("fence", "--transactional-id", aborted_before, "-b", servers, "--yes")
        assert ran.exit_code == 0, ran.stderr
        eventually(lambda: hung() == {}, "the last markers")
        assert records_of(servers, LOST, committed_before) == [(b"first", "committed"), (b"second", "committed")]
        assert records_of(servers, LOST, aborted_before) == [(b"first", "aborted"), (b"second", "aborted")]


def write_missing_marker(sandbox: Sandbox, eosctl: Eosctl, committed: str, advised: list[str]) -> None:
    """As advised, after which readers of committed records get its record."""
    servers = sandbox.bootstrap_servers.split(",")[0]
    reader = committed_reader(servers, LOST.topic)
    assert committed_values(reader, until=None) == []
    shown = eosctl(*advised, "-b", servers, "--dry-run")
    assert (shown.exit_code, states(servers, LOST)[1]) == (0, RecordState.OPEN), shown.stderr
    ran = eosctl(*advised, "-b", servers, "--yes")
    assert ran.exit_code == 0, ran.stderr
    assert "committed; the last stable offset moved from " in ran.stdout
    assert committed_values(reader, until=b"value") == [b"value"]
    reader.close()
    assert committed_to_kafkas_consumer(sandbox, LOST.topic, "value") == 1
    assert find_hanging(sandbox, [KEPT.topic, LOST.topic]) == []
    again = eosctl(*advised, "-b", servers, "--yes")
    assert again.exit_code == 8
    assert f"no partition lacks the commit marker of {committed}" in again.stderr


def committed_to_kafkas_consumer(sandbox: Sandbox, topic: str, value: str) -> int:
    """How often Kafka's own consumer of committed records prints the value until it has waited for three seconds."""
    command = (
        *java_with(jars_of(sandbox), client=client_of(sandbox)),
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
    )
    wanted = ("--topic", topic, "--from-beginning", "--isolation-level", "read_committed", "--timeout-ms", "3000")
    ran = subprocess.run(
        [*command, "--bootstrap-server", sandbox.bootstrap_servers, *wanted],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Processed a total of" in ran.stderr, ran.stderr[-2000:]
    return ran.stdout.splitlines().count(value)


def await_missing_marker(eosctl: Eosctl, servers: str, name: str) -> None:
    """A minute after the decision `leftovers` names the partition that lacks the marker, and why."""

    def missing() -> list[dict[str, Any]]:
        ran = eosctl("transactions", "leftovers", "--prefix", name, "-b", servers, "-o", "json")
        (left,) = json.loads(ran.stdout)["data"]["leftovers"]
        assert left["kind"] == "prepared"
        return list(left["missing_markers"])

    (marker,) = eventually(missing, "a minute", deadline_s=120, every_s=2)
    assert (marker["topic"], marker["partition"], marker["broker"]) == (LOST.topic, LOST.partition, None)
    assert marker["why"].startswith("it has no leader")


def _is_leaderless(servers: str) -> bool:
    with wire_to(servers) as wire:
        return leaderless(wire, [LOST]) == {LOST}


# One broker of three is lost with the partitions of the transaction log that it led: the IDs of others are told.


LOST_BROKER = 3
KEPT_IDS, LOST_IDS = TopicPartition("on-broker-1", 0), TopicPartition("on-broker-3", 0)
ONE_REPLICA = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "6",
    "offsets.topic.replication.factor": "1",
}
TIMEOUT_S = 20
ENDLESS_S = 3600
"""A timeout longer than a test may take: a command that waits it out for what has no leader ends the test."""


@dataclass(frozen=True)
class Half:
    """A cluster that lost a broker, and IDs by who coordinated them: a broker that lives, or the lost one."""

    servers: str
    known: str
    unknown: str
    hung: str
    undecided_producer: int

    def ask(self, eosctl: Eosctl, *arguments: object) -> tuple[Ran, dict[str, Any]]:
        ran = eosctl(*arguments, "-b", self.servers, "--timeout", ENDLESS_S, "-o", "json")
        return ran, dict(json.loads(ran.stdout)["data"])


def _names(servers: str, stem: str) -> tuple[str, str]:
    """A name whose ID a broker coordinates that will live, and one of the broker that will not."""
    coordinator_of(servers, stem)  # makes the transaction log
    with wire_to(servers) as wire:
        leaders = transaction_log_leaders(wire)
    names = [f"{stem}{number}" for number in range(60)]
    lost = {name for name in names if leaders[coordinator_partition(name, len(leaders))] == LOST_BROKER}
    return next(each for each in names if each not in lost), next(each for each in names if each in lost)


@pytest.fixture(scope="module")
def half(kafka_version: str) -> Iterator[Half]:
    settings = ONE_REPLICA | UNVERIFIED
    with Sandbox(spec_of(kafka_version, brokers=3, broker_config=settings)) as started:
        servers = started.bootstrap_servers.split(",")[0]
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        new = [
            NewTopic(KEPT_IDS.topic, 1, replica_assignment=[[1]]),
            NewTopic(LOST_IDS.topic, 1, replica_assignment=[[3]]),
        ]
        new.append(NewTopic("connect-configs", 1, replica_assignment=[[1]], config={"cleanup.policy": "compact"}))
        for future in admin.create_topics(new).values():
            future.result(30)
        known, unknown = _names(servers, "open")
        producers = [open_transaction(servers, name, KEPT_IDS.topic) for name in (known, unknown)]
        hung, lost_hung = _names(servers, "hung")
        with wire_to(servers) as wire:
            hang(wire, KEPT_IDS, hung)
            undecided = hang(wire, KEPT_IDS, lost_hung).producer.producer_id
        started.kill_broker(LOST_BROKER)
        with wire_to(servers) as wire:
            eventually(lambda: leaderless(wire, [LOST_IDS]) == {LOST_IDS}, "the end of the broker's session")
        yield Half(servers, known, unknown, hung, undecided)
        del producers


@pytest.mark.variation
def test_list_shows_the_ids_of_live_coordinators_and_ends_with_4(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "list")
    names = {row["transactional_id"] for row in data["transactions"]}
    assert {half.known, half.hung} <= names
    assert half.unknown not in names
    assert ran.exit_code == 4
    [reason] = data["missing"]
    assert reason.startswith("__transaction_state-")
    assert reason in ran.stderr


@pytest.mark.variation
def test_describe_shows_both_in_one_answer(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "describe", half.known, half.unknown)
    known, unknown = data["transactions"]
    assert (known["state"], known["error"]) == ("Ongoing", None)
    assert unknown["state"] is None
    assert "has no leader, so no broker coordinates" in unknown["error"]
    assert ran.exit_code == 4
    assert half.ask(eosctl, "transactions", "describe", half.known)[0].exit_code == 0


@pytest.mark.variation
def test_hanging_shows_hanging_transactions_and_the_ones_that_it_cannot_judge(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "hanging", "--max-transaction-timeout", 0)
    assert [row["transactional_id"] for row in data["transactions"]] == [half.hung]
    assert [row["transactional_id"] for row in data["in_progress"]] == [half.known]
    assert half.undecided_producer in {row["producer_id"] for row in data["undecided"]}
    assert str(LOST_IDS) in data["not_searched"]
    assert all("__transaction_state-" in row["reason"] for row in data["undecided"])
    assert ran.exit_code == 1


@pytest.mark.variation
def test_nothing_is_aborted_that_cannot_be_judged(half: Half, eosctl: Eosctl) -> None:
    abort = (
        "transactions",
        "abort",
        "--topic",
        KEPT_IDS.topic,
        "--partition",
        0,
        "--yes",
        "--max-transaction-timeout",
        0,
    )
    ran = eosctl(*abort, "-b", half.servers, "--timeout", TIMEOUT_S)
    assert ran.exit_code == 4, ran.stderr
    assert "it is not known whether a transaction hangs" in ran.stderr


@pytest.mark.variation
def test_producers_of_partitions_with_a_leader_are_shown(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "producers", KEPT_IDS.topic, LOST_IDS.topic)
    holders = {row["transactional_id"] for row in data["producers"]}
    assert {half.known, half.hung, None} == holders
    assert data["not_searched"] == [str(LOST_IDS)]
    assert ran.exit_code == 4


@pytest.mark.variation
def test_last_stable_offsets_of_partitions_with_a_leader_are_shown(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "lso")
    [row] = data["partitions"]
    assert (row["topic"], row["state"], row["holders"][0]["transactional_id"]) == (
        KEPT_IDS.topic,
        "Ongoing",
        half.known,
    )
    assert str(LOST_IDS) in data["not_searched"]
    assert ran.exit_code == 4


@pytest.mark.variation
def test_the_log_shows_the_ids_of_readable_partitions(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "log")
    assert half.known in {row["transactional_id"] for row in data["transactional_ids"]}
    assert ran.exit_code == 4
    ran, data = half.ask(eosctl, "transactions", "log", half.known)
    assert (ran.exit_code, len(data["transactional_ids"])) == (0, 1)
    ran, data = half.ask(eosctl, "transactions", "log", half.unknown)
    assert (ran.exit_code, data["transactional_ids"]) == (4, [])
    assert "holds no record" not in ran.stderr


@pytest.mark.variation
def test_a_snapshot_keeps_known_facts_and_names_the_unknown_ones(half: Half, eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "half.snapshot"
    ran, data = half.ask(eosctl, "snapshot", "save", file)
    seen = {each["section"]: each["seen"] for each in data["sections"]}
    assert "__transaction_state-" in seen["transactions"]
    assert "could not be read" in seen["transaction-log"]

    def saved(*arguments: object) -> tuple[Ran, dict[str, Any]]:
        ran = eosctl("transactions", *arguments, "--snapshot", file, "-o", "json")
        return ran, dict(json.loads(ran.stdout)["data"])

    ran, data = saved("list")
    assert half.known in {row["transactional_id"] for row in data["transactions"]}
    assert ran.exit_code == 4
    ran, data = saved("describe", half.known, half.unknown)
    assert [row["state"] for row in data["transactions"]] == ["Ongoing", None]
    assert ran.exit_code == 4
    ran, data = saved("hanging", "--max-transaction-timeout", 0)
    assert [row["transactional_id"] for row in data["transactions"]] == [half.hung]
    assert half.undecided_producer in {row["producer_id"] for row in data["undecided"]}
    assert ran.exit_code == 1
    assert saved("log", half.known)[0].exit_code == 0
    assert saved("log")[0].exit_code == 4
    assert saved("lso")[0].exit_code == 4
    assert saved("producers", KEPT_IDS.topic)[0].exit_code == 3


@pytest.mark.variation
def test_nothing_is_fenced_by_a_prefix_while_ids_may_be_missing(half: Half, eosctl: Eosctl) -> None:
    """By name those of living brokers can be fenced."""
    fence = ("fence", "-b", half.servers, "--timeout", TIMEOUT_S, "--yes")
    ran = eosctl(*fence, "--prefix", "open")
    assert ran.exit_code == 4, ran.stdout
    assert "transactional IDs are not listed" in ran.stderr
    assert "name the IDs one by one" in ran.stderr
    ran = eosctl(*fence, "--transactional-id", half.known, "--transactional-id", half.unknown)
    assert ran.exit_code == 4, ran.stdout
    assert "has no leader, so no broker coordinates" in ran.stderr
    assert eosctl(*fence, "--transactional-id", half.known, "--dry-run").exit_code == 0


@pytest.mark.variation
def test_tasks_of_a_connector_are_fenced_by_their_living_coordinators(half: Half, eosctl: Eosctl) -> None:
    group = "g-half"
    with wire_to(half.servers) as wire:
        leaders = transaction_log_leaders(wire)
    names = [f"c{number}" for number in range(60)]
    lives = {name: leaders[coordinator_partition(f"{group}-{name}-0", len(leaders))] >= 0 for name in names}
    kept, lost = next(each for each in names if lives[each]), next(each for each in names if not lives[each])
    write_records(half.servers, kept, lost)
    transactional_producer(half.servers, f"{group}-{kept}-0")
    fence = ("fence", "-b", half.servers, "--group-id", group, "--timeout", TIMEOUT_S, "--yes", "-o", "json")
    ran = eosctl(*fence, "--connector", kept)
    assert ran.exit_code == 0, ran.stderr
    assert [each["outcome"] for each in json.loads(ran.stdout)["data"]["results"]] == ["fenced"]
    assert "leftovers of earlier, larger generations may be missed" in ran.stderr
    ran = eosctl(*fence, "--connector", lost)
    assert ran.exit_code == 4, ran.stdout


def write_records(servers: str, *connectors: str) -> None:
    """The config topic of connectors with one task each."""
    producer = Producer({"bootstrap.servers": servers})
    for name in connectors:
        for key, value in (
            (f"connector-{name}", {"properties": {"connector.class": "X"}}),
            (f"task-{name}-0", {"properties": {}}),
            (f"commit-{name}", {"tasks": 1}),
            (f"tasks-fencing-{name}", {"task-count": 1}),
        ):
            producer.produce("connect-configs", json.dumps(value).encode(), key.encode(), partition=0)
    assert producer.flush(30) == 0


# A hanging transaction in a config topic keeps a worker from starting; `hanging` reports it, and `abort` fixes it.


HEALTH_ENDPOINT = KafkaVersion(3, 9)
CONFIG_TOPIC = "connect-configs"


@pytest.mark.workers
@pytest.mark.variation
def test_a_worker_that_a_hanging_transaction_stops_starts_after_the_abort(
    make_sandbox: Callable[..., Sandbox],
    kafka_version: str,
    eosctl: Eosctl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sandbox = make_sandbox(**versions_of(kafka_version), broker_config=UNVERIFIED)
    servers = sandbox.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    compact = NewTopic(CONFIG_TOPIC, 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([compact])[CONFIG_TOPIC].result(30)
    with wire_to(servers) as wire:
        hung = hang(wire, TopicPartition(CONFIG_TOPIC, 0), "connect-cluster-old")
    url = sandbox.start_worker(1, until_ready=False)
    eventually(lambda: _reads_config_topic(sandbox), "the worker's reading of its config topic")
    row = _hanging(eosctl, servers)
    assert (row["topic"], row["start_offset"]) == (CONFIG_TOPIC, hung.start_offset)
    assert row["waiting_connect"] == [
        "workers of Connect cluster connect-cluster: config topic; none with exactly-once starts"
    ]
    quiet_until = time.monotonic() + 5
    eventually(lambda: _has_started(sandbox, url) or time.monotonic() > quiet_until, "five seconds")
    assert not _has_started(sandbox, url), "the worker must be waiting for the end of the transaction"
    ran = eosctl(
        "transactions", "abort", "-b", servers, "--topic", CONFIG_TOPIC, "--partition", "0",
        "--start-offset", hung.start_offset, "--max-transaction-timeout", "0", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    eventually(lambda: _has_started(sandbox, url), "the worker's start")


def _reads_config_topic(sandbox: Sandbox) -> bool:
    return f"Starting KafkaBasedLog with topic {CONFIG_TOPIC}" in sandbox.worker_log(1).read_text(errors="replace")


def _has_started(sandbox: Sandbox, url: str) -> bool:
    """True if the worker is healthy (KIP-1017): it has read its topics and joined its group.

    Workers before 3.9 have no such endpoint; their log shows that they have read the config topic. `GET /connectors`
    would not do: it is answered with an empty list before that.
    """
    if KafkaVersion.parse(sandbox.spec.workers_version) < HEALTH_ENDPOINT:
        return f"Finished reading KafkaBasedLog for topic {CONFIG_TOPIC}" in sandbox.worker_log(1).read_text()
    try:
        return httpx.get(f"{url}/health", timeout=2, trust_env=False, verify=False).status_code == 200
    except httpx.HTTPError:
        return False


def _hanging(eosctl: Eosctl, servers: str) -> dict:
    """The one that hangs, with the names of the Connect cluster given."""
    ran = eosctl(
        "transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0", "--group-id", "connect-cluster",
        "-o", "json",
    )  # fmt: skip
    assert ran.exit_code == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["data"]["transactions"]
    return row
