"""Samples in Prometheus' text format, for the textfile collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eosctl.model.watch import Metric, Sample


def encode_samples(samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of the file, without line ends; metrics come in the order of their first samples."""
    families: dict[Metric, list[Sample]] = {}
    for each in samples:
        families.setdefault(each.metric, []).append(each)
    for metric, found in families.items():
        yield f"# HELP {metric.name} {metric.help}"
        yield f"# TYPE {metric.name} gauge"
        yield from map(_line, found)


def _line(sample: Sample) -> str:
    pairs = zip(sample.metric.labels, sample.labels, strict=True)
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{sample.metric.name}{{{labels}}} {sample.value}" if labels else f"{sample.metric.name} {sample.value}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
