"""Tokens for SASL/OAUTHBEARER (KIP-255, KIP-768), fetched as the Java client properties say."""

import base64
import binascii
import json
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlencode

from eosctl.clients.errors import plain_reason
from eosctl.clients.http_url import HttpUrl, InvalidUrl
from eosctl.clients.rest_identity import decode_json, object_of, text_of
from eosctl.clients.tls import ssl_context
from eosctl.codecs.client_properties import decode_jaas
from eosctl.codecs.secrets import mask_url
from eosctl.errors import ConfigError, NotAuthorized, TimedOut, Unreachable
from eosctl.files import TOKEN, read_text
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.hidden_fields import HiddenFields

if TYPE_CHECKING:
    import ssl


ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
UNSECURED: Final = "unsecuredLoginStringClaim_"
LIFETIME_S: Final = 3600
RENEWED_AT: Final = 0.8
TIMEOUT_S: Final = 10.0
LONGEST_S: Final = 1_000 * 365 * 86_400
"""Later than that is no time at which a token ends."""
MAX_ANSWER_BYTES: Final = 1 << 20
"""A token has some kB; brokers take no SASL message of more than 512 kB (sasl.server.max.receive.size)."""


class Token(HiddenFields, frozen=True):
    """A bearer token, the end of its life (seconds since the epoch), and the principal it names, empty if unknown."""

    hidden: ClassVar = ("text",)

    text: str
    expires_at_s: float
    principal: str


class TokenSource:
    """The source of these properties' token.

    1. `sasl.oauthbearer.token.endpoint.url=file:///path`: that file holds it.
    2. The same with http(s): a request with the client credentials grant, by `clientId`, `clientSecret` and `scope` of
       sasl.jaas.config, or `sasl.oauthbearer.client.credentials.client.id`, `….client.secret` and `….scope` (KIP-1139).
       `ssl.*` options of sasl.jaas.config are for that connection.
    3. `unsecuredLoginStringClaim_sub` in sasl.jaas.config: an unsigned token, for brokers of tests.
    """

    def __init__(self, properties: ClientProperties) -> None:
        self._properties = properties
        jaas = properties.get("sasl.jaas.config")
        self._options: Mapping[str, str] = {} if jaas is None else decode_jaas(jaas)[0].options
        self._token: Token | None = None
        self._renew_at_s = 0.0

    @property
    def extensions(self) -> dict[str, str]:
        """SASL extensions (KIP-342): the options `extension_NAME` of sasl.jaas.config."""
        prefix = "extension_"
        return {key[len(prefix) :]: value for key, value in self._options.items() if key.startswith(prefix)}

    def token(self) -> Token:
        """A token that is still good; raises ConfigError, Unreachable or NotAuthorized where none can be had."""
        now = time.time()  # noqa: TID251  # a token ends by the clock
        if self._token is None or now >= self._renew_at_s:
            self._token = self._fetched(now)
            self._renew_at_s = now + RENEWED_AT * (self._token.expires_at_s - now)
        return self._token

    def _fetched(self, now: float) -> Token:
        endpoint = self._properties.get(ENDPOINT)
        if endpoint is not None and endpoint.startswith("file:"):
            path = Path("/" + endpoint.removeprefix("file:").lstrip("/"))
            return _parse_token(read_text(path, TOKEN).strip(), now + LIFETIME_S)
        if endpoint is not None:
            return self._granted(endpoint, now)
        claims = {key[len(UNSECURED) :]: value for key, value in self._options.items() if key.startswith(UNSECURED)}
        if "sub" not in claims:
            raise ConfigError(f"OAUTHBEARER needs {ENDPOINT}", hint="an http(s) address, or file:///path of a token")
        lifetime = _lifetime_s(self._options.get("unsecuredLoginLifetimeSeconds", str(LIFETIME_S)))
        return _parse_token(_unsigned({**claims, "iat": now, "exp": now + lifetime}), now + lifetime)

    def _granted(self, endpoint: str, now: float) -> Token:
        from eosctl.clients.http_transport import HttpClient, HttpRequest, NoAnswer, NotInTime, TooLarge

        client, secret = self._given("clientId", "client.id"), self._given("clientSecret", "client.secret")
        scope = self._options.get("scope") or self._properties.get("sasl.oauthbearer.scope")
        form = {"grant_type": "client_credentials"} | ({} if scope is None else {"scope": scope})
        peer = f"the token endpoint {_bare(endpoint)}"
        try:
            url = HttpUrl.of(endpoint)
            request = HttpRequest("POST", url, urlencode(form).encode(), "application/x-www-form-urlencoded")
            with closing(HttpClient(url, self._context() if url.scheme == "https" else None, (client, secret))) as http:
                answer = http.exchange(request, time.monotonic() + TIMEOUT_S, MAX_ANSWER_BYTES)
        except NotInTime as error:
            raise TimedOut(f"{peer} gives no whole answer within {TIMEOUT_S:g} s") from error
        except TooLarge as error:
            raise ConfigError(f"{peer} answers more than {MAX_ANSWER_BYTES} bytes, which is no token") from error
        except InvalidUrl as error:
            raise Unreachable(f"{peer} does not answer: this is not a URL") from error
        except NoAnswer as error:
            raise Unreachable(f"{peer} does not answer: {plain_reason(str(error))}") from error
        if answer.status in {400, 401, 403}:
            resource = f"{_bare(endpoint)} ({answer.status})"
            raise NotAuthorized(principal=f"client {client}", operation="get a token", resource=resource)
        if answer.status >= 500 or answer.status == 429:
            raise Unreachable(f"{peer} answered {answer.status}", hint="try again later")
        try:
            return _granted_token(answer.content, now)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"{peer} answered {answer.status} without an access_token that can be used"
            raise ConfigError(what) from error

    def _context(self) -> "ssl.SSLContext":
        own = {key: Property(value, "sasl.jaas.config") for key, value in self._options.items() if key[:4] == "ssl."}
        return ssl_context(ClientProperties((), properties=own))

    def _given(self, option: str, key: str) -> str:
        name = f"sasl.oauthbearer.client.credentials.{key}"
        value = self._options.get(option) or self._properties.get(name)
        if value is None:
            raise ConfigError(f"{ENDPOINT} needs {option} in sasl.jaas.config, or {name}")
        return value


