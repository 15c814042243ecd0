"""Findings about those who read what the connectors write."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

UNCOMMITTED: Final = FindingKind(
    id="EOS120",
    name="consumers-read-uncommitted",
    title="consumers that read uncommitted",
    severity=Severity.WARNING,
    cause="A consumer reads records of aborted transactions unless it sets isolation.level=read_committed; that is not "
    "its default, and the cluster does not know it.",
    fix="set isolation.level=read_committed in every consumer of the connectors' topics",
    source="KIP-98",
)
KINDS: Final = (UNCOMMITTED,)
