"""The timeline: events folded, with who did them, in order.

1. Events of one lane (a task's state, the transactions of an ID) that are alike and follow each other are one run. A
   pause of more than LONGEST_PAUSE_MS, and of more than PAUSES times the mean interval, ends it.
2. Where there are more than MOST_EVENTS all the same, events of one kind, connector, task and actor in one stretch of
   time become one. The stretch doubles until half as many are left, so memory grows with the actors, not with the
   topics.
3. Within a partition the order of offsets is the truth, between partitions the order of times. Where times of a
   partition go back, as few events as possible are taken for misdated (the longest rising subsequence is kept); they
   stand behind the event that their offset follows.
4. A producer writes between the time at which its coordinator initialized it and the end of its last transaction. A
   record outside of these times has the time of a clock that disagrees; it stands where they allow it.
5. Who did something is what records say: a worker's address, a producer ID and the transactional ID that the
   transaction log gives to it. Privileged records of the config topic are the leader's: its worker is named where the
   group had one leader from LEADER_MS before to LEADER_MS after.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.timeline import Event, EventKind, EventSource, Run

LONGEST_PAUSE_MS: Final = 600_000
PAUSES: Final = 10
MOST_EVENTS: Final = 50_000
FIRST_STRETCH_MS: Final = 1_000
LEADER_MS: Final = 2_000
CLOCKS_MS: Final = 2_000
"""Clocks that differ by less are taken to agree."""


class Events:
    """Collects the events of a period (ms since the epoch; None: open)."""

    def __init__(self, since: int | None = None, until: int | None = None, most: int = MOST_EVENTS) -> None:
        self._since, self._until, self._most = since, until, most
        self._open: dict[Hashable, tuple[Hashable, Event]] = {}
        self._kept: list[Event] = []
        self.coarse_ms = 0

    def add(self, event: Event, lane: Hashable = None, alike: Hashable = None) -> None:
        """Adds the next event of its lane; it joins the previous run if that is `alike`. None: it joins none."""
        before = self._open.pop(lane, None) if lane is not None else None
        if before is not None:
            if before[0] == alike and follows(before[1], event):
                self._open[lane] = (alike, joined(before[1], event))
                return
            self._keep(before[1])
        if lane is None or alike is None:
            self._keep(event)
        else:
            self._open[lane] = (alike, event)

    def collected(self) -> list[Event]:
        """All of them, in no order."""
        for _, event in self._open.values():
            self._keep(event)
        self._open.clear()
        return self._kept

    def _keep(self, event: Event) -> None:
        if event.at >= 0 and not self._is_in_period(event):
            return
        self._kept.append(event)
        if len(self._kept) > self._most:
            self._merge()

    def _merge(self) -> None:
        """Until half as many are left; of more actors than that one event each is kept, and as many again."""
        last = max(each.at for each in self._kept)
        while len(self._kept) > self._most // 2:
            self.coarse_ms = max(FIRST_STRETCH_MS, self.coarse_ms * 2)
            self._kept = _coarse(self._kept, self.coarse_ms)
            if self.coarse_ms > last:
                self._most = max(self._most, 2 * len(self._kept))

    def _is_in_period(self, event: Event) -> bool:
        too_early = self._since is not None and event.until < self._since
        return not too_early and (self._until is None or event.at <= self._until)


def follows(before: Event, event: Event) -> bool:
    """Whether the event may join the run (rule 1)."""
    count = 1 if before.run is None else before.run.events
    mean = (before.until - before.at) / (count - 1) if count > 1 else 0
    return before.at <= event.at <= before.until + max(LONGEST_PAUSE_MS, PAUSES * mean)


def joined(before: Event, event: Event) -> Event:
    """One event of both: it begins with the first, and says what the last says."""
    run = before.run or Run(1, before.at, before.offset, 0)
    more = event.run or Run(1, event.at, event.offset, 0)
    longest = max(run.longest_ms, more.longest_ms, event.at - run.until)
    return before._replace(
        what=event.what, run=Run(run.events + more.events, max(run.until, more.until), more.last_offset, longest)
    )


def _coarse(events: Iterable[Event], stretch_ms: int) -> list[Event]:
    found: dict[Hashable, Event] = {}
    for event in sorted(events, key=lambda each: each.at):
        who = event.actor.transactional_id or event.actor.worker
        key = (event.at // stretch_ms, event.source, event.kind, event.connector, event.task, who)
        found[key] = joined(found[key], event) if key in found else event
    return list(found.values())


# Who did it, and the order.


class Leadership(Struct, frozen=True):
    """The worker that led the group from each time on (ms since the epoch, rising); None: none, or unknown."""

    times: tuple[int, ...] = ()
    workers: tuple[str | None, ...] = ()

    def at(self, time_ms: int) -> str | None:
        """The worker that led it around that time, if there was only one."""
        early, late = (bisect_right(self.times, time_ms + by) for by in (-LEADER_MS, LEADER_MS))
        found = set(self.workers[max(0, early - 1) : late]) if early else set()
        return found.pop() if len(found) == 1 else None


def with_actors(events: Iterable[Event], holders: Mapping[int, str], leaders: Leadership) -> Iterator[Event]:
    """The same events with the transactional IDs of their producers, and the worker that led."""
    for event in events:
        actor = event.actor
        if actor.producer is not None and actor.transactional_id is None:
            actor = actor._replace(transactional_id=holders.get(actor.producer.producer_id))
        if event.source is EventSource.CONFIG and event.kind in _LEADERS:
            actor = actor._replace(worker=leaders.at(event.at))
        yield event if actor is event.actor else event._replace(actor=actor)


_LEADERS: Final = frozenset(
    {
        EventKind.CONNECTOR_CREATED,
        EventKind.CONFIG_CHANGED,
        EventKind.CONNECTOR_DELETED,
        EventKind.TASKS_COMMITTED,
        EventKind.TASK_COUNT_RECORD,
        EventKind.RESTART_REQUESTED,
    }
)
"""Of the config topic's events the ones that only a leader writes."""


