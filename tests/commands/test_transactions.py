"""transactions on the command line."""

import json
import shutil
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.util import calc_crc32c

from eosctl.codecs.record_batches import MarkerType
from eosctl.codecs.snapshot import encode_snapshot
from eosctl.errors import UsageError
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers, ProducersFacts
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import ActiveProducer, TransactionalIdAccess, TransactionDescription, TransactionState
from eosctl.model.workers import ConnectFacts, ConnectorStatus
from eosctl.operations.transactions import wanted_partitions
from eosctl.sources.cluster_reader import wanted_of
from tests.analysis.audit.brokers import Writer, Written, damaged, data_batch, marker_batch
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
    task = "unknown, shape of Streams application word-count, task 0_1 (partition 1)"
    assert (rows[1]["owner"], rows[1]["owners"]) == (task, [])


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


def test_explain_knows_errors_and_rules_and_names_the_ones_it_does_not_know(eosctl: Eosctl):
    known = eosctl("explain", "ProducerFencedException", "-o", "json")
    assert known.exit_code == 0
    assert [each["id"] for each in json.loads(known.stdout)["data"]["explanations"]] == ["producer-fenced"]
    rule = eosctl("explain", "eos001", "-o", "json")
    assert [each["id"] for each in json.loads(rule.stdout)["data"]["explanations"]] == ["EOS001"]
    assert eosctl("explain", "java.lang.NullPointerException").exit_code == 1
    assert eosctl("explain").exit_code == 2
    listed = json.loads(eosctl("explain", "--list", "-o", "json").stdout)["data"]
    assert {"EOS001", "producer-fenced"} <= {each["id"] for each in (*listed["rules"], *listed["errors"])}


TASK, OTHER, PLAIN = Writer(7, 0, transactional=True), Writer(8, 2, transactional=True), Writer()
COMMIT, ABORT = MarkerType.COMMIT, MarkerType.ABORT
GROUP_KEY = b"\x00\x01\x00\x05group\x00\x06orders" + (3).to_bytes(4, "big")
GROUP_VALUE = b"\x00\x03" + (42).to_bytes(8, "big") + b"\xff\xff\xff\xff\x00\x00" + NOW.to_bytes(8, "big")

Trace = Callable[..., dict[str, Any]]


def data(offset: int, sequence: int = 0, writer: Writer = TASK, key: bytes = b"k", value: bytes = b"v") -> bytes:
    """Two records."""
    records = [Written(delta, NOW + offset + delta, key, value) for delta in (0, 1)]
    return data_batch(offset, records, writer, sequence=sequence)


def marker(offset: int, kind: MarkerType, writer: Writer = TASK, at: int = NOW) -> bytes:
    return marker_batch(offset, at, kind, writer)


@pytest.fixture
def trace(tmp_path: Path, eosctl: Callable[..., Ran]) -> Trace:
    def run(batches: list[bytes], where: str, *more: object, others: Mapping[str, list[bytes]] | None = None,
            base: int = 0, code: int = 0) -> dict[str, Any]:  # fmt: skip
        for name, found in {"orders-0": batches, **(others or {})}.items():
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).mkdir()
            start = base if name == "orders-0" else 0
            (tmp_path / name / f"{start:020}.log").write_bytes(b"".join(found))
        ran = eosctl("transactions", "trace", where, "--log-dir", tmp_path, *more, "-o", "json")
        assert ran.exit_code == code, ran.stdout + ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    return run


def extents(answer: dict[str, Any]) -> dict[str, tuple[int | None, int | None, int | None, str]]:
    names = ("first_offset", "last_offset", "marker_offset", "found")
    return {f"{row['topic']}-{row['partition']}": tuple(row[name] for name in names) for row in answer["partitions"]}


def test_a_record_of_each_fate_is_traced_to_both_ends_of_its_transaction(trace: Trace):
    log = [data(0), data(2, 2), marker(4, COMMIT), data(5, 4), data(7, 0, OTHER), marker(9, ABORT), data(10, 6),
           marker(12, COMMIT, OTHER)]  # fmt: skip
    for offset, state, extent in (
        (1, "committed", (0, 3, 4, "whole")),
        (6, "aborted", (5, 6, 9, "whole")),
        (8, "committed", (7, 8, 12, "whole")),
        (10, "open", (10, 11, None, "whole")),
    ):
        answer = trace(log, f"orders-0@{offset}")
        assert answer["record"]["state"] == state
        assert extents(answer) == {"orders-0": extent}
    assert trace(log, "orders-0@8") == trace(log, "orders:0@8")
    assert trace(log, "orders-0@8")["record"]["visible"] is True
    assert trace(log, "orders-0@10")["record"]["visible"] is False


