"""Every answer of a broker that eosctl reads, damaged field by field by its own schema."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import eosctl.clients
from eosctl.clients import groups, messages
from eosctl.clients import messages as transactional
from eosctl.clients.channel import ASKED, require_sound
from eosctl.clients.messages import Request
from eosctl.errors import Undecodable
from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import IsolationLevel

PLACES = [TopicPartition("orders", 0), TopicPartition("orders", 3), TopicPartition("payments", 1)]
PLACE, PRODUCER = PLACES[1], ProducerIdAndEpoch(7, 2)
BINDING = AclBinding("User:a", Operation.READ, topic("orders"))
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED

REQUESTS = {
    messages.find_coordinators: messages.find_coordinators(["a", "b"]),
    messages.find_coordinator: messages.find_coordinator("a"),
    messages.init_producer_id: messages.init_producer_id("a", 1000),
    messages.brokers_metadata: messages.brokers_metadata(),
    messages.features: messages.features(),
    messages.topics_metadata: messages.topics_metadata(["orders", "payments"]),
    messages.list_offsets: messages.list_offsets(PLACES, messages.LATEST, UNCOMMITTED),
    messages.fetch: messages.fetch(PLACE, 0, 1 << 20, UNCOMMITTED),
    messages.describe_configs: messages.describe_configs(messages.TOPIC_RESOURCE, "orders"),
    messages.describe_transactions: messages.describe_transactions(["a", "b"]),
    messages.describe_quorum: messages.describe_quorum(),
    messages.list_transactions: messages.list_transactions(),
    messages.list_groups: messages.list_groups(),
    messages.find_group_coordinators: messages.find_group_coordinators(["g", "h"]),
    messages.offset_fetch: messages.offset_fetch(["g", "h"], PLACES),
    messages.describe_groups: messages.describe_groups(["g", "h"]),
    messages.cluster_operations: messages.cluster_operations(),
    groups.describe_streams_groups: groups.describe_streams_groups(["g", "h"]),
    groups.describe_share_group_offsets: groups.describe_share_group_offsets(["g", "h"]),
    messages.describe_producers: messages.describe_producers(PLACES),
    messages.write_marker: messages.write_marker(PLACE, PRODUCER, 1),
    transactional.add_partition: transactional.add_partition("a", PRODUCER, PLACE),
    transactional.produce: transactional.produce("a", PLACE, b"", adds=False, timeout_ms=1000),
    transactional.end_transaction: transactional.end_transaction("a", PRODUCER, commit=True),
    messages.describe_acls: messages.describe_acls(),
    messages.create_acls: messages.create_acls([BINDING, BINDING]),
    messages.delete_acls: messages.delete_acls([BINDING, BINDING]),
}
"""A request of each kind that eosctl sends, by the function that makes it."""


def makers() -> set[Any]:
    """Every function of eosctl.clients that makes a Request."""
    modules = [
        importlib.import_module(f"eosctl.clients.{each.name}") for each in pkgutil.iter_modules(eosctl.clients.__path__)
    ]
    found = (each for module in modules for _, each in inspect.getmembers(module, inspect.isfunction))
    return {each for each in found if each.__annotations__.get("return") in (Request, "Request")}


def response_class(request: Request, version: int) -> Any:
    message = request.message(version)
    message.with_header(correlation_id=1)
    return message.header.get_response_class()


PARTITIONS = [("orders", [0, 3]), ("payments", [1])]
TOPICS = [{"name": name, "partitions": [{"partition_index": each} for each in found]} for name, found in PARTITIONS]
MARKED = {"name": "orders", "partitions": [{"partition_index": 3}]}
ADDED = {"name": "orders", "results_by_partition": [{"partition_index": 3}]}
PRODUCED = {"name": "orders", "partition_responses": [{"index": 3}]}
FETCHED = {"topic": "orders", "partitions": [{"partition_index": 3}]}
QUORUM = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}

NAMED: dict[Any, dict[str, Any]] = {
    messages.find_coordinators: {"coordinators": [{"key": "a"}, {"key": "b"}]},
    messages.brokers_metadata: {"topics": []},
    messages.topics_metadata: {"topics": [{"name": "orders"}, {"name": "payments"}]},
    messages.list_offsets: {"topics": TOPICS},
    messages.fetch: {"responses": [FETCHED]},
    messages.describe_configs: {"results": [{"resource_type": 2, "resource_name": "orders"}]},
    messages.describe_transactions: {"transaction_states": [{"transactional_id": "a"}, {"transactional_id": "b"}]},
    messages.describe_quorum: {"topics": [QUORUM]},
    messages.find_group_coordinators: {"coordinators": [{"key": "g"}, {"key": "h"}]},
    messages.offset_fetch: {"groups": [{"group_id": "g", "topics": TOPICS}, {"group_id": "h", "topics": TOPICS}]},
    messages.describe_groups: {"groups": [{"group_id": "g"}, {"group_id": "h"}]},
    groups.describe_streams_groups: {"groups": [{"group_id": "g"}, {"group_id": "h"}]},
    groups.describe_share_group_offsets: {"groups": [{"group_id": "g"}, {"group_id": "h"}]},
    messages.describe_producers: {"topics": TOPICS},
    messages.write_marker: {"markers": [{"producer_id": 7, "topics": [MARKED]}]},
    transactional.add_partition: {"results_by_topic_v3_and_below": [ADDED]},
    transactional.produce: {"responses": [PRODUCED]},
    messages.create_acls: {"results": [{}, {}]},
    messages.delete_acls: {"filter_results": [{}, {}]},
}
"""The names in a whole answer, by the function that makes the request; the rest of it has one of everything."""


def answered(make: Any, version: int) -> Any:
    """A whole answer, as it is decoded from bytes."""
    kind = response_class(REQUESTS[make], version)
    return through_bytes(kind(version=version, **_fields(kind._struct, version, NAMED.get(make, {}))), version)


def through_bytes(response: Any, version: int) -> Any:
    response._header = None
    return type(response).decode(response.encode(version=version), version=version)


def _fields(schema: Any, version: int, given: dict[str, Any]) -> dict[str, Any]:
    known = [each for each in schema._fields if each.for_version_q(version)]
    assert given.keys() <= {each.name for each in known}, "the answer has fields of these names"
    return {each.name: _value(each, version, given.get(each.name)) for each in known}


def _value(field: Any, version: int, given: Any) -> Any:
    if field.is_struct_array():
        items = [{}] if given is None else given
        return [field.array_of(**_fields(field.array_of, version, each)) for each in items]
    if field.is_struct():
        return field(**_fields(field, version, {}))
    if given is not None:
        return given
    return [_simple(field.array_of)] if field.is_array() else _simple(field)


def _simple(field: Any) -> Any:
    kind = field.type_str.removeprefix("[]")
    zero = "00000000-0000-0000-0000-000000000000"
    return {"string": "x", "bytes": b"", "records": b"", "bool": False, "bitfield": set(), "uuid": UUID(zero)}.get(
        kind, 0
    )


class Place(NamedTuple):
    """One field of an answer: the struct that has it, its schema, and its path."""

    item: Any
    field: Any
    path: str


def places(item: Any, schema: Any, version: int, path: str = "") -> Iterator[Place]:
    """Every field of the answer, in all its parts."""
    for field in schema._fields:
        if not field.for_version_q(version):
            continue
        name, value = f"{path}{field.name}", getattr(item, field.name)
        yield Place(item, field, name)
        if field.is_struct_array():
            for number, each in enumerate(value or ()):
                yield from places(each, field.array_of, version, f"{name}[{number}].")
        elif field.is_struct() and value is not None:
            yield from places(value, field, version, f"{name}.")


SENT = [
    pytest.param(make, version, id=f"{make.__name__}-{version}")
    for make, request in REQUESTS.items()
    for version in range(request.min_version, min(request.max_version, request.api.max_version) + 1)
]
LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


def refused(make: Any, response: Any) -> str:
    """Why the answer is refused."""
    with pytest.raises(Undecodable) as caught:
        require_sound(REQUESTS[make], response, "broker:9092")
    assert caught.value.exit_code == 7
    assert caught.value.message.startswith(f"broker:9092 answered {REQUESTS[make].name} (version ")
    return caught.value.message.partition("damaged response: ")[2]


def damaged(make: Any, version: int, path: str, value: Any) -> Any:
    """A whole answer, but for one field."""
    response = answered(make, version)
    [place] = [each for each in places(response, response._struct, version) if each.path == path]
    setattr(place.item, place.field.name, value)
    return response


def test_every_request_that_is_sent_is_fuzzed_here_and_has_its_names():
    assert makers() == set(REQUESTS)
    assert {each.name for each in REQUESTS.values()} == set(ASKED)


@pytest.mark.parametrize(("make", "version"), SENT)
def test_a_whole_answer_is_taken_as_it_is(make, version):
    require_sound(REQUESTS[make], answered(make, version), "broker:9092")


@pytest.mark.parametrize(("make", "version"), SENT)
def test_null_is_damage_wherever_the_schema_does_not_allow_it(make, version):
    whole = answered(make, version)
    for _, field, path in places(whole, whole._struct, version):
        if field.nullable_for_version_q(version) or field.tagged_field_q(version):
            continue
        if field.is_array() or field.type_str in {"string", "bytes", "records"}:
            response = through_bytes(damaged(make, version, path, None), version)
            assert refused(make, response) == f"{path} is null"


@pytest.mark.parametrize(("make", "version"), SENT)
def test_numbers_below_none_are_damage(make, version):
    whole = answered(make, version)
    for _, field, path in places(whole, whole._struct, version):
        kind = field.type_str.removeprefix("[]")
        if kind in LIMITS:
            for value in (-2, -(1 << LIMITS[kind])):
                response = damaged(make, version, path, [0, value] if field.is_array() else value)
                assert refused(make, response) == f"{path} is {value}"


@pytest.mark.parametrize("make", [make for make in NAMED if make is not messages.brokers_metadata])
def test_an_answer_that_leaves_out_or_adds_or_repeats_a_name_is_damaged(make):
    version = REQUESTS[make].min_version
    array = next(iter(NAMED[make]))
    for keep, said in ((slice(1, None), "is missing"), (slice(0, 0), "is missing")):
        response = answered(make, version)
        setattr(response, array, getattr(response, array)[keep])
        assert refused(make, response).endswith(said)
    response = answered(make, version)
    items = getattr(response, array)
    setattr(response, array, [*items, items[0]])
    assert refused(make, response).endswith("was not requested")


@pytest.mark.parametrize(("make", "version"), SENT)
def test_a_name_in_an_answer_is_not_empty(make, version):
    whole = answered(make, version)
    for _, field, path in places(whole, whole._struct, version):
        if field.name in {"transactional_id", "topic", "name", "topic_name"} and field.type_str == "string":
            assert refused(make, damaged(make, version, path, "")) == f"{path} is empty"


@pytest.mark.parametrize("indexes", [[], [1], [0, 2], [0, 0], [0, 1, 1]])
def test_a_topic_with_a_missing_or_repeated_partition_is_damaged(indexes):
    response = answered(messages.topics_metadata, 4)
    part = response.topics[0].partitions[0]
    response.topics[0].partitions = [type(part)(**{**part.to_dict(), "partition_index": each}) for each in indexes]
    assert refused(messages.topics_metadata, response).startswith("topic orders has the partitions ")
    response.topics[0].error_code = 5
    require_sound(REQUESTS[messages.topics_metadata], response, "broker:9092")


def test_a_group_of_an_answer_without_all_partitions_is_damaged():
    response = answered(messages.offset_fetch, 8)
    response.groups[1].topics = response.groups[1].topics[:1]
    assert "is missing of group h" in refused(messages.offset_fetch, response)
    response.groups[1].error_code = 16
    require_sound(REQUESTS[messages.offset_fetch], response, "broker:9092")
    every = messages.offset_fetch(["g", "h"], None)
    require_sound(every, response, "broker:9092")


def test_an_answer_that_failed_as_a_whole_names_nothing():
    response = answered(messages.offset_fetch, 8)
    response.groups[0].topics, response.groups[0].error_code = [], 16
    require_sound(REQUESTS[messages.offset_fetch], response, "broker:9092")


@pytest.mark.parametrize(("make", "version"), SENT)
def test_bytes_that_are_cut_or_changed_end_in_an_error_of_the_library_or_in_none(make, version):
    """The connection reports each of them as no Kafka protocol: see tests/attack/test_batches.py."""
    response = answered(make, version)
    response._header = None
    data = response.encode(version=version)
    kind = response_class(REQUESTS[make], version)
    for end in range(len(data)):
        for changed in (data[:end], data[:end] + b"\xff" + data[end + 1 :], data[:end] + b"\x7f" + data[end + 1 :]):
            try:
                response = kind.decode(changed, version=version)
            except Exception:  # noqa: BLE001  # kafka-python closes the connection on any
                continue
            with suppress(Undecodable):
                require_sound(REQUESTS[make], response, "broker:9092")
