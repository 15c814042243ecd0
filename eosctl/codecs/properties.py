"""Java properties files (java.util.Properties). docs/dev/decisions/0002 says why no library reads them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.errors import ConfigError
from eosctl.late_pattern import late_pattern

ENCODING: Final = "iso-8859-1"
"""The encoding in which Java, and so every Kafka client, reads these files: any bytes are text."""

_BLANK: Final = " \t\f"
_LINE_END = late_pattern(r"\r\n|\n|\r")
_ESCAPED = r"(?:[^\\=: \t\f]|\\.)*"
_KEY = late_pattern(_ESCAPED, re.DOTALL)
_SEPARATOR = late_pattern(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = late_pattern(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_PLAIN: Final = late_pattern(r"[A-Za-z0-9_.,;/@+*$(){}\[\]<>|&?%'\"^~-]")
_UNIT_BYTES: Final = 2


def decode_properties(text: str, *, origin: str) -> dict[str, str]:
    """Key -> value of Java properties text, a later value of a key replacing an earlier one.

    1. A line ends with `\\n`, `\\r` or `\\r\\n`. Blanks are space, tab and form feed; those before a line are dropped.
    2. A line that is empty then, or starts with `#` or `!`, is passed over.
    3. A line that ends in an odd number of backslashes goes on in the next one, without the last of them. As long as
       nothing but such backslashes was read, rule 2 holds for the next line too.
    4. The key ends at the first `=`, `:` or blank that has no backslash before it; blanks around that, and one `=` or
       `:`, are not part of the value.
    5. `\\t \\n \\f \\r` and `\\uXXXX` (a UTF-16 unit) are characters; before any other a backslash is dropped.
    6. A backslash as all there is of the last line, with no more than `\\n` or `\\r` after it, is an empty key.

    Raises ConfigError naming `origin` (the file) for a `\\u` without four hexadecimal digits.
    """
    decoded = {}
    for line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        decoded[_unescaped(key[0], origin)] = _unescaped(line[separator.end() :], origin)
    return decoded


def encode_properties(properties: Mapping[str, str]) -> str:
    """Properties text that `decode_properties` and java.util.Properties read as these keys and values; one a line."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(text: str) -> str:
    return "".join(each if _PLAIN.match(each) else _units(each) for each in text)


def _units(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at : at + _UNIT_BYTES].hex()}" for at in range(0, len(encoded), _UNIT_BYTES))


def _logical_lines(text: str) -> Iterator[str]:
    line, ends_here = "", False
    for natural in _LINE_END.split(text):
        content = natural.lstrip(_BLANK)
        if not line and (not content or content[0] in "#!"):
            ends_here = ends_here and not content
            continue
        line += content
        if (len(content) - len(content.rstrip("\\"))) % 2:
            line = line[:-1]
            ends_here = True
            continue
        yield line
        line, ends_here = "", False
    if line or (ends_here and re.search(r"\\[\n\r]?\Z", text)):
        yield line


def _unescaped(text: str, origin: str) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        unit, other = match[1], match[2]
        if unit is not None:
            return chr(int(unit, 16))
        if other == "u":
            # The text is not quoted: it may be a password.
            raise ConfigError(
                f"{origin} has a \\u that four hexadecimal digits do not follow", hint="write a backslash as \\\\"
            )
        return _LETTERS.get(other, other)

    units = _ESCAPE.sub(character, text)
    # Two units of a pair are one character.
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
