"""`eosctl inspect-config` beside a real worker: its prediction of the next start is Connect's action."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import CONFIG_TOPIC, last_offset, read_topic, write_lines
from tests.integration.connect import Mirror, Worker
from tests.integration.doctoring import write
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka

Inspect = Callable[..., Ran]


@pytest.fixture
def worker(connect_sandbox: Sandbox) -> Iterator[Worker]:
    worker = Worker(connect_sandbox)
    worker.tell_rounds()
    yield worker
    worker.close()


@pytest.fixture
def mirror(worker: Worker, fresh_name: FreshName) -> Iterator[Mirror]:
    mirror = Mirror(worker, fresh_name("inspected"))
    yield mirror
    mirror.delete()


@pytest.fixture
def inspect(worker: Worker, eosctl: Eosctl) -> Inspect:
    cluster = ("-b", worker.sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", worker.url)
    return lambda *args: eosctl("inspect-config", *cluster, "-o", "json", *args)


def row(ran: Ran) -> dict[str, Any]:
    """The one requested connector; a healthy one has no findings."""
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    data = json.loads(ran.stdout)["data"]
    assert [each for each in data["findings"] if each["severity"] != "info"] == []
    (connector,) = data["connectors"]
    return dict(connector)


def start_of(ran: Ran) -> tuple[str, int]:
    reported = row(ran)["next_start"]
    return reported["rule"], reported["fences"]


def test_tasks_that_a_stop_is_about_to_end_are_no_finding(mirror: Mirror, worker: Worker, inspect: Inspect) -> None:
    name = mirror.name
    mirror.start(3)
    worker.ask("PUT", f"/connectors/{name}/stop")
    seen = [row(inspect(name)) for _ in range(3)]
    assert {each["target_state"] for each in seen} == {"STOPPED"}


def test_doctor_takes_tasks_that_a_stop_is_about_to_end_for_no_start_without_fencing(
    mirror: Mirror, worker: Worker, eosctl: Callable[..., Ran]
) -> None:
    mirror.start(3)
    worker.ask("PUT", f"/connectors/{mirror.name}/stop")
    here = ("-b", worker.sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", worker.url)
    answers = [json.loads(eosctl("doctor", *here, "-o", "json").stdout)["data"] for _ in range(3)]
    found = {(each["id"], each["subject"]) for data in answers for each in data["findings"]}
    assert found.isdisjoint({("EOS068", mirror.name), ("EOS070", mirror.name)})


def test_a_start_in_progress_is_no_finding(mirror: Mirror, worker: Worker, inspect: Inspect) -> None:
    """A changed number of tasks is committed while the previous ones run; a restart and a rebalance follow."""
    name = mirror.name
    mirror.start(3)
    for tasks in (2, 3, 1):
        worker.ask("PUT", f"/connectors/{name}/config", mirror.config(tasks))
        row(inspect(name))
    worker.ask("POST", f"/connectors/{name}/restart?includeTasks=true")
    row(inspect(name))
    worker.wait_for_tasks(name, 1)


def test_a_sink_is_no_connector_that_does_not_exist_and_none_without_zombies(
    worker: Worker, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    name, servers = fresh_name("sunk"), worker.sandbox.bootstrap_servers
    sink = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": name}
    worker.ask("PUT", f"/connectors/{name}/config", {**sink, "file": str(tmp_path / "out")})
    here = ("-b", servers, "--group-id", "connect-cluster", "--connect-url", worker.url, "--connector", name)
    for words in (("offsets", "show"), ("fence", "--dry-run"), ("audit",), ("migrate-offsets", "--to-topic", "x")):
        ran = eosctl(*words, *here)
        assert (ran.exit_code, ran.stdout) == (2, ""), words
        assert f"connector {name} is a sink: it has no source offsets and no transactional IDs" in ran.stderr
        assert f"`eosctl connector show {name}` shows it" in ran.stderr
    worker.ask("DELETE", f"/connectors/{name}")


def test_a_topic_with_data_is_that_finding_alone_and_no_change_of_it_is_advised(
    worker: Worker, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    """Its cleanup.policy is delete, as a topic's with data is: to compact it would destroy records."""
    topic, servers = fresh_name("payments"), worker.sandbox.bootstrap_servers
    create_topic(servers, topic)
    write(worker.sandbox, topic, (b"customer-7", b'{"amount":1}'), (None, b"{}"))
    for command, option, finding in (
        ("inspect-config", "--config-topic", "EOS060"),
        ("offsets show", "--worker-offsets-topic", "EOS093"),
        ("offsets show", "--offsets-topic", "EOS093"),
        ("doctor", "--config-topic", "EOS060"),
        ("doctor", "--worker-offsets-topic", "EOS093"),
        ("doctor", "--status-topic", "EOS056"),
    ):
        ran = eosctl(*command.split(), "-b", servers, "--group-id", "connect-cluster", option, topic, "-o", "json")
        assert ran.exit_code == 2, ran.stdout + ran.stderr
        assert [each["id"] for each in json.loads(ran.stdout)["data"]["findings"]] == [finding]
        assert "cleanup.policy" not in ran.stdout + ran.stderr
    saved = tmp_path / "of.snapshot"
    for words in (
        ("fence", "--all-connectors", "--config-topic", topic),
        ("inspect-config", "--history", "--config-topic", topic),
        ("snapshot", "save", saved, "--config-topic", topic),
    ):
        ran = eosctl(*map(str, words), "-b", servers, "--group-id", "connect-cluster")
        assert ran.exit_code == 2, ran.stdout + ran.stderr
        assert "is not one: none of its 2 records" in ran.stderr
    assert not saved.exists()
    ran = eosctl(*("upgrade-check", "--to", "enabled", "-b", servers, "--config-topic", topic), "-o", "json")
    assert json.loads(ran.stdout)["data"]["blockers"] == ["EOS060"]
    assert ran.exit_code == 2


