"""`eosctl doctor` on real clusters: silent on a healthy one, and right about planted faults."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from eosctl.model.versions import KafkaVersion
from tests.faulty_sandbox import Sandbox
from tests.integration.kafka_tools import run_kafka_tool
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers]
NO_HISTORY = "EOS160"
"""A rule that takes a day of commits."""
WITH_SUPPORT = KafkaVersion(3, 4)
"""From here on FileStreamSource says whether it supports exactly-once; before, the answer is incomplete."""
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(scope="module")
def healthy(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    """A broker and a worker of each version that `--kafka-versions` names."""
    return shared_sandboxes.of(spec_of(kafka_version, workers=1))


def configure(url: str, config: dict[str, str]) -> None:
    """PUT it, again as long as the workers rebalance (409)."""
    eventually(
        lambda: httpx.put(url, json=config, timeout=60, verify=False).is_success, f"{url} is accepted", deadline_s=60
    )


def put_source(sandbox: Sandbox, name: str, file: Path, **more: str) -> None:
    config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": f"{name}-out", **more}
    url = sandbox.connect_urls[0]
    configure(f"{url}/connectors/{name}/config", config)

    def runs() -> bool:
        answer = httpx.get(f"{url}/connectors/{name}/status", timeout=30, verify=False)
        tasks = answer.json().get("tasks", ()) if answer.status_code == 200 else ()
        return [task["state"] for task in tasks] == ["RUNNING"]

    eventually(runs, f"the task of {name} runs", deadline_s=90)


def remove(sandbox: Sandbox, name: str) -> None:
    httpx.delete(f"{sandbox.connect_urls[0]}/connectors/{name}", timeout=60, verify=False)


def arguments(sandbox: Sandbox) -> list[object]:
    urls = [part for url in sandbox.connect_urls for part in ("--connect-url", url)]
    files = sorted(sandbox.directory.glob("worker-*/worker.properties"))
    return ["-b", sandbox.bootstrap_servers, *urls, *[part for file in files for part in ("--worker-config", file)]]


def counted(ran) -> set[tuple[str, str]]:
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    found = json.loads(ran.stdout)["data"]["findings"]
    return {(each["id"], each["subject"]) for each in found if each["severity"] != "info"}


def ids(ran) -> set[str]:
    return {rule for rule, _ in counted(ran)}


@pytest.mark.matrix
def test_a_healthy_cluster_is_free_of_findings(healthy: Sandbox, eosctl, fresh_name, tmp_path: Path) -> None:
    name, lines = fresh_name("healthy"), tmp_path / "lines"
    lines.write_text("1\n2\n")
    put_source(healthy, name, lines)
    try:
        doctor = lambda: eosctl("doctor", *arguments(healthy), "-o", "json")  # noqa: E731
        eventually(lambda: "EOS024" not in ids(doctor()), "the group is at rest")
        ran = doctor()
        assert counted(ran) == set()
        unknown = {each["id"]: each["reason"] for each in json.loads(ran.stdout)["data"]["unknown"]}
        silent = KafkaVersion.parse(healthy.spec.workers_version) < WITH_SUPPORT
        assert (ran.exit_code, "EOS100" in unknown) == ((3, True) if silent else (0, False)), ran.stdout
        assert not silent or f"`eosctl audit --connector {name}`" in unknown["EOS100"]
        assert unknown.keys() <= {"EOS100", "EOS120", "EOS130", "EOS131", "EOS132", NO_HISTORY}
    finally:
        remove(healthy, name)


@pytest.mark.variation
def test_a_busy_cluster_is_free_of_findings(make_sandbox, eosctl, tmp_path: Path) -> None:
    """Two workers, five connectors, and lines that come while doctor looks."""
    sandbox = make_sandbox(workers=2)
    files = [tmp_path / f"busy-{number}" for number in range(5)]
    for file in files:
        file.write_text("line\n" * 20_000)
        put_source(sandbox, file.name, file)
    eventually(lambda: "EOS024" not in ids(eosctl("doctor", *arguments(sandbox), "-o", "json")), "the group is at rest")
    for _ in range(3):
        for file in files:
            with file.open("a") as more:
                more.write("line\n" * 20_000)
        assert counted(eosctl("doctor", *arguments(sandbox), "-o", "json")) == set()


def test_a_snapshot_answers_as_the_cluster_and_names_its_missing_parts(
    connect_sandbox: Sandbox, eosctl, fresh_name, tmp_path: Path
) -> None:
    """A snapshot has no connectors' validation answers and no ACLs; consumers do not report their isolation level."""
    name, lines, file = fresh_name("saved"), tmp_path / "lines", tmp_path / "cluster.snapshot"
    lines.write_text("1\n")
    put_source(connect_sandbox, name, lines)
    given = arguments(connect_sandbox)
    files = given[given.index("--worker-config") :]
    try:
        online = eosctl("doctor", *given, "--no-preflight", "-o", "json")
        saved = eosctl("snapshot", "save", file, *given[: given.index("--worker-config")], *files[:2])
        assert saved.exit_code == 0, saved.stderr
    finally:
        remove(connect_sandbox, name)
    offline = eosctl("doctor", "--snapshot", file, *files, "-o", "json")
    assert counted(offline) == counted(online)
    saved_answer = json.loads(offline.stdout)["data"]
    unread = {"EOS028", "EOS100", "EOS120", "EOS130", "EOS131", "EOS132", NO_HISTORY}
    assert {each["id"] for each in saved_answer["unknown"]} <= unread
    assert [each["exactly_once"] for each in saved_answer["workers"]] == ["enabled"]
    upgrade = eosctl("upgrade-check", "--to", "enabled", "--snapshot", file, *files, "-o", "json")
    assert (upgrade.exit_code, json.loads(upgrade.stdout)["data"]["verdict"]) == (0, "yes"), upgrade.stdout


