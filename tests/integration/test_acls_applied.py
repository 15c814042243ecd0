"""ACL plans carried out: compared with a real cluster, applied, checked, undone, and done by Kafka's own tool."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import CLUSTER, AclBinding, Operation, ResourcePattern, topic, transactional_id
from eosctl.model.acls import group as group_pattern
from eosctl.model.workers import SourceSupport
from eosctl.sandbox.properties import SandboxSpec, properties_text
from eosctl.sources.kafka_acls import read_acls
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import Connectors, file_life, own_topic_life, restart, with_tasks
from tests.integration.acl_site import PATIENT_S, USERS, Broken, Site, Sites
from tests.jvm import jars_of, java_with
from tests.kafka_versions import versions_of
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
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


@pytest.mark.matrix
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


@pytest.mark.matrix
def test_extras_are_pruned_and_unrelated_acls_stay(eosctl, acls, broker, arguments, tmp_path):
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


@pytest.mark.matrix
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


@pytest.mark.matrix
def test_without_describe_on_the_cluster_the_principal_and_its_missing_permission_are_reported(
    eosctl, acls, broker, arguments, tmp_path
):
    acls.set({AclBinding("User:tool", Operation.READ, topic("applied-configs"))})
    config = tmp_path / "tool.properties"
    config.write_text(broker.client_properties("tool"))
    ran = eosctl("acl-plan", *arguments[2:], "--command-config", config)
    assert ran.exit_code == 5
    assert "User:tool lacks Describe on cluster kafka-cluster" in ran.stderr


@pytest.mark.matrix
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


@pytest.mark.matrix
def test_a_missing_authorizer_is_reported(eosctl, make_sandbox, kafka_version, arguments, tmp_path):
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


@pytest.mark.matrix
def test_bindings_of_another_cluster_are_reported_as_unchecked(eosctl, acls, broker, arguments, tmp_path):
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


@pytest.mark.matrix
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


# acl-plan beside a running Connect cluster: connectors and principals from where they really are.


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="s3cret";'


@pytest.fixture
def connector(connect_sandbox: Sandbox, fresh_name: FreshName, tmp_path: Path) -> Iterator[str]:
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


def test_settings_that_brokers_do_not_show_are_reported_where_a_binding_is_missing(
    eosctl, connect_sandbox, connector, worker_file
):
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file, "--connector", connector]
    more = ["--principal", "admin=User:overridden", "-o", "json"]
    reported = [
        {each["subject"] for each in json.loads(ran.stdout)["data"]["findings"] if not each["name"].startswith("trans")}
        for ran in (eosctl("acl-plan", *args, *more), eosctl("acl-plan", *args, *more, "--super-user", "User:x"))
    ]
    assert reported == [{"super.users", "allow.everyone.if.no.acl.found"}, {"allow.everyone.if.no.acl.found"}]


def test_a_connector_that_was_not_asked_for_is_a_neighbour(eosctl, connect_sandbox, connector, worker_file):
    config = worker_file.with_name("longer.json")
    longer = {"name": f"{connector}-longer", "connector.class": "FileStreamSource", "topic": "x"}
    config.write_text(json.dumps(longer))
    args = ["-b", connect_sandbox.bootstrap_servers, "--worker-config", worker_file, "--connector-config", config]
    more = ["--connector", connector, "--principal", "admin=User:overridden", "--pattern", "prefixed"]
    ran = eosctl("acl-plan", *args, *more, "-o", "json")
    reported = [each["message"] for each in json.loads(ran.stdout)["data"]["findings"] if each["severity"] == "warning"]
    assert ran.exit_code == 1
    assert len(reported) == 1
    assert f"also covers the IDs of connector {connector}-longer" in reported[0]


def test_a_snapshot_has_no_principals_and_names_the_needed_options(
    eosctl, connect_sandbox, connector, worker_file, tmp_path
):
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


# The ACL tables of Kafka's documentation, granted word by word: where they are too small, and where too large.  The
# tables name "the principal of each connector", as if its clients were one; docs/acls.md has the observations.


ONE = {"producer": "connector", "consumer": "connector", "admin": "connector"}
READ, WRITE, CREATE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE


def grant(principal: str, pattern: ResourcePattern, *operations: Operation) -> set[AclBinding]:
    return {AclBinding(f"User:{principal}", each, pattern) for each in operations}


def of_the_worker(site: Site) -> set[AclBinding]:
    """The documentation's ACLs for a worker: group, internal topics, and for exactly-once the leader's ID."""
    internal = [
        each for name in site.worker.internal_topics for each in grant("worker", topic(name), READ, WRITE, CREATE)
    ]
    leader = grant("worker", transactional_id(f"connect-cluster-{site.name}"), WRITE, DESCRIBE)
    return {*internal, *leader, *grant("worker", group_pattern(site.name), READ)}


def of_the_connector(site: Site, offsets: tuple[Operation, ...]) -> set[AclBinding]:
    """Its ACLs for "the principal of each connector" with exactly-once, and on its offsets topics."""
    bindings = grant("connector", topic(f"{site.name}-lines"), WRITE)
    for name in (f"{site.name}-offsets", f"{site.name}-own-offsets"):
        bindings |= grant("connector", topic(name), *offsets)
    for connector in ("file", "own"):
        own_id = transactional_id(f"{site.name}-{site.name}-{connector}-0")
        bindings |= grant("connector", own_id, WRITE, DESCRIBE)
    return bindings


TO_3_3 = (READ, WRITE, DESCRIBE, CREATE)
"""The offsets topic in the manuals of 3.3 to 4.2."""
FROM_4_3 = (DESCRIBE,)
"""The offsets topic in the merged table of newer manuals (KAFKA-20239)."""


def run(
    sites: Sites, root: Wire, offsets: tuple[Operation, ...], clients: dict[str, str], more: set[AclBinding]
) -> None:
    """File sources live with the manual's bindings and `more`, in whose names {site} is the site's."""
    site = replace(sites.make(SourceSupport.ENABLED), clients=clients)
    named = {AclBinding(each.principal, each.operation, rename(site, each.pattern)) for each in more}
    site.allow(of_the_worker(site) | of_the_connector(site, offsets) | named)
    try:
        site.start_worker()
        file_life(site, root)
        own_topic_life(site, root)
    finally:
        for connector in Connectors.of(site):
            site.delete(connector.name)
        site.stop_worker()


def rename(site: Site, pattern: ResourcePattern) -> ResourcePattern:
    return pattern._replace(name=pattern.name.format(site=site.name))


@pytest.mark.long
def test_the_old_tables_are_enough_where_all_clients_are_one_principal(acl_sites, acl_root):
    run(acl_sites, acl_root, TO_3_3, ONE, set())


@pytest.mark.long
def test_the_old_tables_are_too_small_where_the_clients_are_several(acl_sites, acl_root):
    clients = {"producer": "connector", "consumer": "consumer", "admin": "admin"}
    with pytest.raises(Broken, match="create"):
        run(acl_sites, acl_root, TO_3_3, clients, set())


@pytest.mark.long
def test_fencing_by_another_admin_principal_is_in_no_table(acl_sites, acl_root):
    clients = {"producer": "connector", "consumer": "connector", "admin": "admin"}
    describing = grant("admin", topic("{site}-offsets"), DESCRIBE) | grant(
        "admin", topic("{site}-own-offsets"), DESCRIBE, CREATE
    )
    with pytest.raises(Broken, match="zombie fencing"):
        run(acl_sites, acl_root, TO_3_3, clients, describing)


@pytest.mark.long
def test_the_new_table_is_too_small_for_reading_and_writing_offsets(acl_sites, acl_root):
    with pytest.raises(Broken, match=r"create|write records|commit offsets"):
        run(acl_sites, acl_root, FROM_4_3, ONE, set())


@pytest.mark.long
def test_the_tables_are_too_large_by_describe_and_idempotent_write(acl_sites, acl_root):
    """IdempotentWrite was granted in none of these tests, and here Describe on the IDs goes too."""
    site = replace(acl_sites.make(SourceSupport.ENABLED), clients=ONE)
    granted = of_the_worker(site) | of_the_connector(site, TO_3_3)
    described = {each for each in granted if each.operation is DESCRIBE}
    assert len(described) == 5
    assert not any(each.pattern == CLUSTER for each in granted)
    site.allow(granted - described)
    try:
        site.start_worker()
        file_life(site, acl_root)
    finally:
        site.stop_worker()


# eosctl itself as a principal with exactly the bindings that it plans for it: it reads, fences and moves offsets.


TOOL = "tool"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A Connect cluster with a file source that ran, and the user `tool` with no binding yet."""
    files: Path = tmp_path_factory.mktemp("lines")
    with (
        Sandbox(SandboxSpec(users=(*USERS, TOOL), deadline_s=45)) as sandbox,
        wire_of(sandbox) as root,
        AclBroker(sandbox) as acls,
    ):
        made = Sites(sandbox, acls, files, PATIENT_S).make(SourceSupport.ENABLED)
        made.allow(each.binding for each in planned_for_eosctl(made))
        made.start_worker()
        file_life(made, root)
        yield made


