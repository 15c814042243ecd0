"""Rules about those who read what the connectors write."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import consumers as kinds
from eosctl.model.evidence import Evidence
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped, not_asked


def _uncommitted(evidence: Evidence) -> Iterator[Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    groups = sorted(name for name, kind in known.items() if kind != "connect")
    if groups:
        shown = ", ".join(groups[:20]) + (" …" if len(groups) > 20 else "")
        # No request asks for it, so no answer lacks it.
        yield not_asked(
            f"no broker tells a consumer's isolation.level; there are {len(groups)} consumer groups: {shown}"
        )


RULES: Final = (
    Rule(
        kinds.UNCOMMITTED,
        "Do all consumers of the output read committed?",
        needs=("groups",),
        check=_uncommitted,
        unproven="no broker tells a consumer's isolation.level, so this rule never finds; it names the groups to ask",
    ),
)
