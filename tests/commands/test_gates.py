"""`--sarif` and `--junit`: files for pipelines that change neither the answer nor the exit code."""

import json
from pathlib import Path

import pytest

from eosctl.codecs.snapshot import encode_snapshot
from tests.commands.test_audit_snapshot import HEALTHY, PLAIN_LEADER, site
from tests.commands.test_doctor import profile, waiver
from tests.render.gate_formats import junit_cases, sarif_run
from tests.sources.fake_connect import FakeWorker, serve

EOS012 = "EOS012 mixed-phases: mixed phases"


@pytest.fixture
def gated(eosctl, tmp_path):
    """`gated(...)`: the command with both files; its run, SARIF's run and JUnit's cases."""

    def run(*args):
        files = [tmp_path / "eosctl.sarif", tmp_path / "junit.xml"]
        ran = eosctl(*args, "--sarif", files[0], "--junit", files[1])
        return ran, sarif_run(files[0].read_text()), junit_cases(files[1].read_text())

    return run


@pytest.fixture
def rolling():
    """The addresses of one worker that is enabled and one that is not."""
    with serve(FakeWorker(), FakeWorker(enabled=False)) as urls:
        yield [part for url in urls for part in ("--connect-url", url)]


def test_the_files_equal_the_answer_and_change_neither_it_nor_the_exit_code(eosctl, gated, rolling):
    plain = eosctl("doctor", *rolling, "-o", "json")
    ran, run, cases = gated("doctor", *rolling, "-o", "json")
    assert (ran.exit_code, json.loads(ran.stdout)["data"]) == (1, json.loads(plain.stdout)["data"])
    assert [each["ruleId"] for each in run["results"]] == ["EOS012"]
    assert (run["invocations"][0]["exitCode"], cases[EOS012][0]) == (1, "failure")
    assert run["automationDetails"]["id"] == "eosctl doctor/"


def test_a_finding_about_a_worker_points_to_its_own_file(gated, tmp_path):
    with serve(FakeWorker(), FakeWorker(enabled=False)) as urls:
        files = [tmp_path / f"{name}.properties" for name in "ab"]
        for url, file in zip(urls, files, strict=True):
            file.write_text(f"group.id=g\nexactly.once.source.support=enabled\nlisteners={url}\n")
        named = [part for file in files for part in ("--worker-config", file)]
        _, run, _ = gated("doctor", *(part for url in urls for part in ("--connect-url", url)), *named)
    places = {
        each["ruleId"]: each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]
    }
    assert places["EOS014"] == f"file://{files[1]}", "it says enabled, and its worker does not"
    assert places["EOS012"] == f"file://{files[0]}", "workers have no file of their own: the first one"


def test_a_waiver_of_the_profile_takes_the_failure_out(gated, rolling):
    profile(waiver())
    ran, run, cases = gated("doctor", *rolling)
    assert (ran.exit_code, cases[EOS012][0]) == (0, "skipped")
    assert [each["justification"] for each in run["results"][0]["suppressions"]] == [
        "being rolled (team-data, until 2999-12-31)"
    ]


def test_upgrade_check_fails_by_what_stands_in_the_way_only(gated, rolling, tmp_path):
    ran, run, cases = gated("upgrade-check", "--to", "disabled", *rolling)
    assert (ran.exit_code, [each["ruleId"] for each in run["results"]]) == (1, ["EOS018"])
    assert {outcome for outcome, _ in cases.values()} == {"passed", "failure", "error", "skipped"}
    assert EOS012 not in cases, "it is so during every rolling step"
    ran, run, cases = gated("upgrade-check", "--to", "preparing", *rolling)
    assert (ran.exit_code, run["invocations"][0]["executionSuccessful"]) == (3, False)
    assert "failure" not in {outcome for outcome, _ in cases.values()}


@pytest.mark.parametrize(("records", "failed"), [(HEALTHY, set()), (PLAIN_LEADER, {"EOS221"})])
def test_an_audit_of_a_snapshot_passes_nothing_that_it_did_not_read(gated, tmp_path, records, failed):
    file = tmp_path / "monday.snapshot"
    file.write_text("".join(f"{line}\n" for line in encode_snapshot(site(*records))))
    ran, run, cases = gated("audit", "--snapshot", file)
    assert {name.split()[0] for name, (outcome, _) in cases.items() if outcome == "failure"} >= failed
    assert ran.exit_code == (1 if "failure" in {outcome for outcome, _ in cases.values()} else 3)
    assert "passed" not in {outcome for outcome, _ in cases.values()}
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_command_that_fails_leaves_no_file_from_before(gated, rolling, tmp_path):
    gated("doctor", *rolling)
    ran, run, cases = gated("doctor", "-b", "127.0.0.1:1", "--timeout", 1)
    assert (ran.exit_code, run["results"]) == (4, [])
    assert run["invocations"][0]["executionSuccessful"] is False
    [(name, (outcome, said))] = cases.items()
    assert (name, outcome) == ("doctor", "error")
    assert "127.0.0.1:1 cannot be reached" in said


def test_a_file_of_a_worker_that_cannot_be_read_leaves_no_file_from_before_either(gated, rolling, tmp_path):
    gated("doctor", *rolling)
    ran, run, cases = gated("doctor", *rolling, "--worker-config", tmp_path / "none.properties")
    assert (ran.exit_code, run["results"], len(cases)) == (2, [], 1)
    assert "none.properties" in cases["doctor"][1]


def test_a_file_that_cannot_be_written_is_an_error_once_the_answer_is_shown(eosctl, rolling, tmp_path):
    junit = tmp_path / "junit.xml"
    ran = eosctl("doctor", *rolling, "--sarif", "/dev/full", "--junit", junit)
    assert ran.exit_code == 74
    assert "cannot write /dev/full" in ran.stderr
    assert "EOS012" in ran.stdout
    assert junit_cases(junit.read_text())[EOS012][0] == "failure"


def test_a_file_in_no_directory_is_refused_before_the_work_and_the_other_says_so(gated, rolling, tmp_path):
    place = tmp_path / "none" / "eosctl.json"
    ran, run, cases = gated("doctor", *rolling, "--output-file", place)
    assert (ran.exit_code, ran.stdout, run["results"]) == (2, "", [])
    assert cases["doctor"] == ("error", f"cannot write {place}: No such file or directory")


@pytest.mark.parametrize("command", [("inspect-config",), ("offsets", "show"), ("transactions", "log")])
def test_commands_that_gate_nothing_do_not_take_them(eosctl, command):
    assert "No such option" in eosctl(*command, "--sarif", "x").stderr


def test_two_answers_in_one_file_are_refused_before_the_work(eosctl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = eosctl("doctor", "--sarif", "x", "--junit", tmp_path / "x", "-b", "127.0.0.1:1")
    assert (ran.exit_code, f"--sarif and --junit name one file: {tmp_path}/x" in ran.stderr) == (2, True)
    assert (
        "cannot be reached"
        in eosctl("doctor", "--sarif", "/dev/null", "--junit", "/dev/null", "-b", "127.0.0.1:1").stderr
    )


@pytest.mark.parametrize(
    "words",
    [
        ("doctor", "--prometheus", "none/eosctl.prom"),
        ("audit", "--report", "none/audit.html"),
        ("audit", "--export", "file/audit"),
        ("audit", "--evidence", "none/audit.json"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_cluster_is_asked(eosctl, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    ran = eosctl(*words, "-b", "127.0.0.1:1")
    assert ran.exit_code == 2
    assert "cannot be reached" not in ran.stderr
    assert words[-1] in ran.stderr
