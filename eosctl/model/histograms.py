"""Histograms whose buckets double: bucket n holds the figures of 2^(n-1) up to 2^n - 1, bucket 0 holds zeros."""

from collections.abc import Mapping
from typing import NamedTuple


class Bounds(NamedTuple):
    """The lowest and the highest figure of a bucket, both inside it."""

    low: int
    high: int


def bucket_bounds(bucket: int) -> Bounds:
    """The figures that a bucket holds."""
    return Bounds(0, 0) if bucket <= 0 else Bounds(1 << (bucket - 1), (1 << bucket) - 1)


def quantile(histogram: Mapping[int, int], share: float) -> int | None:
    """A figure that at least this share (0 to 1) of all figures does not exceed: the highest of its bucket.

    None where the histogram is empty.
    """
    total, counted = sum(histogram.values()), 0
    if not total:
        return None
    for bucket in sorted(histogram):
        counted += histogram[bucket]
        if counted >= share * total:
            break
    return bucket_bounds(bucket).high
