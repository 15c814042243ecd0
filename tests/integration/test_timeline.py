"""`eosctl timeline` beside a recording that the test makes itself, on real workers that lose one of them."""

import json
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.messages import by_topic, list_offsets
from eosctl.model.names import TopicPartition
from eosctl.sources import audit_log, kafka_log
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.integration.incident import Incident, Step, now
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers]

Row = dict[str, Any]
GROUP = ("--group-id", "connect-cluster")


def answered(eosctl: Eosctl, *args: object) -> list[Row]:
    """The rows of an answer that is complete."""
    ran = eosctl("timeline", *args, *GROUP, "-o", "json")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    assert "swordfish" not in ran.stdout
    return list(json.loads(ran.stdout)["data"]["events"])


def ms(text: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(text).timestamp() * 1000)


def in_step(rows: list[Row], step: Step, kind: str, **more: object) -> list[Row]:
    """Rows of this kind, and with these values, whose time lies within the step."""
    return [
        row
        for row in rows
        if row["kind"] == kind
        and step.since <= ms(row["at"]) <= step.until
        and all(row[name] == value for name, value in more.items())
    ]


def check_steps(rows: list[Row], story: Incident) -> None:
    """Each step that the story has is in the timeline once, by whom it was done, in the order of the recording."""
    name, leader = story.name, "connect-cluster-connect-cluster"
    task = f"connect-cluster-{name}-0"
    kinds = {
        "create": ("connector-created", {"transactional_id": leader}),
        "change": ("config-changed", {"transactional_id": leader}),
        "stop": ("target-state", {"what": "target state STOPPED", "who": None}),
        "alter": ("offsets-altered", {"transactional_id": task}),
        "resume": ("target-state", {"what": "target state STARTED", "who": None}),
        "fence": ("producer-fenced", {"transactional_id": task}),
        "fail": ("task-state", {"severity": "error", "task": 0}),
        "abort": ("transaction-aborted", {"transactional_id": f"connect-cluster-{name}-7", "task": 7}),
        "delete": ("connector-deleted", {"transactional_id": leader}),
        "create again": ("connector-created", {"transactional_id": leader}),
    }
    noted = [each for each in story.steps if each.name in kinds]
    matching = {step.name: in_step(rows, step, kinds[step.name][0], **kinds[step.name][1]) for step in noted}
    assert {step: len(found) for step, found in matching.items()} == dict.fromkeys(matching, 1)
    found = [row for (row,) in matching.values()]
    assert [rows.index(row) for row in found] == sorted(rows.index(row) for row in found)
    what = dict(zip([step.name for step in noted], found, strict=True))
    assert "batch.size=7" in what["change"]["what"]
    assert '{"position": 4}' in what["alter"]["what"]
    assert "it began no transaction" in what["fence"]["what"]
    assert what["fail"]["worker"] in story.workers
    assert what["fail"]["what"].startswith("FAILED")
    assert {each["connector"] for each in found} == {name}
    whole = [row["kind"] for row in rows if row["connector"] == name]
    assert [whole.count(kind) for kind in ("connector-created", "connector-deleted", "offsets-altered")] == [2, 1, 1]
    assert whole.count("transaction-aborted") == 1


def fencing(eosctl: Eosctl, servers: str) -> Callable[[str], None]:
    def fence(transactional_id: str) -> None:
        ran = eosctl("fence", "--transactional-id", transactional_id, "-b", servers, *GROUP, "--yes", "--force")
        assert ran.exit_code == 0, ran.stderr

    return fence


def told(rows: list[Row]) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in ("at", "source", "kind", "connector", "task", "who", "what")) for row in rows]


