"""What a cluster does with transactions: the plan of a probe, and its answers."""

from typing import TypedDict

from eosctl.model.probe import PlannedProbe, ProbeAnswer, Probed, ProbedApi, Verdict
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Table, Tone, figure

# What `probe` answers.


class ProbeStepRow(TypedDict):
    """A step of a probe."""

    number: int
    what: str


class ProbePlanData(TypedDict):
    """What a probe will do, in which topic and under which transactional ID."""

    topic: str
    transactional_id: str
    replication_factor: int
    steps: list[ProbeStepRow]


class ProbeAnswerRow(TypedDict):
    """A question with its answer, and what that means for Connect and for eosctl."""

    id: str
    question: str
    answer: Verdict
    seen: str
    severity: Severity
    connect: str
    eosctl: str


class ProbedApiRow(TypedDict):
    """An API; is_there is null where it is not known."""

    name: str
    key: int
    versions: str | Skipped
    needed: int
    needed_by: str
    is_there: bool | None


class LeftRow(TypedDict):
    """What a probe left in the cluster."""

    kind: str
    name: str
    reason: str


class ProbeData(TypedDict):
    """Every question with its answer; init_producer_id_ms is how long each InitProducerId took."""

    topic: str
    transactional_id: str
    principal: str
    answers: list[ProbeAnswerRow]
    apis: list[ProbedApiRow]
    init_producer_id_ms: list[float]
    left: list[LeftRow]
    interrupted: bool


TONES = {"yes": Tone.GOOD, "no": Tone.BAD, "different": Tone.BAD, "unknown": Tone.WARN}

STEPS = Table("steps", (figure("STEP", "number", "the step's number"), Column("WHAT", "what", "what it does")))
ANSWERS = Table(
    "answers",
    (
        Column("CHECK", "id", "what is asked, by a name that does not change"),
        Column("ANSWER", "answer", "yes: as Kafka does; no; different: otherwise; unknown", tones=TONES),
        Column("SEEN", "seen", "what the brokers answered, or why it is unknown"),
        Column("FOR-CONNECT", "connect", "what that means for exactly-once source connectors"),
        Column("FOR-EOSCTL", "eosctl", "what that means for eosctl's other commands"),
    ),
)
APIS = Table(
    "apis",
    (
        Column("API", "name", "the API"),
        Column("VERSIONS", "versions", "those that every broker answers"),
        figure("NEEDED", "needed", "the version that is needed"),
        Column("NEEDED-BY", "needed_by", "who needs it"),
    ),
    title="APIs",
)
LEFT = Table(
    "left",
    (
        Column("KIND", "kind", "topic or transactional ID"),
        Column("NAME", "name", "its name"),
        Column("WHY", "reason", "why it is left, or until when"),
    ),
    title="Left in the cluster",
    empty="nothing",
)


def view_probe_answer(answer: PlannedProbe | Probed) -> Document:
    """The plan, or the answers."""
    return view_probe_plan(answer) if isinstance(answer, PlannedProbe) else view_probed(answer)


def view_probe_plan(planned: PlannedProbe) -> Document:
    """The plan, for `--dry-run` and before the question."""
    plan = planned.plan
    data: ProbePlanData = {
        "topic": plan.name,
        "transactional_id": plan.name,
        "replication_factor": plan.replication_factor,
        "steps": [{"number": number, "what": each} for number, each in enumerate(plan.steps, 1)],
    }
    return Document(
        kind="probe.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=planned.cluster_id,
        data=data,
        blocks=(STEPS,),
        prose=("A probe writes to the cluster, in a topic and under a transactional ID of its own.",),
    )


def view_probed(probed: Probed) -> Document:
    """Every question with its answer, the APIs, and what is left."""
    data: ProbeData = {
        "topic": probed.plan.name,
        "transactional_id": probed.plan.name,
        "principal": probed.principal,
        "answers": [_answer_row(each) for each in probed.answers],
        "apis": [_api_row(each) for each in probed.apis],
        "init_producer_id_ms": [round(each, 3) for each in probed.init_ms],
        "left": [{"kind": each.kind, "name": each.name, "reason": each.reason} for each in probed.left],
        "interrupted": probed.interrupted,
    }
    return Document(
        kind="probe",
        as_of=rfc3339(probed.plan.as_of),
        cluster_id=probed.cluster_id,
        data=data,
        blocks=(ANSWERS, APIS, LEFT),
        prose=(_conclusion(probed),),
        concludes=True,
    )


def _answer_row(answer: ProbeAnswer) -> ProbeAnswerRow:
    unless = "unless it does: " if answer.verdict is Verdict.UNKNOWN else ""
    return {
        "id": answer.check.id,
        "question": answer.check.question,
        "answer": answer.verdict,
        "seen": answer.seen,
        "severity": answer.check.severity,
        "connect": f"{unless}{answer.meaning.connect}",
        "eosctl": f"{unless}{answer.meaning.eosctl}",
    }


def _api_row(api: ProbedApi) -> ProbedApiRow:
    versions = api.versions
    words = versions if isinstance(versions, Skipped) else "not offered"
    return {
        "name": api.name,
        "key": api.key,
        "versions": f"{versions.lowest} to {versions.highest}"
        if not isinstance(versions, Skipped) and versions
        else words,
        "needed": api.needed,
        "needed_by": api.needed_by,
        "is_there": api.is_there,
    }


def _conclusion(probed: Probed) -> str:
    counts = ", ".join(f"{probed.count(each)} {each.value}" for each in Verdict if probed.count(each))
    failing = [each.check.id for each in probed.answers if each.fails]
    unknown = probed.count(Verdict.UNKNOWN)
    if failing:
        return f"Not as Kafka in what matters: {', '.join(failing)} ({counts})."
    if unknown:
        without = pluralize(unknown, "question has", "questions have")
        return f"As Kafka as far as it is known; {without} no answer ({counts})."
    return f"As Kafka in all that matters ({counts})."
