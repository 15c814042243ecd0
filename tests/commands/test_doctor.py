"""doctor, inspect-config and upgrade-check on the command line."""

import json
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from certificates import Authority

from tests.commands.conftest import Ran
from tests.sources.fake_connect import FakeWorker, serve


def connect(urls):
    return [part for url in urls for part in ("--connect-url", url)]


def findings(ran):
    return {(each["id"], each["subject"]) for each in json.loads(ran.stdout)["data"]["findings"]}


def test_a_worker_that_is_not_enabled_is_found_and_ends_with_1(eosctl):
    with serve(FakeWorker(), FakeWorker(enabled=False)) as urls:
        ran = eosctl("doctor", *connect(urls), "-o", "json")
    assert ran.exit_code == 1, ran.stderr
    data = json.loads(ran.stdout)["data"]
    assert data["verdict"] == "found"
    assert findings(ran) == {("EOS012", "workers")}
    assert [each["exactly_once"] for each in data["workers"]] == ["enabled", "not enabled"]


def test_without_brokers_it_names_the_unread_facts(eosctl):
    with serve(FakeWorker()) as urls:
        ran = eosctl("doctor", *connect(urls), "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    data = json.loads(ran.stdout)["data"]
    assert data["verdict"] == "cannot tell"
    assert {each["reason"] for each in data["unknown"] if each["id"] == "EOS031"} == {
        "brokers: no -b/--bootstrap-server was given"
    }


def test_a_worker_of_another_cluster_is_found(eosctl):
    workers = [FakeWorker(connectors={"x": None}), FakeWorker(connectors={"x": None}), FakeWorker(cluster_id="L")]
    with serve(*workers) as urls:
        ran = eosctl("doctor", *connect(urls), "-o", "json")
    assert findings(ran) >= {("EOS011", "workers"), ("EOS022", urls[2])}


def test_workers_files_are_matched_to_workers_by_their_address(eosctl, tmp_path):
    with serve(FakeWorker(enabled=False), FakeWorker()) as [a, b]:
        files = []
        for url in (a, b):
            files.append(tmp_path / f"{url.rpartition(':')[2]}.properties")
            files[-1].write_text(f"group.id=g\nexactly.once.source.support=enabled\nlisteners={url}\n")
        given = [part for file in files for part in ("--worker-config", file)]
        ran = eosctl("doctor", *connect([a, b]), *given, "-o", "json")
    assert ("EOS014", a) in findings(ran)
    assert ("EOS014", b) not in findings(ran)
    assert json.loads(ran.stdout)["data"]["group_id"] == "g"


def test_prometheus_gets_a_series_for_every_rule(eosctl, tmp_path):
    file = tmp_path / "eosctl.prom"
    with serve(FakeWorker(enabled=False, connectors={"orders": None})) as urls:
        ran = eosctl("doctor", *connect(urls), "--prometheus", file)
    assert ran.exit_code == 1
    lines = file.read_text().splitlines()
    assert 'eosctl_findings{rule="EOS013",severity="warning"} 1' in lines
    assert 'eosctl_findings{rule="EOS001",severity="error"} 0' in lines
    assert 'eosctl_rule_unknown{rule="EOS031"} 1' in lines


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((), 2, "no cluster was named"),
        (("--principal", "boss=User:x"), 2, "--principal boss=User:x names no role"),
        (("--connect-url", "http://127.0.0.1:9"), 4, "no Connect worker answers"),
        (("--connect-url", "127.0.0.1:9"), 2, "is not a URL"),
        (("--connect-url", "http://127.0.0.1:9", "--snapshot", "/nowhere"), 2, "nowhere"),
    ],
)
def test_an_unreadable_cluster_is_an_error(eosctl, args, code, words):
    ran = eosctl("doctor", *args, "--timeout", 2)
    assert ran.exit_code == code
    assert words in ran.stderr


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        ((200, b"<html>hello</html>"), 7, "instead of JSON"),
        ((401, b""), 5, "may not GET"),
        ((200, b"{}"), 7, "does not answer as a Connect worker"),
    ],
)
def test_a_service_that_is_no_worker_is_reported_as_none(eosctl, reply, code, words):
    class Odd(FakeWorker):
        def reply(self, method, path, body):
            return reply

    with serve(Odd()) as urls:
        ran = eosctl("doctor", *connect(urls))
    assert ran.exit_code == code
    assert words in ran.stderr or code == 5


ASKING = [("doctor",), ("upgrade-check", "--to", "preparing")]


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture(scope="module")
def tls(authority, tmp_path_factory):
    holder, file = authority.issue("worker", "127.0.0.1"), tmp_path_factory.mktemp("worker") / "own.pem"
    file.write_text(holder.key_pem() + holder.chain_pem)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(file)
    return made


