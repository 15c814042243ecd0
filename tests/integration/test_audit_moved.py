"""Connectors that change their offsets topic, on real workers: with eosctl, by hand, and deleted afterwards."""

import json
import stat
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from eosctl.clients.rest import RestClient
from eosctl.errors import EosctlError
from eosctl.sandbox.properties import SandboxSpec
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.integration.committed import committed_reader, committed_values
from tests.integration.connect import Mirror, Worker
from tests.integration.file_connectors import values_in, wait_for
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of, versions_of
from tests.render.browser import Browser, Page
from tests.shared_sandboxes import SharedSandboxes

pytestmark = pytest.mark.kafka


@pytest.fixture
def site(
    connect_sandbox: Sandbox,
    eosctl: Eosctl,
    tmp_path: Path,
    fresh_name: FreshName,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[AuditSite]:
    """A connector that has read a thousand lines; no other test meets it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("audited"), lines=1000)
    yield made
    with suppress(EosctlError):  # a test has deleted it
        made.connectors.delete(made.name)


def test_a_connector_that_began_without_offsets_in_its_own_topic_and_passed_its_old_offset_is_broken(
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


def test_a_connector_without_its_offsets_topic_resumes_from_the_copies_of_the_worker(site: AuditSite):
    site.migrate("--to-topic", f"{site.name}-own")
    site.grow(20)
    site.request("PUT", "stop")
    site.connectors.create(site.name)
    site.request("PUT", "resume")
    site.grow(20)
    audited = site.audit()
    assert len(values_in(site.servers, site.name)) == 1040
    assert (audited.findings, audited.verdict, audited.exit_code) == ({}, "held", 0)


# Source offsets that an operator changes on a real worker: the audit counts what a plain consumer counts.


@pytest.fixture
def altered_site(
    connect_sandbox: Sandbox,
    eosctl: Eosctl,
    tmp_path: Path,
    fresh_name: FreshName,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[AuditSite]:
    """A connector that has read a hundred lines in two rounds, and then fifty more."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("altered"), lines=60)
    made.grow(40)
    yield made
    made.connectors.delete(made.name)


def settled(altered_site: AuditSite) -> list[dict[str, Any]]:
    """The connector's offsets as soon as they are at the end of its file: commits come after records."""
    size = altered_site.connectors.file(altered_site.name).stat().st_size
    at_end = [{"position": size}]
    return wait_for(
        lambda: altered_site.connectors.offsets(altered_site.name),
        lambda offsets: [each["offset"] for each in offsets] == at_end,
        f"offsets of {altered_site.name} at {size}",
    )


def ask(altered_site: AuditSite, method: str, offsets: list[dict[str, Any]] | None = None) -> None:
    """A request for the offsets of the stopped connector."""
    with RestClient(altered_site.connectors.url, 60) as rest:
        body = None if offsets is None else {"offsets": offsets}
        rest.request(method, f"/connectors/{altered_site.name}/offsets", body)


def extra_records(altered_site: AuditSite) -> int:
    """The number of records that a read_committed consumer gets beyond the first of each."""
    reader = committed_reader(altered_site.servers, altered_site.name)
    values = Counter(committed_values(reader, None))
    reader.close()
    return sum(values.values()) - len(values)


def await_records(altered_site: AuditSite, count: int) -> None:
    """The output has that many committed records."""
    wait_for(
        lambda: values_in(altered_site.servers, altered_site.name),
        lambda values: len(values) == count,
        f"{count} records",
    )
    settled(altered_site)


def counts(audited: Any) -> tuple[Any, Any]:
    """The repeated and left-out counts in the JSON."""
    (found,) = [each for each in audited.data["connectors"] if each["name"] == audited.name]
    return found["repeated_by_change"], found["left_out_by_change"]


def exactly(number: int) -> dict[str, int]:
    return {"at_least": number, "at_most": number}


def test_an_offset_that_is_restored_repeats_as_many_records_as_a_consumer_has_twice(
    altered_site: AuditSite, eosctl: Eosctl, tmp_path: Path
):
    """Ten lines more than before are read in one transaction with those that are repeated."""
    earlier = settled(altered_site)
    altered_site.grow(50)
    settled(altered_site)
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps({"offsets": earlier}))
    store = ("--store", f"sqlite:///{tmp_path / 'ledger.db'}")
    assert altered_site.audit(*store).verdict == "held"
    ran = eosctl(
        "offsets", "restore", file, "--connector", altered_site.name, "-b", altered_site.servers,
        "--group-id", "connect-cluster", "--connect-url", altered_site.connectors.url, "--stop", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    waiting = altered_site.audit(*store)
    assert (waiting.verdict, waiting.exit_code) == ("held", 0)
    altered_site.grow(10, run=False)
    altered_site.request("PUT", "resume")
    await_records(altered_site, 210)
    assert extra_records(altered_site) == 50
    for audited in (altered_site.audit(), altered_site.audit(*store)):
        assert (audited.verdict, audited.exit_code) == ("altered", 1)
        assert counts(audited) == (exactly(50), exactly(0))
        assert "50 records were written to its topics again" in audited.reasons[0]
        (finding,) = audited.findings.values()
        assert (finding["id"], finding["severity"]) == ("EOS206", "warning")
    again = altered_site.audit(*store)
    assert (again.verdict, again.exit_code, counts(again)) == ("altered", 0, (exactly(50), exactly(0)))
    status = eosctl("audit", "status", *store, "-o", "json")
    assert (status.exit_code, json.loads(status.stdout)["data"]["jobs"][0]["last_run"]["verdict"]) == (1, "altered")


def test_a_reset_to_the_beginning_repeats_all(altered_site: AuditSite):
    settled(altered_site)
    altered_site.request("PUT", "stop")
    ask(altered_site, "DELETE")
    altered_site.request("PUT", "resume")
    await_records(altered_site, 200)
    assert extra_records(altered_site) == 100
    audited = altered_site.audit()
    assert (audited.verdict, audited.exit_code, counts(audited)) == ("altered", 1, (exactly(100), exactly(0)))


def test_the_offset_that_was_there_repeats_nothing(altered_site: AuditSite):
    offsets = settled(altered_site)
    altered_site.request("PUT", "stop")
    ask(altered_site, "PATCH", offsets)
    altered_site.request("PUT", "resume")
    altered_site.grow(10)
    assert extra_records(altered_site) == 0
    audited = altered_site.audit()
    assert (audited.verdict, audited.exit_code, audited.findings) == ("held", 0, {})


def test_a_jump_ahead_leaves_out_records_whose_number_kafka_does_not_show(altered_site: AuditSite):
    offsets = settled(altered_site)
    altered_site.request("PUT", "stop")
    altered_site.grow(30, run=False)
    offsets[0]["offset"] = {"position": altered_site.connectors.file(altered_site.name).stat().st_size}
    ask(altered_site, "PATCH", offsets)
    altered_site.request("PUT", "resume")
    altered_site.grow(5, run=False)
    await_records(altered_site, 105)
    audited = altered_site.audit()
    assert (audited.verdict, audited.exit_code) == ("altered", 1)
    assert counts(audited) == (exactly(0), {"at_least": 0, "at_most": None})
    assert "an unknown number of records may have been left out" in audited.reasons[0]


def test_an_output_topic_that_was_created_again_between_two_runs_leaves_the_verdict_open(
    altered_site: AuditSite, tmp_path: Path
):
    store = ("--store", f"sqlite:///{tmp_path / 'ledger.db'}")
    settled(altered_site)
    assert altered_site.audit(*store).verdict == "held"
    altered_site.request("PUT", "stop")
    altered_site.delete_topic(altered_site.name)
    altered_site.request("PUT", "resume")
    altered_site.grow(10)
    audited = altered_site.audit(*store)
    assert (audited.verdict, audited.exit_code) == ("cannot-tell", 3)
    assert f"{altered_site.name}-0: was deleted and created again since the last run" in audited.reasons


# The judgement of an audit that was requested for some topics, or for one connector, of several.


@pytest.fixture
def requested_site(
    connect_sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName
) -> Iterator[AuditSite]:
    """A connector beside another one, which writes to another topic."""
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("asked"))
    other = f"{made.name}-other"
    made.connectors.file(other).write_text("one\ntwo\n")
    made.connectors.create(other)
    made.connectors.await_last(other, "two")
    yield made
    for name in (made.name, other):
        made.connectors.delete(name)


