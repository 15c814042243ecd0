"""`eosctl transactions` and `eosctl explain` where no broker is needed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eosctl.codecs.snapshot import encode_snapshot
from eosctl.errors import UsageError
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers, ProducersFacts, TransactionalIdAccess
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState
from eosctl.model.workers import ConnectFacts, ConnectorStatus
from eosctl.operations.transactions import wanted_partitions
from eosctl.sources.cluster_reader import wanted_of
from tests.commands.conftest import Ran

Eosctl = Callable[..., Ran]
NOW = 1_790_000_000_000
NOT_READ = Skipped("not read")


def described(name: str, state: TransactionState, producer_id: int, started_ago_ms: int | None = None):
    start_ms = None if started_ago_ms is None else NOW - started_ago_ms
    partitions = () if start_ms is None else (TopicPartition("t", 0),)
    return TransactionDescription(name, state, ProducerIdAndEpoch(producer_id, 2), 60_000, start_ms, partitions, 1)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A snapshot of a Connect cluster with a task that writes, and of a stranger."""
    transactions = [
        described("connect-cluster-orders-0", TransactionState.ONGOING, 4, 90_000),
        described("connect-cluster-connect-cluster", TransactionState.COMPLETE_COMMIT, 5),
        described("word-count-0_1", TransactionState.ONGOING, 6, 2_000),
    ]
    status = {"orders": ConnectorStatus("orders", "source", "RUNNING", ())}
    snapshot = Snapshot(
        as_of=NOW,
        cluster=NOT_READ,
        group_id="connect-cluster",
        config_topic=NOT_READ,
        transactions={each.transactional_id: each for each in transactions},
        connect=ConnectFacts({}, status),
    )
    path = tmp_path / "monday.snapshot"
    path.write_text("".join(f"{line}\n" for line in encode_snapshot(snapshot)))
    return path


@pytest.fixture
def hanging_in_offsets(tmp_path: Path) -> Path:
    """A snapshot in which a transaction hangs in topic offsets-of-file; worker settings were not read."""
    place = TopicPartition("offsets-of-file", 0)
    active = ActiveProducer(place, ProducerIdAndEpoch(9, 0), 3, NOW - 3_600_000, None, 5)
    partition = PartitionProducers(place, 1, PartitionOffsets(place, 0, 5, 9), (active,))
    snapshot = Snapshot(
        as_of=NOW,
        cluster=NOT_READ,
        group_id="connect-cluster",
        config_topic=NOT_READ,
        transactions={},
        connect=NOT_READ,
        producers=ProducersFacts({place: partition}, TransactionalIdAccess((), None), {}),
    )
    path = tmp_path / "hanging.snapshot"
    path.write_text("".join(f"{line}\n" for line in encode_snapshot(snapshot)))
    return path


def test_a_worker_s_file_names_the_offsets_topic_that_its_connectors_wait_for(
    hanging_in_offsets: Path, tmp_path: Path, eosctl: Eosctl
):
    worker = tmp_path / "worker.properties"
    worker.write_text("group.id=connect-cluster\noffset.storage.topic=offsets-of-file\n")
    hanging = ("transactions", "hanging", "--snapshot", hanging_in_offsets, "-o", "json")

    def waiting(*more: object) -> list[str]:
        ran = eosctl(*hanging, *more)
        assert ran.exit_code == 1, ran.stderr
        (row,) = json.loads(ran.stdout)["data"]["transactions"]
        return list(row["waiting_connect"])

    wait = "source connectors of Connect cluster connect-cluster: offsets topic; none starts its tasks"
    assert waiting() == []
    assert waiting("--worker-config", worker) == [wait]
    assert waiting("--worker-offsets-topic", "offsets-of-file") == [wait]


def test_topics_are_named_by_option_and_positional_ones_are_accepted(hanging_in_offsets: Path, eosctl: Eosctl):
    for command in ("producers", "lso"):
        ran = [
            eosctl("transactions", command, *topic, "--snapshot", hanging_in_offsets, "-o", "json")
            for topic in (("--topic", "offsets-of-file:0"), ("offsets-of-file:0",))
        ]
        assert ran[0].exit_code == 0, ran[0].stderr
        assert ran[0].stdout == ran[1].stdout
        shown = eosctl("transactions", command, "--help").stdout
        assert "[TOPIC" not in shown
    ran = eosctl("transactions", "producers", "--snapshot", hanging_in_offsets)
    assert (ran.exit_code, "give --topic" in ran.stderr) == (2, True)


def ids(ran: Ran, exit_code: int = 0) -> list[str]:
    assert ran.exit_code == exit_code, ran.stderr
    return [each["transactional_id"] for each in json.loads(ran.stdout)["data"]["transactions"]]


