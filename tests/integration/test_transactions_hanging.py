"""`eosctl transactions hanging` and `abort` among transactions in every state, held against Kafka's find-hanging."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition
from eosctl.operations.session import Session
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import coordinator_of, describe, state_of, wire_to
from tests.integration.hanging import UNVERIFIED, Hung, expected, found, hang, initialise, produce, transactional_batch
from tests.integration.producers import complete, open_transaction
from tests.kafka_versions import spec_of
from tests.oracle.transactions_tool import find_hanging
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
TOPICS = ("busy", "quiet", "prepared")
SETTINGS = {
    **UNVERIFIED,
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "2",
}
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
    from eosctl.sources.kafka_transactions import active_producers

    with wire_to(stage.servers) as wire:
        told = {each.producer: each.last_sequence for each in active_producers(wire, {place: 1})}
    return told.get(producer, -1) >= 0


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
    (told,) = describe(wire.properties.bootstrap_servers[0], ["at-work-elsewhere"]).values()
    place = TopicPartition("quiet", 0)
    offset = produce(wire, place, "at-work-elsewhere", transactional_batch(told.producer))
    return Hung(place, told.producer, offset, "at-work-elsewhere")


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


def test_each_is_told_with_its_id_its_owner_and_what_to_do(stage: Stage, eosctl: Eosctl):
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


def test_topics_and_age_narrow_the_search(stage: Stage, eosctl: Eosctl):
    quiet = hanging(eosctl, stage, "--topic", "quiet")
    assert found(quiet["transactions"]) == [row for row in expected(stage.hung) if row[0] == "quiet"]
    assert quiet["searched_partitions"] == 1
    one = hanging(eosctl, stage, "--topic", "busy:1")
    assert {row["partition"] for row in one["transactions"]} == {1}
    ran = eosctl("transactions", "hanging", "-b", stage.servers)
    assert ran.exit_code == 0, "a quarter of an hour has not passed"
    assert "no hanging transactions" in ran.stdout


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
    assert "how old they are is not known" in eosctl(*arguments).stdout
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


def test_the_last_stable_offset_is_told_with_who_holds_it(stage: Stage, eosctl: Eosctl):
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
def test_what_its_coordinator_is_ending_is_waited_for(stage: Stage, eosctl: Eosctl):
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


def test_a_live_transaction_is_refused_and_forcing_it_says_what_breaks(stage: Stage, eosctl: Eosctl):
    (row,) = [row for row in hanging(eosctl, stage)["in_progress"] if row["transactional_id"] == "live-long"]
    place = ("--topic", "busy", "--partition", str(row["partition"]), "--producer-id", str(row["producer_id"]))
    refused = eosctl("transactions", "abort", "-b", stage.servers, *place, "--yes")
    assert refused.exit_code == 8
    assert "does not hang: its coordinator has it as Ongoing under live-long" in refused.stderr
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
        at_work = ["--force"] if hung.transactional_id == "at-work-elsewhere" else []
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
