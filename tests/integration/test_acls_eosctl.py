"""eosctl itself as a principal with exactly the bindings that it plans for it: it reads, fences and moves offsets."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import AclBinding
from eosctl.model.offsets import SourceSupport
from eosctl.sandbox.properties import SandboxSpec, properties_text
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import Connectors, file_life, restart, with_tasks
from tests.integration.acl_site import PATIENT_S, USERS, Site, Sites

pytestmark = [pytest.mark.kafka, pytest.mark.variation]

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
        made.allow(each.binding for each in planned(made))
        made.start_worker()
        file_life(made, root)
        yield made


@pytest.fixture(scope="module")
def root(site: Site) -> Iterator[Wire]:
    with wire_of(site.sandbox) as wire:
        yield wire


def planned(site: Site) -> tuple[PlannedBinding, ...]:
    """The plan for connectors, the one with an offsets topic of its own among them, and for eosctl; no topic exists."""
    topics = (*site.worker.internal_topics, f"{site.name}-own-offsets")
    known = {**dict.fromkeys(topics, False), f"{site.name}-lines": True}
    connectors = Connectors.of(site)
    ran_with_two = with_tasks(connectors.file, 2)
    return site.plan((ran_with_two, connectors.own), known, tool=TOOL).bindings


def needed(site: Site) -> list[AclBinding]:
    """All of Connect's bindings, and of eosctl's own those that are not optional."""
    tool = f"User:{TOOL}"
    return [each.binding for each in planned(site) if each.binding.principal != tool or not each.is_optional]


@pytest.fixture
def tool(site: Site, eosctl: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
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
    # Who may not Describe all IDs and topics is shown what there is, and that more may be hidden.
    ran = tool("transactions list", *topics, "-o", "json")
    assert ran.exit_code == 3, ran.stderr
    assert len(json.loads(ran.stdout)["data"]["transactions"]) >= 2
    saved = tool("snapshot save", tmp_path / "snapshot", *topics, *offsets, "--connect-url", url, "-o", "json")
    assert saved.exit_code == 3, saved.stderr
    ran = tool("doctor", *topics, *offsets, "--status-topic", f"{site.name}-status", "--connect-url", url,
               "--worker-config", "worker", "-o", "json")  # fmt: skip
    assert ran.exit_code in {0, 1, 3}, ran.stderr


def test_its_own_bindings_are_checked_too(site: Site, tool: Callable[..., Ran], tmp_path: Path):
    site.allow(each.binding for each in planned(site))
    ran = tool("acl-plan", "--worker-config", "worker", "--principal", f"eosctl=User:{TOOL}", "--config-topic",
               f"{site.name}-configs", "--check", "-o", "json")  # fmt: skip
    rows = json.loads(ran.stdout)["data"]["bindings"]
    assert [row["binding"] for row in rows if row["status"] == "missing" and not row["optional"]] == []
    assert ran.exit_code == 0, ran.stderr
    assert {row["status"] for row in rows if row["principal"] == f"User:{TOOL}"} == {"present"}


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
    site.allow(each.binding for each in planned(site))
    restart(site, root)
    ran = tool(*fence, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    assert {each["outcome"] for each in json.loads(ran.stdout)["data"]["results"]} == {"fenced"}
    ran = tool(*move)
    assert ran.exit_code == 0, ran.stderr
    site.await_running("after the move", name, 1)
