"""HTTP to Connect workers: JSON in and out, tried again during a rebalance, every failure an EosctlError."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients import rest_identity
from eosctl.clients.errors import CHECK_HINT, plain_reason, tls_error, tls_failure
from eosctl.clients.http_url import HttpUrl, InvalidUrl
from eosctl.clients.rest_identity import (
    BASIC_AUTH,
    DiscoveredUrl,
    IdleConnections,
    WorkerUrl,
    decode_json,
    decoding,
    list_of,
    object_of,
    sanitized,
    texts_of,
)
from eosctl.codecs.secrets import mask_url
from eosctl.errors import (
    EosctlError,
    NotAuthorized,
    Refused,
    Throttled,
    TimedOut,
    Undecodable,
    Unreachable,
    UsageError,
    WaitTimedOut,
)
from eosctl.model import offsets as source_offsets
from eosctl.model.workers import connector_path

if TYPE_CHECKING:
    from eosctl.clients.http_transport import HttpAnswer, HttpClient, HttpRequest


Q = TypeVar("Q")
T = TypeVar("T")

RETRY_PAUSE_S = 0.25
ROOT: Final = "/"
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS: Final = 5
LEAST_S = 0.1
"""The least time of a repeated request, even if less is left."""
SLOW_HINT = "check the address, and that the worker runs; if it is only slow, give a longer --timeout"
MOST_IDLE_S: Final = 5.0
"""A worker ends a connection after 30 s without a request (Jetty), a proxy before it perhaps earlier."""
REBALANCE_EXPECTED = "Request cannot be completed because a rebalance is expected"
AMBIGUOUS_HINT = (
    "workers from 4.0 refuse a slash, backslash or percent sign in the path of a request, even escaped. A "
    "connector of this name can be created, but not stopped, configured or deleted over REST"
)


class NotFound(Refused):
    """The worker has no such thing, or no such endpoint (404)."""


class InternalAddress(Refused):
    """A discovered address leads to this machine, or to its link: it is not connected to."""


class RestResponse(Struct, frozen=True):
    """Status, decoded JSON body (None where it is empty) and Location (empty: none) of one request."""

    status: int
    body: object
    location: str = ""

    @property
    def message(self) -> str | None:
        message = self.body.get("message") if isinstance(self.body, dict) else None
        return sanitized(message) if message else None

    @property
    def is_for_now(self) -> bool:
        """True if the request should be repeated: during a rebalance a write is answered 409 and a read 500; beyond
        a limit, 429."""
        return self.status in {409, 429} or (self.status == 500 and self.message == REBALANCE_EXPECTED)


class RestClient:
    """One worker's REST interface at `url`; a WorkerUrl has the credentials.

    During a rebalance (Connect's own advice), and while a proxy before the worker limits requests, a request is
    repeated until `timeout_s` has passed. That is the time for the whole of an answer, too; its size has a limit.

    A discovered address gets GET requests only, without a body. A redirect is followed for GET, and to the same scheme,
    host and port, never from a discovered address: the user named one address and no other.

    A worker reports its Kafka cluster (`GET /`) before the first request, and again before each that is not a GET:
    OtherCluster if it differs from before.

    At its end it leaves its connections to the next client of the address (WorkerUrl.idle). That client asks again for
    the cluster only where it had to open a connection: behind the new one there may be another worker.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        address = url if isinstance(url, WorkerUrl) else WorkerUrl(url)
        self.url: WorkerUrl = address
        self._address = address
        self._timeout_s = timeout_s
        self._http: HttpClient | None = None
        self._is_left = False
        self._identified: int | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._http is None:
            return
        if self._address.idle is None or self._identified is None:
            self._http.close()
        else:
            self._address.idle.append(IdleConnections(self._http, self._identified, time.monotonic()))
        self._http = None

    def get(self, path: str) -> object:
        return self.request("GET", path).body

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> RestResponse:
        """The answer to one request; a status of 400 or more raises, naming method, URL and Connect's own message.

        Raises Refused for a request that is not sent: one that is not a plain GET to a discovered address, and one that
        would show credentials to an address that the user did not name.
        """
        self._address.require_named()
        if isinstance(self._address, DiscoveredUrl) and (method != "GET" or body is not None):
            raise Refused(
                f"{method} {path} is not sent to {self.url}: only the Connect group names this address",
                hint=f"give --connect-url {self.url}, if it is one of your workers",
            )
        deadline = time.monotonic() + self._timeout_s
        self._take_idle()
        if path != ROOT and not (self._is_identified and method == "GET"):
            self._identify(self._exchange("GET", ROOT, None, deadline))
        answer = self._exchange(method, path, body, deadline)
        while answer.is_for_now and time.monotonic() + RETRY_PAUSE_S <= deadline:
            time.sleep(RETRY_PAUSE_S)
            try:
                answer = self._exchange(method, path, body, deadline)
            except TimedOut:
                if method != "GET":  # whether the worker did it is not known
                    raise
                break
        if 300 <= answer.status < 400:
            raise self._not_followed(f"{method} {self.url}{path} answered {answer.status}", answer.location)
        if answer.status >= 400:
            raise self._refusal(f"{method} {path}", answer)
        if path == ROOT:
            self._identify(answer)
        elif not self._is_identified:
            self._identify(self._exchange("GET", ROOT, None, deadline))
        return answer

    def _take_idle(self) -> None:
        """Takes connections that an earlier client left, if the worker will not have ended them meanwhile."""
        with self._lock:
            left = None if self._http is not None else self._address.take_idle(time.monotonic() - MOST_IDLE_S)
            if left is not None:
                self._http, self._identified = left.http, left.identified
                self._is_left = True

    @property
    def _is_identified(self) -> bool:
        """True if the worker named its cluster: to this client, or on the very connection that another one left."""
        if self._identified is None or not self._is_left or self._http is None:
            return self._identified is not None
        return self._identified == self._http.opened

    def _identify(self, root: RestResponse) -> None:
        """Compares its Kafka cluster, where it names one: a proxy may pass on other paths only."""
        found = root.body.get("kafka_cluster_id") if isinstance(root.body, dict) else None
        self._identified = None
        if root.status < 300 and isinstance(found, str):
            self._address.require_cluster(found)
        self._identified = 0 if self._http is None else self._http.opened
        self._is_left = False  # from here on the connections are its own

    def _exchange(self, method: str, path: str, body: Mapping[str, object] | None, deadline: float) -> RestResponse:
        from eosctl.clients.http_transport import HttpRequest, NoAnswer, NotConnected, NotInTime, TooLarge

        try:
            with self._lock:  # threads may share it
                http = self._client()
            until = max(deadline, time.monotonic() + LEAST_S)
            request = HttpRequest(method, http.base.under(path), None if body is None else _encoded(body))
            answer = self._followed(request, lambda each: http.exchange(each, until, self._address.max_answer_bytes))
        except NotInTime as error:
            raise TimedOut(
                f"{method} {self.url}{path} got no answer within {self._timeout_s:g} s", hint=SLOW_HINT
            ) from error
        except TooLarge as error:
            raise Undecodable(
                f"{self.url}{path} answered more than {self._address.max_answer_bytes} bytes, the limit for an answer",
                hint="is this the address of a Connect worker? If its answers are that large: --max-answer MIB",
            ) from error
        except InvalidUrl as error:
            raise UsageError(f"{self.url} is not a URL", hint="give --connect-url http://HOST:8083") from error
        except NoAnswer as error:
            failure = tls_failure(str(error))
            if failure is not None:
                raise tls_error(failure, self.url, self._address.identity.principal) from error
            what = f"no Connect worker answers at {self.url}: {plain_reason(sanitized(error))}"
            raise Unreachable(what, hint=CHECK_HINT) from error
        except NotConnected as error:
            raise InternalAddress(f"{self.url} is not asked: {error}") from error
        return RestResponse(answer.status, self._decode(path, answer), answer.location)

    def _followed(self, request: HttpRequest, send: Callable[[HttpRequest], HttpAnswer]) -> HttpAnswer:
        """The answer, after the redirects that are followed; Unreachable where these are too many."""
        for _ in range(MOST_REDIRECTS):
            with self._address.requests.blocking(request.method, str(request.url)) as outcome:
                answer = send(request)
                outcome.append(str(answer.status))
            onward = self._onward(request, answer)
            if onward is None:
                return answer
            request = replace(request, url=onward)
        raise Unreachable(f"{self.url} redirected a request {MOST_REDIRECTS} times without an end")

    def _onward(self, request: HttpRequest, answer: HttpAnswer) -> HttpUrl | None:
        """The target of a redirected GET on the same scheme, host and port; None if it is not followed."""

        if request.method != "GET" or answer.status not in REDIRECTS or isinstance(self._address, DiscoveredUrl):
            return None
        try:
            onward = request.url.join(answer.location)
        except InvalidUrl:
            return None
        is_same = onward.origin == request.url.origin
        return onward if answer.location and is_same and not onward.userinfo else None

    def _not_followed(self, what: str, location: str) -> Refused:
        onward = sanitized(mask_url(location)) or "no address"
        return Refused(
            f"{what}: a redirect to {onward}, which is not followed",
            hint="a redirect is followed only for a GET to the same scheme, host and port; if the new address is one "
            "of your workers, give it as --connect-url",
        )

    def _client(self) -> HttpClient:
        from eosctl.clients.http_transport import HttpClient

        if self._http is None:
            base, identity = HttpUrl.of(self.url), self._address.identity
            context = identity.ssl_context() if base.scheme == "https" else None
            self._http = HttpClient(base, context, identity.basic_auth, self._address.against)
        return self._http

    def _decode(self, path: str, answer: HttpAnswer) -> object:
        if not answer.content:
            return None
        try:
            return decode_json(answer.content, self._address.max_answer_bytes)
        except ValueError as error:
            # A proxy in front of the worker answers for it with a page.
            if answer.status >= 300:
                return None
            kind = sanitized(answer.content_type) or "no content type"
            raise Undecodable(
                f"{self.url}{path} answered {answer.status} with {kind} instead of JSON: {sanitized(error)}",
                hint="is this the address of a Connect worker's REST interface?",
            ) from error

    def _refusal(self, request: str, answer: RestResponse) -> EosctlError:
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


def _encoded(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _is_ambiguous(path: str, status: int) -> bool:
    """Whether Jetty 12 (workers from 4.0) refused the path itself: a segment must have no /, backslash or %."""
    return status == 400 and any(escape in path for escape in ("%2F", "%5C", "%25"))


PATHS: Final = {"info": "", "status": "/status"}
NOT_TEXT: Final = "cannot be cast to class java.lang.String"
"""A worker's answer about a connector whose class is no text (Herder.connectorInfo): it cannot even name its type."""
PARALLEL: Final = 8


def at_once(ask: Callable[[Q], T], questions: Sequence[Q], most: int = PARALLEL) -> list[T]:
    """The answers in their order, from so many threads at most; a single question needs none.

    To load the module takes as long as a request.
    """
    if len(questions) < 2:
        return [ask(each) for each in questions]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=min(most, len(questions))) as pool:
        return list(pool.map(ask, questions))


def ask_worker(urls: Sequence[str], timeout_s: float, ask: Callable[[RestClient], T]) -> T:
    """The result of `ask` from the first of these workers that answers; Refused without a known address.

    WaitTimedOut counts as an answer, so that a wait takes timeout_s and not that for each worker.
    """
    if not urls:
        raise Refused("the Connect workers are needed for this", hint="give --connect-url")
    failure: Unreachable | None = None
    for url in urls:
        with RestClient(url, timeout_s) as rest:
            try:
                return ask(rest)
            except WaitTimedOut:
                raise
            except Unreachable as error:
                failure = error
    assert failure is not None
    raise failure


def config_of(rest: RestClient, connector: str) -> dict[str, str | None] | None:
    """The connector's config as Connect keeps it, references to config providers unresolved; None if it is unknown."""
    listed = rest.get("/connectors")
    with decoding(f"{rest.url}/connectors answered no list of connectors"):
        if connector not in texts_of(listed):
            return None
    config = rest.get(f"{connector_path(connector)}/config")
    with decoding(f"{rest.url}{connector_path(connector)}/config answered no config of a connector"):
        return rest_identity.config_of(config)


def expanded_connectors(rest: RestClient, *kinds: str) -> dict[str, dict[str, Any]]:
    """`GET /connectors?expand=…`: the worker's report on each connector, by kind (info, status).

    A connector whose class is no text makes the worker fail this request for all of them: then they are requested one
    by one, and those that can never run are left out.
    """
    path = "/connectors?" + "&".join(f"expand={kind}" for kind in kinds)
    try:
        body = rest.get(path)
    except Unreachable as error:
        if NOT_TEXT not in error.message:
            raise
        return _one_by_one(rest, kinds)
    with decoding(f"{rest.url}/connectors answered an entry that is not a connector's"):
        return {name: object_of(entry) for name, entry in object_of(body).items()}


def _one_by_one(rest: RestClient, kinds: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    listed = rest.get("/connectors")
    with decoding(f"{rest.url}/connectors answered no list of connectors"):
        # No path leads to an empty segment or a control character, and Connect runs nothing of such a name.
        names = [name for name in texts_of(listed) if name and not any(map(_is_control, name))]

    def one(name: str) -> dict[str, Any] | None:
        try:
            return {kind: object_of(rest.get(connector_path(name) + PATHS[kind])) for kind in kinds}
        except NotFound:  # it has no status yet: the one request leaves it out, too
            return None
        except Unreachable as error:
            if NOT_TEXT in error.message:
                return None
            raise

    with decoding(f"{rest.url} answered no connector"):
        found = dict(zip(names, at_once(one, names), strict=True))
    return {name: each for name, each in found.items() if each is not None}


def _is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc"


def answered_offsets(rest: RestClient, connector: str) -> tuple[source_offsets.ConnectorOffset, ...] | None:
    """`GET /connectors/C/offsets` of a source connector; None from a worker that has no answer (404, before 3.5)."""
    path = f"{connector_path(connector)}/offsets"
    try:
        body = rest.get(path)
    except NotFound:
        return None
    with decoding(f"{rest.url}{path} answered an entry that is not an offset's"):
        return tuple(
            source_offsets.ConnectorOffset(
                object_of(each["partition"]), None if each["offset"] is None else object_of(each["offset"])
            )
            for each in list_of(object_of(body)["offsets"])
        )