def audited(requested_site: AuditSite, eosctl: Eosctl, *asked: str) -> tuple[int, dict[str, Any]]:
    """Exit code and data of an audit with these arguments."""
    at = ("-b", requested_site.servers, "--connect-url", requested_site.connectors.url, "--group-id", "connect-cluster")
    ran = eosctl("audit", *at, *asked, "-o", "json")
    return ran.exit_code, json.loads(ran.stdout)["data"]


def outputs(data: dict[str, Any]) -> list[str]:
    return [each["name"] for each in data["plan"]["topics"] if each["role"] == "output"]


def test_an_audit_of_a_topic_judges_only_the_connectors_that_write_to_it(requested_site: AuditSite, eosctl: Eosctl):
    code, data = audited(requested_site, eosctl, "--topic", requested_site.name)
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [(requested_site.name, "held")]
    assert (code, data["findings"], data["unread"], outputs(data)) == (0, [], [], [requested_site.name])


def test_an_audit_of_a_connector_reads_its_topics_and_no_others(requested_site: AuditSite, eosctl: Eosctl):
    code, data = audited(requested_site, eosctl, "--connector", requested_site.name)
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [(requested_site.name, "held")]
    assert (code, outputs(data)) == (0, [requested_site.name])


def test_a_stall_of_the_brokers_longest_transaction_is_shown_after_it_ended(requested_site: AuditSite, eosctl: Eosctl):
    """A coordinator aborts 46 ms after the timeout of 15 minutes; the record says when its transaction began."""
    longest_ms, name = 900_000, requested_site.name
    producer = transactional_producer(requested_site.servers, f"{name}-longest")
    producer.begin_transaction()
    producer.produce(name, b"x", partition=0, timestamp=time.time_ns() // 1_000_000 - longest_ms - 46)
    assert producer.flush(30) == 0
    producer.abort_transaction(30)
    _, data = audited(requested_site, eosctl, "--topic", name)
    [stall] = [each for each in data["stalls"] if each["held_s"] > 600]
    assert (stall["topic"], stall["partition"], stall["open"]) == (name, 0, False)
    assert longest_ms / 1000 < stall["held_s"] < longest_ms / 1000 + 60


# The page and the Parquet files of a real audit.


@pytest.fixture(scope="module")
def here(shared_sandboxes: SharedSandboxes) -> Sandbox:
    """That of the tests that move connectors, of the newest version."""
    return shared_sandboxes.of(SandboxSpec(workers=1))


@pytest.mark.variation
def test_a_page_and_parquet_files_of_a_real_audit(here: Sandbox, eosctl: Eosctl, tmp_path: Path):
    site = AuditSite(here, eosctl, tmp_path, "paged")
    site.transaction("copier", lambda producer: site.write_offset(producer, 7))
    page_file, tables = tmp_path / "audit.html", tmp_path / "tables"
    audited = site.audit("--report", page_file, "--export", tables)
    assert audited.verdict == "broken"
    assert stat.S_IMODE(page_file.stat().st_mode) == 0o600
    with Browser(tmp_path) as browser:
        page = Page(browser).shape(390, phone=True).open(page_file)
        assert (page.complaints(), page.requests()) == ([], [page_file.as_uri()])
        rows = page.evaluate("[...document.querySelectorAll('#connector-rows li')].map(row => row.textContent)")
        assert any(site.name in row and "broken" in row for row in rows)
        drawn = (
            "[...document.querySelectorAll('.plot')].filter(each => each.querySelector('.trace')).map(each => each.id)"
        )
        assert {"plot-timeline", "plot-sizes", "plot-epochs", "plot-growth"} <= set(page.evaluate(drawn))
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    found = parquet.read_table(tables / "findings.parquet").to_pylist()
    assert [each["id"] for each in found] == [each["id"] for each in audited.data["findings"]]
    assert parquet.read_metadata(tables / "ranges.parquet").num_rows == len(audited.data["ranges"])
    site.connectors.delete(site.name)


# A workload that goes through all that exactly-once promises to survive has held; without the promise it has not.
#
# MirrorSource with several tasks on two workers: reconfigured, killed, frozen and woken up, and audited.


QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}


