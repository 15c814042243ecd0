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
NOT_FOUND: Final = 404
NO_CONNECTOR: Final = "no-connector-has-this-name"
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
    """Whether the worker's herder answers: it has joined its group, read the config topic, and may write there.

    1. `GET /connectors` would be no proof: any thread answers it, before the config topic was read.
    2. `GET /connectors/<name>` is answered by the herder's own thread, which first reads the config topic to its end,
       finishes the rebalance, and as leader claims its transactional ID (DistributedHerder.tick). Until then the
       request waits. The name is one that nobody gives, so the answer is 404.
    3. A server without its resources says 404 too, but not in Connect's own words.
    4. A worker that asks for a password (401) is asked no more: what its herder does is not known.
    """
    try:
        urllib.request.urlopen(f"http://{HOST}:{rest_port}/connectors/{NO_CONNECTOR}", timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code == UNAUTHORIZED or (refusal.code == NOT_FOUND and _says_not_found(refusal.read()))
    except (OSError, urllib.error.URLError):
        pass
    return False


def _says_not_found(body: bytes) -> bool:
    try:
        answer = json.loads(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("error_code") == NOT_FOUND and NO_CONNECTOR in answer["message"]
