"""Preconditions: which hold, the words of the others, and those that a step establishes itself."""

from typing import get_args

import pytest
from msgspec.structs import replace

from eosctl.codecs.offsets_topic import entries_by_connector, offsets_now
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.plan import (
    AwaitOperator,
    Check,
    CreateTopic,
    FenceProducers,
    Plan,
    PlannedStep,
    PlanTarget,
    ResumeConnector,
    SetConnectorConfig,
    Standing,
    StopConnector,
    WriteOffsets,
    cure,
    moved_again,
    needed_first,
    standings,
)
from eosctl.model.preconditions import (
    AclsPresent,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorFacts,
    ConnectorStopped,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsNow,
    OffsetsUnchanged,
    OpenNow,
    OpenPart,
    PlanFacts,
    Precondition,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TopicNow,
    TransactionHangs,
    TransactionNow,
    TransactionUnchanged,
)
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.strimzi import OperatedConnectors
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import LiveOwner, LiveOwners
from tests.planning.offsets_topics import topic_of

S, T = Side.SOURCE, Side.TARGET
COMPACT, DELETE = {"cleanup.policy": "compact"}, {"cleanup.policy": "compact,delete"}


def topic(partitions: int = 5, settings=COMPACT, topic_id: str | None = "id") -> PlanFacts:
    return PlanFacts(topics={(T, "t"): TopicNow(TopicFacts("t", partitions, 1, settings), topic_id)})


def connector(facts: ConnectorFacts | Skipped) -> PlanFacts:
    return PlanFacts(connectors={(S, "c"): facts})


def offsets(records: str = "r", values: str = "v", open_: tuple[str, ...] = ()) -> PlanFacts:
    return PlanFacts(offsets={(T, "t", "c"): OffsetsNow(records, values, open_)})


def config(digest: str | None) -> PlanFacts:
    return PlanFacts(config_digests={(S, "c"): digest})


TASK = LiveOwner("g", ConnectorTaskId("c", 0), "w")


def owners(*tasks: LiveOwner, unread: str | None = None) -> PlanFacts:
    unknown = {} if unread is None else {unread: Skipped("no access")}
    return PlanFacts(live_owners={S: LiveOwners({("g-c", 0): tasks} if tasks else {}, unknown=unknown)})


PLACE = TopicPartition("t", 0)
HANGS = TransactionHangs(S, "t", 0, 7, 40)


def hanging(now: OpenNow | None) -> PlanFacts:
    return PlanFacts(open_transactions={(S, PLACE, 7): now})


LAST = OpenPart("t", 0, 40, 9)
UNENDED = TransactionUnchanged(S, "x", 7, 1, 5, (LAST,))
ONGOING = TransactionNow(TransactionState.ONGOING, ProducerIdAndEpoch(7, 1), 5, {PLACE: LAST})
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT


def transaction(now: TransactionNow | Skipped) -> PlanFacts:
    return PlanFacts(transactions={(S, "x"): now})


ON_T = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
MAY_WRITE, MAY_READ = (AclBinding("User:a", each, ON_T) for each in (Operation.WRITE, Operation.READ))


def bindings(*there: AclBinding) -> PlanFacts:
    return PlanFacts(acls={S: frozenset(there)})


