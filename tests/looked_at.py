"""Answers that somebody looked at: they are kept in tests/golden, and a test fails where one is another now.

`pytest FILE --look-again` writes those of the tests in the file again: look at what changed before committing.
"""

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import pytest

GOLDEN: Final = Path(__file__).with_name("golden")
SHOWN: Final = 40
AsLookedAt = Callable[[str, Iterable[str]], None]


@pytest.fixture
def as_looked_at(request: pytest.FixtureRequest) -> AsLookedAt:
    """Holds lines against tests/golden/<name>.lock."""

    def hold(name: str, lines: Iterable[str]) -> None:
        file, found = GOLDEN / f"{name}.lock", list(lines)
        if request.config.getoption("--look-again"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{each}\n" for each in found))
        kept = file.read_text().splitlines()
        if found != kept:
            changed = list(difflib.unified_diff(kept, found, "as looked at", "now", n=0, lineterm=""))
            pytest.fail(
                "\n".join([*changed[:SHOWN], f"{len(changed)} lines; --look-again writes {file.name}"]), pytrace=False
            )

    return hold
