"""Serves the last samples of each cycle."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Condition, Lock
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.errors import ConfigError
from eosctl.exporter.server import Page
from eosctl.model.watch import Metric, Observation, Sample

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import GaugeMetricFamily


CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROFILE: Final = "profile"
"""The label that each series has beside those of its metric."""


class Exposition:
    """The samples of each profile as one page, the metrics in the order of their table.

    Raises ConfigError where the extra `watch` is not installed.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        try:
            from prometheus_client.openmetrics.exposition import generate_latest
        except ImportError as error:
            raise ConfigError(
                f"--listen needs {error.name}, which is not installed",
                hint="pip install '.[watch]' in the checkout of eosctl",
            ) from error
        self._metrics = tuple(metrics)
        self._generate: Callable[[CollectorRegistry], bytes] = generate_latest

    def text(self, published: Mapping[str, Iterable[Sample]]) -> bytes:
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self._metrics, published))
        return self._generate(registry)


class _Collector:
    """The collector that prometheus-client asks for the families of a page."""

    def __init__(self, metrics: tuple[Metric, ...], published: Mapping[str, Iterable[Sample]]) -> None:
        self._metrics, self._published = metrics, published

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        from prometheus_client.metrics_core import GaugeMetricFamily

        families: dict[Metric, GaugeMetricFamily] = {}
        for profile, samples in self._published.items():
            for each in samples:
                if each.metric not in families:
                    labels = (PROFILE, *each.metric.labels)
                    families[each.metric] = GaugeMetricFamily(each.metric.name, each.metric.help, labels=labels)
                families[each.metric].add_metric(list(map(printable, (profile, *each.labels))), each.value)
        return (families[each] for each in self._metrics if each in families)


def printable(label: str) -> str:
    """The label with bytes that are not UTF-8 escaped."""
    return label.encode("utf-8", "backslashreplace").decode("utf-8")


class _Published(Struct, frozen=True):
    """An observation, valid until a time of the monotonic clock."""

    observation: Observation
    until: float


class Board:
    """The last observation of each profile. Cycles publish from threads of their own; no reader waits for one."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._published: dict[str, _Published] = {}
        self._count = 0

    def publish(self, observation: Observation, lifetime_s: float) -> None:
        """Replaces the profile's last observation; after `lifetime_s` it is too old to be shown."""
        until = time.monotonic() + lifetime_s
        with self._changed:
            self._published[observation.profile] = _Published(observation, until)
            self._count += 1
            self._changed.notify_all()

    def latest(self) -> dict[str, Observation]:
        """The last observation by profile; of an expired one, the samples that are still true."""
        with self._changed:
            published = dict(self._published)
        now = time.monotonic()
        return {
            name: each.observation if now < each.until else each.observation.stale for name, each in published.items()
        }

    def wait(self, seen: int, timeout_s: float) -> int:
        """Waits until the number of publications is not `seen`, or for the timeout; returns the number."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)
            return self._count


TEXT: Final = "text/plain; charset=utf-8"
NOT_YET: Final = Page(503, TEXT, b"no cycle has ended yet\n")


class Exporter:
    """Serves /metrics, /healthz and /readyz."""

    def __init__(self, board: Board, exposition: Exposition) -> None:
        self._board, self._exposition = board, exposition
        self._writing = Lock()
        self._written: tuple[Mapping[str, Sequence[Sample]], Page] | None = None

    def page(self, path: str) -> Page | None:
        """The page; None for another path. /metrics and /readyz are 503 until the first cycle has ended."""
        if path == "/healthz":
            return Page(200, TEXT, b"ok\n")
        if path not in {"/metrics", "/readyz"}:
            return None
        published = {profile: each.samples for profile, each in self._board.latest().items()}
        if not published:
            return NOT_YET
        return Page(200, TEXT, b"ok\n") if path == "/readyz" else self._metrics(published)

    def _metrics(self, published: Mapping[str, Sequence[Sample]]) -> Page:
        """Written once for each change, by one thread at a time, for any number of clients."""
        with self._writing:
            if self._written is None or self._written[0] != published:
                self._written = published, Page(200, CONTENT_TYPE, self._exposition.text(published))
            return self._written[1]
