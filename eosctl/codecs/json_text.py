"""Loads untrusted JSON with limits of depth and size."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from eosctl.late_pattern import late_pattern

MOST_NESTED: Final = 200
"""Levels of objects and lists. Connect takes more of them, and no connector that is known writes more than a few."""
MOST_CHARACTERS: Final = 1 << 23
"""Of one value in a topic; a broker takes 1 MiB of it by default, in the form that it was compressed to."""

_TOKEN: Final = late_pattern(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_HALF: Final = late_pattern(r"\\u[dD][89a-fA-F]")

_ESCAPE: Final = late_pattern(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in JSON: a surrogate pair, half of one (which is the group), or another."""


def halves_as_text(text: str) -> str:
    """The JSON with each half of a surrogate pair as the text of its escape, which is a character in no encoding."""
    if not _HALF.search(text):
        return text
    return _ESCAPE.sub(lambda found: f"\\{found[0]}" if found[1] else found[0], text)


def is_too_deep(text: str) -> bool:
    """True if objects and lists are nested more than MOST_NESTED deep in the part of the text that is JSON."""
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            if depth > MOST_NESTED:
                return True
        elif sign in "]}":
            depth -= 1
    return False


def load_json(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None, halves: bool = False) -> Any:  # noqa: ANN401  # any JSON
    """The value in the text of a file; `pairs` makes objects of their members.

    Raises JSONDecodeError for other text, for NaN and numbers that no double holds, for half a surrogate pair without
    `halves`, and for nesting or numbers beyond the limits.
    """
    if is_too_deep(text):
        raise json.JSONDecodeError(f"it is nested more than {MOST_NESTED} deep", "", 0)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=pairs)
        if not halves and _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError:
        raise json.JSONDecodeError("half a surrogate pair is no character", "", 0) from None
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


# JSON as Connect's JsonConverter reads it with schemas.enable=false, and text as Kafka's StringDeserializer reads it.
#
# Where Jackson and Python's json differ, Jackson is followed:
# 1. Text after a complete object, array or string is ignored; a literal or number must be followed by a blank.
# 2. NaN and Infinity are refused; leading zeros are accepted (as workers from 3.6 do, KAFKA-15012).
# 3. An integer of any size becomes a Java long: its lowest 64 bits. Anything with a point or an exponent is a double.
# 4. Of members with the same name the last one counts. No bytes at all read as null.
# 5. UTF-16 and UTF-32 are recognised by their first bytes.


_INT64: Final = 1 << 64
_MAX_DIGITS: Final = 1000  # StreamReadConstraints.DEFAULT_MAX_NUM_LEN of Jackson 2.15
_MARKS: Final = (
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xff\xfe", "utf-16-le"),
)
_ENDS: Final = ("", " ", "\t", "\n", "\r")
_BLANK: Final = late_pattern(r"[ \t\n\r]*")
_TEXT_OR_ZEROS: Final = late_pattern(r'("(?:[^"\\]|\\.)*")|(?<![0-9.eE+])(?<![eE]-)0+(?=[0-9])', re.DOTALL)


class NotJson(ValueError):
    """These bytes are not JSON; the message never quotes them."""


def long_value(number: int) -> int:
    """The lowest 64 bits of an integer, as a Java long."""
    number &= _INT64 - 1
    return number - _INT64 if number >= _INT64 >> 1 else number


