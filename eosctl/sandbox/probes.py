"""Questions that only a ready broker or worker answers."""

import json
import socket
import struct
import urllib.error
import urllib.request
from typing import Final

from eosctl.sandbox.properties import HOST

TIMEOUT_S: Final = 2.0
METADATA: Final = 3
UNAUTHORIZED: Final = 401


def brokers_in_metadata(port: int) -> frozenset[int]:
    """Node IDs of the brokers that the broker on `port` lists as alive; empty when it does not answer.

    1. The request is Metadata version 0 (the oldest one, which every release answers) for all topics.
    2. A KRaft broker lists those that are registered and not fenced.
    Answer: int32 size, int32 correlation ID, int32 count, then per broker int32 node ID, int16 length and host,
    int32 port.
    """
    body = struct.pack(">hhihi", METADATA, 0, 1, -1, 0)
    try:
        with socket.create_connection((HOST, port), TIMEOUT_S) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.makefile("rb")
            (size,) = struct.unpack(">i", answer.read(4))
            return _brokers(answer.read(size))
    except (OSError, struct.error):
        return frozenset()


def _brokers(response: bytes) -> frozenset[int]:
    _, count = struct.unpack_from(">ii", response)
    nodes, position = set(), 8
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", response, position)
        nodes.add(node)
        position += 6 + host_length + 4
    return frozenset(nodes)


def accepts_connections(port: int) -> bool:
    """Whether something listens on `port`."""
    try:
        with socket.create_connection((HOST, port), TIMEOUT_S):
            return True
    except OSError:
        return False


def worker_has_joined(rest_port: int) -> bool:
    """Whether the worker answers `GET /connectors`: it has joined its group and read the config topic.

    One that asks for a password (a REST extension does that) says no more than that it listens, and is taken as ready.
    """
    try:
        with urllib.request.urlopen(f"http://{HOST}:{rest_port}/connectors", timeout=TIMEOUT_S) as answer:
            return isinstance(json.load(answer), list)
    except urllib.error.HTTPError as error:
        return error.code == UNAUTHORIZED
    except (OSError, urllib.error.URLError, ValueError):
        return False
