"""A connector that waits for ever in its poll: RUNNING for Connect, and found by the history of its own commits.

A history takes a day and more. A coordinator's records of that time are written into the transaction log beforehand;
the tasks, their silence and all reading of them are real.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from eosctl.codecs.transaction_log import encode_transaction_log_key
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition, coordinator_partition
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments
from tests.integration.watching import watching
from tests.kafka_versions import spec_of, workers_of
from tests.oracle.transaction_log_bytes import encode
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
SOURCE = Path(__file__).with_name("WaitingSource.java")
DAY_MS = 86_400_000
INTERVAL_MS = 19_000
"""Between two commits of the histories: a task is quiet then when it commits nothing for a minute."""
NAMES = ("blocked", "idle", "steady", "young")


@pytest.fixture(scope="module")
def cluster(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    plugins = {"plugin.path": plugin_path(workers_of(kafka_version), SOURCE, tmp_path_factory.mktemp("plugin"))}
    with Sandbox(spec_of(kafka_version, workers=1, worker_config=plugins)) as started:
        yield started


def write_history(servers: str, transactional_id: str, days: int) -> None:
    """A coordinator's records for a commit each INTERVAL_MS in the last days."""
    producer = Producer({"bootstrap.servers": servers, "client.id": "__admin_client", "linger.ms": 50})
    now, key = time.time_ns() // 1_000_000, encode_transaction_log_key(transactional_id)
    partitions = producer.list_topics(TRANSACTION_LOG, timeout=30).topics[TRANSACTION_LOG].partitions
    place = coordinator_partition(transactional_id, len(partitions))
    for at in range(now - days * DAY_MS, now, INTERVAL_MS):
        value = TransactionLogValue(
            0,
            ProducerIdAndEpoch(4711, 0),
            60_000,
            TransactionState.COMPLETE_COMMIT,
            (TopicPartition("out", 0),),
            at,
            at,
        )
        producer.produce(TRANSACTION_LOG, encode(value), key, partition=place)
        producer.poll(0)
    assert producer.flush(60) == 0


@pytest.mark.proves("EOS160")
def test_a_task_that_is_blocked_in_poll_is_found_and_one_that_commits_is_not(
    cluster: Sandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    rest, doctor = Rest(cluster.connect_url(1)), Doctor(eosctl, tuple(arguments(cluster)))
    for name in NAMES:
        write_history(cluster.bootstrap_servers, f"connect-cluster-{name}-0", 2 if name == "young" else 8)
    files = {name: tmp_path / name for name in NAMES}
    for name, file in files.items():
        how = "idle.by" if name == "idle" else "blocked.by"
        rest.put(name, {"connector.class": "WaitingSource", "topic": "out", how: str(file)})
    for name in NAMES:
        rest.await_tasks(name)
    for name in ("blocked", "idle", "young"):
        files[name].touch()

    with watching(*arguments(cluster), "--every", 2) as watch:
        first = eventually(watch.scraped, "the first cycle")
        assert first["eosctl_unread_facts"] == {(): 0}, first.get("eosctl_unread")
        assert ("EOS160", "warning") in first["eosctl_findings"]
        found = doctor.sees(*(("EOS160", name) for name in NAMES if name != "steady"), deadline_s=150)
        assert {name: found["EOS160", name]["severity"] for name in ("blocked", "idle", "young")} == {
            "blocked": "warning",
            "idle": "warning",  # for a task that has nothing to commit looks the same
            "young": "info",
        }
        assert ("EOS160", "steady") not in found
        assert rest.states("blocked") == ["RUNNING"]
        [task] = found["EOS160", "blocked"]["evidence"]["tasks"]
        assert task["longest_interval_ms"] <= INTERVAL_MS + 1
        assert task["silent_ms"] > 60_000
        assert task["intervals"] >= 8 * DAY_MS // INTERVAL_MS - 1
        ratios = eventually(
            lambda: (now := watch.scraped().get("eosctl_task_quiet_ratio", {})).get(("blocked", "0"), 0) > 3 and now,
            "the ratio of the one that is blocked",
        )
        assert ratios["steady", "0"] < 1
        assert ("young", "0") not in ratios, "no week of it is known"

        for file in files.values():
            file.unlink(missing_ok=True)
        rest.restart_as_printed(found["EOS160", "blocked"]["cure"])
        doctor.sees_no_more(*(("EOS160", name) for name in NAMES))
        eventually(lambda: watch.scraped()["eosctl_task_quiet_ratio"]["blocked", "0"] < 1, "the metric to follow")
        assert watch.scraped()["eosctl_findings"]["EOS160", "warning"] == 0