def _lifetime_s(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= LONGEST_S:
        raise ConfigError(
            "unsecuredLoginLifetimeSeconds in sasl.jaas.config is no number of seconds of a token's life",
            hint=f'write it as unsecuredLoginLifetimeSeconds="{LIFETIME_S}"',
        )
    return found


def _unsigned(claims: Mapping[str, object]) -> str:
    parts = (json.dumps(each).encode() for each in ({"alg": "none"}, claims))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


def _granted_token(content: bytes, now: float) -> Token:
    body = object_of(decode_json(content, MAX_ANSWER_BYTES))
    text, lifetime_s = text_of(body["access_token"]), float(body.get("expires_in", LIFETIME_S))
    if not text or not text.isascii() or not text.isprintable():  # a control character ends it in SASL (RFC 7628)
        raise ValueError("not a token")
    if not 0 < lifetime_s <= LONGEST_S:
        raise ValueError("not a lifetime")
    return _parse_token(text, now + lifetime_s)


def _parse_token(text: str, otherwise_s: float) -> Token:
    """The token with its claims; one that is no JWT is used unchanged."""
    try:
        payload = text.split(".")[1]
        content = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        claims = object_of(decode_json(content, MAX_ANSWER_BYTES))
        expires_at_s = min(max(float(claims.get("exp", otherwise_s)), 0.0), otherwise_s + LONGEST_S)
        return Token(text, expires_at_s, str(claims.get("sub", "")))
    except (IndexError, ValueError, TypeError, AttributeError, binascii.Error):
        return Token(text, otherwise_s, "")


def _bare(url: str) -> str:
    return mask_url(url.partition("?")[0])
