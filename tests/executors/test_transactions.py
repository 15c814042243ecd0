"""How an abort marker and a commit treat each answer; a request that may have succeeded is never sent again."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.clients.messages import Request
from eosctl.codecs.record_batches import EndTransactionMarker, MarkerType
from eosctl.errors import NotAuthorized, PartlyApplied, Refused, TimedOut, Unreachable
from eosctl.executors import transactions
from eosctl.executors.transactions import CommitChecks, commit_transaction, end_in_partition
from eosctl.model.names import ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.plan import AbortTransaction, CommitTransaction, WriteCommitMarker
from eosctl.model.preconditions import OpenPart, TransactionNow
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import TransactionState
from tests.fake_cluster import InTurn

S, PLACE = Side.SOURCE, TopicPartition("t", 0)


class Brokers:
    """Answers each request with the next answer to one of its name, and with the last from then on."""

    principal = "User:tool"

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = {name: InTurn(*each) for name, each in answers.items()}
        self.sent: list[str] = []

    def request(self, node_id: int, request: Request) -> Any:
        self.sent.append(request.name)
        return self.answers[request.name]()

    def request_any(self, request: Request) -> Any:
        return self.request(0, request)

    def access(self, timeout_s: float = 5) -> Any:
        return SimpleNamespace(wire=self, timeout_s=timeout_s)


def part(**fields: object) -> SimpleNamespace:
    return SimpleNamespace(topics=[SimpleNamespace(partitions=[SimpleNamespace(**{"error_code": 0} | fields)])])


def opened(*transactions_of: tuple[int, int], code: int = 0) -> SimpleNamespace:
    """DescribeProducers: producer ID and first offset of each; -1 is none."""
    active = [SimpleNamespace(producer_id=each, current_txn_start_offset=start) for each, start in transactions_of]
    return part(error_code=code, active_producers=active)


def stable(offset: int) -> SimpleNamespace:
    return part(offset=offset)


def marked(code: int = 0) -> SimpleNamespace:
    return SimpleNamespace(markers=[part(error_code=code)])


ABORT = AbortTransaction(S, "t", 0, 7, 1, 0, 40)
MARKER = "WriteTxnMarkers"


def aborted(
    monkeypatch: pytest.MonkeyPatch,
    timeout_s: float = 5,
    leaders: list[int] | None = None,
    step: AbortTransaction | WriteCommitMarker = ABORT,
    **answers: Any,
):
    """The step's result, and its requests; 0 recheck."""
    known = {"DescribeProducers": [opened((7, 40)), opened()], "ListOffsets": [stable(40), stable(50)]}
    brokers = Brokers(**(known | {MARKER: [marked()]} | answers))
    order = InTurn(*(leaders or [1]))
    monkeypatch.setattr(
        transactions,
        "partition_leaders",
        lambda *_: {PLACE: order()},
    )
    said = end_in_partition(step, lambda: brokers.sent.append("recheck"), access=brokers.access(timeout_s))
    return said, brokers.sent


def test_the_marker_is_written_after_the_recheck_and_the_partition_is_free_then(monkeypatch) -> None:
    said, sent = aborted(monkeypatch)
    assert said == "aborted; the last stable offset moved from 40 to 50"
    assert sent == ["DescribeProducers", "recheck", "ListOffsets", MARKER, "DescribeProducers", "ListOffsets"]


def test_a_missing_commit_marker_is_written_alike(monkeypatch) -> None:
    sent: list[bool] = []
    wanted = transactions.write_marker
    monkeypatch.setattr(
        transactions, "write_marker", lambda *args, commit: sent.append(commit) or wanted(*args, commit=commit)
    )
    missing = WriteCommitMarker(S, "t", 0, 7, 1, 0, 40, "id", 1)
    assert aborted(monkeypatch, step=missing)[0] == "committed; the last stable offset moved from 40 to 50"
    assert (aborted(monkeypatch)[0], sent) == ("aborted; the last stable offset moved from 40 to 50", [True, False])


@pytest.mark.parametrize("now", [opened(), opened((8, 40)), opened((7, -1))])
def test_a_producer_that_has_nothing_open_there_gets_no_marker(monkeypatch, now) -> None:
    said, sent = aborted(monkeypatch, DescribeProducers=[now])
    assert said.startswith("nothing to do")
    assert sent == ["DescribeProducers"]


