"""One cycle of `watch` on a cluster that answers from a dict, and what becomes of a command that cannot answer."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.rules.registry import diagnose
from eosctl.errors import NotAuthorized, Unreachable, UsageError
from eosctl.model.config_topic import ClusterFacts, ConfigTopicLog
from eosctl.model.evidence import InternalTopic
from eosctl.model.hanging import TransactionalIdAccess
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Coverage, Skipped, not_asked
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import LogReading, TransactionLogRecords
from eosctl.model.transactions import TransactionDescription, TransactionState
from eosctl.model.watch import Answers, Cycle
from eosctl.operations.evidence_request import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.watch import Watched, observation, observe
from tests.analysis.evidence import but, commits
from tests.fake_cluster import FakeCluster
from tests.ledger.ledgers import read_up_to
from tests.operations.quiet import Quiet
from tests.operations.transactions import HERE, NOW, THERE, active, cluster, described

OWNED = ("orders", "0", "g-x-0", "", "")
TWO_MINUTES_AGO = NOW - 120_000
FACTS = {
    "cluster": ClusterFacts("K", {1: "b:9092"}, 900_000),
    "worker_offsets_topic": lambda: None,
    "internal_topic": lambda role, name: InternalTopic(role, name, None),
    "config_topic": lambda name: ConfigTopicLog(name, TopicFacts(name, 1, 3, {}), not_asked("-"), ()),
    "transaction_log": lambda names, after: TransactionLogRecords({}, 1, (), {}),
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


def test_what_holds_the_last_stable_offset_back_is_named_with_its_age():
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


def test_what_hangs_is_counted_and_named_with_the_advice():
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


def test_what_may_not_be_seen_is_unread_and_no_0():
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


def test_what_one_command_could_not_read_is_not_missing_in_another():
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


def test_each_answer_says_when_it_was_read():
    assert values(observed(), metrics.READ_AS_OF) == {
        (command,): NOW / 1000
        for command in ("doctor", "transactions list", "transactions hanging", "transactions lso")
    }
