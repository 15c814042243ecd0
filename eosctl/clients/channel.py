"""One connection to one broker, and a request in flight on it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from eosctl.clients.errors import DAMAGED_HINT, Peer, connection_error
from eosctl.clients.messages import Request, Response
from eosctl.clients.request_log import RequestLog
from eosctl.errors import EosctlError, Throttled, TimedOut, Undecodable, Unsupported
from eosctl.model.text import first_few

if TYPE_CHECKING:
    from kafka.net.connection import KafkaConnection


# Checks of a broker's answer before it is used: it follows the schema, has possible values, and is complete.
#
# 1. A field is null only where the schema of the answer's version allows that. kafka-python decodes null everywhere.
# 2. No number is below the protocol's -1 for "none"; ports, and indexes of partitions, are not below 0.
# 3. No topic, transactional ID or setting has an empty name, and a topic has the partitions from 0 on, each once.
# 4. An answer without an error has what the request asked for by name, each once, and nothing else. Absence
#    from an answer is unknown, so it must not pass for a topic, group or ID about which nothing is to be said.
#
# Each request that eosctl sends has its line in ASKED; a test requires it.


Name = tuple[object, ...]
Names = Callable[[Any], Iterable[Name]]

NONE: Final = -1
WHOLE_NUMBERS: Final = frozenset({"int8", "int16", "int32", "int64"})
NEVER_BELOW_0: Final = frozenset(
    {"partition_index", "min_version", "max_version", "api_key", "min_version_level", "throttle_time_ms"}
)
"""A port is -1 beside an error of FindCoordinator."""

NEVER_EMPTY: Final = frozenset({"name", "topic", "topic_name", "transactional_id"})

NULL_STANDS_FOR_ZERO: Final = frozenset({"uuid", "bitfield"})
"""kafka-python decodes the ID of zeros, and rights that were not asked for, as None."""


class _Check(NamedTuple):
    """How one field is compared with its schema. least is None if it is no number, inner None if it is no struct."""

    name: str
    nullable: bool
    is_array: bool
    least: int | None
    inner: "tuple[_Check, ...] | None"


def require_sound(request: Request, response: Response, address: str) -> None:
    """Raises Undecodable, which names the broker's address, the request and the field, by the rules above."""
    checks = _checks(response.__class__, response.API_VERSION)
    damage = (
        next(_damages(response, checks, ""), None)
        or _incomplete_topic(request, response)
        or _incomplete(request, response)
        or _incomplete_group(request, response)
    )
    if damage is not None:
        raise Undecodable(
            f"{address} answered {request.name} (version {response.API_VERSION}) with a damaged response: {damage}",
            hint=DAMAGED_HINT,
        )


@cache
def _checks(response_class: Any, version: int) -> tuple[_Check, ...]:  # noqa: ANN401  # untyped library
    return tuple(_checks_of(response_class._struct, version))


def _checks_of(schema: Any, version: int) -> Iterator[_Check]:  # noqa: ANN401  # untyped library
    for field in schema._fields:
        if not field.for_version_q(version):
            continue
        is_array, least, inner = bool(field.is_array()), None, None
        if field.is_struct_array() or field.is_struct():
            inner = tuple(_checks_of(field.array_of if is_array else field, version))
        elif field.type_str.removeprefix("[]") in WHOLE_NUMBERS:
            least = 0 if is_array or field.name in NEVER_BELOW_0 else NONE
        zero = field.type_str in NULL_STANDS_FOR_ZERO
        nullable = zero or field.nullable_for_version_q(version) or field.tagged_field_q(version)
        yield _Check(field.name, nullable, is_array, least, inner)


def _damages(item: Response, checks: tuple[_Check, ...], place: str) -> Iterator[str]:
    for name, nullable, is_array, least, inner in checks:
        value = getattr(item, name)
        if value is None:
            if not nullable:
                yield f"{place}{name} is null"
        elif inner is not None:
            for number, each in enumerate(value if is_array else (value,)):
                yield from _damages(each, inner, f"{place}{name}[{number}]." if is_array else f"{place}{name}.")
        elif is_array and None in value:
            yield f"{place}{name} has a null in it"
        elif value == "" and name in NEVER_EMPTY:
            yield f"{place}{name} is empty"
        elif least is not None and (lowest := min(value, default=least) if is_array else value) < least:
            yield f"{place}{name} is {lowest}"