@pytest.mark.parametrize("start", [0, 39, 41])
def test_another_transaction_of_the_same_producer_is_not_aborted(monkeypatch, start: int) -> None:
    with pytest.raises(Refused, match=f"has a transaction from offset {start} open in t-0, not from 40"):
        aborted(monkeypatch, DescribeProducers=[opened((7, start))])


def test_a_last_stable_offset_that_an_earlier_transaction_holds_is_reported(monkeypatch) -> None:
    said, _ = aborted(monkeypatch, ListOffsets=[stable(30)])
    assert said == "aborted; the last stable offset is still 30: an earlier transaction is open"


def test_the_marker_is_awaited_until_the_leader_has_another_transaction_or_none_and_has_let_go(monkeypatch) -> None:
    still = [opened((7, 40)), opened((7, 40)), opened((7, 60)), opened((7, 60))]
    said, sent = aborted(
        monkeypatch, DescribeProducers=still, ListOffsets=[stable(40), stable(40), stable(40), stable(60)]
    )
    assert said == "aborted; the last stable offset moved from 40 to 60"
    assert sent.count(MARKER) == 1


def test_a_leader_that_holds_the_transaction_past_the_deadline_is_reported_with_its_marker(monkeypatch) -> None:
    with pytest.raises(TimedOut, match="the marker is written, but the last stable offset of t-0 is still 40"):
        aborted(monkeypatch, 0.05, ListOffsets=[stable(40)])


@pytest.mark.parametrize(
    ("code", "error", "why"),
    [
        (31, NotAuthorized, "Alter"),
        (47, Refused, "takes no marker for epoch 1 of producer 7"),
        (52, Refused, "a newer coordinator wrote to t-0"),
        (29, NotAuthorized, "ClusterAction"),
    ],
)
def test_a_marker_that_is_refused_is_not_written_again(monkeypatch, code: int, error, why: str) -> None:
    with pytest.raises(error, match=why):
        aborted(monkeypatch, WriteTxnMarkers=[marked(code), marked()])


@pytest.mark.parametrize("code", [3, 5, 6, 7, 19, 20])
def test_a_leader_that_moved_or_cannot_write_yet_is_asked_again(monkeypatch, code: int) -> None:
    said, sent = aborted(
        monkeypatch,
        DescribeProducers=[opened(code=code), opened((7, 40)), opened()],
        ListOffsets=[part(error_code=code, offset=-1), stable(40), stable(50)],
        WriteTxnMarkers=[marked(code), marked()],
        leaders=[-1, 1],
    )
    assert said.startswith("aborted")
    assert sent.count(MARKER) == 2


def test_an_unauthorized_read_is_named(monkeypatch) -> None:
    with pytest.raises(NotAuthorized, match="Read"):
        aborted(monkeypatch, DescribeProducers=[opened(code=29)])
    with pytest.raises(NotAuthorized, match="Describe"):
        aborted(monkeypatch, ListOffsets=[part(error_code=29, offset=-1)])
    with pytest.raises(TimedOut, match="t-0 has no leader"):
        aborted(monkeypatch, 0.05, leaders=[-1])


LAST = OpenPart("t", 0, 40, 9)
COMMIT = CommitTransaction(S, "x", 7, 1, 5, 1, (LAST,))
ONGOING = TransactionNow(TransactionState.ONGOING, ProducerIdAndEpoch(7, 1), 5, {PLACE: LAST})
PREPARED = replace(ONGOING, state=TransactionState.PREPARE_COMMIT, parts={})
COMPLETE = replace(PREPARED, state=TransactionState.COMPLETE_COMMIT)
NEXT = replace(ONGOING, started_ms=6)
ENDED, COORDINATOR = "EndTxn", "FindCoordinator"


def answered(code: int = 0, producer_id: int = -1, epoch: int = -1) -> SimpleNamespace:
    return SimpleNamespace(error_code=code, producer_id=producer_id, producer_epoch=epoch)


def coordinated(code: int = 0) -> SimpleNamespace:
    return SimpleNamespace(coordinators=[SimpleNamespace(error_code=code, node_id=1)])


def marker(kind: MarkerType = MarkerType.COMMIT, epoch: int = 1) -> EndTransactionMarker:
    return EndTransactionMarker(50, 0, kind, 7, epoch, 0)


