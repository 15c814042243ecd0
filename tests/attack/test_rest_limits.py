"""What a peer that means harm can do to a client of Connect's REST interface: end it with an error, and in time."""

import socket
import time
from contextlib import contextmanager

import pytest

from eosctl.clients.access import ClusterAccess
from eosctl.clients.oauthbearer import TokenSource
from eosctl.clients.rest import RestClient, answered_offsets, config_of
from eosctl.clients.rest_identity import WorkerUrl, decode_json
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, EosctlError, Refused, Undecodable, Unreachable
from eosctl.executors.connectors import await_state, is_running, require_version
from eosctl.model.evidence import Preflight
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.sources.connect_rest import (
    probe_source_support,
    read_active_topics,
    read_client_configs,
    read_connector_configs,
    read_connectors,
    read_preflight,
    read_worker,
    read_worker_evidence,
)
from eosctl.sources.plan_facts import read_connector_facts
from tests.attack.hostile_worker import ENDLESS, HONEST, TEXTS, answer, answering, hostile, wrong_shape

TIME_S = 0.4
ALLOWED_S = 1.5
"""Beyond the time that a request has: this machine may be busy."""

READERS = (
    lambda url: read_worker(url, TIME_S),
    lambda url: read_connectors(url, TIME_S),
    lambda url: read_active_topics([url], ["orders"], TIME_S),
    lambda url: read_connector_configs([url], TIME_S),
    lambda url: read_client_configs([url], TIME_S),
    lambda url: probe_source_support(url, TIME_S),
    lambda url: read_worker_evidence([url], TIME_S),
    lambda url: read_preflight([url], TIME_S),
    lambda url: on_rest(url, lambda rest: answered_offsets(rest, "orders")),
    lambda url: on_rest(url, lambda rest: config_of(rest, "orders")),
    lambda url: on_rest(url, lambda rest: require_version(rest, KafkaVersion(3, 5), "")),
    lambda url: on_rest(url, lambda rest: await_state(rest, "orders", running, "to run", 0)),
    lambda url: read_connector_facts(ClusterAccess(None, (url,), None, 0), ["orders", "gone"], lambda _: {}),
)


def running(connector, state, tasks):
    return is_running(connector, state, tasks, is_restarted=lambda trace: False)


def on_rest(url, ask):
    with RestClient(url, TIME_S) as rest:
        return ask(rest)


@contextmanager
def in_time():
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < TIME_S + ALLOWED_S


@pytest.mark.parametrize("attack", ENDLESS, ids=lambda attack: attack.__name__)
def test_an_answer_without_end_ends_with_an_error_in_time(attack):
    with hostile(attack) as url, in_time(), pytest.raises(EosctlError) as caught:
        read_connectors(WorkerUrl(url, max_answer_bytes=1 << 20), TIME_S)
    assert url in caught.value.message
    assert caught.value.exit_code in {4, 7}


def test_the_limit_of_an_answer_is_told_with_how_to_raise_it():
    body = b'{"version": "4.3.1", "kafka_cluster_id": "K", "more": "' + b"x" * (2 << 20) + b'"}'
    with hostile(answering(body)) as url:
        with pytest.raises(Undecodable, match="more than 1048576 bytes, the limit for an answer") as caught:
            read_worker(WorkerUrl(url, max_answer_bytes=1 << 20), 5)
        assert "--max-answer MIB" in caught.value.hint
        assert read_worker(WorkerUrl(url, max_answer_bytes=3 << 20), 5).version == "4.3.1"


@pytest.mark.parametrize("body", TEXTS, ids=lambda body: body[:12])
def test_what_is_no_json_of_a_worker_is_undecodable(body):
    with pytest.raises(ValueError):  # noqa: PT011  # any text: the place is said by the caller
        decode_json(body)
    with (
        hostile(answering(body)) as url,
        pytest.raises(Undecodable, match="instead of JSON"),
    ):
        read_connectors(url, 5)


def shapes(seed):
    """All that is read of a worker whose answers have one other value each: a value or an error of ours."""
    with hostile(wrong_shape(seed)) as url:
        for number, read in enumerate(READERS):
            try:
                read(url)
            except EosctlError as error:
                assert error.exit_code in {2, 4, 6, 7, 8}, (seed, number, error)  # noqa: PT017
            except Exception as error:
                raise AssertionError(f"seed {seed}, reader {number}: {error!r}") from error


