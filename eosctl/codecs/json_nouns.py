"""The nouns of the model as JSON and back, derived from their type hints: snapshots, plans and journals hold these.

    Struct, named tuple      object with a member for each field
    one of several of them   the same with `kind`, the name of the class: `stop-connector` for StopConnector
    X | Skipped              X, or {"skipped": reason, "cause": cause}
    X | None                 X, or null
    str, int, bool, object   as they are; object is any JSON
    StrEnum                  its value; a value that is not known is UNKNOWN where the enumeration has it
    bytes                    base64
    KafkaVersion             text
    tuple, frozenset         list; a set is sorted
    Mapping                  object; a list of [key, value] where keys are not text or int, or one of them is "skipped"

Decoding is strict: nothing is converted, every member is required and no other one is accepted.
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from eosctl.errors import Undecodable, Unsupported
from eosctl.model.skipped import Skipped
from eosctl.model.text import kind_of
from eosctl.model.versions import KafkaVersion

SKIPPED: Final = "skipped"
REASON: Final = "reason"
KIND: Final = "kind"
_WORDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number with a fraction",
    bool: "a boolean",
    NoneType: "null",
}


class Wrong(Exception):
    """A problem with a value; `path` has the members that lead to it, the innermost first."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.path: list[str] = []

    def at(self, member: str) -> "Wrong":
        self.path.append(member)
        return self