@pytest.mark.parametrize(
    ("precondition", "facts", "message"),
    [
        (ClusterIs(S, "a"), PlanFacts({S: "a"}), None),
        (ClusterIs(S, "a"), PlanFacts({S: "b"}), "the plan is for source cluster a, this is b"),
        (ConnectorStopped(S, "c"), connector(ConnectorFacts("STOPPED")), None),
        (ConnectorStopped(S, "c"), connector(ConnectorFacts(None)), None),
        (ConnectorStopped(S, "c"), connector(ConnectorFacts("STOPPED", 1)), "STOPPED with 1 task, not"),
        (ConnectorStopped(S, "c"), connector(ConnectorFacts("PAUSED", 2)), "PAUSED with 2 tasks, not STOPPED"),
        (ConnectorStopped(S, "c"), connector(Skipped("no worker")), "is stopped is unknown: no worker"),
        (TopicIsCompact(T, "t", 5, "id"), topic(), None),
        (TopicIsCompact(T, "t", 5, "other"), topic(), "deleted and created again"),
        (TopicIsCompact(T, "t", 6), topic(), "has 5 partitions, the plan is for 6"),
        (TopicIsCompact(T, "t", 5), topic(settings=DELETE), "cleanup.policy compact,delete"),
        (TopicIsCompact(T, "t", 5), topic(settings={}), None),
        (TopicIsCompact(T, "t", 5), PlanFacts(topics={(T, "t"): None}), "does not exist"),
        (TopicIsCompactOrAbsent(T, "t", 5), PlanFacts(topics={(T, "t"): None}), None),
        (TopicIsCompactOrAbsent(T, "t", 5), topic(settings=DELETE), "cleanup.policy"),
        (OffsetsUnchanged(T, "t", "c", "r"), offsets(), None),
        (OffsetsUnchanged(T, "t", "c", "v"), offsets(), None),
        (OffsetsUnchanged(T, "t", "c", "x", "v"), offsets(), None),
        (OffsetsUnchanged(T, "t", "c", "x", "r"), offsets(), "changed since the plan was made"),
        (NoOpenTransaction(T, "t", "c"), offsets(), None),
        (NoOpenTransaction(T, "t", "c"), offsets(open_=("7/1",)), "open transaction of producer 7/1"),
        (ConnectorConfigIs(S, "c", "d"), config("d"), None),
        (ConnectorConfigIs(S, "c", "d"), config(None), None),
        (ConnectorConfigIs(S, "c", "d"), config("e"), "exists with a config other than the plan's"),
        (NoLiveOwner(S, ("g-c-0",)), owners(), None),
        (NoLiveOwner(S, ("g-c-0",)), owners(TASK), "g-c-0"),
        (NoLiveOwner(S, ("g-c-0",), besides="g"), owners(TASK), None),
        (NoLiveOwner(S, ("g-c-0",), besides="h"), owners(TASK), "g-c-0"),
        (NoLiveOwner(S, ("g-c-1",)), owners(TASK), None),
        (NoLiveOwner(S, ("g-c-0",)), owners(unread="g"), "no access"),
        (NoLiveOwner(S, ("g-c-0",)), owners(unread="another"), None),
        (HANGS, hanging(None), None),
        (HANGS, hanging(OpenNow(40, hangs=True)), None),
        (HANGS, hanging(OpenNow(41, hangs=True)), "from offset 41 open now, not from 40"),
        (HANGS, hanging(OpenNow(40, hangs=False)), "does not hang: its coordinator knows it"),
        (HANGS, hanging(OpenNow(40, hangs=Skipped("no access"))), "hangs is unknown: no access"),
        (replace(HANGS, forced=True), hanging(OpenNow(40, hangs=False)), None),
        (replace(HANGS, forced=True), hanging(OpenNow(40, hangs=Skipped("no access"))), None),
        (replace(HANGS, forced=True), hanging(OpenNow(41, hangs=True)), "from offset 41 open now, not from 40"),
        (UNENDED, transaction(ONGOING), None),
        (UNENDED, transaction(Skipped("no answer")), "is unknown: no answer"),
        (UNENDED, transaction(TransactionNow(None)), "no coordinator knows x"),
        (UNENDED, transaction(replace(ONGOING, state=PREPARE_COMMIT)), None),
        (UNENDED, transaction(replace(ONGOING, state=COMPLETE_COMMIT, started_ms=6)), "of the plan has ended"),
        (UNENDED, transaction(replace(ONGOING, state=PREPARE_ABORT)), "x is PrepareAbort as 7/1 now"),
        (UNENDED, transaction(replace(ONGOING, started_ms=6)), "the transaction of the plan has ended"),
        (UNENDED, transaction(replace(ONGOING, producer=ProducerIdAndEpoch(7, 2))), "producer 7/2 now, not by 7/1"),
        (UNENDED, transaction(replace(ONGOING, parts={PLACE: OpenPart("t", 0, 40, 10)})), "wrote to t-0"),
        (UNENDED, transaction(replace(ONGOING, parts={PLACE: Skipped("no leader")})), "is unknown in t-0: no leader"),
        (UNENDED, transaction(replace(ONGOING, parts={})), "is unknown in t-0, which is hidden"),
        (AclsPresent(S, (MAY_WRITE, MAY_READ)), bindings(MAY_WRITE, MAY_READ), None),
        (AclsPresent(S, (MAY_WRITE, MAY_READ)), bindings(MAY_WRITE), f"not there, the first: {MAY_READ}"),
        (AclsPresent(S, (MAY_WRITE,)), PlanFacts(acls={S: Skipped("no access")}), "are there is unknown: no access"),
    ],
)  # fmt: skip
def test_a_precondition_holds_or_gives_its_reason(precondition, facts: PlanFacts, message: str | None):
    """A row for each way in which it does not hold; what could not be read does not hold either."""
    found = precondition.violation(facts)
    assert found == message if message is None else message in (found or "")


