"""Reading Connect workers over REST, against a scripted worker on loopback."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.errors import NotAuthorized, OtherCluster, Refused, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.model.skipped import Skipped
from eosctl.model.workers import ConnectorStatus, TaskStatus, WorkerFacts
from eosctl.sources.connect_rest import read_active_topics, read_connect, read_connectors, read_worker, validated_values

Reply = tuple[int, bytes]
ROOT = {"version": "4.3.1", "commit": "x", "kafka_cluster_id": "C1"}
DENIED = "org.apache.kafka.common.errors.TransactionalIdAuthorizationException: Transactional Id authorization failed."
TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n"
    f"\tat A.b(A.java:1)\nCaused by: java.lang.Exception: x\n\tat C.d(C.java:2)\nCaused by: {DENIED}\n\t... 9 more\n"
)
CONNECTORS = {
    "orders": {
        "info": {"name": "orders", "type": "source", "config": {}, "tasks": []},
        "status": {
            "name": "orders",
            "connector": {"state": "RUNNING", "worker_id": "w:1"},
            "tasks": [
                {"id": 1, "state": "FAILED", "worker_id": "w:1", "trace": TRACE},
                {"id": 0, "state": "RUNNING", "worker_id": "w:1"},
            ],
            "type": "source",
        },
    },
    "lost": {
        "info": {"name": "lost", "type": "unknown"},
        "status": {"connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": [], "type": "unknown"},
    },
}


@contextmanager
def worker(answer: Callable[[str], Reply]) -> Iterator[str]:
    """A worker that answers each path as the script says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def healthy(path: str) -> Reply:
    return 200, json.dumps(ROOT if path == "/" else CONNECTORS).encode()


def test_a_worker_tells_its_version_and_its_kafka_cluster() -> None:
    with worker(healthy) as url:
        assert read_worker(url, 5) == WorkerFacts(url, "4.3.1", "C1")


def after_root(replies: list[Reply]) -> Callable[[str], Reply]:
    """`GET /` is answered, every other request by the next reply."""
    return lambda path: healthy(path) if path == "/" else replies.pop(0)


def test_connectors_come_with_type_and_running_tasks() -> None:
    with worker(healthy) as url:
        connectors = read_connectors(url, 5)
    assert connectors["orders"] == ConnectorStatus(
        "orders", "source", "RUNNING", (TaskStatus(1, "FAILED", "w:1", DENIED), TaskStatus(0, "RUNNING", "w:1"))
    )
    assert connectors["orders"].running_tasks == (0,)


def test_a_type_that_the_worker_does_not_know_is_unknown() -> None:
    with worker(healthy) as url:
        assert read_connectors(url, 5)["lost"].type is None


@pytest.mark.parametrize(
    ("status", "message"),
    [(409, "rebalance"), (500, "Request cannot be completed because a rebalance is expected")],
)
def test_a_rebalance_is_waited_for(status: int, message: str) -> None:
    refused = json.dumps({"error_code": status, "message": message}).encode()
    replies = [(status, refused), (200, json.dumps(CONNECTORS).encode())]
    with worker(after_root(replies)) as url:
        assert set(read_connectors(url, 5)) == {"orders", "lost"}
    assert replies == []


def test_an_error_that_is_no_rebalance_is_not_tried_again() -> None:
    replies = [(500, b'{"error_code":500,"message":"Request timed out"}')]
    with (
        worker(after_root(replies)) as url,
        pytest.raises(Unreachable, match=r"GET .*/connectors\S* answered 500: Request timed out"),
    ):
        read_connectors(url, 5)
    assert replies == []


def test_a_worker_that_does_not_answer_is_skipped_when_another_does() -> None:
    with worker(healthy) as url:
        facts = read_connect(["http://127.0.0.1:9", url], 5)
    assert isinstance(facts.workers["http://127.0.0.1:9"], Skipped)
    assert isinstance(facts.workers[url], WorkerFacts)
    assert facts.running_tasks == {"lost": 0, "orders": 1}
    assert facts.types == {"orders": "source"}


def test_no_worker_at_all_is_unreachable() -> None:
    with pytest.raises(Unreachable, match=r"no Connect worker answers at http://127\.0\.0\.1:9"):
        read_connect(["http://127.0.0.1:9"], 5)


