"""The config topic and Connect's group protocol, in Kafka's bytes."""

import base64
import struct
import uuid
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.config_topic import decode_config_record, parse_task_number, split_key
from eosctl.codecs.groups import (
    decode_assigned_partitions,
    decode_group_generation,
    decode_leader_url,
    decode_member_url,
    decode_streams_process,
    decode_tasks,
    group_of_generation,
)
from eosctl.codecs.secrets import HIDDEN
from eosctl.errors import Undecodable
from eosctl.model.config_topic import (
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
from eosctl.model.names import ConnectorTaskId, TopicPartition
from eosctl.model.records import Record, RecordState

ORIGIN = Origin(7, 1_790_000_000_000, RecordState.ABORTED, True, 2000, 3)


def decoded(key, value):
    record = Record(
        7,
        1_790_000_000_000,
        None if key is None else key.encode(),
        None if value is None else value.encode(),
        RecordState.ABORTED,
        True,
        2000,
        3,
    )
    return decode_config_record(record)


SESSION_KEY = '{"key":"c2VjcmV0","algorithm":"HmacSHA256","creation-timestamp":5}'


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("connector-a", '{"properties":{"topic":"t"}}', ConnectorConfigRecord(ORIGIN, "a", {"topic": "t"})),
        ("connector-a", None, ConnectorConfigRecord(ORIGIN, "a", None)),
        ("connector-a", "null", ConnectorConfigRecord(ORIGIN, "a", None)),
        ("task-a-1-0", '{"properties":{}}', TaskConfigRecord(ORIGIN, "a-1", 0, {})),
        ("commit-a", '{"tasks":3}', TaskCommitRecord(ORIGIN, "a", 3)),
        ("commit-a", '{"tasks":4294967298}', TaskCommitRecord(ORIGIN, "a", 2)),
        ("tasks-fencing-a", '{"task-count":3}', TaskCountRecord(ORIGIN, "a", 3)),
        ("target-state-a", '{"state":"PAUSED"}', TargetStateRecord(ORIGIN, "a", "PAUSED", None)),
        ("target-state-a", '{"state":1,"state.v2":"X"}', TargetStateRecord(ORIGIN, "a", None, "X")),
        ("target-state-a", None, TargetStateRecord(ORIGIN, "a", None, None, removed=True)),
        ("session-key", SESSION_KEY, SessionKeyRecord(ORIGIN, "HmacSHA256", 5)),
        ("restart-connector-a", '{"include-tasks":true}', RestartRequestRecord(ORIGIN, "a", True, False)),
        ("logger-cluster-org.x", '{"level":"DEBUG"}', LoggerLevelRecord(ORIGIN, "org.x", "DEBUG")),
        ("tasks-count-a", '{"tasks":3}', InvalidKeyRecord(ORIGIN, "tasks-count-a")),
        ("task-0", '{"properties":{}}', InvalidKeyRecord(ORIGIN, "task-0")),
    ],
)
def test_each_kind_is_known_by_its_key(key, value, expected):
    record = decoded(key, value)
    assert type(record) is type(expected)
    assert record == expected


