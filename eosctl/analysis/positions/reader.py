"""What is known of one kind of source: how its offsets are recognised, described and ordered."""

from collections.abc import Callable

from msgspec import Struct

from eosctl.model.offsets import Order, SourceOffset


class PositionReader(Struct, frozen=True):
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


def by_members(*members: str) -> Callable[[SourceOffset, SourceOffset], Order]:
    """A comparison by these members, which are whole numbers, the first of them first."""

    def compare(before: SourceOffset, after: SourceOffset) -> Order:
        return order_of(*(tuple(each[member] for member in members) for each in (before, after)))

    return compare


def order_of(before: object, after: object) -> Order:
    """By whole numbers, or tuples of them; INCOMPARABLE for anything else."""
    was, now = _numbers(before), _numbers(after)
    if was is None or now is None:
        return Order.INCOMPARABLE
    return Order.SAME if was == now else Order.AFTER if now > was else Order.BEFORE


def _numbers(value: object) -> tuple[int, ...] | None:
    parts = value if isinstance(value, tuple) else (value,)
    numbers = tuple(each for each in parts if type(each) is int)
    return numbers if len(numbers) == len(parts) else None