def alter(sandbox: Sandbox, topic: str, key: str, value: str) -> None:
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


@pytest.mark.proves("EOS052")
def test_a_deleting_config_topic_is_found_and_cured(connect_sandbox: Sandbox, eosctl) -> None:
    doctor: Callable[[], set[str]] = lambda: ids(eosctl("doctor", *arguments(connect_sandbox), "-o", "json"))  # noqa: E731
    alter(connect_sandbox, "connect-configs", "cleanup.policy", "delete")
    try:
        eventually(lambda: "EOS052" in doctor(), "the policy is found")
    finally:
        alter(connect_sandbox, "connect-configs", "cleanup.policy", "compact")
    eventually(lambda: "EOS052" not in doctor(), "the policy is cured")


@pytest.mark.variation
@pytest.mark.proves("EOS013", "EOS023", "EOS031")
def test_settings_of_brokers_and_workers_are_found_as_they_are(make_sandbox, eosctl, tmp_path: Path) -> None:
    """One cluster with three faults, each of which goes with its own fix."""
    sandbox = make_sandbox(
        workers=1,
        exactly_once="disabled",
        broker_config={"transaction.max.timeout.ms": "60000"},
        worker_config={"connect.protocol": "compatible"},
    )
    (tmp_path / "lines").write_text("1\n")
    put_source(sandbox, "copier", tmp_path / "lines")
    doctor: Callable[[], set[str]] = lambda: ids(eosctl("doctor", *arguments(sandbox), "-o", "json"))  # noqa: E731
    eventually(lambda: doctor() == {"EOS013", "EOS023", "EOS031"}, "all three are found", deadline_s=60)
    remove(sandbox, "copier")
    sandbox.stop_worker(1)
    sandbox.start_worker(1, {"exactly.once.source.support": "enabled", "connect.protocol": "sessioned"})
    eventually(lambda: doctor() == {"EOS031"}, "only the brokers' limit is left", deadline_s=60)
    sandbox.stop_broker(1)
    sandbox.start_broker(1, {"transaction.max.timeout.ms": "900000"})
    eventually(lambda: doctor() == set(), "nothing is left", deadline_s=60)


