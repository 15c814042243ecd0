"""Rules about those who read what the connectors write."""

from collections.abc import Iterator
from typing import Final

from eosctl.model.evidence import Evidence
from eosctl.model.report import Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped


def _uncommitted(evidence: Evidence) -> Iterator[Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    groups = sorted(name for name, kind in known.items() if kind != "connect")
    if groups:
        shown = ", ".join(groups[:20]) + (" …" if len(groups) > 20 else "")
        yield Skipped(f"no broker tells a consumer's isolation.level; there are {len(groups)} consumer groups: {shown}")


UNCOMMITTED: Final = Rule(
    id="EOS120",
    title="consumers that read uncommitted",
    severity=Severity.WARNING,
    question="Do all consumers of the output read committed?",
    needs=("groups",),
    cause="A consumer reads records of aborted transactions unless it sets isolation.level=read_committed; that is not "
    "its default, and the cluster does not know it.",
    cure="set isolation.level=read_committed in every consumer of the connectors' topics",
    source="KIP-98",
    check=_uncommitted,
    unproven="no broker tells a consumer's isolation.level, so this rule never finds; it names the groups to ask",
)
RULES: Final = (UNCOMMITTED,)
