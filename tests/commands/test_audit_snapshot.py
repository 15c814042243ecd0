"""`eosctl audit --snapshot`: the facts in a snapshot are judged, missing ones are named, and no verdict is held."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.codecs.snapshot import encode_snapshot
from eosctl.model.config_topic import (
    ConfigTopicLog,
    ConnectorConfigRecord,
    Origin,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers, ProducersFacts
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import OffsetsFacts, StorePlace, WorkerSettings
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transactions import ActiveProducer, TransactionalIdAccess, TransactionDescription, TransactionState
from eosctl.model.workers import ConnectFacts, ConnectorStatus, KnownPhase
from tests.analysis.offset_records import record, topic
from tests.commands.conftest import Ran

Eosctl = Callable[..., Ran]
Audit = Callable[..., dict[str, Any]]
NOW = 1_790_000_000_000
NOT_READ = Skipped("not read")
OUTPUT = TopicPartition("rows", 0)
CONFIG = {
    "name": "orders",
    "topic": "rows",
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
}


def at(offset: int, *, transactional: bool = True) -> Origin:
    return Origin(offset, NOW - 1000 + offset, RecordState.COMMITTED, transactional, 3 if transactional else -1, 0)


HEALTHY = (
    ConnectorConfigRecord(at(0), "orders", CONFIG),
    TaskConfigRecord(at(1), "orders", 0, {}),
    TaskCommitRecord(at(2), "orders", 1),
    TaskCountRecord(at(3), "orders", 1),
)
PLAIN_LEADER = (*HEALTHY, TaskCountRecord(at(4, transactional=False), "orders", 1))


def site(*records: Any) -> Snapshot:
    """A Connect cluster with one connector, which writes topic `rows`; a transaction of its task is open there."""
    task = TransactionDescription(
        "connect-cluster-orders-0", TransactionState.ONGOING, ProducerIdAndEpoch(7, 0), 60_000, NOW - 5, (OUTPUT,), 1
    )
    offsets = PartitionOffsets(TopicPartition("connect-configs", 0), 0, len(records), len(records))
    partitions = {
        place: PartitionProducers(place, 1, PartitionOffsets(place, 0, 4, 4))
        for place in (TopicPartition("connect-configs", 0), TopicPartition("connect-offsets", 0))
    }
    writer = ActiveProducer(OUTPUT, ProducerIdAndEpoch(7, 0), 0, NOW - 5, None, 4)
    partitions[OUTPUT] = PartitionProducers(OUTPUT, 1, PartitionOffsets(OUTPUT, 0, 4, 9), (writer,))
    return Snapshot(
        as_of=NOW,
        cluster=NOT_READ,
        group_id="connect-cluster",
        config_topic=ConfigTopicLog("connect-configs", TopicFacts("connect-configs", 1, 1), offsets, records),
        transactions={task.transactional_id: task},
        connect=ConnectFacts({}, {"orders": ConnectorStatus("orders", "source", "RUNNING", ())}),
        offsets=OffsetsFacts(
            WorkerSettings("connect-offsets", KnownPhase.ENABLED, frozenset({"b:9092"})),
            {StorePlace("connect-offsets"): topic("connect-offsets", [record(0, '["orders",{}]', '{"p":1}')])},
        ),
        producers=ProducersFacts(partitions, TransactionalIdAccess((), None), {}),
    )


@pytest.fixture
def audit(eosctl: Eosctl, tmp_path: Path) -> Audit:
    """Audits a snapshot; 1 or 3, because nothing can be called held."""

    def audited(snapshot: Snapshot, *more: object) -> dict[str, Any]:
        path = tmp_path / "monday.snapshot"
        path.write_text("".join(f"{line}\n" for line in encode_snapshot(snapshot)))
        ran = eosctl("audit", "--snapshot", path, "-o", "json", *more)
        assert ran.exit_code in {1, 3}, ran.stderr
        data: dict[str, Any] = json.loads(ran.stdout)["data"]
        return data

    return audited


def test_a_connector_without_a_fault_is_not_called_held(audit: Audit):
    data = audit(site(*HEALTHY))
    [connector] = data["connectors"]
    assert (connector["name"], connector["verdict"], connector["evidence"]) == ("orders", "cannot-tell", [])
    assert "topic connect-offsets: a snapshot holds no record batches" in connector["reasons"]
    assert "topic rows: a snapshot holds no record batches" in connector["reasons"]
    assert (data["findings"], data["ranges"]) == ([], [])
    assert [each["kind"] for each in data["timeline"]] == ["commit", "fencing"]


def test_an_unread_fact_is_named_with_its_reason(audit: Audit):
    data = audit(site(*HEALTHY))
    unread = {each["what"]: each["reason"] for each in data["unread"]}
    assert unread["topic rows"] == "a snapshot holds no record batches"
    assert unread["active topics"] == "snapshots do not hold it"
    assert "topic connect-configs" not in unread


def test_the_history_of_the_config_topic_is_judged(audit: Audit):
    [finding] = audit(site(*PLAIN_LEADER))["findings"]
    assert (finding["name"], finding["subject"]) == ("plain-leader-write", "connect-configs")
    assert finding["evidence"]["connectors"] == ["orders"]
    assert [each["offset"] for each in finding["evidence"]["places"]] == [4]


def test_a_hanging_transaction_of_an_unknown_owner_leaves_the_verdict_open(audit: Audit):
    data = audit(replace(site(*HEALTHY), transactions={}))
    [connector], [finding] = data["connectors"], data["findings"]
    assert (connector["verdict"], connector["evidence"]) == ("cannot-tell", ["EOS214"])
    assert finding["evidence"]["owners"] == []
    assert (finding["name"], finding["subject"], finding["evidence"]["start_offset"]) == (
        "hanging-transaction",
        "rows-0",
        4,
    )


def test_a_plan_names_the_topics_and_reads_nothing(eosctl: Eosctl, tmp_path: Path):
    path = tmp_path / "monday.snapshot"
    path.write_text("".join(f"{line}\n" for line in encode_snapshot(site(*HEALTHY))))
    ran = eosctl("audit", "--snapshot", path, "--plan", "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["ranges"]) == (3, [])
    assert {each["name"]: each["role"] for each in data["topics"]} == {
        "connect-configs": "config",
        "connect-offsets": "offsets",
        "rows": "output",
    }


def test_a_snapshot_adds_nothing_to_a_ledger(audit: Audit, tmp_path: Path):
    [connector] = audit(site(*HEALTHY), "--store", f"sqlite:///{tmp_path}/audit.db")["connectors"]
    assert connector["verdict"] == "cannot-tell"
    assert not (tmp_path / "audit.db").exists()


def test_a_snapshot_is_audited_alone_and_on_this_machine(eosctl: Eosctl, tmp_path: Path):
    ran = eosctl("audit", "--snapshot", "x", "--log-dir", tmp_path)
    assert (ran.exit_code, ran.stderr.splitlines()[0]) == (
        2,
        "eosctl: error: --log-dir and --snapshot cannot be combined",
    )
    ran = eosctl("audit", "--snapshot", "x", "--engine", "spark")
    assert (ran.exit_code, ran.stderr.splitlines()[0]) == (2, "eosctl: error: --snapshot is read on this machine")