def test_a_non_transactional_record_is_reported_as_such(trace: Trace):
    log = [data(0, 0, PLAIN), data(2, 0, Writer(9, 0))]
    plain, idempotent = trace(log, "orders-0@0"), trace(log, "orders-0@3")
    assert (plain["record"]["transactional"], plain["record"]["producer_id"]) == (False, None)
    assert (idempotent["record"]["transactional"], idempotent["record"]["producer_id"]) == (False, 9)
    assert plain["partitions"] == idempotent["partitions"] == []


def test_an_offset_without_a_record_is_reported_with_its_content(trace: Trace):
    left = data_batch(4, [Written(1, NOW, b"k", b"v")], TASK, last_delta=2, sequence=2)
    log = [data(2), left, marker(9, COMMIT), damaged(data(10)), data(12)]

    def why(offset: int) -> tuple[str, str]:
        record = trace(log, f"orders-0@{offset}", base=2, code=1)["record"]
        return record["absent"], record["reason"]

    assert why(0) == ("deleted", "deleted: the log starts at offset 2 (retention, or DeleteRecords)")
    assert why(4) == ("compacted", "compacted away: its batch remains, with other records or without records")
    assert why(8) == ("compacted", "compacted away: the next remaining batch begins at offset 9")
    assert why(11) == ("damaged", "the log is damaged there: CRC does not match")
    assert why(14) == ("not-written", "the log ends before offset 14")
    assert why(9) == ("marker", "the commit marker of producer 7/0, which no consumer sees")


def test_a_marker_leads_to_its_transaction_also_where_its_epoch_is_the_next_one(trace: Trace):
    log = [data(0), marker(2, COMMIT, Writer(7, 1)), data(3, 0, Writer(7, 1, transactional=True))]
    answer = trace(log, "orders-0@2", code=1)
    assert extents(answer) == {"orders-0": (0, 1, 2, "whole")}
    assert extents(trace(log, "orders-0@3")) == {"orders-0": (3, 4, None, "whole")}


def test_beyond_the_limit_and_before_the_log_start_the_first_offset_is_not_claimed(trace: Trace):
    many = [data(offset, offset + 2) for offset in range(0, 6_000, 2)]
    log = [*many, marker(6_000, COMMIT)]
    near = trace(log, "orders-0@5999", "--within", "1000", code=3)
    assert extents(near) == {"orders-0": (4_998, 5_999, 6_000, "first-unknown")}
    assert extents(trace(log, "orders-0@5999")) == {"orders-0": (0, 5_999, 6_000, "whole")}
    cut = trace([data(8, 8), marker(10, COMMIT)], "orders-0@8", base=8)
    assert extents(cut) == {"orders-0": (8, 9, 10, "first-deleted")}
    lost = trace(log[1_000:], "orders-0@2000", "--within", "100", base=2_000, code=0)
    assert lost["record"]["state"] == "committed", "the log knows what was aborted, whatever the limit"
    opened = trace(many, "orders-0@0", "--within", "100", code=3)
    assert "no marker within 100 offsets" in opened["record"]["state"]["skipped"]


def test_records_of_the_same_transaction_are_shown_from_other_partitions(trace: Trace):
    source = data_batch(0, [Written(0, NOW, b'["c",{"file":"a"}]', b'{"position":7}')], TASK)
    group = data_batch(0, [Written(0, NOW, GROUP_KEY, GROUP_VALUE)], TASK)
    later = NOW + 60_000
    others = {
        "connect-offsets-0": [source, marker(1, COMMIT), data(2, 1), marker(4, COMMIT, at=later)],
        "__consumer_offsets-3": [group, marker(1, COMMIT)],
        "unrelated-0": [data(0, 0, OTHER), marker(2, COMMIT, OTHER)],
    }
    answer = trace([data(0), marker(2, COMMIT), data(3, 2), marker(5, COMMIT, at=later)], "orders-0@1", others=others)
    assert extents(answer) == {
        "orders-0": (0, 1, 2, "whole"),
        "connect-offsets-0": (0, 0, 1, "by-time"),
        "__consumer_offsets-3": (0, 0, 1, "by-time"),
    }
    shown = {(each["kind"], each["holder"], each["of"], each["value"]) for each in answer["offsets"]}
    assert shown == {("source", "c", '{"file": "a"}', '{"position": 7}'), ("group", "group", "orders-3", "42")}
    assert answer["partitions_by"] == "scan"


