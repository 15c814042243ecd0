"""Structs some fields of which are secrets, or hold them: their repr leaves these out."""

from typing import ClassVar

from msgspec import Struct


class HiddenFields(Struct, frozen=True):
    """A Struct without the fields in `hidden` in its repr: an error's text, a log or a traceback may show that."""

    hidden: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in self.hidden
        )
        return f"{type(self).__name__}({shown})"