def _parts(topics: str, name: str, partitions: str, index: str | None) -> Names:
    """(topic, partition) of each partition, by the names of the fields; index None: partitions are numbers."""

    def names(fields: Any) -> Iterator[Name]:  # noqa: ANN401  # untyped library
        for topic in _of(fields, topics):
            for part in _of(topic, partitions):
                yield _of(topic, name), part if index is None else _of(part, index)

    return names


def _named_items(array: str, *names: str) -> Names:
    return lambda fields: (tuple(_of(each, name) for name in names) or (each,) for each in _of(fields, array))


def _of(fields: Any, name: str) -> Any:  # noqa: ANN401  # untyped library
    return fields[name] if isinstance(fields, Mapping) else getattr(fields, name)


def _markers(partitions: str, index: str | None) -> Names:
    part_names = _parts("topics", "name", partitions, index)
    return lambda fields: (
        (marker.producer_id, *place) for marker in _of(fields, "markers") for place in part_names(marker)
    )


def _count(array: str) -> Names:
    """Items that only their order distinguishes."""
    return lambda fields: ((number,) for number, _ in enumerate(_of(fields, array)))


def _nothing(_: object) -> Iterable[Name]:
    return ()


BY_TOPIC: Final = _parts("topics", "name", "partitions", "partition_index")
INDEXES: Final = _parts("topics", "name", "partition_indexes", None)


ASKED: Final[Mapping[str, tuple[Names, Names]]] = {
    "Metadata": (_named_items("topics", "name"), _named_items("topics", "name")),
    "FindCoordinator": (_named_items("coordinator_keys"), _named_items("coordinators", "key")),
    "InitProducerId": (_nothing, _nothing),
    "ApiVersions": (_nothing, _nothing),
    "ListOffsets": (BY_TOPIC, BY_TOPIC),
    "Fetch": (
        _parts("topics", "topic", "partitions", "partition"),
        _parts("responses", "topic", "partitions", "partition_index"),
    ),
    "DescribeConfigs": (
        _named_items("resources", "resource_type", "resource_name"),
        _named_items("results", "resource_type", "resource_name"),
    ),
    "DescribeTransactions": (_named_items("transactional_ids"), _named_items("transaction_states", "transactional_id")),
    "DescribeQuorum": (
        _parts("topics", "topic_name", "partitions", "partition_index"),
        _parts("topics", "topic_name", "partitions", "partition_index"),
    ),
    "ListTransactions": (_nothing, _nothing),
    "ListGroups": (_nothing, _nothing),
    "OffsetFetch": (_named_items("groups", "group_id"), _named_items("groups", "group_id")),
    "DescribeGroups": (_named_items("groups"), _named_items("groups", "group_id")),
    "DescribeCluster": (_nothing, _nothing),
    "StreamsGroupDescribe": (_named_items("group_ids"), _named_items("groups", "group_id")),
    "DescribeShareGroupOffsets": (_named_items("groups", "group_id"), _named_items("groups", "group_id")),
    "DescribeProducers": (INDEXES, BY_TOPIC),
    "WriteTxnMarkers": (_markers("partition_indexes", None), _markers("partitions", "partition_index")),
    "AddPartitionsToTxn": (
        _parts("v3_and_below_topics", "name", "partitions", None),
        _parts("results_by_topic_v3_and_below", "name", "results_by_partition", "partition_index"),
    ),
    "Produce": (
        _parts("topic_data", "name", "partition_data", "index"),
        _parts("responses", "name", "partition_responses", "index"),
    ),
    "EndTxn": (_nothing, _nothing),
    "DescribeAcls": (_nothing, _nothing),
    "CreateAcls": (_count("creations"), _count("results")),
    "DeleteAcls": (_count("filters"), _count("filter_results")),
}
"""By request: the names in its fields, and those in its answer, which must be the same."""


