"""Rules about those who read what the connectors write."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import consumers as kinds
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

SHOWN: Final = 20


def _uncommitted(evidence: Evidence) -> Iterator[Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    consumers = sorted(name for name, kind in known.items() if kind not in {"connect", "share"})
    if consumers:
        yield Skipped(
            f"no broker reports a consumer's isolation.level; there are {counted(len(consumers), 'consumer group')}: "
            f"{_few(consumers)}"
        )
    shares = sorted(name for name, kind in known.items() if kind == "share")
    if shares:
        yield Skipped(
            f"share.isolation.level was not read of {counted(len(shares), 'share group')}: {_few(shares)} "
            "(kafka-configs.sh --describe --entity-type groups --entity-name <group>)"
        )


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


RULES: Final = (
    Rule(
        kinds.UNCOMMITTED,
        "Do all consumers of the output read committed?",
        needs=("groups",),
        check=_uncommitted,
        unproven="no broker reports a consumer's isolation.level, so this rule never finds; it names the groups to ask",
    ),
)
