"""A fix that names a command names one that exists."""

import re
from pathlib import Path

from tests.commands.tree import commands

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`eosctl ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
PLACES = [*ROOT.glob("eosctl/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]


def test_every_command_that_a_text_names_exists() -> None:
    known = {each.path.removeprefix("eosctl ") for each in commands()} | {"help"}
    groups = {path.split()[0] for path in known if " " in path}
    unknown = set()
    for place in PLACES:
        for command, subcommand in NAMED.findall(place.read_text(encoding="utf-8")):
            path = f"{command} {subcommand}" if command in groups and subcommand else command
            if path not in known:
                unknown.add((path, str(place.relative_to(ROOT))))
    assert unknown == set()
