"""The nouns that differ from one in a single place, which decisions have to tell apart, and the answers to them.

A number is one less or one more, an enum another of its members, an element of a tuple or a mapping is missing, a fact
that may be absent or unread is.
"""

import re
import types
import typing
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from enum import Enum
from functools import cache
from inspect import signature
from typing import Any, Final, NamedTuple, Union

import msgspec

from eosctl.errors import EosctlError
from eosctl.model.skipped import Skipped

UNREAD: Final = Skipped("unread")
MOST: Final = 3
"""Of a long tuple or mapping so many elements are changed: the first ones and the last."""
SHOWN: Final = 6
"""So many places in which an answer differs are shown; of the others there is a checksum."""
NO_SUCH: Final = (
    *(LookupError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError, AssertionError),
    *(ArithmeticError, EosctlError),
)
"""What a function raises that is given a noun that may not be; that is an answer, too."""
ABSENT: Final = {int: 0, str: "~", bool: True}
"""What stands where there was nothing."""


class Neighbour(NamedTuple):
    """A noun that differs at `place` alone, and how, in words."""

    place: str
    change: str
    value: Any

    def __str__(self) -> str:
        return f"{self.place} {self.change}"


def neighbours(value: Any, allowed: Any = None) -> Iterator[Neighbour]:
    """Those of a noun; `allowed` is its type where it is a field, which says what else it may be."""
    kinds = _members(allowed)
    if value is not None and types.NoneType in kinds:
        yield Neighbour("", "none", None)
    if not isinstance(value, Skipped) and Skipped in kinds:
        yield Neighbour("", "unread", UNREAD)
    if value is None:
        yield from (Neighbour("", "there", made) for kind, made in ABSENT.items() if kind in kinds)
    elif isinstance(value, bool | Enum | int | float | str | bytes):
        yield from (Neighbour("", f"{change}", changed) for change, changed in _scalars(value))
    else:
        yield from _within(value, allowed)


def _within(value: Any, allowed: Any) -> Iterator[Neighbour]:
    match value:
        case Mapping():
            yield from _mappings(value, allowed)
        case frozenset() | set():
            for one in _some(sorted(value, key=repr)):
                yield Neighbour(f"[{one}]", "left out", value - {one})
                for each in neighbours(one):
                    yield each._replace(place=f"[{one}]{each.place}", value=value - {one} | {each.value})
        case tuple() if hasattr(value, "_fields"):
            yield from _fields(value, value._fields, value._replace)
        case Sequence():
            yield from _sequences(whole(value), allowed)
        case msgspec.Struct():
            yield from _fields(value, value.__struct_fields__, lambda **new: msgspec.structs.replace(value, **new))


