"""Tokens come from a file, from a token endpoint, or are unsigned."""

import base64
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs

import pytest

from eosctl.clients.oauthbearer import TokenSource
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, NotAuthorized, Unreachable

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def source(*texts, jaas=""):
    given = ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", f"sasl.jaas.config={MODULE} {jaas};", *texts]
    return TokenSource(client_properties(extra=given))


def jwt(**claims):
    return "e30." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=") + ".sig"


@contextmanager
def endpoint(status, body):
    """An endpoint that answers so; yields its address and what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append((self.headers["Authorization"], form))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:{server.server_port}/token", asked
    finally:
        server.shutdown()
        server.server_close()


CREDENTIALS = 'clientId="tool" clientSecret="geheim" scope="kafka"'


def test_a_file_holds_the_token(tmp_path):
    text = jwt(sub="tool", exp=9_999_999_999)
    (tmp_path / "token").write_text(text + "\n")
    token = source(f"sasl.oauthbearer.token.endpoint.url=file://{tmp_path}/token").token()
    assert (token.text, token.principal, token.expires_at_s) == (text, "tool", 9_999_999_999)
    assert text not in repr(token)


def test_an_endpoint_is_asked_once_for_a_token_that_lives():
    body = json.dumps({"access_token": "opaque", "expires_in": 600}).encode()
    with endpoint(200, body) as (url, asked):
        tokens = source(url, jaas=CREDENTIALS)
        assert tokens.token() == tokens.token()
        assert tokens.token().text == "opaque"
    basic = "Basic " + base64.b64encode(b"tool:geheim").decode()
    assert asked == [(basic, {"grant_type": ["client_credentials"], "scope": ["kafka"]})]


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b"{}", NotAuthorized, r"^client tool may not get a token on http://127\.0\.0\.1:\d+/token \(401\)$"),
        (200, b"geheim", ConfigError, "answered 200 without an access_token"),
        (500, b"{}", Unreachable, "answered 500$"),
    ],
)
def test_an_endpoint_that_gives_none_is_told(status, body, kind, says):
    with endpoint(status, body) as (url, _), pytest.raises(kind, match=says) as caught:
        source(url, jaas=CREDENTIALS).token()
    assert "geheim" not in caught.value.message


@pytest.mark.parametrize(
    ("texts", "jaas", "kind", "says"),
    [
        ((), "", ConfigError, "needs sasl.oauthbearer.token.endpoint.url"),
        (
            ("sasl.oauthbearer.token.endpoint.url=file:///not/there",),
            "",
            ConfigError,
            "endpoint.url /not/there: No such file",
        ),
        (("sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:9",), "", ConfigError, "needs clientId"),
        (("sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:9",), CREDENTIALS, Unreachable, "does not answer"),
        (("sasl.oauthbearer.token.endpoint.url=http://xn--a/",), CREDENTIALS, Unreachable, "this is not a URL"),
    ],
)
def test_what_is_missing_is_told(texts, jaas, kind, says):
    with pytest.raises(kind, match=says):
        source(*texts, jaas=jaas).token()


def test_extensions_are_handed_on():
    assert source(jaas='extension_cluster="c1" x="y"').extensions == {"cluster": "c1"}
