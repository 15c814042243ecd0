"""Slow clients of a server of metrics, and a push to a collector, as the campaign of attacks runs them."""

import contextlib
import http.client
import socket
import threading
from time import monotonic

from eosctl.exporter.exporter import MetricsServer, Page, address_of
from eosctl.exporter.otlp import OtlpPush
from eosctl.model.watch import Cycle, Metric, Observation, Sample

HEALTHY_S = 1.0
TABLE = (Metric("eosctl_test_other", "Another one."),)


def pushed(url: str) -> None:
    """A push of one value: whether it succeeds is the collector's business, when it ends is not."""
    samples = (Sample(TABLE[0], (), 1),)
    found = Observation(profile="a", cycle=Cycle(1, 1, {}), cluster_id="K", samples=samples, when_stale=())
    OtlpPush(url, TABLE).push({"a": found})


def healthy_beside(clients: int, piece: bytes) -> str | None:
    """The fault of /healthz while this many clients send the piece, wait, and reconnect."""
    server = MetricsServer(
        address_of("127.0.0.1:0", allow_remote=False), lambda _: Page(200, "text/plain", b"ok"), exchange_s=0.3
    )
    over = threading.Event()

    def reconnect() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 0.5) as slow:
                slow.sendall(piece)
                slow.recv(1)

    threads = [threading.Thread(target=reconnect) for _ in range(clients)]
    threads.append(threading.Thread(target=server.serve_forever, args=(0.05,)))
    for each in threads:
        each.start()
    try:
        return next(filter(None, (_unhealthy(server.port) for _ in range(5))), None)
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        for each in threads:
            each.join()


def _unhealthy(port: int) -> str | None:
    begun = monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    finally:
        connection.close()
    took = monotonic() - begun
    return None if status == 200 and took < HEALTHY_S else f"/healthz: {status} after {took:.1f} s"