def _incomplete_topic(request: Request, response: Response) -> str | None:
    """A topic of a Metadata with a missing partition; one with an error code may have none."""
    for topic in response.topics if request.name == "Metadata" else ():
        indexes = sorted(part.partition_index for part in topic.partitions)
        if not topic.error_code and indexes != list(range(len(indexes) or 1)):
            return f"topic {topic.name} has the partitions {first_few(indexes) or 'none'}"
    return None


def _incomplete(request: Request, response: Response) -> str | None:
    """Items missing from the answer, or not requested; None where it is complete, or says that it failed."""
    if getattr(response, "error_code", None) or _asks_for_all(request):
        return None
    in_request, in_answer = ASKED.get(request.name, (_nothing, _nothing))
    return _difference(Counter(in_request(request.fields)), Counter(in_answer(response)))


def _incomplete_group(request: Request, response: Response) -> str | None:
    """The first group of an OffsetFetch without the requested partitions, all of them unless it failed."""
    if request.name != "OffsetFetch":
        return None
    asked = {each.group_id: each for each in _of(request.fields, "groups")}
    for group in response.groups:
        topics = asked[group.group_id].topics
        if topics is None or group.error_code:
            continue
        trouble = _difference(Counter(INDEXES(asked[group.group_id])), Counter(BY_TOPIC(group)))
        if trouble is not None:
            return f"{trouble} of group {group.group_id}"
    return None


def _difference(asked: Counter[Name], answered: Counter[Name]) -> str | None:
    for names, trouble in ((asked.keys() - answered, "is missing"), (answered - asked, "was not requested")):
        if names:
            return f"{'-'.join(str(part) for part in min(names, key=str))} {trouble}"
    return None


def _asks_for_all(request: Request) -> bool:
    fields = request.fields
    one_coordinator = request.name == "FindCoordinator" and "coordinator_keys" not in fields
    return one_coordinator or (request.name == "Metadata" and fields["topics"] is None)


Done = Callable[[Response | None, EosctlError | None], None]
Poll = Callable[[float, Callable[[], bool]], None]
"""Wire.poll: sends and receives for so many seconds at most, and until the function says that it is enough."""

AFTER_MUTE_S: Final = 0.005
QUOTA_HINT: Final = (
    "raise --timeout, or the quota: `kafka-configs.sh --bootstrap-server HOST:PORT --describe --entity-type users "
    "--entity-type clients`"
)
GRACE_S: Final = 0.1
"""The time after its deadline in which a request may fail by itself."""


class ApiVersions(NamedTuple):
    lowest: int
    highest: int


class Callbacks:
    """Callbacks for kafka-python while a wire polls.

    It only logs a callback's exception, and then nothing would be answered.
    """

    def __init__(self) -> None:
        self._raised: list[Exception] = []

    def held(self, act: Callable[..., object]) -> Callable[..., None]:
        """The same callback; `require_none_failed` raises its exception."""

        def call(*given: object) -> None:
            try:
                act(*given)
            except Exception as error:  # noqa: BLE001  # raised again, where somebody waits
                self._raised.append(error)

        return call

    @property
    def failed(self) -> bool:
        return bool(self._raised)

    def require_none_failed(self) -> None:
        """Raises what the first callback that failed raised, once."""
        if self._raised:
            raise self._raised.pop(0)


