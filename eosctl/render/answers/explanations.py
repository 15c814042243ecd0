"""Findings and errors explained: cause and next step of each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.report import Explained, FindingKind, KnownExplanations, Severity
from eosctl.model.rules import Rule
from eosctl.render.document import Column, Document, Fields, Steps, Table, col, columns, row_of

# The answer of `explain`.


class ExplanationRow(Struct, frozen=True):
    """A finding or an error of Kafka: its cause, and commands that help; name and severity are null for an error."""

    id: Annotated[str, "its stable ID"]
    name: Annotated[str | None, "its stable name"]
    title: str
    severity: Annotated[Severity | None, "the worst that it can be"]
    cause: Annotated[str, "its meaning for Connect"]
    commands: Annotated[list[str], col("what to do next", "NEXT")]
    next: str
    source: Annotated[str, "its source"]
    reported_by: list[str]
    reporters: Annotated[str, col("commands that report it", "REPORTED-BY")]


class NextStepRow(Struct, frozen=True):
    """A command to run next, and why."""

    why: Annotated[str, "why to run it"]
    command: Annotated[str, col("the command", "NEXT")]


class ExplanationsData(Struct, frozen=True):
    """All entries for the text, the most specific first; near has similar names if there is no entry. The connector's
    state is null without --connector; next has the commands to run for it.
    """

    explanations: list[ExplanationRow]
    by_number: dict[str, ExplanationRow]
    near: list[str]
    state: str | None
    next: list[NextStepRow]


class FindingKindRow(Struct, frozen=True):
    """A kind of finding; its severity is the worst that it can be."""

    id: Annotated[str, "its stable ID"]
    name: Annotated[str, "its stable name"]
    title: Annotated[str, "its subject"]
    severity: Severity
    theme: Annotated[str, "the subject of its theme"]


class ErrorRow(Struct, frozen=True):
    """An error that is recognised."""

    id: Annotated[str, "its stable ID"]
    title: Annotated[str, col("what happened", "ERROR")]


class KnownData(Struct, frozen=True):
    """Everything that can be explained; classes are Kafka's error classes, known by their names."""

    rules: list[FindingKindRow]
    errors: list[ErrorRow]
    classes: list[str]


SHOWN: Final = 100
ERROR: Final = Fields((Column("ERROR", "title", "what happened"), *columns(ExplanationRow, "id cause commands source")))
FINDING: Final = Fields(
    (
        Column("FINDING", "title", "what was found"),
        *columns(ExplanationRow, "id name severity cause commands source reporters"),
    )
)
ERRORS: Final = Table("errors", columns(ErrorRow, "id title"), title="Errors")
STEPS: Final = Steps("next", columns(NextStepRow, "why command"), title="Next")
FINDINGS: Final = Table(
    "rules",
    columns(FindingKindRow, "id name title theme"),
    title="Findings",
)


def view_explanations(explained: Explained) -> Document:
    """All that the text shows, the more special first."""
    rows: list[ExplanationRow] = [
        row_of(
            ExplanationRow,
            each,
            next="; ".join(each.commands),
            reporters=", ".join(each.reported_by),
        )
        for each in explained.explanations
    ]
    by_number = {str(number): row for number, row in enumerate(rows, 1)}
    steps = [row_of(NextStepRow, each) for each in explained.steps]
    data = ExplanationsData(
        explanations=rows, by_number=by_number, near=list(explained.near), state=explained.state, next=steps
    )
    headers = () if explained.state is None else (f"{explained.state.rstrip('.')}.",)
    return Document(
        kind="explain",
        data=data,
        blocks=(
            *(
                replace(FINDING if row.reported_by else ERROR, at=f"by_number.{number}")
                for number, row in by_number.items()
            ),
            *((STEPS,) if steps else ()),
        ),
        prose=headers if rows or not explained.has_failed else (*headers, _unknown(explained)),
    )


def _unknown(explained: Explained) -> str:
    text = explained.text if len(explained.text) <= SHOWN else f"{explained.text[:SHOWN]}…"
    near = f" Near to it: {', '.join(explained.near)}." if explained.near else ""
    return f"No entry matches: {text}.{near} `eosctl explain --list` lists all entries."


def view_known(known: KnownExplanations) -> Document:
    """`explain --list`: the kinds of findings by theme, and the errors that are recognised."""
    rows = [_kind_row(theme, kind) for theme, kinds in known.findings.items() for kind in kinds]
    data = KnownData(
        rules=rows,
        errors=[ErrorRow(id=each.id, title=each.title) for each in known.errors],
        classes=list(known.classes),
    )
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
    return row_of(FindingKindRow, kind, theme=theme)


# docs/rules.md: the catalogue of findings as a page.


HEAD = """\
# Findings

<!-- made by `make reference`: do not edit -->

Every finding of every command has one of these IDs. An ID or name never changes its meaning.
`eosctl explain EOS001`, or a name in its place, prints an entry of this page. The severity is the worst that it can be.

| IDs | theme |
|---|---|
{ranges}

A finding with a question is a rule: `eosctl doctor` checks all rules, `eosctl upgrade-check` the rules for the next
rolling step. A rule without the evidence it needs answers "cannot tell" with the reason, never "fine".

*Source* names the proposal, or the class and method of Kafka that decides. A test makes the condition of each rule on a
real cluster, fixes it as printed, and looks again. A rule without such a test has the reason.
"""
Entry = tuple[FindingKind, Rule | None, Sequence[str]]
"""A kind, the rule that reports it (None: there is none), and the commands that report it."""


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
        yield f"Fix: {fixes[0]}\n"
        yield from (f"{older}\n" for older in fixes[1:])
        yield _small_print(kind, rule, commands, proofs.get(kind.id)) + "\n"


def _sentence(fix: str) -> str:
    return fix if fix.endswith("?") else fix.rstrip(".") + "."


def _bounds(rule: Rule | None) -> str:
    return "" if rule is None or rule.versions is None else f", {rule.versions}"


def _small_print(kind: FindingKind, rule: Rule | None, commands: Sequence[str], proof: str | None) -> str:
    reported = f"Reported by: {', '.join(f'`{each}`' for each in commands)}. Source: {kind.source}."
    if rule is None:
        return reported
    needs = ", ".join(name.replace("_", " ") for name in rule.needs) or "any evidence"
    blocks = f" Blocks: {', '.join(sorted(rule.blocks))}." if rule.blocks else ""
    untested = "" if proof else f" Not tested on a real cluster: {rule.unproven}."
    return f"Needs: {needs}.{blocks} {reported}{untested}"