class Form(NamedTuple):
    """How values of one type are written and read; values of class `plain` are the same in JSON."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    plain: type | None = None


def object_of(kind: type, forms: Mapping[str, Form], apart: Mapping[str, object], tag: tuple[str, ...]) -> Form:
    """An object with a member for each of `forms`, and `kind` where tag names it; apart are the other fields."""
    fields = tuple(forms)
    names = (*tag, *(SKIPPED if kind is Skipped and field == REASON else field for field in fields))
    members = [(name, form) for name, form in zip(names[len(tag) :], forms.values(), strict=True)]
    encoded = [(name, form.encode) for name, form in members if form.plain is None]
    decoded = [(name, form.plain, form.decode) for name, form in members]
    expected, tags = frozenset(names), [kind_of(kind)] * len(tag)
    in_order = issubclass(kind, tuple) and not apart

    def encode(value: Any) -> dict[str, Any]:  # noqa: ANN401  # any of the nouns
        values = value if in_order else [getattr(value, field) for field in fields]
        found: dict[str, Any] = dict(zip(names, (*tags, *values) if tags else values, strict=True))
        for name, encode_member in encoded:
            if (member := found[name]) is not None:
                found[name] = encode_member(member)
        return found

    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        if type(value) is not dict or value.keys() != expected:
            raise _no_object(value, expected)
        found, name = [], ""
        try:
            for name, plain, decode_member in decoded:
                member = value[name]
                found.append(member if type(member) is plain else decode_member(member))
        except Wrong as wrong:
            raise wrong.at(f".{name}") from None
        if in_order:
            return kind(*found)
        return kind(**dict(zip(fields, found, strict=True)), **apart)

    return Form(encode, decode)


def _no_object(value: Any, expected: frozenset[str]) -> Wrong:  # noqa: ANN401  # any JSON
    if type(value) is not dict:
        return _unlike(value, "an object")
    missing = expected - value.keys()
    if missing:
        return Wrong(f"lacks {min(missing)!r}")
    return Wrong(f"has a member {min(value.keys() - expected)!r} that does not belong there")


def one_of(forms: Mapping[type, Form]) -> Form:
    by_kind = {kind_of(each): form.decode for each, form in forms.items()}

    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        if type(value) is not dict or KIND not in value:
            raise _no_object(value, frozenset({KIND}))
        kind = value[KIND]
        decode_kind = by_kind.get(kind) if type(kind) is str else None
        if decode_kind is None:
            raise Wrong(f"is {kind!r}, which is no kind that this eosctl knows").at(f".{KIND}")
        return decode_kind(value)

    return Form(lambda value: forms[type(value)].encode(value), decode)


def or_skipped(form: Form, skipped: Form) -> Form:
    """The values of `form`, which has no member named "skipped", or Skipped."""
    return Form(
        lambda value: (skipped if type(value) is Skipped else form).encode(value),
        lambda value: (skipped if type(value) is dict and SKIPPED in value else form).decode(value),
    )


def or_null(form: Form) -> Form:
    encode, decode, _ = form
    return Form(
        lambda value: None if value is None else encode(value),
        lambda value: None if value is None else decode(value),
        form.plain,
    )


def list_of(kind: type, item: Form) -> Form:
    """A list, of a tuple in its order, of a frozenset sorted."""
    ordered: Callable[[Iterable[Any]], Iterable[Any]] = sorted if kind is frozenset else iter

    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        return kind(_items(value, item))

    return Form(lambda value: [item.encode(each) for each in ordered(value)], decode)


def _items(value: Any, item: Form) -> list[Any]:  # noqa: ANN401  # any JSON
    if type(value) is not list:
        raise _unlike(value, "a list")
    found: list[Any] = []
    try:
        for each in value:
            found.append(item.decode(each))  # noqa: PERF401  # how many there are names the one that is wrong
    except Wrong as wrong:
        raise wrong.at(f"[{len(found)}]") from None
    return found


def _members_of(key: Form, item: Form) -> Form:
    """A mapping whose keys are text or, as `key` says, whole numbers as text."""

    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        if type(value) is not dict:
            raise _unlike(value, "an object")
        found: dict[Any, Any] = {}
        name = ""
        try:
            for name, each in value.items():
                found[key.decode(name)] = item.decode(each)
        except Wrong as wrong:
            raise wrong.at(f".{name}") from None
        return found

    return Form(lambda value: {key.encode(name): item.encode(each) for name, each in value.items()}, decode)


def _pairs(key: Form, item: Form) -> Form:
    def pair(value: Any) -> tuple[object, object]:  # noqa: ANN401  # any JSON
        if type(value) is not list or len(value) != 2:
            raise Wrong("is not a key and a value")
        return key.decode(value[0]), item.decode(value[1])

    pairs = Form(tuple, pair)
    return Form(
        lambda value: [[key.encode(name), item.encode(each)] for name, each in value.items()],
        lambda value: dict(_items(value, pairs)),
    )


def mapping_of(key_type: object, key: Form, item: Form) -> Form:
    """An object; [key, value] pairs where the keys are not text or int, or one of them is "skipped"."""
    as_pairs = _pairs(key, item)
    if key_type not in {str, int}:
        return as_pairs
    as_object = _members_of(_NUMBERED if key_type is int else key, item)
    return Form(
        lambda value: (as_pairs if SKIPPED in value else as_object).encode(value),
        lambda value: (as_pairs if type(value) is list else as_object).decode(value),
    )


def enumeration(kind: type[StrEnum]) -> Form:
    """The value of a member; an unknown value is read as UNKNOWN if there is such a member."""
    known = {each.value: each for each in kind}
    newer = kind.__members__.get("UNKNOWN")

    def decode(value: Any) -> StrEnum:  # noqa: ANN401  # any JSON
        found = known.get(value, newer) if type(value) is str else None
        if found is None:
            *names, last = known
            shown = repr(value) if type(value) is str else _type_name(value)
            raise Wrong(f"is {shown}, not {', '.join(names)} or {last}")
        return found

    return Form(attrgetter("_value_"), decode)


def _exactly(kind: type) -> Form:
    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        if type(value) is not kind:
            raise _unlike(value, _WORDS[kind])
        return value

    return Form(_same, decode, kind)


def _same(value: object) -> object:
    return value


def _unlike(value: object, wanted: str) -> Wrong:
    return Wrong(f"is {_type_name(value)}, not {wanted}")


def _type_name(value: object) -> str:
    return _WORDS[type(value)]


def _text_of(read: Callable[[str], object], write: Callable[[Any], str], noun: str) -> Form:
    def decode(value: Any) -> object:  # noqa: ANN401  # any JSON
        if type(value) is not str:
            raise _unlike(value, "text")
        try:
            return read(value)
        except ValueError:
            raise Wrong(f"is not {noun}") from None

    return Form(write, decode)


def _whole(text: str) -> int:
    number = int(text)
    if str(number) != text:
        raise ValueError(text)
    return number


_NUMBERED: Final = _text_of(_whole, str, "named by a whole number")
SCALARS: Final[Mapping[object, Form]] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    object: Form(_same, _same, object),
    bytes: _text_of(
        partial(a2b_base64, strict_mode=True), lambda value: b2a_base64(value, newline=False).decode("ascii"), "base64"
    ),
    KafkaVersion: _text_of(KafkaVersion.parse, str, "a Kafka version"),
}


T = TypeVar("T")
Elsewhere = Mapping[type, Mapping[str, object]]
"""Fields that are not in the objects of a class, and their values after decoding."""


class JsonNoun(Generic[T]):
    """One type as JSON, in the types of the json module.

    `hint` is the type or union, `elsewhere` which fields are not in its objects. It is derived at first use, which
    raises TypeError for a type that has no form.
    """

    def __init__(self, hint: object, elsewhere: Elsewhere | None = None) -> None:
        self._hint = hint
        self._elsewhere = elsewhere or {}

    @cached_property
    def _form(self) -> Form:
        return _Forms(self._elsewhere).of(self._hint)

    def encode(self, value: T) -> Any:  # noqa: ANN401  # what json.dumps takes
        return self._form.encode(value)

    def decode(self, value: object, place: str, member: str = "") -> T:
        """The inverse of encode.

        `place` names where the value stands, `member` its member. Raises Undecodable with both and with the path to the
        fault.
        """
        try:
            return self._form.decode(value)  # type: ignore[no-any-return]  # the form is that of T
        except Wrong as wrong:
            path = (member + "".join(reversed(wrong.path))).removeprefix(".")
            raise Undecodable(f"{place}: {path} {wrong.what}" if path else f"{place} {wrong.what}") from None


class _Forms:
    def __init__(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self._made: dict[tuple[object, bool], Form] = {}

    def of(self, hint: Any, tagged: bool = False) -> Form:  # noqa: ANN401  # types, unions and generic aliases
        form = self._made.get((hint, tagged))
        if form is None:
            form = self._made[hint, tagged] = self._make(hint, tagged)
        return form

    def _make(self, hint: Any, tagged: bool) -> Form:  # noqa: ANN401  # types, unions and generic aliases
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType}:
            return self._union(arguments)
        if origin in {tuple, frozenset}:
            return list_of(origin, self.of(arguments[0]))
        if origin is Mapping:
            return mapping_of(arguments[0], *map(self.of, arguments))
        if hint in SCALARS:
            return SCALARS[hint]
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return enumeration(hint)
        if hasattr(hint, "__struct_fields__") or hasattr(hint, "_fields"):
            return self._object(hint, tagged)
        raise TypeError(f"{hint} has no form in JSON")

    def _union(self, kinds: tuple[Any, ...]) -> Form:
        others = [each for each in kinds if each not in {NoneType, Skipped}]
        form = self.of(others[0]) if len(others) == 1 else one_of({each: self.of(each, True) for each in others})
        if Skipped in kinds:
            form = or_skipped(form, self.of(Skipped))
        return or_null(form) if NoneType in kinds else form

    def _object(self, kind: type, tagged: bool) -> Form:
        forms = {name: self.of(hint) for name, hint in get_type_hints(kind).items() if name not in self._apart(kind)}
        if SKIPPED in forms or (tagged and KIND in forms):
            raise TypeError(f"{kind} has a field that stands for something else in JSON")
        return object_of(kind, forms, self._apart(kind), (KIND,) if tagged else ())

    def _apart(self, kind: type) -> Mapping[str, object]:
        return self._elsewhere.get(kind, {})


def check_version(head: object, noun: str, kind: str, version: int, other: Undecodable) -> None:
    """Raise `other` where `head` does not begin a file of this kind, Unsupported where the version is another one."""
    if not isinstance(head, dict) or head.get("kind") != kind:
        raise other
    found = head.get("version")
    if type(found) is not int:
        raise Undecodable(f"the {noun} has no version")
    if found != version:
        raise Unsupported(
            f"the {noun} has version {found}, this eosctl reads version {version}",
            hint=f"use the eosctl that wrote the {noun}, or write it again with this one",
        )
