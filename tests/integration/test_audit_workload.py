"""A workload that goes through all that exactly-once promises to survive has held; without the promise it has not.

MirrorSource with several tasks on two workers: reconfigured, killed, frozen and woken up, and audited.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.integration.connect import Mirror, Worker
from tests.integration.file_connectors import wait_for
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of, versions_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]

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


@pytest.mark.variation
def test_a_brokers_log_directory_tells_the_same_as_the_broker(
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
