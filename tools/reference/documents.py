"""The page of the kinds of documents, from their table."""

from collections.abc import Iterable
from typing import Final

from eosctl.render.answers.kinds import DocumentKind

INTRODUCTION: Final = """\
# Documents

Each document that `-o json` prints has a `kind`, and a JSON Schema: `eosctl schema KIND` prints it, and it is published
beside this page as `schemas/KIND.json`. [Scripting](scripting.md#read-the-answer) says how to read one. The version is
1 unless the table names another.

| kind | printed by | what it holds |
|---|---|---|
"""


def documents_page(kinds: Iterable[DocumentKind], notice: str) -> str:
    """Every kind with the commands that print it."""
    rows = (
        f"| `{each.name}`{f', version {each.version}' if each.version > 1 else ''} "
        f"| {', '.join(f'`{command}`' for command in each.commands)} "
        f"| {' '.join((each.data.__doc__ or '').split())} |\n"
        for each in kinds
    )
    return f"<!-- {notice} -->\n\n{INTRODUCTION}{''.join(rows)}"
