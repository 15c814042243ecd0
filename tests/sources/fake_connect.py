"""Connect workers' REST interface on loopback, as far as the evidence reads it: scripted, many at once, and slow.

Its answers are those of a real worker (tests/golden/worker.json, by record_worker), with the test's names and states.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import SSLContext
from threading import Barrier, Event, Thread
from typing import Any

PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"
NOT_ENABLED = "This worker does not have exactly-once source support enabled."
Reply = tuple[int, bytes]
RECORDED = json.loads((Path(__file__).resolve().parents[1] / "golden" / "worker.json").read_text())


def recorded(method: str, path: str, status: int = 200) -> Any:
    """The last answer of the real worker to such a request."""
    answers = [
        each["answer"] for each in RECORDED if (each["method"], each["path"], each["status"]) == (method, path, status)
    ]
    return deepcopy(answers[-1])


RUNNING = next(
    entry
    for each in RECORDED
    if each["path"] == "/connectors?expand=info&expand=status"
    and (entry := each["answer"]["orders"])["status"]["tasks"]
)


def entry_of(name: str, state: str = "RUNNING", *tasks: str, **config: str) -> dict[str, Any]:
    """A worker's report on one connector with these states of its tasks."""
    entry: dict[str, Any] = deepcopy(RUNNING)
    info, status = entry["info"], entry["status"]
    [task] = status["tasks"]
    info |= {"name": name, "config": info["config"] | {"name": name} | config}
    info["tasks"] = [{"connector": name, "task": number} for number in range(len(tasks))]
    status |= {"name": name, "connector": status["connector"] | {"state": state, "worker_id": "w"}}
    status["tasks"] = [task | {"id": number, "state": each, "worker_id": "w"} for number, each in enumerate(tasks)]
    return entry


@dataclass
class FakeWorker:
    """One worker: its phase, and its connectors by name with their own complaint (None: it supports exactly-once).

    busy is how often it answers 409 first. It waits for the others of `waits_for` before its first answer. One that
    hangs answers nothing until it is released, and counts its unanswered requests. With a password it answers 401 to
    requests without `user:<password>`. Its one plugin has the version of the worker, or those of plugin_versions.
    """

    enabled: bool = True
    version: str = "4.3.1"
    cluster_id: str = "K"
    connectors: dict[str, str | None] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    busy: int = 0
    waits_for: Barrier | None = None
    hangs: bool = False
    unanswered: int = 0
    password: str | None = None
    plugin_versions: tuple[str, ...] = ()
    requests: list[tuple[str, str, dict[str, object] | None]] = field(default_factory=list)

    def reply(self, method: str, path: str, body: dict[str, object] | None) -> Reply:
        self.requests.append((method, path, body))
        if self.waits_for is not None and len(self.requests) == 1:
            self.waits_for.wait(60)
        if self.busy:
            self.busy -= 1
            return 409, b'{"error_code":409,"message":"rebalance"}'
        return 200, json.dumps(self._answer(path, body)).encode()

    def _answer(self, path: str, body: dict[str, object] | None) -> object:
        if path == "/":
            return recorded("GET", path) | {"version": self.version, "kafka_cluster_id": self.cluster_id}
        if path == "/connector-plugins":
            versions = self.plugin_versions or (self.version,)
            [plugin] = [each for each in recorded("GET", path) if each["class"] == PLUGIN]
            return [plugin | {"version": each} for each in versions]
        if path == "/connectors":
            return list(self.connectors)
        if path.startswith("/connectors?"):
            return {name: self._entry(name) for name in self.connectors}
        assert path.endswith("/config/validate"), path
        assert body is not None
        own = self.connectors.get(str(body["name"]))
        errors = ([] if self.enabled else [NOT_ENABLED]) + ([own] if own else [])
        answer = recorded("PUT", f"/connector-plugins/{PLUGIN}/config/validate")
        answer["configs"][0]["value"]["errors"] = errors
        return answer

    def _entry(self, name: str) -> object:
        return entry_of(name, "FAILED" if name in self.failed else "RUNNING", "RUNNING", password="p")


class Server(ThreadingHTTPServer):
    """One that says nothing of clients that leave in the middle."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def serve(*workers: FakeWorker, tls: SSLContext | None = None) -> Iterator[list[str]]:
    """REST addresses of the workers, while they answer; https with `tls`."""
    let_go = Event()
    servers = [Server(("127.0.0.1", 0), _handler(worker.reply, worker, let_go)) for worker in workers]
    for server in servers:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        scheme = "http" if tls is None else "https"
        yield [f"{scheme}://127.0.0.1:{server.server_port}" for server in servers]
    finally:
        let_go.set()
        for server in servers:
            server.shutdown()
            server.server_close()


def _basic(password: str) -> str:
    return f"Basic {b64encode(f'user:{password}'.encode()).decode()}"


def _handler(reply: Callable[..., Reply], worker: FakeWorker, let_go: Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if worker.hangs:
                worker.unanswered += 1
                let_go.wait()
                self.close_connection = True
                return
            length = int(self.headers.get("Content-Length") or 0)
            asked = json.loads(self.rfile.read(length)) if length else None
            if worker.password is not None and self.headers["Authorization"] != _basic(worker.password):
                status, body = 401, b""
            else:
                status, body = reply(self.command, self.path, asked)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            pass

    return Handler
