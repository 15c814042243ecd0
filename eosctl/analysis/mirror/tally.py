"""What was found of a pair of partitions up to both cursors: counts, and the places of differences."""

from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.mirror.blocks import NO_RUNS, Buffer, Runs, equal_run
from eosctl.model.mirror import Alignment, Stretch, Translated
from eosctl.model.mirror_progress import Kept, MissingRun

MOST_STRETCHES: Final = 10_000
KINDS: Final = ("head", "lead", "gaps", "late", "repeats", "aborted", "unknown")


class Tally:
    """The first and the last pair of equal records, how many there are, and stretches by kind.

    missing are the places of source records that were passed, with the target offset at which they were not; each may
    still come late. settled is the source offset from which on it is not decided what was committed.
    """

    def __init__(self, kept: Kept | None, settled: int) -> None:
        self._settled = settled
        self.first = None if kept is None else kept.first
        self.last = None if kept is None else kept.last
        self.matched = 0 if kept is None else kept.matched
        self._first_place = 0 if kept is None else kept.first_place
        runs = {} if kept is None else kept.runs
        self.runs = {kind: Runs(MOST_STRETCHES, runs.get(kind, NO_RUNS)) for kind in KINDS}
        self.missing: dict[int, int] = {}

    def go_on_missing(self, runs: Iterable[MissingRun], base: int) -> None:
        """What an earlier run lacked may come late, unless the source has deleted it since: it begins at this place."""
        for each in runs:
            if each.start >= base:
                self.missing.update(dict.fromkeys(range(each.start, each.end), each.stretch.target_start))
            else:
                there = each.stretch.target_start
                self._runs_before(each.start).add((each.start, there), (each.end, there), each.stretch)

    def _runs_before(self, place: int) -> Runs:
        return self.runs["head" if self.first is None or place < self._first_place else "gaps"]

    def match(self, first: tuple[int, int], last: tuple[int, int], place: int, count: int) -> None:
        """So many records are equal, from the pair of offsets `first` to the pair `last`; place is the first one's."""
        if self.first is None:
            self.first, self._first_place = first, place
        self.last, self.matched = last, self.matched + count

    def note(self, kind: str, at: tuple[int, int], offset: int, there: int, time: int) -> None:
        """One record at these places, a source offset and a target offset is late or repeated."""
        self.runs[kind].add(at, (at[0] + 1, at[1] + 1), Stretch(offset, offset + 1, there, there + 1, 1, time))

    def pass_again(self, source: Buffer, target: Buffer, place: int) -> None:
        """Records from this place on are in the target again, or late, up to the cursor or the first difference."""
        for each in range(place, place + equal_run(source, target, place, target.at, source.at - place)):
            kind = "repeats" if self.missing.pop(each, None) is None else "late"
            self.matched += kind == "late"
            self.note(kind, (each, target.at), source.offset(each), target.offset(target.at), source.time(each))
            target.at += 1

    def note_unknown(self, target: Buffer, begin: int, until: int, expected: int) -> None:
        """The target's records from one place to another equal none of the source; expected is a source offset."""
        kind = "lead" if self.first is None else "unknown"
        for place in range(begin, until):
            there = target.offset(place)
            found = Stretch(expected, expected, there, there + 1, 1, target.time(place))
            self.runs[kind].add((expected, place), (expected, place + 1), found)

    def rest(self, source: Buffer, end: int, position: int | None) -> Iterator[Stretch]:
        """What is loaded of the source from its cursor on is not in the target, which ends at the offset `end`.

        Up to the mirror's position these are gaps; gives the others.
        """
        for place in range(source.at, source.end):
            offset = source.offset(place)
            found = Stretch(offset, offset + 1, end, end, 1, source.time(place))
            if position is not None and offset <= position and self.first is not None:
                self.runs["gaps"].add((place, end), (place + 1, end), found)
            else:
                yield found

    def leap(self, begin: int, end: int, there: int, places: tuple[int, int], time: int) -> None:
        """The target lacks the source offsets [begin, end), whose records have the places [first, last)."""
        kind = "head" if self.first is None else "gaps"
        found = Stretch(begin, end, there, there, places[1] - places[0], time)
        self.runs[kind].add((places[0], there), (places[1], there), found)

    def flush_missing(self, source: Buffer, before: int) -> None:
        """What is missing before this place will not be looked for in the window any more."""
        for place in sorted(each for each in self.missing if each < before):
            there = self.missing.pop(place)
            offset = source.offset(place)
            found = Stretch(offset, offset + 1, there, there, 1, source.time(place))
            self._runs_before(place).add((place, there), (place + 1, there), found)

    def kept(
        self, source: Buffer, target: Buffer, begin: int, aborted: set[int], searches: tuple[int, int, int]
    ) -> Kept:
        """All of it, with both cursors; from the target's place `begin` on records are not explained."""
        return Kept(
            source_next=min(source.offset(source.at), self._settled),
            source_place=source.at,
            context=source.begin,
            context_records=source.at - source.base,
            target_next=target.offset(begin),
            target_place=begin,
            waiting=target.at - begin,
            first=self.first,
            first_place=self._first_place,
            last=self.last,
            matched=self.matched,
            runs={kind: runs.kept() for kind, runs in self.runs.items()},
            missing=tuple(self._missing_runs(source)),
            aborted_taken=tuple(sorted(each for each in aborted if each >= source.begin)),
            searches=searches,
        )

    def _missing_runs(self, source: Buffer) -> Iterator[MissingRun]:
        runs = Runs(len(self.missing))
        for place, there in sorted(self.missing.items()):
            offset = source.offset(place)
            runs.add(
                (place, there), (place + 1, there), Stretch(offset, offset + 1, there, there, 1, source.time(place))
            )
        for each in runs.stretches:
            start = source.place_of(each.source_start)
            yield MissingRun(start, start + each.records, each)

    def alignment(self, lag: Stretch | None, translated: tuple[Translated, ...]) -> Alignment:
        """The answer; the figures of what was read are the reader's."""
        runs = self.runs
        return Alignment(
            matched=self.matched,
            first=self.first,
            last=self.last,
            head=runs["head"].joined,
            lead=runs["lead"].joined,
            lag=lag,
            gaps=tuple(sorted(runs["gaps"].stretches)),
            late=tuple(runs["late"].stretches),
            repeats=tuple(runs["repeats"].stretches),
            aborted=tuple(runs["aborted"].stretches),
            unknown=tuple(runs["unknown"].stretches),
            translated=translated,
            more=sum(each.more for each in runs.values()),
        )
