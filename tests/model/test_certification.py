"""The verdict of a certificate, by its rounds, its claim and its reasons."""

import pytest
from msgspec.structs import replace

from eosctl.model.certification import Fault, Harm, Place, Round, Support, Verdict, Versions
from eosctl.model.report import exit_code
from tests.render.test_certificate_files import FAILED, HELD, UNSURE, certificate

WHERE = "(Kafka 4.3.1, 1 round with faults, 10 records, seed 7)."


@pytest.mark.parametrize(
    ("rounds", "support", "reasons", "verdict"),
    [
        ((HELD,), Support.SUPPORTED, (), Verdict.CERTIFIED),
        ((HELD,), Support.SUPPORTED, ("r",), Verdict.CANNOT_TELL),
        ((HELD, FAILED), Support.SUPPORTED, (), Verdict.FAILED),
        ((HELD, FAILED), Support.SUPPORTED, ("r",), Verdict.FAILED),
        ((HELD, UNSURE), Support.SUPPORTED, ("r",), Verdict.CANNOT_TELL),
        ((), Support.UNDECLARED, (), Verdict.FAILED),
        ((), Support.UNDECLARED, ("r",), Verdict.FAILED),
        ((), Support.UNSUPPORTED, (), Verdict.FAILED),
        ((), Support.UNKNOWN, ("r",), Verdict.CANNOT_TELL),
        ((), Support.SUPPORTED, ("r",), Verdict.CANNOT_TELL),
        ((HELD,), Support.UNDECLARED, (), Verdict.CERTIFIED),
        ((HELD,), Support.UNSUPPORTED, ("r",), Verdict.CANNOT_TELL),
    ],
)
def test_a_verdict_is_by_rounds_first_then_by_claim_and_reasons(rounds, support, reasons, verdict):
    found = certificate(*rounds, support=support, reasons=reasons)
    assert found.verdict is verdict
    assert found.found is (verdict is Verdict.FAILED)
    assert found.complete is (verdict is not Verdict.CANNOT_TELL)
    assert found.claim_fails is (support in {Support.UNDECLARED, Support.UNSUPPORTED} and not rounds)
    assert exit_code(found) == {Verdict.CERTIFIED: 0, Verdict.FAILED: 1, Verdict.CANNOT_TELL: 3}[verdict]


DOUBLED = replace(FAILED, lost=0, doubled=2, delivered=1)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (certificate(HELD), f"certified: nothing lost, doubled or reordered {WHERE}"),
        (certificate(HELD, reasons=("a", "b")), f"cannot tell: a, b {WHERE}"),
        (
            certificate(HELD, FAILED, DOUBLED),
            "failed: 1 lost, 2 doubled (Kafka 4.3.1, 3 rounds with faults, 20 records, seed 7).",
        ),
        (
            certificate(replace(HELD, round=Round(0, Fault.NONE, ()))),
            "certified: nothing lost, doubled or reordered (Kafka 4.3.1, 0 rounds with faults, 10 records, seed 7).",
        ),
        (
            certificate(support=Support.UNDECLARED),
            "failed: exactly-once is undeclared by org.example.Source.",
        ),
    ],
)
def test_the_sentence_counts_what_was_found_and_where(found, sentence):
    assert found.sentence == sentence


def test_harm_is_summed_over_the_rounds_and_faults_are_named_once():
    calm = replace(HELD, round=Round(0, Fault.NONE, ()), reordered=4)
    found = certificate(calm, FAILED, UNSURE, DOUBLED, HELD)
    assert found.harm == {Harm.LOST: 1, Harm.DOUBLED: 2, Harm.REORDERED: 4}
    assert found.faults == (Fault.FENCE, Fault.KILL_WORKER)
    assert found.delivered == 30


@pytest.mark.parametrize(
    ("versions", "sentence"),
    [
        (Versions("4.3.1", "4.3.1", "1"), "Kafka 4.3.1"),
        (Versions("4.3.1", "3.9.2", "1"), "brokers 4.3.1, workers 3.9.2"),
    ],
)
def test_one_version_is_kafkas_and_two_are_of_brokers_and_workers(versions, sentence):
    assert versions.sentence == sentence


def test_a_place_without_a_producer_names_none():
    assert "producer" not in str(Place("t", 1, 2))
    assert str(Place("t", 1, 2, 0, 0)) != str(Place("t", 1, 2))