@pytest.fixture
def two_workers(kafka_version: str) -> Iterator[Sandbox]:
    """One broker and two workers of one group, quick to notice that one is gone."""
    with Sandbox(spec_of(kafka_version, workers=2, worker_config=QUICK)) as sandbox:
        yield sandbox


def audit(eosctl: Eosctl, sandbox: Sandbox, *more: object) -> tuple[int, dict[str, Any]]:
    ran = eosctl(
        "audit", "-b", sandbox.bootstrap_servers, "--connect-url", sandbox.connect_url(1),
        "--group-id", "connect-cluster", "-o", "json", *more,
    )  # fmt: skip
    assert ran.exit_code in {0, 1}, ran.stderr
    return ran.exit_code, json.loads(ran.stdout)["data"]


@pytest.mark.workers
@pytest.mark.matrix
@pytest.mark.variation
def test_a_workload_with_killed_and_frozen_workers_has_held(two_workers: Sandbox, eosctl: Eosctl):
    worker = Worker(two_workers)
    mirror = Mirror(worker, "copied")
    mirror.start(3)
    mirror.configure(2)
    worker.wait_for_tasks("copied", 2)
    mirror.check_exactly_once()
    two_workers.kill_worker(2)
    mirror.check_exactly_once()
    two_workers.start_worker(2)
    mirror.configure(3)
    worker.wait_for_tasks("copied", 3)
    two_workers.pause_worker(2)
    mirror.check_exactly_once()
    two_workers.resume_worker(2)
    mirror.check_exactly_once()
    code, data = audit(eosctl, two_workers)
    counted = [each for each in data["findings"] if each["severity"] != "info"]
    assert (counted, data["verdict"], code) == ([], "held", 0)
    (figures,) = [each for each in data["transactions"] if each["connector"] == "copied"]
    assert figures["records"] == mirror.made
    worker.close()


