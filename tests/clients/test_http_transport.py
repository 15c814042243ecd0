"""The requests that a client sends, header by header."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from eosctl.clients.http_transport import HttpClient, HttpRequest
from eosctl.clients.http_url import HttpUrl
from eosctl.version import __version__

Seen = list[tuple[str, dict[str, str], bytes]]


@contextmanager
def listening(cookies: tuple[str, ...] = ()) -> Iterator[tuple[HttpUrl, Seen]]:
    """A server, and the requests that it got: method, headers, body."""
    seen: Seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append((self.command, dict(self.headers), body))
            self.send_response(200)
            for cookie in cookies:
                self.send_header("Set-Cookie", cookie)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST = do_DELETE = do_PATCH = do_GET

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield HttpUrl.of(f"http://127.0.0.1:{server.server_address[1]}/"), seen
    finally:
        server.shutdown()
        server.server_close()


def send(http: HttpClient, *requests: HttpRequest) -> None:
    for request in requests:
        assert http.exchange(request, time.monotonic() + 5, 100).status == 200


def test_a_request_has_these_headers_and_no_others() -> None:
    with listening() as (url, seen):
        http = HttpClient(url, None, ("me", "p\u00e4ss:w"))
        send(http, HttpRequest("PUT", url.under("/connectors/a%2Fb/config"), b'{"a":1}'), HttpRequest("GET", url))
        http.close()
    every = {
        "Host": url.netloc,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "keep-alive",
        "User-Agent": f"eosctl/{__version__}",
        "Authorization": "Basic bWU6cMOkc3M6dw==",
    }
    assert seen == [
        ("PUT", every | {"Content-Type": "application/json", "Content-Length": "7"}, b'{"a":1}'),
        ("GET", every, b""),
    ]


def test_a_request_without_a_body_says_so_where_its_method_may_have_one() -> None:
    with listening() as (url, seen):
        http = HttpClient(url, None, None)
        send(http, *(HttpRequest(method, url) for method in ("GET", "DELETE", "PUT", "POST", "PATCH")))
        http.close()
    assert [(method, headers.get("Content-Length")) for method, headers, _ in seen] == [
        *(("GET", None), ("DELETE", None)),
        *(("PUT", "0"), ("POST", "0"), ("PATCH", "0")),
    ]


def test_cookies_of_a_balancer_are_sent_back_and_not_to_another_client() -> None:
    with listening(("ROUTE=w1; Path=/; HttpOnly", "seen=a=b")) as (url, seen):
        first, second = HttpClient(url, None, None), HttpClient(url, None, None)
        send(first, HttpRequest("GET", url), HttpRequest("GET", url))
        send(second, HttpRequest("GET", url))
        first.close()
        second.close()
    assert [headers.get("Cookie") for _, headers, _ in seen] == [None, "ROUTE=w1; seen=a=b", None]
