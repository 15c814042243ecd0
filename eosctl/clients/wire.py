"""Requests to Kafka brokers in Kafka's own protocol, over kafka-python's connections, SASL and TLS."""

import heapq
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from signal import SIGINT, getsignal, signal
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients.channel import GRACE_S, ApiVersions, Callbacks, Channel, Pending
from eosctl.clients.errors import Peer, connection_error
from eosctl.clients.messages import Request, Response, brokers_metadata
from eosctl.clients.request_log import RequestLog
from eosctl.errors import EosctlError, OtherCluster, TimedOut, Undecodable, Unreachable
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from kafka.net.manager import KafkaConnectionManager


Item = TypeVar("Item", bound=Hashable)

LONGEST_WAIT_S = 1.0


class Reply(NamedTuple, Generic[Item]):
    item: Item
    node_id: int
    response: Response | None
    error: EosctlError | None


class _Queued(NamedTuple, Generic[Item]):
    item: Item
    node_id: int
    request: Request


def _at_once() -> bool:
    return True


class Channels(Protocol):
    """Who opens connections for a Window, and lets time pass on them: a Wire."""

    def channel(self, node_id: int, deadline: float, lane: int = 0) -> "Channel | None":
        """The channel to broker `node_id`, opened if need be; None while it is connecting or backing off."""

    def poll(self, timeout_s: float, done: Callable[[], bool] = _at_once) -> None:
        """Sends and receives pending bytes, at least once, until `done`; waits `timeout_s` at most."""


