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
