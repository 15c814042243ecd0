"""What a probe concludes: as Kafka, different, or not known."""

import pytest

from eosctl.model.probe import Check, Meaning, ProbeAnswer, Probed, ProbedApi, Verdict, VersionRange, plan_probe
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.render.answers.probe import view_probed

YES, NO, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNKNOWN


def answer(name: str, verdict: Verdict, severity: Severity = Severity.ERROR) -> ProbeAnswer:
    check = Check(name, "is it so?", severity, Meaning("fine", "fine"), Meaning("it fails", "it cannot"))
    return ProbeAnswer(check, verdict, "seen")


def shown(*answers: ProbeAnswer, apis: tuple[ProbedApi, ...] = ()):
    plan = plan_probe("eosctl-probe-", "1", 1, 5)
    return view_probed(
        Probed(plan=plan, cluster_id="k", principal="User:a", answers=answers, apis=apis, init_ms=(), left=())
    )


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([answer("a", YES), answer("b", YES)], "As Kafka in all that matters (2 yes)."),
        ([answer("a", YES), answer("b", NO, Severity.INFO)], "As Kafka in all that matters (1 yes, 1 no)."),
        (
            [answer("a", NO), answer("b", UNKNOWN), answer("c", NO)],
            "Different from Kafka in an important check: a, c (2 no, 1 unknown).",
        ),
        (
            [answer("a", YES), answer("b", UNKNOWN)],
            "Like Kafka in all known answers; 1 question has no answer (1 yes, 1 unknown).",
        ),
        ([answer("a", UNKNOWN), answer("b", UNKNOWN)], "Like Kafka in all known answers; 2 questions have no answer"),
    ],
)
def test_a_probe_concludes_by_the_worst_of_its_answers(answers, words: str) -> None:
    [said] = shown(*answers).prose
    assert said.startswith(words)


def test_what_an_unknown_answer_would_mean_is_said_with_a_condition() -> None:
    rows = shown(answer("a", NO), answer("b", UNKNOWN), answer("c", YES)).data["answers"]
    assert [each["connect"] for each in rows] == ["it fails", "unless it does: it fails", "fine"]
    assert [each["eosctl"] for each in rows] == ["it cannot", "unless it does: it cannot", "fine"]


def test_an_api_has_its_versions_or_none_or_is_not_known() -> None:
    apis = (
        ProbedApi("Fetch", 1, VersionRange(0, 17), 4, "audit"),
        ProbedApi("X", 99, None, 0, "fence"),
        ProbedApi("Y", 98, Skipped("no answer"), 0, "fence"),
    )
    rows = shown(apis=apis).data["apis"]
    assert [each["versions"] for each in rows] == ["0 to 17", "not offered", {"skipped": "no answer"}]
