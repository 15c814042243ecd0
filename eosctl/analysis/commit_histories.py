"""Histories of commits, from the records of the transaction log; and whether an ID is quieter than in its history.

1. A task of workers that are enabled commits one transaction for each batch that its connector returned
   (ExactlyOnceWorkerSourceTask.commitTransaction), and none where there is nothing to commit. So a source without
   changes and a connector that is blocked look alike: only the task's own history says which of the two is likely.
2. A coordinator writes CompleteCommit at the end of each transaction, and Empty where a producer claims the ID. The
   transaction log is compacted: of the segments that the cleaner has read, an ID keeps its last record, and of later
   ones every record. So an interval between two commits that are left is the interval there was.
3. Commits of an earlier reading are continued by a later one where both have a commit in common, or where the later one
   has every record after the end of the earlier one. Otherwise commits may have been compacted between the two, and the
   interval there is not known.
4. An ID is quiet where nothing was committed for FACTOR times the longest interval of its history, and a minute at
   least. Of n + 1 intervals that are distributed alike, the last is the longest with 1 / (n + 1). Where
   commits come at random at a constant rate (Poisson), it is FACTOR times longer than all others with
   1 / C(n + FACTOR, FACTOR): with ENOUGH intervals once in 5,456. Of the n intervals of a time as long as the history
   it is 0.6 % that one of them is found at all, and less with more intervals.
5. Sources have days and weeks. A history that reaches back a week has the same hour of the week before in it, so the
   pause of a night or of a weekend is one of its intervals; one of a day has the night's, one that is shorter none.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from eosctl.model.commit_history import DAY_MS, KEPT_DAYS, CommitDay, CommitHistory
from eosctl.model.transaction_log import LogRecord, TransactionLogRecord
from eosctl.model.transactions import TransactionState

FACTOR: Final = 3
ENOUGH: Final = 30
"""Fewer intervals are no history."""
SHORTEST_MS: Final = DAY_MS
WHOLE_MS: Final = 7 * DAY_MS
LEAST_MS: Final = 60_000
"""No ID is quiet for less: brokers and workers that are restarted take as long."""


class Quietness(NamedTuple):
    """How long nothing was committed (silent_ms), beside the longest interval of the history.

    ratio is the one divided by the other, None where the history is too short. quiet is whether that is more than the
    history allows; whole whether the history reaches back a week.
    """

    silent_ms: int
    ratio: float | None
    quiet: bool
    whole: bool


def quietness(history: CommitHistory, as_of: int) -> Quietness:
    """Of an ID with this history, at as_of (ms since the epoch)."""
    silent_ms = max(0, as_of - history.quiet_since_ms)
    if history.intervals < ENOUGH or history.span_ms < SHORTEST_MS:
        return Quietness(silent_ms, None, quiet=False, whole=False)
    ratio = silent_ms / max(1, history.longest_ms)
    quiet = silent_ms > max(LEAST_MS, FACTOR * history.longest_ms)
    return Quietness(silent_ms, ratio, quiet, history.span_ms >= WHOLE_MS)


class CommitHistories:
    """The histories of some transactional IDs, continued by the records of the transaction log that pass by.

    continues: the records are all those after the end of the earlier reading.
    """

    def __init__(
        self, transactional_ids: Iterable[str], earlier: Mapping[str, CommitHistory], *, continues: bool = False
    ) -> None:
        self._open = {name: _Continued(earlier.get(name), continues=continues) for name in transactional_ids}

    def following(self, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        """The same records; each that says that one of the IDs committed, or was claimed, is taken in."""
        for each in records:
            if isinstance(each, TransactionLogRecord) and each.value is not None:
                continued = self._open.get(each.transactional_id)
                if continued is not None:
                    continued.add(each.value.state, each.value.last_update_ms)
            yield each

    def result(self) -> dict[str, CommitHistory]:
        """The histories of those IDs that ever committed."""
        found = ((name, each.history) for name, each in self._open.items())
        return {name: history for name, history in found if history is not None}


class _Continued:
    """One history that records continue, given in the order of the log."""

    def __init__(self, earlier: CommitHistory | None, *, continues: bool) -> None:
        self._first = self._last = self._claimed = 0
        self._days: list[CommitDay] = []
        self._joins = continues or earlier is None
        if earlier is not None:
            self._first, self._last, self._claimed = earlier.first_ms, earlier.last_ms, earlier.claimed_ms or 0
            self._days = list(earlier.days)

    @property
    def history(self) -> CommitHistory | None:
        """What is known now; None before the first commit."""
        if not self._last:
            return None
        oldest = self._last - KEPT_DAYS * DAY_MS
        days = tuple(each for each in self._days if (each.day + 1) * DAY_MS > oldest)
        return CommitHistory(max(self._first, oldest), self._last, self._claimed or None, days)

    def add(self, state: TransactionState, at: int) -> None:
        """A record of the ID in this state."""
        if state is TransactionState.EMPTY:
            self._claimed = max(at, self._claimed)
        elif state is not TransactionState.COMPLETE_COMMIT:
            return
        elif at <= self._last:
            self._joins = True
        else:
            if not self._last:
                self._first = at
            elif self._joins and self._claimed <= self._last:
                self._count(at // DAY_MS, at - self._last)
            self._last, self._joins = at, True

    def _count(self, day: int, interval_ms: int) -> None:
        if self._days and self._days[-1].day == day:
            _, intervals, longest_ms = self._days.pop()
            self._days.append(CommitDay(day, intervals + 1, max(longest_ms, interval_ms)))
        else:
            self._days.append(CommitDay(day, 1, interval_ms))
