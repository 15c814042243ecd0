"""What workers say about themselves, in parallel, over loopback."""

from threading import Barrier

from eosctl.errors import TimedOut, Unreachable
from eosctl.model.evidence import Preflight, WorkerEvidence
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.sources.connect_rest import read_preflight, read_worker_evidence
from tests.sources.fake_connect import PLUGIN, FakeWorker, serve


def test_the_probe_tells_enabled_from_the_rest_on_each_worker() -> None:
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


def test_a_rebalance_is_waited_for() -> None:
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


def test_connectors_are_validated_with_their_own_config_and_without_what_the_worker_says_of_itself() -> None:
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
