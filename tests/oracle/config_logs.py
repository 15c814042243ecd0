"""Hypothesis strategies: logs of the config topic as clusters, compaction, other writers and accidents leave them."""

import json

from hypothesis import strategies as st

from eosctl.model.records import Record, RecordState

NAMES = (
    "file-source",
    "a",
    "a-1",
    "a-1-",
    "0",
    "-",
    "--",
    "",
    "name with spaces",
    "task-a",
    "fencing-a",
    "connector-a",
    "restart-connector-a",
    "ü-😀",
    "٣",
    "A.mm2_Source",
)
PREFIXES = ("target-state-", "connector-", "commit-", "restart-connector-", "tasks-fencing-", "logger-cluster-")

names = st.one_of(
    st.sampled_from(NAMES), st.text(max_size=6).map(lambda text: text.encode("utf-8", "replace").decode())
)
properties = st.dictionaries(
    st.sampled_from(["connector.class", "name", "tasks.max", "password", "é", ""]),
    st.one_of(st.none(), st.text(max_size=5), st.sampled_from(["1", "${file:/x:y}"])),
    max_size=3,
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([2**31 - 1, 2**31, 2**32 + 1, 2**63, 2**64 + 2, -(2**63) - 1]),
    st.sampled_from([0.5, 2.0, 1e3]),
    st.text(max_size=4),
)
lists_and_objects = st.one_of(st.lists(scalars, max_size=2), st.dictionaries(st.text(max_size=4), scalars, max_size=2))
anything = st.one_of(scalars, lists_and_objects, st.lists(lists_and_objects, max_size=2))


def _field(field, values):
    return values.map(lambda value: {field: value})


small = st.integers(0, 4)
well_formed = {
    "connector-": st.one_of(st.none(), _field("properties", properties), _field("properties", properties)),
    "commit-": _field("tasks", small),
    "tasks-fencing-": _field("task-count", small),
    "target-state-": st.one_of(
        st.none(),
        st.sampled_from(
            [
                {"state": "STARTED"},
                {"state": "PAUSED"},
                {"state": "PAUSED", "state.v2": "STOPPED"},
                {"state": "STARTED", "state.v2": "STARTED"},
            ]
        ),
    ),
    "restart-connector-": st.sampled_from([{"include-tasks": True, "only-failed": False}, {}]),
    "logger-cluster-": st.sampled_from([{"level": "DEBUG"}]),
    "session-key": st.sampled_from([{"key": "c2VjcmV0", "algorithm": "HmacSHA256", "creation-timestamp": 7}]),
}
fields = ("properties", "tasks", "task-count", "state", "state.v2", "level", "key", "algorithm", "creation-timestamp")
misshapen = st.one_of(
    anything, st.dictionaries(st.sampled_from(fields), st.one_of(anything, st.sampled_from(["STOPPED", "c2Vj", "x="])))
)
ODD_TEXTS = (
    b"",
    b" ",
    b"null",
    b" null ",
    b"nullx",
    b"null 1",
    b"nul",
    b"1 2",
    b"1x",
    b'"text" and more',
    b'{"tasks":2} and more',
    b'{"tasks":2}more',
    b'{"tasks":1,"tasks":2}',
    b'{"tasks":-0}',
    b'{"tasks":2.0}',
    b'{"tasks":2e0}',
    b'{"tasks":+2}',
    b'{"tasks":.5}',
    b'{"tasks":2.}',
    b'{"tasks":NaN}',
    b'{"tasks":-Infinity}',
    b'{"tasks":18446744073709551618}',
    b'{"tasks":4294967298,"task-count":-4294967295}',
    b'{"tasks":2,}',
    b"{'tasks':2}",
    b"{tasks:2}",
    b'{"tasks":2}\xff',
    b'{"tasks":\xff2}',
    b'\xef\xbb\xbf{"tasks":2}',
    '{"tasks":2}'.encode("utf-16"),
    '{"tasks":2}'.encode("utf-16-be"),
    '{"tasks":2}'.encode("utf-32-le"),
    b"\xfe\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0\0\xfe\xff",
    b"\0\0\xff\xfe",
    b"\xfe\xff\0\0",
    b"\xff\xfe\0\0",
    b"\0\0a\0",
    b"\0a\0\0",
    b"\xff\xfe{\0}\0",
    b"1\0",
    b"\x000",
    b'\n{"tasks"\t:\r2}',
    b'\x0b{"tasks":2}',
    b'{"tasks":/* no */2}',
    b'{"properties":{"\\ud83d\\ude00":"\\ud83d","b":"\x01"}}',
    b'{"properties":{"a":"\\ud83d!"}}',
    b'{"properties":{"a":"\\x41"}}',
    b'{"task-count":true}',
    b'{"state":"STARTED","state.v2":null}',
    b'{"state":1,"state.v2":"STOPPED"}',
    b'{"state":"PAUSED","state.v2":5}',
    b'{"state":"STOPPED"}',
    b'{"key":"","algorithm":"x","creation-timestamp":1}',
    b'{"key":"a","algorithm":"x","creation-timestamp":1}',
    b'{"key":"","creation-timestamp":1}',
    b'{"key":"YQ","algorithm":"x","creation-timestamp":18446744073709551617}',
    b'{"key":"YQ=","algorithm":"x","creation-timestamp":1}',
    b'{"key":"YWI=","algorithm":"","creation-timestamp":1}',
)
odd_bytes = st.one_of(st.sampled_from(ODD_TEXTS), st.binary(max_size=6))
ODD_KEYS = (
    b"task-0",
    b"task-",
    b"task",
    b"task--0",
    b"task-a-1-",
    b"task-a-1---",
    b"task-a-+1",
    b"task-a-+",
    b"task-a--1",
    b"task-a-1_0",
    b"task-a- 1",
    b"task-a-2147483648",
    b"task-a-2147483647",
    b"task-a-00001",
    "task-a-١".encode(),
    "task-a-１".encode(),
    "task-a-𝟏".encode(),
    "task-a-²".encode(),
    b"session-key-",
    b"session-key",
    b"Connector-a",
    b"tasks-count-a",
    b"connector-\xff",
    b"connector-a\xc3",
    b"commit-\xed\xa0\x80",
    b"commit-\xed\xa0",
    b"commit-\xf0\x9f\x98",
    b"commit-\xf8\x88\x80\x80",
    b"commit-\xc0\x80",
    b"commit-\xe0\x80\x80",
    b"commit-\xed\xa0A",
)
odd_keys = st.one_of(
    st.sampled_from(ODD_KEYS),
    st.binary(max_size=8),
    st.binary(max_size=4).map(lambda tail: b"connector-" + tail),
)


