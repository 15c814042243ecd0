"""Rounds of fencing that take longer than Connect waits, before they happen and while they do."""

import json
from pathlib import Path

import httpx
import pytest

from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.integration.doctoring import Doctor
from tests.integration.producers import create_topic
from tests.integration.test_doctor import arguments, configure, counted, remove
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers]


@pytest.mark.proves("EOS030")
def test_a_long_back_off_breaks_the_fencing_budget_and_the_printed_override_cures_it(
    connect_sandbox: Sandbox, eosctl, fresh_name, tmp_path: Path
) -> None:
    """At reduced scale: MirrorSource with 6 tasks and 20 s between two IDs costs what 100 tasks cost by default."""
    from confluent_kafka.admin import AdminClient, NewTopic

    source, name = fresh_name("mirrored"), fresh_name("mirror")
    admin = AdminClient({"bootstrap.servers": connect_sandbox.bootstrap_servers})
    make_topic(admin, NewTopic(source, 6, 1))
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": connect_sandbox.bootstrap_servers,
        "target.cluster.bootstrap.servers": connect_sandbox.bootstrap_servers,
        "source.consumer.isolation.level": "read_committed",
        "topics": source,
        "tasks.max": "6",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "admin.override.retry.backoff.ms": "20000",
        "admin.override.retry.backoff.max.ms": "20000",
    }
    url = f"{connect_sandbox.connect_urls[0]}/connectors/{name}"

    def running() -> bool:
        answer = httpx.get(f"{url}/status", timeout=30, verify=False)
        tasks = answer.json().get("tasks", ()) if answer.status_code == 200 else ()
        return [task["state"] for task in tasks] == ["RUNNING"] * 6

    configure(f"{url}/config", config)
    try:
        eventually(running, "the six tasks run", deadline_s=120)
        ran = eosctl("doctor", *arguments(connect_sandbox), "-o", "json")
        [budget] = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] == "EOS030"]
        assert (budget["severity"], budget["subject"]) == ("error", name)
        assert budget["evidence"]["silence_s"] == 100.0
        assert "admin.override.retry.backoff.max.ms=5" in budget["cure"]
        cured = config | {f"admin.override.retry.backoff.{key}": "5" for key in ("ms", "max.ms")}
        configure(f"{url}/config", cured)
        eventually(
            lambda: ("EOS030", name) not in counted(eosctl("doctor", *arguments(connect_sandbox), "-o", "json")),
            "the budget is cured",
        )
    finally:
        remove(connect_sandbox, name)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_fencing_over_the_budget_fails_all_tasks_until_the_printed_override_is_set(
    make_sandbox, eosctl, fresh_name
) -> None:
    """With 5 s between two IDs, 22 tasks need 95 s and more: Connect waits 90 s, as with 105 tasks by default."""
    sandbox = make_sandbox(workers=1, worker_java_options=["-Xmx1g"])
    worker, slow = Worker(sandbox), {"admin.override.retry.backoff.ms": "5000"}
    slow["admin.override.retry.backoff.max.ms"] = "5000"
    name, tasks = fresh_name("slow"), 22
    mirror = Mirror(worker, name)
    create_topic(sandbox.bootstrap_servers, f"{name}-more", tasks)
    wide = {"topics": f"{name}-more", "source.consumer.isolation.level": "read_committed"}
    mirror.configure(tasks, **wide, **slow)
    worker.wait_for_tasks(name, tasks)
    doctor = Doctor(eosctl, tuple(arguments(sandbox)))
    finding = doctor.sees(("EOS030", name))["EOS030", name]
    assert (finding["severity"], finding["evidence"]["silence_s"] > 90) == ("error", True)
    mirror.configure(tasks - 1, **wide, **slow)
    eventually(lambda: worker.task_states(name) == ["FAILED"] * (tasks - 1), "all tasks FAILED", deadline_s=240)
    cured = dict.fromkeys(slow, "5")
    assert all(f"{key}=5" in finding["cure"] for key in slow)
    mirror.configure(tasks - 1, **wide, **cured)
    for task in range(tasks - 1):
        worker.ask("POST", f"/connectors/{name}/tasks/{task}/restart")
    worker.wait_for_tasks(name, tasks - 1)
    doctor.sees_no_more(("EOS030", name))
    worker.close()
