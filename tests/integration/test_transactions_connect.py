"""A hanging transaction in a config topic keeps a worker from starting; `hanging` says so, and `abort` cures it."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.integration.hanging import UNVERIFIED, hang
from tests.kafka_versions import versions_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]

HEALTH_ENDPOINT = KafkaVersion(3, 9)
CONFIG_TOPIC = "connect-configs"


@pytest.mark.variation
def test_a_worker_that_a_hanging_transaction_stops_starts_after_the_abort(
    make_sandbox: Callable[..., Sandbox],
    kafka_version: str,
    eosctl: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sandbox = make_sandbox(**versions_of(kafka_version), broker_config=UNVERIFIED)
    servers = sandbox.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    compact = NewTopic(CONFIG_TOPIC, 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([compact])[CONFIG_TOPIC].result(30)
    with wire_to(servers) as wire:
        hung = hang(wire, TopicPartition(CONFIG_TOPIC, 0), "connect-cluster-old")
    url = sandbox.start_worker(1, until_ready=False)
    eventually(lambda: _reads_config_topic(sandbox), "the worker's reading of its config topic")
    row = _hanging(eosctl, servers)
    assert (row["topic"], row["start_offset"]) == (CONFIG_TOPIC, hung.start_offset)
    assert row["waiting_connect"] == [
        "workers of Connect cluster connect-cluster: config topic; none with exactly-once starts"
    ]
    quiet_until = time.monotonic() + 5
    eventually(lambda: _has_started(sandbox, url) or time.monotonic() > quiet_until, "five seconds")
    assert not _has_started(sandbox, url), "the worker must be waiting for the end of the transaction"
    ran = eosctl(
        "transactions", "abort", "-b", servers, "--topic", CONFIG_TOPIC, "--partition", "0",
        "--start-offset", hung.start_offset, "--max-transaction-timeout", "0", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    eventually(lambda: _has_started(sandbox, url), "the worker's start")


def _reads_config_topic(sandbox: Sandbox) -> bool:
    return f"Starting KafkaBasedLog with topic {CONFIG_TOPIC}" in sandbox.worker_log(1).read_text(errors="replace")


def _has_started(sandbox: Sandbox, url: str) -> bool:
    """Whether the worker is healthy (KIP-1017): it has read its topics and joined its group.

    Workers before 3.9 have no such endpoint; they say in their log that they have read the config topic. `GET
    /connectors` would not do: it is answered with an empty list before that.
    """
    if KafkaVersion.parse(sandbox.spec.workers_version) < HEALTH_ENDPOINT:
        return f"Finished reading KafkaBasedLog for topic {CONFIG_TOPIC}" in sandbox.worker_log(1).read_text()
    try:
        return httpx.get(f"{url}/health", timeout=2, trust_env=False, verify=False).status_code == 200
    except httpx.HTTPError:
        return False


def _hanging(eosctl: Callable[..., Ran], servers: str) -> dict:
    """The one that hangs, with the names of the Connect cluster given."""
    ran = eosctl(
        "transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0", "--group-id", "connect-cluster",
        "-o", "json",
    )  # fmt: skip
    assert ran.exit_code == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["data"]["transactions"]
    return row