def test_every_kind_of_precondition_has_a_row_with_which_it_holds_and_one_with_which_it_does_not():
    rows = test_a_precondition_holds_or_gives_its_reason.pytestmark[0].args[1]
    assert {type(each) for each, _, message in rows if message is None} == {*get_args(Precondition)}
    assert {type(each) for each, _, message in rows if message is not None} == {*get_args(Precondition)}


def test_an_open_transaction_is_waited_for_or_ended_because_a_new_plan_would_meet_it_too():
    open_now, changed = NoOpenTransaction(T, "t", "c"), OffsetsUnchanged(T, "t", "c", "x")
    assert "eosctl transactions hanging --topic t" in cure([changed, open_now], offsets(open_=("7/1",)))
    assert cure([changed, open_now], offsets()) == "make the plan again: it was made from older facts"


def test_an_undo_of_a_connector_that_continued_names_the_way_to_place_it_by_hand():
    wanted, undo = OffsetsUnchanged(T, "t", "c", "x"), Plan("undo", 1, ())
    message = cure([wanted], offsets(), undo, ("-b", "b:9092"))
    assert message.startswith("connector c has written newer offsets")
    assert "`eosctl offsets export -b b:9092 --connector c offsets.json`" in message
    assert "`eosctl offsets restore -b b:9092 --connector c --stop --resume offsets.json`" in message


WRITE = WriteOffsets(S, "own", "c", "g-c-0", 60_000, (), "read", "old", "new")
TO_OWN, TO_WORKERS = (SetConnectorConfig(S, "c", {"offsets.storage.topic": each}, {}) for each in ("own", None))
COPIED = SetConnectorConfig(S, "c", {"offsets.storage.topic": "own"}, {}, copied_from="d")
AND_MORE = SetConnectorConfig(S, "c", {"offsets.storage.topic": "own", "tasks.max": "1"}, {})
OF_ANOTHER = SetConnectorConfig(S, "d", {"offsets.storage.topic": "own"}, {})
HERE, THERE = PlanTarget(S, (), (), "connect-configs"), PlanTarget(T, ())
NAMED = PlanTarget(S, (), (), "configs-2")


