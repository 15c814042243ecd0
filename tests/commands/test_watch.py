"""`eosctl watch` as a process: what it refuses, and what it serves while its cluster does not answer."""

import http.client
import json
import re
import signal
import socket
import sys

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests import forks
from tests.integration.terminal import PROGRAM as EOSCTL
from tests.waiting import eventually

NOBODY = "127.0.0.1:1"


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def samples(text):
    return {
        (each.name, tuple(value for label, value in each.labels.items() if label != "profile")): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_one_cycle_of_a_cluster_that_does_not_answer_is_incomplete_and_shows_no_health(eosctl):
    ran = eosctl("watch", "--once", "-b", NOBODY, "--timeout", 2, "-o", "json")
    assert ran.exit_code == 3
    data = json.loads(ran.stdout)["data"]
    assert {each["metric"] for each in data["samples"]} == {
        *("eosctl_unread_facts", "eosctl_unread"),
        *("eosctl_cycle_as_of_seconds", "eosctl_cycle_duration_seconds", "eosctl_cycle_requests"),
    }
    assert not data["complete"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "no cluster was named"),
        (("-b", NOBODY, "--listen", "0.0.0.0:0"), "--listen 0.0.0.0:0 can be reached from other machines"),
        (("-b", NOBODY, "--listen", "metrics"), "--listen metrics is no address"),
        (("-b", NOBODY, "--every", "0"), "--every"),
        (("-b", NOBODY, "--command-config", "/nowhere/x"), "/nowhere/x"),
    ],
)
def test_what_could_never_work_is_refused_at_the_start(eosctl, args, words):
    ran = eosctl("watch", *args)
    assert (ran.exit_code, words in ran.stderr) == (2, True), ran.stderr


def test_a_port_that_is_taken_is_named(eosctl):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = eosctl("watch", "-b", NOBODY, "--listen", listen)
    assert (ran.exit_code, f"cannot listen on {listen}: Address already in use" in ran.stderr) == (2, True)


def test_without_the_extra_it_says_how_to_install_it(eosctl, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.openmetrics.exposition", None)
    ran = eosctl("watch", "-b", NOBODY, "--listen", "127.0.0.1:0")
    assert ran.exit_code == 2
    assert "hint: pip install 'eosctl[watch]'" in ran.stderr


def test_it_serves_503_until_the_first_cycle_has_ended_and_then_what_was_not_read():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        broker = f"127.0.0.1:{mute.getsockname()[1]}"
        started = forks.start(EOSCTL, "watch", "-b", broker, "--listen", "127.0.0.1:0", "--timeout", "5")
        try:
            line = started.stderr.readline()
            port = int(re.search(r"http://127\.0\.0\.1:(\d+)/metrics, every 30 s", line)[1])
            waiting, _ = mute.accept()
            with waiting:
                assert {path: get(port, path)[0] for path in ("/metrics", "/readyz", "/healthz")} == {
                    "/metrics": 503,
                    "/readyz": 503,
                    "/healthz": 200,
                }
                mute.close()
            eventually(lambda: get(port, "/readyz")[0] == 200, "the first cycle to end")
            found = samples(get(port, "/metrics")[1])
            assert found["eosctl_unread_facts", ()] == 5
            assert found["eosctl_unread", ("unreachable", "doctor", "the whole answer")] == 1
            assert not any(name.startswith(("eosctl_findings", "eosctl_lso")) for name, _ in found)
        finally:
            started.send_signal(signal.SIGINT)
            _, stderr = started.communicate(timeout=60)
    assert (started.returncode, stderr.splitlines()[-1]) == (130, "eosctl: error: interrupted")
    assert "doctor: the whole answer was not read: " in stderr
