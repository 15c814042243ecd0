"""Requests on the wire: channel, deadline and frames."""

import os
import random
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import KafkaConnectionError, RequestTimedOutError
from kafka.future import Future
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.parser import KafkaProtocol

from eosctl.clients import channel
from eosctl.clients import wire as wires
from eosctl.clients.channel import Callbacks, Channel
from eosctl.clients.deadline import Deadline, done_by
from eosctl.clients.errors import Peer
from eosctl.clients.kafka_python import LARGE, _Frames, receiver
from eosctl.clients.messages import Request, brokers_metadata, find_coordinators, init_producer_id, list_transactions
from eosctl.clients.request_log import RequestLog
from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, NotAuthorized, TimedOut, Unreachable, Unsupported
from eosctl.model.client_properties import ClientProperties
from eosctl.sandbox.properties import SandboxSpec
from tests.attack.false_broker import after_login, cluster_of_one, false_broker
from tests.faulty_sandbox import Sandbox
from tests.waiting import eventually

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture
def silent_address():
    """An address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed_address():
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def wire_to(bootstrap_servers, *extra, timeout_s=30):
    return Wire(client_properties(bootstrap_server=bootstrap_servers, extra=extra), timeout_s=timeout_s)


def sasl(mechanism, user, password):
    return (
        "security.protocol=SASL_PLAINTEXT",
        f"sasl.mechanism={mechanism}",
        f'sasl.jaas.config={PLAIN_LOGIN} required username="{user}" password="{password}";',
    )


def test_an_address_where_nothing_listens_is_unreachable_at_once(closed_address):
    with wire_to(closed_address) as wire, pytest.raises(Unreachable, match=f"{closed_address} cannot be reached"):
        wire.brokers()


def test_a_peer_that_never_answers_times_out(silent_address):
    began = time.monotonic()
    with (
        wire_to(silent_address, timeout_s=3) as wire,
        pytest.raises(TimedOut, match=f"{silent_address} accepted the connection but did not answer"),
    ):
        wire.brokers()
    assert time.monotonic() - began < 6, "the time is not spent twice"


def test_a_peer_that_never_shakes_hands_times_out(silent_address):
    with wire_to(silent_address, "security.protocol=SSL", timeout_s=0.5) as wire, pytest.raises(TimedOut):
        wire.brokers()


def test_every_bootstrap_server_that_fails_is_named(silent_address, closed_address):
    with (
        wire_to(f"{closed_address},{silent_address}", timeout_s=1) as wire,
        pytest.raises(TimedOut, match="no bootstrap server answers") as caught,
    ):
        wire.brokers()
    assert closed_address in str(caught.value)
    assert silent_address in str(caught.value)


AN_HOUR_S = 3600
"""A --timeout with which a test that waits it out fails by pytest's."""


def test_where_nothing_listens_or_nothing_answers_no_connection_lasts_as_long_as_a_long_timeout(
    silent_address, closed_address, monkeypatch
):
    monkeypatch.setattr(wires, "CONNECT_TIMEOUT_S", 0.3)
    began = time.monotonic()
    with wire_to(closed_address, timeout_s=AN_HOUR_S) as wire, pytest.raises(Unreachable, match="cannot be reached"):
        wire.brokers()
    with wire_to(silent_address, timeout_s=AN_HOUR_S) as wire, pytest.raises(TimedOut, match="did not answer"):
        wire.brokers()
    assert time.monotonic() - began < 10


def test_a_broker_that_swallows_requests_leaves_the_others_time_however_long_it_is(monkeypatch):
    monkeypatch.setattr(wires, "SHARE_S", 0.3)
    began = time.monotonic()
    with false_broker(after_login(b"")) as frozen, cluster_of_one() as living:
        with wire_to(f"{frozen},{living}", timeout_s=AN_HOUR_S) as wire:
            assert wire.cluster_id == "c"
        both = [broker_at(1, frozen), broker_at(2, living)]
        with cluster_of_one(brokers=both) as first, wire_to(first, timeout_s=AN_HOUR_S) as wire:
            assert [broker.node_id for broker in wire.request_any(brokers_metadata()).brokers] == [1]
    assert time.monotonic() - began < 10


