"""A probe: the test after each answer, the reason where no further test is possible, and the remains."""

from collections import defaultdict, deque
from collections.abc import Iterable
from types import SimpleNamespace as Answer
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.errors import NotAuthorized, TimedOut, Undecodable, Unreachable, Unsupported, UsageError
from eosctl.executors import probe
from eosctl.executors.probe import ProbeOutcome, ProbeRun, Scratch
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.probe import Initialised, Look, Observations, ProbePlan, Raised, Refusal
from eosctl.model.records import Shown
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import ActiveProducer, TransactionState

PLAN = ProbePlan("scratch", 1, 1_790_000_000_000)
PLACE = TopicPartition("scratch", 0)
LOOK = Look(0, 2, 2, Shown.RETURNED, "commit")
DENIED = NotAuthorized(principal="User:tool", operation="Write", resource="TransactionalId scratch")
REFUSED = Refusal("InitProducerId", 42, "INVALID_REQUEST")
FENCED = Refusal("EndTxn", 90, "PRODUCER_FENCED")


class Cluster:
    """A scratch of a healthy Kafka: each initialisation raises the epoch; `answers` come first, by the call's name."""

    def __init__(self, answers: dict[str, Iterable[Any]]) -> None:
        self.answers = defaultdict(deque[Any], {name: deque(each) for name, each in answers.items()})
        self.asked: list[tuple[Any, ...]] = []
        self.epoch = 0

    def _ask(self, name: str, usual: Any, *given: Any) -> Any:
        self.asked.append((name, *given))
        answer = self.answers[name].popleft() if self.answers[name] else usual
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def initialise(self, timeout_ms: int) -> Any:
        self.epoch += 1
        return self._ask("initialise", Initialised(ProducerIdAndEpoch(7, self.epoch), 1.5), timeout_ms)

    def describe(self) -> Any:
        return self._ask("describe", Refusal("DescribeTransactions", 105, "TRANSACTIONAL_ID_NOT_FOUND"))

    def listed(self) -> Any:
        return self._ask("listed", TransactionState.ONGOING)

    def producers(self) -> Any:
        return self._ask("producers", (ActiveProducer(PLACE, ProducerIdAndEpoch(7, self.epoch), 0, 1, 3, 0),))

    def add_partition(self, producer: ProducerIdAndEpoch) -> Any:
        return self._ask("add", None if producer.producer_epoch == self.epoch else FENCED, producer.producer_epoch)

    def write(self, producer: ProducerIdAndEpoch, *, adds: bool = False) -> Any:
        return self._ask("write", 5 if producer.producer_epoch == self.epoch else FENCED, producer.producer_epoch, adds)

    def end(self, producer: ProducerIdAndEpoch, *, commit: bool, raises_epoch: bool = False) -> Any:
        usual = producer if producer.producer_epoch == self.epoch else FENCED
        return self._ask("end", usual, producer.producer_epoch, "commit" if commit else "abort", raises_epoch)

    def look(self, offset: int, _: ProducerIdAndEpoch) -> Any:
        return self._ask("look", replace(LOOK, offset=offset), offset)

    def settled(self, offset: int, _: ProducerIdAndEpoch) -> Any:
        return self._ask("settled", replace(LOOK, offset=offset), offset)

    def write_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int) -> Any:
        return self._ask("marker", None, producer.producer_epoch, coordinator_epoch)


