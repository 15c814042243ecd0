"""IDs that are fenced, and who may produce with them elsewhere."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.transactions import KnownNames
from eosctl.model.fencing import (
    Candidate,
    FenceError,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    FencingPlan,
    FencingRequest,
    PlannedFencing,
    Proof,
    failure_of,
)
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.hanging import Advice, Decision, FirstBatch, OpenTransaction, Verdict
from eosctl.model.migration import ConnectClusters, MigrationFacts, MigrationRequest, Move
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState
from eosctl.model.workers import KnownPhase, LiveOwners
from eosctl.planning.fencing import choose_transaction_timeout, find_unproved, plan_fencing, prove, select_candidates
from eosctl.planning.producing_elsewhere import find_clusters
from eosctl.render.answers.fencing import view_fencing_plan

NOBODY = LiveOwners()
TASK_OLD = ConnectorTaskId("old", 0)
NAMES = KnownNames.of({"g": ["orders", "orders-old", "other"]})


def ids(candidates: tuple[Candidate, ...]) -> list[str]:
    return [each.transactional_id for each in candidates]


def described(
    *transactional_ids: str, state: TransactionState = TransactionState.EMPTY
) -> dict[str, TransactionDescription]:
    return {
        each: TransactionDescription(each, state, ProducerIdAndEpoch(7, 1), 60_000, None, (), 1)
        for each in transactional_ids
    }


def plan(
    request: FencingRequest,
    known: dict[str, TransactionDescription],
    live: LiveOwners = NOBODY,
    task_counts: dict[str, int] | None = None,
) -> FencingPlan:
    counts = {"orders": 2} if task_counts is None else task_counts
    candidates = select_candidates(request, "g", counts, known, NAMES)
    return plan_fencing(request, candidates, known, live, 60_000)


def test_a_connector_stands_for_the_tasks_it_may_have_had() -> None:
    request = FencingRequest(connectors=("orders",))
    assert ids(select_candidates(request, "g", {"orders": 3, "other": 9}, [], NAMES)) == [
        "g-orders-0",
        "g-orders-1",
        "g-orders-2",
    ]


def test_a_connector_also_stands_for_leftovers_of_a_larger_generation() -> None:
    listed = ["g-orders-11", "g-orders-old-0", "g-other-0", "x-orders-1"]
    request = FencingRequest(connectors=("orders",))
    assert ids(select_candidates(request, "g", {"orders": 1}, listed, NAMES)) == ["g-orders-0", "g-orders-11"]


def test_a_connector_of_the_same_name_in_another_connect_cluster_is_left_alone() -> None:
    """Its task would turn FAILED, and Connect does not start it again."""
    names = KnownNames.of({"g": ["orders"], "h": ["orders"]})
    listed = ["g-orders-5", "h-orders-5"]
    found = select_candidates(FencingRequest(connectors=("orders",)), "g", {"orders": 1}, listed, names)
    assert ids(found) == ["g-orders-0", "g-orders-5"]


def test_a_prefix_stands_for_the_ids_that_are_known() -> None:
    request = FencingRequest(prefixes=("g-or",))
    assert ids(select_candidates(request, "g", {}, ["g-orders-10", "g-orders-2", "h-or-1"], NAMES)) == [
        "g-orders-2",
        "g-orders-10",
    ]


def test_all_connectors_are_those_of_the_config_topic() -> None:
    request = FencingRequest(all_connectors=True)
    assert ids(select_candidates(request, "g", {"orders": 1, "other": 1}, ["unrelated-0"], NAMES)) == [
        "g-orders-0",
        "g-other-0",
    ]


def test_an_id_named_twice_is_fenced_once_and_keeps_its_place() -> None:
    request = FencingRequest(transactional_ids=("z", "g-orders-1", "z"), connectors=("orders",))
    assert ids(select_candidates(request, "g", {"orders": 2}, [], NAMES)) == ["z", "g-orders-1", "g-orders-0"]


def test_an_ambiguous_id_is_not_taken_for_a_leftover() -> None:
    names = KnownNames.of({"a": ["b-c"], "a-b": ["c"]})
    assert select_candidates(FencingRequest(connectors=("c",)), "a-b", {}, ["a-b-c-0"], names) == ()


def test_a_named_id_that_no_coordinator_knows_is_refused() -> None:
    result = plan(FencingRequest(transactional_ids=("typo-0", "g-orders-0")), described("g-orders-0"))
    assert [each.message for each in result.objections] == ["1 transactional ID not known to any coordinator: typo-0"]
    assert "--create-missing" in result.objections[0].hint


def test_a_derived_id_that_no_coordinator_knows_is_skipped() -> None:
    result = plan(FencingRequest(connectors=("orders",)), described("g-orders-1"))
    assert result.objections == ()
    assert [each.candidate.transactional_id for each in result.skipped] == ["g-orders-0"]
    assert [each.transactional_id for each in result.steps] == ["g-orders-1"]


def test_create_missing_fences_them_all() -> None:
    result = plan(FencingRequest(transactional_ids=("new",), connectors=("orders",), create_missing=True), {})
    assert [(each.transactional_id, each.before) for each in result.steps] == [
        ("new", None),
        ("g-orders-0", None),
        ("g-orders-1", None),
    ]
    assert result.objections == ()


def at_work(group_id: str, *tasks: ConnectorTaskId) -> LiveOwners:
    """A group of one member that has these tasks, and no REST."""
    member = GroupMember("m-1", "http://w:8083/", tasks)
    return LiveOwners.of({group_id: ConnectGroup("Stable", "connect", "sessioned", (member,), "http://w:8083/")})


def test_tasks_at_work_are_refused_with_group_connector_task_and_member() -> None:
    live = at_work("g", *(ConnectorTaskId("orders", number) for number in (0, 1)), ConnectorTaskId("other", 0))
    result = plan(FencingRequest(connectors=("orders",)), described("g-orders-0", "g-orders-1"), live)
    (objection,) = result.objections
    assert objection.message == (
        "connector orders of Connect cluster g has 2 tasks at work (task 0 of unknown state at http://w:8083/, "
        "task 1 of unknown state at http://w:8083/); their open transactions would be aborted and the tasks would turn "
        "FAILED, which Connect does not fix"
    )
    assert objection.hint == (
        "stop it first (PUT /connectors/orders/stop), or fence with --force and restart its tasks afterwards: "
        "POST /connectors/orders/tasks/0/restart; POST /connectors/orders/tasks/1/restart"
    )
    assert result.warnings == ()


def test_of_several_connectors_at_work_each_has_a_line_of_the_plan_and_the_error_one_alone() -> None:
    names = ("orders", "other", "third")
    live = at_work("g", *(ConnectorTaskId(name, 0) for name in names))
    wanted = [f"g-{name}-0" for name in names]
    result = plan(FencingRequest(tuple(wanted)), described(*wanted), live)
    planned = PlannedFencing(plan=result, cluster_id="c", as_of=0)
    notes = view_fencing_plan(planned).notes
    assert [each.split()[2] for each in notes] == list(names)
    assert "POST /connectors/third/tasks/0/restart" in notes[2]
    failure = str(planned.failure)
    assert failure.startswith("connector orders of Connect cluster g has 1 task at work")
    assert failure.endswith("; 2 more objections, each on a line of the plan")


def test_a_task_of_another_group_with_the_same_id_is_refused() -> None:
    result = plan(FencingRequest(("g-orders-old-0",)), described("g-orders-old-0"), at_work("g-orders", TASK_OLD))
    assert [
        "connector old of Connect cluster g-orders has 1 task at work" in each.message for each in result.objections
    ] == [True]


def test_a_group_of_which_nothing_is_known_objects_to_the_ids_that_may_be_its() -> None:
    denied = LiveOwners(unknown={"g-orders": Skipped("User:a lacks Describe on group g-orders")})
    request = FencingRequest(("g-orders-old-0", "g-orders-1"))
    result = plan(request, described(*request.transactional_ids), denied)
    assert [each.message for each in result.objections] == [
        "whether a task of Connect group g-orders has g-orders-old-0 is unknown: "
        "User:a lacks Describe on group g-orders"
    ]
    assert plan(replace(request, force=True), described(*request.transactional_ids), denied).objections == ()


def test_force_turns_the_refusal_into_a_warning() -> None:
    request = FencingRequest(connectors=("orders",), force=True)
    result = plan(request, described("g-orders-0"), at_work("g", ConnectorTaskId("orders", 0)))
    assert result.objections == ()
    assert result.warnings == (
        "connector orders of Connect cluster g has 1 task at work (task 0 of unknown state at http://w:8083/); "
        "they will turn FAILED: restart them afterwards: POST /connectors/orders/tasks/0/restart",
    )


def test_a_leader_s_id_is_fenced_where_it_was_written_and_not_where_a_prefix_finds_it() -> None:
    live, known = at_work("g"), described("connect-cluster-g")
    assert plan(FencingRequest(("connect-cluster-g",)), known, live).objections == ()
    (objection,) = plan(FencingRequest(prefixes=("connect-",)), known, live).objections
    assert objection.message.startswith("connect-cluster-g belongs to the leader of Connect cluster g (http://w:8083/)")


def test_a_leader_s_id_that_may_be_a_task_s_is_refused_though_it_was_written() -> None:
    """connect-cluster-g-0: of the leader of group g-0, or of task 0 of connector g, which the user may have meant."""
    names, request = KnownNames.of({"connect-cluster": ["g"]}), FencingRequest(("connect-cluster-g-0",))
    candidates = select_candidates(request, "connect-cluster", {}, [], names)
    found = plan_fencing(request, candidates, described("connect-cluster-g-0"), at_work("g-0"), 60_000)
    assert [each.message.partition(" (")[0] for each in found.objections] == [
        "connect-cluster-g-0 belongs to the leader of Connect cluster g-0"
    ]


@pytest.mark.parametrize("request_of", [FencingRequest(("g-orders-0",)), FencingRequest(prefixes=("g-orders",))])
def test_the_id_of_a_task_at_work_is_refused_however_it_was_asked_for(request_of: FencingRequest) -> None:
    found = plan(request_of, described("g-orders-0"), at_work("g", ConnectorTaskId("orders", 0)))
    assert [each.message.partition(" (")[0] for each in found.objections] == [
        "connector orders of Connect cluster g has 1 task at work"
    ]


def test_an_ambiguous_id_is_fenced_with_a_warning() -> None:
    names = KnownNames.of({"a": ["b-c"], "a-b": ["c"]})
    candidates = select_candidates(FencingRequest(transactional_ids=("a-b-c-0",)), "a", {}, [], names)
    result = plan_fencing(
        FencingRequest(transactional_ids=("a-b-c-0",)), candidates, described("a-b-c-0"), NOBODY, 60_000
    )
    assert result.warnings == (
        "a-b-c-0 has more than one reading: task 0 of connector b-c in Connect cluster a; "
        "or task 0 of connector c in Connect cluster a-b",
    )


@pytest.mark.parametrize(
    ("transactional_id", "owner"),
    [
        ("clicks-3f2a1b4c-0d5e-4f60-8a7b-9c8d7e6f5a4b-2", "unknown, shape of Streams application clicks, thread 2"),
        ("clicks-0_1", "unknown, shape of Streams application clicks, task 0_1 (partition 1)"),
        ("g-orders-0", "task 0 of connector orders in Connect cluster g"),
        ("clicks", "unknown"),
    ],
)
def test_an_id_without_a_known_owner_is_shown_with_its_shape(transactional_id: str, owner: str) -> None:
    request = FencingRequest(transactional_ids=(transactional_id,))
    planned = PlannedFencing(plan=plan(request, described(transactional_id)), cluster_id="c", as_of=0)
    document = view_fencing_plan(planned).data
    assert [row["owner"] for row in document["steps"]] == [owner]


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision("a", True, 0), "that its coordinator committed at 1970-01-01T00:00:00.000Z, and whose marker"),
        (Skipped("denied"), "that may be committed (denied), and whose marker is missing"),
        (Decision("a", False, 0), None),
        (None, None),
    ],
)
def test_a_transaction_that_would_end_a_committed_one_is_not_fenced_but_for_force(decision, words) -> None:
    known = described("a", state=TransactionState.ONGOING)
    active = ActiveProducer(TopicPartition("t", 0), ProducerIdAndEpoch(7, 1), 3, 0, 0, 5)
    earlier = OpenTransaction(active, 5, "a", known["a"], FirstBatch(0, 1))
    overtaken = [Verdict(earlier, earlier.reason, Advice.WAIT, decision)]
    request = FencingRequest(transactional_ids=("a",))
    candidates = select_candidates(request, "g", {}, [], NAMES)
    planned = plan_fencing(request, candidates, known, NOBODY, 60_000, overtaken=overtaken)
    assert [str(words) in each.message for each in planned.objections] == ([] if words is None else [True])
    assert all("records of a in t-0 from offset 5 on" in each.message for each in planned.objections)
    forced = plan_fencing(replace(request, force=True), candidates, known, NOBODY, 60_000, overtaken=overtaken)
    assert forced.objections == ()


def test_an_open_transaction_on_a_partition_without_leader_is_refused_but_for_force() -> None:
    partitions = (TopicPartition("t", 0), TopicPartition("t", 1))
    known = described("a", "b", "c", state=TransactionState.ONGOING)
    known["a"] = replace(known["a"], partitions=partitions)
    known["b"] = replace(known["b"], partitions=partitions[:1])
    known["c"] = replace(known["c"], partitions=partitions, state=TransactionState.COMPLETE_COMMIT)
    request = FencingRequest(transactional_ids=("a", "b", "c"))
    candidates = select_candidates(request, "g", {}, [], NAMES)
    refused = plan_fencing(request, candidates, known, NOBODY, 60_000, {TopicPartition("t", 1)})
    (objection,) = refused.objections
    assert objection.message.startswith(
        "1 transactional ID (a) with an open transaction on partitions that have no leader: t-1."
    )
    assert "eosctl transactions hanging --topic t" in objection.hint
    forced = plan_fencing(replace(request, force=True), candidates, known, NOBODY, 60_000, {TopicPartition("t", 1)})
    assert (forced.objections, forced.warnings) == ((), (objection.message,))
    assert plan_fencing(request, candidates, known, NOBODY, 60_000).objections == ()


def test_a_transaction_of_two_phase_commit_is_fenced_with_a_warning() -> None:
    known = described("a", "b", state=TransactionState.ONGOING) | described("c")
    known |= {name: replace(known[name], timeout_ms=2**31 - 1) for name in ("a", "c")}
    [warning] = plan(FencingRequest(("a", "b", "c")), known).warnings
    assert warning.startswith("1 transactional ID (a) with an open transaction of two-phase commit (KIP-939)")


@pytest.mark.parametrize(
    ("asked", "limit", "sent"),
    [
        (None, 900_000, 60_000),
        (None, 30_000, 30_000),
        (30_000, 900_000, 30_000),
        (1_000_000, 900_000, 900_000),
        (1_000_000, Skipped("no broker answers"), 1_000_000),
    ],
)
def test_the_timeout_that_is_sent_is_the_wanted_one_or_the_producers_default_within_the_brokers_limit(
    asked: int | None, limit: int | Skipped, sent: int
) -> None:
    assert choose_transaction_timeout(FencingRequest(transaction_timeout_ms=asked), limit) == sent


def result(outcome: FenceOutcome, error: str | None = None, coordinator: int | None = 2) -> FenceResult:
    message = None if error is None else FenceError(error, "so it said")
    return FenceResult(
        FenceStep(Candidate("g-orders-0", named=True), None), outcome, None, 1, 1.0, coordinator, message
    )


FENCED, SKIPPED_ID = result(FenceOutcome.FENCED), result(FenceOutcome.SKIPPED)


def failed(error: str | None, coordinator: int | None = 2) -> FenceResult:
    return result(FenceOutcome.FAILED, error, coordinator)


@pytest.mark.parametrize(
    ("results", "code", "message"),
    [
        ([FENCED, FENCED], None, ""),
        ([SKIPPED_ID], None, ""),
        (
            [failed("INVALID_PRODUCER_EPOCH")],
            8,
            "no ID was fenced; first: g-orders-0: INVALID_PRODUCER_EPOCH: so it said",
        ),
        ([failed(None)], 8, "no ID was fenced; first: g-orders-0"),
        ([failed("TRANSACTIONAL_ID_AUTHORIZATION_FAILED")], 5, "Write"),
        ([failed("TIMED_OUT")], 4, "no ID was fenced in time"),
        ([failed("Unreachable")], 4, "no ID was fenced in time"),
        ([failed("UNKNOWN_SERVER_ERROR")], 9, "no ID was fenced for certain"),
        ([failed("TIMED_OUT"), failed("UNKNOWN_SERVER_ERROR")], 4, "no ID was fenced in time"),
        ([FENCED, failed("TIMED_OUT")], 9, "1 of 2 IDs are fenced, 1 are not; first: g-orders-0: TIMED_OUT"),
        ([SKIPPED_ID, failed("TIMED_OUT")], 4, "no ID was fenced in time"),
    ],
)
def test_a_fencing_ends_by_what_was_fenced_and_by_why_the_first_id_was_not(results, code: int | None, message: str):
    """Not fenced, not fenced for certain, and fenced in part: the exit codes differ, too."""
    failure = failure_of(FencingOutcome(tuple(results), 1.0), "User:tool")
    assert (failure and failure.exit_code) == code
    assert failure is None or message in failure.message


def test_an_interrupted_fencing_lists_the_fenced_ids_also_after_another_error():
    failure = failure_of(FencingOutcome((FENCED, failed("TIMED_OUT")), 1.0, interrupted=True), "User:tool")
    assert failure is not None
    assert (failure.exit_code, failure.message.partition(":")[0]) == (130, "stopped")


@pytest.mark.parametrize(("coordinator", "named"), [(None, "its coordinator"), (2, "broker 2")])
def test_an_internal_error_names_the_broker_log_to_read(coordinator: int | None, named: str):
    failure = failure_of(FencingOutcome((failed("UNKNOWN_SERVER_ERROR", coordinator),), 1.0), "User:tool")
    assert failure is not None
    assert f"the log of {named}" in str(failure.hint)


@pytest.mark.parametrize(
    ("open_now", "moved", "refusal", "holds"),
    [
        (False, True, None, True),
        (False, True, "PRODUCER_FENCED", True),
        (False, True, "", False),
        (True, True, None, False),
        (False, False, "PRODUCER_FENCED", False),
    ],
)
def test_an_id_is_fenced_if_nothing_is_open_its_epoch_moved_and_its_old_producer_was_refused_if_asked(
    open_now: bool, moved: bool, refusal: str | None, holds: bool
):
    assert Proof("g-orders-0", open_now, moved, refusal).holds is holds


ON, OFF = KnownPhase.ENABLED, KnownPhase.NOT_ENABLED
UNKNOWN = Skipped("nobody told")
TO_OWN = Move("c", "c", "old", "new", "new", None)
FROM_OWN = replace(TO_OWN, former_setting="old")
HERE, THERE = "here", "there"


def found(
    producer: str | Skipped | None,
    support: KnownPhase | Skipped,
    *,
    move: Move = TO_OWN,
    source: str = HERE,
    target: str | None = None,
    workers: str | Skipped = HERE,
    stays: bool = False,
) -> list[tuple[str, str, str]]:
    """ID and severity of each finding, and what it says."""
    producers = {} if producer is None else {"c": producer}
    facts = MigrationFacts(
        1,
        {Side.SOURCE: source, Side.TARGET: target or source},
        {},
        {},
        {},
        clusters=ConnectClusters(workers, producers, dict.fromkeys(producers, "there:9092"), support),
    )
    request = MigrationRequest((move,), "g", "g", other_cluster=target not in {None, source}, stays=stays)
    return [(each.name, each.severity.value, f"{each.message}; {each.cure}") for each in find_clusters(request, facts)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"producer": None, "support": ON}, None),
        ({"producer": None, "support": ON, "workers": THERE}, "keep their topics in Kafka cluster there; this is here"),
        ({"producer": None, "support": ON, "workers": UNKNOWN}, None),
        ({"producer": HERE, "support": ON}, None),
        ({"producer": THERE, "support": ON}, "its offsets are in cluster there, not in here, and so are its trans"),
        ({"producer": THERE, "support": ON, "source": THERE}, None),
        ({"producer": THERE, "support": OFF, "move": FROM_OWN}, "its offsets are in cluster there, not in here; give"),
        ({"producer": THERE, "support": OFF}, "it will keep its offsets there, not in here; name that cluster: --to-b"),
        ({"producer": THERE, "support": OFF, "source": THERE}, "its offsets are in cluster here, not in there"),
        ({"producer": THERE, "support": UNKNOWN}, "depends on the workers' exactly.once.source.support"),
        ({"producer": THERE, "support": UNKNOWN, "move": FROM_OWN, "source": THERE}, None),
        ({"producer": THERE, "support": UNKNOWN, "workers": THERE, "source": THERE}, None),
        ({"producer": THERE, "support": OFF, "workers": UNKNOWN}, "it will keep its offsets there, not in here; name"),
        ({"producer": THERE, "support": ON, "target": THERE, "stays": True}, None),
        ({"producer": THERE, "support": OFF, "target": THERE, "stays": True}, None),
    ],
)
def test_a_move_reads_and_writes_where_the_offsets_are(given: dict, message: str | None):
    answers = found(**given)
    assert [severity for _, severity, _ in answers] == ([] if message is None else ["error"])
    assert message is None or message in answers[0][2]


def test_the_cluster_is_named_as_the_config_names_it():
    [(id_, _, words)] = found(THERE, ON)
    assert id_ == "produces-elsewhere"
    assert "(producer.override.bootstrap.servers=there:9092)" in words
    assert "-b there:9092" in words


def test_a_cluster_that_could_not_be_asked_is_reported_and_does_not_stop_the_move():
    [(id_, severity, words)] = found(UNKNOWN, ON)
    assert (id_, severity) == ("produces-elsewhere", "warning")
    assert "nobody told" in words


def test_a_config_that_is_carried_to_another_connect_cluster_has_to_be_changed():
    [(id_, severity, words)] = found(HERE, ON, target=THERE)
    assert (id_, severity) == ("produces-elsewhere", "warning")
    assert "change producer.override.bootstrap.servers in its new config" in words


BEFORE_7_1, AFTER_7_2 = ProducerIdAndEpoch(7, 1), ProducerIdAndEpoch(7, 2)
LATER_7_3, OTHER_8_0 = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(8, 0)


def seen(producer: ProducerIdAndEpoch, state: TransactionState = TransactionState.EMPTY) -> TransactionDescription:
    return TransactionDescription("g-orders-0", state, producer, 60_000, None, (), 1)


@pytest.mark.parametrize(
    ("before", "now", "open_now", "moved"),
    [
        (seen(BEFORE_7_1), seen(AFTER_7_2), False, True),
        (seen(BEFORE_7_1), seen(AFTER_7_2, TransactionState.ONGOING), True, True),
        (seen(BEFORE_7_1), seen(LATER_7_3, TransactionState.ONGOING), False, True),
        (seen(BEFORE_7_1), seen(OTHER_8_0, TransactionState.ONGOING), False, True),
        (seen(AFTER_7_2), seen(AFTER_7_2), False, False),
        (seen(BEFORE_7_1), None, False, True),
        (seen(AFTER_7_2), None, False, False),
        (None, seen(AFTER_7_2), False, True),
        (None, None, False, True),
    ],
    ids=[
        "fenced",
        "still open",
        "a later producer's transaction",
        "another producer ID's transaction",
        "not moved",
        "not described afterwards, the answer moved",
        "not described afterwards, the answer did not move",
        "created",
        "created and not described",
    ],
)
def test_a_proof_compares_the_coordinators_producer_with_the_one_before_and_the_one_that_fenced_it(
    before: TransactionDescription | None, now: TransactionDescription | None, open_now: bool, moved: bool
):
    """A transaction of a producer that was initialised after the fencing is not the fenced producer's."""
    fenced = replace(FENCED, step=FenceStep(Candidate("g-orders-0", named=True), before), after=AFTER_7_2)
    known = {} if now is None else {"g-orders-0": now}
    [proof] = prove(FencingOutcome((fenced, failed("TIMED_OUT"), SKIPPED_ID), 1.0), known, {"g-orders-0": "X"})
    assert proof == Proof("g-orders-0", open_now, moved, "X")


