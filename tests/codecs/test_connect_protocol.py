"""What workers tell each other through their group."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.connect_protocol import decode_leader_url, decode_member_url, decode_tasks
from eosctl.errors import Undecodable
from eosctl.model.names import ConnectorTaskId


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


@given(st.text(max_size=40), st.integers(0, 2), st.binary(max_size=20))
def test_a_member_tells_its_address_in_every_version(url: str, version: int, rest: bytes) -> None:
    assert decode_member_url(struct.pack(">h", version) + text(url) + struct.pack(">q", 7) + rest) == url


def test_an_assignment_tells_the_leader_s_address() -> None:
    data = struct.pack(">hh", 2, 0) + text("connect-1") + text("http://a:8083/") + struct.pack(">q", 7)
    assert decode_leader_url(data) == "http://a:8083/"


def test_during_a_rebalance_nothing_is_told() -> None:
    assert decode_member_url(b"") is None
    assert decode_leader_url(b"") is None


@pytest.mark.parametrize("data", [b"\0", b"\0\1\0\5abc", b"\0\1\0\1\xff"])
def test_what_is_cut_or_no_text_is_undecodable(data: bytes) -> None:
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