class Topics:
    """The controller's answer: an exception is raised; `named` is whether brokers name the topic for ever."""

    def __init__(self, created: Any = True, awaited: Any = None, deleted: Any = True, named: bool = False) -> None:
        self.created, self.awaited, self.deleted, self.named = created, awaited, deleted, named
        self.done: list[str] = []

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(probe, "create_topic", lambda *_, **__: self._do("create", self.created))
        monkeypatch.setattr(probe, "await_topic", lambda *_, **__: self._do("await", self.awaited))
        monkeypatch.setattr(probe, "delete_topic", lambda *_, **__: self._do("delete", self.deleted))
        gone = None if self.named else UsageError("no such topic")
        monkeypatch.setattr(probe, "partition_leaders", lambda *_, **__: self._do("name", gone))

    def _do(self, what: str, answer: Any) -> Any:
        self.done.append(what)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Probed:
    """One run, with what was asked, done and said."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, topics: Topics | None = None, known: Any = None, **answers: Iterable[Any]
    ) -> None:
        self.topics = Topics() if topics is None else topics
        self.topics.patch(monkeypatch)
        self.cluster, self.said = Cluster(answers), list[str]()
        there: Any = Answer(wire=None, timeout_s=0.0, librdkafka_properties=dict)
        run = ProbeRun(there, PLAN, Observations() if known is None else known, self.said.append)
        run._scratch = self.cluster  # type: ignore[assignment]  # the cluster stands in
        self.outcome: ProbeOutcome | None = None
        self.run = run

    def go(self) -> "Probed":
        self.outcome = self.run.run()
        return self

    @property
    def seen(self) -> Observations:
        assert self.outcome is not None
        return self.outcome.observations

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.cluster.asked]


def test_a_healthy_cluster_is_asked_everything_in_order_and_nothing_is_left(monkeypatch) -> None:
    probed = Probed(monkeypatch).go()
    assert probed.outcome is not None
    seen = probed.seen
    assert (probed.outcome.interrupted, probed.outcome.undeleted, probed.outcome.initialised) == (False, None, True)
    assert probed.topics.done == ["create", "await", "delete", "name"]
    assert probed.cluster.asked[:3] == [("describe",), ("initialise", 60_000), ("initialise", 90_000)]
    assert seen.repeats == (1.5,) * 5
    assert probed.cluster.asked[8:17] == [
        ("add", 7),
        ("write", 7, False),
        ("describe",),
        ("listed",),
        ("producers",),
        ("look", 5),
        ("end", 7, "commit", False),
        ("settled", 5),
        ("add", 7),
    ]
    assert ("end", 7, "abort", False) in probed.cluster.asked
    assert seen.fencing == Raised(ProducerIdAndEpoch(7, 7), ProducerIdAndEpoch(7, 8))
    assert (seen.zombie_commit, seen.zombie_add, seen.zombie_write) == (FENCED, FENCED, FENCED)
    assert (seen.opened, seen.listed, seen.unadded, seen.marker) == (5, TransactionState.ONGOING, None, None)
    assert seen.marked == replace(LOOK, offset=5)
    assert seen.stopped == "not tried"
    assert probed.cluster.asked[-1] == ("initialise", 60_000), "an open transaction of the ID is aborted at the end"


@pytest.mark.parametrize(
    ("answer", "why", "initialised"),
    [
        (DENIED, "User:tool lacks Write", False),
        (Unsupported("the broker has no InitProducerId"), "no InitProducerId", False),
        (Unreachable("no broker answers"), "no broker answers", True),
        (REFUSED, "InitProducerId is refused with INVALID_REQUEST (42)", False),
    ],
)
def test_without_a_producer_nothing_is_created_and_the_id_is_unknown_unless_the_answer_was_lost(
    monkeypatch, answer, why, initialised
) -> None:
    probed = Probed(monkeypatch, initialise=[answer]).go()
    assert probed.outcome is not None
    assert why in probed.seen.stopped
    assert probed.outcome.initialised == initialised
    assert probed.topics.done == []
    assert probed.names == ["describe", "initialise"]


def test_a_longer_timeout_that_is_refused_stops_nothing(monkeypatch) -> None:
    usual = Initialised(ProducerIdAndEpoch(7, 1), 1.5)
    probed = Probed(monkeypatch, initialise=[usual, REFUSED]).go()
    assert probed.seen.long_timeout == REFUSED
    assert probed.seen.marker is None


def test_repeats_are_kept_up_to_the_first_that_is_not_answered(monkeypatch) -> None:
    usual = Initialised(ProducerIdAndEpoch(7, 1), 1.5)
    probed = Probed(monkeypatch, initialise=[usual, usual, usual, REFUSED]).go()
    assert probed.seen.repeats == (1.5,)
    assert probed.seen.stopped == f"the transactional ID could not be initialised again: {REFUSED}"


@pytest.mark.parametrize(
    ("topics", "why", "done", "undeleted"),
    [
        (Topics(created=False), "there is one of that name, which is left alone", ["create"], None),
        (Topics(created=DENIED), DENIED.message, ["create"], None),
        (Topics(created=UsageError("no")), "no", ["create"], None),
        (Topics(created=Unreachable("lost"), deleted=True), "lost", ["create", "delete", "name"], None),
        (
            Topics(created=Unreachable("lost"), deleted=False),
            "lost",
            ["create", "delete"],
            "its creation was not confirmed, and there is no such topic yet",
        ),
        (
            Topics(awaited=TimedOut("no broker knows it")),
            "no broker knows it",
            ["create", "await", "delete", "name"],
            None,
        ),
    ],
)
def test_without_a_topic_the_id_is_fenced_all_the_same_and_only_a_topic_of_this_run_is_deleted(
    monkeypatch, topics, why, done, undeleted
) -> None:
    probed = Probed(monkeypatch, topics).go()
    assert probed.outcome is not None
    assert probed.seen.stopped == f"topic scratch could not be created: {why}"
    assert probed.topics.done == done
    assert probed.outcome.undeleted == undeleted
    assert probed.seen.fencing == Raised(ProducerIdAndEpoch(7, 7), ProducerIdAndEpoch(7, 8))
    assert probed.seen.zombie_commit == FENCED
    assert probed.seen.opened == Observations().opened


def test_no_record_is_written_to_a_partition_that_the_coordinator_did_not_add(monkeypatch) -> None:
    refused = Refusal("AddPartitionsToTxn", 48, "INVALID_TXN_STATE")
    probed = Probed(monkeypatch, add=[refused]).go()
    assert probed.seen.opened == refused
    assert probed.seen.stopped == str(refused)
    assert "write" not in probed.names
    again = Probed(monkeypatch, add=[None, refused]).go()
    assert again.seen.stopped == f"no further transaction could be opened: {refused}"
    assert again.seen.committed == replace(LOOK, offset=5)


def test_a_refused_end_is_the_answer_and_no_broker_is_asked_again(monkeypatch) -> None:
    refused = Refusal("EndTxn", 48, "INVALID_TXN_STATE")
    probed = Probed(monkeypatch, end=[refused]).go()
    assert probed.seen.committed == refused
    assert probed.seen.aborted == replace(LOOK, offset=5)


def test_a_zombie_that_is_not_refused_was_accepted(monkeypatch) -> None:
    producer = ProducerIdAndEpoch(7, 7)
    probed = Probed(monkeypatch, end=[producer, producer, producer], write=[5, 5, 5, 9]).go()
    assert (probed.seen.zombie_commit, probed.seen.zombie_write, probed.seen.zombie_add) == (None, None, FENCED)


def test_a_write_without_its_partition_is_aborted_only_where_it_was_accepted(monkeypatch) -> None:
    invalid = Refusal("Produce", 48, "INVALID_TXN_STATE")
    accepted, refused = Probed(monkeypatch).go(), Probed(monkeypatch, write=[5, 5, 5, FENCED, invalid]).go()
    assert (accepted.seen.unadded, refused.seen.unadded) == (None, invalid)
    of = [
        (each.cluster.asked.count(("add", 8)), each.cluster.asked.count(("end", 8, "abort", False)))
        for each in (accepted, refused)
    ]
    assert of == [(1, 1), (0, 0)]


@pytest.mark.parametrize(
    ("features", "tried"),
    [
        (Skipped("not read", Cause.DENIED), False),
        ({}, False),
        ({"transaction.version": 1}, False),
        ({"transaction.version": 2}, True),
    ],
)
def test_a_transaction_raises_the_epoch_from_transaction_version_2_on(monkeypatch, features, tried) -> None:
    probed = Probed(monkeypatch, known=Observations(features=features)).go()
    assert (("end", 8, "commit", True) in probed.cluster.asked) == tried
    assert (("write", 8, True) in probed.cluster.asked) == tried
    same = ProducerIdAndEpoch(7, 8)
    assert probed.seen.bumped == (Raised(same, same) if tried else Observations().bumped)


def test_a_refused_transaction_of_version_2_is_reported_with_its_request(monkeypatch) -> None:
    known = Observations(features={"transaction.version": 2})
    refused = Refusal("Produce", 48, "INVALID_TXN_STATE")
    written = Probed(monkeypatch, known=known, write=[5, 5, 5, FENCED, refused, refused]).go()
    assert written.seen.bumped == refused
    assert ("end", 8, "commit", True) not in written.cluster.asked
    producer = ProducerIdAndEpoch(7, 7)
    ended = Probed(monkeypatch, known=known, end=[producer, producer, FENCED, producer, FENCED]).go()
    assert ended.seen.bumped == FENCED


def active(producer_id: int, epoch: int | None) -> ActiveProducer:
    return ActiveProducer(PLACE, ProducerIdAndEpoch(producer_id, 9), 0, 1, epoch, 0)


MARKER_FENCED = Refusal("WriteTxnMarkers", 52, "TRANSACTION_COORDINATOR_FENCED")


@pytest.mark.parametrize(
    ("producers", "epoch", "answer", "marker"),
    [
        ((active(7, 3),), 3, None, None),
        ((active(7, 3), active(7, 5), active(8, 9)), 5, None, None),
        ((active(7, None),), 0, None, None),
        ((active(7, None),), 0, MARKER_FENCED, MARKER_FENCED),
        ((active(8, 4),), 0, MARKER_FENCED, probe.NO_COORDINATOR_EPOCH),
        (DENIED, 0, MARKER_FENCED, probe.NO_COORDINATOR_EPOCH),
        (Refusal("DescribeProducers", 3, "X"), 0, MARKER_FENCED, probe.NO_COORDINATOR_EPOCH),
        ((), 0, REFUSED, REFUSED),
        ((active(7, 3),), 3, MARKER_FENCED, MARKER_FENCED),
    ],
)
def test_a_marker_has_the_coordinator_s_latest_epoch_of_this_producer_id(
    monkeypatch, producers, epoch, answer, marker
) -> None:
    probed = Probed(monkeypatch, producers=[(), producers], marker=[answer]).go()
    assert [each for each in probed.cluster.asked if each[0] == "marker"] == [("marker", 9, epoch)]
    assert probed.seen.marker == marker
    assert (probed.seen.marked == replace(LOOK, offset=5)) == (answer is None)
    assert probed.cluster.asked[-2] == ("end", 9, "abort", False)


@pytest.mark.parametrize(
    ("topics", "undeleted"),
    [
        (Topics(deleted=DENIED), DENIED.message),
        (Topics(deleted=False), None),
        (Topics(named=True), "it was deleted, and brokers name it all the same"),
    ],
)
def test_a_topic_is_left_only_where_it_was_not_deleted_or_is_named_all_the_same(monkeypatch, topics, undeleted) -> None:
    outcome = Probed(monkeypatch, topics).go().outcome
    assert outcome is not None
    assert outcome.undeleted == undeleted


def test_an_interruption_cleans_up_and_a_second_one_names_possible_remains(monkeypatch) -> None:
    probed = Probed(monkeypatch, look=[KeyboardInterrupt()]).go()
    assert probed.outcome is not None
    assert (probed.outcome.interrupted, probed.outcome.undeleted) == (True, None)
    assert probed.seen.stopped == "the probe was interrupted"
    assert probed.topics.done[-2:] == ["delete", "name"]
    twice = Probed(monkeypatch, Topics(deleted=KeyboardInterrupt()), look=[KeyboardInterrupt()]).go()
    assert twice.outcome is not None
    assert twice.outcome.undeleted == "the probe was interrupted while it was deleted"


def test_a_defect_is_raised_after_the_topic_is_deleted_or_named(monkeypatch) -> None:
    for topics, said in ((Topics(), []), (Topics(deleted=DENIED), [f"topic scratch may remain: {DENIED.message}"])):
        probed = Probed(monkeypatch, topics, look=[ZeroDivisionError()])
        with pytest.raises(ZeroDivisionError):
            probed.go()
        assert "delete" in probed.topics.done
        assert [each for each in probed.said if "remain" in each] == said


# Requests of the scratch


class Wire:
    """Answers in the order in which they are given, by the name of the request."""

    principal = "User:tool"

    def __init__(self, **answers: Iterable[Any]) -> None:
        self.answers = {name: deque(each) for name, each in answers.items()}
        self.asked: list[tuple[int | None, str]] = []
        self.heard: dict[str, object] = {}

    def brokers(self) -> list[Answer]:
        return [Answer(node_id=1), Answer(node_id=2)]

    def request(self, node_id: int | None, request: Any, **_: object) -> Any:
        self.asked.append((node_id, request.name))
        answer = self.answers[request.name].popleft()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def request_any(self, request: Any, **_: object) -> Any:
        return self.request(None, request)


PRODUCER = ProducerIdAndEpoch(7, 2)


def scratch(timeout_s: float = 5.0, **answers: Iterable[Any]) -> tuple[Scratch, Wire]:
    wire = Wire(**answers)
    return Scratch(wire, PLAN, timeout_s), wire  # type: ignore[arg-type]  # the script stands in


def coordinator(node_id: int = 1, code: int = 0) -> Answer:
    return Answer(node_id=node_id, error_code=code)


def ended(code: int = 0, epoch: int = 3) -> Answer:
    return Answer(error_code=code, producer_id=7, producer_epoch=epoch)


@pytest.mark.parametrize(
    ("found", "answers", "asked"),
    [
        ([0], [0], [None, 1]),
        ([14, 0], [0], [None, None, 1]),
        ([15, 0], [51, 14, 3, 0], [None, None, 1, 1, 1, 1]),
        ([0, 0], [16, 0], [None, 1, None, 2]),
        ([0, 0], [15, 0], [None, 1, None, 2]),
    ],
)
def test_a_busy_coordinator_is_asked_again_and_one_that_moved_is_looked_up(found, answers, asked) -> None:
    nodes = iter([1, 2])
    lookups = [coordinator(0 if each else next(nodes), each) for each in found]
    there, wire = scratch(FindCoordinator=lookups, EndTxn=map(ended, answers))
    assert there.end(PRODUCER, commit=True) == PRODUCER
    assert [node_id for node_id, _ in wire.asked] == asked


def test_a_coordinator_is_looked_up_once_for_several_requests() -> None:
    there, wire = scratch(FindCoordinator=[coordinator()], EndTxn=[ended(), ended(90)])
    assert there.end(PRODUCER, commit=True, raises_epoch=True) == ProducerIdAndEpoch(7, 3)
    assert there.end(PRODUCER, commit=True, raises_epoch=True) == FENCED
    assert [name for _, name in wire.asked] == ["FindCoordinator", "EndTxn", "EndTxn"]


def test_time_that_runs_out_tells_the_last_answer() -> None:
    there, _ = scratch(0.0, FindCoordinator=[coordinator()], EndTxn=[ended(51)])
    with pytest.raises(TimedOut, match=r"EndTxn is answered with CONCURRENT_TRANSACTIONS, for 0 s"):
        there.end(PRODUCER, commit=True)
    there, _ = scratch(0.0, FindCoordinator=[coordinator(code=15)])
    with pytest.raises(TimedOut, match="FindCoordinator is answered with"):
        there.end(PRODUCER, commit=True)


@pytest.mark.parametrize(
    ("lookup", "answer", "resource"),
    [
        (53, 0, "Describe on transactional ID scratch"),
        (0, 53, "Write on transactional ID scratch"),
        (0, 29, "Write on topic scratch"),
    ],
)
def test_a_missing_acl_is_named_with_its_operation_and_resource(lookup, answer, resource) -> None:
    there, _ = scratch(FindCoordinator=[coordinator(code=lookup)], EndTxn=[ended(answer)])
    with pytest.raises(NotAuthorized, match=resource):
        there.end(PRODUCER, commit=True)


def test_a_lookup_that_is_refused_is_no_answer_of_a_coordinator() -> None:
    there, _ = scratch(FindCoordinator=[coordinator(code=42)])
    with pytest.raises(Unreachable, match=r"FindCoordinator is refused with INVALID_REQUEST \(42\)"):
        there.end(PRODUCER, commit=True)


def described(code: int = 0, state: str = "Ongoing") -> Answer:
    topics = [Answer(topic="scratch", partitions=[1, 0])]
    fields = {"producer_id": 7, "producer_epoch": 2, "transaction_timeout_ms": 60_000, "transaction_start_time_ms": 5}
    return Answer(transaction_states=[Answer(error_code=code, transaction_state=state, topics=topics, **fields)])


def test_a_description_has_the_state_the_producer_and_the_partitions_in_order() -> None:
    there, _ = scratch(
        FindCoordinator=[coordinator(2)], DescribeTransactions=[described(), described(0, "New"), described(105)]
    )
    first, second, refused = there.describe(), there.describe(), there.describe()
    assert not isinstance(first, Refusal)
    assert (first.state, first.producer, first.coordinator, first.start_ms) == (
        TransactionState.ONGOING,
        PRODUCER,
        2,
        5,
    )
    assert [each.partition for each in first.partitions] == [0, 1]
    assert not isinstance(second, Refusal)
    assert second.state is TransactionState.UNKNOWN
    assert isinstance(refused, Refusal)
    assert refused.code == 105


def test_an_answer_without_the_part_that_was_asked_for_cannot_be_read() -> None:
    there, _ = scratch(FindCoordinator=[coordinator()], DescribeTransactions=[Answer(transaction_states=[])])
    with pytest.raises(Undecodable, match="DescribeTransactions has an answer without the requested part"):
        there.describe()


def listing(*names: str, code: int = 0) -> Answer:
    states = [Answer(transactional_id=each, transaction_state="Ongoing") for each in names]
    return Answer(error_code=code, transaction_states=states or None)


@pytest.mark.parametrize(
    ("answers", "listed"),
    [
        ([listing("scratch")], TransactionState.ONGOING),
        ([listing("other"), listing("other", "scratch")], TransactionState.ONGOING),
        ([listing(), listing("other")], None),
        ([Unreachable("silent"), listing("scratch")], TransactionState.ONGOING),
        ([listing(code=14), listing("scratch")], TransactionState.ONGOING),
        ([listing(code=14), listing()], 14),
        ([Unreachable("silent"), listing()], Unreachable),
        ([listing(code=14), Unreachable("silent")], Unreachable),
    ],
)
def test_an_id_is_listed_nowhere_only_if_every_broker_answered(answers, listed) -> None:
    there, _ = scratch(ListTransactions=answers)
    if listed is Unreachable:
        with pytest.raises(Unreachable, match="silent"):
            there.listed()
        return
    found = there.listed()
    assert (found.code if isinstance(found, Refusal) else found) == listed


def leader(node_id: int = 1) -> Answer:
    partitions = [Answer(partition_index=0, leader_id=node_id)]
    return Answer(topics=[Answer(name="scratch", error_code=0, partitions=partitions)])


def produced(code: int = 0, offset: int = 5) -> Answer:
    return Answer(responses=[Answer(partition_responses=[Answer(error_code=code, base_offset=offset)])])


@pytest.mark.parametrize(
    ("leaders", "answers", "asked"),
    [
        ([1], [0], [None, 1]),
        ([-1, 2], [0], [None, None, 2]),
        ([1, 2], [6, 0], [None, 1, None, 2]),
        ([1, 2], [3, 0], [None, 1, None, 2]),
    ],
)
def test_a_leader_that_is_unknown_or_moved_is_looked_up_again(leaders, answers, asked) -> None:
    there, wire = scratch(Metadata=map(leader, leaders), Produce=map(produced, answers))
    assert there.write(PRODUCER) == 5
    assert [node_id for node_id, _ in wire.asked] == asked


def test_a_partition_that_stays_leaderless_until_the_deadline_is_reported() -> None:
    there, _ = scratch(0.0, Metadata=[leader(-1)])
    with pytest.raises(TimedOut, match="Produce of scratch-0 is answered with LEADER_NOT_AVAILABLE"):
        there.write(PRODUCER)


def test_only_a_write_that_was_accepted_takes_a_sequence_number(monkeypatch) -> None:
    sequences: list[tuple[int, int]] = []

    def encode(producer: ProducerIdAndEpoch, sequence: int, *_: object) -> bytes:
        sequences.append((producer.producer_epoch, sequence))
        return b""

    monkeypatch.setattr(probe, "encode_transactional_batch", encode)
    there, _ = scratch(Metadata=[leader()], Produce=map(produced, [0, 48, 0, 0]))
    other = ProducerIdAndEpoch(7, 3)
    assert [isinstance(there.write(each), Refusal) for each in (PRODUCER, PRODUCER, PRODUCER, other)] == [
        False,
        True,
        False,
        False,
    ]
    assert sequences == [(2, 0), (2, 1), (2, 1), (3, 0)]


def test_producers_without_a_transaction_or_a_marker_have_none() -> None:
    fields = {"producer_id": 7, "last_sequence": 1, "last_timestamp": 9}
    producers = [
        Answer(producer_epoch=number, coordinator_epoch=epoch, current_txn_start_offset=start, **fields)
        for number, (epoch, start) in enumerate([(-1, -1), (0, 0), (3, 8)])
    ]
    partition = Answer(error_code=0, active_producers=producers)
    there, _ = scratch(Metadata=[leader()], DescribeProducers=[Answer(topics=[Answer(partitions=[partition])])])
    found = there.producers()
    assert not isinstance(found, Refusal)
    assert [(each.coordinator_epoch, each.transaction_start_offset) for each in found] == [(None, None), (0, 0), (3, 8)]


@pytest.mark.parametrize(("looks", "asked"), [(["open", "ended"], 2), (["ended"], 1), (["refused"], 1)])
def test_a_transaction_is_described_until_it_has_ended_or_is_refused(monkeypatch, looks, asked) -> None:
    answers = {"open": replace(LOOK, marker=None), "ended": LOOK, "refused": FENCED}
    left = [answers[each] for each in looks]
    there, _ = scratch()
    monkeypatch.setattr(Scratch, "look", lambda *_: left.pop(0))
    assert there.settled(0, PRODUCER) == answers[looks[-1]]
    assert len(looks) - len(left) == asked


def test_time_that_is_over_ends_the_look_with_what_was_seen_last(monkeypatch) -> None:
    there, _ = scratch(0.0)
    unended = replace(LOOK, marker=None)
    monkeypatch.setattr(Scratch, "look", lambda *_: unended)
    assert there.settled(0, PRODUCER) == unended


def fetched(code: int = 0, aborted: Any = None) -> Answer:
    return Answer(responses=[Answer(partitions=[Answer(error_code=code, records=b"", aborted_transactions=aborted)])])


def bound(code: int = 0, offset: int = 9) -> Answer:
    return Answer(topics=[Answer(partitions=[Answer(error_code=code, offset=offset)])])


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The decoded records of a look: the aborted transactions of each."""
    given: list[Any] = []

    def shown(_: object, aborted: Any, *__: object) -> Shown:
        given.append(list(aborted))
        return Shown.RETURNED

    monkeypatch.setattr(probe, "decode_shown", shown)
    monkeypatch.setattr(probe, "decode_ending", lambda *_: "commit")
    return given


