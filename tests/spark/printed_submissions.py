"""The `spark-submit` commands that the pages print, with a test's addresses and sizes in them."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "audit-on-spark.md"
BUNDLED = ROOT / "eosctl" / "spark" / "bundle" / "README.md"
"""The page in a bundle, which prints those of PAGE and some more."""


@dataclass(frozen=True)
class Printed:
    """A command as it is printed: the variables before it, and what follows `spark-submit`."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """The value of an option that stands once."""
        return self.arguments[self.arguments.index(name) + 1] if name in self.arguments else None

    def with_values(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The arguments with other values of these options, each of which is in the command."""
        assert [name for name in values if name not in self.arguments] == []
        pairs = zip(("", *self.arguments), self.arguments, strict=False)
        return tuple(values.get(before, each) for before, each in pairs)


def printed_submissions(page: Path) -> list[Printed]:
    """All that the page prints, in order."""
    blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [_parsed(each) for each in commands if "spark-submit" in each]


def _parsed(line: str) -> Printed:
    words = shlex.split(line.rpartition("&& ")[2])
    at = words.index("spark-submit")
    assignments = (word.partition("=") for word in words[:at])
    return Printed({name: value for name, _, value in assignments}, tuple(words[at + 1 :]))


def printed(master: str, deploy_mode: str, page: Path = PAGE) -> Printed:
    """The one of a page for a kind of master (`yarn`, `spark`) and a deploy mode; `client` is Spark's default."""
    found = [
        each
        for each in printed_submissions(page)
        if (each.option("--master") or "").startswith(master)
        and (each.option("--deploy-mode") or "client") == deploy_mode
    ]
    assert len(found) == 1, found
    return found[0]
