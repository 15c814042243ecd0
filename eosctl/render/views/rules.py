"""docs/rules.md: the registry of rules as a page."""

from collections.abc import Iterator, Mapping, Sequence

from eosctl.model.rules import Rule

HEAD = """\
# Rules

<!-- made by `make reference`: do not edit -->

`eosctl doctor` asks all of these, `eosctl upgrade-check` those that bear on the next rolling step. A rule that could
not read what it needs answers "cannot tell", with the reason, and never "fine". An ID always means the same rule.

The condition of every rule is made on a real cluster, found there, cured as printed and seen gone, by the tests in
`tests/integration`; a rule of which this is not so says why.
"""


def rules_page(themes: Mapping[str, Sequence[Rule]]) -> str:
    """The whole page: one section for each theme, one entry for each rule."""
    parts = [HEAD, *(line for theme, rules in themes.items() for line in _theme(theme, rules))]
    return "\n".join(parts).rstrip() + "\n"


def _theme(theme: str, rules: Sequence[Rule]) -> Iterator[str]:
    yield f"## {theme}\n"
    for rule in rules:
        yield f"### {rule.id}: {rule.title}\n"
        yield f"*{rule.severity.value}{_bounds(rule)}.* {rule.question}\n"
        yield f"{rule.cause}\n"
        yield f"Cure: {rule.cure}.\n"
        yield _small_print(rule) + "\n"


def _bounds(rule: Rule) -> str:
    since = f", workers from {rule.since} on" if rule.since else ""
    return since + (f", workers before {rule.until}" if rule.until else "")


def _small_print(rule: Rule) -> str:
    needs = ", ".join(name.replace("_", " ") for name in rule.needs) or "whatever was read"
    blocks = f" Stands in the way of: {', '.join(sorted(rule.blocks))}." if rule.blocks else ""
    unproven = f" Not made on a real cluster: {rule.unproven}." if rule.unproven else ""
    return f"Needs: {needs}.{blocks} Source: {rule.source}.{unproven}"
