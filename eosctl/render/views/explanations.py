"""Errors explained: cause and next step of each."""

from collections.abc import Sequence

from eosctl.model.explanations import ErrorPattern, Explanation
from eosctl.render.document import Column, Document, Fields, Table

EXPLAINED = (
    Column("ERROR", "title", "what happened"),
    Column("ID", "id", "its stable name"),
    Column("CAUSE", "cause", "what it means for Connect"),
    Column("NEXT", "next", "what to do next"),
    Column("SOURCE", "source", "where it comes from"),
)
KNOWN = Table("errors", (EXPLAINED[1], EXPLAINED[0]), title="Errors")
RULES = Table("rules", (EXPLAINED[1], Column("TITLE", "title", "what the rule looks for")), title="Rules")


def view_explanations(explanations: Sequence[Explanation]) -> Document:
    """All that the text shows, the more special first."""
    rows = [
        {
            "id": each.id,
            "title": each.title,
            "cause": each.cause,
            "commands": list(each.commands),
            "next": "; ".join(each.commands),
            "source": each.source,
        }
        for each in explanations
    ]
    by_number = {str(number): row for number, row in enumerate(rows, 1)}
    return Document(
        kind="explain",
        data={"explanations": rows, "by_number": by_number},
        blocks=tuple(Fields(EXPLAINED, at=f"by_number.{number}") for number in by_number),
    )


def view_known(rules: Sequence[tuple[str, str]], patterns: Sequence[ErrorPattern]) -> Document:
    """`explain --list`: rules by ID and title, and the errors that are recognised."""
    return Document(
        kind="explain.list",
        data={
            "rules": [{"id": rule_id, "title": title} for rule_id, title in rules],
            "errors": [{"id": each.id, "title": each.title} for each in patterns],
        },
        blocks=(RULES, KNOWN),
        prose=(f"{len(rules)} rules of doctor, and {len(patterns)} errors that are recognised.",),
    )