def broker_at(node_id: int, address: str) -> object:
    host, _, port = address.partition(":")
    return MetadataResponse.MetadataResponseBroker(node_id=node_id, host=host, port=int(port), rack=None)


def test_the_answer_of_a_broker_that_is_alone_is_waited_for_as_long_as_the_timeout_says(monkeypatch):
    monkeypatch.setattr(wires, "SHARE_S", 0.1)
    with false_broker(after_login(b"")) as frozen, wire_to(frozen, timeout_s=1) as wire:
        began = time.monotonic()
        with pytest.raises(TimedOut):
            wire.brokers()
    assert time.monotonic() - began >= 1


def test_without_a_bootstrap_server_nothing_is_tried():
    with Wire(ClientProperties(())) as wire, pytest.raises(ConfigError, match="no bootstrap server"):
        wire.brokers()


def test_ctrl_c_ends_a_request_that_waits(silent_address):
    timer, before = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)), signal.getsignal(signal.SIGINT)
    with wire_to(silent_address, timeout_s=60) as wire:
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            wire.brokers()
    assert time.monotonic() - began < 15
    assert signal.getsignal(signal.SIGINT) is before


def test_a_bug_in_reading_an_answer_comes_out_at_once_with_its_place(monkeypatch):
    monkeypatch.setattr(channel, "_incomplete", lambda request, _: request.no_such_field)
    began = time.monotonic()
    with cluster_of_one() as address, wire_to(address, timeout_s=30) as wire:
        with pytest.raises(AttributeError, match="no_such_field") as caught:
            wire.brokers()
        assert [each.name for each in caught.traceback][-2:] == ["require_sound", "<lambda>"]
    assert time.monotonic() - began < 10


@pytest.mark.kafka
def test_a_second_bootstrap_server_is_enough(sandbox, closed_address):
    with wire_to(f"{closed_address},{sandbox.bootstrap_servers}") as wire:
        assert wire.cluster_id == sandbox.cluster_id
        assert [broker.node_id for broker in wire.brokers()] == [1]


@pytest.mark.kafka
@pytest.mark.parametrize(("host", "requests"), [("127.0.0.1", 2), ("localhost", 3)])
def test_a_connection_to_an_address_that_the_broker_advertises_is_kept_and_a_new_one_names_its_cluster(
    sandbox, host, requests
):
    servers = sandbox.bootstrap_servers.replace("127.0.0.1", host)
    with wire_to(servers) as wire:
        wire.request_any(list_transactions())
        assert wire.requests.total == requests, "Metadata once for each connection"


@pytest.mark.kafka
def test_a_request_ahead_is_answered_beside_others_and_needs_an_open_connection(sandbox):
    with wire_to(sandbox.bootstrap_servers) as wire:
        answer = wire.ahead(list_transactions())
        assert wire.requests.total == 2, "Metadata, and the request itself"
        wire.request_any(brokers_metadata())
        assert answer().error_code == 0
        assert wire.requests.total == 3
    with wire_to(sandbox.bootstrap_servers.replace("127.0.0.1", "localhost")) as wire:
        answer = wire.ahead(list_transactions())
        assert wire.requests.total == 1, "the broker's own address is not connected to yet"
        assert answer().error_code == 0


@pytest.mark.kafka
def test_a_wire_can_be_used_again_after_it_was_closed(sandbox):
    with wire_to(sandbox.bootstrap_servers) as wire:
        assert wire.cluster_id == sandbox.cluster_id
    assert wire.cluster_id == sandbox.cluster_id
    wire.close()


@pytest.mark.kafka
def test_a_wrong_password_names_user_and_mechanism(sandbox):
    with (
        wire_to(sandbox.sasl_bootstrap_servers, *sasl("PLAIN", "tool", "wrong")) as wire,
        pytest.raises(NotAuthorized, match=r"User:tool may not authenticate with PLAIN on .*: .*Authentication failed"),
    ):
        wire.brokers()


