"""The metrics of the last cycles, pushed to a collector by OTLP over HTTP (protobuf); the SDK of OpenTelemetry does it.

1. The table of metrics is that of /metrics: each is a gauge of the same name, its labels and `profile` are attributes.
   The time of a value is the end of its cycle.
2. Gauges are given to the exporter of the SDK as they are. Its instruments would keep every set of attributes for ever,
   and transactional IDs come and go.
3. Headers, certificates, compression, timeout and the resource are those of OTEL_EXPORTER_OTLP_* and
   OTEL_RESOURCE_ATTRIBUTES, as the SDK reads them. It tries again for the timeout (10 s), then the values are lost;
   those of the next cycle follow.
4. The SDK's HTTP session is one that keeps to the timeout as a whole and to a limit of bytes (exporter.otlp_session).
"""

import io
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Thread, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from eosctl.errors import NotInstalled, UsageError
from eosctl.exporter.exporter import PROFILE, printable
from eosctl.model.watch import Metric, Observation, Sample
from eosctl.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData, NumberDataPoint
    from requests import PreparedRequest, Response, Session
    from requests.adapters import HTTPAdapter


# The HTTP session of OpenTelemetry's SDK, bounded in time and bytes.
#
# 1. `requests` bounds each read from a socket, so an answer that drips has no end. Here a timer ends the sockets of a
#    push when its whole time is over.
# 2. At most MOST_BYTES of an answer's body are read. A redirect is not followed: it is a refusal, as all but 2xx are.


MOST_BYTES: Final = 64 << 10


class _Sockets:
    """Second descriptors of the sockets in use: a TLS handshake detaches the first one."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []
        self._changing = Lock()
        self.ended = False

    def add(self, opened: socket.socket) -> None:
        with self._changing:
            self._open.append(opened.dup())
        if self.ended:
            self.end()

    def end(self) -> None:
        """Ends every read and write on the sockets at once."""
        self.ended = True
        with self._changing:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._changing:
            for each in self._open:
                each.close()
            self._open.clear()


def _adapter(sockets: _Sockets) -> "HTTPAdapter":
    """Connections whose sockets are known, through a proxy or not."""
    from requests.adapters import HTTPAdapter

    pools = _pools(sockets)

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as requests has it
            super().init_poolmanager(*args, **kwargs)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as requests has it
            manager = super().proxy_manager_for(*args, **kwargs)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter()


def _pools(sockets: _Sockets) -> dict[str, Any]:
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            sockets.add(opened := super()._new_conn())
            return opened

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            sockets.add(opened := super()._new_conn())
            return opened

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class PushBounds:
    """Bounds of all exchanges of one push, and their result."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s, self._deadline, self._sockets = timeout_s, 0.0, _Sockets()
        self.answer = b""
        self.status: int | None = None
        self.refusal: str | None = None
        self.session = _session(self)

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """The time bounds of one push, whose connections are closed at the end."""
        self._deadline, self._sockets = monotonic() + self.timeout_s, _Sockets()
        self.answer, self.refusal, self.status = b"", None, None
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _adapter(self._sockets))
        end = Timer(self.timeout_s, self._sockets.end)
        end.daemon = True
        end.start()
        try:
            yield
        finally:
            end.cancel()
            self._sockets.close()
            self.session.close()

    def exchange(self, send: Callable[[float], "Response"]) -> "Response":
        """The response of `send` within the remaining time. Raises if it is late, or a redirect."""
        if (left := self._deadline - monotonic()) <= 0:
            raise self._refused(self.late)
        try:
            response = send(left)
            body = response.raw.read(MOST_BYTES, decode_content=False)
            response.close()
        except Exception as error:
            if self._is_over():
                raise self._refused(self.late) from error
            raise
        if self._is_over():
            raise self._refused(self.late)
        if 300 <= response.status_code < 400:
            raise self._refused(f"the collector answered {response.status_code}, and a redirect is not followed")
        self.status = response.status_code
        response.raw = io.BytesIO(body)
        self.answer = body if response.ok else b""
        return response

    def _is_over(self) -> bool:
        return self._sockets.ended or monotonic() >= self._deadline

    @property
    def late(self) -> str:
        return f"the collector did not answer within {self.timeout_s:g} s"

    def _refused(self, why: str) -> Exception:
        from requests import RequestException

        self.refusal = why
        return RequestException(why)


def _session(bounds: PushBounds) -> "Session":
    """A session of `requests` that keeps to the bounds."""
    from requests import Session

    class Bounded(Session):
        def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> "Response":  # noqa: ANN401  # as there
            def send(left: float) -> "Response":
                ours = {"timeout": left, "allow_redirects": False, "stream": True}
                return super(Bounded, self).request(method, url, *args, **{**kwargs, **ours})

            return bounds.exchange(send)

    session = Bounded()
    session.auth = _by_url
    return session


def _by_url(request: "PreparedRequest") -> "PreparedRequest":
    """With user and password of the URL. Without any `auth`, `requests` sends what ~/.netrc has for the host."""
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user or password else request


