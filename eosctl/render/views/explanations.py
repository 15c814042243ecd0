"""Findings and errors explained: cause and next step of each."""

from typing import Final

from eosctl.model.explanations import Explained, KnownExplanations
from eosctl.model.report import FindingKind
from eosctl.render.document import Column, Document, Fields, Table
from eosctl.render.documents.explanations import ExplanationRow, ExplanationsData, FindingKindRow, KnownData

SHOWN: Final = 100
ID: Final = Column("ID", "id", "its stable ID")
NAME: Final = Column("NAME", "name", "its stable name")
NEXT: Final = (
    Column("CAUSE", "cause", "what it means for Connect"),
    Column("NEXT", "next", "what to do next"),
    Column("SOURCE", "source", "where it comes from"),
)
ERROR: Final = (Column("ERROR", "title", "what happened"), ID, *NEXT)
FINDING: Final = (
    Column("FINDING", "title", "what was found"),
    ID,
    NAME,
    Column("SEVERITY", "severity", "the worst that it can be"),
    *NEXT,
    Column("REPORTED-BY", "reporters", "commands that report it"),
)
ERRORS: Final = Table("errors", (ID, ERROR[0]), title="Errors")
FINDINGS: Final = Table(
    "rules",
    (ID, NAME, Column("TITLE", "title", "what it is about"), Column("THEME", "theme", "what its theme is about")),
    title="Findings",
)


def view_explanations(explained: Explained) -> Document:
    """All that the text shows, the more special first."""
    rows: list[ExplanationRow] = [
        {
            "id": each.id,
            "name": each.name,
            "title": each.title,
            "severity": each.severity,
            "cause": each.cause,
            "commands": list(each.commands),
            "next": "; ".join(each.commands),
            "source": each.source,
            "reported_by": list(each.reported_by),
            "reporters": ", ".join(each.reported_by),
        }
        for each in explained.explanations
    ]
    by_number = {str(number): row for number, row in enumerate(rows, 1)}
    data: ExplanationsData = {"explanations": rows, "by_number": by_number, "near": list(explained.near)}
    return Document(
        kind="explain",
        data=data,
        blocks=tuple(
            Fields(FINDING if row["reported_by"] else ERROR, at=f"by_number.{number}")
            for number, row in by_number.items()
        ),
        prose=() if rows else (_unknown(explained),),
    )


def _unknown(explained: Explained) -> str:
    text = explained.text if len(explained.text) <= SHOWN else f"{explained.text[:SHOWN]}…"
    near = f" Near to it: {', '.join(explained.near)}." if explained.near else ""
    return f"Nothing is known of: {text}.{near} `eosctl explain --list` lists all that is."


def view_known(known: KnownExplanations) -> Document:
    """`explain --list`: the kinds of findings by theme, and the errors that are recognised."""
    rows = [_kind_row(theme, kind) for theme, kinds in known.findings.items() for kind in kinds]
    data: KnownData = {
        "rules": rows,
        "errors": [{"id": each.id, "title": each.title} for each in known.errors],
        "classes": list(known.classes),
    }
    return Document(
        kind="explain.list",
        data=data,
        blocks=(FINDINGS, ERRORS),
        prose=(
            f"{len(rows)} kinds of findings, and {len(known.errors)} errors that are recognised; "
            f"{len(known.classes)} error classes of Kafka are known by their names.",
        ),
    )


def _kind_row(theme: str, kind: FindingKind) -> FindingKindRow:
    return {"id": kind.id, "name": kind.name, "title": kind.title, "severity": kind.severity, "theme": theme}