@pytest.mark.variation
def test_each_start_falls_under_the_rule_that_was_reported_before(
    mirror: Mirror, worker: Worker, inspect: Inspect, eosctl: Eosctl, tmp_path: Path
) -> None:
    name = mirror.name
    worker.ask("POST", "/connectors", {"name": name, "config": mirror.config(3), "initial_state": "STOPPED"})
    assert start_of(inspect(name)) in {("first-start", 0), ("none", 0)}, "nothing was committed yet"
    worker.ask("PUT", f"/connectors/{name}/resume")
    mirror.start(3)
    assert start_of(inspect(name)) == ("none", 0), "already fenced"
    worker.stop(name)
    assert start_of(inspect(name)) == ("fence", 3)
    mirror.configure(2)
    assert start_of(inspect(name)) == ("fence", 3), "by the record, not by the new number of tasks"
    worker.ask("PUT", f"/connectors/{name}/resume")
    worker.wait_for_tasks(name, 2)
    assert worker.rounds(name) == [("first-start", 0), ("fence", 3)]
    assert start_of(inspect(name)) == ("none", 0)
    mirror.start(1)
    mirror.configure(1, **{"consumer.max.poll.records": "10"})
    worker.stop(name)
    assert start_of(inspect(name)) == ("fence", 1)
    worker.ask("PUT", f"/connectors/{name}/resume")
    worker.wait_for_tasks(name, 1)
    mirror.check_exactly_once()

    predicted = predictions(mirror, eosctl, tmp_path)
    assert predicted == worker.rounds(name)
    assert {rule for rule, _ in predicted} == {"first-start", "fence", "single-task"}


def predictions(mirror: Mirror, eosctl: Eosctl, directory: Path) -> list[tuple[str, int]]:
    """The predictions of the next start from the records before each task count record."""
    records = read_topic(mirror.servers)
    predicted = []
    for record in records:
        if record.key == f"tasks-fencing-{mirror.name}":
            before = [each for each in records if each.offset < record.offset]
            path = write_lines(directory / "records.jsonl", before)
            predicted.append(start_of(eosctl("inspect-config", mirror.name, "--records", path, "-o", "json")))
    return predicted


def test_counts_and_offsets_are_those_of_the_topic(mirror: Mirror, inspect: Inspect) -> None:
    mirror.start(3)
    reported, records = row(inspect(mirror.name)), read_topic(mirror.servers)
    assert reported["last_commit_offset"] == last_offset(records, f"commit-{mirror.name}")
    assert reported["last_task_count_offset"] == last_offset(records, f"tasks-fencing-{mirror.name}")
    assert (reported["type"], reported["target_state"], reported["known"]) == ("source", "STARTED", True)
    assert (reported["task_count"], reported["task_count_record"], reported["visible_tasks"]) == (3, 3, [0, 1, 2])
    assert (reported["pending_fencing"], reported["inconsistent"]) == (False, False)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_both_isolation_levels_answer_the_same_where_all_transactions_are_committed(
    isolation: str, mirror: Mirror, inspect: Inspect
) -> None:
    mirror.start(2)
    assert row(inspect(mirror.name, "--isolation-level", isolation)) == row(inspect(mirror.name))


