"""What an answer of a broker must be before anything is made of it: the schema's, of possible values, and complete.

1. A field is null only where the schema of the answer's version allows that. kafka-python decodes null everywhere.
2. No number is below the protocol's -1 for "none"; ports, and indexes of partitions, are not below 0.
3. No topic, transactional ID or setting has an empty name, and a topic has the partitions from 0 on, each once.
4. An answer without an error has what the request asked for by name, each once, and nothing else. What is absent from
   an answer is unknown, so it must not pass for a topic, group or ID about which nothing is to be said.

Each request that eosctl sends has its line in ASKED; a test requires it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from eosctl.clients.errors import DAMAGED_HINT
from eosctl.clients.messages import Request, Response
from eosctl.errors import Undecodable
from eosctl.model.counts import some

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
    """How one field is held against its schema. least is None where it is no number, inner None where no struct."""

    name: str
    nullable: bool
    is_array: bool
    least: int | None
    inner: "tuple[_Check, ...] | None"


def require_sound(request: Request, response: Response, address: str) -> None:
    """Raises Undecodable, which names the broker's address, the request and the field, by the rules above."""
    checks = _checks(response.__class__, response.API_VERSION)
    damage = next(_damages(response, checks, ""), None) or _torn(request, response) or _incomplete(request, response)
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


def _each(array: str, *names: str) -> Names:
    """The named fields of each item of an array; without names the items themselves."""
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
    "Metadata": (_each("topics", "name"), _each("topics", "name")),
    "FindCoordinator": (_each("coordinator_keys"), _each("coordinators", "key")),
    "InitProducerId": (_nothing, _nothing),
    "ApiVersions": (_nothing, _nothing),
    "ListOffsets": (BY_TOPIC, BY_TOPIC),
    "Fetch": (
        _parts("topics", "topic", "partitions", "partition"),
        _parts("responses", "topic", "partitions", "partition_index"),
    ),
    "DescribeConfigs": (
        _each("resources", "resource_type", "resource_name"),
        _each("results", "resource_type", "resource_name"),
    ),
    "DescribeTransactions": (_each("transactional_ids"), _each("transaction_states", "transactional_id")),
    "DescribeQuorum": (
        _parts("topics", "topic_name", "partitions", "partition_index"),
        _parts("topics", "topic_name", "partitions", "partition_index"),
    ),
    "ListTransactions": (_nothing, _nothing),
    "ListGroups": (_nothing, _nothing),
    "OffsetFetch": (INDEXES, BY_TOPIC),
    "DescribeGroups": (_each("groups"), _each("groups", "group_id")),
    "DescribeCluster": (_nothing, _nothing),
    "DescribeShareGroupOffsets": (_each("groups", "group_id"), _each("groups", "group_id")),
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
"""By request: the names in its fields, and those in the answer to it, which are the same ones."""


def _torn(request: Request, response: Response) -> str | None:
    """Which topic of a Metadata lacks a partition; one with an error code may have none."""
    for topic in response.topics if request.name == "Metadata" else ():
        indexes = sorted(part.partition_index for part in topic.partitions)
        if not topic.error_code and indexes != list(range(len(indexes) or 1)):
            return f"topic {topic.name} has the partitions {some(indexes) or 'none'}"
    return None


def _incomplete(request: Request, response: Response) -> str | None:
    """What is missing from the answer, or was not asked for; None where it is complete, or says that it failed."""
    if getattr(response, "error_code", None) or _asks_for_all(request):
        return None
    in_request, in_answer = ASKED.get(request.name, (_nothing, _nothing))
    asked, answered = Counter(in_request(request.fields)), Counter(in_answer(response))
    for names, trouble in ((asked.keys() - answered, "is missing"), (answered - asked, "was not asked for")):
        if names:
            return f"{'-'.join(str(part) for part in min(names, key=str))} {trouble}"
    return None


def _asks_for_all(request: Request) -> bool:
    fields = request.fields
    one_coordinator = request.name == "FindCoordinator" and "coordinator_keys" not in fields
    return one_coordinator or (request.name in {"Metadata", "OffsetFetch"} and fields["topics"] is None)