@pytest.mark.parametrize("aborted", [None, [Answer(producer_id=7, first_offset=3)]])
def test_a_look_has_both_ends_of_the_partition_and_the_aborted_transactions_of_committed_reads(looked, aborted) -> None:
    there, _ = scratch(
        Metadata=[leader()], ListOffsets=[bound(0, 4), bound(0, 6)], Fetch=[fetched(), fetched(0, aborted)]
    )
    assert there.look(3, PRODUCER) == Look(3, 4, 6, Shown.RETURNED, "commit")
    assert looked == [[(7, 3)] if aborted else []]


@pytest.mark.parametrize(
    ("bounds", "fetches", "refused"),
    [
        ([42, 0], [0, 0], "ListOffsets"),
        ([0, 42], [0, 0], "ListOffsets"),
        ([0, 0], [42, 0], "Fetch"),
        ([0, 0], [0, 42], "Fetch"),
    ],
)
def test_a_look_of_which_a_part_is_refused_is_that_refusal(looked, bounds, fetches, refused) -> None:
    there, _ = scratch(Metadata=[leader()], ListOffsets=map(bound, bounds), Fetch=map(fetched, fetches))
    assert there.look(3, PRODUCER) == Refusal(refused, 42, "INVALID_REQUEST")
    assert looked == []


