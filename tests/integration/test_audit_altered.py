"""Source offsets that an operator changes on a real worker: the audit counts what a plain consumer counts."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eosctl.clients.rest import RestClient
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.integration.committed import committed_reader, committed_values
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
    """A connector that has read a hundred lines in two rounds, and then fifty more."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("altered"), lines=60)
    made.grow(40)
    yield made
    made.connectors.delete(made.name)


def settled(site: AuditSite) -> list[dict[str, Any]]:
    """The connector's offsets as soon as they are at the end of its file: commits come after records."""
    size = site.connectors.file(site.name).stat().st_size
    at_end = [{"position": size}]
    return wait_for(
        lambda: site.connectors.offsets(site.name),
        lambda offsets: [each["offset"] for each in offsets] == at_end,
        f"offsets of {site.name} at {size}",
    )


def ask(site: AuditSite, method: str, offsets: list[dict[str, Any]] | None = None) -> None:
    """A request for the offsets of the stopped connector."""
    with RestClient(site.connectors.url, 60) as rest:
        body = None if offsets is None else {"offsets": offsets}
        rest.request(method, f"/connectors/{site.name}/offsets", body)


def extra_records(site: AuditSite) -> int:
    """How many records a consumer that reads committed is given beyond the first of each."""
    reader = committed_reader(site.servers, site.name)
    values = Counter(committed_values(reader, None))
    reader.close()
    return sum(values.values()) - len(values)


def await_records(site: AuditSite, count: int) -> None:
    """The output has that many committed records."""
    wait_for(lambda: values_in(site.servers, site.name), lambda values: len(values) == count, f"{count} records")
    settled(site)


def counts(audited: Any) -> tuple[Any, Any]:
    """What was repeated and left out, as JSON has it."""
    (found,) = [each for each in audited.data["connectors"] if each["name"] == audited.name]
    return found["repeated_by_change"], found["left_out_by_change"]


def exactly(number: int) -> dict[str, int]:
    return {"at_least": number, "at_most": number}


def test_an_offset_that_is_restored_repeats_as_many_records_as_a_consumer_has_twice(
    site: AuditSite, eosctl: Eosctl, tmp_path: Path
):
    """Ten lines more than before are read in one transaction with those that are repeated."""
    earlier = settled(site)
    site.grow(50)
    settled(site)
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps({"offsets": earlier}))
    store = ("--store", f"sqlite:///{tmp_path / 'ledger.db'}")
    assert site.audit(*store).verdict == "held"
    ran = eosctl(
        "offsets", "restore", file, "--connector", site.name, "-b", site.servers, "--group-id", "connect-cluster",
        "--connect-url", site.connectors.url, "--stop", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    waiting = site.audit(*store)
    assert (waiting.verdict, waiting.exit_code) == ("held", 0)
    site.grow(10, run=False)
    site.request("PUT", "resume")
    await_records(site, 210)
    assert extra_records(site) == 50
    for audited in (site.audit(), site.audit(*store)):
        assert (audited.verdict, audited.exit_code) == ("altered", 1)
        assert counts(audited) == (exactly(50), exactly(0))
        assert "50 records were written to its topics once more" in audited.reasons[0]
        (finding,) = audited.findings.values()
        assert (finding["id"], finding["severity"]) == ("EOS206", "warning")
    again = site.audit(*store)
    assert (again.verdict, again.exit_code, counts(again)) == ("altered", 0, (exactly(50), exactly(0)))
    status = eosctl("audit", "status", *store, "-o", "json")
    assert (status.exit_code, json.loads(status.stdout)["data"]["jobs"][0]["last_run"]["verdict"]) == (1, "altered")


def test_a_reset_to_the_beginning_repeats_all(site: AuditSite):
    settled(site)
    site.request("PUT", "stop")
    ask(site, "DELETE")
    site.request("PUT", "resume")
    await_records(site, 200)
    assert extra_records(site) == 100
    audited = site.audit()
    assert (audited.verdict, audited.exit_code, counts(audited)) == ("altered", 1, (exactly(100), exactly(0)))


def test_the_offset_that_was_there_repeats_nothing(site: AuditSite):
    offsets = settled(site)
    site.request("PUT", "stop")
    ask(site, "PATCH", offsets)
    site.request("PUT", "resume")
    site.grow(10)
    assert extra_records(site) == 0
    audited = site.audit()
    assert (audited.verdict, audited.exit_code, audited.findings) == ("held", 0, {})


def test_a_jump_ahead_leaves_out_records_whose_number_kafka_does_not_show(site: AuditSite):
    offsets = settled(site)
    site.request("PUT", "stop")
    site.grow(30, run=False)
    offsets[0]["offset"] = {"position": site.connectors.file(site.name).stat().st_size}
    ask(site, "PATCH", offsets)
    site.request("PUT", "resume")
    site.grow(5, run=False)
    await_records(site, 105)
    audited = site.audit()
    assert (audited.verdict, audited.exit_code) == ("altered", 1)
    assert counts(audited) == (exactly(0), {"at_least": 0, "at_most": None})
    assert "an unknown number of records may have been left out" in audited.reasons[0]


def test_an_output_topic_that_was_created_again_between_two_runs_leaves_the_verdict_open(
    site: AuditSite, tmp_path: Path
):
    store = ("--store", f"sqlite:///{tmp_path / 'ledger.db'}")
    settled(site)
    assert site.audit(*store).verdict == "held"
    site.request("PUT", "stop")
    site.delete_topic(site.name)
    site.request("PUT", "resume")
    site.grow(10)
    audited = site.audit(*store)
    assert (audited.verdict, audited.exit_code) == ("cannot-tell", 3)
    assert f"{site.name}-0: was deleted and created again since the last run" in audited.reasons
