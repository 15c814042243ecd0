"""Explains errors and findings, from what eosctl knows: no cluster is read."""

from eosctl.analysis.catalogue.index import THEMES
from eosctl.analysis.explanations import ERROR_PATTERNS, explain_error
from eosctl.analysis.finding_explanations import explain_finding
from eosctl.model.explanations import Explained, KnownExplanations


def explain_text(text: str, group_id: str | None) -> Explained:
    """The kind of finding that the text names, and every known error that it shows."""
    return Explained(explanations=(*explain_finding(text.strip()), *explain_error(text, group_id)))


def list_explanations() -> KnownExplanations:
    """Everything that can be explained."""
    return KnownExplanations(findings={theme.title: tuple(theme.kinds) for theme in THEMES}, errors=ERROR_PATTERNS)
