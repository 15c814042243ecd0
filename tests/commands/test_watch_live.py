"""`eosctl watch --live` at a terminal: what it draws, the key that ends it, and what it needs."""

import re
import signal
import socket

import pytest

from tests.commands.test_watch import profile
from tests.integration.terminal import LiveTerminal
from tests.waiting import eventually

NOBODY = "127.0.0.1:1"
UNANSWERED = ("watch", "--live", "-b", NOBODY, "--timeout", "2", "--every", "1")


def test_what_a_cluster_that_does_not_answer_lacks_is_not_known_and_q_leaves_the_terminal_as_it_was():
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


def test_it_serves_too_where_it_is_told_to_listen_and_sigterm_ends_both():
    with LiveTerminal((*UNANSWERED, "--listen", "127.0.0.1:0"), 80, 40) as terminal:
        said = eventually(
            lambda: re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", "\n".join(terminal.frame())), "the port"
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
