"""What the demo did and saw."""

from eosctl.model.demo import DemoReport
from eosctl.model.fencing import Fenced, PlannedFencing
from eosctl.model.inspection import InspectedConfigTopic
from eosctl.model.planned import Planned
from eosctl.render.document import Column, Document, Table, figure
from eosctl.render.documents.files import DemoData
from eosctl.render.views.fencing import view_fencing_answer
from eosctl.render.views.inspection import view_inspection
from eosctl.render.views.plan import view_plan

STEPS = Table(
    "steps",
    (
        Column("STEP", "step", "what was done"),
        Column("SEEN", "seen", "what was seen"),
        figure("SECONDS", "elapsed_s", "how long it took"),
    ),
)


def view_demo(report: DemoReport) -> Document:
    """The steps as a table."""
    data: DemoData = {
        "kafka_version": report.kafka_version,
        "steps": [
            {"step": each.step, "seen": each.seen, "elapsed_s": round(each.elapsed_s, 1)} for each in report.steps
        ],
    }
    return Document("demo", data, blocks=(STEPS,))


def view_act(answer: Planned | InspectedConfigTopic | PlannedFencing | Fenced) -> Document:
    """What an act shows on the way."""
    match answer:
        case Planned():
            return view_plan(answer)
        case InspectedConfigTopic():
            return view_inspection(answer)
    return view_fencing_answer(answer)
