"""Leftovers of jobs: transactions that an owner may still commit, and IDs that a pool has given away again."""

import pytest
from msgspec.structs import replace

from eosctl.model.fencing import FencingRequest
from eosctl.model.leftovers import (
    DecidedTransaction,
    FlinkCheckpoint,
    FlinkWriter,
    LeftoversRequest,
)
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.transaction_ends import CommitRequest
from eosctl.model.transaction_log import TransactionLogRecord
from eosctl.model.transactions import TransactionState as State
from eosctl.planning.transaction_ends import ProducerEnds, plan_commit, plan_leftovers
from tests.planning import test_fencing
from tests.planning.test_fencing import plan
from tests.planning.test_transaction_ends import COMMIT, HELD, NOW, described, facts, logged

NEXT = ProducerIdAndEpoch(42, 5)
HELD_BY_ANOTHER = facts(described=described(producer=NEXT), logged=logged(producer=NEXT))
COMMITTED_BEFORE = replace(HELD_BY_ANOTHER, ended=logged(State.COMPLETE_COMMIT, ProducerIdAndEpoch(42, 4)))


def writer(subtask: int | None, subtasks: int | None = 2, uncommitted=(), prefix="sink") -> FlinkWriter:
    held = [(each, int(each.rpartition("-")[2])) for each in uncommitted]
    return FlinkWriter(prefix, subtask, subtasks, frozenset(held))


def checkpoint(*writers: FlinkWriter, names=("sink-0-42",)) -> FlinkCheckpoint:
    return FlinkCheckpoint(42, tuple(DecidedTransaction(each, HELD) for each in names), writers)


@pytest.mark.parametrize(
    ("name", "found", "why"),
    [
        ("sink-0-43", checkpoint(writer(0), writer(1)), None),
        ("sink-0-42", checkpoint(writer(0, uncommitted=["sink-0-42"]), writer(1)), None),
        ("orders", checkpoint(), None),
        ("sink-0-42", checkpoint(), None),
        ("sink-1-41", checkpoint(writer(0, uncommitted=["sink-0-43"]), writer(1)), None),
        ("sink-0-43", checkpoint(), "checkpoint 42 has no state of a sink with this prefix"),
        ("sinks-0-43", checkpoint(writer(0), writer(1)), "has no state of a sink with this prefix"),
        ("sink-0-43", checkpoint(writer(0)), "the state of 1 subtasks only"),
        ("sink-0-43", checkpoint(writer(0), writer(0), writer(2, 3)), "the state of 2 subtasks only"),
        ("sink-0-43", checkpoint(writer(None, None)), "a connector before 4.0"),
        ("sink-1-42", checkpoint(writer(0), writer(1, uncommitted=["sink-1-42"])), "the files have no committer's"),
        ("sink-1-41", checkpoint(writer(0), writer(1, uncommitted=["sink-1-41"])), "the files have no committer's"),
        (
            "sink-1-41",
            checkpoint(writer(0), writer(1, uncommitted=["sink-1-41", "sink-1-42"])),
            "the files have no committer's",
        ),
        (
            "sink-1-41",
            checkpoint(writer(0), writer(1, uncommitted=["sink-1-41", "sink-1-42"]), names=["sink-1-42"]),
            None,
        ),
    ],
)
def test_a_transaction_is_decided_only_by_a_checkpoint_that_is_whole(name, found, why):
    said = found.why_undecided(name)
    assert said is None if why is None else why in said


@pytest.mark.parametrize(
    ("name", "decided", "kept", "why"),
    [
        ("sink-0-43", None, None, "by the shape of the ID"),
        ("sink-0-43", (), None, None),
        ("sink-43", None, None, None),
        ("sink-0-43", (), checkpoint(), "has no state of a sink"),
        ("sink-0-43", (), checkpoint(writer(0), writer(1)), None),
    ],
)
def test_without_the_owner_s_list_an_id_of_flink_is_undecided(name, decided, kept, why):
    said = LeftoversRequest("sink", decided, True, 0.0, "connect-configs", kept).why_undecided(name)
    assert said is None if why is None else why in said


def test_an_undecided_transaction_refuses_the_whole_plan_with_what_to_give():
    rest = [(COMMIT, facts(undecided="it may be held")), (COMMIT, facts(undecided="it may be held"))]
    planned = plan_leftovers([(COMMIT, facts())], rest, NOW, "cluster", 45_000)
    assert planned.plan.steps == ()
    assert planned.objections == ("sink-7, sink-7: it may be held",)
    assert "--commit-listed" in planned.hint


