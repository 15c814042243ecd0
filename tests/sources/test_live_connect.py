"""A Connect cluster of which one worker does not answer: it is named in each answer, and not asked again."""

from eosctl.model.skipped import Skipped
from eosctl.sources.live_connect import LiveConnect
from tests.sources.fake_connect import FakeWorker, serve


def test_a_silent_worker_is_named_by_each_answer_and_not_asked_again() -> None:
    silent = FakeWorker(hangs=True)
    with serve(FakeWorker(), silent) as (answering, hanging):
        reader = LiveConnect((hanging, answering), 0.5)
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
