"""Answers that a person has checked: they are kept in tests/golden, and a test fails if one changes.

`pytest FILE --look-again` writes those of the tests in the file again: check the changes before committing.
"""

from collections.abc import Callable, Iterable
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

import pytest

GOLDEN: Final = Path(__file__).with_name("golden")
SHOWN: Final = 5
AsLookedAt = Callable[[str, Iterable[str]], None]


@pytest.fixture
def as_looked_at(request: pytest.FixtureRequest) -> AsLookedAt:
    """Holds lines against tests/golden/<name>.lock, one after the other, up to those that differ first."""

    def hold(name: str, lines: Iterable[str]) -> None:
        file = GOLDEN / f"{name}.lock"
        if request.config.getoption("--look-again"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{escaped(each)}\n" for each in lines))
            return
        pairs = enumerate(zip_longest(file.read_text().splitlines(), map(escaped, lines)), 1)
        if differ := list(islice(((at, pair) for at, pair in pairs if pair[0] != pair[1]), SHOWN)):
            shown = [f"line {at} looked at: {before}\nline {at} now: {now}" for at, (before, now) in differ]
            pytest.fail("\n".join([*shown, f"--look-again writes tests/golden/{name}.lock"]), pytrace=False)

    return hold


def escaped(line: str) -> str:
    """In one line of ASCII, whatever is in it."""
    return line.encode("unicode_escape").decode()
