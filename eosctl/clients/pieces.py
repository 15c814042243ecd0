"""Requests about many names, or many partitions, are sent in pieces: a broker answers a request as a whole."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_pieces(names: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    """All of them in their order, at most so many in each piece."""
    return (tuple(names[start : start + most]) for start in range(0, len(names), most))
