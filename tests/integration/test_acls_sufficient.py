"""A Connect cluster whose principals may do exactly what eosctl plans does all that operators ask of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import AclPlan
from eosctl.model.offset_stores import SourceSupport
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import Connectors, Scenario, everything, from_nothing
from tests.integration.acl_site import PATIENT_S, USERS, Site, Sites

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]


@pytest.fixture(scope="module")
def acl_sandbox(kafka_version: str) -> Iterator[Sandbox]:
    with Sandbox(SandboxSpec(kafka_version=kafka_version, users=USERS, deadline_s=45)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def root(acl_sandbox: Sandbox) -> Iterator[Wire]:
    with wire_of(acl_sandbox) as wire:
        yield wire


@pytest.fixture(scope="module")
def sites(acl_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    files: Path = tmp_path_factory.mktemp("lines")
    with AclBroker(acl_sandbox) as acls:
        yield Sites(acl_sandbox, acls, files, PATIENT_S)


def test_with_exactly_once_the_plan_is_enough(sites: Sites, root: Wire):
    run(sites, root, SourceSupport.ENABLED, everything)


@pytest.mark.parametrize("phase", [SourceSupport.DISABLED, SourceSupport.PREPARING])
def test_before_exactly_once_the_plan_is_enough(sites: Sites, root: Wire, phase: SourceSupport):
    run(sites, root, phase, from_nothing)


@pytest.mark.long
@pytest.mark.parametrize("phase", [SourceSupport.DISABLED, SourceSupport.PREPARING])
def test_before_exactly_once_the_plan_is_enough_for_all_that_operators_do(
    sites: Sites, root: Wire, phase: SourceSupport
):
    run(sites, root, phase, everything)


def run(sites: Sites, root: Wire, phase: SourceSupport, scenario: Scenario) -> None:
    """The scenario passes for principals that have exactly the planned bindings."""
    site = sites.make(phase)
    site.allow(each.binding for each in planned_from_nothing(site).bindings)
    try:
        scenario(site, root)
    finally:
        site.stop_worker()


def planned_from_nothing(site: Site) -> AclPlan:
    """The plan for a cluster none of whose topics exists, but those that the connectors read and write."""
    topics = [*site.worker.internal_topics, f"{site.name}-own-offsets"]
    return site.plan(Connectors.of(site), {**dict.fromkeys(topics, False), f"{site.name}-lines": True})
