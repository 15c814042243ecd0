"""Snapshots are read as written."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.codecs.snapshot import decode_snapshot, encode_snapshot
from eosctl.errors import Undecodable, Unsupported
from eosctl.model.config_topic import (
    ConfigRecord,
    ConfigTopicLog,
    ConnectorConfigRecord,
    Disposition,
    InvalidKeyRecord,
    LoggerLevelRecord,
    MalformedRecord,
    Origin,
    RecordKind,
    RestartRequestRecord,
    SessionKeyRecord,
    TargetStateRecord,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.evidence import ClusterEvidence, InternalTopic, Snapshot, TransactionLog, WorkerEvidence
from eosctl.model.groups import ConnectGroup, GroupMember, ListedGroup
from eosctl.model.hanging import PartitionProducers, PendingCommit, ProducersFacts, WaitingGroup
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import OffsetsFacts, OffsetsTopic, StorePlace, WorkerSettings
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import ClusterFacts, PartitionOffsets, TopicFacts
from eosctl.model.transaction_log import (
    LogRecord,
    NewerLogRecord,
    TransactionLogFacts,
    TransactionLogRecord,
    TransactionLogValue,
)
from eosctl.model.transactions import ActiveProducer, TransactionalIdAccess, TransactionDescription, TransactionState
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectFacts, ConnectorStatus, KnownPhase, TaskStatus, WorkerFacts
from tests.analysis.offset_records import record, topic

AT = Origin(5, 1_790_000_000_000, RecordState.OPEN, True, 2000, 3)
EVERY_KIND: tuple[ConfigRecord, ...] = (
    ConnectorConfigRecord(AT, "c", {"name": "c", "x": None, "n": 1}),
    ConnectorConfigRecord(AT, "c", None),
    TaskConfigRecord(AT, "c-1", 2, {"task.class": "T"}),
    TaskCommitRecord(AT, "c", 3),
    TargetStateRecord(AT, "c", "PAUSED", "STOPPED"),
    TargetStateRecord(AT, "c", None, None, removed=True),
    TaskCountRecord(AT, "ü-😀", 3),
    SessionKeyRecord(AT, "HmacSHA256", 17),
    RestartRequestRecord(AT, "c", True, False),
    LoggerLevelRecord(AT, "root", "INFO"),
    InvalidKeyRecord(AT, "what"),
    MalformedRecord(AT, RecordKind.TASK_COMMIT, "commit-c", "c", Disposition.POISON, "tasks is text"),
    MalformedRecord(AT, RecordKind.INVALID_KEY, None, None, Disposition.FATAL, "the key is null"),
)
HELD, LOST, UNREAD = TopicPartition("out", 2), TopicPartition("out", 3), TopicPartition("secret", 0)
LOGGED: tuple[LogRecord, ...] = (
    TransactionLogRecord(
        0,
        3,
        17,
        "g-c-0",
        TransactionLogValue(
            1, ProducerIdAndEpoch(7, 1), 60_000, TransactionState.ONGOING, (HELD,), 18, 17, 5, 6, 2, -1
        ),
    ),
    TransactionLogRecord(
        0, 4, 19, "ü", TransactionLogValue(0, ProducerIdAndEpoch(1, 0), 1, TransactionState.EMPTY, None, 18, -1)
    ),
    TransactionLogRecord(9, 1, 20, "gone", None),
    NewerLogRecord(9, 2, 1),
)
FULL = Snapshot(
    as_of=1_790_000_000_000,
    cluster=ClusterFacts("C1", {1: "a:9092", 2: "b:9092"}, 900_000),
    group_id="g",
    config_topic=ConfigTopicLog(
        "configs",
        TopicFacts("configs", 1, 3, {"cleanup.policy": "compact"}),
        PartitionOffsets(TopicPartition("configs", 0), 0, 7, 9),
        EVERY_KIND,
    ),
    transactions={
        "g-c-0": TransactionDescription(
            "g-c-0", TransactionState.ONGOING, ProducerIdAndEpoch(7, 1), 60_000, 17, (TopicPartition("out", 2),), 1
        ),
        "lost": Skipped("__transaction_state-9 has no leader"),
    },
    connect=ConnectFacts(
        {"http://w:8083": WorkerFacts("http://w:8083", "4.3.1", "C1"), "http://x:8083": Skipped("no answer")},
        {"c": ConnectorStatus("c", None, "RUNNING", (TaskStatus(0, "FAILED", "w:8083"),))},
    ),
    transaction_log=TransactionLogFacts({0: 1, 9: -1}, 604_800_000, 5, LOGGED, {9: Skipped("no leader")}),
    producers=ProducersFacts(
        {
            HELD: PartitionProducers(
                HELD,
                1,
                PartitionOffsets(HELD, 0, 4, 9),
                (
                    ActiveProducer(HELD, ProducerIdAndEpoch(7, 1), 0, 17, None, 4),
                    ActiveProducer(HELD, ProducerIdAndEpoch(8, 0), -1, None, 2, None),
                ),
                since_ms=17,
                waiting=(WaitingGroup("sink", "Stable", 4, 5),),
                commits={7: (PendingCommit("copier", (TopicPartition("in", 0),)),)},
            ),
            LOST: PartitionProducers(LOST, -1, None),
            UNREAD: PartitionProducers(UNREAD, 2, None, waiting=Skipped("denied"), commits=Skipped("denied")),
        },
        TransactionalIdAccess(("x…",), "perhaps a Deny"),
        {"skipped": ListedGroup("skipped", "consumer", "Stable")},
    ),
    evidence=ClusterEvidence(
        {
            "http://w:8083": WorkerEvidence("http://w:8083", KafkaVersion(4, 3, 1), "C1", True, frozenset({"c", "ü"})),
            "http://v:8083": WorkerEvidence("http://v:8083", KafkaVersion(3, 9, 2), "C1"),
            "http://x:8083": Skipped("no answer"),
        },
        ConnectGroup("Stable", "connect", "sessioned", (GroupMember("m", "http://w:8083/"), GroupMember("n", None))),
        {1: {"transaction.max.timeout.ms": "900000"}, 2: Skipped("denied")},
        (
            InternalTopic("config", "configs", TopicFacts("configs", 1, 3, {"cleanup.policy": "compact"})),
            InternalTopic("offsets", "offsets", None),
            InternalTopic("status", "status", Skipped("denied")),
        ),
        TransactionLog(TopicFacts("__transaction_state", 50, 3, {}), {0: 1, 49: -1}),
        frozenset({HELD, LOST}),
        {1: Release(KafkaVersion(3, 8), None), 2: Skipped("no answer")},
        finalized_features={"metadata.version": 25, "transaction.version": 2},
    ),
    clock=ClusterClock(1, -5, 3),
    unlisted=("broker 2 did not list its transactional IDs",),
)
EMPTY = Snapshot(1, Skipped("a"), None, Skipped("b"), Skipped("c"), Skipped("d"))
PARTLY = Snapshot(
    2,
    ClusterFacts("C", {}, Skipped("not allowed")),
    None,
    ConfigTopicLog("t", Skipped("x"), Skipped("y"), ()),
    {},
    ConnectFacts({}, {}),
    transaction_log=TransactionLogFacts({}, Skipped("not allowed"), 0, ()),
    producers=ProducersFacts({}, TransactionalIdAccess((), None), Skipped("not allowed")),
    evidence=ClusterEvidence(
        Skipped("none"), Skipped("no group"), Skipped("denied"), (), None, Skipped("denied"), Skipped("denied")
    ),
)


def written(snapshot: Snapshot) -> list[str]:
    return [line + "\n" for line in encode_snapshot(snapshot)]


@pytest.mark.parametrize("snapshot", [FULL, EMPTY, PARTLY], ids=["full", "nothing-read", "partly"])
def test_a_snapshot_is_read_back_as_it_was(snapshot: Snapshot) -> None:
    assert decode_snapshot(written(snapshot)) == snapshot


def test_half_of_a_surrogate_pair_is_written_and_read() -> None:
    half = TargetStateRecord(AT, "c", "\ud800", None)
    snapshot = replace(EMPTY, config_topic=ConfigTopicLog("configs", Skipped("x"), Skipped("y"), (half,)))
    assert decode_snapshot(line.encode("utf-8").decode("utf-8") for line in written(snapshot)) == snapshot


def test_a_transactional_id_may_be_named_like_what_was_not_read() -> None:
    described = TransactionDescription("skipped", TransactionState.EMPTY, ProducerIdAndEpoch(7, 1), 1, None, (), 1)
    snapshot = replace(EMPTY, transactions={"skipped": described})
    assert decode_snapshot(written(snapshot)) == snapshot


@pytest.mark.parametrize("kept", range(len(written(FULL))))
def test_a_file_cut_after_any_line_is_noticed(kept: int) -> None:
    with pytest.raises(Undecodable):
        decode_snapshot(written(FULL)[:kept])


def test_a_file_cut_within_a_line_names_the_line() -> None:
    lines = written(FULL)
    with pytest.raises(Undecodable, match="line 3 of the snapshot is not JSON, perhaps because"):
        decode_snapshot([*lines[:2], lines[2][:40]])


def test_a_missing_record_line_is_noticed() -> None:
    lines = written(FULL)
    with pytest.raises(Undecodable, match="is no part of a snapshot"):
        decode_snapshot(lines[:6] + lines[7:])


@pytest.mark.parametrize("version", [0, 2, 5, 99])
def test_another_version_is_refused_with_a_next_step(version: int) -> None:
    lines = written(FULL)
    other = json.dumps({**json.loads(lines[0]), "version": version, "more": 1})
    with pytest.raises(Unsupported, match=f"the snapshot has version {version}, this eosctl reads version 1$") as found:
        decode_snapshot([other, *lines[1:]])
    assert found.value.hint == "use the eosctl that wrote the snapshot, or write it again with this one"


@pytest.mark.parametrize("line", ["{}", "[]", "null", '"x"', '{"kind": "something else"}', "17"])
def test_another_file_is_no_snapshot(line: str) -> None:
    with pytest.raises(Undecodable, match="this is not a snapshot"):
        decode_snapshot([line])


def test_a_transaction_state_of_a_newer_broker_is_unknown() -> None:
    lines = [line.replace("Ongoing", "PrepareSomething") for line in written(FULL)]
    transactions = decode_snapshot(lines).transactions
    assert not isinstance(transactions, Skipped)
    assert transactions["g-c-0"].state is TransactionState.UNKNOWN


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *(leaf for key, each in value.items() for leaf in leaves(each, (*path, key)))]
    return [path]


LINES = [json.loads(line) for line in written(FULL)]
PLACES = [(number, path) for number, line in enumerate(LINES) for path in leaves(line)]


@given(st.sampled_from(PLACES), st.sampled_from([None, True, -1, 1.5, "x", [], {}, {"skipped": 1}, [{"a": 1}]]))
def test_any_changed_member_gives_a_snapshot_or_an_error_of_the_contract(
    place: tuple[int, tuple[Any, ...]], value: object
) -> None:
    number, path = place
    lines = [json.loads(json.dumps(line)) for line in LINES]
    target = lines[number]
    if path:
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    else:
        lines[number] = value
    with contextlib.suppress(Undecodable, Unsupported):
        decode_snapshot(json.dumps(line) for line in lines)


NOT_READ = Skipped("not read")
LOG = topic(
    "offsets",
    [record(0, '["c",{"f":"ü"}]', '{"p":1}'), record(2, '["c",{"f":"ü"}]', '{"p":2}', RecordState.OPEN)],
    [record(1, "foreign", None, RecordState.ABORTED)],
    held_back=1,
)
PLAIN = OffsetsTopic("plain", NOT_READ, topic("plain").partitions[:1])
FACTS = OffsetsFacts(
    WorkerSettings("offsets", KnownPhase.PREPARING, frozenset({"a:1"}), KafkaVersion(3, 9, 2), {"producer.x": "y"}),
    {
        StorePlace("offsets"): LOG,
        StorePlace("plain", frozenset({"b:2"})): PLAIN,
        StorePlace("gone"): None,
        StorePlace("denied"): NOT_READ,
    },
)


def snapshot(offsets: OffsetsFacts | Skipped) -> Snapshot:
    return Snapshot(1, NOT_READ, "g", NOT_READ, NOT_READ, NOT_READ, offsets)


def lines_of(facts: OffsetsFacts | Skipped = FACTS) -> list[str]:
    return [f"{line}\n" for line in encode_snapshot(snapshot(facts))]


@pytest.mark.parametrize(
    "facts",
    [FACTS, NOT_READ, OffsetsFacts(WorkerSettings("offsets", NOT_READ, NOT_READ, clients=NOT_READ), {})],
    ids=["full", "skipped", "none"],
)
def test_a_snapshot_is_read_back_as_it_was_written(facts: OffsetsFacts | Skipped) -> None:
    assert decode_snapshot(lines_of(facts)) == snapshot(facts)


@pytest.mark.parametrize("state", RecordState)
def test_a_key_has_the_records_of_any_one_state(state: RecordState) -> None:
    log = topic("offsets", [record(0, '["c",{"f":1}]', '{"p":1}', state)], [])
    facts = replace(FACTS, topics={StorePlace("offsets"): log})
    assert decode_snapshot(lines_of(facts)) == snapshot(facts)


def test_a_key_without_a_record_is_refused() -> None:
    none = dict.fromkeys(("committed", "open", "aborted"))
    line = json.dumps({"offsets_key": {"topic": 0, "partition": 0, **none, "records": None}})
    lines = lines_of()
    with pytest.raises(Undecodable, match="offsets_key line without record or partition"):
        decode_snapshot([*lines[:6], f"{line}\n", *lines[6:]])


def without(name: str) -> list[str]:
    return [line for line in lines_of(NOT_READ) if not line.startswith(f'{{"{name}"')]


def test_a_snapshot_of_an_older_eosctl_has_no_timeline() -> None:
    lines = without("timeline")
    lines[-1] = f'{{"end":{len(lines) - 1}}}\n'
    found = decode_snapshot(lines)
    assert isinstance(found.timeline, Skipped)
    assert found.offsets == NOT_READ


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (without("end"), "the snapshot is cut: its last line is missing"),
        (without("connect"), "the snapshot has no connect line|line 12 of the snapshot"),
        ([*without("end")[:-1], '{"end":11}\n'], "the snapshot has no unlisted line"),
        ([*lines_of(NOT_READ)[:2], *lines_of(NOT_READ)[1:]], "the snapshot has cluster more than once"),
        ([*lines_of(NOT_READ)[:3], *lines_of(NOT_READ)[1:]], "line 4 of the snapshot"),
        ([*lines_of(NOT_READ)[:2], '{"more":1}\n'], "line 3 of the snapshot"),
        ([*lines_of(NOT_READ)[:2], "5\n"], "line 3 of the snapshot"),
        ([*lines_of(NOT_READ)[:2], '{"connect":1,"more":2}\n'], "line 3 of the snapshot"),
        (
            [*lines_of(NOT_READ)[:2], '{"connect":'],
            "line 3 of the snapshot is not JSON, perhaps because",
        ),
        ([*lines_of(NOT_READ)[:2], '{"connect":\n'], "line 3 of the snapshot is not JSON$"),
    ],
)
def test_a_snapshot_has_each_section_once_and_an_end(lines: list[str], message: str) -> None:
    with pytest.raises(Undecodable, match=message):
        decode_snapshot(lines)


def test_each_section_has_a_line_of_its_own_behind_the_header() -> None:
    names = [next(iter(json.loads(line))) for line in lines_of(NOT_READ)]
    assert names == [
        "kind", "cluster", "config_topic", "transactions", "connect", "offsets", "transaction_log", "producers",
        "evidence", "clock", "timeline", "unlisted", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"key":"', '"key":"!', r"offsets_key\.committed\.key is not base64"),
        (
            '"exactly_once":"preparing"',
            '"exactly_once":"perhaps"',
            "line 6 of the snapshot: offsets.worker.exactly_once is 'perhaps', not disabled, preparing, enabled or "
            "not enabled",
        ),
        ('"partition":1,"committed"', '"partition":7,"committed"', "offsets_key line without record or partition"),
        ('"open":{', '"open":null,"more":{', "line 7 of the snapshot: offsets_key has a member 'more' that does not"),
        ('"records":2', '"records":"2"', "records is text, not a whole number"),
    ],
)
def test_a_change_is_noticed(before: str, after: str, message: str) -> None:
    text = "".join(lines_of())
    assert before in text
    with pytest.raises(Undecodable, match=message):
        decode_snapshot(text.replace(before, after, 1).splitlines(keepends=True))