def test_a_snapshot_is_listed_with_owners_those_under_way_longest_first(saved: Path, eosctl: Eosctl):
    ran = eosctl("transactions", "list", "--snapshot", saved, "-o", "json")
    assert ids(ran) == ["connect-cluster-orders-0", "word-count-0_1", "connect-cluster-connect-cluster"]
    rows = json.loads(ran.stdout)["data"]["transactions"]
    assert rows[0]["running_ms"] == 90_000
    assert rows[0]["owner"] == "task 0 of connector orders in Connect cluster connect-cluster"
    assert rows[0]["owners"] == [
        {"kind": "connect-task", "group_id": "connect-cluster", "connector": "orders", "task": 0}
    ]
    assert rows[2]["owner"] == "leader of Connect cluster connect-cluster"
    assert (rows[1]["owner"], rows[1]["owners"]) == ("unknown, shape of Streams application word-count", [])


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (["--state", "Ongoing"], ["connect-cluster-orders-0", "word-count-0_1"]),
        (["--state", "Ongoing", "--longer-than", "60"], ["connect-cluster-orders-0"]),
        (["--producer-id", "5"], ["connect-cluster-connect-cluster"]),
        (["--pattern", "connect-cluster-.*"], ["connect-cluster-orders-0", "connect-cluster-connect-cluster"]),
        (["--pattern", "orders"], []),
        (["--owner", "orders"], ["connect-cluster-orders-0"]),
        (["--owner", "orders-0"], ["connect-cluster-orders-0"]),
        (["--owner", "connect-cluster"], ["connect-cluster-orders-0", "connect-cluster-connect-cluster"]),
        (["--owner", "streams"], ["word-count-0_1"]),
    ],
)
def test_filters_narrow_the_list(filters: list[str], left: list[str], saved: Path, eosctl: Eosctl):
    # The snapshot has no config topic: owners that a filter asks for are not known for certain.
    code = 3 if "--owner" in filters else 0
    assert ids(eosctl("transactions", "list", "--snapshot", saved, "-o", "json", *filters), code) == left


def test_a_pattern_that_is_none_and_looks_without_watching_are_refused(eosctl: Eosctl):
    ran = eosctl("transactions", "list", "-b", "nowhere:1", "--pattern", "(")
    assert (ran.exit_code, "is no regular expression" in ran.stderr) == (2, True)
    ran = eosctl("transactions", "lso", "-b", "nowhere:1", "--looks", "2")
    assert (ran.exit_code, "--watch" in ran.stderr) == (2, True)


def test_no_broker_ends_with_4(eosctl: Eosctl):
    for command in (["list"], ["hanging"], ["lso"], ["log"], ["producers", "t"], ["describe", "id"]):
        ran = eosctl("transactions", command[0], "-b", "127.0.0.1:1", "--timeout", "2", *command[1:])
        assert ran.exit_code == 4, command


def test_a_segment_of_another_topic_is_refused(tmp_path: Path, eosctl: Eosctl):
    other = tmp_path / "orders-3"
    other.mkdir()
    (other / "0.log").write_bytes(b"")
    ran = eosctl("transactions", "log", "--segment", other / "0.log")
    assert ran.exit_code == 2
    assert "is a segment of orders-3, not of __transaction_state" in ran.stderr


def test_partitions_are_written_as_topic_and_numbers():
    assert wanted_partitions(["a", "b:0,3", "b:1"]) == {"a": None, "b": frozenset({0, 1, 3})}
    assert wanted_partitions(["b:0", "b"]) == {"b": None}
    leaders = {TopicPartition("a", 0): 1, TopicPartition("b", 0): 2, TopicPartition("b", 1): 3}
    assert wanted_of(leaders, {"b": frozenset({1})}) == {TopicPartition("b", 1): 3}
    with pytest.raises(UsageError, match="topic b has no partition 7"):
        wanted_of(leaders, {"b": frozenset({7})})


@pytest.mark.parametrize("argument", ["", ":0", "a:", "a:x", "a:1,", "a:-1", "a:²"])
def test_other_forms_are_refused(argument: str):
    with pytest.raises(UsageError, match=r"expected TOPIC\[:N,…\]"):
        wanted_partitions([argument])


def test_explain_tells_errors_rules_and_what_it_does_not_know(eosctl: Eosctl):
    known = eosctl("explain", "ProducerFencedException", "-o", "json")
    assert known.exit_code == 0
    assert [each["id"] for each in json.loads(known.stdout)["data"]["explanations"]] == ["producer-fenced"]
    rule = eosctl("explain", "eos001", "-o", "json")
    assert [each["id"] for each in json.loads(rule.stdout)["data"]["explanations"]] == ["EOS001"]
    assert eosctl("explain", "java.lang.NullPointerException").exit_code == 1
    assert eosctl("explain").exit_code == 2
    listed = json.loads(eosctl("explain", "--list", "-o", "json").stdout)["data"]
    assert {"EOS001", "producer-fenced"} <= {each["id"] for each in (*listed["rules"], *listed["errors"])}
