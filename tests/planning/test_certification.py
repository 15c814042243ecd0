"""The schedule of a certification."""

import pytest

from eosctl.errors import UsageError
from eosctl.model.certification import FAULTS, Fault, fault_kinds
from eosctl.planning.certification import schedule

KINDS = fault_kinds((), brokers=1, workers=2)
NEEDED = {each.fault for each in FAULTS if each.is_needed}


def test_a_seed_gives_the_same_rounds_again():
    assert schedule(7, 20, KINDS, ("poll", "interval")) == schedule(7, 20, KINDS, ("poll", "interval"))
    assert schedule(7, 20, KINDS, ("poll",)) != schedule(8, 20, KINDS, ("poll",))


def test_a_longer_schedule_begins_as_the_shorter_one():
    assert schedule(7, 20, KINDS, ("poll",))[:6] == schedule(7, 5, KINDS, ("poll",))


def test_round_0_has_no_fault():
    assert schedule(1, 1, KINDS, ())[0].fault is Fault.NONE


@pytest.mark.parametrize("seed", range(30))
def test_faults_that_a_certificate_needs_come_first_and_all_come_before_one_comes_again(seed: int):
    faults = [each.fault for each in schedule(seed, len(KINDS) + len(NEEDED), KINDS, ())[1:]]
    assert set(faults[: len(NEEDED)]) == NEEDED
    assert sorted(faults[: len(KINDS)]) == sorted(each.fault for each in KINDS)
    assert set(faults[len(KINDS) :]) == NEEDED


def test_each_boundary_has_its_turn():
    rounds = schedule(3, 6, KINDS, ("poll", "interval", "connector"))[1:]
    assert sorted(str(each.boundary) for each in rounds) == sorted(["poll", "interval", "connector"] * 2)


def test_a_choice_stays_within_its_bounds():
    for each in schedule(5, 50, KINDS, ()):
        assert {each.pick(which, 3, 5) for which in range(20)} <= {3, 4, 5}


def test_one_broker_has_no_other_coordinator_and_one_worker_no_zombie():
    alone = {each.fault for each in fault_kinds((), brokers=1, workers=1)}
    assert {Fault.MOVE_COORDINATOR, Fault.FREEZE_WORKER}.isdisjoint(alone)
    assert Fault.MOVE_COORDINATOR in {each.fault for each in fault_kinds((), brokers=3, workers=2)}


def test_named_faults_are_the_only_ones():
    assert [each.fault for each in fault_kinds(("fence", "reset-offsets"), 1, 2)] == [Fault.FENCE, Fault.RESET_OFFSETS]


def test_a_fault_that_is_not_known_or_not_possible_is_refused():
    with pytest.raises(UsageError, match="--faults burn: no such fault"):
        fault_kinds(("burn",), 1, 2)
    with pytest.raises(UsageError, match="--faults freeze-worker needs more processes"):
        fault_kinds(("freeze-worker",), 1, 1)


def test_the_coordinator_has_a_quorum_to_move_in():
    with pytest.raises(UsageError, match="--faults move-coordinator needs more processes"):
        fault_kinds(("move-coordinator",), brokers=2, workers=2)


def test_a_disk_is_filled_only_where_the_state_has_one_of_its_own():
    assert Fault.FILL_DISK not in {each.fault for each in KINDS}
    assert Fault.FILL_DISK in {each.fault for each in fault_kinds((), 1, 2, has_state=True)}
    with pytest.raises(UsageError, match="--faults fill-disk needs the connector's state"):
        fault_kinds(("fill-disk",), 1, 2)
