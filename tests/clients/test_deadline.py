"""How long something in the cluster is waited for."""

import socket
from collections.abc import Iterator
from threading import Event
from time import monotonic
from typing import Any

import pytest

from eosctl.clients.deadline import Deadline, done_by
from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.errors import TimedOut, Unreachable
from eosctl.model.client_properties import ClientProperties


def test_a_wait_whose_time_is_over_does_not_pause():
    assert Deadline(60).pause(0)
    assert not Deadline(0).pause(60)


def test_time_that_has_passed_since_the_wait_began_counts():
    began_long_ago = Deadline(60, since=0.0)
    assert not began_long_ago.pause(60)


def test_a_wait_that_has_not_ended_says_why_and_for_how_long():
    with pytest.raises(TimedOut, match=r"^the topic has no leader, for 0\.5 s$"):
        Deadline(0.5, since=0.0).pause_or_raise(60, "the topic has no leader")


def test_what_has_no_timeout_of_its_own_is_left_alone_at_the_end_and_else_gives_or_raises_its_own():
    assert done_by(monotonic() + 60, lambda: 5) == 5
    with pytest.raises(KeyError, match="a"):
        done_by(monotonic() + 60, lambda: {}["a"])
    with pytest.raises(TimeoutError):
        done_by(monotonic() + 0.05, lambda: Event().wait(60))


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A host whose name is looked up for ever."""
    real, over = socket.getaddrinfo, Event()

    def look_up(host: str, *args: Any, **options: Any) -> Any:
        if host == "broker.example":
            over.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield "broker.example"
    over.set()


def test_a_name_that_is_looked_up_for_ever_takes_no_longer_than_the_timeout(silent_name_server: str):
    began = monotonic()
    servers = ClientProperties((f"{silent_name_server}:9092",))
    with pytest.raises(Unreachable, match=r"broker\.example:9092"), Wire(servers, timeout_s=0.5) as wire:
        wire.brokers()
    with pytest.raises(TimedOut, match=r"GET http://broker\.example:8083/ got no answer within 0\.5 s"):
        RestClient(f"http://{silent_name_server}:8083", 0.5).get("/")
    assert monotonic() - began < 5
