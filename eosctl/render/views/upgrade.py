"""The verdict on a rolling step."""

from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.model.upgrade import UpgradeCheck
from eosctl.render.document import Column, Document, Findings, Table, Tone
from eosctl.render.documents.upgrade import UpgradeData
from eosctl.render.views.report import findings_of

WORKERS = Table(
    "workers",
    (
        Column("WORKER", "url", "the worker's REST address"),
        Column("PHASE", "phase", "what it is at", tones={"unknown": Tone.WARN}),
        Column("KNOWN-BY", "known_by", "how that is known"),
    ),
    title="Workers",
    empty="no workers were named",
)
STEPS = Table(
    "steps",
    (Column("WORKER", "url", "the worker"), Column("ACTION", "action", "what to do, one worker after the other")),
    title="Next",
)


def view_upgrade(check: UpgradeCheck) -> Document:
    """Verdict, blockers first, then what is not known, and the next rolling step worker by worker."""
    evidence = check.evidence
    data: UpgradeData = {
        "to": check.target,
        "verdict": check.verdict,
        "done": check.done,
        **findings_of(check),
        "blockers": [each.id for each in check.blockers],
        "unknown": list(check.unknown),
        "workers": [{"url": each.url, "phase": each.phase, "known_by": each.known_by} for each in check.workers],
        "steps": [{"url": each.url, "phase": each.phase, "action": each.action} for each in check.steps],
        "consequences": list(check.consequences),
    }
    return Document(
        kind="upgrade-check",
        as_of=rfc3339(evidence.as_of),
        cluster_id=None if isinstance(evidence.cluster_id, Skipped) else evidence.cluster_id,
        data=data,
        blocks=(
            WORKERS,
            *([Findings()] if check.reported else []),
            *([STEPS] if check.steps else []),
        ),
        prose=(check.summary,),
        concludes=True,
        notes=(*(f"cannot tell: {each}" for each in check.unknown), *(f"note: {each}" for each in check.consequences)),
    )
