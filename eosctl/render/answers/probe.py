"""How a cluster handles transactions: the plan of a probe, and its answers."""

from typing import Annotated

from msgspec import Struct

from eosctl.model.probe import PlannedProbe, ProbeAnswer, Probed, ProbedApi, Verdict
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.document import Document, Table, Tone, col, columns, row_of

# The answer of `probe`.


TONES = {"yes": Tone.GOOD, "no": Tone.BAD, "different": Tone.BAD, "unknown": Tone.WARN}


class ProbeStepRow(Struct, frozen=True):
    """A step of a probe."""

    number: Annotated[int, col("the step's number", "STEP")]
    what: Annotated[str, "what it does"]


class ProbePlanData(Struct, frozen=True):
    """The steps of a probe, its topic and its transactional ID."""

    topic: str
    transactional_id: str
    replication_factor: int
    steps: list[ProbeStepRow]


class ProbeAnswerRow(Struct, frozen=True):
    """A question with its answer, and what that means for Connect and for eosctl."""

    id: Annotated[str, col("the check, by a stable name", "CHECK")]
    question: str
    answer: Annotated[
        Verdict, col("yes: like Kafka; no: the opposite; different: another behaviour; unknown", tones=TONES)
    ]
    seen: Annotated[str, "the brokers' answer, or why it is unknown"]
    severity: Severity
    connect: Annotated[str, col("what that means for exactly-once source connectors", "FOR-CONNECT")]
    eosctl: Annotated[str, col("what that means for eosctl's other commands", "FOR-EOSCTL")]


class ProbedApiRow(Struct, frozen=True):
    """An API; is_there is null where it is not known."""

    name: Annotated[str, col("an API that transactions need", "API")]
    key: int
    versions: Annotated[str | Skipped, "its versions that every broker answers"]
    needed: Annotated[int, "the version that is needed"]
    needed_by: Annotated[str, "the command or client that needs it"]
    is_there: bool | None


class LeftRow(Struct, frozen=True):
    """Leftovers of a probe in the cluster."""

    kind: Annotated[str, "the kind of the leftover: topic or transactional ID"]
    name: Annotated[str, "its name"]
    reason: Annotated[str, col("why it remains, or until when", "WHY")]


class ProbeData(Struct, frozen=True):
    """Every question with its answer; init_producer_id_ms is how long each InitProducerId took."""

    topic: str
    transactional_id: str
    principal: str
    answers: list[ProbeAnswerRow]
    apis: list[ProbedApiRow]
    init_producer_id_ms: list[float]
    left: list[LeftRow]
    interrupted: bool


STEPS = Table("steps", columns(ProbeStepRow, "number what"))
ANSWERS = Table(
    "answers",
    columns(ProbeAnswerRow, "id answer seen connect eosctl"),
)
APIS = Table(
    "apis",
    columns(ProbedApiRow, "name versions needed needed_by"),
    title="APIs",
)
LEFT = Table(
    "left",
    columns(LeftRow, "kind name reason"),
    title="Left in the cluster",
    empty="nothing",
)


def view_probe_answer(answer: PlannedProbe | Probed) -> Document:
    return view_probe_plan(answer) if isinstance(answer, PlannedProbe) else view_probed(answer)


def view_probe_plan(planned: PlannedProbe) -> Document:
    """The plan, for `--dry-run` and before the question."""
    plan = planned.plan
    data = ProbePlanData(
        topic=plan.name,
        transactional_id=plan.name,
        replication_factor=plan.replication_factor,
        steps=[ProbeStepRow(number=number, what=each) for number, each in enumerate(plan.steps, 1)],
    )
    return Document(
        kind="probe.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=planned.cluster_id,
        data=data,
        blocks=(STEPS,),
        prose=("A probe writes to the cluster, to its own topic with its own transactional ID.",),
    )


def view_probed(probed: Probed) -> Document:
    """Every question with its answer, the APIs, and what is left."""
    data = ProbeData(
        topic=probed.plan.name,
        transactional_id=probed.plan.name,
        principal=probed.principal,
        answers=[_answer_row(each) for each in probed.answers],
        apis=[_api_row(each) for each in probed.apis],
        init_producer_id_ms=[round(each, 3) for each in probed.init_ms],
        left=[row_of(LeftRow, each) for each in probed.left],
        interrupted=probed.interrupted,
    )
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
    return row_of(
        ProbeAnswerRow,
        answer.check,
        answer=answer.verdict,
        seen=answer.seen,
        connect=f"{unless}{answer.meaning.connect}",
        eosctl=f"{unless}{answer.meaning.eosctl}",
    )


def _api_row(api: ProbedApi) -> ProbedApiRow:
    versions = api.versions
    words = versions if isinstance(versions, Skipped) else "not offered"
    return row_of(
        ProbedApiRow,
        api,
        versions=f"{versions.lowest} to {versions.highest}"
        if not isinstance(versions, Skipped) and versions
        else words,
    )


def _conclusion(probed: Probed) -> str:
    counts = ", ".join(f"{probed.count(each)} {each.value}" for each in Verdict if probed.count(each))
    failing = [each.check.id for each in probed.answers if each.fails]
    unknown = probed.count(Verdict.UNKNOWN)
    if failing:
        return f"Different from Kafka in an important check: {', '.join(failing)} ({counts})."
    if unknown:
        without = pluralize(unknown, "question has", "questions have")
        return f"Like Kafka in all known answers; {without} no answer ({counts})."
    return f"As Kafka in all that matters ({counts})."
