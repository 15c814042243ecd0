"""Reading JSON that somebody may have edited or cut: every field is asked for by name and type."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from eosctl.errors import Undecodable

T = TypeVar("T")


class JsonFields:
    """The members of one JSON object; `place` says where it stands, for errors."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, dict):
            raise Undecodable(f"{place} is {_kind(value)}, not an object")
        self._members: Mapping[str, object] = value
        self._place = place

    @property
    def place(self) -> str:
        """Where it stands, for errors."""
        return self._place

    def text(self, name: str) -> str:
        """A string."""
        return self._typed(name, str)

    def whole(self, name: str) -> int:
        """A whole number."""
        value = self._typed(name, int)
        if isinstance(value, bool):
            raise Undecodable(f"{self._place}.{name} is a boolean, not a whole number")
        return value

    def flag(self, name: str) -> bool:
        """A boolean."""
        return self._typed(name, bool)

    def listed(self, name: str) -> list[object]:
        """A list, of anything."""
        return self._typed(name, list)

    def every_text(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self.listed(name)
        texts = tuple(each for each in found if isinstance(each, str))
        if len(texts) < len(found):
            raise Undecodable(f"{self._place}.{name} holds something that is no text")
        return texts

    def inner(self, name: str) -> "JsonFields":
        """An object."""
        return JsonFields(self._member(name), f"{self._place}.{name}")

    def inners(self, name: str) -> "list[JsonFields]":
        """A list of objects."""
        return [JsonFields(each, f"{self._place}.{name}[{i}]") for i, each in enumerate(self.listed(name))]

    def entries(self, name: str) -> "dict[str, JsonFields]":
        """An object of objects."""
        inner = self.inner(name)
        return {key: JsonFields(each, f"{inner._place}.{key}") for key, each in inner._members.items()}

    def numbered_texts(self, name: str) -> dict[int, str]:
        """An object of strings whose member names are whole numbers."""
        try:
            return {int(key): value for key, value in self.texts(name).items()}
        except ValueError as error:
            raise Undecodable(f"{self._place}.{name} has a member that is no whole number") from error

    def texts(self, name: str) -> dict[str, str]:
        """An object of strings."""
        inner = self.inner(name)
        return {key: inner.text(key) for key in inner._members}

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """What `read` gives, or None where the member is null."""
        return None if self._member(name) is None else read(name)

    def members(self) -> Mapping[str, object]:
        """All members as they are."""
        return self._members

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._members

    def _member(self, name: str) -> object:
        if name not in self._members:
            raise Undecodable(f"{self._place} lacks {name!r}")
        return self._members[name]

    def _typed(self, name: str, wanted: type[T]) -> T:
        value = self._member(name)
        if not isinstance(value, wanted):
            raise Undecodable(f"{self._place}.{name} is {_kind(value)}, not {wanted.__name__}")
        return value


def _kind(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"
