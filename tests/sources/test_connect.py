"""Connect as a source: REST, evidence, live reader."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Event, Thread
from typing import TypeVar

import pytest

from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.errors import NotAuthorized, OtherCluster, Refused, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.evidence import Preflight, WorkerEvidence
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectorStatus, KnownPhase, TaskStatus, WorkerFacts
from eosctl.operations.session import new_fold
from eosctl.sources.cluster_reader import KeptFacts
from eosctl.sources.connect_rest import (
    read_active_topics,
    read_connect,
    read_connectors,
    read_preflight,
    read_worker,
    read_worker_evidence,
    validated_values,
)
from eosctl.sources.live_cluster import LiveCluster, soon
from tests.live_reader import WireConnections, no_progress
from tests.sources.fake_connect import PLUGIN, FakeWorker, serve

Reply = tuple[int, bytes]
ROOT = {"version": "4.3.1", "commit": "x", "kafka_cluster_id": "C1"}
DENIED = "org.apache.kafka.common.errors.TransactionalIdAuthorizationException: Transactional Id authorization failed."
TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n"
    f"\tat A.b(A.java:1)\nCaused by: java.lang.Exception: x\n\tat C.d(C.java:2)\nCaused by: {DENIED}\n\t... 9 more\n"
)
WITHOUT_FRAMES = (
    "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n"
    f"Caused by: java.lang.Exception: x\nCaused by: {DENIED}"
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


def test_a_worker_answers_its_version_and_its_kafka_cluster() -> None:
    with worker(healthy) as url:
        assert read_worker(url, 5) == WorkerFacts(url, "4.3.1", "C1")


def after_root(replies: list[Reply]) -> Callable[[str], Reply]:
    """`GET /` is answered, every other request by the next reply."""
    return lambda path: healthy(path) if path == "/" else replies.pop(0)


def test_connectors_come_with_type_and_running_tasks() -> None:
    with worker(healthy) as url:
        connectors = read_connectors(url, 5)
    assert connectors["orders"] == ConnectorStatus(
        "orders",
        "source",
        "RUNNING",
        (TaskStatus(1, "FAILED", "w:1", DENIED, WITHOUT_FRAMES), TaskStatus(0, "RUNNING", "w:1")),
        worker_id="w:1",
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


def test_a_page_instead_of_json_is_reported() -> None:
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


def test_a_name_that_the_worker_accepts_in_no_path_is_reported():
    """Jetty 12, in workers from 4.0, answers a page of HTML before Connect sees the request."""
    with (
        worker(lambda _: (400, b"<h1>Bad Message 400</h1>")) as url,
        RestClient(url, 5) as rest,
        pytest.raises(Refused, match="answered 400") as refused,
    ):
        rest.request("GET", "/connectors/a%2Fb/status")
    assert "refuse a slash, backslash or percent sign" in str(refused.value.hint)


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
        found = read_active_topics([url], ["orders"], 2 if reply[0] == 409 else 30)["orders"]
    if isinstance(expected, str):
        assert isinstance(found, Skipped)
        assert expected in found.reason
    else:
        assert found == expected


def test_a_worker_that_rebalances_and_then_times_out_is_not_reported_as_silent() -> None:
    answers, released = iter([(200, json.dumps(ROOT).encode()), (409, b'{"message": "rebalance"}')]), Event()

    def rebalancing(_: str) -> Reply:
        answer = next(answers, None)
        if answer is None:
            released.wait(60)
        return answer or (200, b"{}")

    with worker(rebalancing) as url:
        found = read_active_topics([url], ["orders"], 3)["orders"]
        released.set()
    assert found == Skipped(f"GET {url}/connectors/orders/topics answered 409: rebalance")


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
        with pytest.raises(OtherCluster, match=r"is a worker of Kafka cluster C2 now; .* was of C1"):
            read_connectors(url, 5)
        with RestClient(url, 5) as rest, pytest.raises(OtherCluster):
            rest.request("PUT", "/connectors/orders/stop")
    assert seen == ["/", "/"]


Reader = TypeVar("Reader", bound=LiveCluster)


def live(
    urls: tuple[str, ...], timeout_s: float, kept: KeptFacts | None = None, kind: type[Reader] = LiveCluster
) -> Reader:
    """Reads these workers' answers; it queries no broker."""
    reach = WireConnections(None, ClientProperties(()), 0, urls, timeout_s)  # type: ignore[arg-type]  # it asks no broker
    return kind(reach, "connect-cluster", no_progress, new_fold, kept=kept)


