"""The user sees the address that a command waits for, and with -v the time of each request; neither shows a secret."""

import socket
import threading
import time
from io import StringIO

import pytest

from eosctl.clients import request_log
from eosctl.clients.request_log import RequestLog
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.client_properties import ClientProperties
from eosctl.render.console import Console, OutputOptions, Stream, Terminal


@pytest.fixture
def silent_peer():
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(request_log, "LONG_S", 0.1)


def test_a_worker_that_does_not_answer_is_named_once_and_its_password_is_not(silent_peer):
    waiting, ended = [], []
    url = WorkerUrl(f"http://ann:geheim@{silent_peer}", requests=RequestLog(waiting.append, ended.append))
    with RestClient(url, 0.4) as rest, pytest.raises(EosctlError):
        rest.get("/connectors")
    assert waiting == [f"waiting for http://{silent_peer}/ (GET)"]
    assert [each.partition(" in ")[0] for each in ended] == [f"GET http://{silent_peer}/: no answer"]


def test_a_broker_that_does_not_answer_is_named_once_while_it_is_connected_to(silent_peer):
    waiting = []
    properties = ClientProperties((silent_peer,))
    with Wire(properties, timeout_s=1.5, requests=RequestLog(waiting.append)) as wire, pytest.raises(EosctlError):
        wire.brokers()
    assert waiting == [f"waiting for {silent_peer} (a connection)"]


def test_an_address_that_answered_is_named_again_when_it_is_slow_again():
    waiting = []
    log = RequestLog(waiting.append)
    for _ in range(2):
        number = log.sent("Metadata", "b:9092")
        time.sleep(0.11)
        log.look()
        log.look()
        log.done(number, "answered")
    assert waiting == ["waiting for b:9092 (Metadata)"] * 2
    assert log.total == 2


def test_a_quick_request_is_not_waited_for_and_leaves_no_thread():
    waiting = []
    with RequestLog(waiting.append).blocking("GET", "http://w:8083/") as outcome:
        outcome.append("200")
    time.sleep(0.15)
    assert waiting == []
    assert not any(isinstance(each, threading.Timer) for each in threading.enumerate())


@pytest.mark.parametrize(("width", "quiet", "shown"), [(80, False, "w\n"), (None, False, ""), (80, True, "")])
def test_waiting_is_for_a_terminal_and_not_under_q(width, quiet, shown):
    stderr = StringIO()
    terminal = Terminal(Stream(StringIO()), Stream(StringIO()), Stream(stderr, width))
    Console(terminal, OutputOptions(quiet=quiet)).waiting("w")
    assert stderr.getvalue() == shown
