"""Answers of a real broker, damaged on their way: each field of each answer, in every way that its type allows.

A damage is *possible* if Kafka itself could answer so: another number, name or text than the broker's. Every other
answer is none of Kafka's: null against the schema, a negative number, an unknown error code, an absurd throttle time,
an unrequested item, an item twice or not at all, another correlation ID, cut bytes.
"""

import importlib
import io
import pkgutil
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from typing import Any, Final, NamedTuple

import kafka.protocol
from kafka.protocol.api_header import ResponseClassRegistry

from tests.faults.kafka_proxy import OtherKafka, Seen

Steps = tuple[str | int, ...]
Alter = Callable[[Any], Any]

BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
UNKNOWN_CODES: Final = (4242, 32767)
LONGEST_MS: Final = 2**31 - 1
ZERO: Final = frozenset({"uuid", "bitfield"})
"""kafka-python has None for an ID of zeros, and for rights that were not asked for."""
ASKED: Final = {
    "Fetch": ("responses", "partitions", "topic", "partition_index"),
    "ListOffsets": ("topics", "partitions", "name", "partition_index"),
    "OffsetFetch": ("topics", "partitions", "name", "partition_index"),
    "DescribeProducers": ("topics", "partitions", "name", "partition_index"),
    "DescribeQuorum": ("topics", "partitions", "topic_name", "partition_index"),
    "DescribeConfigs": ("results", "resource_name", "resource_type"),
    "DescribeTransactions": ("transaction_states", "transactional_id"),
    "DescribeGroups": ("groups", "group_id"),
    "FindCoordinator": ("coordinators", "key"),
    "InitProducerId": (),
}
"""Arrays of requested items, and the fields that name them: Kafka answers each once, and nothing else."""


class Damage(NamedTuple):
    """The damage to one answer of a command: which one, where in it, and how; possible: Kafka could answer so."""

    seen: Seen
    place: str
    how: str
    possible: bool
    change: Callable[[int, bytes], bytes | None]

    @property
    def name(self) -> str:
        """In one line."""
        return f"{self.seen.name} {self.place} {self.how}"

    @property
    def sort(self) -> tuple[int, str, str]:
        """Equal for answers of one kind, regardless of the items in their arrays."""
        return self.seen.api_key, "".join(char for char in self.place if not char.isdigit()), self.how


class Answered(NamedTuple):
    """One answer of the broker, as it was."""

    seen: Seen
    version: int
    frame: bytes


class Recorder(OtherKafka):
    """Keeps what the broker answers."""

    def __init__(self) -> None:
        self._counts, self._lock = Counter[int](), Lock()
        self.answers: list[Answered] = []

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The same."""
        with self._lock:
            self._counts[api_key] += 1
            seen = Seen(api_key, self._counts[api_key])
            self.answers.append(Answered(seen, version, frame))
        return self.passed(seen, version, frame)

    def passed(self, seen: Seen, version: int, frame: bytes) -> bytes:
        """The bytes that the client gets."""
        return frame


class Damaging(Recorder):
    """Does one damage; hit is whether it was done."""

    def __init__(self, damage: Damage) -> None:
        super().__init__()
        self.damage = damage
        self.hit = False

    def passed(self, seen: Seen, version: int, frame: bytes) -> bytes:
        """Damaged where it is the one."""
        changed = self.damage.change(version, frame) if seen == self.damage.seen else None
        self.hit |= changed is not None
        return frame if changed is None else changed


def damages(answered: Answered, chance: random.Random) -> Iterator[Damage]:
    """Every damage to the answer."""
    for how, alter in _of_frames(answered, chance):
        yield Damage(answered.seen, "frame", how, False, lambda _, frame, alter=alter: alter(frame))
    kind = response_class(answered.seen.api_key)
    asked = ASKED.get(kind.name.removesuffix("Response"), ())
    for path, field, value in _fields(decoded(answered), kind._struct, answered.version, ()):
        for how, possible, alter in _of_field(field, value, asked, answered.version):
            place = ".".join(map(str, path))
            yield Damage(answered.seen, place, how, possible, Change(answered.seen.api_key, path, alter))


def decoded(answered: Answered) -> Any:
    """The answer as kafka-python has it."""
    return response_class(answered.seen.api_key)[answered.version].decode(answered.frame[_begin(answered) :])


class Change(NamedTuple):
    """Another value of the field at the path; None where an answer has no such place."""

    api_key: int
    path: Steps
    alter: Alter

    def __call__(self, version: int, frame: bytes) -> bytes | None:
        answered = Answered(Seen(self.api_key, 0), version, frame)
        root = item = decoded(answered)
        try:
            for step in self.path[:-1]:
                item = item[step] if isinstance(step, int) else getattr(item, step)
            name = str(self.path[-1])
            setattr(item, name, self.alter(getattr(item, name)))
        except (AttributeError, IndexError, TypeError):
            return None
        root._header = None
        return frame[: _begin(answered)] + bytes(root.encode(version=version))


class Altered(OtherKafka):
    """Every answer of one API has another value at the path."""

    def __init__(self, api_key: int, path: Steps, alter: Alter) -> None:
        self._api_key, self._change = api_key, Change(api_key, path, alter)

    def answer(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The answer with the other value, where it has such a place."""
        changed = self._change(version, frame) if api_key == self._api_key else None
        return frame if changed is None else changed


