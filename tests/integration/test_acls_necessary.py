"""Every planned binding is needed: without it something fails, or the plan calls it optional and nothing does.

The observations are kept as the table in docs/acls.md; EOSCTL_UPDATE_ACL_TABLE=1 writes it again.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from eosctl.analysis.authorizer import allows
from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import AclBinding
from eosctl.model.client_roles import ClientRole
from eosctl.model.workers import SourceSupport
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import Connectors, Scenario, file_life, mirror_life, own_topic_life, restart
from tests.integration.acl_site import PATIENT_S, USERS, Broken, Site, Sites
from tests.integration.acl_table import Row, read_table, write_table

pytestmark = [pytest.mark.kafka]

WORKER_STEPS: tuple[Scenario, ...] = (restart, file_life)
SAMPLE = {
    ("connector", "Write TransactionalId <group>-<file>-0"),
    ("admin", "Write TransactionalId <group>-<file>-0"),
    ("consumer", "Read Topic <offsets>"),
    ("admin", "Describe Topic <offsets>"),
}


@contextmanager
def run_in(
    phase: SourceSupport, files: Path, lives: Iterable[Scenario] = (file_life, own_topic_life, mirror_life)
) -> Iterator[tuple[Site, Wire]]:
    """A site that went through these lives: their topics exist and hold records. It has all bindings planned then."""
    with (
        Sandbox(SandboxSpec(users=USERS, deadline_s=45)) as sandbox,
        wire_of(sandbox) as root,
        AclBroker(sandbox) as acls,
    ):
        site = Sites(sandbox, acls, files).make(phase)
        site.allow(each.binding for each in site.plan(Connectors.of(site), {}).bindings)
        site.start_worker()
        for scenario in lives:
            scenario(replace(site, patience_s=PATIENT_S), root)
        _clean(site)
        yield site, root


def _clean(site: Site) -> None:
    for connector in Connectors.of(site):
        site.delete(connector.name)


def bindings_of(site: Site) -> tuple[PlannedBinding, ...]:
    """The plan where every topic exists."""
    topics = [*site.worker.internal_topics, f"{site.name}-own-offsets", f"{site.name}-lines"]
    topics += ["mm2-offset-syncs.down.internal", f"up.{site.name}-up"]
    return site.plan(Connectors.of(site), dict.fromkeys(topics, True)).bindings


def scenarios(planned: PlannedBinding, site: Site) -> tuple[Scenario, ...]:
    """Those that need the binding: of its connector, or from a restart of the worker on."""
    if any(each.role is ClientRole.WORKER for each in planned.reasons):
        return WORKER_STEPS
    lives = {f"{site.name}-file": file_life, f"{site.name}-own": own_topic_life, f"{site.name}-mirror": mirror_life}
    return tuple(lives[name] for name in dict.fromkeys(str(each.connector) for each in planned.reasons))


def remove_and_look(site: Site, root: Wire, planned: PlannedBinding) -> Row:
    """The row of one binding: the failure without it. Everything is restored afterwards."""
    every = {each.binding for each in bindings_of(site)}
    site.allow(every - implying(planned.binding, every))
    try:
        for scenario in scenarios(planned, site):
            scenario(site, root)
        row = Row.of(site, planned, None)
    except Broken as broken:
        row = Row.of(site, planned, broken)
    finally:
        site.allow(every)
        if site.sandbox.worker_pid(1) is None or row_needs_restart(planned):
            restart(site, root)
        _clean(site)
    return row


def implying(removed: AclBinding, every: set[AclBinding]) -> set[AclBinding]:
    """The binding, and those of the same principal on the same resource that imply it."""
    return {
        each
        for each in every
        if (each.principal, each.pattern) == (removed.principal, removed.pattern)
        and allows(each.operation, removed.operation)
    }


def row_needs_restart(planned: PlannedBinding) -> bool:
    """Whether the worker itself was hampered."""
    return any(each.role is ClientRole.WORKER for each in planned.reasons)


@pytest.mark.variation
def test_without_a_binding_something_fails(tmp_path: Path):
    with run_in(SourceSupport.ENABLED, tmp_path, [file_life]) as (site, root):
        sample = [each for each in bindings_of(site) if Row.of(site, each, None).place in SAMPLE]
        rows = [remove_and_look(site, root, planned) for planned in sample]
    assert len(rows) == len(SAMPLE)
    assert [row for row in rows if row.step is None] == []


def test_the_document_has_the_bindings_that_are_planned(acl_sites: Sites):
    site = acl_sites.make(SourceSupport.ENABLED)
    planned = [Row.of(site, each, None) for each in bindings_of(site)]
    assert [(row.principal, row.binding, row.is_optional) for row in planned] == [
        (row.principal, row.binding, row.is_optional) for row in read_table()
    ]


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_every_binding_is_needed_or_marked_as_optional(tmp_path: Path):
    with run_in(SourceSupport.ENABLED, tmp_path) as (site, root):
        rows = [remove_and_look(site, root, planned) for planned in bindings_of(site)]
    if os.environ.get("EOSCTL_UPDATE_ACL_TABLE"):
        write_table(rows)
    wrong = [row for row in rows if (row.step is None) != row.is_optional]
    assert wrong == [], "needed but said to be optional, or the other way round"
    assert [row.verdict for row in rows] == [row.verdict for row in read_table()]


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("phase", [SourceSupport.DISABLED, SourceSupport.PREPARING])
def test_before_exactly_once_every_binding_is_needed_too(phase: SourceSupport, tmp_path: Path):
    with run_in(phase, tmp_path) as (site, root):
        rows = [remove_and_look(site, root, planned) for planned in bindings_of(site)]
    wrong = [row for row in rows if (row.step is None) != row.is_optional]
    assert wrong == [], "needed but said to be optional, or the other way round"
