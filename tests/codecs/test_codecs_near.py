"""The answer of each codec to bytes that differ in one place from valid bytes: another value, or what is wrong and
where."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from eosctl.errors import EosctlError
from tests.codecs.test_fuzz import CODECS
from tests.looked_at import AsLookedAt
from tests.neighbours import data_of, difference, flat

MOST = 40
FEW = 8
"""So many places of a short seed are changed, and so many of a long one, which takes a millisecond to read."""
LONG = 150


def changed(seed: bytes) -> Iterator[tuple[str, bytes]]:
    """The seed without a byte, with another one there, and with one twice; and what is left of it where it is cut."""
    most = MOST if len(seed) < LONG else FEW
    for at in range(0, len(seed), max(1, len(seed) // most)):
        yield f"{at} left out", seed[:at] + seed[at + 1 :]
        yield f"{at} another", seed[:at] + bytes([seed[at] ^ 1]) + seed[at + 1 :]
        yield f"{at} twice", seed[:at] + seed[at : at + 1] * 2 + seed[at + 1 :]
        yield f"{at} is the end", seed[:at]


def lines(name: str) -> Iterator[str]:
    decode, seeds = CODECS[name]
    for seed in seeds:
        before = read(decode, seed)
        yield from islice(flat(before), MOST)
        found: dict[str, list[str]] = {}
        for how, data in changed(seed):
            found.setdefault(difference(before, read(decode, data)), []).append(how)
        yield from (f"  {what or 'the same'} <- {', '.join(how)}" for what, how in sorted(found.items()))


def read(decode: Any, data: bytes) -> Any:
    try:
        found = decode(data)
        return list(found) if isinstance(found, Iterator) else found
    except EosctlError as error:
        return {"refused": f"{type(error).__name__} {data_of(error.message)}"}


@pytest.mark.parametrize("name", CODECS)
def test_each_codec_near_valid_bytes_gives_the_answer_of_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"codecs/{name.replace(' ', '-')}", lines(name))
