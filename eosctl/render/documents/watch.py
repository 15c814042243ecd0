"""What `watch --once` answers."""

from typing import TypedDict


class SampleRow(TypedDict):
    """A value of a metric (docs/metrics.md); labels by their names."""

    metric: str
    labels: dict[str, str]
    value: float


class WatchData(TypedDict):
    """Every sample of one cycle; profile is empty where none is in use."""

    profile: str
    samples: list[SampleRow]