def test_an_undecided_transaction_that_has_ended_refuses_nothing():
    ended = facts(described=described(State.COMPLETE_ABORT), undecided="it may be held")
    planned = plan_leftovers([(COMMIT, facts())], [(COMMIT, ended)], NOW, "cluster", 45_000)
    assert planned.objections == ()


def test_a_client_at_work_is_the_first_thing_to_say():
    busy = facts(undecided="it may be held", logged=None)
    planned = plan_leftovers([], [(COMMIT, busy)], NOW, "cluster", 45_000)
    assert len(planned.objections) == 2
    assert planned.hint == "stop the client, or take it out of the list"


def test_a_listed_transaction_whose_id_a_pool_gave_to_the_next_is_a_warning_if_the_log_has_its_commit():
    planned = plan_leftovers([(COMMIT, COMMITTED_BEFORE), (COMMIT, facts())], [], NOW, "cluster", 45_000)
    assert [each.step.transactional_id for each in planned.plan.steps] == ["sink-7"]
    assert "your transaction is committed already, and the transaction in progress is another" in planned.warnings[0]
    unknown = plan_leftovers([(COMMIT, HELD_BY_ANOTHER)], [], NOW, "cluster", 45_000)
    assert "your transaction has ended" in unknown.objections[0]
    aborted = replace(HELD_BY_ANOTHER, ended=logged(State.COMPLETE_ABORT, ProducerIdAndEpoch(42, 4)))
    assert plan_leftovers([(COMMIT, aborted)], [], NOW, "cluster", 45_000).objections


def test_a_commit_that_the_log_has_is_said_where_the_id_is_idle_under_the_next_producer():
    idle = facts(described=described(State.EMPTY, NEXT), logged=logged(State.EMPTY, NEXT))
    (said,) = plan_commit(COMMIT, replace(idle, ended=COMMITTED_BEFORE.ended)).objections
    assert "is committed already by the transaction log" in said
    (unknown,) = plan_commit(COMMIT, idle).objections
    assert "the end of its last one is unknown" in unknown


def ends(*values, request: CommitRequest = COMMIT):
    found = ProducerEnds([request])
    records = [TransactionLogRecord(0, place, NOW, "sink-7", each) for place, each in enumerate(values)]
    assert [found.add(each) for each in records] == records
    found.add(TransactionLogRecord(0, 99, NOW, "another", logged(State.COMPLETE_ABORT)))
    return found.found.get(request)


OPEN, HERS = logged(), ProducerIdAndEpoch(42, 4)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([], None),
        ([None], None),
        ([OPEN], None),
        ([OPEN, logged(State.COMPLETE_COMMIT, HERS)], State.COMPLETE_COMMIT),
        ([OPEN, logged(State.PREPARE_COMMIT, HERS)], State.PREPARE_COMMIT),
        ([OPEN, logged(State.COMPLETE_ABORT, HERS)], State.COMPLETE_ABORT),
        ([logged(State.COMPLETE_COMMIT, HERS), None, logged(producer=NEXT)], State.COMPLETE_COMMIT),
        ([logged(State.COMPLETE_COMMIT, HELD)], None),
        ([logged(State.COMPLETE_COMMIT, HELD, 0)], State.COMPLETE_COMMIT),
        ([logged(State.COMPLETE_COMMIT, HELD, 0), logged(version=0)], None),
        ([logged(State.COMPLETE_COMMIT, HELD, 0), logged(State.COMPLETE_ABORT, HELD, 0)], State.COMPLETE_ABORT),
        ([logged(State.COMPLETE_COMMIT, HERS), logged(producer=NEXT), logged(State.COMPLETE_ABORT, NEXT)],
         State.COMPLETE_COMMIT),
    ],
)  # fmt: skip
def test_the_end_of_a_producer_s_last_transaction_is_found_behind_later_ones(values, state):
    found = ends(*values)
    assert found is None if state is None else found.state is state


@pytest.mark.parametrize(
    ("name", "state", "task_counts", "warned"),
    [
        ("sink-0-42", State.ONGOING, {}, True),
        ("sink-42", State.ONGOING, {}, False),
        ("sink-0-42", State.EMPTY, {}, False),
        ("g-orders-0", State.ONGOING, {"orders": 2}, False),
    ],
)
def test_a_fence_of_an_id_of_flink_s_shape_warns_of_its_checkpoint(name, state, task_counts, warned):
    request = FencingRequest(transactional_ids=(name,))
    planned = plan(request, test_fencing.described(name, state=state), task_counts=task_counts)
    said = f"({name}) with an open transaction and the shape of a Flink sink's"
    assert any(said in each for each in planned.warnings) is warned
    assert planned.objections == ()
