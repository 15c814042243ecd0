"""`eosctl transactions log` on what real coordinators wrote: live, from segment files, under each feature level."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eosctl.codecs.transaction_log import decode_transaction_log_value
from eosctl.model.names import coordinator_partition
from eosctl.model.versions import KafkaVersion
from eosctl.sources.log_directories import LogSegment
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.producers import complete, create_topic, open_transaction, transactional_producer
from tests.oracle.transaction_log_bytes import TransactionLogOracle, read_by_kafka
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
IDS = ("connect-cluster-connect-cluster", "connect-cluster-orders-0", "connect-cluster-orders-1", "ü-😀-0", "empty")


def mixed_load(servers: str) -> None:
    """IDs that are Empty, Ongoing, committed, aborted and initialised again, each by transactions of its own."""
    create_topic(servers, "t", 3)
    transactional_producer(servers, "empty")
    for _ in range(3):
        complete(servers, "connect-cluster-orders-0", "t", commit=True)
    complete(servers, "connect-cluster-orders-1", "t", commit=False)
    complete(servers, "ü-😀-0", "t", commit=True)
    eventually(
        lambda: all(each is None or not each.state.is_open for each in describe(servers, IDS).values()), "the ends"
    )


def segments(sandbox: Sandbox) -> list[Path]:
    return [path for path in sandbox.directory.rglob("__transaction_state-*/*.log") if path.stat().st_size]


@pytest.mark.parametrize("level", [*(pytest.param(each, marks=pytest.mark.variation) for each in "01"), "2"])
def test_the_log_is_read_as_kafka_reads_it_live_and_from_its_files(
    level: str, make_sandbox: Callable[..., Sandbox], kafka_version: str, eosctl: Eosctl
) -> None:
    """Brokers before 4.0 have one level, which is 0."""
    if KafkaVersion.parse(kafka_version) < KafkaVersion(4, 0):
        features, level = {}, "0"
    else:
        features = {"transaction.version": level}
    fifty = {"transaction.state.log.num.partitions": "50"}
    sandbox = make_sandbox(kafka_version=str(kafka_version), features=features, broker_config=fifty)
    servers = sandbox.bootstrap_servers
    mixed_load(servers)
    held_open = open_transaction(servers, "connect-cluster-connect-cluster", "t")
    live = eosctl("transactions", "log", "-b", servers, "--group-id", "connect-cluster", "-o", "json")
    assert live.exit_code == 0, live.stderr
    rows = {row["transactional_id"]: row for row in json.loads(live.stdout)["data"]["transactional_ids"]}
    assert set(rows) == set(IDS)
    told = describe(servers, IDS)
    for name, row in rows.items():
        known = told[name]
        assert known is not None
        assert (row["state"], row["producer_id"], row["producer_epoch"]) == (
            known.state.value,
            known.producer.producer_id,
            known.producer.producer_epoch,
        )
        assert row["log_partition"] == coordinator_partition(name, 50)
        assert row["coordinator"] == known.coordinator
        assert row["value_version"] == (0 if level == "0" else 1)
    assert rows["connect-cluster-connect-cluster"]["owner"] == "leader of Connect cluster connect-cluster"
    files = [argument for path in segments(sandbox) for argument in ("--segment", path)]
    offline = eosctl("transactions", "log", *files, "--partitions", "50", "--expiration-ms", "604800000", "-o", "json")
    assert offline.exit_code == 0, offline.stderr
    same = ("state", "producer_id", "producer_epoch", "log_partition", "offset", "last_update_ms", "records")
    from_files = {row["transactional_id"]: row for row in json.loads(offline.stdout)["data"]["transactional_ids"]}
    assert {name: [row[key] for key in same] for name, row in from_files.items()} == {
        name: [row[key] for key in same] for name, row in rows.items()
    }
    _hold_against_kafka(sandbox)
    held_open.abort_transaction(30)


def _hold_against_kafka(sandbox: Sandbox) -> None:
    count = 0
    with TransactionLogOracle(sandbox.kafka_version) as oracle:
        for path in segments(sandbox):
            for record in LogSegment(path):
                answer = oracle.value(record.value)
                assert answer["left"] == 0
                assert decode_transaction_log_value(record.value) == read_by_kafka(answer)
                count += 1
    assert count >= 20


@pytest.mark.variation
def test_history_tells_what_happened_by_each_record(make_sandbox: Callable[..., Sandbox], eosctl: Eosctl) -> None:
    servers = make_sandbox(features={"transaction.version": "0"}).bootstrap_servers
    mixed_load(servers)
    ran = eosctl("transactions", "log", "connect-cluster-orders-0", "--history", "-b", servers, "-o", "json")
    words = [row["words"] for row in json.loads(ran.stdout)["data"]["history"]]
    assert words[0] == "initialised, epoch 0"
    assert words[1] == "transaction in progress in 1 partition"
    assert words[2] == "commit decided; markers are being written"
    assert words[3].startswith("committed after ")
    assert words[4] == "initialised, epoch 0 to 1: the producer before it is fenced"
    fenced = open_transaction(servers, "connect-cluster-orders-1", "t")
    assert eosctl("fence", "-b", servers, "--transactional-id", "connect-cluster-orders-1", "--yes").exit_code == 0
    ran = eosctl("transactions", "log", "connect-cluster-orders-1", "--history", "-b", servers, "-o", "json")
    words = [row["words"] for row in json.loads(ran.stdout)["data"]["history"]]
    assert "abort decided by its coordinator (timeout or fencing); markers are being written" in words
    del fenced


def test_idle_ids_near_expiry_are_found_with_their_owner(sandbox: Sandbox, eosctl: Eosctl, fresh_name) -> None:
    name = fresh_name("connect-cluster-idle")
    transactional_producer(sandbox.bootstrap_servers, name)
    ran = eosctl("transactions", "log", name, "-b", sandbox.bootstrap_servers, "--expiration-ms", "1", "-o", "json")
    assert ran.exit_code == 0, "nobody that is known owns it"
    (finding,) = json.loads(ran.stdout)["data"]["findings"]
    assert (finding["id"], finding["severity"], finding["subject"]) == ("EOS117", "info", name)
    assert finding["name"] == "transactional-id-near-expiry"
