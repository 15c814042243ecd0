"""Many requests in flight at once: a bounded number per broker, answers as they arrive, failures as values."""

import heapq
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from eosctl.clients.messages import Request, Response
from eosctl.errors import EosctlError, TimedOut

if TYPE_CHECKING:
    from eosctl.clients.channel import Channel

Item = TypeVar("Item", bound=Hashable)

LONGEST_WAIT_S = 1.0


class Answer(NamedTuple, Generic[Item]):
    """What became of one item: the broker asked, and either its response or the reason there is none."""

    item: Item
    node_id: int
    response: Response | None
    error: EosctlError | None


class _Queued(NamedTuple, Generic[Item]):
    item: Item
    node_id: int
    request: Request


class Channels(Protocol):
    """Who opens connections for a Window, and lets time pass on them: a Wire."""

    def channel(self, node_id: int, deadline: float, lane: int = 0) -> "Channel | None":
        """The channel to broker `node_id`, opened if need be; None while it is connecting or backing off."""

    def poll(self, timeout_s: float) -> None:
        """Sends and receives what is there, waiting `timeout_s` at most."""


class Window(Generic[Item]):
    """Sends what is put in, `in_flight` requests at a time on each connection, and yields an Answer for each.

        window = wire.window(in_flight=200)
        for transactional_id in wanted:
            window.put(transactional_id, coordinator[transactional_id], init_producer_id(transactional_id, 60_000))
        for answer in window:
            if answer.response is not None and answer.response.error_code in RETRIABLE:
                window.put(answer.item, answer.node_id, request, delay_s=0.02)

    1. Iterating ends when nothing is queued, delayed or in flight; an item may be put again, to any broker, while
       iterating.
    2. A broker that cannot be reached, a lost connection and a version that the broker does not speak are errors of
       the items concerned; nothing is raised, and nothing is sent again by itself.
    3. When `timeout_s` has passed since the start or the last `extend`, every item left is answered with TimedOut.
       Whether the broker acted on a request in flight is then not known.
    """

    def __init__(self, wire: Channels, in_flight: int, lanes: int, timeout_s: float) -> None:
        self._wire = wire
        self._limit = in_flight
        self._lanes = range(lanes)
        self._timeout_s = timeout_s
        self._deadline = monotonic() + timeout_s
        self._ready: defaultdict[int, deque[_Queued[Item]]] = defaultdict(deque)
        self._delayed: list[tuple[float, int, _Queued[Item]]] = []
        self._flying: dict[int, _Queued[Item]] = {}
        self._flying_on: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._answers: deque[Answer[Item]] = deque()
        self._tickets = count()
        self._channels: dict[int, Channel] = {}
        self._stopped = False
        self.dropped: list[Item] = []
        """Items not sent because of `stop`."""

    def put(self, item: Item, node_id: int, request: Request, *, delay_s: float = 0.0) -> None:
        """Queue `request` for broker `node_id`, to be sent after `delay_s` at the earliest; dropped after `stop`."""
        if self._stopped:
            self.dropped.append(item)
            return
        queued = _Queued(item, node_id, request)
        if delay_s > 0:
            heapq.heappush(self._delayed, (monotonic() + delay_s, next(self._tickets), queued))
        else:
            self._ready[node_id].append(queued)

    def unanswered(self) -> list[Item]:
        """Items queued, delayed or in flight just now."""
        return self._unsent() + [queued.item for queued in self._flying.values()]

    def _unsent(self) -> list[Item]:
        waiting = [queued.item for queue in self._ready.values() for queued in queue]
        return waiting + [entry[2].item for entry in self._delayed]

    def extend(self) -> None:
        """Something got done: what is left has the whole `timeout_s` again. Does nothing after `stop`."""
        if not self._stopped:
            self._deadline = monotonic() + self._timeout_s

    @property
    def over(self) -> bool:
        """Whether the time is up: what is put now is answered with TimedOut."""
        return monotonic() >= self._deadline

    def stop(self, within_s: float) -> None:
        """Send nothing more: items queued, delayed or put later are dropped; those in flight get `within_s` more."""
        self._stopped = True
        self.dropped += self._unsent()
        self._ready.clear()
        self._delayed.clear()
        self._timeout_s = within_s
        self._deadline = min(self._deadline, monotonic() + within_s)

    def __iter__(self) -> Iterator[Answer[Item]]:
        while True:
            while self._answers:
                yield self._answers.popleft()
            if not (self._flying or self._delayed or any(self._ready.values())):
                return
            now = monotonic()
            if now >= self._deadline:
                self._give_up()
                continue
            self._promote(now)
            for node_id in [node_id for node_id, queue in self._ready.items() if queue]:
                self._send(node_id)
            if not self._answers:
                self._wire.poll(self._patience(now))

    def _patience(self, now: float) -> float:
        due = self._delayed[0][0] if self._delayed else now + LONGEST_WAIT_S
        return max(0.0, min(due, self._deadline, now + LONGEST_WAIT_S) - now)

    def _promote(self, now: float) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            queued = heapq.heappop(self._delayed)[2]
            self._ready[queued.node_id].append(queued)

    def _send(self, node_id: int) -> None:
        queue = self._ready[node_id]
        for lane in self._lanes:
            try:
                channel = self._wire.channel(node_id, self._deadline, lane)
            except EosctlError as error:
                self._answers.extend(Answer(queued.item, node_id, None, error) for queued in queue)
                queue.clear()
                return
            if channel is not None:
                self._channels[node_id] = channel
            # What is muted for too long is sent all the same: the channel answers at once that there is no time.
            ready = channel is not None and (channel.open or channel.is_muted_until(self._deadline))
            while queue and channel is not None and ready and self._flying_on[node_id, lane] < self._limit:
                self._launch(queue.popleft(), channel, lane)
                ready = channel.open or channel.is_muted_until(self._deadline)

    def _launch(self, queued: _Queued[Item], channel: "Channel", lane: int) -> None:
        ticket = next(self._tickets)
        place = (queued.node_id, lane)

        def landed(response: Response | None, error: EosctlError | None) -> None:
            if self._flying.pop(ticket, None) is not None:
                self._flying_on[place] -= 1
                self._answers.append(Answer(queued.item, queued.node_id, response, error))

        self._flying[ticket] = queued
        self._flying_on[place] += 1
        channel.send(queued.request, self._deadline, landed)

    def _give_up(self) -> None:
        left = [queued for queue in self._ready.values() for queued in queue]
        left += [entry[2] for entry in self._delayed] + list(self._flying.values())
        self._ready.clear()
        self._delayed.clear()
        self._flying.clear()
        self._flying_on.clear()
        for queued in left:
            self._answers.append(Answer(queued.item, queued.node_id, None, self._lateness(queued)))

    def _lateness(self, queued: _Queued[Item]) -> EosctlError:
        channel = self._channels.get(queued.node_id)
        if channel is not None and channel.muted_s:
            return channel.timed_out()
        return TimedOut(f"broker {queued.node_id} did not answer {queued.request.name} within {self._timeout_s:g} s")
