"""acl-plan beside a running Connect cluster: connectors and principals from where they really are."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from eosctl.clients.rest import RestClient
from eosctl.sandbox.properties import properties_text
from tests.faulty_sandbox import Sandbox
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="s3cret";'


@pytest.fixture
def connector(connect_sandbox: Sandbox, fresh_name: Callable[[str], str], tmp_path: Path) -> Iterator[str]:
    """A connector with a task, whose admin client would be User:overridden where it spoke SASL."""
    name = fresh_name("acl-live")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "none"),
        "topic": f"{name}-out",
        "producer.override.client.id": "not a principal",
        "admin.override.sasl.jaas.config": JAAS.format("overridden"),
        "admin.override.sasl.mechanism": "PLAIN",
    }
    with RestClient(connect_sandbox.connect_urls[0], 30) as rest:
        rest.request("PUT", f"/connectors/{name}/config", config)
        # Not with eosctl's client, which asks for no tasks: a worker once logged an ERROR of this request.
        tasks = f"{connect_sandbox.connect_urls[0]}/connectors/{name}/tasks"
        eventually(lambda: (answer := httpx.get(tasks)).is_success and answer.json(), f"{name} has a task")
        yield name
        rest.request("DELETE", f"/connectors/{name}")


@pytest.fixture
def worker_file(connect_sandbox: Sandbox, tmp_path: Path) -> Path:
    """The worker's settings, as if its admin clients spoke SASL."""
    path = tmp_path / "worker.properties"
    settings = {
        "bootstrap.servers": connect_sandbox.bootstrap_servers,
        "group.id": connect_sandbox.spec.group_id,
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "status.storage.topic": "connect-status",
        "exactly.once.source.support": "enabled",
        "admin.security.protocol": "SASL_PLAINTEXT",
    }
    path.write_text(properties_text(settings))
    return path


def rows_of(ran, connector: str) -> dict[str, dict]:
    assert ran.exit_code == 0, ran.stderr
    rows = json.loads(ran.stdout)["data"]["bindings"]
    mine = [row for row in rows if row["connectors"] == [connector]]
    return {f"{row['principal']} {row['binding']}": row for row in mine}


@pytest.mark.parametrize("over_rest", [False, True], ids=["from the config topic", "from a worker"])
def test_connectors_and_their_principals_are_read(eosctl, connect_sandbox, connector, worker_file, over_rest):
    where = ["--connect-url", connect_sandbox.connect_urls[0]] if over_rest else []
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file, "--connector", connector]
    ran = eosctl("acl-plan", *args, *where, "--super-user", "User:ANONYMOUS", "-o", "json")
    rows = rows_of(ran, connector)
    written = f"Write TransactionalId connect-cluster-{connector}-0"
    assert rows[f"User:overridden {written}"]["status"] == "missing"
    assert rows[f"User:ANONYMOUS {written}"]["status"] == "present"
    assert "s3cret" not in ran.stdout + ran.stderr


def test_internal_topics_that_exist_need_not_be_created(eosctl, connect_sandbox, connector, worker_file):
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file]
    ran = eosctl("acl-plan", *args, "--connector", connector, "-o", "json")
    rows = json.loads(ran.stdout)["data"]["bindings"]
    created = {row["resource_name"] for row in rows if row["operation"] == "Create"}
    assert not created & {"connect-configs", "connect-offsets", "connect-status"}


def test_what_brokers_keep_to_themselves_is_told_where_something_is_missing(
    eosctl, connect_sandbox, connector, worker_file
):
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file, "--connector", connector]
    more = ["--principal", "admin=User:overridden", "-o", "json"]
    told = [
        {each["subject"] for each in json.loads(ran.stdout)["data"]["findings"] if not each["name"].startswith("trans")}
        for ran in (eosctl("acl-plan", *args, *more), eosctl("acl-plan", *args, *more, "--super-user", "User:x"))
    ]
    assert told == [{"super.users", "allow.everyone.if.no.acl.found"}, {"allow.everyone.if.no.acl.found"}]


def test_a_connector_that_was_not_asked_for_is_a_neighbour(eosctl, connect_sandbox, connector, worker_file):
    config = worker_file.with_name("longer.json")
    longer = {"name": f"{connector}-longer", "connector.class": "FileStreamSource", "topic": "x"}
    config.write_text(json.dumps(longer))
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file, "--connector-config", config]
    more = ["--connector", connector, "--principal", "admin=User:overridden", "--pattern", "prefixed"]
    ran = eosctl("acl-plan", *args, *more, "-o", "json")
    told = [each["message"] for each in json.loads(ran.stdout)["data"]["findings"] if each["severity"] == "warning"]
    assert ran.exit_code == 1
    assert len(told) == 1
    assert f"also covers the IDs of connector {connector}-longer" in told[0]


def test_a_snapshot_has_no_principals_and_says_which_to_name(eosctl, connect_sandbox, connector, worker_file, tmp_path):
    path = tmp_path / "now.snapshot"
    there = ["-b", connect_sandbox.bootstrap_servers, "--connect-url", connect_sandbox.connect_urls[0]]
    saved = eosctl("snapshot", "save", path, *there, "--group-id", "connect-cluster")
    assert saved.exit_code == 0, saved.stderr
    args = ["--snapshot", path, "--worker-config", worker_file, "--connector", connector]
    ran = eosctl("acl-plan", *args)
    assert ran.exit_code == 2
    assert f"admin of connector {connector} (sasl.jaas.config:" in ran.stderr
    named = eosctl("acl-plan", *args, "--principal", "admin=User:overridden", "-o", "json")
    assert f"User:overridden Write TransactionalId connect-cluster-{connector}-0" in rows_of(named, connector)