def _scalars(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield str(not value), not value
        case Enum():
            yield from ((str(each), each) for each in type(value) if each is not value)
        case int() | float():
            yield from ((f"{value}{step:+}", value + step) for step in (-1, 1))
        case str() if value.removeprefix("-").isdigit():
            yield from ((f"{value}{step:+}", str(int(value) + step)) for step in (-1, 1))
        case "true" | "false":
            yield "turned", "false" if value == "true" else "true"
        case str():
            yield "another", f"{value}~"
        case bytes():
            yield "another", value + b"~"


def _mappings(value: Mapping[Any, Any], allowed: Any) -> Iterator[Neighbour]:
    for key in _some(sorted(value, key=str)):
        yield Neighbour(f"[{_short(key)}]", "left out", {each: value[each] for each in value if each != key})
        for each in neighbours(value[key], _element(allowed, 1)):
            yield each._replace(place=f"[{_short(key)}]{each.place}", value={**value, key: each.value})


def _sequences(value: Any, allowed: Any) -> Iterator[Neighbour]:
    kinds = typing.get_args(allowed)
    fixed = typing.get_origin(allowed) is tuple and Ellipsis not in kinds
    for at in _some(list(range(len(value)))):
        if not fixed:
            yield Neighbour(f"[{at}]", "left out", value[:at] + value[at + 1 :])
        for each in neighbours(value[at], kinds[at] if fixed else _element(allowed, 0)):
            changed = [each.value if number == at else other for number, other in enumerate(value)]
            yield each._replace(place=f"[{at}]{each.place}", value=type(value)(changed))


def _fields(value: Any, names: Collection[str], replaced: Callable[..., Any]) -> Iterator[Neighbour]:
    for name in names:
        for each in neighbours(getattr(value, name), types_of(type(value)).get(name)):
            try:
                changed = replaced(**{name: each.value})
            except (ValueError, TypeError):  # no such noun may be
                continue
            yield each._replace(place=f".{name}{each.place}", value=changed)


def _some(elements: list[Any]) -> list[Any]:
    return elements if len(elements) <= MOST else [*elements[: MOST - 1], elements[-1]]


def _short(key: object) -> str:
    return " ".join(map(_short, key)) if isinstance(key, tuple) else str(key)


@cache
def types_of(kind: Any) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError:  # it names a type that only the type checker imports
        return {}


def _members(allowed: Any) -> tuple[Any, ...]:
    return typing.get_args(allowed) if typing.get_origin(allowed) in {Union, types.UnionType} else ()


def _element(allowed: Any, at: int) -> Any:
    """The type of a tuple's elements, or of a mapping's values, in a type that may be something else, too."""
    for each in (allowed, *_members(allowed)):
        found = typing.get_args(each)
        if isinstance(typing.get_origin(each), type) and len(found) > at:
            return found[at]
    return None


def by_answer(value: msgspec.Struct, ask: Callable[[Any], str], within: Collection[str] = ()) -> Iterator[str]:
    """Each other answer that a neighbour of the noun gets, and which neighbours get it; `within` names its fields."""
    names = within or value.__struct_fields__
    others = _fields(value, sorted(names), lambda **new: msgspec.structs.replace(value, **new))
    return _grouped(((str(each), each.value) for each in others), ask, ask(value))


def by_call(function: Callable[..., Any], /, *given: Any, **named: Any) -> Iterator[str]:
    """How the answer of a function differs where one of its arguments is a neighbour of the given one."""
    arguments = dict(zip(signature(function).parameters, given, strict=False)) | named
    before = whole(function(*given, **named))

    def changed() -> Iterator[tuple[str, Any]]:
        for name, value in arguments.items():
            for each in neighbours(value, types_of(function).get(name)):
                yield f"{name}{each}", {**arguments, name: each.value}

    def ask(other: dict[str, Any]) -> str:
        values = [other[each] for each in list(arguments)[: len(given)]]
        return difference(before, whole(function(*values, **{each: other[each] for each in named})))

    return _grouped(changed(), ask, "")


def whole(answer: Any) -> Any:
    """As a list or a tuple, where it is made when it is gone through."""
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | tuple | list):
        return tuple(answer)
    return list(answer) if isinstance(answer, Iterator) else answer


def _grouped(others: Iterator[tuple[str, Any]], ask: Callable[[Any], str], before: str) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for place, value in others:
        try:
            answer = ask(value)
        except NO_SUCH as error:
            answer = f"{type(error).__name__}: {data_of(str(error))}"
        found.setdefault(answer, []).append(place)
    for answer, places in sorted(found.items()):
        if answer != before:
            yield f"  {answer} <- {', '.join(places)}"


def _parts(value: Any) -> dict[str, Any] | None:
    """What a noun consists of, by its place in it; None for a single value."""
    found: dict[str, Any] | None = None
    match value:
        case str() | bytes() | Enum() | Skipped() | None:
            pass
        case msgspec.Struct():
            found = _told(value, value.__struct_fields__)
        case tuple() if hasattr(value, "_fields"):
            found = _told(value, value._fields)
        case tuple() | list():
            found = {f"[{at}]": each for at, each in enumerate(value)}
        case Mapping():
            found = {f"[{_short(key)}]": each for key, each in value.items()}
        case frozenset() | set():
            found = {f"[{at}]": each for at, each in enumerate(sorted(value, key=repr))}
    return found


