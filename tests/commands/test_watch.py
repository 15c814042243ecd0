"""watch on the command line."""

import json
import re
import signal
import socket
import sys
import time

import pytest

from eosctl.errors import install_command
from tests.exporter.collector import collecting
from tests.integration.terminal import LiveTerminal
from tests.integration.watching import watching
from tests.waiting import eventually

NOBODY = "127.0.0.1:1"


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
        (("-b", NOBODY, "--otlp", "collector:4318"), "--otlp collector:4318 is no URL"),
        (("-b", NOBODY, "--command-config", "/nowhere/x"), "/nowhere/x"),
    ],
)
def test_options_that_could_never_work_are_refused_at_the_start(eosctl, args, words):
    ran = eosctl("watch", *args)
    assert (ran.exit_code, words in ran.stderr) == (2, True), ran.stderr


def test_a_port_that_is_taken_is_named(eosctl):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = eosctl("watch", "-b", NOBODY, "--listen", listen)
    assert (ran.exit_code, f"cannot listen on {listen}: Address already in use" in ran.stderr) == (2, True)


def test_without_the_extra_the_error_names_its_installation(eosctl, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.openmetrics.exposition", None)
    ran = eosctl("watch", "-b", NOBODY, "--listen", "127.0.0.1:0")
    assert ran.exit_code == 2
    assert f"hint: {install_command('watch')}" in ran.stderr


def test_it_serves_503_until_the_first_cycle_has_ended_and_then_what_was_not_read():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        with watching("-b", f"127.0.0.1:{mute.getsockname()[1]}", "--timeout", 3, end=signal.SIGTERM) as watch:
            waiting, _ = mute.accept()
            with waiting:
                statuses = {path: watch.get(path)[0] for path in ("/metrics", "/readyz", "/healthz")}
                assert statuses == {"/metrics": 503, "/readyz": 503, "/healthz": 200}
                mute.close()
            eventually(lambda: watch.get("/readyz")[0] == 200, "the first cycle to end")
            found = watch.scraped()
    assert found["eosctl_unread_facts"] == {(): 5}
    assert found["eosctl_unread"]["unreachable", "doctor", "the whole answer"] == 1
    assert not any(name.startswith(("eosctl_findings", "eosctl_lso")) for name in found)


def test_a_collector_is_pushed_what_is_served():
    with collecting() as collector:
        with watching("-b", NOBODY, "--timeout", 2, "--every", 600, "--otlp", collector.url) as watch:
            eventually(lambda: collector.bodies, "a push")
            served = watch.scraped()
        pushed = {
            name: {
                tuple(value for label, value in labels if label != "profile"): each for labels, each in found.items()
            }
            for name, found in collector.series().items()
        }
    assert pushed == served
    assert pushed["eosctl_unread_facts"] == {(): 5}


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_once_while_a_collector_does_not_answer_a_push(monkeypatch, end):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with watching("-b", NOBODY, "--timeout", 2, "--otlp", url, end=end) as watch:
            pushed, _ = mute.accept()
            assert watch.get("/healthz")[0] == 200
            began = time.monotonic()
        assert time.monotonic() - began < 20
        pushed.close()


def test_of_five_clusters_one_that_hangs_delays_no_cycle_of_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    others = ("north", "east", "south", "west")
    ended: dict[str, set[str]] = {name: set() for name in others}
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        hangs = f"127.0.0.1:{mute.getsockname()[1]}"
        profile(tmp_path, hangs=hangs, **dict.fromkeys(others, NOBODY))
        with watching("hangs", *others, "--timeout", 100, "--every", 1) as watch:
            waiting, _ = mute.accept()  # its first cycle has begun, and ends in none of the following

            def all_had_three_cycles():
                for name, when in re.findall(r'_cycle_as_of_seconds{profile="(\w+)"} (\S+)', watch.get("/metrics")[1]):
                    ended[name].add(when)
                return all(len(each) >= 3 for each in ended.values())

            with waiting:
                eventually(all_had_three_cycles, lambda: f"three cycles of each: {ended}", deadline_s=90)
                text = watch.get("/metrics")[1]
    assert 'profile="hangs"' not in text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("east", "--once", "west"), "--once shows one cluster"),
        (("east", "-b", NOBODY), "profiles are named, and --bootstrap-server names a cluster too"),
        (("nowhere",), "there is no profile nowhere"),
    ],
)
def test_profiles_that_cannot_be_watched_are_refused(eosctl, tmp_path, monkeypatch, args, words):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profile(tmp_path, east=NOBODY, west=NOBODY)
    ran = eosctl("watch", *args)
    assert (ran.exit_code, words in ran.stderr) == (2, True), ran.stderr


