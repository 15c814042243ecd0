"""The page and the JUnit file of a certificate."""

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from eosctl.model.certification import (
    Anomaly,
    Certificate,
    Claim,
    Delivered,
    Fault,
    Harm,
    Place,
    Round,
    RoundResult,
    RoundVerdict,
    Support,
    Verdict,
    Versions,
    Witness,
)
from eosctl.model.report import exit_code
from eosctl.render.answers.certification import view_certificate
from eosctl.render.certificate_files import certificate_junit, certificate_page
from eosctl.render.document import Table

HELD = RoundResult(round=Round(1, Fault.KILL_WORKER, (0,), "poll"), verdict=RoundVerdict.HELD, delivered=10)
FAILED = RoundResult(round=Round(2, Fault.FENCE, (0,)), verdict=RoundVerdict.FAILED, delivered=9, lost=1)
UNSURE = RoundResult(round=Round(3, Fault.FENCE, (0,)), verdict=RoundVerdict.CANNOT_TELL, reason="a <task> & failed")
BEFORE = Delivered(Place("out", 0, 5, 1000, 3), 1, "a")
WITNESS = Witness(Anomaly(Harm.LOST, "<b>", BEFORE), 2, Fault.FENCE, "fence certify-certified-0")


def certificate(
    *rounds: RoundResult, support: Support = Support.SUPPORTED, reasons: tuple[str, ...] = ()
) -> Certificate:
    return Certificate(
        as_of=0,
        versions=Versions("4.3.1", "4.3.1", "1.0"),
        plugins=("./source.zip",),
        config={"connector.class": "org.example.Source", "api.key": "[hidden]"},
        claim=Claim(connector_class="org.example.Source", exactly_once=support, transaction_boundaries=support),
        seed=7,
        identity="value",
        truth="lines",
        exactly_once="enabled",
        rounds=rounds,
        witnesses=(WITNESS,) if FAILED in rounds else (),
        reasons=reasons,
        notes=(),
        repeat="eosctl certify --seed 7",
    )


def test_all_rounds_held_is_certified() -> None:
    held = certificate(HELD)
    assert (held.verdict, exit_code(held)) == (Verdict.CERTIFIED, 0)
    assert (
        held.sentence
        == "certified: nothing lost, doubled or reordered (Kafka 4.3.1, 1 round with faults, 10 records, seed 7)."
    )


def test_one_failed_round_fails_the_certificate_regardless_of_unknown_rounds() -> None:
    failed = certificate(HELD, FAILED, UNSURE, reasons=("a round could not tell",))
    assert (failed.verdict, exit_code(failed)) == (Verdict.FAILED, 1)
    assert failed.sentence == "failed: 1 lost (Kafka 4.3.1, 3 rounds with faults, 19 records, seed 7)."


def test_a_reason_is_no_certificate() -> None:
    unsure = certificate(HELD, reasons=("not tried: fence",))
    assert (unsure.verdict, exit_code(unsure)) == (Verdict.CANNOT_TELL, 3)


def test_a_connector_without_a_claim_fails_unless_it_was_run() -> None:
    assert certificate(support=Support.UNDECLARED).verdict is Verdict.FAILED
    run = certificate(HELD, support=Support.UNDECLARED, reasons=("its support of exactly-once is undeclared",))
    assert run.verdict is Verdict.CANNOT_TELL


def test_junit_has_a_case_for_each_round() -> None:
    suite = ElementTree.fromstring(certificate_junit(certificate(HELD, FAILED, UNSURE)))[0]
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {"round 1 kill-worker": [], "round 2 fence": ["failure"], "round 3 fence": ["error"]}
    [failure] = suite.iter("failure")
    assert failure.get("message") == "1 lost, 0 doubled, 0 reordered"
    assert failure.text == "lost <b> out:0@5 (producer 1000 epoch 3) after: fence certify-certified-0"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")


def test_junit_has_an_error_for_a_verdict_that_no_round_explains() -> None:
    suite = ElementTree.fromstring(certificate_junit(certificate(HELD, reasons=("not tried: fence",))))[0]
    assert [(case.get("name"), [child.tag for child in case]) for case in suite.iter("testcase")] == [
        ("round 1 kill-worker", []),
        ("verdict", ["error"]),
    ]


def test_the_page_escapes_names_and_shows_how_to_repeat_it() -> None:
    page = certificate_page(certificate(HELD, FAILED))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "eosctl certify --seed 7" in page
    assert "failed: 1 lost" in page
    assert "<script" not in page


def test_the_page_and_the_test_cases_name_plugin_config_and_faults() -> None:
    page = certificate_page(certificate(HELD, FAILED))
    for name, value in (
        ("Plugin", "./source.zip"),
        ("Faults", "kill-worker, fence"),
        ("Records", "19 delivered to read_committed consumers"),
    ):
        assert f"<td>{name}</td><td>{value}</td>" in page
    assert "<td>api.key</td><td>[hidden]</td>" in page
    suite = ElementTree.fromstring(certificate_junit(certificate(HELD, FAILED)))[0]
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert (properties["verdict"], properties["delivered"]) == ("failed", "19")
    assert properties["faults"] == "kill-worker, fence"


def test_the_title_of_a_certificate_page_names_it_a_certificate() -> None:
    assert "<title>certified: org.example.Source</title>" in certificate_page(certificate(HELD))
    lacking = replace(certificate(HELD), reasons=("not tried: fence",))
    assert "<title>cannot-tell: org.example.Source</title>" in certificate_page(lacking)


@pytest.mark.parametrize(
    ("rounds", "tables"),
    [
        ((), ["claims"]),
        ((HELD,), ["rounds", "claims"]),
        ((FAILED,), ["rounds", "claims", "witnesses"]),
    ],
)
def test_a_certificate_has_the_tables_that_have_rows(rounds: tuple[RoundResult, ...], tables: list[str]) -> None:
    document = view_certificate(certificate(*rounds))
    assert [each.rows for each in document.blocks if isinstance(each, Table)] == tables
    assert (document.data["witness"] is None) is (FAILED not in rounds)


AFTER = Delivered(Place("out", 1, 6), 0, "c")


@pytest.mark.parametrize(
    ("anomaly", "before", "after", "aborted", "places"),
    [
        (Anomaly(Harm.LOST, "b"), None, None, None, ""),
        (Anomaly(Harm.LOST, "b", BEFORE), ("a", 5), None, None, f"{BEFORE.place}"),
        (Anomaly(Harm.DOUBLED, "b", BEFORE, AFTER), ("a", 5), ("c", 6), None, f"{BEFORE.place} then {AFTER.place}"),
        (
            Anomaly(Harm.LOST, "b", None, AFTER, AFTER.place),
            None,
            ("c", 6),
            ("b", 6),
            f"{AFTER.place}; aborted: {AFTER.place}",
        ),
    ],
)
def test_a_witness_names_the_records_beside_it(anomaly: Anomaly, before, after, aborted, places: str) -> None:
    found = replace(certificate(FAILED), witnesses=(Witness(anomaly, 2, Fault.FENCE, "fence"),))
    [row] = view_certificate(found).data["witnesses"]
    sides = {"before": before, "after": after, "aborted": aborted}
    for side, expected in sides.items():
        assert (None if row[side] is None else (row[side]["identity"], row[side]["offset"])) == expected
    assert row["places"] == places
    if aborted is not None:
        assert row["aborted"]["timestamp"] is None
        assert row["after"]["timestamp"] == "1970-01-01T00:00:00.000Z"
