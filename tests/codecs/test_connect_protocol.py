"""What workers tell each other through their group."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.connect_protocol import decode_leader_url, decode_member_url
from eosctl.errors import Undecodable


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
