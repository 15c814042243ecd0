"""Metrics: what is measured of a cluster, in the terms of Prometheus."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Metric:
    """One gauge. bound is the most series that it has of one cluster; further ones are left out and counted."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    bound: int = 1


class Sample(NamedTuple):
    """One value of a metric; labels are in the order of the metric's."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Alert:
    """When somebody is to look: the metric with these labels meets the condition for `lasting`, in Prometheus' terms.

    metric_seen is what the condition is about: the value by default, or another expression with {} for the series.
    """

    name: str
    metric: Metric
    condition: str
    lasting: str
    severity: str
    summary: str
    labels: tuple[tuple[str, str], ...] = ()
    metric_seen: str = "{}"

    @property
    def expression(self) -> str:
        """The expression in PromQL."""
        selector = ", ".join(f'{name}="{value}"' for name, value in self.labels)
        series = f"{self.metric.name}{{{selector}}}" if selector else self.metric.name
        return f"{self.metric_seen.replace('{}', series)} {self.condition}".strip()
