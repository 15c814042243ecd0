"""The transactions commands answer from a snapshot as they did live, when the cluster is gone."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Committed

from eosctl.model.names import TopicPartition
from tests.commands.conftest import Eosctl, Typed
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import state_of, wire_to
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import complete, create_topic, open_transaction
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

QUESTIONS: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "describe": ("describe", "live-0", "done-0", "nobody"),
    "producers": ("producers", "orders:0,1"),
    "hanging": ("hanging", "--max-transaction-timeout", "0"),
    "hanging in a topic": ("hanging", "--max-transaction-timeout", "0", "--topic", "orders:1"),
    "lso": ("lso",),
    "lso of a topic": ("lso", "orders"),
    "log": ("log",),
    "history": ("log", "done-0", "--history"),
    "churn": ("churn", "--producers"),
}
MOVING = {"as_of", "running_ms", "running_s", "open_ms", "open_s", "held_ms", "held_s", "left_ms", "hidden"}
"""Members that change with time."""


@pytest.fixture(scope="module")
def answers(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, tuple[int, Any]]]:
    """A snapshot of a broker with transactions of all kinds that has been stopped, and what it answered before."""
    file = tmp_path_factory.mktemp("saved") / "now.snapshot"
    run = Typed().run
    with Sandbox(spec_of(kafka_version, broker_config=UNVERIFIED)) as sandbox:
        servers = sandbox.bootstrap_servers
        live = _transactions(servers)
        there = ("-b", servers, "--group-id", "connect-cluster", "-o", "json")
        saved = run("snapshot", "save", file, *there)
        assert saved.exit_code == 3, "no worker runs, so the group does not exist"
        texts = {name: run("transactions", *words, *there) for name, words in QUESTIONS.items()}
        live.abort_transaction(30)
    return file, {name: (ran.exit_code, json.loads(ran.stdout)) for name, ran in texts.items()}


def _transactions(servers: str) -> Producer:
    create_topic(servers, "orders", 2)
    complete(servers, "done-0", "orders", commit=True)
    complete(servers, "undone-0", "orders", commit=False)
    eventually(lambda: state_of(servers, "undone-0") == "CompleteAbort", "the abort")
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "log_level": 0})
    with wire_to(servers) as wire:
        hang(wire, TopicPartition("orders", 1), "hung-0")
    live = open_transaction(servers, "live-0", "orders")
    consumer.list_topics(timeout=30)
    for partition in (0, 1):
        consumer.assign([Committed("orders", partition)])
        eventually(lambda partition=partition: _commits(consumer, partition), "the group's coordinator")
    consumer.close()
    return live


def _commits(consumer: Consumer, partition: int) -> bool:
    try:
        consumer.commit(offsets=[Committed("orders", partition, 0)], asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() not in {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}:
            raise
        return False
    return True


def without_moving(value: Any) -> Any:
    """The answer less what a moment more changes."""
    if isinstance(value, dict):
        return {key: without_moving(each) for key, each in value.items() if key not in MOVING}
    return [without_moving(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_snapshot_answers_as_the_cluster_did(
    name: str, answers: tuple[Path, dict[str, tuple[int, Any]]], eosctl: Eosctl
) -> None:
    file, texts = answers
    ran = eosctl("transactions", *QUESTIONS[name], "--snapshot", file, "-o", "json")
    code, live = texts[name]
    assert ran.exit_code == code, ran.stderr
    ours, theirs = (without_moving(each) for each in (json.loads(ran.stdout), live))
    if name == "describe":
        assert ours["data"]["transactions"][2].pop("error").startswith("the snapshot does not have it")
        assert theirs["data"]["transactions"][2].pop("error").startswith("its coordinator does not know it")
    if name == "churn":
        [saved], [asked] = (each["data"]["producer_states"]["brokers"] for each in (ours, theirs))
        assert (saved.pop("held"), asked.pop("held")) == (None, asked["producers"])
        assert [each["what"] for each in ours["data"].pop("unread") if each not in theirs["data"]["unread"]] == [
            "replicas"
        ]
        del theirs["data"]["unread"]
    if name.startswith("lso"):
        [reader] = theirs["data"].pop("groups")
        assert reader["group_id"] == "reader"
        assert list(ours["data"].pop("groups")) == ["skipped"], "a snapshot has no records of topics"
    if name.startswith(("lso", "hanging")):
        unread = ours["data"]["unread"]
        [first] = [each for each in unread if each["what"] == "first batches of open transactions"]
        unread.remove(first)
    assert ours == theirs


def test_a_hanging_transaction_is_reported_with_its_waiting_groups(
    answers: tuple[Path, dict[str, tuple[int, Any]]], eosctl: Eosctl
) -> None:
    ran = eosctl("transactions", "hanging", "--max-transaction-timeout", "0", "--snapshot", answers[0], "-o", "json")
    assert ran.exit_code == 1
    (row,) = json.loads(ran.stdout)["data"]["transactions"]
    assert (row["topic"], row["partition"], row["transactional_id"]) == ("orders", 1, "hung-0")
    assert [each["group_id"] for each in row["waiting_groups"]] == ["reader"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hanging", "--broker", "1"), "it cannot answer --broker"),
        (("lso", "--watch", "1"), "it cannot be watched"),
        (("producers", "absent"), "the snapshot has no topic absent"),
        (("lso", "orders:7"), "topic orders has no partition 7"),
    ],
)
def test_a_question_that_a_snapshot_cannot_answer_is_refused(
    words: tuple[str, ...],
    said: str,
    answers: tuple[Path, dict[str, tuple[int, Any]]],
    eosctl: Eosctl,
) -> None:
    ran = eosctl("transactions", *words, "--snapshot", answers[0])
    assert ran.exit_code == 2
    assert said in ran.stderr
