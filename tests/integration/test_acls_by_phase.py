"""`acl-plan` asks the workers for their phase: its plan lets everything run, and satisfies `doctor`."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.workers import SourceSupport
from eosctl.sandbox.properties import properties_text
from tests.integration.acl_scenarios import Connectors, ends
from tests.integration.acl_site import PATIENT_S, Site, Sites

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]

ROLES = ("worker=User:worker", "producer=User:connector", "consumer=User:consumer", "admin=User:admin")
BEFORE = [pytest.param(each, marks=pytest.mark.variation) for each in (SourceSupport.DISABLED, SourceSupport.PREPARING)]


def named(site: Site) -> list[str]:
    """The options that lead eosctl to the Connect cluster, without any of its files."""
    topics = {f"--{role}-topic": site.name + suffix for role, suffix in (("config", "-configs"), ("status", "-status"))}
    topics |= {"--worker-offsets-topic": f"{site.name}-offsets", "--group-id": site.name}
    url = site.sandbox.connect_url(site.worker_number[0])
    principals = [word for role in ROLES for word in ("--principal", role)]
    there = ["-b", site.sandbox.bootstrap_servers, "--connect-url", url]
    return [*there, *(word for each in topics.items() for word in each), *principals]


def with_the_workers_brokers(connector: ConnectorConfig) -> ConnectorConfig:
    """The connector without its own addresses: without a worker's file it is unknown that they are the same."""
    kept = {key: each for key, each in connector.properties.items() if not key.endswith("override.bootstrap.servers")}
    return replace(connector, properties=kept)


def bindings_of(ran) -> set[AclBinding]:
    assert ran.exit_code == 0, ran.stderr
    return {
        AclBinding(
            row["principal"],
            Operation(row["operation"]),
            ResourcePattern(ResourceType(row["resource_type"]), row["resource_name"], PatternType(row["pattern_type"])),
        )
        for row in json.loads(ran.stdout)["data"]["bindings"]
    }


def demanded(eosctl: Callable, site: Site, *more: str) -> set[str]:
    """The findings of `doctor` about ACLs; each rule must be able to tell."""
    ran = eosctl("doctor", *named(site), *more, "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr  # 3: it may not log in where the connector's clients do
    answer = json.loads(ran.stdout)["data"]
    assert not {"EOS130", "EOS131", "EOS132"} & {each["id"] for each in answer["unknown"]}, answer["unknown"]
    return {each["id"] for each in answer["findings"] if each["id"].startswith("EOS13")}


@pytest.mark.parametrize("phase", [SourceSupport.ENABLED, *BEFORE])
def test_the_bindings_planned_for_the_present_phase_suffice_and_doctor_demands_no_more(
    eosctl, acl_sites: Sites, acl_root: Wire, phase: SourceSupport, tmp_path: Path
):
    site = dataclasses.replace(acl_sites.make(phase), patience_s=PATIENT_S)
    connector = with_the_workers_brokers(Connectors.of(site).own)
    worker_file, config = tmp_path / "worker.properties", tmp_path / "own.json"
    worker_file.write_text(properties_text(site.worker_settings()))
    config.write_text(json.dumps({key: each.value for key, each in connector.properties.items()}))
    by_file = ["--worker-config", str(worker_file)]
    first = eosctl("acl-plan", *named(site)[:2], *by_file, "--connector-config", config, "-o", "json")
    site.allow(bindings_of(first))
    try:
        site.start_worker()
        site.put("create", connector)
        site.await_running("create", connector.name, 1)
        asked = eosctl("acl-plan", *named(site), "-o", "json")
        if phase is SourceSupport.ENABLED:
            assert json.loads(asked.stdout)["data"]["phase"] == "enabled"
            assert json.loads(asked.stdout)["data"]["phases"][0]["known_by"].startswith("the answer of http://")
            by_file = []
        else:
            assert asked.exit_code == 2
            assert "answers that it is not enabled, which is disabled or preparing" in asked.stderr
            asked = eosctl("acl-plan", *named(site), *by_file, "-o", "json")
        site.allow(())
        assert "EOS132" in demanded(eosctl, site, *by_file)
        site.allow(bindings_of(asked))
        assert demanded(eosctl, site, *by_file) == set()
        site.stop_worker()
        site.start_worker()
        before = ends(acl_root, f"{site.name}-lines")
        with (site.files / f"{site.name}.txt").open("a") as file:
            file.write("one more line\n")
        site.await_running("restart", connector.name, 1)
        site.wait("write", lambda: ends(acl_root, f"{site.name}-lines") > before, "record in the output")
    finally:
        site.stop_worker()