ENVIRONMENT: Final = "env"
"""In the place of a URL: where OTEL_EXPORTER_OTLP_ENDPOINT says."""
PATH: Final = "v1/metrics"
TIMEOUT_S: Final = 10.0
LONGEST_S: Final = 3600.0
GRACE_S: Final = 0.5
"""The time after its timeout at which a push is abandoned."""


def endpoint_of(url: str) -> str | None:
    """The URL for metrics: v1/metrics below the given one, unless it ends so; None: the environment's.

    Raises UsageError if it is no URL of HTTP.
    """
    if url == ENVIRONMENT:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"--otlp {url} is no URL", hint="give http://HOST:4318 or https://…, or env")
    return url if parts.path.rstrip("/").endswith(f"/{PATH}") else f"{url.rstrip('/')}/{PATH}"


class OtlpPush:
    """Pushes samples by OTLP.

    Raises ConfigError where the extra `otlp` is not installed, UsageError for a bad URL.
    """

    def __init__(self, url: str, metrics: Iterable[Metric]) -> None:
        endpoint = endpoint_of(url)
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics.export import MetricExportResult
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            raise NotInstalled("--otlp", "otlp", error) from error
        self._metrics, self._success = tuple(metrics), MetricExportResult.SUCCESS
        self._reasons = _Reasons()
        self._sending: Thread | None = None
        logger = logging.getLogger("opentelemetry")
        logger.handlers, logger.propagate = [self._reasons], False
        self._resource = Resource.create({"service.name": "eosctl-watch", "service.version": __version__})
        self._bounds = PushBounds(_timeout_s())
        self._exporter = OTLPMetricExporter(endpoint=endpoint, session=self._bounds.session)

    def push(self, latest: Mapping[str, Observation]) -> str | None:
        """Sends the samples of each profile; returns the reason of a failure, or None.

        Takes as long as the SDK's timeout at most, however the collector answers.
        """
        if self._sending is not None and self._sending.is_alive():
            return self._bounds.late
        outcome: list[str | None] = []
        self._sending = Thread(target=lambda: outcome.append(self._sent(latest)), daemon=True)
        self._sending.start()
        # The timer of the bounds ends what hangs on a socket; a look-up of the collector's name has none.
        self._sending.join(self._bounds.timeout_s + GRACE_S)
        return outcome[0] if outcome else self._bounds.late

    def _sent(self, latest: Mapping[str, Observation]) -> str | None:
        self._reasons.said.clear()
        try:
            with self._bounds.bounded():
                sent = self._exporter.export(self._data(latest))
        except Exception as error:  # noqa: BLE001  # whatever the SDK did not expect ends one push, and not all
            return f"{type(error).__name__}: {error}"
        if sent is self._success:
            return _rejected(self._bounds.answer)
        return self._bounds.refusal or self._reasons.text(self._bounds.status)

    def _data(self, latest: Mapping[str, Observation]) -> "MetricsData":
        from opentelemetry.sdk.metrics import export
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        points: dict[Metric, list[NumberDataPoint]] = {}
        for profile, observation in latest.items():
            at = observation.cycle.as_of * 1_000_000
            for each in observation.samples:
                attributes = _attributes(profile, each)
                points.setdefault(each.metric, []).append(export.NumberDataPoint(attributes, 0, at, each.value))
        gauges = [
            export.Metric(each.name, each.help, "", export.Gauge(points[each]))
            for each in self._metrics
            if each in points
        ]
        scope = export.ScopeMetrics(InstrumentationScope("eosctl", __version__), gauges, "")
        return export.MetricsData([export.ResourceMetrics(self._resource, [scope], "")])


def _timeout_s() -> float:
    """The timeout as the SDK reads it."""
    for name in ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"):
        try:
            if (seconds := float(os.environ.get(name, "nan"))) > 0:
                return min(seconds, LONGEST_S)
        except ValueError:
            continue  # the SDK says so
    return TIMEOUT_S


def _rejected(answer: bytes) -> str | None:
    """The collector's words on values that it dropped from an accepted push."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

    try:
        partial = ExportMetricsServiceResponse.FromString(answer).partial_success
    except DecodeError:
        return None  # an answer in another form is a success, too: the status shows it
    dropped = partial.rejected_data_points
    return f"the collector rejected {dropped} values: {partial.error_message[:200]!a}" if dropped > 0 else None


def _attributes(profile: str, sample: Sample) -> dict[str, str]:
    names = (PROFILE, *sample.metric.labels)
    return dict(zip(names, map(printable, (profile, *sample.labels)), strict=True))


class _Reasons(logging.Handler):
    """Keeps the SDK's last two log messages, its only report of why a push failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: deque[str] = deque(maxlen=2)

    def text(self, status: int | None) -> str:
        why = "; ".join(self.said) or "the SDK gives no reason"
        return why if status is None or str(status) in why else f"the collector answered {status}: {why}"

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
