"""Exactly the plan's bindings are enough for a sink with a dead letter queue, and for a source that creates topics.

Without each of them something fails, or the plan calls it optional; docs/acls.md keeps the observations, and
EOSCTL_UPDATE_ACL_TABLE=1 writes it again.
"""

import os
from dataclasses import replace

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import Operation
from eosctl.model.workers import SourceSupport
from tests.integration.acl_sink_scenarios import creating_life, creating_source, sink, sink_life
from tests.integration.acl_site import PATIENT_S, Broken, Site, Sites
from tests.integration.acl_table import SINKS, Row, read_table, write_table
from tests.integration.producers import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

OFFSETS_OVER_REST = ("list offsets", "alter offsets", "remove an offset", "reset offsets")
"""Steps of the sink's life that are optional: a sink runs without them, and the plan says what is lost."""


def planned(site: Site, *existing: str) -> tuple[PlannedBinding, ...]:
    """The plan where no topic exists but the one that the sink reads, and `existing`."""
    names = (*site.worker.internal_topics, f"{site.name}-dlq", f"{site.name}-created")
    known = {**dict.fromkeys(names, False), **dict.fromkeys((f"{site.name}-in", *existing), True)}
    return site.plan((sink(site), creating_source(site)), known).bindings


def started(acl_sites: Sites, phase: SourceSupport) -> Site:
    site = acl_sites.make(phase)
    create_topic(site.sandbox.bootstrap_servers, f"{site.name}-in")
    return site


@pytest.mark.parametrize("phase", [SourceSupport.ENABLED, pytest.param(SourceSupport.DISABLED, marks=pytest.mark.long)])
def test_the_plan_is_enough_for_a_sink_and_for_creating_topics(acl_sites: Sites, acl_root: Wire, phase: SourceSupport):
    site = replace(started(acl_sites, phase), patience_s=PATIENT_S)
    site.allow(each.binding for each in planned(site))
    try:
        site.start_worker()
        sink_life(site, acl_root)
        creating_life(site, acl_root)
    finally:
        site.stop_worker()


def of_connectors(site: Site) -> list[PlannedBinding]:
    """The bindings of the sink's clients, and those with which the source creates its topic."""
    wanted = (f"{site.name}-sink", f"{site.name}-creating")
    return [
        each
        for each in planned(site)
        if all(reason.connector in wanted for reason in each.reasons)
        and (each.reasons[0].connector == wanted[0] or each.binding.pattern.name == f"{site.name}-created")
    ]


def without(acl_sites: Sites, acl_root: Wire, number: int) -> Row:
    """The row of one binding: what fails in a new Connect cluster that lacks it."""
    site = started(acl_sites, SourceSupport.DISABLED)
    removed = of_connectors(site)[number]
    site.allow(each.binding for each in planned(site) if each.binding != removed.binding)
    life = sink_life if removed.reasons[0].connector == f"{site.name}-sink" else creating_life
    try:
        site.start_worker()
        life(site, acl_root)
        return Row.of(site, removed, None)
    except Broken as broken:
        return Row.of(site, removed, broken)
    finally:
        site.stop_worker()


def test_the_document_has_the_bindings_that_are_planned_for_sinks(acl_sites: Sites):
    site = acl_sites.make(SourceSupport.DISABLED)
    rows = [Row.of(site, each, None) for each in of_connectors(site)]
    assert [(row.place, row.is_optional) for row in rows] == [(row.place, row.is_optional) for row in read_table(SINKS)]


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_every_binding_of_a_sink_is_needed_or_marked_as_optional(acl_sites: Sites, acl_root: Wire):
    rows = [
        without(acl_sites, acl_root, number)
        for number in range(len(of_connectors(acl_sites.make(SourceSupport.DISABLED))))
    ]
    if os.environ.get("EOSCTL_UPDATE_ACL_TABLE"):
        write_table(rows, SINKS)
    wrong = [row for row in rows if (row.step in {None, *OFFSETS_OVER_REST}) != row.is_optional]
    assert wrong == [], "needed but said to be optional, or the other way round"
    assert [row.verdict for row in rows] == [row.verdict for row in read_table(SINKS)]


@pytest.mark.long
def test_a_dead_letter_queue_that_exists_must_be_seen(acl_sites: Sites, acl_root: Wire):
    site = started(acl_sites, SourceSupport.DISABLED)
    queue = f"{site.name}-dlq"
    create_topic(site.sandbox.bootstrap_servers, queue)
    bindings = [each.binding for each in planned(site, queue)]
    seeing = [each for each in bindings if each.pattern.name == queue and each.operation is Operation.DESCRIBE]
    assert len(seeing) == 1
    site.allow(each for each in bindings if each not in seeing)
    try:
        site.start_worker()
        with pytest.raises(Broken, match="create"):
            sink_life(site, acl_root)
        site.allow(bindings)
        site.delete(sink(site).name)
        sink_life(site, acl_root)
    finally:
        site.stop_worker()