def test_emitted_units_require_the_names_of_profiles(eosctl):
    assert eosctl("watch", "--emit", "prometheus-rules").stdout.startswith("groups:\n")
    ran = eosctl("watch", "--emit", "systemd")
    assert (ran.exit_code, "--emit systemd needs the profiles to watch" in ran.stderr) == (2, True)
    assert "watch east --listen 127.0.0.1:9464 --every 30" in eosctl("watch", "east", "--emit", "systemd").stdout


def profile(home, **servers):
    """Writes a config file with a profile for each of these brokers."""
    (home / "eosctl").mkdir()
    lines = (f"  {name}: {{bootstrap-server: '{server}'}}\n" for name, server in servers.items())
    (home / "eosctl" / "config.yaml").write_text(f"profiles:\n{''.join(lines)}")
    (home / "eosctl" / "config.yaml").chmod(0o600)


UNANSWERED = ("watch", "--live", "-b", NOBODY, "--timeout", "2", "--every", "1")


def test_facts_of_a_cluster_that_does_not_answer_are_unknown_and_q_leaves_the_terminal_as_it_was():
    with LiveTerminal(UNANSWERED, 80, 40) as terminal:
        frame = eventually(lambda: (now := terminal.frame()) and "UNREAD     5" in now and now, "the first cycle")
        assert "the last cycle ended" in frame[0]
        for line in ("HELD-BACK  not known", "HANGING    not known", "FINDINGS   not known"):
            assert line in frame
        assert [line.split() for line in frame if line.startswith("doctor")][-1] == [
            *("doctor", "the", "whole", "answer", "unreachable")
        ]
        assert max(map(len, frame)) <= 80
        terminal.resize(200, 10)
        eventually(lambda: 2 < len(terminal.frame()) <= 10, "the frame of a smaller window")
        terminal.press("xq")
        assert terminal.ended() == (0, True)


def test_each_cluster_has_its_part_and_ctrl_c_interrupts(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as mute:
        profile(tmp_path, hangs=f"127.0.0.1:{mute.getsockname()[1]}", refuses=NOBODY)
        with LiveTerminal(("watch", "--live", "hangs", "refuses", "--timeout", "50"), 80, 60) as terminal:
            frame = eventually(
                lambda: (now := terminal.frame()) and any(line.startswith("refuses, ") for line in now) and now,
                "the cycle of one of them",
            )
            assert "hangs: no cycle has ended yet; q ends it" in frame
            terminal.press("\x03")
            assert terminal.ended() == (130, True)
            assert "interrupted" in terminal.written


def test_it_also_serves_where_listen_is_given_and_sigterm_ends_both():
    with LiveTerminal((*UNANSWERED, "--listen", "127.0.0.1:0"), 80, 40) as terminal:
        said = eventually(
            lambda: (terminal.frame(), re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", terminal.written))[1],
            lambda: terminal.written[-2000:],
        )
        with socket.create_connection(("127.0.0.1", int(said[1])), timeout=10) as client:
            client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.0 200")
        terminal.send(signal.SIGTERM)
        assert terminal.ended() == (0, True)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(said[1])), timeout=10)


@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_without_a_terminal_it_is_refused(eosctl, more):
    ran = eosctl(*UNANSWERED, *more)
    assert (ran.exit_code, "--live needs a terminal to draw on" in ran.stderr) == (2, True), ran.stderr