def _json(value):
    return None if value is None else json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


@st.composite
def key_values(draw, pool):
    """One record: nine in ten well formed, the others wrong in key, shape or bytes."""
    name = draw(st.sampled_from(pool))
    kind = draw(st.sampled_from(["task-", "task-", "commit-", *well_formed]))
    key = kind if kind == "session-key" else kind + name
    if kind == "task-":
        key += f"-{draw(st.integers(0, 3))}"
        value = draw(_field("properties", properties))
    else:
        value = draw(well_formed[kind])
    raw_key, raw_value = key.encode(), _json(value)
    match draw(st.integers(0, 29)):
        case 0:
            raw_value = _json(draw(misshapen))
        case 1:
            raw_value = draw(odd_bytes)
        case 2:
            raw_value = None
        case 3:
            raw_key = draw(odd_keys)
    return raw_key, raw_value


def compacted(pairs, dirty_from):
    """The result of log compaction: below `dirty_from` only the last record of each key, tombstones kept."""
    last = {key: at for at, (key, _) in enumerate(pairs)}
    return [(at, pair) for at, pair in enumerate(pairs) if at >= dirty_from or last[pair[0]] == at]


@st.composite
def logs(draw, max_size=30):
    """Records in offset order, some in transactions of two producers that committed, aborted or are open."""
    pool = draw(st.lists(names, min_size=1, max_size=3))
    pairs = draw(st.lists(key_values(pool), max_size=max_size))
    kept = compacted(pairs, draw(st.one_of(st.just(0), st.integers(0, len(pairs)))))
    fates = draw(
        st.sampled_from([(RecordState.COMMITTED,), (RecordState.COMMITTED, RecordState.ABORTED), tuple(RecordState)])
    )
    state = RecordState.COMMITTED
    records = []
    for offset, (key, value) in kept:
        if draw(st.integers(0, 3)) == 0:
            state = draw(st.sampled_from(fates))
        in_transaction = state is not RecordState.COMMITTED or draw(st.booleans())
        producer = 1000 + (state is RecordState.OPEN) if in_transaction else -1
        records.append(Record(offset, 1_700_000_000_000 + offset, key, value, state, in_transaction, producer, 0))
    return records