@pytest.mark.parametrize(
    ("steps", "places", "operated", "message"),
    [
        ([WRITE, TO_OWN], (HERE,), None, "--connector c --to-topic own --stop"),
        ([WRITE, TO_WORKERS], (HERE,), None, "--connector c --to-worker-topic --stop"),
        ([WRITE, TO_OWN], (NAMED,), None, "--to-topic own --config-topic configs-2 --stop"),
        ([WRITE, TO_OWN], (HERE, THERE), None, None),
        ([WRITE, TO_OWN], (HERE,), OperatedConnectors(), None),
        ([WRITE], (HERE,), None, None),
        ([TO_OWN], (HERE,), None, None),
        ([WRITE, TO_OWN, OF_ANOTHER], (HERE,), None, None),
        ([WRITE, OF_ANOTHER], (HERE,), None, None),
        ([WRITE, COPIED], (HERE,), None, None),
        ([WRITE, AND_MORE], (HERE,), None, None),
    ],
)
def test_a_connector_that_continued_is_moved_again_by_a_command_that_moves_nothing_else(
    steps, places, operated, message
):
    """Any other plan did more than that one command, so it is not named as the way."""
    plan = Plan("migrate-offsets", 1, tuple(map(PlannedStep, steps)), places, operated)
    command = moved_again(plan, ("-b", "b:9092"))
    if message is None:
        assert command is None
    else:
        assert command is not None
        assert command.startswith("eosctl migrate-offsets -b b:9092 --group-id g ")
        assert message in command


def test_a_changed_transaction_needs_its_owner_s_answer_again_before_another_plan():
    changed = transaction(replace(ONGOING, started_ms=6))
    assert cure([UNENDED], changed).startswith("nothing was committed; ask the owner of the ID again")
    in_use = replace(transaction(ONGOING), live_owners={S: LiveOwners({("g-c", 0): (TASK,)})})
    owned = NoLiveOwner(S, ("g-c-0",))
    assert cure([UNENDED, owned], in_use).startswith("nothing was committed")
    assert not cure([owned], in_use).startswith("nothing was committed"), "nothing was to be committed"
    gone = replace(transaction(ONGOING), cluster_ids={S: "b"})
    assert cure([UNENDED, ClusterIs(S, "a")], gone).startswith("make the plan again")


def test_a_connector_that_shows_tasks_although_it_is_stopped_is_to_be_stopped_again():
    wanted = ConnectorStopped(S, "c")
    message = cure([wanted], connector(ConnectorFacts("STOPPED", 1)))
    assert message.startswith("stop it again (PUT /connectors/c/stop, or --stop with --connect-url)")
    assert message.endswith("; then run the plan again")
    operated = Plan("migrate-offsets", 1, (), operated=OperatedConnectors(states={"c": "running"}))
    assert cure([wanted], connector(ConnectorFacts("STOPPED", 1)), operated) == message
    assert cure([wanted], connector(ConnectorFacts("RUNNING", 1)), operated).startswith("set state: stopped in its")
    assert cure([wanted], connector(ConnectorFacts("RUNNING", 1))).startswith("make the plan again")
    assert wanted.how_to_stop(connector(ConnectorFacts("RUNNING", 1))).startswith("stop it first")


def test_a_state_that_a_step_or_an_earlier_one_brings_about_is_no_precondition():
    stopped, other = ConnectorStopped(S, "c"), ConnectorStopped(S, "d")
    compact, still = TopicIsCompact(T, "t", 5), NoOpenTransaction(T, "t", "c")
    steps = [
        PlannedStep(StopConnector(S, "c")),
        PlannedStep(FenceProducers(S, ("g-c-0",), 1), (stopped, other)),
        PlannedStep(CreateTopic(T, "t", 5, 1), (TopicIsCompactOrAbsent(T, "t", 5),)),
        PlannedStep(ResumeConnector(S, "c"), (compact, still)),
    ]
    assert needed_first(steps) == (other, TopicIsCompactOrAbsent(T, "t", 5))
    assert needed_first(steps[3:]) == (compact, still)


