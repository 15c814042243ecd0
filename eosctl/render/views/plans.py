"""Plan files, what became of each, and the command that may follow."""

import shlex
from typing import Final

from eosctl.model.kept_plans import KeptPlan, KeptPlans, PlanState
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Table, Tone
from eosctl.render.documents.plans import KeptPlanRow, KeptPlansData

STATE_TONES: Final = {"done": Tone.GOOD, "begun": Tone.WARN, "undo-begun": Tone.WARN, "unreadable": Tone.BAD}
PLANS: Final = Table(
    "plans",
    (
        Column("MADE", "made", "when its facts were read"),
        Column("KIND", "kind", "the command that made it"),
        Column("CONNECTORS", "connectors", "the connectors that its steps name"),
        Column("STATE", "state", "planned, begun, done, undo-begun, undone or unreadable", tones=STATE_TONES),
        Column("NEXT", "next", "the command that may follow; its addresses are yours to give"),
    ),
    empty="there is no plan file",
)
NEXT: Final = {
    PlanState.PLANNED: ("apply", ""),
    PlanState.BEGUN: ("apply", ""),
    PlanState.DONE: ("undo", ".undo"),
    PlanState.UNDO_BEGUN: ("undo", ".undo"),
}


def view_plans(kept: KeptPlans, *, bare: bool) -> Document:
    """A row for each plan; bare: the commands find its file by its name alone."""
    data: KeptPlansData = {"directory": kept.directory, "plans": [_row(each, bare=bare) for each in kept.plans]}
    return Document(kind="plans", data=data, blocks=(PLANS,), prose=(f"Plans in {kept.directory}:",))


def _row(kept: KeptPlan, *, bare: bool) -> KeptPlanRow:
    plan, name = kept.plan, kept.path.rpartition("/")[2] if bare else kept.path
    verb, suffix = NEXT.get(kept.state, ("", ""))
    return {
        "file": kept.path,
        "kind": None if isinstance(plan, Skipped) else plan.kind,
        "made": None if isinstance(plan, Skipped) else rfc3339(plan.as_of),
        "connectors": list(kept.connectors),
        "state": kept.state,
        "next": shlex.join(["eosctl", verb, name + suffix]) if verb else None,
        "reason": plan.reason if isinstance(plan, Skipped) else None,
    }
