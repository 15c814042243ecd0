"""How long something in the cluster is waited for."""

import pytest

from eosctl.clients.deadline import Deadline
from eosctl.errors import TimedOut


def test_a_wait_whose_time_is_over_does_not_pause():
    assert Deadline(60).pause(0)
    assert not Deadline(0).pause(60)


def test_time_that_has_passed_since_the_wait_began_counts():
    began_long_ago = Deadline(60, since=0.0)
    assert not began_long_ago.pause(60)


def test_a_wait_that_has_not_ended_says_why_and_for_how_long():
    with pytest.raises(TimedOut, match=r"^the topic has no leader, for 0\.5 s$"):
        Deadline(0.5, since=0.0).pause_or_raise(60, "the topic has no leader")