def test_the_nearest_of_several_close_ends_is_reported_as_chosen_by_time(trace: Trace):
    others = {"other-0": [data(0), marker(2, COMMIT, at=NOW - 40), data(3, 2), marker(5, COMMIT, at=NOW + 1)]}
    answer = trace([data(0), marker(2, COMMIT)], "orders-0@0", others=others)
    assert extents(answer)["other-0"] == (3, 4, 5, "by-time")


def test_a_record_is_found_by_its_key_and_by_its_time(trace: Trace):
    log = [data(0, key=b"a"), data(2, 2, key=b"b"), data(4, 4, key=b"a"), marker(6, COMMIT)]
    assert trace(log, "orders", "--key", "a")["record"]["offset"] == 5
    assert trace(log, "orders:0", "--timestamp", "2026-09-21T14:13:20.003Z")["record"]["offset"] == 3
    both = trace(log, "orders", "--key", "a", "--timestamp", "2026-09-21T14:13:20.003Z")
    assert both["record"]["offset"] == 4
    assert "no record with the key c" in trace(log, "orders", "--key", "c", code=1)["record"]["reason"]
    cut = trace(log, "orders", "--key", "b", "--within", "3", code=3)["record"]
    assert (cut["absent"], "within 3 offsets (--within)" in cut["reason"]) == ("not-found", True)


def test_a_record_before_a_truncated_segment_is_not_reported_as_unwritten(trace: Trace):
    whole = [data(0), marker(2, COMMIT)]
    absent = trace([*whole, data(3, 2)[:-3]], "orders:0@3", code=1)["record"]
    assert (absent["absent"], "from offset 3 on, are no whole batch" in absent["reason"]) == ("damaged", True)
    assert trace(whole, "orders:0@3", code=1)["record"]["absent"] == "not-written"


HISTORY = [data(0), data(2, 0, OTHER), marker(4, ABORT), data(5, 2), marker(7, COMMIT, OTHER)]
INDEXED = struct.pack(">hqqqq", 0, 7, 0, 4, 2)
ENTRIES = (
    struct.pack(">i", 2)
    + struct.pack(">qhiqiqiq", 7, 0, 1, 1, 1, NOW, 3, 0)
    + struct.pack(">qhiqiqiq", 9, 4, 0, 0, 0, NOW, 3, -1)
)
KNOWN = struct.pack(">hI", 1, calc_crc32c(ENTRIES)) + ENTRIES
"""The producers before offset 4: one with an open transaction, and one without."""
ABORT_OF_TASK = {"producer_id": 7, "first_offset": 0, "marker_offset": 4, "indexed": True}
OPEN_OF_TASK = {"producer_id": 7, "producer_epoch": 0, "first_offset": 5}


@pytest.fixture
def trace_beside(tmp_path: Path, eosctl: Callable[..., Ran]) -> Callable[..., Ran]:
    """Traces the first record of a partition with these files beside its segment, by their suffix."""

    def run(base: int = 0, format: str = "json", at: int = 4, **files: bytes) -> Ran:
        home = tmp_path / "orders-0"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        for suffix, content in {"log": b"".join(HISTORY if base == 0 else HISTORY[3:]), **files}.items():
            start = (at if base == 0 else base) if suffix == "snapshot" else base
            (home / f"{start:020}.{suffix}").write_bytes(content)
        return eosctl("transactions", "trace", f"orders-0@{base}", "--log-dir", tmp_path, "-o", format)

    return run


def state_of(ran: Ran) -> dict[str, Any]:
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    return dict(json.loads(ran.stdout)["data"]["producer_state"])


def test_the_files_beside_segments_name_aborted_and_open_transactions(trace_beside: Callable[..., Ran]):
    whole = state_of(trace_beside(txnindex=INDEXED, snapshot=KNOWN))
    assert whole == {"partition": "orders-0", "aborted": [ABORT_OF_TASK], "opened": [OPEN_OF_TASK],
                     "snapshot_offset": 4}  # fmt: skip
    assert state_of(trace_beside(txnindex=INDEXED)) == {**whole, "snapshot_offset": None}
    shown = trace_beside(txnindex=INDEXED, format="table").stdout
    assert "Aborted transactions of this partition" in shown
    assert "Open transactions of this partition" in shown


