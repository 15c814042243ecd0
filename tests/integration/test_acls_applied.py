"""ACL plans carried out: compared with a real cluster, applied, checked, undone, and done by Kafka's own tool."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.model.acls import AclBinding, Operation, topic, transactional_id
from eosctl.sandbox.properties import properties_text
from eosctl.sources.kafka_acls import read_acls
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.jvm import jars_of, java_with
from tests.kafka_versions import versions_of

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

NASTY = "ä b'c\"d$e`f;g\\h*?#-"
"""A connector's name that a shell would take apart."""


@pytest.fixture(scope="module")
def acls(broker: Sandbox) -> Iterator[AclBroker]:
    with AclBroker(broker) as acls:
        yield acls


@pytest.fixture
def arguments(broker: Sandbox, tmp_path: Path) -> list[str]:
    """-b, and files of a worker and of a connector."""
    settings = {
        **broker.worker_sasl(),
        "group.id": "applied",
        "config.storage.topic": "applied-configs",
        "offset.storage.topic": "applied-offsets",
        "status.storage.topic": "applied-status",
        "exactly.once.source.support": "enabled",
    }
    worker, connector = tmp_path / "worker.properties", tmp_path / "connector.json"
    worker.write_text(properties_text(settings))
    config = {"name": NASTY, "connector.class": "FileStreamSource", "topic": "applied-out", "tasks.max": "2"}
    connector.write_text(json.dumps(config))
    files = ["--worker-config", str(worker), "--connector-config", str(connector)]
    return ["-b", broker.bootstrap_servers, *files]


def planned(ran) -> set[tuple[str, str, str, str]]:
    assert ran.exit_code == 0, ran.stderr
    rows = json.loads(ran.stdout)["data"]["bindings"]
    return {(row["principal"], row["operation"], row["resource_name"], row["pattern_type"]) for row in rows}


def present(broker: Sandbox) -> set[tuple[str, str, str, str]]:
    with wire_of(broker) as root:
        found = read_acls(root)
    assert isinstance(found, frozenset)
    return {(each.principal, each.operation, each.pattern.name, each.pattern.pattern_type) for each in found}


def test_a_plan_is_applied_checked_and_undone(eosctl: Callable, acls: AclBroker, broker, arguments, tmp_path):
    acls.set(())
    assert eosctl("acl-plan", *arguments, "--check").exit_code == 1
    file = tmp_path / "acls.plan"
    assert eosctl("acl-plan", *arguments, "--plan-file", file).exit_code == 0
    assert present(broker) == set(), "planning wrote something"
    applied = eosctl("apply", file, *arguments[:2], "--yes", "-o", "json")
    assert applied.exit_code == 0, applied.stderr
    assert present(broker) == planned(eosctl("acl-plan", *arguments, "-o", "json"))
    assert eosctl("acl-plan", *arguments, "--check").exit_code == 0
    undone = eosctl("undo", f"{file}.undo", *arguments[:2], "--yes")
    assert undone.exit_code == 0, undone.stderr
    assert present(broker) == set()


def test_extras_are_pruned_and_what_is_nobodys_business_is_left(eosctl, acls, broker, arguments, tmp_path):
    mine = AclBinding("User:connector", Operation.WRITE, transactional_id("applied-gone-0"))
    foreign = AclBinding("User:tool", Operation.WRITE, transactional_id("applied-gone-0"))
    other = AclBinding("User:connector", Operation.READ, topic("business"))
    acls.set({mine, foreign, other})
    file = tmp_path / "prune.plan"
    shown = eosctl("acl-plan", *arguments, "--prune", "--plan-file", file, "-o", "json")
    extra = [row for row in json.loads(shown.stdout)["data"]["bindings"] if row["status"] == "extra"]
    assert [row["resource_name"] for row in extra] == ["applied-gone-0"]
    assert eosctl("apply", file, *arguments[:2], "--yes").exit_code == 0
    names = {(each[0], each[2]) for each in present(broker)}
    assert ("User:connector", "applied-gone-0") not in names
    assert {("User:tool", "applied-gone-0"), ("User:connector", "business")} <= names
    assert eosctl("undo", f"{file}.undo", *arguments[:2], "--yes").exit_code == 0
    assert {(each[0], each[2]) for each in present(broker)} == {
        ("User:connector", "applied-gone-0"),
        ("User:tool", "applied-gone-0"),
        ("User:connector", "business"),
    }


