"""A peer that answers every request of Kafka's protocol with bytes of the attacker's choice."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Answer = Callable[[int, int, bytes], bytes]
"""The bytes that answer a request, given its API key, its version and its correlation ID as bytes."""


@contextmanager
def false_broker(answer: Answer) -> Iterator[str]:
    """Its address; each connection is served until it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_accept, args=(server, answer), daemon=True).start()
        try:
            yield "127.0.0.1:{1}".format(*server.getsockname())
        finally:
            server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, answer: Answer) -> None:
    with suppress(OSError):
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_serve, args=(peer, answer), daemon=True).start()


def _serve(peer: socket.socket, answer: Answer) -> None:
    with suppress(OSError), peer, peer.makefile("rb") as requests:
        while len(size := requests.read(4)) == 4:
            request = requests.read(int.from_bytes(size, "big"))
            key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
            peer.sendall(answer(key, version, request[4:8]))


def framed(body: bytes) -> bytes:
    """The body with its length in front."""
    return len(body).to_bytes(4, "big") + body


API_VERSIONS = 18
HIGHEST = 12


def api_versions(version: int) -> bytes:
    """The body of an answer to ApiVersions: every API up to HIGHEST."""
    flexible = version >= 3
    count = bytes([71]) if flexible else (70).to_bytes(4, "big")
    each = b"".join(bytes([0, key, 0, 0, 0, HIGHEST]) + b"\0" * flexible for key in range(70))
    return b"\0\0" + count + each + bytes(4) * (version >= 1) + b"\0" * flexible


@contextmanager
def cluster_of_one(**fields: object) -> Iterator[str]:
    """The address of a broker that names itself as the only one; fields are others of its answers to Metadata."""
    from kafka.protocol.metadata import MetadataResponse

    answer: dict[str, object] = {"throttle_time_ms": 0, "cluster_id": "c", "controller_id": 1, "topics": [], **fields}

    def answered(key: int, version: int, ident: bytes) -> bytes:
        if key == API_VERSIONS:
            return framed(ident + api_versions(version))
        return framed(ident + b"\0" + bytes(MetadataResponse(**answer).encode(version=version)))

    with false_broker(answered) as address:
        host, _, port = address.partition(":")
        itself = MetadataResponse.MetadataResponseBroker(node_id=1, host=host, port=int(port), rack=None)
        answer.setdefault("brokers", [itself])
        yield address


def after_login(body: bytes) -> Answer:
    """A broker that answers ApiVersions as one does, and everything else with these bytes."""
    return lambda key, version, ident: framed(ident + api_versions(version)) if key == API_VERSIONS else body