Bounds = Mapping[ProducerIdAndEpoch, tuple[int, int]]
"""When each producer may have written, by the clocks of coordinators, in ms since the epoch (rule 4)."""
_WITHIN: Final = frozenset({EventSource.CONFIG, EventSource.OFFSETS})


def within_bounds(events: Iterable[Event], bounds: Bounds) -> Iterator[Event]:
    """The same events; an event whose clock disagrees with the coordinator's is placed at the nearest possible time."""
    for event in events:
        allowed = None if event.actor.producer is None else bounds.get(event.actor.producer)
        if event.source in _WITHIN and allowed is not None and event.at >= 0:
            first, last = allowed
            if not first - CLOCKS_MS <= event.at <= last + CLOCKS_MS:
                yield event._replace(order=min(max(event.at, first), last))
                continue
        yield event


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events by time, those of one partition by offset (rule 3)."""
    partitions: dict[TopicPartition | None, list[Event]] = {}
    for event in events:
        partitions.setdefault(event.place, []).append(event)
    found: list[Event] = []
    for place, some in partitions.items():
        found += some if place is None else _dated(sorted(some, key=lambda each: each.offset or 0))
    rank = {each: number for number, each in enumerate(EventSource)}
    found.sort(key=lambda each: (each.stands_at, rank[each.source], each.place or _NO_PLACE))
    return tuple(found)


_NO_PLACE: Final = TopicPartition("", -1)


def _dated(events: list[Event]) -> Iterator[Event]:
    """Events of one partition by offset; the misdated ones get the time of the event before them."""
    sound = _rising([each.stands_at for each in events])
    last = next((each.stands_at for each, is_sound in zip(events, sound, strict=True) if is_sound), -1)
    for event, is_sound in zip(events, sound, strict=True):
        if is_sound:
            last = event.stands_at
            yield event
        else:
            yield event._replace(order=last)


def _rising(times: list[int]) -> list[bool]:
    """True for each time in the longest subsequence that never falls; a time below 0 is in none."""
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for number, time in enumerate(times):
        if time < 0:
            before.append(-1)
            continue
        at = bisect_right(tails, time)
        before.append(tail_at[at - 1] if at else -1)
        if at == len(tails):
            tails.append(time)
            tail_at.append(number)
        else:
            tails[at], tail_at[at] = time, number
    found = [False] * len(times)
    number = tail_at[-1] if tail_at else -1
    while number >= 0:
        found[number] = True
        number = before[number]
    return found