@pytest.fixture(scope="module")
def root(site: Site) -> Iterator[Wire]:
    with wire_of(site.sandbox) as wire:
        yield wire


def planned_for_eosctl(site: Site) -> tuple[PlannedBinding, ...]:
    """The plan for connectors, with and without an own offsets topic, and for eosctl; no topic exists."""
    topics = (*site.worker.internal_topics, f"{site.name}-own-offsets")
    known = {**dict.fromkeys(topics, False), f"{site.name}-lines": True}
    connectors = Connectors.of(site)
    ran_with_two = with_tasks(connectors.file, 2)
    return site.plan((ran_with_two, connectors.own), known, tool=TOOL).bindings


def needed(site: Site) -> list[AclBinding]:
    """All of Connect's bindings, and the required ones of eosctl."""
    tool = f"User:{TOOL}"
    return [each.binding for each in planned_for_eosctl(site) if each.binding.principal != tool or not each.is_optional]


@pytest.fixture
def tool(site: Site, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """eosctl as that user, told of the worker by its properties."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    identity, worker = tmp_path / "client.properties", tmp_path / "worker.properties"
    identity.write_text(site.sandbox.client_properties(TOOL))
    settings = {"bootstrap.servers": site.sandbox.sasl_bootstrap_servers, **site.worker_settings()}
    worker.write_text(properties_text(settings))
    known = ("--command-config", identity, "--group-id", site.name)
    files = {"worker": worker, "identity": identity}

    def run(command: str, *args: object) -> Ran:
        return eosctl(*command.split(), *known, *(files.get(str(each), each) for each in args))

    return run


@pytest.mark.variation
def test_reading_needs_no_more_than_the_required_bindings(site: Site, tool: Callable[..., Ran], tmp_path: Path):
    site.allow(needed(site))
    url = site.sandbox.connect_url(1)
    topics = ("--config-topic", f"{site.name}-configs")
    offsets = ("--worker-offsets-topic", f"{site.name}-offsets")
    ran = tool("inspect-config", *topics, "-o", "json")
    assert ran.exit_code == 3, "findings about the topic's settings need an optional binding"
    assert f"{site.name}-file" in {each["name"] for each in json.loads(ran.stdout)["data"]["connectors"]}
    ran = tool(
        "offsets show", *topics, *offsets, "--connect-url", url, "--connector", f"{site.name}-file", "-o", "json"
    )
    assert ran.exit_code == 3, ran.stderr
    assert json.loads(ran.stdout)["data"]["offsets"], "the connector has committed"
    ran = tool("transactions describe", *topics, f"connect-cluster-{site.name}", f"{site.name}-{site.name}-file-0")
    assert ran.exit_code == 0, ran.stderr
    # A principal without Describe on all IDs and topics sees the visible ones, and that more may be hidden.
    ran = tool("transactions list", *topics, "-o", "json")
    assert ran.exit_code == 3, ran.stderr
    assert len(json.loads(ran.stdout)["data"]["transactions"]) >= 2
    saved = tool("snapshot save", tmp_path / "snapshot", *topics, *offsets, "--connect-url", url, "-o", "json")
    assert saved.exit_code == 3, saved.stderr
    ran = tool("doctor", *topics, *offsets, "--status-topic", f"{site.name}-status", "--connect-url", url,
               "--worker-config", "worker", "-o", "json")  # fmt: skip
    assert ran.exit_code in {0, 1, 3}, ran.stderr


@pytest.mark.variation
def test_its_own_bindings_are_checked_too(site: Site, tool: Callable[..., Ran], tmp_path: Path):
    site.allow(each.binding for each in planned_for_eosctl(site))
    ran = tool("acl-plan", "--worker-config", "worker", "--principal", f"eosctl=User:{TOOL}", "--config-topic",
               f"{site.name}-configs", "--check", "-o", "json")  # fmt: skip
    rows = json.loads(ran.stdout)["data"]["bindings"]
    assert [row["binding"] for row in rows if row["status"] == "missing" and not row["optional"]] == []
    assert ran.exit_code == 0, ran.stderr
    assert {row["status"] for row in rows if row["principal"] == f"User:{TOOL}"} == {"present"}


@pytest.mark.variation
def test_fencing_and_moving_offsets_need_the_optional_ones(site: Site, root: Wire, tool: Callable[..., Ran]):
    name, url = f"{site.name}-file", site.sandbox.connect_url(1)
    topics = ("--config-topic", f"{site.name}-configs")
    move = ("migrate-offsets", *topics, "--worker-offsets-topic", f"{site.name}-offsets", "--connector", name,
            "--to-topic", f"{site.name}-own-offsets", "--connect-url", url, "--stop", "--set-config", "--resume",
            "--replication-factor", "1", "--yes")  # fmt: skip
    fence = ("fence", *topics, "--connector", name, "--force", "--yes")
    site.allow(needed(site))
    for command in (fence, move):
        ran = tool(*command)
        assert ran.exit_code in {5, 8, 9}, f"{command[0]} without the optional bindings: {ran.stdout}"
    site.allow(each.binding for each in planned_for_eosctl(site))
    restart(site, root)
    ran = tool(*fence, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    assert {each["outcome"] for each in json.loads(ran.stdout)["data"]["results"]} == {"fenced"}
    ran = tool(*move)
    assert ran.exit_code == 0, ran.stderr
    site.await_running("after the move", name, 1)