@pytest.mark.workers
@pytest.mark.matrix
@pytest.mark.variation
def test_a_leader_with_exactly_once_off(kafka_version: str, eosctl: Eosctl, tmp_path: Path, make_sandbox: Any) -> None:
    sandbox = make_sandbox(**versions_of(kafka_version), workers=1)
    site = AuditSite(sandbox, eosctl, tmp_path, "downgraded")
    sandbox.stop_worker(1)
    sandbox.start_worker(1, {"exactly.once.source.support": "disabled", "offset.flush.interval.ms": "500"})
    site.connectors.create(site.name, {"batch.size": "500"})
    site.grow(20)
    audited = wait_for(site.audit, lambda audited: "plain-offsets-write" in audited.findings, "the offsets flushed")
    assert audited.findings.keys() == {"plain-leader-write", "plain-offsets-write", "data-outside-transaction"}
    assert audited.verdict == "broken"
    assert {each["topic"] for each in audited.places["plain-leader-write"]} == {"connect-configs"}


@pytest.mark.workers
@pytest.mark.matrix
@pytest.mark.variation
def test_a_brokers_log_directory_gives_the_same_answer_as_the_broker(
    kafka_version: str, eosctl: Eosctl, tmp_path: Path, make_sandbox: Any
) -> None:
    sandbox = make_sandbox(**versions_of(kafka_version), workers=1)
    site = AuditSite(sandbox, eosctl, tmp_path, "on-disk")
    site.transaction(site.transactional_id, lambda producer: site.produce(producer, "out of nothing"))
    site.transaction("another-application", lambda producer: site.produce(producer, "beside"))
    aborted = transactional_producer(sandbox.bootstrap_servers, "undecided")
    aborted.begin_transaction()
    site.produce(aborted, "never to be seen")
    aborted.flush(30)
    aborted.abort_transaction(30)
    [place] = sandbox.directory.glob(f"**/{site.name}-0")
    live = site.audit()
    ran = eosctl(
        "audit", "--log-dir", place.parent, "--group-id", "connect-cluster", "--connector", site.name,
        "--topic", site.name, "-o", "json",
    )  # fmt: skip
    files = json.loads(ran.stdout)["data"]
    assert live.findings.keys() == {"data-without-offsets", "other-writer"}
    for place in chain.from_iterable(live.places.values()):
        assert place.pop("transactional_id") in {site.transactional_id, "another-application"}
    for each in files["findings"]:
        assert [place.pop("transactional_id") for place in each["evidence"]["places"]] == [None], "coordinators know it"
    for part in ("connectors", "findings", "ranges", "transactions", "timeline", "epochs", "growth"):
        assert files[part] == live.data[part], part
