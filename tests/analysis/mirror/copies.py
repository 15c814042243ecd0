"""A partition and a copy of it as lists of numbers, and what is different counted the plain way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eosctl.analysis.mirror.aligner import Aligner
from eosctl.analysis.mirror.blocks import Block
from eosctl.model.mirror import Alignment, Stretch

BLOCK = 7


@dataclass(frozen=True)
class Source:
    """Records, each another number; an offset is three times its number. Those of `optional` were aborted."""

    count: int
    optional: frozenset[int] = field(default_factory=frozenset)

    def blocks(self, start: int) -> Iterator[Block]:
        """From this offset on, in batches that are aborted or not as a whole."""
        numbers = [each for each in range(self.count) if 3 * each >= start]
        while numbers:
            aborted = numbers[0] in self.optional
            length = next((at for at, each in enumerate(numbers) if (each in self.optional) != aborted), len(numbers))
            taken, numbers = numbers[: min(length, BLOCK)], numbers[min(length, BLOCK) :]
            yield Block([3 * each for each in taken], taken, taken[0], optional=aborted)


def copy(numbers: Sequence[int]) -> Iterator[Block]:
    """A copy with these records, its offsets without gaps."""
    for at in range(0, len(numbers), BLOCK):
        yield Block(range(at, min(at + BLOCK, len(numbers))), numbers[at : at + BLOCK])


def align(source: Source, copied: Sequence[int], *, window: int = 1000, position: int | None = None) -> Alignment:
    """What the aligner says of them."""
    return Aligner(source.blocks, 0, copy(copied), position, window).align()


@dataclass(frozen=True)
class Counted:
    """How many records there are of each kind."""

    matched: int = 0
    head: int = 0
    lead: int = 0
    lag: int = 0
    gaps: int = 0
    late: int = 0
    repeats: int = 0
    aborted: int = 0
    unknown: int = 0


def counted(found: Alignment) -> Counted:
    """The same of what the aligner found."""

    def of(stretches: Sequence[Stretch | None]) -> int:
        return sum(each.records for each in stretches if each is not None)

    return Counted(
        found.matched,
        of([found.head]),
        of([found.lead]),
        of([found.lag]),
        *map(of, (found.gaps, found.late, found.repeats, found.aborted, found.unknown)),
    )


def truth(source: Source, copied: Sequence[int]) -> Counted:
    """Counted record by record, with all of them in memory."""
    required = [each for each in range(source.count) if each not in source.optional]
    seen: set[int] = set()
    first, late, repeats, aborted, unknown, lead = None, 0, 0, 0, 0, 0
    for number in copied:
        if number in source.optional and 0 <= number < source.count:
            aborted += 1
        elif not 0 <= number < source.count:
            unknown, lead = unknown + (first is not None), lead + (first is None)
        elif number in seen:
            repeats += 1
        else:
            first = number if first is None else first
            late += any(each > number for each in seen.intersection(required))
        seen.add(number)
    matched = seen & set(required)
    missing = [each for each in required if each not in matched]
    last = max(matched, default=-1)
    return Counted(
        matched=len(matched),
        head=sum(each < (first or 0) for each in missing) if first is not None else 0,
        lead=lead,
        lag=sum(each > last for each in missing),
        gaps=sum((first or 0) < each < last for each in missing),
        late=late,
        repeats=repeats,
        aborted=aborted,
        unknown=unknown,
    )