@pytest.mark.parametrize("command", ASKING)
def test_a_certificate_of_an_untrusted_authority_is_reported_until_it_is_trusted(
    eosctl, authority, tls, tmp_path, command
):
    (tmp_path / "trust.pem").write_text(authority.root_pem)
    trust = ("-X", "ssl.truststore.type=PEM", "-X", f"ssl.truststore.location={tmp_path}/trust.pem")
    with serve(FakeWorker(), tls=tls) as urls:
        refused = eosctl(*command, *connect(urls))
        trusted = eosctl(*command, *connect(urls), *trust, "-o", "json")
    assert refused.exit_code == 4
    assert f"{urls[0]} is not trusted: its certificate is not signed by" in refused.stderr
    assert "ssl.truststore" in refused.stderr
    assert json.loads(trusted.stdout)["data"]["workers"][0]["url"] == urls[0], trusted.stderr


@pytest.mark.parametrize("command", ASKING)
def test_a_missing_or_wrong_password_ends_with_5_and_the_right_one_is_never_shown(eosctl, command):
    with serve(FakeWorker(password="geheim")) as urls:
        without = eosctl(*command, *connect(urls))
        wrong = eosctl(*command, *connect(urls), "-X", "basic.auth.user.info=user:falsch")
        right = eosctl(*command, *connect(urls), "-X", "basic.auth.user.info=user:geheim", "-o", "json")
    assert [ran.exit_code for ran in (without, wrong)] == [5, 5]
    assert "may not GET" in without.stderr
    assert json.loads(right.stdout)["data"]["workers"][0]["url"] == urls[0], right.stderr
    assert not any(word in ran.stdout + ran.stderr for ran in (wrong, right) for word in ("geheim", "falsch"))


def test_one_worker_of_several_that_cannot_be_asked_is_a_finding_and_not_the_end(eosctl):
    with serve(FakeWorker(), FakeWorker(password="geheim")) as [open_, closed]:
        ran = eosctl("doctor", *connect([open_, closed, "http://127.0.0.1:9"]), "--timeout", 2, "-o", "json")
    assert {subject for rule, subject in findings(ran) if rule == "EOS010"} == {closed, "http://127.0.0.1:9"}


def test_rows_are_sorted_and_limited_as_asked_for(eosctl):
    with serve(FakeWorker(), FakeWorker()) as urls:
        data = json.loads(eosctl("doctor", *connect(urls), "-o", "json", "--sort", "-worker", "--limit", "1").stdout)
        unknown = eosctl("--sort", "owner", "doctor", *connect(urls))
    assert ([each["url"] for each in data["data"]["workers"]], data["data"]["rows_left_out"]) == ([max(urls)], 1)
    assert unknown.exit_code == 2
    assert "--sort: there is no column OWNER" in unknown.stderr
    assert "the columns are: WORKER, VERSION, EXACTLY-ONCE" in unknown.stderr


def test_names_and_csv_of_the_first_list(eosctl):
    with serve(FakeWorker(), FakeWorker(enabled=False)) as urls:
        assert eosctl("doctor", *connect(urls), "-o", "name").stdout == "workers\n"
        header, row = eosctl("doctor", *connect(urls), "-o", "csv").stdout.splitlines()
    assert header == "SEVERITY,ID,SUBJECT,MESSAGE,CURE"
    assert row.startswith("error,EOS012,workers,")


Eosctl = Callable[..., Ran]

RECORDS = (
    {"offset": 0, "timestamp": 1, "key": "connector-orders", "value": {"properties": {"name": "orders"}}},
    # workers before 3.5 do not know state.v2 (KIP-875)
    {"offset": 1, "timestamp": 1, "key": "target-state-orders", "value": {"state": "PAUSED", "state.v2": "STOPPED"}},
    {"offset": 2, "timestamp": 1, "key": "connector-payments", "value": {"properties": {"name": "payments"}}},
)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in RECORDS))
    return file


def data(ran: Ran) -> dict[str, Any]:
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["data"]
    return found


@pytest.mark.parametrize("versions", [("4.3.1", "3.4.0"), ("3.4.0", "4.3.1")])
def test_workers_of_two_versions_are_read_as_the_oldest_of_them(
    versions: tuple[str, ...], records: Path, eosctl: Eosctl
) -> None:
    with serve(*(FakeWorker(version=version) for version in versions)) as urls:
        named = [word for url in urls for word in ("--connect-url", url)]
        found = data(eosctl("inspect-config", "--connector", "orders", "--records", records, *named, "-o", "json"))
    assert found["reader"]["kafka_version"] == "3.4.0"
    assert [each["target_state"] for each in found["connectors"]] == ["PAUSED"]


