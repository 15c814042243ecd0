"""The first messages of a kind are encoded and decoded field by field, with the results of the compiled code."""

import importlib
import inspect
import json
import pkgutil
import random
import re
import struct
from uuid import UUID

import kafka.protocol
import pytest
from kafka.protocol.api_message import ApiMessage

from eosctl.clients import messages
from eosctl.clients.kafka_python import BY_FIELDS, FETCHED

NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q"}
UNSIGNED = {"uint16": 16, "uint32": 32}
TEXTS = ("", "x", "transactional-id", "\u00fc\u20ac", "y" * 300)


def kinds():
    """Every message of the library."""
    for each in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        importlib.import_module(each.name)
    left = [ApiMessage]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind is not ApiMessage and kind._class_version is None:
            yield kind


KINDS = {kind.__name__: kind for kind in kinds()}
REQUESTS = {name: kind for name, kind in KINDS.items() if kind.is_request()}


def fields(chosen, schema, version):
    return {each.name: value(chosen, each, version) for each in schema._fields if each.for_version_q(version)}


def value(chosen, field, version):
    if field.nullable_for_version_q(version) and chosen.random() < 0.3:
        return None
    if field.is_struct_array():
        made = field.array_of
        return [made(**fields(chosen, made, version)) for _ in range(chosen.randrange(3))]
    if field.is_struct():
        return field(**fields(chosen, field, version))
    if field.is_array():
        return [simple(chosen, field.array_of) for _ in range(chosen.randrange(4))]
    return simple(chosen, field)


def simple(chosen, field):
    kind = field.type_str.removeprefix("[]")
    if kind in NUMBERS:
        bits = 8 * struct.calcsize(f">{NUMBERS[kind]}") - 1
        return chosen.choice((0, -1, 2**bits - 1, -(2**bits), chosen.randrange(100)))
    if kind in UNSIGNED:
        return chosen.choice((0, 1, 2 ** UNSIGNED[kind] - 1))
    return {
        "bool": chosen.random() < 0.5,
        "float64": chosen.uniform(-1e9, 1e9),
        "uuid": UUID(int=chosen.getrandbits(128)),
        "string": chosen.choice(TEXTS),
        "bitfield": set(),
    }.get(kind, chosen.randbytes(chosen.choice((0, 1, 200))))


def test_the_library_was_walked():
    assert len(REQUESTS) > 45
    assert len(KINDS) == 2 * len(REQUESTS)


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_a_first_message_has_the_bytes_of_the_compiled_encoder(name):
    kind = REQUESTS[name]
    for version in range(kind.max_version + 1):
        chosen = random.Random(f"{name} {version}")
        for _ in range(4):
            message = kind(version=version, **fields(chosen, kind._struct, version))
            kind._struct.__dict__.pop("sizes_by_fields", None)
            first = message.encode(version=version)
            [(key, size)] = kind._struct.__dict__["sizes_by_fields"].items()
            kind._struct.__dict__["sizes_by_fields"][key] = BY_FIELDS
            assert message.encode(version=version) == first, version
            assert size == len(first)


def encoded(chosen, kind, version):
    given = fields(chosen, kind._struct, version)
    if kind.__name__ == "ApiVersionsResponse":
        given["error_code"] = 0  # with an error it is one of version 0
    return kind(version=version, **given).encode(version=version)


def content(item):
    """All that a decoded message has, with the versions and tags of each part."""
    if isinstance(item, list):
        return [content(each) for each in item]
    if not hasattr(item, "_struct"):
        return item
    values = [content(getattr(item, field.name)) for field in item._struct._fields]
    return type(item).__name__, item._version, item.tags, item.unknown_tags, values


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_first_message_has_the_content_that_the_compiled_decoder_finds(name):
    kind = KINDS[name]
    for version in range(kind.max_version + 1):
        chosen = random.Random(f"{name} {version}")
        for _ in range(4):
            data = encoded(chosen, kind, version)
            if kind.flexible_version_q(version) and not kind._struct.tagged_fields(version)._fields:
                data = data[:-1] + b"\x01\x7e\x02xy"  # a tag that is not known
            kind._struct.__dict__["sizes_by_fields"].clear()
            first = content(kind.decode(data, version=version))
            [(key, size)] = kind._struct.__dict__["sizes_by_fields"].items()
            assert size == len(data) // (FETCHED if name == "FetchResponse" else 1)
            kind._struct.__dict__["sizes_by_fields"][key] = 2 * BY_FIELDS
            assert content(kind.decode(data, version=version)) == first, version


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_first_message_that_is_cut_is_not_decoded(name):
    kind = KINDS[name]
    for version in range(kind.max_version + 1):
        chosen = random.Random(f"{name} {version}")
        data = encoded(chosen, kind, version)
        for size in {chosen.randrange(len(data)), len(data) - 1} if data else ():
            kind._struct.__dict__["sizes_by_fields"].clear()
            with pytest.raises((ValueError, struct.error)):
                kind.decode(data[:size], version=version)


PLAIN = sorted(set(re.findall(r'_plain\("(\w+)"\)', inspect.getsource(messages))))


NOT_CALLED = {"json_patch", "min_version_for_timestamp", "min_version_for_isolation_level"}
"""Of the library's classes, and not called by eosctl."""


def schema(kind):
    """Its schema as the library changes it, but for a default of a field that eosctl always sends."""
    text = json.dumps(kind._json).replace('"authorized_operations"', '"AuthorizedOperations"')
    changed = json.loads(text)
    if kind.__name__ == "ListOffsetsRequest":
        assert changed["fields"][0].pop("default", -1) == -1
    return changed


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_message_has_all_that_the_library_s_class_has(name):
    answers = {each.__name__: each for each in kinds() if each.__module__.startswith("kafka.")}
    made = messages._plain.__wrapped__(name)  # after the library's, whose answer would be taken if it came later
    request = made(version=0)
    request.with_header(correlation_id=1)
    for ours in (made, request.header.get_response_class()[None]):
        theirs = answers[ours.__name__]
        assert theirs is not ours
        assert vars(theirs).keys() - NOT_CALLED == vars(ours).keys() - NOT_CALLED
        assert schema(theirs) == schema(ours)


def test_an_answer_is_decoded_after_the_library_s_module_was_imported_too():
    importlib.import_module("kafka.protocol.admin.transactions")
    request = messages.list_transactions().message(0)
    request.with_header(correlation_id=1)
    kind = request.header.get_response_class()
    assert kind.decode(kind(error_code=14).encode(version=0), version=0).error_code == 14
