"""A peer that says how much it will send gets no memory for it, and whatever it sends is an error that names it."""

from time import monotonic

import pytest

from eosctl.clients.messages import brokers_metadata
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, Throttled, Undecodable, Unreachable
from eosctl.model.client_properties import ClientProperties
from tests.attack.false_broker import Answer, after_login, cluster_of_one, false_broker, framed
from tests.attack.peak import peak_mib

TIMEOUT_S = 1.5
SOON_S = 5.0
LONGEST_MS = 2**31 - 1


def asked(answer: Answer) -> EosctlError:
    """What asking such a broker for the cluster's brokers ends with."""
    with (
        false_broker(answer) as address,
        Wire(ClientProperties((address,)), timeout_s=TIMEOUT_S) as wire,
        pytest.raises(EosctlError) as caught,
    ):
        wire.brokers()
    assert address in caught.value.message
    return caught.value


@pytest.mark.parametrize("claim", [1 << 20, (1 << 30) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_a_peer_that_claims_much_before_its_login_is_refused_at_once(claim: int):
    error = asked(lambda key, version, ident: claim.to_bytes(4, "big") + bytes(100))
    assert isinstance(error, Unreachable)
    assert "Invalid frame length" in error.message


@pytest.mark.parametrize("claim", [(1 << 28) + 1, (1 << 30) - 1, 1 << 31])
def test_a_broker_that_claims_too_much_after_its_login_is_refused_at_once(claim: int):
    assert "Invalid frame length" in asked(after_login(claim.to_bytes(4, "big") + bytes(100))).message


@pytest.mark.parametrize("before", [b"", framed(bytes(8))])
def test_a_claim_takes_no_memory(before: bytes):
    """Also where the length comes with the end of another answer."""
    claim = before + (1 << 28).to_bytes(4, "big") + bytes(1 << 18)
    assert peak_mib(lambda: asked(after_login(claim))) < 40


def test_web_pages_and_noise_are_named_as_no_kafka():
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02F", bytes(range(256))):
        assert isinstance(asked(lambda key, version, ident, answer=answer: answer), Unreachable)


BODIES = {
    "nothing": b"",
    "zeros": bytes(100),
    "a long array of nothing": b"\x7f\xff\xff\xff" * 3,
    "a long array": b"\x00\x00\x00\x00" + b"\x7f\xff\xff\xff" + bytes(30),
    "negative lengths": b"\xff" * 40,
    "text that is no UTF-8": b"\x00\x00\x00\x01" + bytes(4) + b"\x00\x02\xff\xfe" + bytes(20),
}


@pytest.mark.parametrize("name", BODIES)
def test_answers_that_are_none_of_kafka_s_are_errors(name: str):
    asked(after_login(framed(BODIES[name])))
    asked(lambda key, version, ident: framed(ident + BODIES[name]))


@pytest.mark.parametrize("name", BODIES)
def test_an_answer_that_cannot_be_decoded_is_undecodable_at_once_and_names_the_request(name: str):
    body, began = BODIES[name], monotonic()

    def answer(key: int, version: int, ident: bytes) -> bytes:
        return after_login(framed(ident + body))(key, version, ident)

    said = r"answered Metadata \(version \d+\) with a damaged response: "
    with (
        false_broker(answer) as address,
        Wire(ClientProperties((address,)), timeout_s=60) as wire,
        pytest.raises(Undecodable, match=f"{address} {said}"),
    ):
        wire.brokers()
    assert monotonic() - began < SOON_S


@pytest.mark.parametrize("name", BODIES)
def test_behind_an_address_whose_answer_is_damaged_the_next_is_asked(name: str):
    def answer(key: int, version: int, ident: bytes) -> bytes:
        return after_login(framed(ident + BODIES[name]))(key, version, ident)

    with (
        false_broker(answer) as damaged,
        cluster_of_one() as sound,
        Wire(ClientProperties((damaged, sound)), timeout_s=60) as wire,
    ):
        assert [f"{each.host}:{each.port}" for each in wire.brokers()] == [sound]


def test_a_broker_that_takes_no_request_for_weeks_is_not_waited_for():
    with (
        cluster_of_one(throttle_time_ms=LONGEST_MS) as address,
        Wire(ClientProperties((address,)), timeout_s=60) as wire,
    ):
        wire.brokers()
        began = monotonic()
        for ask in (wire.refresh, lambda: wire.request(1, brokers_metadata())):
            with pytest.raises(Throttled, match=rf"exceeds a client quota: {address} takes no request for 214\d+"):
                ask()
        window = wire.window()
        for item in range(3):
            window.put(item, 1, brokers_metadata())
        assert [type(each.error) for each in window] == [Throttled] * 3
        assert monotonic() - began < SOON_S


def test_a_cluster_without_brokers_is_unreachable():
    with (
        cluster_of_one(brokers=[]) as address,
        Wire(ClientProperties((address,)), timeout_s=TIMEOUT_S) as wire,
        pytest.raises(Unreachable, match="the cluster's metadata names no broker"),
    ):
        wire.brokers()