@pytest.mark.kafka
def test_a_mechanism_that_the_broker_does_not_offer_is_named(sandbox):
    with (
        wire_to(sandbox.sasl_bootstrap_servers, *sasl("SCRAM-SHA-256", "tool", "x")) as wire,
        pytest.raises(ConfigError, match="does not offer SASL SCRAM-SHA-256 to User:tool"),
    ):
        wire.brokers()


@pytest.mark.kafka
@pytest.mark.parametrize("listener", ["plaintext over SASL", "TLS over plaintext"])
def test_the_wrong_listener_is_suspected(sandbox, listener):
    over_sasl = listener == "plaintext over SASL"
    address = sandbox.sasl_bootstrap_servers if over_sasl else sandbox.bootstrap_servers
    extra = () if over_sasl else ("security.protocol=SSL",)
    with wire_to(address, *extra) as wire, pytest.raises(Unreachable) as caught:
        wire.brokers()
    assert caught.value.hint is not None
    assert "security.protocol" in caught.value.hint


@pytest.mark.variation
@pytest.mark.kafka
def test_an_api_that_the_broker_is_too_old_for_names_the_versions(make_sandbox):
    sandbox = make_sandbox(kafka_version="3.6.2")
    with (
        wire_to(sandbox.bootstrap_servers) as wire,
        pytest.raises(Unsupported, match=r"ListTransactions needs version 2 to 2, .* answers 0 to 0"),
    ):
        wire.request(1, list_transactions(pattern="a.*"))


@pytest.mark.kafka
def test_init_producer_id_is_never_sent_in_its_unstable_version(sandbox):
    with wire_to(sandbox.bootstrap_servers) as wire:
        assert wire.version(1, init_producer_id("x", 60000)) == 5


@pytest.mark.kafka
def test_a_broker_that_does_not_exist_is_unreachable(sandbox):
    with wire_to(sandbox.bootstrap_servers) as wire, pytest.raises(Unreachable, match="broker 77 is not among"):
        wire.request(77, brokers_metadata())


def fence(wire, transactional_ids, lanes=1):
    """Error codes seen while every ID is fenced; each ID ends with code 0."""
    coordinators, seen = {}, Counter()
    window = wire.window(in_flight=20, lanes=lanes)
    window.put(tuple(transactional_ids), wire.brokers()[0].node_id, find_coordinators(transactional_ids))
    for answer in window:
        assert answer.error is None
        found = {entry.key: entry.node_id for entry in answer.response.coordinators if entry.error_code == 0}
        coordinators |= found
        if left := [name for name in answer.item if name not in found]:
            window.put(tuple(left), answer.node_id, find_coordinators(left), delay_s=0.1)
    for name, node_id in coordinators.items():
        window.put(name, node_id, init_producer_id(name, 60000))
    for answer in window:
        assert answer.error is None
        seen[answer.response.error_code] += 1
        if answer.response.error_code:
            window.put(answer.item, answer.node_id, init_producer_id(answer.item, 60000), delay_s=0.02)
    return seen


@pytest.mark.kafka
def test_a_window_answers_every_item_on_every_kafka_version(broker):
    with wire_to(broker.bootstrap_servers) as wire:
        assert fence(wire, [f"id-{number}" for number in range(500)])[0] == 500


@pytest.mark.kafka
def test_a_window_uses_all_brokers_and_lanes(cluster3):
    with wire_to(cluster3.bootstrap_servers) as wire:
        assert fence(wire, [f"lane-{number}" for number in range(300)], lanes=3)[0] == 300


@pytest.mark.kafka
def test_a_version_that_the_broker_does_not_know_is_the_error_of_its_item_only(sandbox):
    from kafka.protocol.metadata import MetadataRequest

    with wire_to(sandbox.bootstrap_servers) as wire:
        window = wire.window()
        window.put("good", 1, brokers_metadata())
        window.put("bad", 1, Request(MetadataRequest, {"topics": []}, min_version=99))
        errors = {answer.item: type(answer.error) for answer in window}
    assert errors == {"good": type(None), "bad": Unsupported}


