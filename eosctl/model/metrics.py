"""Metrics: what is measured of a cluster, in the terms of Prometheus."""

from dataclasses import dataclass
from enum import StrEnum
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


class PanelKind(StrEnum):
    """How a panel of Grafana shows its metrics: the value now, over time, or as rows with their labels."""

    STAT = "stat"
    TIME_SERIES = "timeseries"
    TABLE = "table"


class Panel(NamedTuple):
    """One panel of a dashboard: metrics of one unit.

    expression is what is shown of each, in PromQL, with {} for the series; labels choose among them. bad_from is the
    value from which on it is red, None where no value is bad.
    """

    title: str
    kind: PanelKind
    metrics: tuple[Metric, ...]
    expression: str = "{}"
    labels: tuple[tuple[str, str], ...] = ()
    bad_from: float | None = None

    @property
    def unit(self) -> str:
        """The unit, in Grafana's terms, that the names of its metrics have by their end (or `short`)."""
        return "s" if all(each.name.endswith("_seconds") for each in self.metrics) else "short"


class PanelRow(NamedTuple):
    """The panels of one theme."""

    title: str
    panels: tuple[Panel, ...]
