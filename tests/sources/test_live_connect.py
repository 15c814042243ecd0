"""A Connect cluster of which one worker does not answer: it is named in each answer, and not asked again.

And how often a worker is probed, and how long one is waited for whose answer can be done without.
"""

from typing import TypeVar

import pytest

from eosctl.analysis.offsets import OffsetsFold
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.errors import NotAuthorized, UsageError
from eosctl.model.offsets import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.sources.cluster_reader import KeptFacts
from eosctl.sources.live_cluster import LiveCluster, soon
from tests.live_reader import WireConnections, no_progress
from tests.sources.fake_connect import FakeWorker, serve

Reader = TypeVar("Reader", bound=LiveCluster)


def live(
    urls: tuple[str, ...], timeout_s: float, kept: KeptFacts | None = None, kind: type[Reader] = LiveCluster
) -> Reader:
    """Reads what these workers answer; no broker is asked."""
    reach = WireConnections(None, None, 0, urls, timeout_s)  # type: ignore[arg-type]  # neither is used
    return kind(reach, "connect-cluster", no_progress, OffsetsFold, kept=kept)


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
        assert session(url, frozenset({"connect-1"})) == (SourceSupport.ENABLED, 1)
        assert session(url, frozenset({"connect-1"})) == (SourceSupport.ENABLED, 0)
        worker.enabled = False
        assert session(url, frozenset({"connect-2"})) == (SourceSupport.DISABLED, 1)
        assert session(url, None) == (SourceSupport.DISABLED, 1), "nobody knows whether it is the same process"
        assert session(url, None) == (SourceSupport.DISABLED, 1)


def test_one_reader_probes_a_worker_once():
    worker = FakeWorker()
    with serve(worker) as [url]:
        reader = live((url,), 30)
        assert reader.source_support() is SourceSupport.ENABLED
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
