"""States of an audit as MessagePack (msgspec): an array for each tuple, with its fields in order.

Offsets and keys inside the states stay the bytes that they are in the topic.
"""

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from eosctl.codecs.connect_json import NotJson, read_json
from eosctl.codecs.json_limits import MOST_CHARACTERS, MOST_NESTED
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.errors import Undecodable
from eosctl.model.audit_states import ReadKey
from eosctl.model.offsets import MalformedKey

T = TypeVar("T")

_ENCODER: Final = msgspec.msgpack.Encoder()
_JSON: Final = msgspec.json.Decoder()
_ONES: Final = bytes.maketrans(b"0123456789", b"1111111111")
_LONG_NUMBER: Final = b"1" * 19
_new: Final = tuple.__new__
AGAIN: Final = "was the ledger changed by hand? Audit into a new one"
_PARTITIONS: Final = (dict, type(None))
_TEXT: Final = msgspec.json.Encoder(order="deterministic")


def encode_state(state: object) -> bytes:
    """The bytes of a state."""
    return _ENCODER.encode(state)


def decode_state(payload: bytes, kind: type[T]) -> T:
    """The state of type `kind` in these bytes; Undecodable where they hold none."""
    try:
        found: T = _decoder(kind).decode(payload)  # type: ignore[arg-type]  # any type is hashable
    except (msgspec.DecodeError, ValueError, RecursionError, OverflowError) as error:
        raise Undecodable("a state of the audit cannot be read", hint=AGAIN) from error
    return found


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:  # noqa: ANN401  # any type that msgspec knows
    return msgspec.msgpack.Decoder(kind)


def decode_json(raw: bytes) -> object:
    """A JSON value, as Connect's converter reads it; ValueError for bytes that it refuses, too.

    msgspec reads what nearly all values are, ten times as fast; what it refuses is read by Jackson's rules. So are
    integers that may not fit into 64 bits: Connect keeps the lowest ones.
    """
    try:
        return _fast(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return read_json(raw)
        except NotJson as error:
            raise ValueError(str(error)) from error


def _fast(raw: bytes) -> object:
    nested = raw.count(b"[") + raw.count(b"{")
    if len(raw) > MOST_CHARACTERS or nested > MOST_NESTED or _LONG_NUMBER in raw.translate(_ONES):
        raise msgspec.DecodeError("what is beyond a long, or deeply nested, is read by every rule")
    return _JSON.decode(raw)


def read_offsets_key(raw: bytes | None) -> ReadKey:
    """Whose key it is, and a text that all keys of the same JSON share: members sorted, no blanks."""
    try:
        value = None if raw is None else _fast(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = None
    if type(value) is list and len(value) == 2 and type(value[0]) is str and type(value[1]) in _PARTITIONS:
        return _new(ReadKey, (value[0], _TEXT.encode(value).decode(), None))
    key = decode_offsets_key(raw)
    if isinstance(key, MalformedKey):
        return ReadKey(None, "null" if raw is None else raw.decode("utf-8", "backslashreplace"), key.reason)
    return ReadKey(key.connector, _TEXT.encode([key.connector, key.partition]).decode())
