"""Checkpoints as MirrorMaker writes them (the bytes are of Checkpoint.java's schemas)."""

from struct import pack

import pytest

from eosctl.codecs.group_offsets import decode_checkpoint
from eosctl.errors import Undecodable
from eosctl.model.mirror import Checkpoint

KEY = pack(">h2sh9si", 2, b"g1", 9, b"eu.orders", 3)
VALUE = pack(">hqqh", 0, 250, 249, 0)


def test_key_and_value_are_read():
    assert decode_checkpoint(KEY, VALUE) == Checkpoint("g1", "eu.orders", 3, 250, 249)
    assert decode_checkpoint(KEY, None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, VALUE), (KEY[:-1], VALUE), (KEY, VALUE[:9]), (b"\xff\xff", VALUE), (KEY, b"\0\1" + VALUE[2:])],
)
def test_what_is_no_checkpoint_is_refused(key: bytes | None, value: bytes):
    with pytest.raises(Undecodable):
        decode_checkpoint(key, value)