@pytest.mark.parametrize(
    ("key", "value", "kind", "disposition"),
    [
        ("connector-a", "[]", RecordKind.CONNECTOR_CONFIG, Disposition.IGNORED),
        ("connector-a", '{"properties":[]}', RecordKind.CONNECTOR_CONFIG, Disposition.IGNORED),
        ("connector-a", "{", RecordKind.CONNECTOR_CONFIG, Disposition.UNREADABLE),
        ("task-a-0", None, RecordKind.TASK_CONFIG, Disposition.IGNORED),
        ("commit-a", None, RecordKind.TASK_COMMIT, Disposition.IGNORED),
        ("commit-a", "{}", RecordKind.TASK_COMMIT, Disposition.POISON),
        ("commit-a", '{"tasks":"3"}', RecordKind.TASK_COMMIT, Disposition.POISON),
        ("commit-a", '{"tasks":3.0}', RecordKind.TASK_COMMIT, Disposition.POISON),
        ("commit-a", '{"tasks":true}', RecordKind.TASK_COMMIT, Disposition.POISON),
        ("tasks-fencing-a", '{"task-count":null}', RecordKind.TASK_COUNT, Disposition.POISON),
        ("session-key", '{"key":"*"}', RecordKind.SESSION_KEY, Disposition.FATAL),
        ("session-key", '{"key":"YQ=="}', RecordKind.SESSION_KEY, Disposition.IGNORED),
        ("logger-cluster-x", '{"level":1}', RecordKind.LOGGER_LEVEL, Disposition.IGNORED),
        ("whatever", "{", RecordKind.INVALID_KEY, Disposition.UNREADABLE),
        (None, "{}", RecordKind.INVALID_KEY, Disposition.FATAL),
        (None, "{", RecordKind.INVALID_KEY, Disposition.UNREADABLE),
    ],
)
def test_a_finding_about_an_unusable_setting_describes_the_behaviour_of_the_worker(key, value, kind, disposition):
    record = decoded(key, value)
    assert isinstance(record, MalformedRecord)
    assert (record.kind, record.disposition, record.key) == (kind, disposition, key)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("task-foo--1", (RecordKind.TASK_CONFIG, "foo-", 1)),
        ("task-foo-1-", (RecordKind.TASK_CONFIG, "foo", 1)),
        ("task--0", (RecordKind.TASK_CONFIG, "", 0)),
        ("task-0", (RecordKind.INVALID_KEY, "", 0)),
        ("task-", (RecordKind.INVALID_KEY, "", 0)),
        ("task-a-+1", (RecordKind.TASK_CONFIG, "a", 1)),
        ("task-a-١٢", (RecordKind.TASK_CONFIG, "a", 12)),
        ("task-a-𝟏", (RecordKind.INVALID_KEY, "", 0)),
        ("task-a-1_0", (RecordKind.INVALID_KEY, "", 0)),
        ("task-a-2147483648", (RecordKind.INVALID_KEY, "", 0)),
        ("tasks-fencing-task-a-0", (RecordKind.TASK_COUNT, "task-a-0", 0)),
        ("restart-connector-x", (RecordKind.RESTART_REQUEST, "x", 0)),
        ("connector-restart-connector-x", (RecordKind.CONNECTOR_CONFIG, "restart-connector-x", 0)),
        ("session-key-x", (RecordKind.INVALID_KEY, "", 0)),
    ],
)
def test_keys_are_split_as_java_splits_them(key, expected):
    assert split_key(key) == expected


def test_secrets_end_at_the_codec():
    assert "c2VjcmV0" not in repr(decoded("session-key", SESSION_KEY))
    assert decoded("task-a-0", '{"properties":{"password":"hunter2"}}').properties == {"password": HIDDEN}
    for value in ('{"password":"hunter2"', '["hunter2"]', '"hunter2"', '{"tasks":"hunter2"}', '{"key":"hunter2*"}'):
        for key in ("connector-a", "commit-a", "session-key", "other", None):
            assert "hunter2" not in repr(decoded(key, value))


raw_keys = st.one_of(
    st.none(),
    st.binary(),
    st.builds(
        lambda prefix, rest: prefix + rest,
        st.sampled_from([b"task-a-", b"task-", b"commit-", b"connector-", b"session-key", b"tasks-fencing-"]),
        st.binary(max_size=6),
    ),
)


@given(raw_keys, st.one_of(st.none(), st.binary()))
def test_any_bytes_are_a_record(key, value):
    record = decode_config_record(Record(0, 0, key, value))
    assert record.origin == Origin(0, 0)


def test_an_encoded_key_of_any_length_is_dropped():
    key = base64.b64encode(b"x" * 33).decode()
    record = decoded("session-key", f'{{"key":"{key}","algorithm":"A","creation-timestamp":1}}')
    assert record == SessionKeyRecord(ORIGIN, "A", 1)


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


@given(st.text(max_size=40), st.integers(0, 2), st.binary(max_size=20))
def test_a_member_names_its_address_in_every_version(url: str, version: int, rest: bytes) -> None:
    assert decode_member_url(struct.pack(">h", version) + text(url) + struct.pack(">q", 7) + rest) == url


def test_an_assignment_names_the_leader_s_address() -> None:
    data = struct.pack(">hh", 2, 0) + text("connect-1") + text("http://a:8083/") + struct.pack(">q", 7)
    assert decode_leader_url(data) == "http://a:8083/"


def test_during_a_rebalance_nothing_is_reported() -> None:
    assert decode_member_url(b"") is None
    assert decode_leader_url(b"") is None