def test_each_precondition_is_ok_fails_comes_later_or_is_unknown():
    stopped, compact = ConnectorStopped(S, "c"), TopicIsCompact(T, "t", 5)
    absent, gone = TopicIsCompactOrAbsent(T, "t", 5), ConnectorStopped(S, "gone")
    steps = [
        (1, PlannedStep(CreateTopic(T, "t", 5, 1), (absent, gone))),
        (2, PlannedStep(FenceProducers(S, ("g-c-0",), 1), (compact, stopped))),
        (3, PlannedStep(ResumeConnector(S, "c"), (compact,))),
    ]
    needed = needed_first(each for _, each in steps)
    facts = PlanFacts(
        topics={(T, "t"): None}, connectors={(S, "c"): ConnectorFacts("RUNNING", 1), (S, "gone"): ConnectorFacts(None)}
    )
    runs = "connector c is RUNNING with 1 task, not STOPPED with none"
    assert standings(steps, needed, facts) == (
        Check(absent, (1,), Standing.OK),
        Check(gone, (1,), Standing.OK),
        Check(compact, (2, 3), Standing.LATER, "step 1 brings it about"),
        Check(stopped, (2,), Standing.FAILS, runs),
    )
    unread = standings(steps, needed, Skipped("no broker answers"))
    assert [each.standing for each in unread] == ["unknown", "unknown", "later", "unknown"]
    assert unread[0].reason == "no broker answers"


def test_a_step_that_only_configures_a_connector_needs_it_stopped():
    stopped = ConnectorStopped(S, "c")
    stops = AwaitOperator(S, "c", "c.stopped.yaml", "STOPPED")
    configures = AwaitOperator(S, "c", "c.configured.yaml", "STOPPED", {"offsets.storage.topic": "t"})
    assert needed_first([PlannedStep(stops, (stopped,))]) == ()
    assert needed_first([PlannedStep(configures, (stopped,))]) == (stopped,)
    assert needed_first([PlannedStep(stops), PlannedStep(configures, (stopped,))]) == ()


def test_the_digest_of_records_notices_a_value_that_went_and_came_back():
    key = b'["c",{}]'
    once, again = ([(0, key, b"1")], [(0, key, b"1"), (0, key, b"2"), (0, key, b"1")])
    first, second = (offsets_now(entries_by_connector(topic_of("t", 1, each))["c"]) for each in (once, again))
    assert first.values == second.values
    assert first.records != second.records


def test_a_tombstone_is_the_same_as_nothing():
    key = b'["c",{}]'
    gone = offsets_now(entries_by_connector(topic_of("t", 1, [(0, key, b"1"), (0, key, None)]))["c"])
    assert gone == offsets_now([])


def test_open_offsets_do_not_count_but_are_reported():
    now = offsets_now(entries_by_connector(topic_of("t", 1, [(0, b'["c",{}]', b"1")], RecordState.OPEN))["c"])
    assert now == OffsetsNow(offsets_now([]).records, offsets_now([]).values, ("7/1",))


@pytest.mark.parametrize(
    ("besides", "words"), [(None, "no task has g-c-0"), ("g", "no task of a Connect cluster other than g has g-c-0")]
)
def test_an_owner_that_does_not_count_is_named(besides: str | None, words: str):
    assert NoLiveOwner(S, ("g-c-0",), besides).describe() == words


@pytest.mark.parametrize(("or_ended", "words"), [(False, "or committed"), (True, "or has ended")])
def test_a_transaction_may_have_ended_where_it_is_to_be_aborted(or_ended: bool, words: str):
    assert replace(UNENDED, or_ended=or_ended).describe().endswith(words)


@pytest.mark.parametrize(
    ("now", "keeps"),
    [
        (ConnectorFacts("STOPPED", 1), True),
        (ConnectorFacts("STOPPED", 0), False),
        (ConnectorFacts("RUNNING", 1), False),
        (ConnectorFacts(None, 1), False),
        (Skipped("no worker"), False),
    ],
)
def test_only_a_stopped_connector_keeps_tasks(now, keeps: bool):
    assert ConnectorStopped(S, "c").keeps_tasks(connector(now)) is keeps