@pytest.fixture(scope="module")
def own():
    """A broker that is quick to close idle connections; tests pause and kill it, and leave it running."""
    with Sandbox(SandboxSpec(broker_config={"connections.max.idle.ms": "1500"})) as sandbox:
        yield sandbox


@pytest.mark.kafka
def test_a_broker_that_is_frozen_leaves_its_items_timed_out(own):
    with wire_to(own.bootstrap_servers) as wire:
        wire.request(1, brokers_metadata())
        own.pause_broker(1)
        window = wire.window(in_flight=2, timeout_s=4)
        for item in range(5):
            window.put(item, 1, brokers_metadata())
        window.put("later", 1, brokers_metadata(), delay_s=60)
        began = time.monotonic()
        answers = list(window)
        assert time.monotonic() - began < 8, "the time is not spent twice, nor the item waited for that is delayed"
        own.resume_broker(1)
    assert {answer.item for answer in answers} == {0, 1, 2, 3, 4, "later"}
    assert {type(answer.error) for answer in answers} == {TimedOut}
    assert window.unanswered() == []


@pytest.mark.kafka
def test_items_of_a_broker_that_died_can_be_put_again_until_it_is_back(own):
    with wire_to(own.bootstrap_servers) as wire:
        wire.request(1, brokers_metadata())
        own.kill_broker(1)
        window = wire.window(timeout_s=60)
        for item in range(5):
            window.put(item, 1, brokers_metadata())
        failures, answered = 0, set()
        for answer in window:
            if answer.error is None:
                answered.add(answer.item)
                continue
            assert isinstance(answer.error, Unreachable)
            failures += 1
            if failures == 5:
                own.start_broker(1)
            window.put(answer.item, 1, brokers_metadata(), delay_s=0.1)
    assert answered == {0, 1, 2, 3, 4}
    assert failures >= 5


def through_a_window(wire):
    window = wire.window()
    window.put("item", 1, brokers_metadata())
    assert [answer.error for answer in window] == [None]


def closed_by_the_peer(port):
    """True if this process has a connection to `port` that the other side has ended (CLOSE_WAIT)."""
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return any(row[2].endswith(f":{port:04X}") and row[3] == "08" for row in rows)


@pytest.mark.kafka
@pytest.mark.parametrize("ask", [lambda wire: wire.request(1, brokers_metadata()), Wire.refresh, through_a_window])
def test_a_connection_that_the_broker_closed_for_idleness_is_opened_again(own, ask):
    port = int(own.bootstrap_servers.rpartition(":")[2])
    with wire_to(own.bootstrap_servers) as wire:
        wire.request(1, brokers_metadata())
        eventually(lambda: closed_by_the_peer(port))
        ask(wire)


def opened_channel(transport: object, failure: Exception | None) -> Channel:
    """With the transport that is left, and what the attempt to open it failed with."""
    attempt = Future()
    if failure is not None:
        attempt.failure(failure)
    connection = SimpleNamespace(transport=transport, init_future=attempt, _throttle_time=0)
    return Channel(connection, Peer("broker:9092", "User:tool", None), RequestLog(), Callbacks())


@pytest.mark.parametrize(
    ("transport", "failure", "kind", "says"),
    [
        (None, None, TimedOut, "broker:9092 accepted no connection (TCP, TLS) in time"),
        (object(), None, TimedOut, "broker:9092 accepted the connection but did not answer in time"),
        (None, RequestTimedOutError("after 8 s"), TimedOut, "broker:9092 accepted the connection but did not answer"),
        (None, KafkaConnectionError("Connection timed out"), Unreachable, "broker:9092 cannot be reached: Connection"),
    ],
)
def test_the_error_names_the_last_completed_stage_of_the_connection(transport, failure, kind, says):
    error = opened_channel(transport, failure).timed_out()
    assert (type(error), str(error)[: len(says)]) == (kind, says)


def test_a_wait_whose_time_is_over_does_not_pause():
    assert Deadline(60).pause(0)
    assert not Deadline(0).pause(60)


def test_time_that_has_passed_since_the_wait_began_counts():
    began_long_ago = Deadline(60, since=0.0)
    assert not began_long_ago.pause(60)


