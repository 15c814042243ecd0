"""What a finding means: the kind of its ID or name, with the commands that report it."""

from eosctl.analysis.catalogue.index import kinds_called
from eosctl.analysis.rules.registry import commands_reporting
from eosctl.model.report import Explanation


def explain_finding(word: str) -> tuple[Explanation, ...]:
    """The kind of finding of this ID, or those of this name, in any case; none where the word is neither."""
    return tuple(
        Explanation(
            kind.id,
            kind.title,
            kind.cause,
            kind.fixes,
            kind.source,
            kind.name,
            kind.severity,
            commands_reporting(kind),
        )
        for kind in kinds_called(word)
    )
