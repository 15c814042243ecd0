"""What the demo did and saw."""

from collections.abc import Sequence

from eosctl.model.demo import DemoStep
from eosctl.render.document import Column, Document, Table, figure

STEPS = Table(
    "steps",
    (
        Column("STEP", "step", "what was done"),
        Column("SEEN", "seen", "what was seen"),
        figure("SECONDS", "elapsed_s", "how long it took"),
    ),
)


def view_demo(steps: Sequence[DemoStep], kafka_version: str) -> Document:
    """The steps as a table."""
    rows = [{"step": each.step, "seen": each.seen, "elapsed_s": round(each.elapsed_s, 1)} for each in steps]
    return Document("demo", {"kafka_version": kafka_version, "steps": rows}, blocks=(STEPS,))
