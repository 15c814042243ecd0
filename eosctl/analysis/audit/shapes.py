"""Most comparisons of two source offsets, answered without decoding them.

1. The shape of a value is the value with every digit replaced by 1.
2. A shape is plain if it is an object on one level, in printable ASCII, with distinct names that hold no digit; its
   members are whole numbers of up to 18 digits without a sign, texts without an escape, booleans and null.
3. Of two values with the same plain shape, the later one is no setback (see `advance`) unless its bytes are lower: they
   differ in digits only, and the first digit that differs is higher. In a number it makes the number higher. In a text
   it makes the number at the text's end higher, or the text another one. If one of them is no JSON, nothing compares.
"""

import re
from typing import Final

ONES: Final = bytes.maketrans(b"0123456789", b"1111111111")
"""`value.translate(ONES)` is the shape of a value."""
_NAME: Final = rb'"[ !#-/:-\[\]-~]*"'
_TEXT: Final = rb'"[ !#-\[\]-~]*"'
_MEMBER: Final = rb"(%b): ?(?:1{1,18}|%b|true|false|null)" % (_NAME, _TEXT)
_PLAIN: Final = re.compile(rb"\{(?:%b(?:, ?%b)*)?\}" % (_MEMBER, _MEMBER))
_NAMES: Final = re.compile(_MEMBER)
MOST_SHAPES: Final = 10_000


def is_plain(shape: bytes) -> bool:
    """Whether values of this shape compare by their bytes, by rules 2 and 3."""
    if _PLAIN.fullmatch(shape) is None:
        return False
    names = _NAMES.findall(shape)
    return len(set(names)) == len(names)


class PlainShapes:
    """Remembers which shapes are plain, MOST_SHAPES of them."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes | None] = {}

    def of(self, value: bytes) -> bytes | None:
        """The shape of a value; None where values of that shape may not be compared by their bytes.

        It is the same object for each of them: one that every record is held against stays in the processor's cache.
        """
        shape = value.translate(ONES)
        if shape in self._known:
            return self._known[shape]
        plain = shape if is_plain(shape) else None
        if len(self._known) < MOST_SHAPES:
            self._known[shape] = plain
        return plain