def committed(
    looks: list[Any],
    ends: list[Any] | None = None,
    *,
    step: CommitTransaction = COMMIT,
    found: list[Any] | None = None,
    markers: Mapping[TopicPartition, EndTransactionMarker | Skipped | None] | None = None,
    stable_offsets: tuple[int, int] = (40, 51),
    timeout_s: float = 5,
) -> tuple[str, list[str]]:
    """The step's result, and its actions; each look at the coordinator gets the next of these results."""
    brokers = Brokers(
        **{"look": looks, ENDED: ends or [answered()], COORDINATOR: found or [coordinated()]},
        offsets=[{PLACE: PartitionOffsets(PLACE, 0, each, 60)} for each in stable_offsets],
    )

    def look(*_: object) -> TransactionNow:
        brokers.sent.append("look")
        now: TransactionNow = brokers.answers["look"]()
        return now

    proofs = {PLACE: marker()} if markers is None else markers
    checks = CommitChecks(look, lambda *_: brokers.answers["offsets"](), lambda *_: proofs)
    return (
        commit_transaction(
            step, lambda: brokers.sent.append("recheck"), access=brokers.access(timeout_s), checks=checks
        ),
        brokers.sent,
    )


def test_a_transaction_is_committed_once_and_its_markers_are_shown() -> None:
    said, sent = committed([ONGOING, PREPARED, COMPLETE])
    assert said == "committed; commit markers: t-0 at 50 (last stable offset 40 to 51)"
    assert sent == ["look", "recheck", COORDINATOR, ENDED, "look", "look"]


@pytest.mark.parametrize("looks", [[COMPLETE], [PREPARED, PREPARED, COMPLETE]])
def test_a_committed_transaction_is_only_read(looks) -> None:
    said, sent = committed(looks, stable_offsets=(51, 51))
    assert said == "nothing to do: it is committed already; commit markers: t-0 at 50 (last stable offset 51)"
    assert set(sent) == {"look"}


def test_the_next_producer_is_reported_if_the_end_raises_the_epoch() -> None:
    said, _ = committed(
        [ONGOING, COMPLETE], [answered(producer_id=7, epoch=2)], step=replace(COMMIT, transaction_version=2)
    )
    assert said.startswith("committed, the producer that follows is 7/2; ")


@pytest.mark.parametrize("first", [answered(14), answered(15), answered(16), answered(51), Unreachable("no answer")])
def test_an_end_that_was_not_done_is_sent_again_only_after_another_look(first) -> None:
    """Up to transaction.version 1 a second EndTxn ends the producer's next transaction."""
    said, sent = committed([ONGOING, ONGOING, COMPLETE], [first, answered()])
    assert said.startswith("committed; ")
    assert sent == ["look", "recheck", COORDINATOR, ENDED, "look", COORDINATOR, ENDED, "look"]


@pytest.mark.parametrize("now", [PREPARED, COMPLETE])
def test_an_end_whose_answer_was_lost_is_not_sent_again_where_it_was_done(now) -> None:
    said, sent = committed([ONGOING, now, COMPLETE], [Unreachable("no answer"), answered()])
    assert said.startswith("committed; ")
    assert sent.count(ENDED) == 1


@pytest.mark.parametrize(
    "now",
    [NEXT, TransactionNow(None), replace(ONGOING, parts={PLACE: OpenPart("t", 0, 40, 10)}),
     replace(ONGOING, state=TransactionState.COMPLETE_ABORT), replace(ONGOING, parts={PLACE: Skipped("no leader")})],
)  # fmt: skip
def test_an_end_whose_answer_was_lost_is_never_sent_to_another_transaction(now) -> None:
    with pytest.raises(Refused, match="EndTxn may have been carried out, and is not sent again"):
        committed([ONGOING, now], [Unreachable("no answer"), answered()])


def test_a_coordinator_that_does_not_answer_is_asked_again() -> None:
    said, sent = committed([ONGOING, Unreachable("gone"), COMPLETE], [Unreachable("no answer"), answered()])
    assert said.startswith("committed; ")
    assert sent.count(ENDED) == 1
    with pytest.raises(TimedOut, match="does not answer; whether it is committed is not known"):
        committed([ONGOING, Unreachable("gone")], [Unreachable("no answer")], timeout_s=0.1)


@pytest.mark.parametrize("code", [47, 48, 49, 90])
def test_a_commit_that_is_refused_committed_nothing(code: int) -> None:
    with pytest.raises(Refused, match=r"refuses the commit of producer 7/1 with .*: it committed nothing"):
        committed([ONGOING], [answered(code), answered()])


