"""Samples as OpenMetrics text, by prometheus-client; nothing is registered in its global registry."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from eosctl.errors import ConfigError
from eosctl.model.watch import Metric, Sample

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
                f"--listen needs {error.name}, which is not installed", hint="pip install 'eosctl[watch]'"
            ) from error
        self._metrics = tuple(metrics)
        self._generate: Callable[[CollectorRegistry], bytes] = generate_latest

    def text(self, published: Mapping[str, Iterable[Sample]]) -> bytes:
        """The samples of each profile, by its name."""
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self._metrics, published))
        return self._generate(registry)


class _Collector:
    """What prometheus-client asks for the families of a page."""

    def __init__(self, metrics: tuple[Metric, ...], published: Mapping[str, Iterable[Sample]]) -> None:
        self._metrics, self._published = metrics, published

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        """The metrics that have a sample."""
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
    """The label as UTF-8 can hold it: a name may have bytes that are none."""
    return label.encode("utf-8", "backslashreplace").decode("utf-8")
