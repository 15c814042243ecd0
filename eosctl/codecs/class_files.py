"""Names in Java class files (JVM specification, chapter 4): a class, its superclass, its methods, other classes."""

import struct
from collections.abc import Iterator
from typing import Final

from eosctl.model.certification import ClassFile

MAGIC: Final = 0xCAFEBABE
UTF8: Final = 1
CLASS: Final = 7
WIDE: Final = frozenset({5, 6})
"""Long and double take two entries of the constant pool."""
SIZES: Final = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


def decode_class(content: bytes) -> ClassFile | None:
    """The class in a `.class` file; None where the bytes are none."""
    try:
        return _class(content)
    except (struct.error, IndexError, KeyError, UnicodeDecodeError):
        return None


def _class(content: bytes) -> ClassFile | None:
    magic, _, _, count = struct.unpack_from(">IHHH", content)
    if magic != MAGIC:
        return None
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    position, entry = 10, 1
    while entry < count:
        tag = content[position]
        if tag == UTF8:
            (length,) = struct.unpack_from(">H", content, position + 1)
            texts[entry] = content[position + 3 : position + 3 + length].decode(errors="replace")
            position += 3 + length
        else:
            if tag == CLASS:
                (classes[entry],) = struct.unpack_from(">H", content, position + 1)
            position += 1 + SIZES[tag]
        entry += 2 if tag in WIDE else 1
    _, this, parent, interfaces = struct.unpack_from(">HHHH", content, position)
    position += 8 + 2 * interfaces
    position = _behind_members(content, position)
    methods = frozenset(texts[name] for name in _member_names(content, position))
    mentioned = frozenset(texts[name] for name in classes.values())
    return ClassFile(texts[classes[this]], texts[classes[parent]] if parent else None, methods, mentioned)


def _member_names(content: bytes, position: int) -> Iterator[int]:
    """The constant that names each field, or each method, of the table at this position."""
    for name, _ in _members(content, position):
        yield name


def _behind_members(content: bytes, position: int) -> int:
    ends = [end for _, end in _members(content, position)]
    return ends[-1] if ends else position + 2


def _members(content: bytes, position: int) -> Iterator[tuple[int, int]]:
    """The name of each member, and where it ends."""
    (count,) = struct.unpack_from(">H", content, position)
    position += 2
    for _ in range(count):
        _, name, _, attributes = struct.unpack_from(">HHHH", content, position)
        position += 8
        for _ in range(attributes):
            (length,) = struct.unpack_from(">I", content, position + 2)
            position += 6 + length
        yield name, position
