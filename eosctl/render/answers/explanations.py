"""Findings and errors explained: cause and next step of each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypedDict

from eosctl.model.report import Explained, FindingKind, KnownExplanations, Severity
from eosctl.model.rules import Rule
from eosctl.render.document import Column, Document, Fields, Table

# What `explain` answers.


class ExplanationRow(TypedDict):
    """A finding or an error of Kafka: its cause, and commands that help; name and severity are null for an error."""

    id: str
    name: str | None
    title: str
    severity: Severity | None
    cause: str
    commands: list[str]
    next: str
    source: str
    reported_by: list[str]
    reporters: str


class ExplanationsData(TypedDict):
    """All that the text shows, the more special first; near are names like it where nothing is known."""

    explanations: list[ExplanationRow]
    by_number: dict[str, ExplanationRow]
    near: list[str]


class FindingKindRow(TypedDict):
    """A kind of finding; its severity is the worst that it can be."""

    id: str
    name: str
    title: str
    severity: Severity
    theme: str


class ErrorRow(TypedDict):
    """An error that is recognised."""

    id: str
    title: str


class KnownData(TypedDict):
    """Everything that can be explained; classes are Kafka's error classes, known by their names."""

    rules: list[FindingKindRow]
    errors: list[ErrorRow]
    classes: list[str]


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


# docs/rules.md: the catalogue of findings as a page.


HEAD = """\
# Findings

<!-- made by `make reference`: do not edit -->

Every finding of every command has one of these IDs. An ID always means the same; the name beside it is as stable.
`eosctl explain EOS001`, or a name in its place, prints an entry of this page. The severity is the worst that it can be.

| IDs | theme |
|---|---|
{ranges}

A finding with a question is a rule: `eosctl doctor` asks all rules, `eosctl upgrade-check` those that bear on the next
rolling step. A rule that could not read what it needs answers "cannot tell", with the reason, and never "fine".

*Source* names the proposal, or the class and method of Kafka that decides. The condition of a rule is made on a real
cluster, found there, fixed as printed and seen gone, by the test that it names; a rule without one says why.
"""
Entry = tuple[FindingKind, Rule | None, Sequence[str]]
"""A kind, the rule that asks for it (None: there is none), and the commands that report it."""


def findings_page(
    themes: Mapping[str, Sequence[Entry]], numbers: Mapping[str, range], proofs: Mapping[str, str]
) -> str:
    """The whole page: one section for each theme, one entry for each kind.

    numbers are the ranges of the themes; proofs are, by rule, the tests that make its condition on a real cluster.
    """
    ranges = "\n".join(f"| EOS{each.start:03} to EOS{each.stop - 1:03} | {theme} |" for theme, each in numbers.items())
    parts = [
        HEAD.format(ranges=ranges),
        *(line for theme, entries in themes.items() for line in _theme(theme, entries, proofs)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _theme(theme: str, entries: Sequence[Entry], proofs: Mapping[str, str]) -> Iterator[str]:
    yield f"## {theme}\n"
    for kind, rule, commands in entries:
        yield f"### {kind.id}: {kind.title}\n"
        yield f"`{kind.name}`, *{kind.severity.value}{_bounds(rule)}.*{f' {rule.question}' if rule else ''}\n"
        yield f"{kind.cause}\n"
        fixes = [_sentence(fix[0].upper() + fix[1:] if number else fix) for number, fix in enumerate(kind.fixes)]
        yield f"Fix: {' '.join(fixes)}\n"
        yield _small_print(kind, rule, commands, proofs.get(kind.id)) + "\n"


def _sentence(fix: str) -> str:
    return fix if fix.endswith("?") else fix.rstrip(".") + "."


def _bounds(rule: Rule | None) -> str:
    return "" if rule is None or rule.versions is None else f", {rule.versions}"


def _small_print(kind: FindingKind, rule: Rule | None, commands: Sequence[str], proof: str | None) -> str:
    reported = f"Reported by: {', '.join(f'`{each}`' for each in commands)}. Source: {kind.source}."
    if rule is None:
        return reported
    needs = ", ".join(name.replace("_", " ") for name in rule.needs) or "whatever was read"
    blocks = f" Stands in the way of: {', '.join(sorted(rule.blocks))}." if rule.blocks else ""
    made = f"Made on a real cluster by `{proof}`" if proof else f"Not made on a real cluster: {rule.unproven}"
    return f"Needs: {needs}.{blocks} {reported} {made}."