def test_a_silent_worker_is_named_by_each_answer_and_not_asked_again() -> None:
    silent = FakeWorker(hangs=True)
    with serve(FakeWorker(), silent) as (answering, hanging):
        reader = live((hanging, answering), 0.5)
        facts = reader.connect()
        silent.hangs = False
        evidence = reader.worker_evidence()
        assert not isinstance(facts, Skipped)
        assert not isinstance(evidence, Skipped)
        assert list(facts.workers) == list(evidence) == [hanging, answering]
        assert facts.workers[hanging] == evidence[hanging] == Skipped(f"GET {hanging}/ got no answer within 0.5 s")
        assert not isinstance(evidence[answering], Skipped)
        assert silent.requests == []
    assert [each.what for each in reader.coverage.unread] == [
        f"Connect workers: workers {hanging}",
        f"worker {hanging}",
    ]


class Grouped(LiveCluster):
    """A reader of a cluster whose group has these members."""

    members: frozenset[str] | None = None

    def _processes(self):
        return self.members


def test_readers_that_share_facts_probe_a_worker_once_until_the_group_has_another_member():
    worker, kept = FakeWorker(), KeptFacts()

    def session(url, members):
        worker.requests.clear()
        for ask in (LiveCluster.worker_evidence, LiveCluster.source_support):
            reader = live((url,), 30, kept, Grouped)
            reader.members = members
            answer = ask(reader)
        kept.next_session()
        return answer, sum(path.endswith("validate") for _, path, _ in worker.requests)

    with serve(worker) as [url]:
        assert session(url, frozenset({"connect-1"})) == (KnownPhase.ENABLED, 1)
        assert session(url, frozenset({"connect-1"})) == (KnownPhase.ENABLED, 0)
        worker.enabled = False
        assert session(url, frozenset({"connect-2"})) == (KnownPhase.NOT_ENABLED, 1)
        assert session(url, None) == (KnownPhase.NOT_ENABLED, 1), "nobody knows whether it is the same process"
        assert session(url, None) == (KnownPhase.NOT_ENABLED, 1)


def test_one_reader_probes_a_worker_once():
    worker = FakeWorker()
    with serve(worker) as [url]:
        reader = live((url,), 30)
        assert reader.source_support() is KnownPhase.ENABLED
        assert reader.worker_evidence()[url].enabled is True
    assert sum(path.endswith("validate") for _, path, _ in worker.requests) == 1


def test_workers_that_are_spared_are_waited_for_once_and_shortly() -> None:
    silent = FakeWorker(hangs=True)
    with serve(silent) as (hanging,):
        reader = live((hanging,), 0.3)
        with reader.sparing_workers():
            facts = reader.connect()
            silent.hangs = False
            assert facts == reader.connect_version() == Skipped(f"GET {hanging}/ got no answer within 0.3 s")
        assert silent.requests == []
    assert [(each.what, each.is_gap) for each in reader.coverage.unread] == [
        ("Connect workers", True),
        ("the workers' version", True),
    ]


@pytest.mark.parametrize(("timeout_s", "soon_s"), [(2.0, 2.0), (30.0, 5.0), (120.0, 20.0)])
def test_soon_is_short_of_the_timeout_and_grows_with_it(timeout_s: float, soon_s: float) -> None:
    assert soon(timeout_s) == soon_s


def test_an_address_that_is_none_and_an_answer_that_is_no_worker_s_are_not_spared() -> None:
    with serve(FakeWorker(password="x")) as (refusing,):
        for url, error in (("http://xn--/", UsageError), (refusing, NotAuthorized)):
            reader = live((WorkerUrl(url),), 5)
            with reader.sparing_workers(), pytest.raises(error):
                reader.connect()


def test_readers_that_share_facts_wait_once_in_a_session_for_a_worker_that_is_silent():
    silent, kept = FakeWorker(hangs=True), KeptFacts()
    with serve(FakeWorker(), silent) as (answering, hanging):
        live((answering, hanging), 0.5, kept).connect()
        silent.hangs = False
        later, reason = live((hanging,), 5, kept), Skipped(f"GET {hanging}/ got no answer within 0.5 s")
        assert (later.connector_configs(), later.source_support(), silent.requests) == (reason, reason, [])
        kept.next_session()
        assert live((hanging,), 5, kept).connector_configs() == {}


def test_the_probe_distinguishes_enabled_from_the_other_phases_on_each_worker() -> None:
    with serve(FakeWorker(connectors={"x": None}), FakeWorker(enabled=False)) as [a, b]:
        found = read_worker_evidence([a, b], 5)
    assert found[a] == WorkerEvidence(a, KafkaVersion(4, 3, 1), "K", True, frozenset({"x"}), {PLUGIN: ("4.3.1",)})
    assert found[b] == WorkerEvidence(b, KafkaVersion(4, 3, 1), "K", False, frozenset(), {PLUGIN: ("4.3.1",)})


