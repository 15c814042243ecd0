"""HTTP to Connect workers: JSON in and out, tried again during a rebalance, every failure an EosctlError."""

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

from eosctl.clients.errors import tls_error
from eosctl.clients.rest_identity import BASIC_AUTH, WorkerUrl
from eosctl.clients.tls_errors import tls_failure
from eosctl.errors import EosctlError, NotAuthorized, Refused, Throttled, TimedOut, Undecodable, Unreachable, UsageError

if TYPE_CHECKING:
    import httpx

RETRY_PAUSE_S = 0.25
REBALANCE_EXPECTED = "Request cannot be completed because a rebalance is expected"
AMBIGUOUS_HINT = (
    "workers from 4.0 take no slash, backslash or percent sign in the path of a request, not even escaped: a connector "
    "of this name can be created, and neither stopped nor configured nor deleted over REST"
)


class NotFound(Refused):
    """The worker has no such thing, or no such endpoint (404)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded JSON body of one request (None where the body is empty)."""

    status: int
    body: object

    @property
    def message(self) -> str | None:
        """What Connect says of an error."""
        message = self.body.get("message") if isinstance(self.body, dict) else None
        return str(message) if message else None

    @property
    def is_for_now(self) -> bool:
        """Whether to ask again: during a rebalance a write is answered 409 and a read 500; beyond a limit, 429."""
        return self.status in {409, 429} or (self.status == 500 and self.message == REBALANCE_EXPECTED)


@cache
def _public_authorities() -> ssl.SSLContext:
    """What `verify=True` stands for, read once: each client would read the file of certificates again, for 20 ms."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class RestClient:
    """One worker's REST interface at `url`; a WorkerUrl says as whom.

    During a rebalance (Connect's own advice), and while something in front of the worker limits requests, a request is
    tried again until `timeout_s` has passed.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        address = url if isinstance(url, WorkerUrl) else WorkerUrl(url)
        self.url = str(address)
        self._address = address
        self._timeout_s = timeout_s
        self._http: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._http is not None:
            self._http.close()

    def get(self, path: str) -> object:
        """The JSON body of `GET path`."""
        return self.request("GET", path).body

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """The answer to one request; a status of 400 or more raises, naming method, URL and Connect's own message."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            answer = self._exchange(method, path, body, deadline)
            if not answer.is_for_now or time.monotonic() + RETRY_PAUSE_S > deadline:
                break
            time.sleep(RETRY_PAUSE_S)
        if 300 <= answer.status < 400:
            what = f"{method} {self.url}{path} answered {answer.status}"
            hint = "give the address that it leads to"
            raise Refused(f"{what}; a redirect is not followed with a password or certificate", hint=hint)
        if answer.status >= 400:
            raise self._refusal(f"{method} {path}", answer)
        return answer

    def _exchange(self, method: str, path: str, body: Mapping[str, object] | None, deadline: float) -> Answer:
        import httpx

        try:
            response = self._client().request(
                method,
                path,
                json=body,
                timeout=max(0.1, deadline - time.monotonic()),
                headers={"Accept": "application/json"},
            )
        except httpx.TimeoutException as error:
            raise TimedOut(f"{method} {self.url}{path} got no answer within {self._timeout_s:g} s") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UsageError(f"{self.url} is not a URL: {error}", hint="give --connect-url http://HOST:8083") from error
        except httpx.HTTPError as error:
            failure = tls_failure(str(error))
            if failure is not None:
                raise tls_error(failure, self.url, self._address.identity.principal) from error
            raise Unreachable(f"no Connect worker answers at {self.url}: {error}") from error
        return Answer(response.status_code, self._decode(path, response))

    def _client(self) -> "httpx.Client":
        import httpx

        if self._http is None:
            identity = self._address.identity
            self._http = httpx.Client(
                base_url=self.url,
                # Proxy settings of the environment are for the web, not for a worker inside the cluster.
                trust_env=False,
                # Where a redirect leads to, somebody else might ask for the password or certificate.
                follow_redirects=identity.is_anonymous,
                auth=identity.basic_auth,
                verify=identity.ssl_context() if self.url.startswith("https:") else _public_authorities(),
            )
        return self._http

    def _decode(self, path: str, response: "httpx.Response") -> object:
        if not response.content:
            return None
        try:
            return json.loads(response.content)
        except ValueError as error:
            if response.status_code in {401, 403, 404, 429} or _is_ambiguous(path, response.status_code):
                return None
            kind = response.headers.get("content-type", "no content type")
            raise Undecodable(
                f"{self.url}{path} answered {response.status_code} with {kind} instead of JSON",
                hint="is this the address of a Connect worker's REST interface?",
            ) from error

    def _refusal(self, request: str, answer: Answer) -> EosctlError:
        """The error that a status of 400 or more stands for."""
        if answer.status in {401, 403}:
            who, where = self._address.identity.principal, f"{self.url} ({answer.status})"
            hint = f"give {BASIC_AUTH}=USER:PASSWORD in --command-config or with -X" if answer.status == 401 else None
            return NotAuthorized(principal=who, operation=request, resource=where, hint=hint)
        method, _, path = request.partition(" ")
        text = f"{method} {self.url}{path} answered {answer.status}" + (f": {answer.message}" if answer.message else "")
        if answer.status >= 500:
            return Unreachable(text)
        if answer.status == 429:
            return Throttled(f"{text}, for {self._timeout_s:g} s")
        if answer.status == 404:
            return NotFound(text, hint=AMBIGUOUS_HINT if _is_ambiguous(path, answer.status) else None)
        return Refused(text, hint=AMBIGUOUS_HINT if _is_ambiguous(path, answer.status) else None)


def _is_ambiguous(path: str, status: int) -> bool:
    """Whether Jetty 12 (workers from 4.0) refused the path itself: a segment must have no /, backslash or %."""
    return status == 400 and any(escape in path for escape in ("%2F", "%5C", "%25"))
