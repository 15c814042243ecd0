"""The judge of the judge: which verdicts are wrong, by hand-made truths and reports."""

from typing import Any

import pytest

from tests.campaign.judging import Facts, Outcome, judge
from tests.campaign.truth import Truth, compare

FINE = Truth({}, {})
DOUBLED = Truth({}, {1: [4, 5]})
LOST = Truth({1: [4]}, {})


def finding(name: str, *partitions: int) -> dict[str, Any]:
    places = [{"key": f'["c",{{"p":{partition}}}]'} for partition in partitions]
    return {"id": name, "name": name, "evidence": {"connectors": ["c"], "places": places, "count": len(places)}}


def report(verdict: str, *findings: dict[str, Any], reasons: tuple[str, ...] = ("why",)) -> dict[str, Any]:
    said = {"name": "c", "verdict": verdict, "evidence": [each["id"] for each in findings], "reasons": list(reasons)}
    return {"connectors": [said], "findings": list(findings)}


@pytest.mark.parametrize(
    ("truth", "plain", "said", "outcome"),
    [
        (FINE, False, report("held"), Outcome.HELD),
        (LOST, False, report("held"), Outcome.WRONG),
        (DOUBLED, False, report("held"), Outcome.WRONG),
        (DOUBLED, False, report("held", finding("offsets-removed")), Outcome.HELD),
        (DOUBLED, False, report("held", finding("offsets-removed", 0)), Outcome.WRONG),
        (DOUBLED, False, report("broken", finding("offset-set-back", 1)), Outcome.BROKEN),
        (DOUBLED, False, report("broken", finding("offset-set-back", 0)), Outcome.WRONG),
        (LOST, False, report("broken", finding("offset-set-back", 1)), Outcome.BROKEN),
        (FINE, False, report("broken", finding("offset-repeated", 1)), Outcome.WRONG),
        (FINE, False, report("broken", finding("plain-offsets-write", 1)), Outcome.WRONG),
        (FINE, True, report("broken", finding("plain-offsets-write", 1)), Outcome.BROKEN),
        (FINE, True, report("broken", finding("hanging-transaction")), Outcome.WRONG),
        (DOUBLED, False, report("held", finding("snapshot-begun-again", 1)), Outcome.HELD),
        (FINE, False, report("cannot-tell", finding("snapshot-begun-again", 1)), Outcome.WRONG),
        (LOST, False, report("cannot-tell"), Outcome.CANNOT_TELL),
        (FINE, False, report("cannot-tell", reasons=()), Outcome.WRONG),
    ],
)
def test_a_verdict_is_wrong_where_readers_have_something_else(
    truth: Truth, plain: bool, said: dict[str, Any], outcome: Outcome
):
    assert judge(["c"], said, Facts(truth, plain)).outcome is outcome


def test_no_verdict_is_wrong():
    assert judge(["c"], {"connectors": [], "findings": []}, Facts(FINE, plain=False)).outcome is Outcome.WRONG


def test_a_former_name_is_judged_by_the_findings_on_all_names():
    removed = finding("offsets-removed")
    held = [{"name": name, "verdict": "held", "evidence": [], "reasons": []} for name in ("former", "c")]
    said = {"connectors": held, "findings": [removed]}
    assert judge(["former", "c"], said, Facts(DOUBLED, plain=False)).outcome is Outcome.HELD
    assert judge(["former", "c"], {**said, "findings": []}, Facts(DOUBLED, plain=False)).why.startswith("former held:")


def test_truth_is_counted_by_source_partition():
    seen = {(0, 0): 1, (0, 1): 2, (1, 0): 3}
    assert compare(seen, [(0, 0), (0, 1), (0, 2), (1, 0)]) == Truth({0: [2]}, {0: [1], 1: [0]})