def test_the_versions_of_a_plugin_are_all_read_the_newest_last() -> None:
    """KIP-891: a worker names each of them, in their order."""
    with serve(FakeWorker(plugin_versions=("1", "2"))) as [url]:
        [found] = read_worker_evidence([url], 5).values()
    assert isinstance(found, WorkerEvidence)
    assert found.plugins == {PLUGIN: ("1", "2")}


def test_nothing_is_asked_of_the_fence_endpoint_and_nothing_is_written() -> None:
    worker = FakeWorker(connectors={"x": None})
    with serve(worker) as urls:
        read_worker_evidence(urls, 5)
        read_preflight(urls, 5)
    assert [path for method, path, _ in worker.requests if method != "GET"] == [
        f"/connector-plugins/{PLUGIN}/config/validate"
    ] * 2
    assert not any("fence" in path for _, path, _ in worker.requests)


def test_a_worker_that_hangs_does_not_stop_the_others() -> None:
    with serve(FakeWorker(), FakeWorker(hangs=True), FakeWorker()) as [a, hanging, b]:
        found = read_worker_evidence([a, hanging, b], 1)
    assert isinstance(found[hanging], TimedOut)
    assert "within 1 s" in str(found[hanging])
    assert {url for url, each in found.items() if isinstance(each, WorkerEvidence)} == {a, b}


def test_workers_are_asked_at_the_same_time() -> None:
    all_asked = Barrier(10)
    with serve(*(FakeWorker(waits_for=all_asked) for _ in range(10))) as urls:
        found = read_worker_evidence(urls, 30)
    assert all(isinstance(each, WorkerEvidence) for each in found.values())


def test_evidence_waits_for_a_rebalance() -> None:
    worker = FakeWorker(busy=2)
    with serve(worker) as urls:
        assert isinstance(read_worker_evidence(urls, 5)[urls[0]], WorkerEvidence)
    assert worker.busy == 0


def test_a_worker_that_does_not_answer_is_an_error_in_its_place() -> None:
    assert isinstance(read_worker_evidence([url := "http://127.0.0.1:9"], 1)[url], Unreachable)


def test_of_a_worker_that_names_no_version_the_rest_is_known() -> None:
    with serve(FakeWorker(version="edge", enabled=True)) as urls:
        found = read_worker_evidence(urls, 5)[urls[0]]
    assert isinstance(found, WorkerEvidence)
    assert isinstance(found.version, Skipped)
    assert "'edge'" in found.version.reason
    assert found.enabled is True


def test_a_connector_that_is_failed_is_not_validated_as_its_worker_would_log_an_error() -> None:
    failed = FakeWorker(connectors={"w": None, "x": None}, failed=frozenset({"w"}))
    with serve(failed) as [url]:
        found = read_preflight([url], 5)
        assert found["x"] == Preflight({url: ()})
        assert found["w"] == Preflight({url: Skipped("connector w is FAILED, and its config is not validated")})
        assert live((url,), 30).source_support() is KnownPhase.ENABLED
    assert {body["name"] for method, _, body in failed.requests if method == "PUT" and body} == {"x"}


def test_connectors_are_validated_with_their_own_config_and_without_settings_of_the_worker() -> None:
    workers = [FakeWorker(enabled=False, connectors={"x": None, "y": "not supported"}) for _ in range(2)]
    with serve(*workers) as urls:
        assert read_preflight(urls, 5) == {"x": Preflight({urls[0]: ()}), "y": Preflight({urls[1]: ("not supported",)})}
    asked = [body for worker in workers for method, _, body in worker.requests if method == "PUT"]
    assert {(body["name"], body["exactly.once.support"]) for body in asked if body} == {
        ("x", "required"),
        ("y", "required"),
    }


def test_a_connector_that_cannot_be_validated_is_skipped_alone() -> None:
    class Failing(FakeWorker):
        def reply(self, method, path, body):
            return (
                (500, b'{"message":"timed out"}') if body and body["name"] == "y" else super().reply(method, path, body)
            )

    with serve(Failing(connectors={"x": None, "y": None})) as urls:
        found = read_preflight(urls, 5)
    assert found["x"] == Preflight({urls[0]: ()})
    [reason] = found["y"].unread
    assert "timed out" in reason.reason


def test_one_worker_of_each_set_of_versions_validates_a_config() -> None:
    first, second, third = (FakeWorker(plugin_versions=each) for each in (("1",), ("1", "2"), ("1", "2")))
    for worker in (first, second, third):
        worker.connectors = {"x": "no" if worker is first else None}
    with serve(first, second, third) as urls:
        assert read_preflight(urls, 5) == {"x": Preflight({urls[0]: ("no",), urls[1]: ()})}