class Channel(Struct, frozen=True):
    """One connection to one broker. Sends do not block; they are carried out while the wire polls."""

    connection: "KafkaConnection"
    peer: Peer
    requests: RequestLog
    callbacks: Callbacks

    @property
    def open(self) -> bool:
        return bool(self.connection.connected and not self.connection.paused)

    @property
    def muted_s(self) -> float:
        """For how long the broker takes no request on it because a client quota is exceeded (KIP-219)."""
        return max(0.0, float(self.connection._throttle_time) - monotonic())

    def is_muted_until(self, deadline: float) -> bool:
        """Whether the broker takes no request on it before the deadline."""
        muted_s = self.muted_s
        return muted_s > 0 and monotonic() + muted_s + AFTER_MUTE_S > deadline

    def versions(self) -> Mapping[int, ApiVersions]:
        """API key -> versions the broker answers; empty until the channel has been open."""
        known = self.connection.broker_version_data
        return {} if known is None else {key: ApiVersions(*pair) for key, pair in known.api_versions.items()}

    def version(self, request: Request) -> int:
        """The highest version of `request` that both sides speak; Unsupported names both."""
        known = self.connection.broker_version_data.api_versions.get(request.api.API_KEY)
        hint = None if request.since is None else f"brokers answer it from Kafka {request.since} on"
        if known is None:
            raise Unsupported(
                f"{self.peer.address} does not know {request.name} (version {request.min_version} needed)", hint=hint
            )
        version = min(known[1], request.max_version, request.api.max_version)
        if version < max(known[0], request.min_version):
            wanted = min(request.max_version, request.api.max_version)
            raise Unsupported(
                f"{request.name} needs version {request.min_version} to {wanted}, "
                f"{self.peer.address} answers {known[0]} to {known[1]}",
                hint=hint,
            )
        return int(version)

    def timed_out(self) -> EosctlError:
        """The error for a channel on which nothing was answered in time: how far it came."""
        attempt = self.connection.init_future
        if attempt.failed():  # its own timer was first, and the transport is gone
            return connection_error(attempt.exception, self.peer)
        if self.muted_s:
            what = f"{self.peer.principal} exceeds a client quota: {self.peer.address} takes no request"
            return Throttled(f"{what} for {self.muted_s:.1f} s more", hint=QUOTA_HINT)
        if self.connection.transport is None:
            return TimedOut(f"{self.peer.address} accepted no connection (TCP, TLS) in time")
        return TimedOut(f"{self.peer.address} accepted the connection but did not answer in time")

    def send(self, request: Request, deadline: float, done: Done) -> None:
        """Send `request`; `done` gets the response, or the error, exactly once.

        While the broker has muted the connection the request waits. An answer cut by a quota is requested again;
        Throttled if neither can end before the deadline.
        """
        if self.muted_s:
            self._send_later(request, deadline, done)
            return
        try:
            message = request.message(self.version(request))
        except EosctlError as error:
            done(None, error)
            return

        def answered(response: Response) -> None:
            self.requests.done(number, "answered")
            if _is_put_off(request, response):
                self._send_later(request, deadline, done)
                return
            try:
                require_sound(request, response, self.peer.address)
            except EosctlError as error:
                done(None, error)
            else:
                done(response, None)

        patience_ms = 1000 * max(0.001, deadline - monotonic())
        number = self.requests.sent(request.name, self.peer.address)
        future = self.connection.send_request(message, request_timeout_ms=patience_ms)
        future.add_callback(self.callbacks.held(answered))

        def failed(error: BaseException) -> None:
            self.requests.done(number, "no answer")
            done(None, connection_error(error, self.peer))

        future.add_errback(self.callbacks.held(failed))

    def _send_later(self, request: Request, deadline: float, done: Done) -> None:
        if self.is_muted_until(deadline):
            done(None, self.timed_out())
            return
        again_at = monotonic() + self.muted_s + AFTER_MUTE_S
        self.connection.net.call_at(again_at, self.callbacks.held(lambda: self.send(request, deadline, done)))


def _is_put_off(request: Request, response: Response) -> bool:
    """True for the answer to a Fetch that exceeds a quota: no topic in it, and the time for which the broker mutes."""
    return request.name == "Fetch" and response.throttle_time_ms > 0 and response.responses == []


class Pending:
    """A request in flight."""

    def __init__(self, channel: Channel, request: Request, deadline: float, poll: Poll) -> None:
        self._poll = poll
        self._channel = channel
        self._deadline = deadline
        self._landed: tuple[Response | None, EosctlError | None] | None = None
        channel.send(request, deadline, self._land)

    @property
    def landed(self) -> bool:
        return self._landed is not None

    def _land(self, response: Response | None, error: EosctlError | None) -> None:
        self._landed = (response, error)

    def response(self) -> Response:
        """The response, waiting for it; raises Unreachable, TimedOut or Unsupported in its place."""
        while self._landed is None:
            remaining = self._deadline - monotonic()
            if remaining <= -GRACE_S:
                raise self._channel.timed_out()
            self._poll(min(1.0, max(0.0, remaining)), lambda: self.landed)
        response, error = self._landed
        if error is not None:
            raise error
        return response
