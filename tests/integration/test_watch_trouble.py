"""`eosctl watch` in trouble of its own machine, and of workers: it reports the trouble, continues, and notices its
end."""

import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeSandbox
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.integration.watching import watching
from tests.waiting import eventually
from tests.worker_logs import VALIDATE, requests_in

pytestmark = pytest.mark.kafka
UNREAD_LEDGER = ("unknown", "audit status", "the whole answer")
"""Cause, command and fact."""
MIXED = ("EOS012", "error")


def test_a_full_disk_is_reported_until_there_is_room(sandbox: Sandbox, eosctl: Any, tmp_path: Path, fresh_name: Any):
    topic, store = fresh_name("orders"), f"sqlite:///{tmp_path}/ledger.db"
    create_topic(sandbox.bootstrap_servers, topic)
    assert eosctl("audit", "-b", sandbox.bootstrap_servers, "--topic", topic, "--store", store).exit_code in {0, 1, 3}
    more = ("--store", store, "--every", 1)
    with watching("-b", sandbox.bootstrap_servers, *more, end=signal.SIGTERM) as watch:
        first = eventually(watch.scraped, "the first cycle")
        assert "eosctl_audit_verdict" in first
        unread = first.get("eosctl_unread", {})

        no_limit = resource.prlimit(watch.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(watch.pid, resource.RLIMIT_FSIZE, (0, no_limit[1]))
        full = eventually(
            lambda: (now := watch.scraped()) and "eosctl_audit_verdict" not in now and now, "what a full disk hides"
        )
        assert [each for each in full["eosctl_unread"] if each not in unread] == [UNREAD_LEDGER]
        assert full["eosctl_transactional_ids"] == first["eosctl_transactional_ids"], "what needs no disk"
        assert watch.get("/healthz")[0] == 200

        resource.prlimit(watch.pid, resource.RLIMIT_FSIZE, no_limit)
        eventually(lambda: "eosctl_audit_verdict" in watch.scraped(), "the ledger to be read again")
        assert watch.scraped().get("eosctl_unread", {}) == unread
    assert f"{tmp_path}/ledger.db: the disk fails, or is full" in watch.said[-1]


@pytest.mark.variation
def test_a_worker_that_is_frozen_is_named_and_one_that_is_set_otherwise_is_seen_after_its_start(
    make_sandbox: MakeSandbox,
):
    sandbox = make_sandbox(workers=2, worker_config={"session.timeout.ms": "10000"})
    one, two = sandbox.connect_urls
    urls = ("--connect-url", one, "--connect-url", two)
    cluster = ("-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster")
    with watching(*cluster, *urls, "--every", 3, "--timeout", 2) as watch:
        eventually(lambda: watch.scraped().get("eosctl_unread_facts") == {(): 0}, "a cycle that lacks nothing")
        assert watch.scraped()["eosctl_findings"][MIXED] == 0
        sandbox.pause_worker(2)
        unread = eventually(lambda: watch.scraped().get("eosctl_unread"), "the frozen worker to be missed")
        assert all(two in what for _, _, what in unread), unread
        assert "eosctl_hanging_transactions" in watch.scraped(), "what brokers answer"
        sandbox.resume_worker(2)
        eventually(lambda: watch.scraped().get("eosctl_unread_facts") == {(): 0}, "the worker to be read again")
        sandbox.stop_worker(2)
        sandbox.start_worker(2, {"exactly.once.source.support": "disabled"})
        eventually(lambda: watch.scraped().get("eosctl_findings", {}).get(MIXED), "the other setting to be seen")
    for number in (1, 2):
        probes = [each for each in requests_in(sandbox.worker_log(number).read_text()) if each.path.endswith(VALIDATE)]
        assert 1 <= len(probes) <= 8, "one for each change of the group's members"
