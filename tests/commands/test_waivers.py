"""Findings that somebody has accepted, in the profile in use: shown as such, and no longer failing."""

import json
import os
from pathlib import Path

import pytest

from tests.sources.fake_connect import FakeWorker, serve

FOUND = "EOS012"


def profile(*waivers: str) -> None:
    """Makes a profile with these waivers the one in use."""
    user = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    user.parent.mkdir(exist_ok=True)
    user.write_text(f"current: prod\nprofiles: {{prod: {{waivers: [{', '.join(waivers)}]}}}}\n")


def waiver(finding: str = FOUND, subject: str = "workers", expires: str = "2999-12-31") -> str:
    return f"{{id: {finding}, subject: '{subject}', owner: team-data, reason: being rolled, expires: {expires}}}"


@pytest.fixture
def doctor(eosctl):
    """Doctor on a cluster with one worker that is enabled and one that is not: EOS012, a finding of `workers`."""
    with serve(FakeWorker(), FakeWorker(enabled=False)) as urls:
        yield lambda *more: eosctl("doctor", *(part for url in urls for part in ("--connect-url", url)), *more)


def test_a_waived_finding_stays_in_the_answer_and_does_not_fail(doctor):
    assert doctor().exit_code == 1
    profile(waiver())
    ran = doctor("-o", "json")
    assert ran.exit_code == 0, ran.stderr
    data = json.loads(ran.stdout)["data"]
    [finding] = data["findings"]
    assert (data["verdict"], finding["id"]) == ("found", FOUND)
    assert finding["waiver"] == {
        **{"subject": "workers", "owner": "team-data", "reason": "being rolled", "expires": "2999-12-31"},
        "expired": False,
    }
    assert "waived until 2999-12-31 (team-data: being rolled)" in doctor().stdout


def test_an_expired_waiver_fails_and_says_so(doctor):
    profile(waiver(expires="2020-01-31"))
    ran = doctor()
    assert ran.exit_code == 1
    assert "its waiver expired on 2020-01-31 (team-data: being rolled)" in ran.stdout


def test_a_waiver_of_another_profile_is_none(doctor):
    profile(waiver())
    assert doctor("--profile", "").exit_code == 1


def test_a_waiver_for_a_finding_that_does_not_exist_is_refused_with_the_one_that_is_meant(doctor):
    profile(waiver("EOS0012"))
    ran = doctor()
    assert ran.exit_code == 2
    assert "waivers: there is no finding EOS0012" in ran.stderr
    assert "did you mean EOS012?" in ran.stderr


def test_severities_choose_what_is_shown_and_what_fails(doctor):
    [finding] = json.loads(doctor("-o", "json").stdout)["data"]["findings"]
    assert finding["severity"] == "error"
    assert doctor("--fail-on", "error").exit_code == 1
    assert json.loads(doctor("-o", "json", "--severity", "error").stdout)["data"]["findings_left_out"] == 0
    assert doctor("--severity", "fatal").exit_code == 2


def test_prometheus_counts_waived_findings_apart(doctor, tmp_path):
    profile(waiver())
    doctor("--prometheus", tmp_path / "eosctl.prom")
    lines = (tmp_path / "eosctl.prom").read_text().splitlines()
    assert 'eosctl_findings{rule="EOS012",severity="error"} 0' in lines
    assert 'eosctl_findings_waived{rule="EOS012"} 1' in lines


def test_a_project_s_file_waives_nothing_unless_it_is_trusted_as_it_is(eosctl, doctor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".eosctl.yaml"
    file.write_text(f"current: theirs\nprofiles: {{theirs: {{waivers: [{waiver()}]}}}}\n")
    file.chmod(0o644)
    ran = doctor()
    assert ran.exit_code == 1
    assert "is not trusted, so no profile in it is used" in ran.stderr
    trusted = eosctl("profile", "trust", "-o", "json")
    [row] = json.loads(trusted.stdout)["data"]["profiles"]
    assert [(each["finding"], each["subject"]) for each in row["waivers"]] == [(FOUND, "workers")]
    assert doctor().exit_code == 0
    file.write_text(file.read_text().replace("'workers'", "'*'"))
    ran = doctor()
    assert ran.exit_code == 1
    assert "has changed since you trusted it" in ran.stderr


def test_profile_explain_shows_what_is_waived(eosctl):
    profile(waiver())
    settings = json.loads(eosctl("profile", "explain", "-o", "json").stdout)["data"]["settings"]
    assert [each["value"] for each in settings if each["setting"] == "waiver"] == [
        "EOS012 of workers until 2999-12-31 (team-data: being rolled)"
    ]
