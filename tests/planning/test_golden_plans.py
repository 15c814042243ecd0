"""The plan, the preconditions of each step, and the way back: in every situation as a person checked it."""

from tests.looked_at import AsLookedAt
from tests.planning.golden_plans import lines


def test_every_plan_equals_its_golden_file(as_looked_at: AsLookedAt) -> None:
    """A step or a precondition that is missing somewhere writes over offsets that a task has moved on from."""
    as_looked_at("plans", lines())
