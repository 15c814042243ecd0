"""Inputs with a format's grammar, but with contents that only an attacker writes."""

import random
import re
from typing import Final

ODD: Final = (
    *(b"[" * 300 + b"]" * 300, b'{"a":' * 300 + b"1" + b"}" * 300, b"[" * 100_000),
    *(b"9" * 5_000, b"-" + b"9" * 25, b"1e999", b"1e" + b"9" * 400, b"0.1e-9999", b"2147483647"),
    *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xed\xa0\x80"', b'"\\u0000"', b'"' + b"x" * 100_000 + b'"'),
    *(b"null", b"true", b"NaN", b"Infinity", b"{}", b"[]", b'""', b'{"a":1,"a":2}', b"2024-01-01"),
    *(b"0x" + b"f" * 6_000, b"-9223372036854775809"),
    *(b"!!python/object:os.system", b"*a", b"&a [*a]", b"${env:HOME}", b"\xe2\x80\xae", b"\x1b[2J"),
)  # fmt: skip
"""Replacements for a value: depth, size, numbers, half characters, duplicate keys, other languages."""

_VALUE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|\w+')


def grown(seed: bytes, chance: random.Random) -> bytes:
    """`seed` with one to three of its values, or of its lines, replaced by odd ones or doubled."""
    data = seed
    for _ in range(chance.randint(1, 3)):
        places = [match.span() for match in _VALUE.finditer(data)]
        if not places or len(data) > 1 << 20:
            break
        begin, end = chance.choice(places)
        if chance.random() < 0.1:
            lines = data.splitlines(keepends=True)
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            data = b"".join(lines)
        else:
            data = data[:begin] + chance.choice(ODD) + data[end:]
    return data
