"""The judge of the judge: which verdicts are wrong, by hand-made truths and reports."""

from typing import Any

import pytest

from tests.campaign.judging import Facts, Outcome, judge
from tests.campaign.mutations import MUTATIONS
from tests.campaign.truth import Truth, compare

FINE = Truth({}, {})
DOUBLED = Truth({}, {1: [4, 5]})
LOST = Truth({1: [4]}, {})


def finding(name: str, *partitions: int) -> dict[str, Any]:
    places = [{"key": f'["c",{{"p":{partition}}}]'} for partition in partitions]
    return {"id": name, "name": name, "evidence": {"connectors": ["c"], "places": places, "count": len(places)}}


def report(
    verdict: str, *findings: dict[str, Any], reasons: tuple[str, ...] = ("why",), repeated: int = 0
) -> dict[str, Any]:
    said = {"name": "c", "verdict": verdict, "evidence": [each["id"] for each in findings], "reasons": list(reasons)}
    said["repeated_by_change"] = {"at_least": repeated, "at_most": repeated}
    return {"connectors": [said], "findings": list(findings)}


@pytest.mark.parametrize(
    ("facts", "said", "outcome"),
    [
        (Facts(FINE), report("held"), Outcome.HELD),
        (Facts(FINE, plain=True), report("held"), Outcome.WRONG),
        (Facts(LOST), report("held"), Outcome.WRONG),
        (Facts(DOUBLED), report("held"), Outcome.WRONG),
        (Facts(DOUBLED), report("held", finding("offset-not-taken-over", 1)), Outcome.WRONG),
        (Facts(DOUBLED), report("held", finding("offsets-removed", 1)), Outcome.WRONG),
        (Facts(DOUBLED, wished=True), report("held", finding("offsets-removed")), Outcome.WRONG),
        (Facts(DOUBLED, forgets=True), report("held", finding("offsets-removed")), Outcome.HELD),
        (Facts(DOUBLED, wished=True), report("held", finding("offsets-altered", 1)), Outcome.WRONG),
        (Facts(DOUBLED, wished=True), report("altered", finding("offsets-altered", 1), repeated=2), Outcome.ALTERED),
        (Facts(DOUBLED, wished=True), report("altered", finding("offsets-altered", 1), repeated=1), Outcome.WRONG),
        (Facts(DOUBLED, wished=True), report("altered", finding("offsets-altered", 0), repeated=2), Outcome.WRONG),
        (Facts(DOUBLED), report("altered", finding("offsets-altered", 1), repeated=2), Outcome.WRONG),
        (Facts(FINE, wished=True), report("altered", finding("offsets-altered", 1), repeated=2), Outcome.WRONG),
        (Facts(FINE, wished=True), report("altered", finding("offsets-altered", 1)), Outcome.ALTERED),
        (Facts(DOUBLED), report("held", finding("snapshot-begun-again", 1)), Outcome.HELD),
        (Facts(DOUBLED), report("broken", finding("offset-set-back", 1)), Outcome.BROKEN),
        (Facts(DOUBLED), report("broken", finding("offset-set-back", 0)), Outcome.WRONG),
        (Facts(LOST), report("broken", finding("offset-set-back", 1)), Outcome.BROKEN),
        (Facts(FINE), report("broken", finding("offset-not-taken-over", 1)), Outcome.WRONG),
        (Facts(FINE), report("broken", finding("plain-offsets-write", 1)), Outcome.WRONG),
        (Facts(FINE, plain=True), report("broken", finding("plain-offsets-write", 1)), Outcome.BROKEN),
        (Facts(FINE, plain=True), report("broken", finding("hanging-transaction")), Outcome.WRONG),
        (Facts(LOST), report("cannot-tell"), Outcome.CANNOT_TELL),
        (Facts(FINE), report("cannot-tell", reasons=()), Outcome.WRONG),
        (Facts(FINE), report("cannot-tell", finding("snapshot-begun-again", 1)), Outcome.WRONG),
    ],
)
def test_a_verdict_is_wrong_where_readers_have_something_else(facts: Facts, said: dict[str, Any], outcome: Outcome):
    assert judge(["c"], said, facts).outcome is outcome


def test_no_verdict_is_wrong():
    assert judge(["c"], {"connectors": [], "findings": []}, Facts(FINE)).outcome is Outcome.WRONG


def test_an_operation_may_be_reported_for_the_former_name():
    plain = finding("plain-offsets-write", 1)
    former = {"name": "former", "verdict": "broken", "evidence": ["plain-offsets-write"], "reasons": []}
    held = {"name": "c", "verdict": "held", "evidence": [], "reasons": []}
    said = {"connectors": [former, held], "findings": [plain]}
    assert judge(["former", "c"], said, Facts(FINE, plain=True)).outcome is Outcome.HELD
    again = finding("offset-not-taken-over", 1)
    said = {"connectors": [former | {"evidence": ["offset-not-taken-over"]}, held], "findings": [again]}
    assert judge(["former", "c"], said, Facts(DOUBLED)).outcome is Outcome.HELD
    said = {"connectors": [former | {"verdict": "held", "evidence": []}, held], "findings": [plain]}
    assert judge(["former", "c"], said, Facts(FINE, plain=True)).outcome is Outcome.WRONG


def test_a_former_name_is_judged_by_the_findings_on_all_names():
    again = finding("snapshot-begun-again", 1)
    held = [{"name": name, "verdict": "held", "evidence": [], "reasons": []} for name in ("former", "c")]
    said = {"connectors": held, "findings": [again]}
    assert judge(["former", "c"], said, Facts(DOUBLED)).outcome is Outcome.HELD
    assert judge(["former", "c"], {**said, "findings": []}, Facts(DOUBLED)).why.startswith("former held:")
    broken = report("broken", finding("offset-set-back", 1))
    assert judge(["former", "c"], {**broken, "connectors": [*broken["connectors"], held[0]]}, Facts(DOUBLED)) == (
        Outcome.BROKEN,
        "",
    )


def test_truth_is_counted_by_source_partition():
    seen = {(0, 0): 1, (0, 1): 2, (1, 0): 3}
    assert compare(seen, [(0, 0), (0, 1), (0, 2), (1, 0)]) == Truth({0: [2]}, {0: [1], 1: [0]})


def test_every_decision_that_is_spoilt_to_try_the_campaign_exists(monkeypatch: pytest.MonkeyPatch):
    for mutation in MUTATIONS:
        mutation.plant(monkeypatch)
