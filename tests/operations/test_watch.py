"""A watch: samples, pages and sessions."""

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.catalogue import METRICS, UNREAD, UNREAD_FACTS
from eosctl.analysis.rules.registry import diagnose
from eosctl.errors import ConfigError, NotAuthorized, Refused, Unreachable, UsageError
from eosctl.exporter.exporter import Board
from eosctl.exporter.otlp import OtlpPush
from eosctl.model.config_topic import ConfigTopicLog
from eosctl.model.evidence import InternalTopic
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Coverage, Skipped, not_asked
from eosctl.model.topics import ClusterFacts, TopicFacts
from eosctl.model.transaction_log import LogReading, TransactionLogRecords
from eosctl.model.transactions import TransactionalIdAccess, TransactionDescription, TransactionState
from eosctl.model.watch import Answers, Cycle, Observation, Sample
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.operations.watch import (
    CHURN_EVERY_MS,
    Faces,
    Listening,
    Watched,
    _Once,
    _Pushing,
    _Watch,
    observation,
    observe,
    watch_clusters,
)
from tests.analysis.evidence import but, commits
from tests.analysis.test_producer_epochs import Log
from tests.exporter.collector import collecting
from tests.fake_cluster import FakeCluster
from tests.ledger.test_ledger import read_up_to
from tests.operations.conversation import Conversation
from tests.operations.quiet import Quiet
from tests.operations.test_transactions import HERE, NOW, THERE, active, cluster, described
from tests.waiting import eventually

OWNED = ("orders", "0", "g-x-0", "", "")
TWO_MINUTES_AGO = NOW - 120_000
FACTS = {
    "cluster": ClusterFacts("K", {1: "b:9092"}, 900_000),
    "worker_offsets_topic": lambda: None,
    "internal_topic": lambda role, name: InternalTopic(role, name, None),
    "config_topic": lambda name: ConfigTopicLog(name, TopicFacts(name, 1, 3, {}), not_asked("-"), ()),
    "transaction_log": lambda names, after=None: TransactionLogRecords({}, 1, (), {}),
}


class FakeSession(Session):
    """A session that reads from a dict."""

    def __init__(self, reader: FakeCluster) -> None:
        super().__init__(SessionOptions(Quiet()))
        self._fake = reader

    @property
    def reader(self) -> FakeCluster:
        return self._fake

    def ask_again(self) -> None:
        self._fake._coverage = Coverage()


def observed(*looks, store=None, last_success=None, **facts):
    """One cycle on a cluster with these facts, in which each question finds the same producers open."""
    reader = cluster(*(looks or [[]] * 5), **(FACTS | facts))
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({}), store)
    return observe(watched, FakeSession(reader), last_success)


def values(found, metric):
    return {each.labels: each.value for each in found.samples if each.metric == metric}


def test_the_transaction_that_holds_the_last_stable_offset_is_named_with_its_age():
    found = observed(
        *[[active()]] * 5,
        listed={"g-x-0": 9},
        answers={"g-x-0": described("g-x-0", 9, HERE)},
        first_timestamps={HERE: TWO_MINUTES_AGO},
    )
    assert values(found, metrics.LSO_HELD)[OWNED] == 120
    assert values(found, metrics.LSO_LAG)["orders", "0"] == 4
    assert values(found, metrics.LSO_HELD_PARTITIONS) == {(): 2}
    assert values(found, metrics.OPEN_AGE) == {("g-x-0", "", "", "Ongoing"): 3600}
    assert values(found, metrics.OPEN_TRANSACTIONS) == {(): 1}
    assert values(found, metrics.HANGING) == {(): 0}


def test_hanging_transactions_are_counted_and_named_with_the_advice():
    found = observed(*[[active()]] * 5)
    assert values(found, metrics.HANGING) == {(): 1}
    assert values(found, metrics.HANGING_AGE) == {("orders", "0", "9", "", "", "", "abort"): 3600}


def test_nothing_open_is_a_0_where_all_was_read():
    found = observed()
    assert values(found, metrics.OPEN_TRANSACTIONS) == {(): 0}
    assert values(found, metrics.HANGING) == {(): 0}
    assert values(found, metrics.TRANSACTIONAL_IDS)["Ongoing",] == 0


def test_nothing_open_is_no_0_where_a_coordinator_did_not_answer():
    found = observed(unlisted=("broker 3 did not answer",))
    for metric in (metrics.OPEN_TRANSACTIONS, metrics.TRANSACTIONAL_IDS, metrics.EPOCHS_NEAR_END):
        assert values(found, metric) == {}, metric.name
    assert ("transactions list", "transactional_ids", "unreachable") in values(found, metrics.UNREAD)
    assert exit_code(found) == 3


