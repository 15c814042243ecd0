"""Files for pipelines: SARIF and JUnit report the findings behind the exit code."""

from datetime import date

import jsonschema
import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue.audit import OFFSET_SET_BACK
from eosctl.analysis.rules.registry import diagnose
from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import Refused, Unreachable
from eosctl.model.audit import AuditVerdict, ConnectorVerdict, EarlierAudit, EarlierFinding
from eosctl.model.report import Finding, Outcome, Severity, Triage, Waiver, failed_gate, gate_of
from eosctl.model.rules import Phase
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked
from eosctl.render.gates import junit, sarif
from tests.analysis.evidence import A, but
from tests.render.audit_reports import HOSTILE_NAMES, rich_report
from tests.render.gate_formats import SARIF, junit_cases, sarif_run

DENIED = Skipped("Describe on the cluster is denied", Cause.DENIED)
SILENT = but(workers={A: but().workers[A], "http://b:8083": Skipped("refused", Cause.UNREACHABLE)})
EOS010 = "EOS010 worker-silent: worker does not answer"
EOS040 = "EOS040 transaction-log-unwritable: transaction log cannot be written"


def gate(answer):
    """The gate of this answer: both files are valid, and it fails, and is complete, where the exit code says so."""
    made = gate_of("doctor", answer)
    assert (Outcome.FAILED in outcomes(made).values()) is (made.exit_code == 1)
    assert made.complete or made.exit_code in {1, 3}
    assert answer.complete or not made.complete
    sarif_run(sarif(made))
    junit_cases(junit(made))
    return made


def outcomes(made):
    return {each.kind.id: each.outcome for each in made.questions}


def waived(**changes):
    return Waiver(
        **{"finding": "EOS010", "subject": "*", "owner": "team", "reason": "is moved", "expires": date.max} | changes
    )


def audited(*findings, **changes):
    verdict = ConnectorVerdict("orders", AuditVerdict.HELD)
    return replace(
        rich_report(), **{"findings": findings, "connectors": (verdict,), "kinds": (OFFSET_SET_BACK,)} | changes
    )


def test_every_rule_that_was_asked_is_a_test_case_and_those_without_a_finding_pass():
    made = gate(diagnose(but()))
    assert made.exit_code == 0
    assert len(made.questions) > 80
    assert set(outcomes(made).values()) == {Outcome.PASSED}
    assert {outcome for outcome, _ in junit_cases(junit(made)).values()} == {"passed"}
    run = sarif_run(sarif(made))
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], True)
    assert len(run["tool"]["driver"]["rules"]) == len(made.questions)


def test_a_finding_that_fails_is_a_failure_and_a_result_with_its_severity_subject_and_fix():
    made = gate(diagnose(SILENT))
    assert made.exit_code == 1
    assert outcomes(made)["EOS010"] is Outcome.FAILED
    [result] = [each for each in sarif_run(sarif(made))["results"] if each["ruleId"] == "EOS010"]
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("http://b:8083: the worker does not answer: refused. fix: ")
    assert result["locations"] == [{"logicalLocations": [{"fullyQualifiedName": "http://b:8083", "kind": "resource"}]}]
    outcome, said = junit_cases(junit(made))[EOS010]
    assert (outcome, said.startswith("error http://b:8083: the worker does not answer: refused; fix: ")) == (
        "failure",
        True,
    )


def test_a_worker_s_file_is_the_place_of_what_is_found_of_it_and_the_first_file_of_the_rest():
    assert place_of_eos010({"http://a:8083": "a b.properties", "http://b:8083": "/etc/b"}) == "file:///etc/b"
    assert place_of_eos010({"http://a:8083": "a b.properties"}) == "a%20b.properties"


def place_of_eos010(files):
    results = sarif_run(sarif(gate(replace(diagnose(SILENT), config_files=files))))["results"]
    [found] = [each["locations"][0] for each in results if each["ruleId"] == "EOS010"]
    return found["physicalLocation"]["artifactLocation"]["uri"]


