"""One connection to one broker, and a request in flight on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from eosctl.clients.answers import require_sound
from eosctl.clients.errors import Peer, connection_error
from eosctl.clients.messages import Request, Response
from eosctl.clients.request_log import RequestLog
from eosctl.errors import EosctlError, Throttled, TimedOut, Unsupported

if TYPE_CHECKING:
    from kafka.net.connection import KafkaConnection

Done = Callable[[Response | None, EosctlError | None], None]

REQUEST_TIMEOUT_S: Final = 30.0
AFTER_MUTE_S: Final = 0.005
QUOTA_HINT: Final = (
    "raise --timeout, or the quota: `kafka-configs.sh --describe --entity-type users --entity-type clients`"
)
GRACE_S: Final = 0.1
"""How long after its deadline a request may take to fail by itself."""


class ApiVersions(NamedTuple):
    """The lowest and highest version of one API that a broker answers."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Channel:
    """One connection to one broker. Sends do not block; they are carried out while the wire polls."""

    connection: "KafkaConnection"
    peer: Peer
    requests: RequestLog

    @property
    def open(self) -> bool:
        """Whether a request sent now would go out at once."""
        return bool(self.connection.connected and not self.connection.paused)

    @property
    def muted_s(self) -> float:
        """For how long the broker takes no request on it because a client quota is exceeded (KIP-219)."""
        return max(0.0, float(self.connection._throttle_time) - monotonic())

    def is_muted_until(self, deadline: float) -> bool:
        """Whether the broker takes no request on it before the deadline."""
        muted_s = self.muted_s
        return muted_s > 0 and monotonic() + muted_s + AFTER_MUTE_S > deadline

    def versions(self) -> Mapping[int, ApiVersions]:
        """API key -> versions the broker answers; empty until the channel has been open."""
        known = self.connection.broker_version_data
        return {} if known is None else {key: ApiVersions(*pair) for key, pair in known.api_versions.items()}

    def version(self, request: Request) -> int:
        """The highest version of `request` that both sides speak; Unsupported names what is needed and found."""
        known = self.connection.broker_version_data.api_versions.get(request.api.API_KEY)
        hint = None if request.since is None else f"brokers answer it from Kafka {request.since} on"
        if known is None:
            raise Unsupported(
                f"{self.peer.address} does not know {request.name} (version {request.min_version} needed)", hint=hint
            )
        version = min(known[1], request.max_version, request.api.max_version)
        if version < max(known[0], request.min_version):
            wanted = min(request.max_version, request.api.max_version)
            raise Unsupported(
                f"{request.name} needs version {request.min_version} to {wanted}, "
                f"{self.peer.address} answers {known[0]} to {known[1]}",
                hint=hint,
            )
        return int(version)

    def timed_out(self) -> EosctlError:
        """The error for a channel on which nothing was answered in time: how far it came."""
        attempt = self.connection.init_future
        if attempt.failed():  # its own timer was first, and the transport is gone
            return connection_error(attempt.exception, self.peer)
        if self.muted_s:
            what = f"{self.peer.principal} exceeds a client quota: {self.peer.address} takes no request"
            return Throttled(f"{what} for {self.muted_s:.1f} s more", hint=QUOTA_HINT)
        if self.connection.transport is None:
            return TimedOut(f"{self.peer.address} accepted no connection (TCP, TLS) in time")
        return TimedOut(f"{self.peer.address} accepted the connection but did not answer in time")

    def send(self, request: Request, deadline: float, done: Done) -> None:
        """Send `request`; `done` gets the response, or the error in its place, exactly once.

        While the broker has muted the connection the request waits. One that it answered without what was asked for,
        because of a quota, is sent again; Throttled where neither can end before the deadline.
        """
        if self.muted_s:
            self._send_later(request, deadline, done)
            return
        try:
            message = request.message(self.version(request))
        except EosctlError as error:
            done(None, error)
            return

        def answered(response: Response) -> None:
            self.requests.done(number, "answered")
            if _is_put_off(request, response):
                self._send_later(request, deadline, done)
                return
            try:
                require_sound(request, response, self.peer.address)
            except EosctlError as error:
                done(None, error)
            else:
                done(response, None)

        patience_ms = 1000 * max(0.001, min(REQUEST_TIMEOUT_S, deadline - monotonic()))
        number = self.requests.sent(request.name, self.peer.address)
        future = self.connection.send_request(message, request_timeout_ms=patience_ms)
        future.add_callback(answered)

        def failed(error: BaseException) -> None:
            self.requests.done(number, "no answer")
            done(None, connection_error(error, self.peer))

        future.add_errback(failed)

    def _send_later(self, request: Request, deadline: float, done: Done) -> None:
        if self.is_muted_until(deadline):
            done(None, self.timed_out())
            return
        again_at = monotonic() + self.muted_s + AFTER_MUTE_S
        self.connection.net.call_at(again_at, lambda: self.send(request, deadline, done))


def _is_put_off(request: Request, response: Response) -> bool:
    """Whether this is the answer to a Fetch that exceeds a quota: no topic in it, and how long the broker mutes."""
    return request.name == "Fetch" and response.throttle_time_ms > 0 and response.responses == []


class Pending:
    """A request in flight."""

    def __init__(self, channel: Channel, request: Request, deadline: float, poll: Callable[[float], None]) -> None:
        self._poll = poll
        self._channel = channel
        self._deadline = deadline
        self._landed: tuple[Response | None, EosctlError | None] | None = None
        channel.send(request, deadline, self._land)

    @property
    def landed(self) -> bool:
        """Whether `response` returns or raises at once."""
        return self._landed is not None

    def _land(self, response: Response | None, error: EosctlError | None) -> None:
        self._landed = (response, error)

    def response(self) -> Response:
        """The response, waiting for it; raises Unreachable, TimedOut or Unsupported in its place."""
        while self._landed is None:
            remaining = self._deadline - monotonic()
            if remaining <= -GRACE_S:
                raise self._channel.timed_out()
            self._poll(min(1.0, max(0.0, remaining)))
        response, error = self._landed
        if error is not None:
            raise error
        return response