def test_a_hanging_transaction_stays_visible_where_another_partition_has_no_leader():
    found = observed(*[[active()]] * 5, partitions={HERE: 1, THERE: -1})
    assert values(found, metrics.HANGING) == {(): 1}


DUE_MS = 60_000


def observed_with_churn(at, churn=None, **facts):
    """A cycle with --churn at this time, of an ID that was used twice, and is forgotten a minute after its last use."""
    log = Log("app-0").add(TransactionState.EMPTY, 0).commit(0).commit(0)
    records = TransactionLogRecords({0: 1}, DUE_MS, log.records)
    reader = cluster(*[[]] * 5, **{**FACTS, "as_of": at, "transaction_log": lambda *_, **__: records, **facts})
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({}), with_churn=True, churn=churn)
    return observe(watched, FakeSession(reader))


def test_ids_of_any_application_that_expire_soon_are_read_once_an_hour():
    assert values(observed(), metrics.IDS_EXPIRING) == {}
    first = observed_with_churn(NOW)
    assert values(first, metrics.IDS_EXPIRING) == {}, "it is not due"
    later = observed_with_churn(NOW + CHURN_EVERY_MS - 1, first.churn)
    assert (later.churn is first.churn, values(later, metrics.IDS_EXPIRING)) == (True, {})
    found = observed_with_churn(NOW + CHURN_EVERY_MS, first.churn)
    assert values(found, metrics.IDS_EXPIRING) == {("app",): 1}
    assert values(found, metrics.READ_AS_OF)["transactions churn",] == (NOW + CHURN_EVERY_MS) / 1000
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({}), with_churn=True).continuing(found.log, found.churn)
    assert watched.churn is found.churn


def test_a_churn_that_could_not_be_read_is_unread_and_the_one_before_is_kept():
    first = observed_with_churn(NOW)
    denied = NotAuthorized(principal="a", operation="Read", resource="Topic b")
    found = observed_with_churn(NOW + CHURN_EVERY_MS, first.churn, transaction_log=denied)
    assert ("transactions churn", "the whole answer", "denied") in values(found, metrics.UNREAD)
    assert found.churn is first.churn


def test_a_hidden_fact_is_unread_and_no_0():
    found = observed(access=TransactionalIdAccess(("payments",), None))
    assert values(found, metrics.HANGING) == {}
    assert ("transactions hanging", "the whole answer", "denied") in values(found, metrics.UNREAD)


def test_one_command_that_fails_leaves_the_others_their_metrics():
    refused = NotAuthorized(principal="User:tool", operation="Describe", resource="Topic *")
    found = observed(offsets=refused)
    assert values(found, metrics.OPEN_TRANSACTIONS) == {(): 0}
    assert values(found, metrics.LSO_HELD_PARTITIONS) == {}
    assert ("transactions lso", "the whole answer", "denied") in values(found, metrics.UNREAD)


def test_a_cluster_that_does_not_answer_is_asked_once():
    asked = []

    def silent():
        asked.append(1)
        raise Unreachable("b:9092 does not answer")

    found = observed(cluster=silent, last_success=NOW - 30_000)
    assert len(asked) == 1
    assert values(found, metrics.UNREAD_FACTS) == {(): 5}
    assert values(found, metrics.LAST_SUCCESS) == {(): NOW / 1000 - 30}
    assert exit_code(found) == 3


def test_an_unread_fact_of_one_command_is_not_missing_in_another():
    found = observed(broker_settings=Skipped("b:9092 does not answer", Cause.UNREACHABLE))
    lacking = {command for command, what, _ in values(found, metrics.UNREAD) if what == "broker_settings"}
    assert lacking == {"doctor"}
    assert values(found, metrics.OPEN_TRANSACTIONS) == {(): 0}


def test_epochs_near_their_end_are_counted():
    old = TransactionDescription("t", TransactionState.EMPTY, ProducerIdAndEpoch(9, 32_500), 60_000, None, (), 1)
    found = observed(listed={"t": 9}, answers={"t": old})
    assert values(found, metrics.EPOCHS_NEAR_END) == {(): 1}


def test_without_a_connect_cluster_no_offsets_are_asked_for():
    assert not any(command == "offsets show" for command, _, _ in values(observed(), metrics.UNREAD))


def test_the_verdicts_of_the_last_audits_are_those_of_the_ledger(tmp_path):
    from eosctl.operations.audit_history import open_job_ledger

    store = f"sqlite:///{tmp_path}/ledger"
    read_up_to(open_job_ledger(store), "nightly", 10)
    assert values(observed(store=store), metrics.AUDIT_VERDICT)["nightly", "held"] == 1
    lost = observed(store=f"sqlite:///{tmp_path}/none")
    assert values(lost, metrics.AUDIT_VERDICT) == {}
    assert any(command == "audit status" for command, _, _ in values(lost, metrics.UNREAD))


