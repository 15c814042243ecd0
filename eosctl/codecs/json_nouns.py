"""The nouns of the model as JSON and back, derived from their type hints: snapshots, plans and journals hold these.

    dataclass, named tuple   object with a member for each field
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

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from eosctl.codecs.json_forms import (
    KIND,
    SCALARS,
    SKIPPED,
    Form,
    Wrong,
    enumeration,
    list_of,
    mapping_of,
    object_of,
    one_of,
    or_null,
    or_skipped,
)
from eosctl.errors import Undecodable
from eosctl.model.skipped import Skipped

T = TypeVar("T")
Elsewhere = Mapping[type, Mapping[str, object]]
"""Fields that are not in the objects of a class, and what stands in them after decoding."""


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
        """The value as objects, lists, text, whole numbers, booleans and null."""
        return self._form.encode(value)

    def decode(self, value: object, place: str, member: str = "") -> T:
        """The inverse of encode.

        `place` says where the value stands, `member` as which member. Raises Undecodable with both and with the path
        to what is wrong.
        """
        try:
            return self._form.decode(value)  # type: ignore[no-any-return]  # the form is that of T
        except Wrong as wrong:
            path = (member + "".join(reversed(wrong.path))).removeprefix(".")
            raise Undecodable(f"{place}: {path} {wrong.what}" if path else f"{place} {wrong.what}") from None


class _Forms:
    """Makes the forms of types, each once."""

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
        if is_dataclass(hint) or hasattr(hint, "_fields"):
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