def test_an_acl_that_is_missing_is_named() -> None:
    with pytest.raises(NotAuthorized, match="Write"):
        committed([ONGOING], [answered(53)])
    with pytest.raises(NotAuthorized, match="Describe"):
        committed([ONGOING], found=[coordinated(53)])


def test_a_coordinator_that_moves_is_found_again() -> None:
    said, sent = committed([ONGOING, COMPLETE], found=[coordinated(15), coordinated()])
    assert said.startswith("committed; ")
    assert sent.count(COORDINATOR) == 2
    with pytest.raises(TimedOut, match="no broker coordinates x"):
        committed([ONGOING], found=[coordinated(15)], timeout_s=0.05)


def test_a_decided_commit_is_reported_as_final_although_markers_are_missing() -> None:
    with pytest.raises(TimedOut, match="is decided and cannot be revoked"):
        committed([ONGOING, PREPARED], timeout_s=0.1)


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (marker(), None),
        (marker(epoch=2), None),
        (marker(epoch=0), "COMMIT marker of epoch 0 at offset 50"),
        (marker(epoch=3), "COMMIT marker of epoch 3 at offset 50"),
        (marker(MarkerType.ABORT), "ABORT marker of epoch 1 at offset 50"),
        (None, "no marker of the producer"),
    ],
)
def test_a_partition_without_the_commit_marker_of_the_producer_is_not_committed(found, fault: str | None) -> None:
    if fault is None:
        assert "commit markers: t-0 at 50" in committed([ONGOING, COMPLETE], markers={PLACE: found})[0]
        return
    with pytest.raises(PartlyApplied) as partly:
        committed([ONGOING, COMPLETE], markers={PLACE: found})
    assert partly.value.message == f"x is CompleteCommit, and not all partitions show it: t-0: {fault}"


def test_a_partition_that_was_not_read_is_reported_as_unread() -> None:
    said, _ = committed([ONGOING, COMPLETE], markers={PLACE: Skipped("no Read on t")})
    assert said.startswith("committed; commit markers: t-0 not ")
    assert said.endswith(": no Read on t")


def test_a_partition_that_an_earlier_transaction_holds_back_is_reported() -> None:
    said, _ = committed([ONGOING, COMPLETE], stable_offsets=(40, 40))
    assert said.endswith("t-0 at 50 (last stable offset still 40: an earlier transaction is open)")


def test_a_transaction_that_is_open_behind_another_one_is_awaited_though_it_does_not_hold_the_offset(
    monkeypatch,
) -> None:
    """Where an earlier transaction holds the last stable offset, only the leader's list shows the end."""
    still = [opened((7, 40)), opened((7, 40)), opened((7, 40)), opened()]
    said, sent = aborted(monkeypatch, DescribeProducers=still, ListOffsets=[stable(30), stable(30), stable(45)])
    assert said == "aborted; the last stable offset moved from 30 to 45"
    assert sent.count("DescribeProducers") == 4


@pytest.mark.parametrize(("version", "raises"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_end_raises_the_epoch_from_transaction_version_2_on(monkeypatch, version: int, raises: bool) -> None:
    asked: list[bool] = []
    real = transactions.end_transaction

    def ask(*given: Any, raises_epoch: bool, **named: Any) -> Any:
        asked.append(raises_epoch)
        return real(*given, raises_epoch=raises_epoch, **named)

    monkeypatch.setattr(transactions, "end_transaction", ask)
    committed([ONGOING, COMPLETE], step=replace(COMMIT, transaction_version=version))
    assert asked == [raises]


@pytest.mark.parametrize(
    ("before", "since"),
    [({PLACE: PartitionOffsets(PLACE, 0, 40, 60)}, {PLACE: 60}), ({}, {PLACE: 40})],
    ids=["looked at before", "committed by an earlier run"],
)
def test_markers_lie_behind_what_was_there_before_or_behind_the_first_record(before, since) -> None:
    empty = OpenPart("empty", 0, -1, -1)
    asked: list[Any] = []

    def markers(_: object, __: object, given: Any) -> Any:
        asked.append(given)
        return {PLACE: marker()}

    after = {PLACE: PartitionOffsets(PLACE, 0, 51, 60)}
    checks = CommitChecks(lambda *_: COMPLETE, lambda *_: after, markers)
    step = replace(COMMIT, parts=(*COMMIT.parts, empty))
    transactions._Commit(Brokers().access(), step, checks).prove(before)
    assert asked == [since]