def test_a_transaction_that_began_before_the_log_start_is_known_by_the_snapshot(trace_beside: Callable[..., Ran]):
    begun = struct.pack(">iqhiqiqiq", 1, 9, 4, 0, 3, 0, NOW, 3, 2)
    snapshot = struct.pack(">hI", 1, calc_crc32c(begun)) + begun
    found = state_of(trace_beside(base=5, index=b"", snapshot=snapshot))
    assert found["opened"] == [{"producer_id": 9, "producer_epoch": 4, "first_offset": 2}, OPEN_OF_TASK]
    assert found["aborted"] == []
    assert "no producer snapshot is there" in state_of(trace_beside(base=5, index=b""))["opened"]["skipped"]


def test_a_snapshot_beyond_the_end_of_the_log_is_not_used(trace_beside: Callable[..., Ran]):
    """A broker deletes it when it starts: the log was truncated."""
    found = state_of(trace_beside(txnindex=INDEXED, snapshot=b"damaged", at=9))
    assert (found["snapshot_offset"], found["opened"]) == (None, [OPEN_OF_TASK])
    assert state_of(trace_beside(txnindex=INDEXED, snapshot=KNOWN, at=7))["snapshot_offset"] == 7


def test_an_abort_that_is_missing_in_the_transaction_index_is_named(trace_beside: Callable[..., Ran]):
    assert state_of(trace_beside(index=b""))["aborted"] == [{**ABORT_OF_TASK, "indexed": False}]
    shown = trace_beside(index=b"", format="table")
    assert "the transaction index of orders-0 lacks 1 aborted transaction" in shown.stdout + shown.stderr


def test_files_that_were_not_copied_or_are_of_a_newer_version_are_unknown(trace_beside: Callable[..., Ran]):
    assert "has no index files" in state_of(trace_beside())["aborted"]["skipped"]
    shown = trace_beside(format="table")
    assert "aborted transactions of orders-0 are not known" in shown.stdout + shown.stderr
    newer = state_of(trace_beside(txnindex=INDEXED + b"\x00\x01" + INDEXED[2:], snapshot=b"\x00\x02" + KNOWN[2:]))
    assert "the entry at byte 34 has version 1, which is not known" in newer["aborted"]["skipped"]
    assert "the snapshot has version 2, which is not known" in newer["opened"]["skipped"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"txnindex": INDEXED * 2}, "00000000000000000000.txnindex: the entry at byte 34 is no aborted transaction"),
        ({"txnindex": INDEXED[:-1]}, "00000000000000000000.txnindex: the entry at byte 0 is cut off: 33 of 34 bytes"),
        ({"txnindex": bytes(34)}, "00000000000000000000.txnindex: the entry at byte 0 is no aborted transaction"),
        ({"index": b"", "snapshot": KNOWN[:-1]}, "00000000000000000004.snapshot: the CRC of the producer snapshot"),
        ({"index": b"", "snapshot": b""}, "00000000000000000004.snapshot: 2 bytes were to follow at byte 0 of 0"),
    ],
)
def test_a_damaged_file_beside_segments_is_refused_with_its_place(
    trace_beside: Callable[..., Ran], files: Mapping[str, bytes], reason: str
):
    ran = trace_beside(**files)
    assert (ran.exit_code, reason in ran.stderr + ran.stdout) == (7, True), ran.stderr + ran.stdout


@pytest.mark.parametrize(
    "words", [["orders"], ["orders:x@1"], ["orders-x@1"], ["orders@1"], ["orders-0@1", "--key", "k"], ["a:0:1"]]
)
def test_arguments_that_name_no_record_are_a_usage_error(eosctl: Callable[..., Ran], tmp_path: Path, words: list[str]):
    assert eosctl("transactions", "trace", *words, "--log-dir", tmp_path).exit_code == 2


def test_a_file_that_is_taken_for_another_connector_by_its_name_is_named(eosctl, tmp_path):
    body = '{"offsets": [{"partition": {"f": 1}, "offset": {"p": %d}}]}'
    for name, position in (("off", 1), ("pay", 2)):
        (tmp_path / f"{name}.json").write_text(body % position)
    files = [str(tmp_path / name) for name in ("off.json", "pay.json")]
    ran = eosctl("offsets", "diff", *files)
    assert ran.exit_code == 1
    assert "off.json is taken for the offsets of connector off" in ran.stderr
    named = eosctl("offsets", "diff", *files, "--connector", "pay")
    assert (named.exit_code, named.stderr) == (1, "")
