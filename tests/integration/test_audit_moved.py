"""Connectors that change their offsets topic, on real workers: with eosctl, by hand, and deleted afterwards."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from eosctl.errors import EosctlError
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.integration.file_connectors import values_in, wait_for

pytestmark = [pytest.mark.kafka]


@pytest.fixture
def site(
    connect_sandbox: Sandbox,
    eosctl: Eosctl,
    tmp_path: Path,
    fresh_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[AuditSite]:
    """A connector that has read a thousand lines; no other test meets it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("audited"), lines=1000)
    yield made
    with suppress(EosctlError):  # a test has deleted it
        made.connectors.delete(made.name)


def test_a_connector_that_began_from_nothing_in_its_own_topic_and_went_on_further_than_before_is_broken(
    site: AuditSite,
):
    """Ten more lines: its first offset in the new topic is higher than the last one in the worker's."""
    site.request("PUT", "stop")
    site.grow(10, run=False)
    own = f"{site.name}-own"
    site.connectors.create(site.name, {"offsets.storage.topic": own})
    site.request("PUT", "resume")
    wait_for(lambda: values_in(site.servers, site.name), lambda values: len(values) == 2010, "all lines a second time")
    audited = site.audit()
    assert (audited.findings.keys(), audited.verdict) == ({"offset-not-taken-over"}, "broken")
    (place,) = audited.places["offset-not-taken-over"]
    assert (place["topic"], place["before"].partition("@")[0]) == (own, f"connect-offsets-{site.partition}")
    before, after = audited.findings["offset-not-taken-over"]["evidence"]["data"]
    assert (before["committed_with"], after["committed_with"]) == ("before", "after")
    assert (before["topic"], before["partition"], before["last_offset"]) == (site.name, 0, 999)
    assert (after["topic"], after["partition"], after["first_offset"]) == (site.name, 0, 1001)


def test_moves_there_and_back_with_eosctl_and_the_deletion_of_the_connector_have_held(site: AuditSite):
    own = f"{site.name}-own"
    for flags in (["--to-topic", own], ["--to-worker-topic"], ["--to-topic", f"{own}-again"]):
        site.migrate(*flags)
        site.grow(20)
    audited = site.audit()
    assert (audited.findings, audited.verdict, audited.exit_code) == ({}, "held", 0)
    site.connectors.delete(site.name)
    deleted = site.audit("--topic", site.name)
    assert (deleted.findings, deleted.verdict) == ({}, "held")
    assert len(values_in(site.servers, site.name)) == 1060


def test_an_offsets_topic_left_by_hand_goes_on_from_what_the_worker_copied(site: AuditSite):
    site.migrate("--to-topic", f"{site.name}-own")
    site.grow(20)
    site.request("PUT", "stop")
    site.connectors.create(site.name)
    site.request("PUT", "resume")
    site.grow(20)
    audited = site.audit()
    assert len(values_in(site.servers, site.name)) == 1040
    assert (audited.findings, audited.verdict, audited.exit_code) == ({}, "held", 0)
