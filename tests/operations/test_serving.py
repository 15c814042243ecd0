"""What becomes of a cycle that fails, and of what is warned of."""

import threading

import pytest

from eosctl.analysis.metrics.catalogue import METRICS, UNREAD, UNREAD_FACTS
from eosctl.errors import ConfigError
from eosctl.exporter.exporter import Board
from eosctl.exporter.otlp import OtlpPush
from eosctl.model.watch import Cycle, Observation, Sample
from eosctl.operations.evidence_request import EvidenceRequest
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.watch import Faces, Listening, Watched, _Once, _Pushing, _Watch, watch_clusters
from tests.exporter.collector import collecting
from tests.operations.quiet import Quiet
from tests.waiting import eventually

FAILURES = [ConfigError("the file of profiles is gone"), ValueError("password=geheim")]


class Kept(Quiet):
    """A reporter that keeps what is said."""

    def __init__(self):
        self.said = []

    def narrate(self, text, *, verbosity=0):
        self.said.append(text)

    def warn(self, text):
        self.said.append(text)


def failing(monkeypatch, failures, rounds):
    """What is published and said by so many cycles, each of which fails with the next of these errors."""
    ended, published, console = threading.Event(), [], Kept()
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({}))

    def fail(*_):
        raise failures[min(len(published), len(failures) - 1)]

    def publish(_, observation, lifetime_s):
        published.append(observation)
        if len(published) == rounds:
            ended.set()

    monkeypatch.setattr(Watched, "session", fail)
    monkeypatch.setattr(Board, "publish", publish)
    _Watch(watched, _Once(console, console), Board(), 0.0).run(ended)
    return published, console.said


@pytest.mark.parametrize(("failure", "said"), [(FAILURES[0], "the file of profiles is gone"), (FAILURES[1], "a bug")])
def test_a_cycle_that_fails_is_published_as_unread_and_the_next_one_comes(monkeypatch, failure, said):
    published, lines = failing(monkeypatch, [failure], 2)
    assert len(published) == 2
    assert any(each.metric == UNREAD for each in published[0].samples)
    assert said in lines[0]
    assert "geheim" not in lines[0]


def test_what_stays_unread_is_said_once_and_something_else_is_said_when_it_comes(monkeypatch):
    _, lines = failing(monkeypatch, [ConfigError("one")] * 3 + [ConfigError("two")], 5)
    assert [line.rpartition(": ")[2] for line in lines] == ["one", "two"]


def test_nothing_is_served_where_no_cycle_could_begin():
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({}))
    with pytest.raises(Exception, match="no cluster was named"):
        watch_clusters([watched], Listening("127.0.0.1:0", False, 1.0), Quiet(), Faces())


def test_each_cycle_is_pushed_and_a_collector_that_refuses_is_warned_of_once():
    board, console, ended = Board(), Kept(), threading.Event()
    with collecting() as collector:
        collector.status = 401
        pushing = _Pushing(OtlpPush(collector.url, METRICS), collector.url, board, console)
        thread = threading.Thread(target=pushing.run, args=(ended, 0.02))
        thread.start()
        try:
            assert collector.bodies == [], "nothing is pushed before the first cycle"
            board.publish(observed(3), 60)
            eventually(lambda: len(collector.bodies) > 2, "what is refused to be pushed again")
            collector.status = 200
            eventually(lambda: len(console.said) == 2, "the success to be said")
            board.publish(observed(0), 60)
            eventually(lambda: collector.series() == {"eosctl_unread_facts": {(("profile", ""),): 0}}, "the next cycle")
        finally:
            ended.set()
            thread.join()
    assert console.said[0].startswith(f"metrics were not pushed to {collector.url}: ")
    assert "401" in console.said[0]
    assert console.said[1:] == [f"metrics are pushed to {collector.url} again"]


def observed(unread):
    """A cycle in which so many facts were not read."""
    samples = (Sample(UNREAD_FACTS, (), unread),)
    return Observation(profile="", cycle=Cycle(1, 1, {}), cluster_id="K", samples=samples, when_stale=())