def test_a_worker_without_a_version_is_read_as_the_newest_and_reported(records: Path, eosctl: Eosctl) -> None:
    with serve(FakeWorker(version="unknown")) as [url]:
        args = ("inspect-config", "--connector", "orders", "--records", records, "--connect-url", url)
        found, shown = data(eosctl(*args, "-o", "json")), eosctl(*args)
    assert [each["target_state"] for each in found["connectors"]] == ["STOPPED"]
    reason = f"{url} names no version: 'unknown'"
    assert {"what": "the workers' version", "reason": reason} in found["unread"]
    assert f"read as 4.3.1: {reason}; see --worker-version" in shown.stdout


@pytest.mark.parametrize("names", [("--connector", "orders", "--connector", "payments"), ("orders", "payments")])
def test_connectors_are_named_by_option_and_also_by_position(
    names: tuple[str, ...], records: Path, eosctl: Eosctl
) -> None:
    found = data(eosctl("inspect-config", *names, "--records", records, "-o", "json"))
    assert [each["name"] for each in found["connectors"]] == ["orders", "payments"]


def test_help_shows_the_option_alone(eosctl: Eosctl) -> None:
    shown = eosctl("inspect-config", "--help").stdout
    assert shown.startswith("Usage: eosctl inspect-config [OPTIONS]\n")
    assert "--connector NAME" in shown


def test_facts_that_a_file_of_records_cannot_hold_are_unread(records: Path, eosctl: Eosctl) -> None:
    unread = {
        each["what"]: each["reason"]
        for each in data(eosctl(*f"inspect-config --records {records} -o json".split()))["unread"]
    }
    assert unread["the config topic: offsets"] == "records were read from a file"
    assert unread["Connect workers"] == "no --connect-url was given"


@pytest.mark.parametrize("shape", [(), ("--history",)])
def test_a_connector_that_is_not_mentioned_leads_to_the_one_like_it(
    eosctl: Eosctl, records: Path, shape: tuple[str, ...]
) -> None:
    ran = eosctl("inspect-config", "--connector", "ordrs", "--records", records, *shape)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr == (
        "eosctl: error: the config topic does not mention connector ordrs\nhint: did you mean orders?\n"
    )


def test_without_brokers_the_answer_is_unknown_and_ends_with_3(eosctl):
    with serve(FakeWorker(enabled=False)) as [url]:
        ran = eosctl("upgrade-check", "--to", "preparing", "--connect-url", url, "-o", "json")
    assert ran.exit_code == 3
    data = json.loads(ran.stdout)["data"]
    assert data["verdict"] == "cannot tell"
    assert data["workers"][0]["phase"] == "not enabled"
    assert any("no -b/--bootstrap-server was given" in each for each in data["unknown"])


def test_disabled_is_two_steps_from_enabled(eosctl):
    with serve(FakeWorker(), FakeWorker()) as urls:
        args = [part for url in urls for part in ("--connect-url", url)]
        ran = eosctl("upgrade-check", "--to", "disabled", *args, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["verdict"], data["blockers"]) == (1, "no", ["EOS018"])
    assert [each["url"] for each in data["steps"]] == list(urls)


def test_it_can_wait_for_workers_that_restart(eosctl):
    worker = FakeWorker(hangs=True)
    with serve(worker) as [url]:
        Timer(1.0, lambda: setattr(worker, "hangs", False)).start()
        ran = eosctl("upgrade-check", "--to", "preparing", "--connect-url", url, "--timeout", 0.5, "--wait", 6)
    assert ran.exit_code == 3
    assert "waiting: " in ran.stderr
    assert "got no answer within 0.5 s" in ran.stderr
    assert "cannot tell" in ran.stdout


def test_a_worker_that_was_silent_for_a_moment_is_asked_again(eosctl):
    slow = FakeWorker(hangs=True)
    with serve(FakeWorker(), slow) as urls:
        Timer(1.0, lambda: setattr(slow, "hangs", False)).start()
        args = [part for url in urls for part in ("--connect-url", url)]
        ran = eosctl("upgrade-check", "--to", "enabled", *args, "--timeout", 0.5, "--wait", 4, "-o", "json")
    assert "got no answer within 0.5 s" in ran.stderr
    data = json.loads(ran.stdout)["data"]
    assert {each["url"]: each["phase"] for each in data["workers"]} == dict.fromkeys(urls, "enabled")
    assert data["unread"] == [{"what": "the cluster", "reason": "no -b/--bootstrap-server was given"}]


@pytest.mark.parametrize("args", [(), ("--to", "sideways")])
def test_a_target_is_needed(eosctl, args):
    assert eosctl("upgrade-check", *args).exit_code == 2


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


def test_an_expired_waiver_fails_and_is_named(doctor):
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
