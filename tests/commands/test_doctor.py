"""`eosctl doctor` without brokers: workers on loopback, and snapshots."""

import json
import ssl

import pytest
from certificates import Authority

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


def test_without_brokers_it_says_what_it_cannot_tell(eosctl):
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
def test_what_cannot_be_read_at_all_is_an_error(eosctl, args, code, words):
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
def test_what_is_no_worker_is_said_to_be_none(eosctl, reply, code, words):
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
def test_a_certificate_of_an_authority_that_nobody_trusts_is_said_until_it_is_trusted(
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
