"""What is known of one kind of source: how its offsets are recognised, described and ordered."""

from collections.abc import Callable
from dataclasses import dataclass

from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order


@dataclass(frozen=True, slots=True)
class PositionReader:
    """One kind of source.

    needs are the members that every offset of it has, partition those that its source partition has (none: any).
    describe says the position in a few words, compare where the second position lies seen from the first one, and
    rewind what it means to give the connector an earlier position. What `needs` names is there, of any type.
    """

    source: str
    needs: frozenset[str]
    partition: frozenset[str]
    describe: Callable[[SourceOffset], str]
    compare: Callable[[SourceOffset, SourceOffset], Order]
    rewind: str


def order_of(before: object, after: object) -> Order:
    """By whole numbers, or tuples of them; INCOMPARABLE for anything else."""
    if _is_ordered(before) and _is_ordered(after):
        if before == after:
            return Order.SAME
        return Order.AFTER if after > before else Order.BEFORE  # type: ignore[operator]
    return Order.INCOMPARABLE


def _is_ordered(value: object) -> bool:
    return all(type(each) is int for each in value) if isinstance(value, tuple) else type(value) is int