@pytest.mark.parametrize("data", [b"\0", b"\0\1\0\5abc", b"\0\1\0\1\xff"])
def test_truncated_bytes_and_binary_are_undecodable(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_member_url(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_an_address_or_undecodable(data: bytes) -> None:
    for decode in (decode_member_url, decode_leader_url):
        try:
            url = decode(data)
        except Undecodable:
            continue
        assert url is None or isinstance(url, str)


def assignment(version: int, work: dict[str, list[int]], revoked: dict[str, list[int]] | None = None) -> bytes:
    """As ConnectProtocol and IncrementalCooperativeConnectProtocol write it; -1 stands for the connector itself."""

    def listed(of: dict[str, list[int]] | None) -> bytes:
        if of is None:
            return struct.pack(">i", -1)
        items = (text(name) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks) for name, tasks in of.items())
        return struct.pack(">i", len(of)) + b"".join(items)

    head = struct.pack(">hh", version, 0) + text("connect-1") + text("http://a:8083/") + struct.pack(">q", 7)
    return head + listed(work) + (listed(revoked) + struct.pack(">i", 0) if version else b"")


def metadata(version: int, had: bytes | None) -> bytes:
    head = struct.pack(">h", version) + text("http://a:8083/") + struct.pack(">q", 7)
    if version == 0:
        return head
    return head + (struct.pack(">i", -1) if had is None else struct.pack(">i", len(had)) + had)


def test_an_eager_assignment_is_all_that_a_member_has() -> None:
    given = assignment(0, {"orders": [-1, 0, 12], "other": [3]})
    tasks = (ConnectorTaskId("orders", 0), ConnectorTaskId("orders", 12), ConnectorTaskId("other", 3))
    assert decode_tasks(metadata(0, None), given) == tasks


def test_later_assignments_add_to_what_the_member_had_when_it_joined() -> None:
    had = assignment(2, {"orders": [-1, 0]})
    assert decode_tasks(metadata(2, had), assignment(2, {"orders": [1]})) == (
        ConnectorTaskId("orders", 0),
        ConnectorTaskId("orders", 1),
    )


def test_revoked_tasks_count_until_the_member_has_joined_without_them() -> None:
    had = assignment(1, {"orders": [0]})
    assert decode_tasks(metadata(1, had), assignment(1, {}, {"orders": [0]})) == (ConnectorTaskId("orders", 0),)
    assert decode_tasks(metadata(1, None), assignment(1, {})) == ()


def test_a_member_without_an_assignment_has_what_it_joined_with() -> None:
    assert decode_tasks(metadata(2, assignment(2, {"orders": [0]})), b"") == (ConnectorTaskId("orders", 0),)
    assert decode_tasks(b"", b"") == ()


@pytest.mark.parametrize("cut", [1, 5, 20, 40])
def test_tasks_that_are_cut_are_undecodable(cut: int) -> None:
    with pytest.raises(Undecodable):
        decode_tasks(metadata(2, None), assignment(2, {"orders": [0, 1]})[:-cut][:50])


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_give_tasks_or_undecodable(sent: bytes, given_back: bytes) -> None:
    with suppress(Undecodable):
        assert all(each.task >= 0 for each in decode_tasks(sent, given_back))


PROCESS = "7b9f0a44-0b7f-4c1e-8a52-0a1b2c3d4e5f"


@pytest.mark.parametrize(("version", "head"), [(2, struct.pack(">i", 2)), (11, struct.pack(">ii", 11, 11))])
def test_the_subscription_of_a_streams_thread_has_its_process(version: int, head: bytes) -> None:
    sent = head + uuid.UUID(PROCESS).bytes + b"more"
    topics = struct.pack(">i", 2) + text("a") + text("b")
    assert decode_streams_process(struct.pack(">h", 3) + topics + struct.pack(">i", len(sent)) + sent) == PROCESS
    assert decode_streams_process(struct.pack(">h", 3) + topics + struct.pack(">i", -1)) is None


def test_an_assignment_has_the_partitions_of_each_topic() -> None:
    given = struct.pack(">hi", 3, 1) + text("orders") + struct.pack(">iii", 2, 4, 1) + struct.pack(">i", -1)
    assert decode_assigned_partitions(given) == (TopicPartition("orders", 1), TopicPartition("orders", 4))
    assert decode_assigned_partitions(b"") == ()
    with pytest.raises(Undecodable):
        decode_assigned_partitions(given[:12])


def sized(text: bytes | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text


def member_of(url: bytes, version: int) -> bytes:
    metadata = struct.pack(">h", 1) + sized(url) + struct.pack(">qi", 5, -1)
    assignment = struct.pack(">hh", 1, 0) + sized(b"l") + sized(url) + struct.pack(">qi", 5, 0)
    timeouts = struct.pack(">ii", 1, 2) if version >= 1 else struct.pack(">i", 2)
    parts = (struct.pack(">i", len(each)) + each for each in (metadata, assignment))
    return sized(b"m") + (sized(None) if version >= 3 else b"") + sized(b"c") + sized(b"h") + timeouts + b"".join(parts)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("urls", [(), (b"http://a:1",), (b"", b"http://b:1")])
def test_a_generation_of_a_group_has_its_leaders_address_in_each_version(version: int, urls: tuple[bytes, ...]):
    since = struct.pack(">q", 9) if version >= 2 else b""
    members = struct.pack(">i", len(urls)) + b"".join(member_of(each, version) for each in urls)
    head = struct.pack(">h", version) + sized(b"connect") + struct.pack(">i", 5) + sized(b"compatible") + sized(b"l")
    found = decode_group_generation(head + since + members)
    assert found is not None
    assert (found.generation, found.group.state) == (5, "Stable" if urls else "Empty")
    assert found.group.leader_url == (urls[-1].decode() if urls else None)
    assert [each.url for each in found.group.members] == [each.decode() for each in urls]
    other = struct.pack(">h", version) + sized(b"consumer") + struct.pack(">i", 5) + sized(b"range") + sized(None)
    assert decode_group_generation(other + since + struct.pack(">i", 0)) is None


@pytest.mark.parametrize(("version", "group"), [(0, None), (1, None), (2, "g"), (3, None)])
def test_only_keys_of_version_2_are_of_a_groups_generation(version: int, group: str | None):
    assert group_of_generation(struct.pack(">h", version) + sized(b"g")) == group


@pytest.mark.parametrize(
    ("key", "value", "disposition", "connector", "reason"),
    [
        ("task-a-0", None, Disposition.IGNORED, "a", "the value is a tombstone"),
        ("task-a-0", "[]", Disposition.IGNORED, "a", "the value is not a JSON object"),
        ("task-a-0", "{}", Disposition.IGNORED, "a", "`properties` is not a JSON object"),
        ("task-a-0", '{"properties":null}', Disposition.IGNORED, "a", "`properties` is not a JSON object"),
        ("connector-a", "0", Disposition.IGNORED, "a", "the value is not a JSON object"),
        ("target-state-a", "[]", Disposition.IGNORED, "a", "the value is not a JSON object"),
        ("restart-connector-a", None, Disposition.IGNORED, "a", "the value is a tombstone"),
        ("commit-a", '{"tasks":null}', Disposition.POISON, "a", "`tasks` is not an integer"),
        ("tasks-fencing-a", '{"tasks":3}', Disposition.POISON, "a", "`task-count` is not an integer"),
        ("logger-cluster-x", "{}", Disposition.IGNORED, None, "`level` is not text"),
        ("session-key", "{}", Disposition.IGNORED, None, "`key` is not text"),
        ("session-key", '{"key":"YQ=="}', Disposition.IGNORED, None, "`algorithm` is not text"),
        (
            "session-key",
            '{"key":"YQ","algorithm":"A"}',
            Disposition.IGNORED,
            None,
            "`creation-timestamp` is not an integer",
        ),
        (
            *("session-key", '{"key":"YQ==","algorithm":"A","creation-timestamp":true}'),
            *(Disposition.IGNORED, None, "`creation-timestamp` is not an integer"),
        ),
        (
            *("session-key", '{"key":"YQ==","algorithm":"A","creation-timestamp":"1"}'),
            *(Disposition.IGNORED, None, "`creation-timestamp` is not an integer"),
        ),
        (
            *("session-key", '{"key":"","algorithm":"A","creation-timestamp":1}'),
            *(Disposition.FATAL, None, "`key` is empty"),
        ),
        ("session-key", '{"key":"Y","algorithm":"A"}', Disposition.FATAL, None, "`key` is not base64"),
        (None, None, Disposition.FATAL, None, "the key is null"),
    ],
)
def test_an_unusable_record_says_why_and_of_which_connector(key, value, disposition, connector, reason):
    record = decoded(key, value)
    assert isinstance(record, MalformedRecord)
    assert (record.disposition, record.connector, record.reason) == (disposition, connector, reason)


@pytest.mark.parametrize(
    ("value", "tasks", "failed"),
    [
        ("{}", False, False),
        ('{"include-tasks":1,"only-failed":"true"}', False, False),
        ('{"include-tasks":true}', True, False),
        ('{"only-failed":true}', False, True),
    ],
)
def test_only_true_asks_for_tasks_or_failed_ones(value, tasks, failed):
    assert decoded("restart-connector-a", value) == RestartRequestRecord(ORIGIN, "a", tasks, failed)


def test_a_key_that_is_no_one_s_is_told_as_it_is():
    assert decoded("session-key-x", None) == InvalidKeyRecord(ORIGIN, "session-key-x")
    assert decoded("target-state-a", '{"state":1}') == TargetStateRecord(ORIGIN, "a", None, None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("", None), ("+", None), ("0", 0), ("+7", 7), ("++7", None), ("-1", None), ("1a", None), ("½", None)),
        *(("2147483647", 2**31 - 1), ("2147483648", None), ("02147483647", 2**31 - 1)),
    ],
)
def test_a_task_number_is_an_int_of_java(text, number):
    assert parse_task_number(text) == number
