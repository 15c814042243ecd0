"""docs/rules.md: the catalogue of findings as a page."""

from collections.abc import Iterator, Mapping, Sequence

from eosctl.model.report import FindingKind
from eosctl.model.rules import Rule

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