class Window(Generic[Item]):
    """Sends queued items, `in_flight` requests at a time on each connection, and yields an Answer for each.

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
        self._answers: deque[Reply[Item]] = deque()
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
        return self._unsent() + [queued.item for queued in self._flying.values()]

    def _unsent(self) -> list[Item]:
        waiting = [queued.item for queue in self._ready.values() for queued in queue]
        return waiting + [entry[2].item for entry in self._delayed]

    def extend(self) -> None:
        """After progress: the remaining items have the whole `timeout_s` again. Does nothing after `stop`."""
        if not self._stopped:
            self._deadline = monotonic() + self._timeout_s

    @property
    def over(self) -> bool:
        """True if the time is up: items put now are answered with TimedOut."""
        return monotonic() >= self._deadline

    def stop(self, within_s: float) -> None:
        """Send nothing more: items queued, delayed or put later are dropped; those in flight get `within_s` more."""
        self._stopped = True
        self.dropped += self._unsent()
        self._ready.clear()
        self._delayed.clear()
        self._timeout_s = within_s
        self._deadline = min(self._deadline, monotonic() + within_s)

    def __iter__(self) -> Iterator[Reply[Item]]:
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
            if not self._answers:  # what is still queued waits for a connection, or for room on it: one turn shows that
                is_all_sent = not any(self._ready.values())
                self._wire.poll(self._patience(now), self._has_answer if is_all_sent else _at_once)

    def _has_answer(self) -> bool:
        return bool(self._answers)

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
                self._answers.extend(Reply(queued.item, node_id, None, error) for queued in queue)
                queue.clear()
                return
            if channel is not None:
                self._channels[node_id] = channel
            # A request muted for too long is sent all the same: the channel answers at once that there is no time.
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
                self._answers.append(Reply(queued.item, queued.node_id, response, error))

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
            self._answers.append(Reply(queued.item, queued.node_id, None, self._lateness(queued)))

    def _lateness(self, queued: _Queued[Item]) -> EosctlError:
        channel = self._channels.get(queued.node_id)
        if channel is not None and channel.muted_s:
            return channel.timed_out()
        return TimedOut(f"broker {queued.node_id} did not answer {queued.request.name} within {self._timeout_s:g} s")


NodeId = int | str

CONNECT_TIMEOUT_S: Final = 10.0
SHARE_S: Final = 30.0
"""The longest wait for one broker of several that can answer the same request."""
ANSWER_S: Final = 3.0
"""The time in which one broker must name its cluster."""
UNWATCHED_S: Final = 1.0
"""A connection left alone for longer may have ended unnoticed: a broker closes idle ones (connections.max.idle.ms)."""


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int


class HeardTopic(Struct, frozen=True):
    """A topic in a Metadata answer, and the time of that (time.monotonic)."""

    at: float
    topic: Response


class Wire:
    """The brokers of one cluster. Connects at the first request; nothing runs in the background.

    timeout_s bounds every call without a time of its own; no call outlives its time. Raises Refused if credentials
    would be shown to brokers that the user did not name.

    Each connection requests the cluster's ID before anything else: the first answer decides, or the properties do. If
    another ID comes, an address leads to another cluster than before, and every call raises OtherCluster.
    """

    def __init__(
        self, properties: ClientProperties, *, timeout_s: float = 30.0, requests: RequestLog | None = None
    ) -> None:
        properties.require_named()
        self.properties = properties
        self.timeout_s = timeout_s
        self.requests = requests or RequestLog()
        self._lanes: list[KafkaConnectionManager] = []
        self._net: Any = None
        self._channels: dict[tuple[NodeId, int], Channel] = {}
        self._identities: dict[tuple[NodeId, int], Pending | None] = {}
        self.left: OtherCluster | None = None
        """Why no further request is sent."""
        self._callbacks = Callbacks()
        self._metadata: Response | None = None
        self.heard: dict[str, HeardTopic] = {}
        """Each topic in the last Metadata about it, if that named a leader for all its partitions."""
        self._adopted: int | None = None
        """The broker whose connection was that to a bootstrap server, before its first request: the peer may have
        ended it after the metadata, which a new connection shows."""
        self.has_groups = False
        """Whether a broker has listed a group, which is in `__consumer_offsets`."""
        self._polled_at = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._net is not None:
            with self._uninterrupted():
                for manager in self._lanes:
                    manager.close()
                self._net.close()
        self._net = None
        self._lanes.clear()
        self._channels.clear()
        self._identities.clear()

    @property
    def principal(self) -> str:
        """The principal that requests are made as, as far as the client side knows it."""
        return self.properties.principal

    @property
    def cluster_id(self) -> str:
        self._connected()
        return self.known_cluster_id or ""

    @property
    def known_cluster_id(self) -> str | None:
        """The same without a request; None before the first connection. From here on `properties` name it, too."""
        return self.properties.cluster_id

    def ask_cluster_id(self) -> str:
        """The cluster's ID as a broker answers now; raises OtherCluster if it differs from the earlier one.

        Connections that ended unnoticed are made again.
        """
        try:
            self.refresh()
        except TimedOut:
            raise
        except Unreachable:
            self.refresh()
        return self.cluster_id

    def brokers(self) -> tuple[Broker, ...]:
        known = self._connected().cluster.brokers()
        return tuple(sorted(Broker(broker.node_id, broker.host, broker.port) for broker in known))

    def refresh(self) -> None:
        metadata = self.request_any(brokers_metadata())
        self._require_same(metadata, ",".join(self.properties.bootstrap_servers))
        self._learn(metadata)

    def require_one_cluster(self) -> None:
        """Raises OtherCluster where a broker that the metadata names is of another cluster; it is asked now.

        For clients that connect by themselves to any of these brokers. One that does not answer is passed over.
        """
        window = self.window(timeout_s=min(self.timeout_s, ANSWER_S))
        for broker in self.brokers():
            window.put(broker, broker.node_id, brokers_metadata())
        for answer in window:
            if answer.response is not None:
                self._require_same(answer.response, f"{answer.item.host}:{answer.item.port}")
        if self.left is not None:
            raise self.left

    def api_versions(self, node_id: int) -> Mapping[int, ApiVersions]:
        return self._open_channel(node_id, monotonic() + self.timeout_s).versions()

    def version(self, node_id: int, request: Request) -> int:
        """The version in which `request` would be sent to broker `node_id`; raises Unsupported if there is none."""
        return self._open_channel(node_id, monotonic() + self.timeout_s).version(request)

    def request(self, node_id: int, request: Request, *, timeout_s: float | None = None) -> Response:
        """The response of broker `node_id`. Raises Unreachable, TimedOut, NotAuthorized (SASL) or Unsupported.

        Error codes inside the response are the caller's to read.
        """
        deadline = monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        return self._exchange(self._open_channel(node_id, deadline), request, deadline)

    def start(self, node_id: int, request: Request, *, timeout_s: float | None = None) -> Pending:
        """`request` sent to broker `node_id`, whose response is taken later; raises what `request` raises."""
        deadline = monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        return Pending(self._open_channel(node_id, deadline), request, deadline, self.poll)

    def request_any(self, request: Request, *, timeout_s: float | None = None) -> Response:
        """The response of any reachable broker, open connections first; each gets its share of the time.

        So a frozen broker does not use up the others' time, however long that is. After a damaged answer the next
        broker is queried. A single broker is connected to again if its bootstrap connection ended before this request.
        """
        deadline = monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        nodes = [broker.node_id for broker in self.brokers()]
        nodes.sort(key=lambda node_id: (node_id, 0) not in self._channels or not self._channels[node_id, 0].open)
        failure: EosctlError = Unreachable("the cluster's metadata names no broker")
        adopted, self._adopted = self._adopted, None
        for tried, node_id in enumerate(nodes):
            share = _share(deadline, len(nodes) - tried)
            try:
                return self._exchange(self._open_channel(node_id, share), request, share)
            except (Unreachable, Undecodable) as error:
                failure = error
        if nodes == [adopted] and not isinstance(failure, TimedOut | Undecodable):
            return self.request_any(request, timeout_s=deadline - monotonic())
        raise failure

    def ahead(self, request: Request) -> Callable[[], Response]:
        """The function that gives what `request_any` would; the request is on its way meanwhile.

        Only on an open connection; an answer that fails is requested again as `request_any` does, in the time left.
        """
        deadline = monotonic() + self.timeout_s
        nodes = [broker.node_id for broker in self.brokers()]
        known = (self._channels.get((node_id, 0)) for node_id in nodes if self._is_known(node_id))
        open_one = next((each for each in known if each is not None and each.open), None)
        if open_one is None or monotonic() - self._polled_at > UNWATCHED_S:
            return lambda: self.request_any(request)
        is_first = self._adopted is not None
        pending = Pending(open_one, request, _share(deadline, len(nodes)), self.poll)

        def response() -> Response:
            try:
                return pending.response()
            except (Unreachable, Undecodable) as error:
                if len(nodes) == 1 and (not is_first or isinstance(error, TimedOut | Undecodable)):
                    raise
                return self.request_any(request, timeout_s=deadline - monotonic())

        return response

    def window(self, *, in_flight: int = 100, lanes: int = 1, timeout_s: float | None = None) -> Window[Any]:
        """A Window over this wire: many requests at once, all within `timeout_s`.

        Each broker gets `lanes` connections with `in_flight` requests on each. A broker works on one request of a
        connection at a time, so requests that wait for replication (InitProducerId) gain from several lanes.
        """
        self._connected()
        return Window(self, in_flight, lanes, self.timeout_s if timeout_s is None else timeout_s)

    def channel(self, node_id: NodeId, deadline: float, lane: int = 0) -> Channel | None:
        """The channel to broker `node_id`, opened if need be; None while it is connecting or backing off.

        Raises once for every connection attempt that failed: Unreachable, TimedOut, NotAuthorized, ConfigError.
        """
        if self.left is not None:
            raise self.left
        if self._net is not None and monotonic() - self._polled_at > UNWATCHED_S:
            self.poll(0)
        channel = self._channels.get((node_id, lane))
        if channel is not None and channel.connection.closed:
            del self._channels[node_id, lane]
            attempt = channel.connection.init_future
            if attempt.failed():
                raise connection_error(attempt.exception, channel.peer)
            channel = None
        if channel is None:
            channel = self._dial(node_id, deadline, lane)
        if channel is None or not channel.connection.connected:
            return None
        return channel if self._is_identified((node_id, lane), channel, deadline) else None

    def _is_known(self, node_id: int) -> bool:
        """True if the broker has named this cluster on its connection."""
        return (node_id, 0) in self._identities and self._identities[node_id, 0] is None

    def _is_identified(self, place: tuple[NodeId, int], channel: Channel, deadline: float) -> bool:
        """True if the broker named this cluster on this connection; the first call requests it.

        A bootstrap server states it in its metadata.
        """
        if isinstance(place[0], str):
            return True
        if place not in self._identities:
            self._identities[place] = Pending(channel, brokers_metadata(), deadline, self.poll)
        asked = self._identities[place]
        if asked is None or not asked.landed:
            return asked is None
        del self._identities[place]
        self._require_same(asked.response(), channel.peer.address)
        self._identities[place] = None
        return True

    def _require_same(self, metadata: Response, address: str) -> None:
        found = str(metadata.cluster_id)
        try:
            self.properties.require_cluster(found, address)
        except OtherCluster as error:
            self.left = error
            raise
        self.properties = replace(self.properties, cluster_id=found)

    def poll(self, timeout_s: float, done: Callable[[], bool] = _at_once) -> None:
        end = monotonic() + timeout_s
        with self._uninterrupted() as interrupts:
            self._net.poll(timeout_ms=1000 * timeout_s)
            while not (done() or interrupts or self._callbacks.failed) and (left := end - monotonic()) > 0:
                self._net.poll(timeout_ms=1000 * left)
        self._polled_at = monotonic()
        self._callbacks.require_none_failed()
        self.requests.look()

    def _dial(self, node_id: NodeId, deadline: float, lane: int) -> Channel | None:
        manager = self._manager(lane)
        delay = manager.connection_delay(node_id)
        if delay > 0:
            self._net.call_later(delay, _nothing)
            return None
        node = manager.cluster.broker_metadata(node_id)
        if node is None:
            raise Unreachable(f"broker {node_id} is not among the live brokers of the cluster")
        patience_ms = 1000 * max(0.001, min(CONNECT_TIMEOUT_S, deadline - monotonic()))
        connection = manager.get_connection(node_id, timeout_ms=patience_ms, refresh_metadata_on_err=False)
        channel = Channel(connection, self._peer(f"{node.host}:{node.port}"), self.requests, self._callbacks)
        number = self.requests.connecting(channel.peer.address)
        connection.init_future.add_callback(self._callbacks.held(lambda _: self.requests.done(number, "open")))
        connection.init_future.add_errback(self._callbacks.held(lambda _: self.requests.done(number, "not open")))
        self._channels[node_id, lane] = channel
        self._identities.pop((node_id, lane), None)
        return channel

    def _peer(self, address: str) -> Peer:
        sasl = self.properties.sasl
        return Peer(address, self.principal, None if sasl is None else sasl.mechanism)

    def _open_channel(self, node_id: NodeId, deadline: float) -> Channel:
        self._connected()
        # The connection's own timer fires at the deadline and knows best what was missing.
        while (remaining := deadline - monotonic()) > -GRACE_S:
            channel = self.channel(node_id, deadline)
            if channel is not None and channel.open:
                return channel
            if channel is not None and channel.is_muted_until(deadline):
                raise channel.timed_out()
            self.poll(min(1.0, remaining + GRACE_S))
        waiting = self._channels.get((node_id, 0))
        raise TimedOut(f"broker {node_id} accepted no connection in time") if waiting is None else waiting.timed_out()

    def _exchange(self, channel: Channel, request: Request, deadline: float) -> Response:
        return Pending(channel, request, deadline, self.poll).response()

    def _connected(self) -> "KafkaConnectionManager":
        if self.left is not None:
            raise self.left
        if not self._lanes:
            from kafka.net.selector import NetworkSelector

            self._net = NetworkSelector(slow_task_threshold_secs=0)
            try:
                self._lanes.append(self._new_manager())
                self._bootstrap(monotonic() + self.timeout_s)
            except BaseException:
                self.close()
                raise
        return self._lanes[0]

    def _manager(self, lane: int) -> "KafkaConnectionManager":
        """kafka-python keeps one connection per broker and manager, so a lane is a manager of its own."""
        first = self._connected()
        while len(self._lanes) <= lane:
            manager = self._new_manager()
            manager.broker_version_data = first.broker_version_data
            manager.cluster.update_metadata(self._metadata)
            self._lanes.append(manager)
        return self._lanes[lane]

    def _learn(self, metadata: Response) -> None:
        if not metadata.brokers:
            raise Unreachable("the cluster's metadata names no broker", hint="a broker that starts answers so at first")
        self._metadata = metadata
        for manager in self._lanes:
            manager.cluster.update_metadata(metadata)

    def _new_manager(self) -> "KafkaConnectionManager":
        from eosctl.clients.kafka_python import connection_manager

        return connection_manager(self._net, self.properties)

    def _bootstrap(self, deadline: float) -> None:
        """Learn the brokers from the first bootstrap server that answers; each gets its share of the time, once."""
        seeds = self._lanes[0].cluster.bootstrap_brokers()
        failures: list[Unreachable | Undecodable] = []
        for tried, seed in enumerate(seeds):
            share = _share(deadline, len(seeds) - tried)
            try:
                channel = self._open_channel(seed.node_id, share)
                response = self._exchange(channel, brokers_metadata(), share)
                self._require_same(response, channel.peer.address)
                self._learn(response)
            except (Unreachable, Undecodable) as error:
                failures.append(error)
                continue
            self._adopt(seed.node_id, channel)
            return
        if len(failures) == 1:
            raise failures[0]
        kinds = (Undecodable, TimedOut, Unreachable)
        kind = next(kind for kind in kinds if any(isinstance(failure, kind) for failure in failures))
        raise kind("no bootstrap server answers: " + "; ".join(failure.message for failure in failures))

    def _adopt(self, seed: str, channel: Channel) -> None:
        """Goes on with the connection to a bootstrap server if a broker advertises the same address; ends it if not."""
        del self._channels[seed, 0]
        same = (each.node_id for each in self.brokers() if f"{each.host}:{each.port}" == channel.peer.address)
        node_id = next(same, None)
        if node_id is None:
            channel.connection.close()
        else:
            self._channels[node_id, 0], self._identities[node_id, 0], self._adopted = channel, None, node_id

    @contextmanager
    def _uninterrupted(self) -> Iterator[Sequence[object]]:
        """Hold Ctrl-C back while kafka-python runs: its loop catches every exception, KeyboardInterrupt too.

        Gives the interrupts that were held back until now.
        """
        handler = getsignal(SIGINT)
        caught: list[tuple[int, FrameType | None]] = []
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            yield caught
            return

        def hold(number: int, frame: FrameType | None) -> None:
            caught.append((number, frame))
            self._net.wakeup()

        signal(SIGINT, hold)
        try:
            yield caught
        finally:
            signal(SIGINT, handler)
            if caught:
                handler(*caught[0])


def _share(deadline: float, left: int) -> float:
    """The deadline of the first of so many brokers; the last one has all the time."""
    remaining = deadline - monotonic()
    return monotonic() + (remaining if left == 1 else min(SHARE_S, remaining / left))


def _nothing() -> None:
    """A task that only ends a poll."""