def test_no_cluster_is_a_usage_error():
    with pytest.raises(UsageError, match="no cluster was named"):
        Watched(SessionOptions(Quiet()), EvidenceRequest({})).session(Quiet())


def test_a_cycle_continues_the_reading_of_the_transaction_log_and_keeps_it_where_it_could_not_read_it():
    known, now = LogReading(commits={"g-x-0": commits(days=20)}), LogReading(commits={"g-x-0": commits(silent_ms=5)})
    watched = Watched(SessionOptions(Quiet()), EvidenceRequest({})).continuing(known)
    lost = Skipped("__transaction_state-3 has no leader")

    def after(diagnosis):
        return observation(watched, replace(Answers.none(lost), diagnosis=diagnosis), Cycle(NOW, 1, {})).log

    assert after(diagnose(but(log_reading=now))) == now
    assert after(diagnose(but(commits=lost))) == known
    assert after(lost) == known


def test_each_answer_has_the_time_of_its_reading():
    assert values(observed(), metrics.READ_AS_OF) == {
        (command,): NOW / 1000
        for command in ("doctor", "transactions list", "transactions hanging", "transactions lso")
    }


FAILURES = [ConfigError("the file of profiles is gone"), ValueError("password=geheim")]


class Kept(Quiet):
    """A reporter that keeps the messages."""

    def __init__(self):
        self.said = []

    def narrate(self, text, *, verbosity=0):
        self.said.append(text)

    def warn(self, text):
        self.said.append(text)


def failing(monkeypatch, failures, rounds):
    """The samples and messages of this many cycles, each of which fails with the next of these errors."""
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


def test_a_repeated_error_is_reported_once_and_a_new_one_when_it_comes(monkeypatch):
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
            board.publish(cycle_without(3), 60)
            eventually(lambda: len(collector.bodies) > 2, "what is refused to be pushed again")
            collector.status = 200
            eventually(lambda: len(console.said) == 2, "the success to be said")
            board.publish(cycle_without(0), 60)
            eventually(lambda: collector.series() == {"eosctl_unread_facts": {(("profile", ""),): 0}}, "the next cycle")
        finally:
            ended.set()
            thread.join()
    assert console.said[0].startswith(f"metrics were not pushed to {collector.url}: ")
    assert "401" in console.said[0]
    assert console.said[1:] == [f"metrics are pushed to {collector.url} again"]


def cycle_without(unread):
    """A cycle with this many unread facts."""
    samples = (Sample(UNREAD_FACTS, (), unread),)
    return Observation(profile="", cycle=Cycle(1, 1, {}), cluster_id="K", samples=samples, when_stale=())


def session() -> Session:
    """A session that knows how it connects."""
    made = Session(SessionOptions(console=Conversation(), bootstrap_servers="b:9092"))
    assert made.client_properties.bootstrap_servers == ("b:9092",)
    return made


def denied(hint: str | None = None) -> NotAuthorized:
    return NotAuthorized(principal="User:tool", operation="Read", resource="Topic orders", hint=hint)


LINE = "kafka-acls.sh --bootstrap-server {} --add --allow-principal=User:tool --operation=Read --topic=orders"


def test_a_missing_acl_ends_with_the_command_that_grants_it():
    with pytest.raises(NotAuthorized) as caught, session():
        raise denied()
    assert caught.value.hint == f"grant it with: {LINE.format('b:9092')}"


def test_the_hint_of_a_denial_is_kept():
    with pytest.raises(NotAuthorized) as caught, session():
        raise denied("without it nothing is seen")
    assert caught.value.hint == f"without it nothing is seen\ngrant it with: {LINE.format('b:9092')}"


def test_where_two_clusters_are_asked_the_command_names_neither():
    source, target = session(), TargetOptions(bootstrap_server="other:9092")
    with pytest.raises(NotAuthorized) as caught, source, SourceAndTarget(source, "connect-configs", target):
        raise denied()
    assert caught.value.hint == f"grant it with: {LINE.format('HOST:PORT')}"


def test_other_errors_are_left_as_they_are():
    with pytest.raises(Refused) as caught, session():
        raise Refused("no")
    assert caught.value.hint is None


def test_a_session_that_asked_no_broker_adds_nothing():
    unused = Session(SessionOptions(console=Conversation(), command_config=Path("is-not-there")))
    with pytest.raises(NotAuthorized) as caught, unused:
        raise denied()
    assert caught.value.hint is None