@pytest.mark.parametrize("seed", range(12))
def test_other_shapes_are_undecodable_and_no_bug(seed):
    shapes(seed)


def test_a_list_of_connectors_that_is_none_does_not_say_that_a_connector_is_absent():
    with (
        hostile(lambda connection, _: connection.sendall(answer("200 OK", b"{}"))) as url,
        pytest.raises(Undecodable, match="answered no list of connectors"),
    ):
        on_rest(url, lambda rest: config_of(rest, "orders"))


@pytest.mark.parametrize("status", ["500 Server Error", "502 Bad Gateway", "503 Service Unavailable"])
def test_a_page_of_a_proxy_is_unreachable_and_the_next_worker_is_asked(status):
    page = answer(status, b"<html>no upstream</html>", "text/html")
    body = b'["orders"]'
    with (
        hostile(lambda connection, _: connection.sendall(page)) as broken,
        hostile(answering(body)) as good,
    ):
        with pytest.raises(Unreachable, match=status[:3]):
            read_worker(broken, TIME_S)
        access = ClusterAccess(None, (broken, good), None, TIME_S)
        assert access.ask_worker(lambda rest: rest.get("/connectors")) == ["orders"]


def test_what_a_worker_says_is_masked_and_on_one_line():
    body = b'{"message": "no\\npassword=geheim \\u001b[2J\\u202e jdbc:x://u:geheim@db' + b"x" * 5_000 + b'"}'
    with (
        hostile(lambda connection, _: connection.sendall(answer("400 Bad Request", body))) as url,
        pytest.raises(Refused) as caught,
    ):
        read_worker(url, TIME_S)
    assert "geheim" not in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 2_500


def test_a_worker_that_says_nothing_at_all_is_late_and_not_waited_for_longer():
    with socket.create_server(("127.0.0.1", 0)) as silent, in_time(), pytest.raises(EosctlError):
        read_worker(f"http://127.0.0.1:{silent.getsockname()[1]}", TIME_S)


def token(url):
    module = (
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="t" clientSecret="s"'
    )
    given = [f"sasl.jaas.config={module};", f"sasl.oauthbearer.token.endpoint.url={url}/token"]
    more = ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"]
    return TokenSource(client_properties(extra=[*given, *more])).token()


@pytest.mark.parametrize("attack", ENDLESS, ids=lambda attack: attack.__name__)
def test_a_token_endpoint_without_end_ends_in_time(attack, monkeypatch):
    monkeypatch.setattr("eosctl.clients.oauthbearer.TIMEOUT_S", TIME_S)
    with hostile(attack) as url, in_time(), pytest.raises(EosctlError, match="the token endpoint"):
        token(url)


@pytest.mark.parametrize(
    "body",
    [
        *TEXTS,
        *(b'{"access_token": %s}' % each for each in (b"1", b"{}", b'""', b'"a\\u0001b"', b'"\\u00fc"')),
        *(b'{"access_token": "a", "expires_in": %s}' % each for each in (b'"1e999"', b"-1", b"1e300", b"[]", b'"nan"')),
    ],
    ids=lambda body: body[-40:],
)
def test_a_token_that_cannot_be_one_is_refused(body):
    with (
        hostile(answering(body)) as url,
        pytest.raises(ConfigError, match=r"without an access_token|more than 1048576 bytes"),
    ):
        token(url)


def test_honest_answers_are_read():
    def honest(connection, path):
        key = "validate" if path.endswith("/validate") else "/connectors?expand" if "?expand" in path else path
        import json

        connection.sendall(answer("200 OK", json.dumps(HONEST[key]).encode()))

    with hostile(honest) as url:
        assert read_worker(url, 5).version == "4.3.1"
        assert read_connectors(url, 5)["orders"].running_tasks == (0,)
        assert read_active_topics([url], ["orders"], 5) == {"orders": ("t",)}
        assert read_preflight([url], 5) == {"orders": Preflight({url: ("no",)})}
        assert not isinstance(probe_source_support(url, 5), Skipped)