@pytest.mark.variation
def test_every_step_is_reported_once_in_order_with_its_actor(
    shared_sandboxes: SharedSandboxes, kafka_version: str, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    """And the same from a snapshot, and from the broker's files."""
    sandbox = shared_sandboxes.of(spec_of(kafka_version, workers=2))
    story = Incident(sandbox, fresh_name("incident"), tmp_path)
    story.happen(fencing(eosctl, sandbox.bootstrap_servers))
    connector = ("--connector", story.name, "--since", "1h")
    rows = answered(eosctl, "-b", sandbox.bootstrap_servers, *connector)
    check_steps(rows, story)
    lost = in_step(rows, story.step("kill"), "rebalance")
    assert any(f"left: {story.killed}" in row["what"] for row in lost)
    assert any(f"{story.name}-0 to {story.survivor}" in row["what"] for row in lost)
    moved = in_step(rows, story.step("kill"), "task-state", worker=story.survivor, task=0)
    assert any(row["what"].startswith("RUNNING") for row in moved)
    back = in_step(rows, story.step("return"), "rebalance")
    assert [row for row in back if f"joined: {story.killed}" in row["what"]] != []
    saved = tmp_path / "site.snapshot"
    eosctl("snapshot", "save", saved, "-b", sandbox.bootstrap_servers, *GROUP)
    assert told(answered(eosctl, "--snapshot", saved, *connector)) == told(rows)
    files = sandbox.directory / "broker-1" / "data"
    assert told(answered(eosctl, "--log-dir", files, *connector)) == told(rows)


def test_the_steps_of_a_connector_that_stays_on_one_worker(
    moves_home: Any, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    story = Incident(moves_home, fresh_name("told"), tmp_path, workers=[moves_home.connect_url(1)])
    story.happen(fencing(eosctl, moves_home.bootstrap_servers), lose_a_worker=False)
    rows = answered(eosctl, "-b", moves_home.bootstrap_servers, "--connector", story.name, "--since", "1h")
    check_steps(rows, story)
    assert {row["source"] for row in rows} >= {"config", "status", "group", "transactions", "offsets"}


def test_compacted_records_are_a_gap_and_a_clock_that_is_ahead_moves_no_other_event(
    sandbox: Any, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    """Compaction leaves the last status of a task; another worker's clock is an hour ahead."""
    servers, config, status = sandbox.bootstrap_servers, fresh_name("configs"), fresh_name("status")
    settings = {"segment.ms": "500", "min.cleanable.dirty.ratio": "0.0", "max.compaction.lag.ms": "500"}
    admin = AdminClient({"bootstrap.servers": servers})
    for topic, more in ((config, {}), (status, settings)):
        new = NewTopic(topic, 1, 1, config={"cleanup.policy": "compact", **more})
        admin.create_topics([new])[topic].result(30)
    producer = Producer({"bootstrap.servers": servers})
    properties = {"properties": {"connector.class": "Source"}}
    producer.produce(config, json.dumps(properties), "connector-orders")
    named = ("--config-topic", config, "--status-topic", status, "--connector", "orders")

    def write(task: int, generation: int, ahead_ms: int = 0) -> None:
        value = {"state": "RUNNING", "trace": None, "worker_id": f"w{task}:1", "generation": generation}
        at = now() + ahead_ms
        producer.produce(status, json.dumps(value), f"status-task-orders-{task}", timestamp=at)
        assert producer.flush(30) == 0

    def is_compacted() -> bool:
        write(0, next(generations))
        ran = eosctl("timeline", "-b", servers, *named, "-o", "json")
        kinds = [row["kind"] for row in json.loads(ran.stdout)["data"]["events"]]
        return "gap" in kinds

    generations = count()
    eventually(is_compacted, "a compacted status topic", deadline_s=90)
    write(1, 0, ahead_ms=3_600_000)
    write(0, next(generations))
    ran = eosctl("timeline", "-b", servers, *named, "--since", "1h", "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert ran.exit_code == 3
    gap = next(row for row in data["events"] if row["kind"] == "gap")
    assert f"of {status} no longer hold a record" in gap["what"]
    assert {"what": f"history of {status}", "reason": "compaction removed records"} in data["unread"]
    states = [row for row in data["events"] if row["kind"] == "task-state"]
    assert [(row["task"], row["misdated"]) for row in states[-2:]] == [(1, True), (0, False)]
    assert [row["offset"] for row in states] == sorted(row["offset"] for row in states)


def test_the_partitions_of_a_topic_are_asked_for_their_offsets_at_once(
    sandbox: Any, eosctl: Eosctl, fresh_name: FreshName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three requests for bounds and one for the time, for each topic and broker."""
    servers, config, status = sandbox.bootstrap_servers, fresh_name("configs"), fresh_name("status")
    admin, partitions = AdminClient({"bootstrap.servers": servers}), {config: 1, status: 7}
    for topic, number in partitions.items():
        admin.create_topics([NewTopic(topic, number, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(config, json.dumps({"properties": {"connector.class": "Source"}}), "connector-orders")
    for partition in range(7):
        value = {"state": "RUNNING", "trace": None, "worker_id": "w:1", "generation": 1}
        producer.produce(status, json.dumps(value), f"status-task-orders-{partition}", partition=partition)
    assert producer.flush(30) == 0
    asked: list[tuple[str, int]] = []

    def noted(places: Iterable[TopicPartition], *how: Any) -> Any:
        asked.extend((topic, len(mine)) for topic, mine in by_topic(places).items())
        return list_offsets(places, *how)

    for module in (kafka_log, audit_log):
        monkeypatch.setattr(module, "list_offsets", noted)
    ran = eosctl(
        "timeline", "-b", servers, "--config-topic", config, "--status-topic", status, "--since", "1h", "-o", "json"
    )
    states = [row["task"] for row in json.loads(ran.stdout)["data"]["events"] if row["kind"] == "task-state"]
    assert sorted(states) == list(range(7))
    assert [each for each in asked if each[0] in partitions] == [(config, 1)] * 3 + [(status, 7)] * 4


def test_a_connector_that_never_was_is_an_error_with_the_name_that_may_be_meant(
    moves_home: Any, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    ran = eosctl("timeline", "--connector", fresh_name("absent"), "-b", moves_home.bootstrap_servers, *GROUP)
    assert ran.exit_code == 2
    assert "the config topic does not mention connector" in ran.stderr