def test_a_waived_finding_is_suppressed_with_its_reason_and_skipped():
    made = gate(diagnose(SILENT).under(Triage(waivers=(waived(),))))
    assert outcomes(made)["EOS010"] is Outcome.SKIPPED
    [result] = [each for each in sarif_run(sarif(made))["results"] if each["ruleId"] == "EOS010"]
    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "is moved (team, until 9999-12-31)"}
    ]
    outcome, said = junit_cases(junit(made))[EOS010]
    assert (outcome, said.startswith("waived until 9999-12-31 (team: is moved): error http://b")) == ("skipped", True)


def test_an_expired_waiver_suppresses_nothing():
    triage = Triage(waivers=(waived(expires=date(2020, 1, 1)),), today=date(2021, 1, 1))
    made = gate(diagnose(SILENT).under(triage))
    assert outcomes(made)["EOS010"] is Outcome.FAILED
    assert [each for each in sarif_run(sarif(made))["results"] if "suppressions" in each] == []


def test_no_waiver_suppresses_what_stands_in_the_way_of_a_roll():
    check = check_upgrade(SILENT, Phase.ENABLED).under(Triage(waivers=(waived(finding="EOS020"), waived())))
    found = [each for question in gate(check).questions for each in question.reported]
    assert {each.finding.id for each in found if each.fails} == {each.id for each in check.blockers}
    assert [each for each in found if each.fails and each.waiver is not None] == []


def test_a_fact_that_was_not_read_is_an_error_of_the_rules_that_need_it_and_no_success():
    made = gate(diagnose(but(transaction_log=DENIED)))
    assert (made.exit_code, outcomes(made)["EOS040"]) == (3, Outcome.UNKNOWN)
    assert junit_cases(junit(made))[EOS040] == (
        "error",
        "cannot tell: transaction log: Describe on the cluster is denied",
    )
    [invocation] = sarif_run(sarif(made))["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    assert {
        "level": "error",
        "message": {"text": "EOS040 cannot tell: transaction log: Describe on the cluster is denied"},
        "associatedRule": {"id": "EOS040"},
    } in invocation["toolExecutionNotifications"]


def test_a_question_without_its_input_is_skipped_with_the_reason():
    made = gate(diagnose(but(transaction_log=not_asked("no -b was given"))))
    assert (made.exit_code, outcomes(made)["EOS040"], made.complete) == (0, Outcome.SKIPPED, True)
    assert junit_cases(junit(made))[EOS040] == ("skipped", "cannot tell: transaction log: no -b was given")


def test_a_gap_of_the_whole_answer_lets_no_kind_pass_of_which_nothing_more_is_known():
    gap = Unread("topic orders", "denied", Cause.DENIED)
    made = gate(audited(coverage=Coverage(unread=(gap, Unread("the owner", "denied", Cause.DENIED, needed=False)))))
    assert outcomes(made) == {"EOS200": Outcome.SKIPPED}
    assert junit_cases(junit(made))["read: topic orders was not read: denied"][0] == "error"
    [invocation] = sarif_run(sarif(made))["invocations"]
    assert [each["level"] for each in invocation["toolExecutionNotifications"]] == ["error", "note", "note"]
    assert invocation["executionSuccessful"] is False


def test_a_connector_with_the_verdict_cannot_tell_is_an_error():
    verdict = ConnectorVerdict("orders", AuditVerdict.CANNOT_TELL, reasons=("its offsets expired",))
    made = gate(audited(connectors=(verdict,)))
    assert made.lacking == ("cannot tell whether exactly-once held for orders: its offsets expired",)
    assert (made.exit_code, made.complete, outcomes(made)) == (3, False, {"EOS200": Outcome.SKIPPED})
    assert gate(audited(connectors=())).lacking == ("no connector was judged",)