def test_the_history_is_every_record_of_the_connector_in_order(mirror: Mirror, inspect: Inspect) -> None:
    mirror.start(2)
    ran = inspect(mirror.name, "--history")
    assert ran.exit_code == 0, ran.stderr
    history = json.loads(ran.stdout)["data"]["history"]
    names = {f"{kind}-{mirror.name}" for kind in ("connector", "target-state", "commit", "tasks-fencing")}
    names |= {f"task-{mirror.name}-{task}" for task in range(2)}
    assert [each["offset"] for each in history] == [
        record.offset for record in read_topic(mirror.servers) if record.key in names
    ]
    fenced = [each for each in history if each["kind"] == "task-count"]
    assert all(each["transaction"] == "committed" and each["pending_fencing"] is False for each in fenced)


def test_a_deleted_connector_s_count_is_reported_for_a_new_one_of_its_name(
    worker: Worker, inspect: Inspect, fresh_name: FreshName
) -> None:
    mirror = Mirror(worker, fresh_name("again"))
    mirror.start(3)
    mirror.delete()
    reported = row(inspect(mirror.name))
    assert (reported["known"], reported["task_count_record"]) == (False, 3)
    assert "would fence 3 producers" in reported["next_start"]["words"]
    mirror.start(1)
    assert worker.rounds(mirror.name)[-1] == ("fence", 3)
    mirror.delete()


def test_a_name_that_is_nearly_right_is_corrected(mirror: Mirror, inspect: Inspect) -> None:
    mirror.start(1)
    ran = inspect(mirror.name + "x", "--config-topic", CONFIG_TOPIC)
    assert ran.exit_code == 2
    assert f"did you mean {mirror.name}?" in ran.stderr


def test_offsets_are_not_restored_for_a_connector_whose_name_is_nearly_right(
    mirror: Mirror, worker: Worker, eosctl: Eosctl, tmp_path: Path
) -> None:
    mirror.start(1)
    file = tmp_path / "export.json"
    file.write_text('{"offsets": [{"partition": {"f": 1}, "offset": {"p": 1}}]}')
    words = ("offsets", "restore", file, "--connector", mirror.name + "x", "--config-topic", CONFIG_TOPIC)
    there = ("-b", worker.sandbox.bootstrap_servers, "--connect-url", worker.sandbox.connect_url(1))
    ran = eosctl(*words, *there, "--group-id", "connect-cluster", "--dry-run")
    assert ran.exit_code == 2, ran.stdout + ran.stderr
    assert (
        f"connector {mirror.name}x does not exist and has no offsets\nhint: did you mean {mirror.name}?" in ran.stderr
    )
    ran = eosctl(*words, *there, "--group-id", "connect-cluster", "--create-keys", "--dry-run")
    assert (ran.exit_code, "EOS410" in ran.stdout) == (0, True), ran.stdout + ran.stderr


def test_a_wrong_group_is_no_plan_without_producers_to_fence(mirror: Mirror, worker: Worker, eosctl: Eosctl) -> None:
    mirror.start(1)
    for group_id, connector in (("connect-clusterr", mirror.name), ("elsewhere", mirror.name)):
        ran = eosctl(
            *("fence", "--connector", connector, "--group-id", group_id, "--dry-run"),
            *("-b", worker.sandbox.bootstrap_servers, "--config-topic", CONFIG_TOPIC),
        )
        assert ran.exit_code == 2, ran.stdout + ran.stderr
        assert f"is not the config topic of Connect group {group_id}: transactional ID connect-cluster-" in ran.stderr
        assert "nothing to fence" not in ran.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("inspect-config",),
        ("offsets", "show"),
        ("doctor",),
        ("upgrade-check", "--to", "enabled"),
        ("transactions", "list", "--owner", "connect"),
        ("audit",),
        ("timeline",),
        ("acl-plan", "--phase", "enabled", "--principal", "worker=User:w", "--principal", "connector=User:c"),
    ],
    ids=lambda words: words[0],
)
def test_a_group_without_these_workers_is_the_only_finding(
    worker: Worker, eosctl: Eosctl, words: tuple[str, ...]
) -> None:
    servers, url = worker.sandbox.bootstrap_servers, worker.sandbox.connect_url(1)
    ran = eosctl(*words, "-b", servers, "--connect-url", url, "--group-id", "connect-clusterr", "-o", "json")
    assert ran.exit_code == 2, ran.stdout + ran.stderr
    assert re.search(
        r"it is a worker of Connect group connect-cluster, not of connect-clusterr\n|"
        r"is not the config topic of Connect group connect-clusterr: transactional ID connect-cluster-connect-cluster "
        r"writes to it, .*\nhint: give --group-id connect-cluster; or give --config-topic",
        ran.stderr,
    )
    data = json.loads(ran.stdout).get("data", {})
    assert [each["id"] for each in data.get("findings", ())] in ([], ["EOS020"])
