"""How far the comparison of one mirrored pair of partitions has come: what a later run needs to go on there.

It is the state at a pair of offsets before which nothing was decided by the end of either side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from eosctl.model.mirror import Alignment, Stretch, TopicPair


class Counts(NamedTuple):
    """What was read of one side: committed and aborted records, and bytes.

    Every batch that begins before the offset `until` is counted, and no other.
    """

    until: int = -1
    records: int = 0
    size_bytes: int = 0
    aborted: int = 0


NOTHING: Final = Counts()


class KeptRuns(NamedTuple):
    """Stretches of one kind, how many more there were, and where the next record has to lie to belong to the last."""

    stretches: tuple[Stretch, ...]
    more: int
    following: tuple[int, int] | None


class MissingRun(NamedTuple):
    """Source records at the places [start, end) that the target lacked, and may still hold; stretch says where."""

    start: int
    end: int
    stretch: Stretch


class EqualRun(NamedTuple):
    """Records that are equal on both sides, with no other one in between, from a pair of offsets to another one.

    context is the source offset of the record from which on the last ones are kept to look into.
    """

    source_start: int
    target_start: int
    source_last: int
    target_last: int
    records: int
    context: int


class EqualPiece(NamedTuple):
    """A piece of a pair of partitions, from the pair of offsets `begins` to `ends`, and how far it is equal.

    whole is whether nothing on either side follows the run before `ends`. Counted are batches that begin in the piece.
    """

    begins: tuple[int, int]
    ends: tuple[int, int]
    run: EqualRun
    whole: bool
    source: Counts
    target: Counts


@dataclass(frozen=True, slots=True)
class Kept:
    """Both cursors, and all that was found before them.

    A place counts the committed records of a side from the first one on. source_next and target_next are offsets, of
    the record that is expected and of the first one of the target that is not explained; the places are theirs. waiting
    counts records behind that one that were looked at. From the source offset `context` on context_records lie before
    the source's cursor: those in which repeated and late records are looked for. last is the last pair of equal
    records, aborted_taken are the source offsets of aborted records that the target was seen to hold.
    """

    source_next: int
    source_place: int
    context: int
    context_records: int
    target_next: int
    target_place: int
    waiting: int
    first: tuple[int, int] | None
    first_place: int
    last: tuple[int, int] | None
    matched: int
    runs: Mapping[str, KeptRuns]
    missing: tuple[MissingRun, ...] = ()
    aborted_taken: tuple[int, ...] = ()
    searches: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    """What a ledger carries of one pair of partitions; the IDs are those of its topics (KIP-516)."""

    topics: TopicPair
    partition: int
    source_id: str
    target_id: str
    kept: Kept
    source: Counts
    target: Counts


class Again(NamedTuple):
    """Why everything is compared again. hides: records may be gone since the last run that no run compared."""

    why: str
    hides: bool = False


class ComparedPair(NamedTuple):
    """What comparing one pair gave, and what a later run can go on from (None: it has to compare everything).

    again says why an earlier run's progress was not gone on from.
    """

    alignment: Alignment
    progress: MirrorProgress | None = None
    again: Again | None = None
