"""A partition and a copy of it as lists of numbers, and what is different counted the plain way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eosctl.analysis.mirror.aligner import Aligner
from eosctl.analysis.mirror.blocks import Block, Log
from eosctl.analysis.mirror.verdict import Circumstances, judge_pair
from eosctl.model.audit import AuditedTopic, PartitionBounds, TopicRole
from eosctl.model.mirror import Alignment, MirroredTopic, PartitionPair, Stretch, TopicPair
from eosctl.model.skipped import not_asked

BLOCK = 7


@dataclass(frozen=True)
class Source:
    """Records, each another number; an offset is three times its number. Those of `optional` were aborted."""

    count: int
    optional: frozenset[int] = field(default_factory=frozenset)

    def blocks(self, start: int) -> Iterator[Block]:
        """From this offset on, in batches that are aborted or not as a whole."""
        batch: list[int] = []
        for number in range(self.count):
            batch.append(number)
            full = len(batch) == BLOCK or number + 1 == self.count
            if full or (number in self.optional) != (number + 1 in self.optional):
                taken = [each for each in batch if 3 * each >= start]
                if taken:
                    times = [batch[0]] * len(taken)
                    yield Block([3 * each for each in taken], taken, times, optional=number in self.optional)
                batch = []


def copy(numbers: Sequence[int]) -> Log:
    """A copy with these records, its offsets without gaps."""

    def blocks(start: int) -> Iterator[Block]:
        for base in range(start - start % BLOCK, len(numbers), BLOCK):
            at, end = max(base, start), min(base + BLOCK, len(numbers))
            yield Block(range(at, end), numbers[at:end], [numbers[base]] * (end - at))

    return Log(blocks)


def align(source: Source, copied: Sequence[int], *, window: int = 1000, position: int | None = None) -> Alignment:
    """What the aligner says of them."""
    return Aligner(Log(source.blocks), copy(copied), position, window).align()


def assert_same(found: Alignment, whole: Alignment, *, aborted_in_reach: bool) -> None:
    """Both say the same, record by record.

    A mirror that went back farther than the window copied aborted records again that are not known any more to what
    goes on there. What it repeated beside them breaks it in any case.
    """
    if aborted_in_reach:
        assert found == whole
    else:
        assert verdict(found) == verdict(whole)
        assert found.matched == whole.matched


def verdict(found: Alignment) -> str:
    """What is said of a pair with these differences."""
    topics = TopicPair("a", "b")
    bounds = (PartitionBounds(name, 0, 0, 1000, 1000, 0) for name in topics)
    topic = MirroredTopic(topics, *(AuditedTopic(name, TopicRole.OUTPUT, cleanup_policy="delete") for name in topics))
    circumstances = Circumstances(0, topic, not_asked("not asked"), None)
    return judge_pair(PartitionPair(topics, 0, *bounds), found, circumstances)[0].verdict.value


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