@pytest.mark.variation
@pytest.mark.proves("EOS033")
def test_a_worker_that_has_no_time_to_read_the_config_topic_fences_no_task(
    make_sandbox, eosctl, tmp_path: Path
) -> None:
    """With 0 ms its task is FAILED for exactly the reason that the rule gives; by the printed cure it runs again."""
    sandbox = make_sandbox(workers=1)
    (tmp_path / "lines").write_text("1\n")
    put_source(sandbox, "copier", tmp_path / "lines")
    status = f"{sandbox.connect_urls[0]}/connectors/copier/status"
    file = sandbox.directory / "worker-1" / "worker.properties"
    sandbox.stop_worker(1)
    sandbox.start_worker(1, {"worker.sync.timeout.ms": "0"})

    def trace() -> str:
        answer = httpx.get(status, timeout=30)
        tasks = answer.json()["tasks"] if answer.status_code == 200 else []
        return "".join(task.get("trace", "") for task in tasks if task["state"] == "FAILED")

    eventually(lambda: "Failed to read to end of config topic" in trace(), "the task fails", deadline_s=90)
    ran = eosctl("doctor", "-b", sandbox.bootstrap_servers, "--worker-config", file, "-o", "json")
    found = {each["id"]: each for each in json.loads(ran.stdout)["data"]["findings"]}
    assert found["EOS033"]["cure"].startswith(f"remove worker.sync.timeout.ms from {file}")
    sandbox.stop_worker(1)
    sandbox.start_worker(1, {"worker.sync.timeout.ms": "3000"})
    put_source(sandbox, "copier", tmp_path / "lines")
    assert "EOS033" not in ids(eosctl("doctor", *arguments(sandbox), "-o", "json"))


@pytest.mark.variation
@pytest.mark.proves("EOS145")
def test_an_offsets_topic_that_connectors_of_two_principals_write_is_named_until_one_has_its_own(
    connect_sandbox: Sandbox, eosctl, fresh_name, tmp_path: Path
) -> None:
    names = [fresh_name("tenant") for _ in range(2)]
    (tmp_path / "lines").write_text("1\n")
    named = [part for name in names for part in ("--principal", f"{name}/producer=User:{name}")]
    for name in names:
        put_source(connect_sandbox, name, tmp_path / "lines")

    def tenants() -> list[list[str]]:
        ran = eosctl("doctor", *arguments(connect_sandbox), *named, "-o", "json")
        found = json.loads(ran.stdout)["data"]["findings"]
        return [each["evidence"]["principals"] for each in found if each["id"] == "EOS145"]

    try:
        eventually(lambda: tenants() == [sorted(f"User:{name}" for name in names)], "both principals are named")
        put_source(connect_sandbox, names[0], tmp_path / "lines", **{"offsets.storage.topic": f"{names[0]}-offsets"})
        eventually(lambda: tenants() == [], "each topic has one principal")
    finally:
        for name in names:
            remove(connect_sandbox, name)


