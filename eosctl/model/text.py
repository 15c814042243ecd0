"""Numbers of things in sentences."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from eosctl.late_pattern import late_pattern

SHOWN: Final = 5


def pluralize(count: int, one: str, many: str | None = None) -> str:
    """`1 connector`, `2,000 connectors`; `pluralize(2, "key lies", "keys lie")` if more than a letter changes."""
    noun = one if count == 1 else many or f"{one}s"
    return f"{count:,} {noun}"


def first_few(names: Sequence[object], between: str = ", ", most: int = SHOWN) -> str:
    """The first of them (five, unless `most` says otherwise), and how many more there are."""
    shown = between.join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# Invisible characters, and ones that move others: how each format writes them without changing the value.


_RANGES: Final = (
    r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    # Unicode's Bidi_Control, and Default_Ignorable_Code_Point: what has no width, or turns text around.
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSEEN: Final = late_pattern(f"[{_RANGES}]")
_IN_TEXT: Final = late_pattern(f"(?!\n)[{_RANGES}]")
"""The same, but for the line feed that ends the lines of a text."""


def escaped_in_json(text: str) -> str:
    """A JSON document whose strings have `\\uXXXX` for these characters: it reads as the same value."""
    return text if text.isascii() and "\x7f" not in text else _IN_TEXT.sub(_utf16, text)


def escaped_in_yaml(text: str) -> str:
    """A YAML document that has these characters in double quotes only: it reads as the same value."""
    return text if text.isascii() and "\x7f" not in text else _IN_TEXT.sub(_by_number, text)


def escaped_in_lines(text: str) -> str:
    """Lines of any text with these characters written as escapes, the line feeds and tabs kept."""
    return _IN_TEXT.sub(lambda found: found[0] if found[0] == "\t" else _by_number(found), text)


def shell_word(word: str) -> str:
    """The word quoted for any POSIX shell; `"$(printf ...)"` with octal bytes of UTF-8 if it has such a character.

    `$'...'` would be shorter, but dash reads it as other text. Line feeds at the end, which `$(...)` drops, follow the
    quotation.
    """
    if UNSEEN.search(word) is None:
        return shlex.quote(word)
    body = word.rstrip("\n")
    quoted = body.replace("\\", "\\\\").replace("'", "\\0047")
    octal = UNSEEN.sub(lambda found: "".join(f"\\0{byte:03o}" for byte in _utf8(found[0])), quoted)
    return f"\"$(printf %b '{octal}'){word[len(body) :]}\""


def _utf8(char: str) -> bytes:
    return char.encode("utf-8", "surrogatepass")


def _utf16(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _by_number(found: re.Match[str]) -> str:
    point = ord(found[0])
    return f"\\u{point:04x}" if point < 1 << 16 else f"\\U{point:08x}"


_WORD: Final = late_pattern(r"(?<!^)(?=[A-Z])")


def kind_of(noun: type) -> str:
    """The class name as lower-case words joined by dashes: `stop-connector` for StopConnector."""
    return _WORD.sub("-", noun.__name__).lower()
