"""HTTP to Connect workers: JSON in and out, tried again during a rebalance, every failure an EosctlError."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Self

from eosctl.clients.errors import CHECK_HINT, plain_reason, tls_error
from eosctl.clients.rest_answers import decode_json, said
from eosctl.clients.rest_identity import BASIC_AUTH, WorkerUrl
from eosctl.clients.tls_errors import tls_failure
from eosctl.errors import EosctlError, NotAuthorized, Refused, Throttled, TimedOut, Undecodable, Unreachable, UsageError

if TYPE_CHECKING:
    import httpx

    from eosctl.clients.http_transport import HttpAnswer

RETRY_PAUSE_S = 0.25
LEAST_S = 0.1
"""What a request that is tried again gets, however little of the time is left."""
SLOW_HINT = "a longer --timeout helps where the worker is only slow"
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
        """What Connect says of an error, without what looks like a secret in it."""
        message = self.body.get("message") if isinstance(self.body, dict) else None
        return said(message) if message else None

    @property
    def is_for_now(self) -> bool:
        """Whether to ask again: during a rebalance a write is answered 409 and a read 500; beyond a limit, 429."""
        return self.status in {409, 429} or (self.status == 500 and self.message == REBALANCE_EXPECTED)


class RestClient:
    """One worker's REST interface at `url`; a WorkerUrl says as whom.

    During a rebalance (Connect's own advice), and while something in front of the worker limits requests, a request is
    tried again until `timeout_s` has passed. That is the time for the whole of an answer, too; its size has a limit.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        address = url if isinstance(url, WorkerUrl) else WorkerUrl(url)
        self.url = str(address)
        self._address = address
        self._timeout_s = timeout_s
        self._http: httpx.Client | None = None
        self._lock = Lock()

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

        from eosctl.clients.http_transport import TooLarge, exchange

        try:
            with self._lock:  # threads may share it
                http = self._client()
            request = http.build_request(method, path, json=body, headers={"Accept": "application/json"})
            with self._address.requests.blocking(method, f"{self.url}{path}") as outcome:
                answer = exchange(
                    http, request, max(deadline, time.monotonic() + LEAST_S), self._address.max_answer_bytes
                )
                outcome.append(str(answer.status))
        except httpx.TimeoutException as error:
            raise TimedOut(
                f"{method} {self.url}{path} got no answer within {self._timeout_s:g} s", hint=SLOW_HINT
            ) from error
        except TooLarge as error:
            raise Undecodable(
                f"{self.url}{path} answered more than {self._address.max_answer_bytes} bytes, the limit for an answer",
                hint="is this the address of a Connect worker? If its answers are that large: --max-answer MIB",
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UsageError(f"{self.url} is not a URL", hint="give --connect-url http://HOST:8083") from error
        except httpx.HTTPError as error:
            failure = tls_failure(str(error))
            if failure is not None:
                raise tls_error(failure, self.url, self._address.identity.principal) from error
            what = f"no Connect worker answers at {self.url}: {plain_reason(said(error))}"
            raise Unreachable(what, hint=CHECK_HINT) from error
        return Answer(answer.status, self._decode(path, answer))

    def _client(self) -> "httpx.Client":
        import httpx

        from eosctl.clients.http_transport import BoundedTransport

        if self._http is None:
            identity = self._address.identity
            self._http = httpx.Client(
                base_url=self.url,
                # Proxy settings of the environment are for the web, not for a worker inside the cluster.
                trust_env=False,
                # Where a redirect leads to, somebody else might ask for the password or certificate.
                follow_redirects=identity.is_anonymous,
                auth=identity.basic_auth,
                transport=BoundedTransport(identity.ssl_context() if self.url.startswith("https:") else None),
            )
        return self._http

    def _decode(self, path: str, answer: "HttpAnswer") -> object:
        if not answer.content:
            return None
        try:
            return decode_json(answer.content, self._address.max_answer_bytes)
        except ValueError as error:
            # A proxy in front of the worker answers for it with a page.
            if answer.status >= 300:
                return None
            kind = said(answer.content_type) or "no content type"
            raise Undecodable(
                f"{self.url}{path} answered {answer.status} with {kind} instead of JSON: {said(error)}",
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
            return NotFound(text)
        return Refused(text, hint=AMBIGUOUS_HINT if _is_ambiguous(path, answer.status) else None)


def _is_ambiguous(path: str, status: int) -> bool:
    """Whether Jetty 12 (workers from 4.0) refused the path itself: a segment must have no /, backslash or %."""
    return status == 400 and any(escape in path for escape in ("%2F", "%5C", "%25"))
