"""Offsets of a running connector that seem to differ, because its topics are read one after the other."""

import pytest

from eosctl.analysis.catalogue.plans import OFFSETS_CONFLICT
from eosctl.model.names import Side
from eosctl.model.plan import Plan, PlannedStep, StopConnector
from eosctl.model.planned import Planned
from eosctl.operations.migration import settled


def planned(conflict: str | None, *, stops: bool = True) -> Planned:
    steps = (PlannedStep(StopConnector(Side.SOURCE, "orders", paused=False), ()),) if stops else ()
    findings = () if conflict is None else (OFFSETS_CONFLICT.finding("orders", conflict, {}),)
    return Planned(plan=Plan("migrate-offsets", 0, steps), cluster_id="c", findings=findings)


@pytest.mark.parametrize(
    ("read", "taken"),
    [
        ([planned(None)], 0),
        ([planned("5 and 7"), planned("9 and 11"), planned(None)], 2),
        ([planned("5 and 7"), planned("5 and 7")], 1),
        ([planned("5 and 7", stops=False)], 0),
    ],
)
def test_only_a_conflict_that_is_read_twice_alike_stands_while_the_connector_runs(read: list[Planned], taken: int):
    left = iter(read)
    assert settled(lambda: next(left)) is read[taken]
    assert list(left) == []


def test_offsets_that_never_agree_are_a_conflict_in_the_end():
    read = [planned(f"{number} and {number + 2}") for number in range(100)]
    left = iter(read)
    assert settled(lambda: next(left), seconds=0) is read[0]