@pytest.mark.parametrize(
    ("proof", "doubt"),
    [
        (Proof("x", open=True, moved=False, refusal=""), "producer ID and epoch are the same as before fencing"),
        (Proof("x", open=True, moved=True, refusal=""), "a transaction of the fenced producer is still in progress"),
        (Proof("x", open=False, moved=True, refusal=""), "the coordinator did not refuse the old producer"),
    ],
)
def test_a_proof_that_does_not_hold_is_reported_with_its_first_doubt_and_one_that_holds_is_not(proof: Proof, doubt):
    holding = Proof("y", open=False, moved=True, refusal="PRODUCER_FENCED")
    [found] = find_unproved((holding, proof))
    assert (found.subject, found.message) == ("x", doubt)


@pytest.mark.parametrize(
    ("state", "named", "severity"),
    [(None, True, "warning"), (None, False, "error"), ("STOPPED", True, "error"), ("STOPPED", False, "error")],
)
def test_workers_of_another_kafka_are_a_warning_only_of_a_deleted_connector_whose_topic_was_named(
    state: str | None, named: bool, severity: str
):
    facts = MigrationFacts(
        1,
        {Side.SOURCE: HERE, Side.TARGET: HERE},
        {(Side.SOURCE, "c"): ConnectorFacts(state)},
        {},
        {},
        clusters=ConnectClusters(THERE, {}, {}, ON),
    )
    request = MigrationRequest((replace(TO_OWN, named=named),), "g", "g")
    assert [each.severity for each in find_clusters(request, facts)] == [severity]