@pytest.mark.variation
def test_kafkas_own_tool_makes_the_same_of_the_emitted_lines(eosctl, acls, broker, arguments, tmp_path):
    acls.set(())
    lines = eosctl("acl-plan", *arguments, "--emit", "kafka-acls")
    assert lines.exit_code == 0, lines.stderr
    run_as_shell(broker, lines.stdout, tmp_path)
    assert present(broker) == planned(eosctl("acl-plan", *arguments, "-o", "json"))
    assert eosctl("acl-plan", *arguments, "--check").exit_code == 0


def run_as_shell(broker: Sandbox, script: str, directory: Path) -> None:
    """Run the lines in a shell whose `kafka-acls.sh` is Kafka's own AclCommand from the jars."""
    main = "org.apache.kafka.tools.AclCommand" if broker.spec.version.major >= 4 else "kafka.admin.AclCommand"
    tool = directory / "kafka-acls.sh"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(java_with(jars_of(broker)))} {main} "$@"\n')
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(["sh", "-e"], input=script, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_without_the_right_to_describe_acls_it_is_told_who_lacks_what(eosctl, acls, broker, arguments, tmp_path):
    acls.set({AclBinding("User:tool", Operation.READ, topic("applied-configs"))})
    config = tmp_path / "tool.properties"
    config.write_text(broker.client_properties("tool"))
    ran = eosctl("acl-plan", *arguments[2:], "--command-config", config)
    assert ran.exit_code == 5
    assert "User:tool lacks Describe on cluster kafka-cluster" in ran.stderr


def test_without_the_right_to_alter_acls_nothing_is_created(eosctl, acls, broker, arguments, tmp_path):
    file = tmp_path / "refused.plan"
    acls.set(())
    assert eosctl("acl-plan", *arguments, "--plan-file", file).exit_code == 0
    config = tmp_path / "tool.properties"
    config.write_text(broker.client_properties("tool"))
    ran = eosctl("apply", file, "--command-config", config, "--yes")
    assert ran.exit_code == 5
    assert "User:tool lacks Alter on cluster kafka-cluster" in ran.stderr
    assert present(broker) == set()


def test_an_authorizer_that_is_off_is_said_plainly(eosctl, make_sandbox, kafka_version, arguments, tmp_path):
    open_house = make_sandbox(**versions_of(kafka_version), broker_config={"authorizer.class.name": ""})
    args = ["-b", open_house.bootstrap_servers, *arguments[2:]]
    shown = eosctl("acl-plan", *args)
    assert shown.exit_code == 0
    assert "the brokers have no authorizer (SECURITY_DISABLED)" in shown.stdout
    for asked in (["--check"], ["--plan-file", tmp_path / "none.plan"]):
        ran = eosctl("acl-plan", *args, *asked)
        assert ran.exit_code == 2
        assert "SECURITY_DISABLED" in ran.stderr
    assert not (tmp_path / "none.plan").exists()


def test_what_belongs_to_another_cluster_is_said_to_be_unchecked(eosctl, acls, broker, arguments, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    config = {"name": "far", "connector.class": "FileStreamSource", "topic": "applied-out"}
    elsewhere.write_text(json.dumps(config | {"producer.override.bootstrap.servers": "far:9092"}))
    acls.set(())
    both = [*arguments, "--connector-config", elsewhere]
    file = tmp_path / "near.plan"
    assert eosctl("acl-plan", *both, "--plan-file", file).exit_code == 0
    assert eosctl("apply", file, *arguments[:2], "--yes").exit_code == 0
    checked = eosctl("acl-plan", *both, "--check")
    assert checked.exit_code == 0, checked.stderr
    assert "of other clusters not checked (far:9092)" in checked.stderr
    nowhere = eosctl("acl-plan", *both, "--check", "--cluster", "nowhere:1")
    assert nowhere.exit_code == 2
    assert "every planned binding belongs to another cluster" in nowhere.stderr


def test_connectors_of_several_connect_clusters_are_read_from_their_config_topics(
    eosctl, acls, broker, arguments, tmp_path
):
    second = tmp_path / "second.properties"
    text = Path(arguments[3]).read_text()
    second.write_text(text.replace("applied", "again"))
    more = [*arguments[:4], "--worker-config", second]
    extras = {
        AclBinding("User:connector", Operation.WRITE, transactional_id(f"{group}-gone-0"))
        for group in ("applied", "again")
    }
    acls.set(extras)
    ran = eosctl("acl-plan", *more, "--connector-config", f"again={arguments[5]}", "--prune", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    rows = json.loads(ran.stdout)["data"]["bindings"]
    assert {row["resource_name"] for row in rows if row["status"] == "extra"} == {"applied-gone-0", "again-gone-0"}