def test_findings_of_the_last_run_do_not_fail_again_and_are_marked():
    finding = OFFSET_SET_BACK.finding("orders", "went back", {"count": 1, "connectors": ["orders"]})
    first = audited(finding, connectors=(ConnectorVerdict("orders", AuditVerdict.BROKEN),))
    assert outcomes(gate(first)) == {"EOS200": Outcome.FAILED}
    assert "baselineState" not in sarif_run(sarif(gate(first)))["results"][0]
    known = {("EOS200", "orders"): (EarlierFinding(finding.severity, finding.evidence),)}
    again = gate(replace(first, earlier=EarlierAudit(1, "2026-01-31T12:00:00Z", known, frozenset({"orders"}))))
    assert (again.exit_code, outcomes(again)) == (0, {"EOS200": Outcome.PASSED})
    assert sarif_run(sarif(again))["results"][0]["baselineState"] == "unchanged"
    [(_, said)] = junit_cases(junit(again)).values()
    assert said.startswith("known from the last run: error orders: went back; fix: ")


def test_information_passes_and_is_written_and_severity_hides_it():
    made = gate(audited(replace(OFFSET_SET_BACK.finding("orders", "m"), severity=Severity.INFO)))
    [(outcome, said)] = junit_cases(junit(made)).values()
    assert (outcome, said.startswith("info orders: m; fix: ")) == ("passed", True)
    assert [each["level"] for each in sarif_run(sarif(made))["results"]] == ["note"]
    hidden = audited(*[each.finding for each in made.questions[0].reported]).under(Triage(shown_from=Severity.ERROR))
    assert sarif_run(sarif(gate(hidden)))["results"] == []


def test_severity_hides_nothing_that_fails():
    finding = replace(OFFSET_SET_BACK.finding("orders", "m"), severity=Severity.WARNING)
    assert outcomes(gate(audited(finding).under(Triage(shown_from=Severity.ERROR)))) == {"EOS200": Outcome.FAILED}
    none_fails = Triage(shown_from=Severity.ERROR, fail_on=Severity.ERROR)
    assert outcomes(gate(audited(finding).under(none_fails))) == {"EOS200": Outcome.PASSED}


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "]]>", "\ufffe\uffff", "[x](https://example.invalid) {0}", ""])
def test_any_name_gives_valid_files(name):
    finding = Finding(OFFSET_SET_BACK, Severity.ERROR, name, f"of {name}", f"fix {name}", {})
    answer = audited(finding, finding, coverage=Coverage(unread=(Unread(name, name, Cause.DENIED),)))
    answer = answer.under(Triage(waivers=(waived(finding="EOS200", reason=name or "r"),)))
    gate(answer)
    gate(answer.under(Triage()))


def test_braces_and_links_in_a_name_stand_for_themselves():
    finding = OFFSET_SET_BACK.finding('{"p":1}', "see [x](y)")
    [result] = sarif_run(sarif(gate(audited(finding))))["results"]
    assert result["message"]["text"].startswith('{{"p":1}}: see [x\\](y). fix: ')


def test_two_findings_of_one_kind_in_one_file_have_fingerprints_that_differ():
    made = gate(audited(*(OFFSET_SET_BACK.finding(name, "m") for name in ("a", "b", "a"))))
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in sarif_run(sarif(made))["results"]]
    assert len(set(prints)) == 3
    assert prints[2] == prints[0].removesuffix("1") + "2"


@pytest.mark.parametrize("error", [Unreachable("b:9092: refused", hint="is it up?"), Refused("<no> ]]>")])
def test_a_command_that_ended_without_an_answer_leaves_an_error(error):
    made = failed_gate("doctor", error)
    [invocation] = sarif_run(sarif(made))["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, error.exit_code)
    assert junit_cases(junit(made)) == {"doctor": ("error", error.message)}


def test_the_schema_knows_what_is_no_part_of_it():
    log = {"version": "2.1.0", "runs": [], "more": 1}
    assert {each.validator for each in jsonschema.Draft202012Validator(SARIF).iter_errors(log)} == {
        "additionalProperties",
        "minItems",
    }