@pytest.mark.parametrize(("servers", "home"), [("-b there:9092, and", THERE), ("-b, and", "third")])
def test_the_brokers_of_the_producers_cluster_are_named_where_the_offsets_are_in_it(servers: str, home: str):
    support, workers = (ON, HERE) if home == THERE else (OFF, home)
    [(_, _, words)] = found(THERE, support, workers=workers)
    assert f"its offsets are in cluster {home}, not in here" in words
    assert f"give the brokers of that cluster with {servers} the workers with --connect-url" in words
    assert ("so are its transactional IDs" in words) is (support is ON)


@pytest.mark.parametrize(("stays", "producer", "found_one"), [(True, THERE, False), (True, "third", True)])
def test_offsets_that_stay_are_right_only_where_the_producer_writes_to_their_cluster(stays, producer, found_one):
    assert bool(found(producer, ON, target=THERE, stays=stays)) is found_one


@pytest.mark.parametrize(
    ("move", "found_one"),
    [(TO_OWN, True), (replace(TO_OWN, setting=None), False), (replace(TO_OWN, former_setting="old"), False)],
)
def test_a_connector_keeps_offsets_of_its_own_topic_where_it_produces(move: Move, found_one: bool):
    """With the workers' topic they are where the workers are; one that has its own topic has them there already."""
    source = THERE if move.former_setting else HERE
    said = [words for *_, words in found(THERE, OFF, move=move, source=source)]
    assert any("it will keep its offsets there" in each for each in said) is found_one
