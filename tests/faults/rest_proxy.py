"""A proxy in front of a Connect worker that sees every call, and answers one kind of them in its own way."""

import http.client
import threading
import time
from contextlib import suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

JSON = "application/json"


class RestFault(StrEnum):
    """The answer to the call."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    CONFLICT = "409"
    TOO_MANY = "429"
    HTML = "500 HTML"
    UNAVAILABLE = "503"
    NO_JSON = "invalid JSON"
    OTHER_JSON = "other JSON"
    TIMEOUT = "time-out"

    @property
    def answer(self) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        match self:
            case RestFault.NO_JSON:
                return 200, JSON, b'{"name": '
            case RestFault.OTHER_JSON:
                return 200, JSON, b'"planted"'
            case RestFault.HTML:
                return 500, "text/html", b"<html>Internal error</html>"
        return int(self.value), JSON, b'{"error_code": %s, "message": "planted"}' % self.value.encode()


class Call(NamedTuple):
    """A call of the REST interface."""

    method: str
    path: str

    @property
    def name(self) -> str:
        """As it is written."""
        return f"{self.method} {self.path}"


class RestProxy:
    """Passes calls on; `plan` has one kind of them answered otherwise, `seen` has all since then."""

    def __init__(self, url: str) -> None:
        proxy = self
        place = urlsplit(url)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Nothing is logged."""

            def handle_call(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                call = Call(self.command, self.path.partition("?")[0])
                proxy.seen.append(call)
                if call == proxy.target and proxy.fault is not None:
                    proxy.hit = True
                    self.fail(proxy.fault)
                    return
                worker = http.client.HTTPConnection(place.hostname or "", place.port)
                worker.request(self.command, self.path, body or None, {"Content-Type": JSON, "Accept": JSON})
                answer = worker.getresponse()
                self.answer(answer.status, answer.headers.get("content-type", JSON), answer.read())
                worker.close()

            do_GET = do_PUT = do_POST = do_DELETE = handle_call

            def fail(self, fault: RestFault) -> None:
                if fault is RestFault.TIMEOUT:
                    time.sleep(proxy.patience_s)
                    self.close_connection = True
                    return
                self.answer(*fault.answer)

            def answer(self, status: int, kind: str, body: bytes) -> None:
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

        self.patience_s = 3.0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.plan(None, None)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def plan(self, target: Call | None, fault: RestFault | None) -> None:
        """The fault of the next command; None for none."""
        self.target, self.fault, self.seen, self.hit = target, fault, list[Call](), False

    def close(self) -> None:
        """Answers nobody any more."""
        self._server.shutdown()
        self._server.server_close()