@cache
def response_class(api_key: int) -> Any:
    """kafka-python's class of the answers."""
    for each in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if "old" not in each.name and "generate" not in each.name:
            importlib.import_module(each.name)
    return ResponseClassRegistry._response_class_registry[api_key]


def _begin(answered: Answered) -> int:
    """Where the answer begins behind its header."""
    head = io.BytesIO(answered.frame)
    response_class(answered.seen.api_key)[answered.version].parse_header(head)
    return head.tell()


def _fields(item: Any, schema: Any, version: int, path: Steps) -> Iterator[tuple[Steps, Any, Any]]:
    for field in schema._fields:
        if not field.for_version_q(version):
            continue
        value, place = getattr(item, field.name), (*path, field.name)
        yield place, field, value
        if field.is_struct_array():
            for number, each in enumerate(value or ()):
                yield from _fields(each, field.array_of, version, (*place, number))
        elif field.is_struct() and value is not None:
            yield from _fields(value, field, version, place)


def _of_field(field: Any, value: Any, asked: tuple[str, ...], version: int) -> Iterator[tuple[str, bool, Alter]]:
    kind, is_named = field.type_str, field.name in asked
    nullable = field.nullable_for_version_q(version) or field.tagged_field_q(version) or kind in ZERO
    if not field.is_struct() and kind not in BITS and kind != "bool" and value is not None:
        yield "null", nullable, lambda _: None
    if kind in BITS:
        yield from _of_number(field.name, 1 << BITS[kind], is_named)
    elif kind == "bool":
        yield "flipped", True, lambda given: not given
    elif kind == "string" and value is not None:
        yield "other", not is_named, lambda given: f"{given}x"
        yield "empty", not is_named, lambda _: ""
        yield "huge", not is_named, lambda _: "x" * 30_000
    elif kind in {"bytes", "records"} and value:
        yield "cut", True, lambda given: bytes(given)[: len(given) // 2]
        yield "zeros", True, lambda given: bytes(len(given))
        yield "noise", True, lambda given: random.Random(1).randbytes(len(given))
    elif field.is_array() and value:
        yield "empty", not is_named, lambda _: []
        yield "without the first", not is_named, lambda given: given[1:]
        yield "with the last twice", not is_named, lambda given: [*given, given[-1]]


def _of_number(name: str, limit: int, is_named: bool) -> Iterator[tuple[str, bool, Alter]]:
    if name == "error_code":
        for code in UNKNOWN_CODES:
            yield f"unknown {code}", False, lambda _, code=code: code
        yield "-1", False, lambda _: -1
        return
    if name == "throttle_time_ms":
        yield "huge", False, lambda _: LONGEST_MS
    else:
        yield "huge", not is_named, lambda _: limit - 1
        yield "one more", not is_named, lambda given: min(given + 1, limit - 1)
        yield "-1", True, lambda _: -1
    yield "negative", False, lambda _: -limit


def _of_frames(answered: Answered, chance: random.Random) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    yield "other correlation ID", lambda frame: bytes([frame[0] ^ 1]) + frame[1:]
    yield "next correlation ID", lambda frame: frame[:3] + bytes([frame[3] + 1 & 255]) + frame[4:]
    yield "empty", lambda _: b""
    for part in (0.1, chance.random(), 0.9):
        yield f"cut at {part:.2f}", lambda frame, part=part: frame[: max(4, int(len(frame) * part))]
    yield "cut by one", lambda frame: frame[:-1]
