"""Explains errors and findings, from what eosctl knows: no cluster is read."""

from difflib import get_close_matches
from typing import Final

from eosctl.analysis.catalogue.index import KINDS, THEMES
from eosctl.analysis.errors import ERROR_PATTERNS, explain_error
from eosctl.analysis.kafka_errors import KAFKA_ERRORS
from eosctl.analysis.rules.registry import explain_finding
from eosctl.model.report import Explained, KnownExplanations

MOST_NEAR: Final = 5
ALIKE: Final = 0.7
MOST_WORDS: Final = 20
"""Of a long text, the words that are compared."""


def explain_text(text: str, group_id: str | None, profile: str | None = None) -> Explained:
    found = (*explain_finding(text.strip()), *explain_error(text, group_id, profile))
    return Explained(text=text.strip(), explanations=found, near=() if found else _near(text))


def _near(text: str) -> tuple[str, ...]:
    """IDs and names spelt much like a word of the text, the most alike first."""
    known = [word for kind in KINDS for word in (kind.id, kind.name)]
    known += [pattern.id for pattern in ERROR_PATTERNS] + [word for error in KAFKA_ERRORS for word in error.words]
    spelt = {word.lower(): word for word in known}
    words = [word.strip(":,;.").rpartition(".")[2].lower() for word in text.split()[:MOST_WORDS]]
    found = (match for word in words for match in get_close_matches(word, spelt, MOST_NEAR, ALIKE))
    return tuple(dict.fromkeys(spelt[match] for match in found))[:MOST_NEAR]


def list_explanations() -> KnownExplanations:
    return KnownExplanations(
        findings={theme.title: tuple(theme.kinds) for theme in THEMES},
        errors=ERROR_PATTERNS,
        classes=tuple(each.class_name for each in KAFKA_ERRORS),
    )