def test_a_page_instead_of_json_is_said_to_be_one() -> None:
    with worker(lambda _: (200, b"<html>hello</html>")) as url, pytest.raises(Undecodable, match="instead of JSON"):
        read_worker(url, 5)


def test_json_of_something_else_is_not_a_worker() -> None:
    with (
        worker(lambda _: (200, b"[1, 2]")) as url,
        pytest.raises(Undecodable, match="does not answer as a Connect worker"),
    ):
        read_worker(url, 5)


@pytest.mark.parametrize("broken", [{"c": {}}, {"c": []}, {"c": {"status": {"connector": [], "tasks": 1}}}])
def test_an_entry_that_is_not_a_connector_s_is_undecodable(broken: object) -> None:
    with (
        worker(lambda _: (200, json.dumps(broken).encode())) as url,
        pytest.raises(Undecodable, match="not a connector's"),
    ):
        read_connectors(url, 5)


@pytest.mark.parametrize("status", [401, 403])
def test_missing_credentials_are_not_authorized(status: int) -> None:
    with worker(lambda _: (status, b"")) as url, pytest.raises(NotAuthorized, match=str(status)):
        read_worker(url, 5)


def test_a_failing_worker_gives_its_own_message() -> None:
    body = b'{"error_code":500,"message":"Request timed out"}'
    with worker(lambda _: (500, body)) as url, pytest.raises(Unreachable, match="Request timed out"):
        read_worker(url, 5)


def test_a_silent_worker_times_out() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TimedOut, match=r"within 0\.3 s"):
            read_worker(url, 0.3)


def test_a_url_without_a_scheme_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="is not a URL"):
        read_worker("localhost:8083", 1)


def test_a_name_that_the_worker_takes_in_no_path_is_said():
    """Jetty 12, in workers from 4.0, answers a page of HTML before Connect sees the request."""
    with (
        worker(lambda _: (400, b"<h1>Bad Message 400</h1>")) as url,
        RestClient(url, 5) as rest,
        pytest.raises(Refused, match="answered 400") as refused,
    ):
        rest.request("GET", "/connectors/a%2Fb/status")
    assert "take no slash, backslash or percent sign" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ((200, b'{"orders": {"topics": ["b", "a"]}}'), ("a", "b")),
        ((404, b'{"message": "gone"}'), ()),
        ((403, b'{"message": "Topic tracking is disabled."}'), "may not GET"),
        ((401, b""), "may not GET"),
        ((409, b'{"message": "rebalance"}'), "answered 409"),
        ((200, b'{"orders": {}}'), "answered no list of topics"),
    ],
)
def test_active_topics_that_a_worker_does_not_name_are_not_none(reply: Reply, expected: tuple[str, ...] | str):
    with worker(lambda _: reply) as url:
        found = read_active_topics([url], ["orders"], 0.5)["orders"]
    if isinstance(expected, str):
        assert isinstance(found, Skipped)
        assert expected in found.reason
    else:
        assert found == expected


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"configs": [{}]}', b'{"configs": [{"value": null}]}'])
def test_an_answer_that_validates_nothing_does_not_say_that_exactly_once_is_enabled(body: bytes):
    with pytest.raises(Undecodable, match="something else"):
        validated_values(json.loads(body), "http://worker")


def test_an_address_that_leads_to_a_worker_of_another_cluster_meanwhile_gets_no_more_requests() -> None:
    clusters, seen = ["C1", "C2"], []

    def moving(path: str) -> Reply:
        seen.append(path)
        return (200, json.dumps({**ROOT, "kafka_cluster_id": clusters[0]}).encode()) if path == "/" else healthy(path)

    with worker(moving) as address:
        url = WorkerUrl(address)
        assert set(read_connectors(url, 5)) == {"lost", "orders"}
        del clusters[0], seen[:]
        with pytest.raises(OtherCluster, match=r"is a worker of Kafka cluster C2 now, .* was of C1"):
            read_connectors(url, 5)
        with RestClient(url, 5) as rest, pytest.raises(OtherCluster):
            rest.request("PUT", "/connectors/orders/stop")
    assert seen == ["/", "/"]