def _told(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """The fields that are not as they are by default: a field that is new changes no answer that does not use it."""
    defaults = _defaults(type(value))
    fields = ((name, getattr(value, name)) for name in names)
    return {f".{name}": each for name, each in fields if name not in defaults or each != defaults[name]}


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    if not issubclass(kind, msgspec.Struct):
        return dict(kind._field_defaults)
    last = kind.__struct_fields__[len(kind.__struct_fields__) - len(kind.__struct_defaults__) :]
    return {
        name: each for name, each in zip(last, kind.__struct_defaults__, strict=True) if each is not msgspec.NODEFAULT
    }


def flat(value: Any, place: str = "") -> Iterator[str]:
    """The places in an answer with what is there, as data: of prose its names and numbers alone."""
    parts = _parts(whole(value))
    if isinstance(value, Skipped):
        yield f"{place}=unread: {value.reason}"
    elif parts is None:
        yield f"{place}={data_of(str(value)) if isinstance(value, str | bytes | Enum) else _repr(value)}"
    else:
        if isinstance(value, msgspec.Struct) or not parts:
            yield f"{place}={type(value).__name__}"
        for name, each in parts.items():
            yield from flat(each, f"{place}{name}")


def _repr(value: Any) -> str:
    """Without addresses, which are others in each run."""
    found = repr(value)
    return type(value).__name__ if " at 0x" in found else found


def difference(before: Any, now: Any) -> str:
    """The places in which an answer differs from the one before."""
    shown = list(_differing(before, now, ""))
    rest = "\n".join(shown[SHOWN:]).encode()
    return "; ".join([*shown[:SHOWN], *([f"{len(shown) - SHOWN} more {zlib.crc32(rest):08x}"] if rest else [])])


def _differing(before: Any, now: Any, place: str) -> Iterator[str]:
    before, now = whole(before), whole(now)
    if type(before) is type(now):
        if before == now:
            return
        was, parts = _parts(before), _parts(now)
        if was is not None and parts is not None:
            for name in {**was, **parts}:
                if name not in parts:
                    yield f"{place}{name} gone"
                elif name not in was:
                    yield from flat(parts[name], f"{place}{name}")
                else:
                    yield from _differing(was[name], parts[name], f"{place}{name}")
            return
    yield from flat(now, place)


def data_of(text: str) -> str:
    """Names and numbers in a sentence: it may be worded anew. A text of up to two words is left as it is."""
    words = text.split()
    return text if len(words) < 3 else " ".join(["..", *(each for each in words if re.search(r"[\d=_./:-].", each))])


def made(hint: Any) -> Any:
    """A value of this type in which everything is there that may be: one element, no None, nothing unread."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return made(inner[0])
    if origin in {Union, types.UnionType}:
        return made(next(each for each in inner if each is not types.NoneType and each is not Skipped))
    if origin is typing.Literal:
        return inner[0]
    if isinstance(origin, type):
        return _made_container(origin, inner)
    if isinstance(hint, type):
        return _made_of(hint)
    return "a"


def _made_container(origin: type, inner: tuple[Any, ...]) -> Any:
    if issubclass(origin, Mapping):
        return {made(inner[0]): made(inner[1])}
    if issubclass(origin, Set):
        return frozenset({made(inner[0])})
    if origin is tuple and Ellipsis not in inner:
        return tuple(map(made, inner))
    return (made(inner[0]),)


def _made_of(kind: type) -> Any:
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, msgspec.Struct) or hasattr(kind, "_fields"):
        names = kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else kind._fields
        known = types_of(kind)
        return kind(**{name: made(known[name]) for name in names if name in known})
    simple = {int: 7, float: 1.5, str: "a", bool: True, bytes: b"a", date: date(2026, 1, 2)}
    return simple.get(kind, "a")
