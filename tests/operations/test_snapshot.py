"""A snapshot of a cluster that changes or falls silent while it is read."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.snapshot import encode_snapshot
from eosctl.errors import NotAuthorized, Unreachable, UsageError
from eosctl.model.config_topic import ConfigTopicLog
from eosctl.model.evidence import InternalTopic, Snapshot
from eosctl.model.hanging import NO_LEADER, PendingCommit, ProducersFacts
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import ClusterFacts, PartitionOffsets
from eosctl.model.transaction_log import TransactionLogRecords
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    ListedTransactions,
    TransactionalIdAccess,
    TransactionListing,
    TransactionState,
)
from eosctl.operations.snapshot import SnapshotRequest, save_snapshot, show_snapshot, take_snapshot
from eosctl.sources.live_cluster import NO_BROKERS, NO_WORKERS
from eosctl.sources.saved_cluster import SavedCluster
from tests.fake_cluster import FakeCluster
from tests.operations.quiet import session_with

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OPEN = ActiveProducer(T0, ProducerIdAndEpoch(7, 0), 0, 5, None, 3)
ENDED = replace(OPEN, transaction_start_offset=None)
COMMIT = PendingCommit("readers", (T1,))


def cluster(**facts) -> FakeCluster:
    """Two partitions, an open transaction in the first."""
    given = {
        "cluster": ClusterFacts("K", {1: "b:9092"}, 900_000),
        "partitions": lambda wanted: {T0: 1, T1: 1},
        "producers": lambda leaders, **_: AnsweredProducers((OPEN,), ()),
        "offsets": lambda places: {place: PartitionOffsets(place, 0, 3, 9 if place == T0 else 3) for place in places},
        "first_timestamps": lambda offsets, leaders: dict.fromkeys(offsets, 5),
        "waiting_groups": lambda offsets: {},
        "pending_commits": lambda opened: {each.place: (COMMIT,) for each in opened},
        "access": TransactionalIdAccess((), None),
        "groups": {},
        "transactional_ids": ListedTransactions((), {}),
        "describe": dict.fromkeys,
        "transaction_log": TransactionLogRecords({}, 1, ()),
        "config_topic": lambda name: ConfigTopicLog(name, Skipped("-"), Skipped("-"), ()),
        "connect": NO_WORKERS,
        "worker_offsets_topic": None,
        "worker_clients": {},
        "worker_evidence": NO_WORKERS,
        "internal_topic": lambda role, name: InternalTopic(role, name, None),
    }
    return FakeCluster(as_of=7, group_id="g", **(given | facts))


def snapshot(**facts) -> Snapshot:
    return take_snapshot(session_with(cluster(**facts)), SnapshotRequest("file", "connect-configs"))


def producers(**facts) -> ProducersFacts:
    found = snapshot(**facts).producers
    assert isinstance(found, ProducersFacts)
    return found


def test_a_transaction_that_is_open_at_both_looks_is_kept_with_the_commits_that_it_holds_back() -> None:
    found = producers().partitions
    assert (found[T0].producers, found[T0].since_ms, found[T0].commits) == ((OPEN,), 5, {7: (COMMIT,)})
    assert (found[T1].leader, found[T1].producers, found[T1].since_ms, found[T1].commits) == (1, (), None, {})


def test_a_transaction_that_ends_between_two_looks_is_not_open() -> None:
    def looks(leaders, *, quiet=False):
        return AnsweredProducers((ENDED if quiet else OPEN,), ())

    assert producers(producers=looks).partitions[T0].producers == (ENDED,)


def test_a_partition_that_is_not_answered_for_any_more_has_no_leader_and_no_producers() -> None:
    def looks(leaders, *, quiet=False):
        return AnsweredProducers((), (T0,)) if quiet else AnsweredProducers((OPEN,), ())

    found = producers(producers=looks).partitions
    assert (found[T0].leader, found[T0].offsets, found[T0].producers) == (NO_LEADER, None, ())
    assert found[T1].leader == 1


def test_commits_that_could_not_be_read_are_not_none() -> None:
    denied = Skipped("denied")
    found = producers(pending_commits=lambda opened: {each.place: denied for each in opened}).partitions
    assert (found[T0].commits, found[T1].commits) == (denied, {})


def test_an_id_that_is_not_described_keeps_its_reason_and_one_that_is_gone_is_left_out() -> None:
    listed = [TransactionListing(name, 1, TransactionState.EMPTY, 1) for name in ("lost", "gone")]
    found = snapshot(
        transactional_ids=ListedTransactions(tuple(listed), {}, ("broker 2 is gone",)),
        describe=lambda names: {"lost": Unreachable("no coordinator"), "gone": None},
    )
    assert (found.transactions, found.unlisted) == ({"lost": Skipped("no coordinator")}, ("broker 2 is gone",))


def test_a_section_that_may_not_be_read_is_skipped_and_named_in_the_coverage() -> None:
    denied = NotAuthorized(principal="User:x", operation="Read", resource="Topic __transaction_state")
    found = snapshot(transaction_log=denied)
    assert found.transaction_log == Skipped(denied.message)
    assert ("transaction log", denied.message) in {(each.what, each.reason) for each in found.coverage.unread}


@pytest.mark.parametrize(
    ("answer", "error", "words"), [(NO_BROKERS, UsageError, "no cluster"), (Unreachable("gone"), Unreachable, "gone")]
)
def test_there_is_no_snapshot_of_a_cluster_that_is_not_named_or_not_reached(answer, error, words, tmp_path) -> None:
    file = tmp_path / "none.snapshot"
    with pytest.raises(error, match=words):
        save_snapshot(session_with(cluster(cluster=answer)), SnapshotRequest(file, "connect-configs"))
    assert not file.exists()


def test_a_file_holds_what_was_read_and_shows_what_it_was_saved_with(tmp_path) -> None:
    file = tmp_path / "now.snapshot"
    saved = save_snapshot(session_with(cluster()), SnapshotRequest(file, "connect-configs"))
    assert (saved.file, saved.snapshot.as_of, saved.snapshot.group_id) == (str(file), 7, "g")
    assert saved == show_snapshot(file)
    with pytest.raises(UsageError, match="exists already"):
        save_snapshot(session_with(cluster()), SnapshotRequest(file, "connect-configs"))
    assert list(encode_snapshot(saved.snapshot)) == file.read_text().splitlines()
    assert {each.what for each in saved.coverage.unread} >= {
        "connect",
        "offsets: topics connect-offsets",
        "config topic: facts",
    }


def test_a_saved_cluster_answers_the_finalized_features_that_were_read() -> None:
    levels = {"transaction.version": 1}
    saved = SavedCluster(snapshot(finalized_features=levels))
    assert saved.finalized_features() == levels
    assert "finalized features" in saved.coverage.asked
    unread = SavedCluster(snapshot(finalized_features=Skipped("gone")))
    assert unread.finalized_features() == Skipped("gone")
    assert [each.what for each in unread.coverage.gaps] == ["finalized features"]
