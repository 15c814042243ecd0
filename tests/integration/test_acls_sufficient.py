"""A Connect cluster whose principals have exactly the permissions of eosctl's plan does everything that operators
need."""

from dataclasses import replace

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import AclPlan
from eosctl.model.workers import SourceSupport
from tests.integration.acl_scenarios import Connectors, Scenario, everything, first_start, from_nothing
from tests.integration.acl_site import PATIENT_S, Site, Sites

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]


@pytest.mark.variation
def test_with_exactly_once_the_plan_is_enough(acl_sites: Sites, acl_root: Wire):
    run(acl_sites, acl_root, SourceSupport.ENABLED, everything)


@pytest.mark.variation
@pytest.mark.parametrize(
    ("phase", "scenario"), [(SourceSupport.DISABLED, from_nothing), (SourceSupport.PREPARING, first_start)]
)
def test_before_exactly_once_the_plan_is_enough(
    acl_sites: Sites, acl_root: Wire, phase: SourceSupport, scenario: Scenario
):
    run(acl_sites, acl_root, phase, scenario)


@pytest.mark.long
@pytest.mark.parametrize("phase", [SourceSupport.DISABLED, SourceSupport.PREPARING])
def test_before_exactly_once_the_plan_is_enough_for_all_that_operators_do(
    acl_sites: Sites, acl_root: Wire, phase: SourceSupport
):
    run(acl_sites, acl_root, phase, everything)


def run(sites: Sites, root: Wire, phase: SourceSupport, scenario: Scenario) -> None:
    """The scenario passes for principals that have exactly the planned bindings."""
    site = replace(sites.make(phase), patience_s=PATIENT_S)
    site.allow(each.binding for each in planned_from_nothing(site).bindings)
    try:
        scenario(site, root)
    finally:
        site.stop_worker()


def planned_from_nothing(site: Site) -> AclPlan:
    """The plan for a cluster none of whose topics exists, but those that the connectors read and write."""
    topics = [*site.worker.internal_topics, f"{site.name}-own-offsets"]
    return site.plan(Connectors.of(site), {**dict.fromkeys(topics, False), f"{site.name}-lines": True})