def initialised(code: int = 0) -> Answer:
    return Answer(error_code=code, producer_id=7, producer_epoch=3)


def added(code: int = 0) -> Answer:
    partition = Answer(partition_error_code=code)
    return Answer(results_by_topic_v3_and_below=[Answer(results_by_partition=[partition])])


def marked(code: int = 0) -> Answer:
    return Answer(markers=[Answer(topics=[Answer(partitions=[Answer(error_code=code)])])])


@pytest.mark.parametrize("code", [0, 42])
def test_an_answer_is_what_was_done_or_the_refusal_with_its_code(code: int) -> None:
    active_now = Answer(topics=[Answer(partitions=[Answer(error_code=code, active_producers=[])])])
    there, _ = scratch(
        FindCoordinator=[coordinator()],
        Metadata=[leader()],
        InitProducerId=[initialised(code)],
        AddPartitionsToTxn=[added(code)],
        WriteTxnMarkers=[marked(code)],
        DescribeProducers=[active_now],
    )
    first, *others = (
        there.initialise(60_000),
        there.add_partition(PRODUCER),
        there.write_marker(PRODUCER, 0),
        there.producers(),
    )
    if code:
        names = ["InitProducerId", "AddPartitionsToTxn", "WriteTxnMarkers", "DescribeProducers"]
        assert [first, *others] == [Refusal(each, 42, "INVALID_REQUEST") for each in names]
    else:
        assert isinstance(first, Initialised)
        assert first.producer == ProducerIdAndEpoch(7, 3)
        assert 0 <= first.elapsed_ms < 60_000
        assert others == [None, None, ()]