def test_a_wait_that_has_not_ended_gives_its_reason_and_its_duration():
    with pytest.raises(TimedOut, match=r"^the topic has no leader, for 0\.5 s$"):
        Deadline(0.5, since=0.0).pause_or_raise(60, "the topic has no leader")


def test_a_call_without_a_timeout_is_abandoned_at_the_deadline_and_otherwise_returns_or_raises():
    assert done_by(monotonic() + 60, lambda: 5) == 5
    with pytest.raises(KeyError, match="a"):
        done_by(monotonic() + 60, lambda: {}["a"])
    with pytest.raises(TimeoutError):
        done_by(monotonic() + 0.05, lambda: Event().wait(60))


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A host whose name is looked up for ever."""
    real, over = socket.getaddrinfo, Event()

    def look_up(host: str | bytes, *args: Any, **options: Any) -> Any:
        if host == b"broker.example":
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


class _Parser(KafkaProtocol):  # type: ignore[misc]  # the library is untyped
    def _process_response(self, read_buffer):
        return bytes(read_buffer.read(4)) + bytes(read_buffer.read())


def _received(pieces: list[bytes]) -> tuple[list[bytes], Exception | None]:
    """The parser's result for bytes sent piece by piece, and the error at their end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        parser = _Parser()
        receive = receiver(SimpleNamespace(_sock=ours, _protocol=SimpleNamespace(parser=parser, connected=True)))
        answers: list[bytes] = []
        error = None
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[theirs.send(rest[: 1 << 15]) :]
                while data := receive()[0]:
                    answers += parser.receive_bytes(data)
        theirs.close()
        while error is None:
            data, error = receive()
            answers += parser.receive_bytes(data)
    return answers, error


SIZES = st.sampled_from([4, 5, 100, 4096, LARGE - 1, LARGE, LARGE + 1, LARGE + 4092, 3 * LARGE])


@given(
    st.lists(SIZES, min_size=1, max_size=4),
    st.lists(st.integers(1, 5000), max_size=6),
    st.binary(min_size=1, max_size=9),
)
def test_answers_arrive_whole_and_in_order(sizes: list[int], cuts: list[int], seed: bytes):
    sent = [random.Random(seed).randbytes(size) for size in sizes]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in sent)
    pieces = []
    for cut in cuts:
        pieces.append(stream[:cut])
        stream = stream[cut:]

    answers, error = _received([*pieces, stream])

    assert answers == sent
    assert isinstance(error, KafkaConnectionError)


def test_a_poll_shows_the_socket_once_the_rest_of_a_large_answer_is_there_and_then_at_each_byte():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        with theirs:
            ours.setblocking(False)
            parser = _Parser()
            receive = receiver(SimpleNamespace(_sock=ours, _protocol=SimpleNamespace(parser=parser, connected=True)))

            def read() -> list[bytes]:
                answers: list[bytes] = []
                while data := receive()[0]:
                    answers += parser.receive_bytes(data)
                return answers

            answer = bytes(2 * LARGE)
            theirs.sendall(len(answer).to_bytes(4, "big") + answer[:LARGE])
            eventually(lambda: read() or len(parser._rbuffer or b"") == len(answer), "the answer has begun")
            eventually(lambda: read() or parser._rbuffer.tell() == LARGE, "its first half was read")
            theirs.sendall(answer[LARGE : LARGE + 1000])
            assert select.select([ours], [], [], 0.2)[0] == []
            theirs.sendall(answer[LARGE + 1000 :])
            assert select.select([ours], [], [], 5)[0] == [ours]
            assert read() == [answer]
            theirs.sendall(b"x")
            assert select.select([ours], [], [], 5)[0] == [ours]


def test_a_frame_is_used_again_once_no_view_of_it_is_left():
    frames = _Frames()
    first = frames.take(LARGE)
    place, view = id(first), memoryview(first)[10:20]
    del first

    second = frames.take(LARGE)
    assert id(second) != place
    del second
    view.release()
    del view
    third = frames.take(LARGE - 5)
    assert id(third) == place
    assert len(third) == LARGE - 5
    assert len(frames.take(2 * LARGE)) == 2 * LARGE
