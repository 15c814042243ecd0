"""Services that speak Kafka's protocol and do otherwise: real brokers behind a proxy that changes what passes."""

import os
import signal
import struct
from collections.abc import Callable

from tests.faults.kafka_proxy import OtherKafka, is_flexible

PRODUCE, FETCH, LIST_OFFSETS, API_VERSIONS = 0, 1, 2, 18
INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 22, 24, 26
DESCRIBE_PRODUCERS, LIST_TRANSACTIONS = 61, 66
FENCED = {47, 49, 90}
ISOLATION_AT = {FETCH: 16, LIST_OFFSETS: 4}
"""Bytes in front of isolation_level, behind the request's header."""
ENTRY = struct.Struct(">hhh")


class Lacks(OtherKafka):
    """One API is not offered."""

    def __init__(self, api_key: int) -> None:
        self._api_key = api_key

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """ApiVersions without it: its answer has no flexible header in any version (KIP-511)."""
        if api_key != API_VERSIONS:
            return frame
        flexible = version >= 3
        size, at = (ENTRY.size + 1, 7) if flexible else (ENTRY.size, 10)
        count = frame[6] - 1 if flexible else struct.unpack_from(">i", frame, 6)[0]
        entries = [frame[at + i * size : at + (i + 1) * size] for i in range(count)]
        kept = [each for each in entries if ENTRY.unpack_from(each)[0] != self._api_key]
        assert len(kept) == count - 1
        length = bytes([len(kept) + 1]) if flexible else struct.pack(">i", len(kept))
        return frame[:6] + length + b"".join(kept) + frame[at + count * size :]


class AnswersNothing(OtherKafka):
    """DescribeProducers is answered with no topic."""

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """Header and throttle_time_ms, then an empty array and no tagged fields."""
        return frame[:9] + b"\x01\x00" if api_key == DESCRIBE_PRODUCERS else frame


class Answers(OtherKafka):
    """The error code of some APIs is another one than the broker's."""

    def __init__(self, changed: Callable[[int], int], *api_keys: int) -> None:
        self._changed = changed
        self._api_keys = api_keys

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The answer with the changed code."""
        if api_key not in self._api_keys:
            return frame
        at = _error_code_at(api_key, version, frame)
        code = self._changed(struct.unpack_from(">h", frame, at)[0])
        return frame[:at] + struct.pack(">h", code) + frame[at + 2 :]


def refusing(code: int, *api_keys: int) -> Answers:
    """Every request of these APIs is answered with the error."""
    return Answers(lambda _: code, *api_keys)


def without_fencing() -> Answers:
    """A fenced producer is told that all went well."""
    return Answers(lambda code: 0 if code in FENCED else code, PRODUCE, ADD_PARTITIONS, END_TXN)


def _error_code_at(api_key: int, version: int, frame: bytes) -> int:
    """The place of the first error code. Names of topics are short, so that their lengths take a byte."""
    assert is_flexible(api_key, version)
    if api_key == PRODUCE:
        return _behind_partition(frame, 5)
    return _behind_partition(frame, 9) if api_key == ADD_PARTITIONS else 9


def _behind_partition(frame: bytes, at: int) -> int:
    """Behind an array of topics at `at`: the name of the first, its array of partitions, the index of the first."""
    name = frame[at + 1] - 1
    return at + 1 + 1 + name + 1 + 4


def isolation_at(api_key: int, version: int, frame: bytes) -> int:
    """Where a request has its isolation level."""
    client_id = struct.unpack_from(">h", frame, 8)[0]
    header = 10 + max(0, client_id) + (1 if is_flexible(api_key, version) else 0)
    at = header + ISOLATION_AT[api_key]
    assert frame[at] in {0, 1}
    return at


class Uncommitted(OtherKafka):
    """The isolation level of some APIs is not looked at: all of it is read uncommitted."""

    def __init__(self, *api_keys: int) -> None:
        self._api_keys = api_keys

    def request(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The request for uncommitted records."""
        if api_key not in self._api_keys:
            return frame
        at = isolation_at(api_key, version, frame)
        return frame[:at] + b"\x00" + frame[at + 1 :]


class Lags(OtherKafka):
    """A read_committed Fetch sees the end of a transaction one request later than ListOffsets."""

    def __init__(self) -> None:
        self._before = b""
        self._is_committed = self._lags = False

    def request(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The same; notes the requests."""
        self._lags |= api_key == END_TXN
        if api_key == FETCH:
            self._is_committed = frame[isolation_at(api_key, version, frame)] == 1
        return frame

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The first that is another one than before is held back: the one before, with the correlation ID of this."""
        if api_key != FETCH or not self._is_committed:
            return frame
        if self._lags and frame[4:] != self._before[4:]:
            self._lags = False
            return frame[:4] + self._before[4:]
        self._before = frame
        return frame


class Interrupts(OtherKafka):
    """The user presses Ctrl-C when the first request of an API is on its way."""

    def __init__(self, api_key: int) -> None:
        self._api_key: int | None = api_key

    def request(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The same; once it sends the signal to this process."""
        if api_key == self._api_key:
            self._api_key = None
            os.kill(os.getpid(), signal.SIGINT)
        return frame