def int_value(number: int) -> int:
    """The lowest 32 bits of an integer, as a Java int: what a worker takes from `tasks` and `task-count`."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise NotJson("a number has more than 1000 digits")
    return long_value(int(text))


def _double(text: str) -> float:
    if len(text) > _MAX_DIGITS:
        raise NotJson("a number has more than 1000 digits")
    return float(text)


def _constant(_name: str) -> float:
    raise NotJson("NaN and Infinity are not JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_double, parse_constant=_constant)


def read_json(data: bytes) -> object:
    """The value that a worker sees in these bytes: dict, list, str, int, float, bool or None; NotJson otherwise."""
    if len(data) > MOST_CHARACTERS:
        raise NotJson(f"the value has more than {MOST_CHARACTERS} bytes")
    try:
        text = data.decode()
        value = _as_written(text)
        return _read_text(text) if value is None else value
    except UnicodeDecodeError as error:
        if (wide := _wide_encoding(data)) is not None:
            return _read_wide(data, *wide)
        # Jackson decodes as it goes, so bytes after the end of the value do no harm.
        return _read_text(data[: error.start].decode(), cut=True)
    except NotJson:
        if (wide := _wide_encoding(data)) is not None:
            return _read_wide(data, *wide)
        raise


def _as_written(text: str) -> object:
    """The object or array, in the form that Connect itself writes; None for all else, which needs every rule."""
    if text[:1] not in {"{", "["} or "\\u" in text or is_too_deep(text):
        return None
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _wide_encoding(data: bytes) -> tuple[str, int] | None:
    """UTF-16 or UTF-32, by byte order mark (of four bytes and more) or by the zeros around an ASCII character.

    Encoding and length of the mark; None means UTF-8.
    """
    head = data[:4]
    if len(head) == 4:
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                return encoding, len(mark)
        if head[:3] == b"\0\0\0":
            return "utf-32-be", 0
        if head[1:] == b"\0\0\0":
            return "utf-32-le", 0
    if len(head) < 2 or (head[0] and head[1]):
        return None
    return "utf-16-le" if head[0] else "utf-16-be", 0


def _read_wide(data: bytes, encoding: str, mark: int) -> object:
    try:
        return _read_text(data[mark:].decode(encoding, "replace" if encoding.startswith("utf-16") else "strict"))
    except UnicodeDecodeError:
        raise NotJson("the bytes are not text in any of JSON's encodings") from None


def _read_text(text: str, *, cut: bool = False) -> object:
    start = 0 if text[:1] == "{" else _start(text)
    if start == len(text) and not cut:
        return None
    text, value, end = _scan(text, start)
    complete = text[start] in '{["' or (text[end : end + 1] in _ENDS and not (cut and end == len(text)))
    if not complete:
        raise NotJson("a literal is followed by other characters")
    return _without_lone_surrogates(value) if "\\ud" in text or "\\uD" in text else value


def _start(text: str) -> int:
    blank = _BLANK.match(text, 1 if text.startswith("\ufeff") and len(text) > 1 else 0)
    return blank.end() if blank else 0


def _scan(text: str, start: int) -> tuple[str, object, int]:
    if is_too_deep(text):
        raise NotJson("the value is nested too deeply")
    try:
        return text, *_DECODER.raw_decode(text, start)
    except RecursionError:
        raise NotJson("the value is nested too deeply") from None
    except json.JSONDecodeError:
        shorter = _TEXT_OR_ZEROS.sub(lambda match: match[1] or "", text)
    try:
        return shorter, *_DECODER.raw_decode(shorter, start)
    except json.JSONDecodeError:
        raise NotJson("the value is not JSON") from None


def _without_lone_surrogates(value: object) -> object:
    """Half a surrogate pair cannot be written as UTF-8; Java writes `?` for it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return value


def read_text(data: bytes) -> str:
    """UTF-8 as `new String(bytes, UTF_8)` of Java reads it: one U+FFFD for each malformed sequence."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return _replace_malformed(data, error)


def _replace_malformed(data: bytes, error: UnicodeDecodeError) -> str:
    pieces: list[str] = []
    start = 0
    problem: UnicodeDecodeError | None = error
    while problem is not None:
        bad = start + problem.start
        pieces.append(data[start:bad].decode() + "\ufffd")
        start = bad + _malformed_length(data, bad, problem.end - problem.start)
        try:
            pieces.append(data[start:].decode())
            problem = None
        except UnicodeDecodeError as next_problem:
            problem = next_problem
    return "".join(pieces)


def _malformed_length(data: bytes, bad: int, length: int) -> int:
    """Java takes an encoded surrogate (ED A0..BF, and a third byte if there is one) as one malformed sequence."""
    if data[bad] == 0xED and 0xA0 <= int.from_bytes(data[bad + 1 : bad + 2]) <= 0xBF:
        return 3 if int.from_bytes(data[bad + 2 : bad + 3]) & 0xC0 == 0x80 else 2
    return length