@pytest.mark.variation
@pytest.mark.proves("EOS130", "EOS131", "EOS132", "EOS144")
def test_missing_acls_are_found_until_the_printed_ones_are_granted(
    connect_sandbox: Sandbox, eosctl, fresh_name, tmp_path: Path
) -> None:
    """The ACLs that the planner misses for two principals; the tests of acl-plan show which are really needed."""
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
    )
    from confluent_kafka.admin import ResourceType as AnyResource

    name, lines = fresh_name("granted"), tmp_path / "lines"
    lines.write_text("1\n")
    put_source(connect_sandbox, name, lines)
    named = ("--principal", "worker=User:worker", "--principal", "connector=User:connector")

    def missing(rules: str = "EOS13") -> dict[tuple[str, str], str]:
        ran = eosctl("doctor", *arguments(connect_sandbox), *named, "-o", "json")
        found = json.loads(ran.stdout)["data"]["findings"]
        return {(each["id"], each["cure"]): each["subject"] for each in found if each["id"].startswith(rules)}

    try:
        cures = missing()
        assert {rule for rule, _ in cures} == {"EOS130", "EOS131", "EOS132"}
        assert {subject for (rule, _), subject in cures.items() if rule == "EOS131"} >= {name}
        for _, cure in cures:
            run_kafka_tool(connect_sandbox, cure)
        eventually(lambda: missing() == {}, "the grants are seen")
        ran = eosctl("doctor", *arguments(connect_sandbox), "--super-user", "User:ANONYMOUS", "-o", "json")
        unknown = {each["id"] for each in json.loads(ran.stdout)["data"]["unknown"]}
        assert unknown.isdisjoint({"EOS130", "EOS131", "EOS132"}), "a super user needs no ACL"
        allow = "kafka-acls.sh --bootstrap-server <broker> --add --allow-principal User:eve --operation Write"
        run_kafka_tool(connect_sandbox, f"{allow} --topic connect-configs")
        eventually(lambda: set(missing("EOS144").values()) == {"User:eve"}, "who may write the config topic is seen")
        for _, cure in missing("EOS144"):
            run_kafka_tool(connect_sandbox, cure, "--force")
        eventually(lambda: missing("EOS144") == {}, "nobody else may write it any more")
    finally:
        remove(connect_sandbox, name)
        admin = AdminClient({"bootstrap.servers": connect_sandbox.bootstrap_servers})
        anything = (AnyResource.ANY, None, ResourcePatternType.ANY)
        for user in ("User:worker", "User:connector", "User:eve"):
            mine = AclBindingFilter(*anything, user, "*", AclOperation.ANY, AclPermissionType.ANY)
            for future in admin.delete_acls([mine]).values():
                future.result(30)


@pytest.mark.proves("EOS080")
def test_a_null_shadow_is_found_before_the_connector_starts_again_and_migrate_offsets_cures_it(
    connect_sandbox: Sandbox, eosctl, fresh_name, tmp_path: Path
) -> None:
    name, lines = fresh_name("shadowed"), tmp_path / "lines"
    lines.write_text("".join(f"{number}\n" for number in range(100)))
    url = f"{connect_sandbox.connect_urls[0]}/connectors/{name}"
    put_source(connect_sandbox, name, lines)
    try:
        eventually(
            lambda: httpx.get(f"{url}/offsets", timeout=30, verify=False).json().get("offsets"),
            "its offset is committed",
        )
        httpx.put(f"{url}/stop", timeout=60, verify=False).raise_for_status()
        stopped = lambda: httpx.get(f"{url}/status", timeout=30, verify=False).json()["connector"]["state"] == "STOPPED"  # noqa: E731
        eventually(stopped, "it is stopped")
        config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(lines), "topic": f"{name}-out"}
        configure(f"{url}/config", config | {"offsets.storage.topic": f"{name}-offsets"})
        doctor = lambda: counted(eosctl("doctor", *arguments(connect_sandbox), "-o", "json"))  # noqa: E731
        eventually(lambda: ("EOS080", name) in doctor(), "the shadow is found")
        where = ["-b", connect_sandbox.bootstrap_servers, "--connect-url", connect_sandbox.connect_urls[0]]
        group = ["--group-id", "connect-cluster"]
        configure(f"{url}/config", config)  # as the cure says: first as it was, then moved
        own = ("--to-topic", f"{name}-offsets", "--stop", "--set-config")
        moved = eosctl("migrate-offsets", "--connector", name, *own, *where, *group, "--yes")
        assert moved.exit_code == 0, moved.stderr
        assert httpx.get(f"{url}/config", timeout=30, verify=False).json()["offsets.storage.topic"] == f"{name}-offsets"
        assert ("EOS080", name) not in doctor()
    finally:
        remove(connect_sandbox, name)
