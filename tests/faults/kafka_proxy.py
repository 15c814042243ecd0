"""A proxy in front of one broker that sees every request, and lets one of them fail."""

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any, NamedTuple

import pytest

from eosctl.clients import kafka_python
from eosctl.sandbox.kafka_proxy import Connection

THROTTLE_MS = 200
FETCH = 1
EMPTY_FETCH = struct.pack(">ihi", THROTTLE_MS, 0, 0)
NO_THROTTLE = frozenset({17, 18, 36})
"""SASL has no throttle_time_ms; in ApiVersions it is not the first field."""


class Fault(StrEnum):
    """The fate of the request."""

    CLOSED = "connection closed"
    DEAD = "broker dead"
    TIMEOUT = "time-out"
    THROTTLED = "throttled"
    MOVED = "answered, then the connection closed"


class Seen(NamedTuple):
    """One request of a command: its API by the protocol's number, and which of its kind."""

    api_key: int
    number: int

    @property
    def name(self) -> str:
        """The API's name."""
        return f"{API_NAMES.get(self.api_key, self.api_key)} #{self.number}"


API_NAMES = {
    1: "Fetch",
    2: "ListOffsets",
    3: "Metadata",
    9: "OffsetFetch",
    10: "FindCoordinator",
    15: "DescribeGroups",
    16: "ListGroups",
    17: "SaslHandshake",
    18: "ApiVersions",
    29: "DescribeAcls",
    32: "DescribeConfigs",
    36: "SaslAuthenticate",
    61: "DescribeProducers",
    65: "DescribeTransactions",
    66: "ListTransactions",
}


class OtherKafka:
    """A service that differs from Kafka: the requests to the real broker behind it, and the answers."""

    def request(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The request that the broker gets, its header included."""
        return frame

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The answer that the client gets, its header included."""
        return frame


class HandsOut(OtherKafka):
    """A broker that advertises other addresses than each of these."""

    def __init__(self, others: Mapping[tuple[str, int], tuple[str, int]]) -> None:
        self._others = {_encoded(*each): _encoded(*other) for each, other in others.items()}

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The same with the other addresses."""
        for each, other in self._others.items():
            frame = frame.replace(each, other)
        return frame


def _encoded(host: str, port: int) -> bytes:
    return host.encode() + struct.pack(">i", port)


class KafkaProxy:
    """Passes frames on. `plan` makes one request fail in one way; `seen` has all since then.

    While `other` is set, it decides what is passed on. If `then` is set, new connections lead there after a fault.
    """

    other: OtherKafka | None = None
    then: tuple[str, int] | None = None

    def __init__(self, host: str, port: int) -> None:
        self._home = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self.plan(None, None)
        threading.Thread(target=self._accept, daemon=True).start()

    def plan(self, target: Seen | None, fault: Fault | None) -> None:
        """The fault of the next command; None for none."""
        self.target, self.fault, self.seen, self._broker = target, fault, list[Seen](), self._home
        self._counts, self.dead, self.hit = Counter[int](), False, False

    def close(self) -> None:
        """Lets nobody in any more."""
        self._listener.close()

    def see(self, api_key: int) -> Fault | None:
        """Notes the request; its fault, if it is the one."""
        with self._lock:
            self._counts[api_key] += 1
            request = Seen(api_key, self._counts[api_key])
            self.seen.append(request)
            if request != self.target:
                return None
            self.hit, self.dead = True, self.fault is Fault.DEAD
            self._broker = self.then or self._broker
            return self.fault

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.dead:
                    client.close()
                    continue
                _Failing(self, client, socket.create_connection(self._broker)).start()


class _Failing(Connection):
    """One on which a request may fail, and other answers may be given."""

    def __init__(self, proxy: KafkaProxy, client: socket.socket, broker: socket.socket) -> None:
        super().__init__(client, broker)
        self._proxy = proxy
        self._throttled: dict[bytes, tuple[int, int]] = {}
        self._asked: dict[bytes, tuple[int, int]] = {}
        self._muted_until = 0.0
        self._last: bytes | None = None

    def pass_requests(self) -> None:
        stuck = False
        for frame in self.requests():
            api_key, version = struct.unpack(">hh", frame[:4])
            fault = self._proxy.see(api_key)
            if self._proxy.dead or fault is Fault.CLOSED:
                return
            if fault is Fault.MOVED:
                self._last = frame[4:8]
            # A broker works on one request of a connection at a time: none behind it is answered either.
            stuck = stuck or fault is Fault.TIMEOUT
            if fault is Fault.THROTTLED:
                self._throttled[frame[4:8]] = api_key, version
            time.sleep(max(0.0, self._muted_until - time.monotonic()))
            passed = frame
            if self._proxy.other is not None:
                self._asked[frame[4:8]] = api_key, version
                passed = self._proxy.other.request(api_key, version, frame)
            if not stuck:
                self.ask(passed)

    def pass_answers(self) -> None:
        for frame in self.answers():
            if self._proxy.dead:
                return
            throttled = self._throttled.pop(frame[:4], None)
            if throttled is not None:
                self._muted_until = time.monotonic() + THROTTLE_MS / 1000
            asked = self._asked.pop(frame[:4], None)
            answer = frame if throttled is None else _throttled(frame, *throttled)
            if self._proxy.other is not None and asked is not None:
                answer = self._proxy.other.answer(*asked, answer)
            self.answer(answer)
            if frame[:4] == self._last:
                return


def _throttled(frame: bytes, api_key: int, version: int) -> bytes:
    """The answer as a broker gives it that mutes the connection afterwards (KIP-219); a Fetch is answered empty."""
    if api_key in NO_THROTTLE:
        return frame
    flexible = is_flexible(api_key, version)
    start = 5 if flexible else 4
    if api_key == FETCH:
        return frame[:start] + EMPTY_FETCH + (b"\x01\x00" if flexible else struct.pack(">i", 0))
    return frame[:start] + struct.pack(">i", THROTTLE_MS) + frame[start + 4 :]


FIRST_FLEXIBLE = {0: 9, 1: 12, 2: 6, 3: 9, 9: 6, 10: 3, 15: 5, 16: 3, 22: 2, 24: 3, 26: 3, 29: 2, 32: 4}
FIRST_FLEXIBLE |= dict.fromkeys((61, 65, 66), 0)


def is_flexible(api_key: int, version: int) -> bool:
    """Whether requests and answers of this version have tagged fields, in their headers too (KIP-482)."""
    return version >= FIRST_FLEXIBLE.get(api_key, 1 << 15)


@contextmanager
def routed(ports: dict[int, int]) -> Iterator[None]:
    """eosctl's connections to these ports lead to others: brokers advertise the ports that they listen on."""
    connect = kafka_python.create_connection

    async def create_connection(net: Any, host: str, port: int, *more: Any) -> Any:
        return await connect(net, host, ports.get(port, port), *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka_python, "create_connection", create_connection)
        yield


@contextmanager
def proxied(servers: str) -> Iterator[KafkaProxy]:
    """A proxy in front of the only broker, which eosctl then asks through it."""
    host, port = servers.split(":")
    made = KafkaProxy(host, int(port))
    try:
        with routed({int(port): made.port}):
            yield made
    finally:
        made.close()
