"""`eosctl doctor` without brokers: workers on loopback, and snapshots."""

import json

import pytest

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
    with serve(FakeWorker(enabled=False)) as urls:
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
        (("--principal", "boss=User:x"), 2, "ROLE worker or connector"),
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
