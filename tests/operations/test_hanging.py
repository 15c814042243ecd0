"""What `transactions hanging` decides: what hangs, what cannot be judged, and the exit code."""

import pytest

from eosctl.errors import NotAuthorized, Unreachable
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog
from eosctl.model.hanging import NO_LEADER, HangingReason, TransactionalIdAccess
from eosctl.model.report import exit_code
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.operations.hanging import HangingRequest, find_hanging
from eosctl.render.answers.hanging import view_hanging
from tests.operations.transactions import HERE, THERE, active, cluster, described

ALL = HangingRequest((), None, 900_000, "connect-configs", None)


def test_what_no_coordinator_knows_hangs_and_the_exit_code_is_1():
    found = find_hanging(cluster([active()], [active()]), ALL)
    assert [(each.transaction.start_offset, each.reason) for each in found.verdicts] == [
        (5, HangingReason.NO_TRANSACTIONAL_ID)
    ]
    assert found.held_back[HERE, 9, 5].holds_lso
    assert exit_code(found) == 1


def test_what_has_ended_at_the_second_look_does_not_hang():
    found = find_hanging(cluster([active()], [active(start=None)]), ALL)
    assert found.verdicts == ()
    assert exit_code(found) == 0


def test_a_transaction_that_its_coordinator_knows_in_the_partition_is_in_progress():
    reader = cluster([active()], listed={"task-0": 9}, answers={"task-0": described("task-0", 9, HERE)})
    found = find_hanging(reader, ALL)
    assert [each.hangs for each in found.verdicts] == [False]
    assert str(found.owners["task-0"]).startswith("unknown")
    assert exit_code(found) == 0


FUTURE = active(age_ms=-3_600_000)
JUST_NOW = active(age_ms=1000)
LATE = ClusterClock(1, 7_200_000, 5)


@pytest.mark.parametrize(
    ("young", "clock", "reason"),
    [
        (FUTURE, ClusterClock(1, 0, 5), "the timestamp of its last batch is 3600.0 s in the future"),
        (JUST_NOW, LATE, "the clock of controller 1 is 7200 s ahead of this machine's"),
        (JUST_NOW, Skipped("denied"), "the cluster's clock could not be compared with this machine's: denied"),
    ],
)
def test_what_nobody_will_end_and_has_no_known_age_is_named_and_the_answer_incomplete(young, clock, reason):
    found = find_hanging(cluster([young], [young], clock=clock), ALL)
    assert (found.verdicts, [each.reason for each in found.undated]) == ((), [reason])
    assert [each.reason for each in found.coverage.gaps][-1:] == [reason]
    assert exit_code(found) == 3
    row = view_hanging(found).data["undated"][0]
    assert row["next"].endswith("abort --topic orders --partition 0 --start-offset 5 --force")


def test_what_is_in_progress_or_has_ended_is_no_doubt_whatever_the_clocks_say():
    known = {"listed": {"task-0": 9}, "answers": {"task-0": described("task-0", 9, HERE)}}
    for found in (find_hanging(cluster([FUTURE], clock=LATE, **known), ALL),
                  find_hanging(cluster([FUTURE], [active(start=None)], clock=LATE), ALL)):  # fmt: skip
        assert (found.verdicts, found.undated, exit_code(found)) == ((), (), 0)


def test_a_young_one_is_left_alone_where_the_clocks_agree_and_no_coordinator_is_asked():
    found = find_hanging(cluster([JUST_NOW], transactional_ids=Unreachable("not to be asked")), ALL)
    assert (found.verdicts, found.undated, found.clock) == ((), (), ClusterClock(1, 0, 5))


def test_the_clock_is_not_asked_for_where_nothing_is_young():
    found = find_hanging(cluster([active()], [active()], clock=Unreachable("not to be asked")), ALL)
    assert (found.clock, len(found.verdicts)) == (None, 1)


def test_where_no_leader_answers_nothing_found_ends_with_4_and_something_found_with_1():
    leaders = {HERE: 1, THERE: NO_LEADER}
    nothing = find_hanging(cluster([], partitions=leaders), ALL)
    assert (nothing.searched, nothing.not_searched) == (1, (THERE,))
    assert (exit_code(nothing), type(nothing.failure)) == (4, Unreachable)
    assert exit_code(find_hanging(cluster([active()], [active()], partitions=leaders), ALL)) == 1


def test_a_producer_that_a_silent_coordinator_may_know_is_undecided():
    found = find_hanging(cluster([active()], unlisted=("broker 3 did not list its transactional IDs",)), ALL)
    assert (found.verdicts, len(found.undecided)) == ((), 1)
    assert found.undecided_reasons == ("broker 3 did not list its transactional IDs",)
    assert exit_code(found) == 4


def test_an_id_whose_coordinator_does_not_answer_is_undecided_and_others_are_judged():
    reader = cluster(
        [active(9), active(10)],
        listed={"lost": 9, "known": 10},
        answers={"lost": Unreachable("broker 3 does not answer"), "known": described("known", 10, HERE)},
    )
    found = find_hanging(reader, ALL)
    assert [each.transaction.transactional_id for each in found.verdicts] == ["known"]
    assert [each.transactional_id for each in found.undecided] == ["lost"]
    assert exit_code(found) == 4


def test_nothing_is_judged_where_ids_are_hidden():
    reader = cluster([active()], access=TransactionalIdAccess(("live-…",), None))
    with pytest.raises(NotAuthorized, match="User:test lacks Describe on transactional ID"):
        find_hanging(reader, ALL)


def test_what_is_not_read_of_waiting_groups_is_named():
    found = find_hanging(cluster([active()], [active()], waiting_groups=Skipped("denied")), ALL)
    assert found.held_back[HERE, 9, 5].groups == Skipped("denied")
    assert "waiting_groups" in {each.what for each in found.coverage.unread}


@pytest.mark.parametrize(
    ("given", "known", "waits"),
    [
        ("orders", "other", True),
        (None, "orders", True),
        ("other", "orders", False),
        (None, None, False),
    ],
)
def test_the_offsets_topic_is_the_one_given_else_the_one_that_the_reader_knows(given, known, waits):
    records: tuple[ConfigRecord, ...] = ()
    log = ConfigTopicLog("connect-configs", Skipped("-"), Skipped("-"), records)
    facts = {"group_id": "g", "groups": {}, "config_topic": log, "worker_offsets_topic": lambda: known}
    found = find_hanging(
        cluster([active()], [active()], **facts), HangingRequest((), None, 900_000, "connect-configs", given)
    )
    assert bool(found.held_back[HERE, 9, 5].connect) is waits


def test_a_partition_that_a_young_or_live_transaction_holds_back_is_named_and_the_exit_code_stays_0():
    found = find_hanging(cluster([JUST_NOW], [JUST_NOW], clock=ClusterClock(1, 0, 5)), ALL)
    [note] = [each for each in view_hanging(found).notes if "held back" in each]
    assert note.startswith("1 partition is held back by open transactions that are in progress, or too young to be")
    assert note.endswith(f": eosctl transactions lso --topic {HERE.topic}")
    assert exit_code(found) == 0


def test_a_live_transaction_says_until_when_to_wait_and_how_to_end_it_now():
    ongoing = described("task-0", 9, HERE)
    found = find_hanging(cluster([active()], listed={"task-0": 9}, answers={"task-0": ongoing}), ALL)
    [row] = view_hanging(found).data["in_progress"]
    assert row["next"].endswith("eosctl fence --transactional-id task-0")
