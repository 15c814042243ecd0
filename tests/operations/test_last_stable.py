"""What `transactions lso` decides: which partitions it shows, and how it watches them."""

from collections.abc import Iterator

import pytest

from eosctl.errors import UsageError
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import LastStableOffsets
from eosctl.model.report import exit_code
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.operations.hanging import StabilityRequest, last_stable_offsets, watch_last_stable_offsets
from eosctl.sources.saved_cluster import SavedCluster
from tests.operations.transactions import HERE, THERE, active, cluster

FREE = PartitionOffsets(THERE, 0, 7, 7)
HELD = PartitionOffsets(HERE, 0, 5, 9)
ALL = StabilityRequest((), "connect-configs")


class Narrated:
    """A console that keeps what is narrated."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        self.lines.append(text)


def pauses(_: float, stop_after: int | None = None) -> Iterator[None]:
    """No pause at all; Ctrl-C after so many."""
    count = 0
    while stop_after is None or count < stop_after:
        count += 1
        yield
    raise KeyboardInterrupt


def watched(request: StabilityRequest, **facts: object) -> tuple[LastStableOffsets, int, list[str]]:
    shown: list[LastStableOffsets] = []
    console = Narrated()
    reader = cluster(*[[active()]] * 9, offsets=lambda _: {HERE: HELD, THERE: FREE}, **facts)
    return watch_last_stable_offsets(reader, request, shown.append, console), len(shown), console.lines


def test_all_that_is_held_back_is_shown_and_the_rest_counted():
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: FREE}), ALL)
    assert [each.offsets for each in found.partitions] == [HELD]
    assert [each.start_offset for each in found.partitions[0].holders] == [5]
    assert found.free == 1
    assert exit_code(found) == 0


def test_partitions_that_are_named_are_shown_though_nothing_is_held_back():
    request = StabilityRequest(("orders",), "connect-configs")
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: FREE}), request)
    assert {each.offsets.topic_partition for each in found.partitions} == {HERE, THERE}


def test_a_partition_that_no_leader_answers_for_is_named_and_ends_with_4():
    lost = Skipped("orders-1 has no leader")
    found = last_stable_offsets(cluster([active()], offsets=lambda _: {HERE: HELD, THERE: lost}), ALL)
    assert found.not_searched == (THERE,)
    assert exit_code(found) == 4


def test_who_holds_back_is_uncertain_where_a_coordinator_is_silent():
    reader = cluster([active()], offsets=lambda _: {HERE: HELD}, unlisted=("broker 3 did not answer",))
    found = last_stable_offsets(reader, ALL)
    assert "which IDs hold back is not known of all: broker 3 did not answer" in found.notes
    assert [each.transactional_id for each in found.partitions[0].holders] == [None]


def test_each_look_but_the_last_is_shown():
    found, shown, lines = watched(StabilityRequest((), "c", every_s=0.1, looks=3), every=pauses)
    assert (shown, lines) == (2, [])
    assert [each.offsets for each in found.partitions] == [HELD]


def test_ctrl_c_ends_with_the_last_look():
    _, shown, lines = watched(StabilityRequest((), "c", every_s=0.1), every=lambda _: pauses(0, stop_after=2))
    assert (shown, lines) == (3, ["watched 3 times"])


def test_looks_without_watching_and_watching_a_snapshot_are_refused():
    with pytest.raises(UsageError, match="--watch"):
        watched(StabilityRequest((), "c", looks=2))
    unread = Skipped("not read")
    saved = SavedCluster(Snapshot(1, unread, None, unread, unread, unread))
    with pytest.raises(UsageError, match="it cannot be watched"):
        watch_last_stable_offsets(saved, StabilityRequest((), "c", every_s=1), lambda _: None, Narrated())
